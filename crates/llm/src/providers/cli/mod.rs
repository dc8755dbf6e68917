//! Command line tools as providers: `claude`, `codex`, `gemini`.
//!
//! A tool runs its own loop and keeps its own sessions; it prints one JSON object per line. What must stay true:
//! text between two uses of tools is thinking, and only what comes after the last one is the result; a line has a
//! largest size; a tool that says nothing is started once more and then given up; it sees only the variables on the
//! list, and without leave no tool of its own. Who starts the provider ends what the tool leaves behind.

mod claude;
mod codex;
mod gemini;
mod start;
mod transcript;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout, timeout_at};

use self::start::ToolFiles;
use self::transcript::CliTranscript;
use super::error::one_line;
use super::{
    BoxFuture, Env, ModelReply, ModelRequest, Provider, ProviderError, ProviderEvent, ReasonCode,
};
use crate::line_codec::LineReader;
use crate::models::ProviderKind;

/// Until a tool says its first word.
const FIRST_EVENT: Duration = Duration::from_secs(90);
/// One line of a tool's output.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// What of a tool's stderr is kept.
const STDERR_LINES: usize = 20;
const STDERR_LINE_BYTES: u64 = 2 * 1024;
/// How long a tool may take to end after it has closed its output.
const EXIT_PATIENCE: Duration = Duration::from_secs(10);
/// How long leftovers of stderr are waited for: a grandchild may hold it open.
const STDERR_PATIENCE: Duration = Duration::from_secs(1);

/// What a tool calls the server of the talent's tools.
const SERVER: &str = "cortex";

/// Where a tool that reads its servers from a file finds the one of this call: a script that becomes the server.
const TOOLS_VARIABLE: &str = "CORTEX_TOOLS";

/// Words that mean that no more may be asked for now.
const QUOTA_WORDS: &[&str] = &[
    "usage limit",
    "rate limit",
    "rate_limit",
    "quota",
    "resource_exhausted",
    "too many requests",
];
const LOGIN_WORDS: &[&str] =
    &["not logged in", "please run /login", "invalid api key", "unauthorized", "authentication"];

/// Beginnings of the names of variables that belong to one of the tools.
pub const CLI_VARIABLES: &[&str] =
    &["ANTHROPIC_", "CLAUDE_", "OPENAI_", "CODEX_", "GEMINI_", "GOOGLE_"];

/// How a tool is held in: it is started through a program that restricts itself and then becomes the tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolConfinement {
    /// That program and its arguments; the tool's command follows.
    pub launcher: Vec<OsString>,
    /// The folder that the tool may use for its temporary files, if not the one of the home.
    pub scratch: Option<PathBuf>,
}

/// What the tool of a provider is called; `None` for services.
pub fn command_of(kind: ProviderKind) -> Option<&'static str> {
    kind.is_cli().then(|| dialect(kind).command())
}

fn dialect(kind: ProviderKind) -> Box<dyn Dialect> {
    match kind {
        ProviderKind::Codex => Box::new(codex::Codex),
        ProviderKind::Gemini => Box::new(gemini::Gemini),
        _ => Box::new(claude::Claude),
    }
}

/// What the lines of a tool come to.
#[cfg(any(test, feature = "testing"))]
pub(super) fn read_lines(kind: ProviderKind, lines: &[Value]) -> ModelReply {
    let (dialect, mut transcript) = (dialect(kind), CliTranscript::default());
    for line in lines {
        dialect.line(line, &mut transcript);
    }
    transcript.reply()
}

/// Where and how a tool is started.
#[derive(Clone)]
pub struct CliOptions {
    /// The executable; without it the usual name, looked up in the given `PATH`.
    pub command: Option<PathBuf>,
    pub env: Env,
    pub cwd: PathBuf,
    /// Where a file for the tool may be put for as long as it runs.
    pub scratch: PathBuf,
    /// How the tool is held in, if it is.
    pub confinement: Option<ToolConfinement>,
    /// A variable with a key for the tool, instead of its own login.
    pub key: Option<(String, String)>,
    pub first_event: Option<Duration>,
    pub whole: Duration,
}

impl fmt::Debug for CliOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CliOptions").field("command", &self.command).finish_non_exhaustive()
    }
}

/// What is different from tool to tool.
trait Dialect: Send + Sync {
    fn command(&self) -> &'static str;
    /// Beginnings of the names of variables that belong to this tool.
    fn own_variables(&self) -> &'static [&'static str];
    /// Variables that the tool needs to run without a person.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn args(&self, call: &ModelRequest, policy: Option<&PathBuf>) -> Vec<OsString>;
    /// It takes the system text as an argument; otherwise it stands before the prompt.
    fn takes_system(&self, _: &ModelRequest) -> bool {
        false
    }
    /// A file with what the tool may not do.
    fn policy(&self, _: &ModelRequest) -> Option<String> {
        None
    }
    /// A file of settings in the folder it works in, and what of it must be ours: for a tool that takes servers
    /// from nowhere else. The same for all runs; what differs is in the script that [`TOOLS_VARIABLE`] names.
    fn workspace(&self) -> Option<(&'static str, Value)> {
        None
    }
    fn line(&self, line: &Value, transcript: &mut CliTranscript);
}

pub struct CliProvider {
    name: String,
    dialect: Box<dyn Dialect>,
    options: CliOptions,
}

impl fmt::Debug for CliProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CliProvider").field("name", &self.name).finish_non_exhaustive()
    }
}

enum Attempt {
    Done(Box<ModelReply>),
    /// Nothing was said in time.
    Silent,
}

impl CliProvider {
    pub fn new(name: &str, kind: ProviderKind, options: CliOptions) -> CliProvider {
        CliProvider { name: name.to_owned(), dialect: dialect(kind), options }
    }

    async fn attempts(
        &self,
        call: &ModelRequest,
        events: &Sender<ProviderEvent>,
    ) -> Result<ModelReply, ProviderError> {
        let papers = self.papers(call)?;
        let mut result = Ok(Attempt::Silent);
        for _ in 0..2 {
            result = self.once(call, events, &papers).await;
            if !matches!(result, Ok(Attempt::Silent)) {
                break;
            }
        }
        match result? {
            Attempt::Done(reply) => Ok(*reply),
            Attempt::Silent => {
                let limit = self.first_event().as_secs_f32();
                let message = format!("{} said nothing within {limit} s, twice", self.name);
                Err(ProviderError::new(ReasonCode::Timeout, message))
            }
        }
    }

    fn first_event(&self) -> Duration {
        self.options.first_event.unwrap_or(FIRST_EVENT)
    }

    async fn once(
        &self,
        call: &ModelRequest,
        events: &Sender<ProviderEvent>,
        papers: &ToolFiles,
    ) -> Result<Attempt, ProviderError> {
        let mut child = self.spawn(call, papers)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let prompt = self.prompt(call);
        let feeding = tokio::spawn(async move {
            if let Some(mut stdin) = stdin {
                // A tool that does not read its prompt to the end says why on its other channels.
                let _ = stdin.write_all(prompt.as_bytes()).await;
            }
        });
        let complaints = tokio::spawn(tail(stderr));
        let mut transcript = CliTranscript::default();
        let heard = match stdout {
            Some(stdout) => self.listen(stdout, &mut transcript, events).await,
            None => Ok(false),
        };
        feeding.abort();
        match heard {
            Ok(true) => {}
            Ok(false) => {
                end(&mut child).await;
                complaints.abort();
                return Ok(Attempt::Silent);
            }
            Err(error) => {
                end(&mut child).await;
                complaints.abort();
                return Err(error);
            }
        }
        let status = match timeout(EXIT_PATIENCE, child.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => {
                end(&mut child).await;
                None
            }
        };
        let trace = match timeout(STDERR_PATIENCE, complaints).await {
            Ok(Ok(trace)) => trace,
            _ => String::new(),
        };
        self.conclude(transcript, status, trace, events)
            .await
            .map(|reply| Attempt::Done(Box::new(reply)))
    }

    /// Reads lines until the output closes; false if nothing came in time.
    async fn listen(
        &self,
        stdout: impl AsyncRead + Unpin,
        transcript: &mut CliTranscript,
        events: &Sender<ProviderEvent>,
    ) -> Result<bool, ProviderError> {
        let mut lines = LineReader::new(stdout, LINE_BYTES_MAX);
        let begin_by = Instant::now() + self.first_event();
        let mut heard = false;
        loop {
            let next = if heard {
                lines.next().await
            } else {
                match timeout_at(begin_by, lines.next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(false),
                }
            };
            let next = next
                .map_err(|error| ProviderError::new(ReasonCode::Unavailable, error.to_string()))?;
            let Some(line) = next else { return Ok(true) };
            match line.text() {
                Err(bytes) => {
                    heard = true;
                    transcript.too_long(bytes);
                }
                Ok(text) => {
                    if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(&text) {
                        heard = true;
                        self.dialect.line(&value, transcript);
                    }
                }
            }
            for event in transcript.events.drain(..) {
                if events.send(event).await.is_err() {
                    return Err(ProviderError::new(ReasonCode::Unknown, "the run has ended"));
                }
            }
        }
    }

    async fn conclude(
        &self,
        mut transcript: CliTranscript,
        status: Option<ExitStatus>,
        trace: String,
        events: &Sender<ProviderEvent>,
    ) -> Result<ModelReply, ProviderError> {
        let reply = transcript.reply();
        let well = status.is_some_and(|status| status.success()) && transcript.error.is_none();
        if well && !reply.text.trim().is_empty() {
            return Ok(reply);
        }
        let ended = match status.and_then(|status| status.code()) {
            Some(code) => format!("{} ended with code {code}", self.name),
            None => format!("{} was ended by a signal", self.name),
        };
        if !reply.text.trim().is_empty() && transcript.error.is_none() {
            let message = format!("{ended}, but gave an answer");
            let warning = ProviderEvent::Warning { message, stderr: trace };
            // If nobody listens, the run is over and the warning is of no use.
            let _ = events.send(warning).await;
            return Ok(reply);
        }
        let told = transcript.error.clone().unwrap_or_else(|| trace.clone());
        let lower = told.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let reason = if has(QUOTA_WORDS) {
            ReasonCode::QuotaExceeded
        } else if has(LOGIN_WORDS) {
            ReasonCode::KeyInvalid
        } else if status.is_some_and(|status| status.success()) && transcript.error.is_none() {
            ReasonCode::NoOutput
        } else {
            ReasonCode::Unavailable
        };
        let message = if told.is_empty() { ended } else { format!("{ended}: {}", one_line(&told)) };
        let trace = (!trace.is_empty()).then_some(trace);
        Err(ProviderError { partial: reply.text, trace, ..ProviderError::new(reason, message) })
    }
}

/// Ends a child that will not end by itself.
async fn end(child: &mut Child) {
    // An error here means that it has ended already.
    let _ = child.kill().await;
}

/// The last lines of a tool's stderr.
async fn tail(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let Some(stderr) = stderr else { return String::new() };
    let mut reader = BufReader::new(stderr);
    let mut kept: VecDeque<String> = VecDeque::new();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match (&mut reader).take(STDERR_LINE_BYTES).read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if !line.is_empty() {
            kept.push_back(line);
        }
        if kept.len() > STDERR_LINES {
            kept.pop_front();
        }
    }
    Vec::from(kept).join("\n")
}

impl Provider for CliProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_cli(&self) -> bool {
        true
    }

    fn ready(&self) -> Result<(), ProviderError> {
        let program = self.program();
        let found = if program.components().count() > 1 {
            program.exists()
        } else {
            let path = self.options.env.get("PATH").map(String::as_str).unwrap_or_default();
            std::env::split_paths(path).any(|folder| folder.join(&program).is_file())
        };
        if found {
            return Ok(());
        }
        let message = format!("provider {:?}: {} is not installed", self.name, program.display());
        Err(ProviderError::new(ReasonCode::Unavailable, message))
    }

    fn turn<'a>(
        &'a self,
        call: &'a ModelRequest,
        events: Sender<ProviderEvent>,
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async move {
            let whole = call.whole.unwrap_or(self.options.whole);
            super::within(&self.name, whole, self.attempts(call, &events)).await
        })
    }
}

#[cfg(test)]
mod tests;
