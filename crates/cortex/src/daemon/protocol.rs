//! What goes over the socket: one JSON object per line, at most [`LINE_BYTES_MAX`] each.
//!
//! The client says hello, the server welcomes or refuses it; then each request has a number and is answered by that
//! number. A command line that is run for somebody streams: the server sends output and asks for input when the command
//! reads it, so that nothing is taken from the caller that the command does not want.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ops::error::{Error, Fault, Result};
use crate::ops::wire::Ask;
use crate::ops::{Caller, GrantFiles, Pinned};

/// Changes whenever an older program could misunderstand.
pub const PROTOCOL: u32 = 1;
/// Bytes of one line. A memory's content may be a megabyte, and JSON may need six bytes for one.
pub const LINE_BYTES_MAX: usize = 8 * 1_048_576;
/// Bytes of input or output in one frame.
pub const CHUNK_BYTES: usize = 64 * 1_024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub cortex: u32,
    pub version: String,
}

impl Hello {
    pub fn ours() -> Hello {
        Hello { cortex: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub cortex: u32,
    pub version: String,
    pub pid: u32,
    pub home: PathBuf,
}

/// The answer to a hello.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Greeting {
    Welcome(Welcome),
    Error(Error),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub id: u64,
    pub body: Body,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Ask(Box<AskBody>),
    Run(RunBody),
    /// Bytes for the command that runs, in base64; none: that was all.
    Input(String),
    Status,
    Stop,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AskBody {
    pub from: From,
    pub ask: Ask,
}

/// Who asks, as it goes over the socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct From {
    pub actor: String,
    pub by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person_home: Option<PathBuf>,
    pub any_folder: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// For tests and replays: the clock stands still here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<i64>,
    /// What a delegate acts under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantFiles>,
}

impl From {
    pub fn new(caller: &Caller) -> From {
        From {
            actor: caller.actor.as_str().to_owned(),
            by: caller.by.clone(),
            cwd: caller.cwd.clone(),
            person_home: caller.person_home.clone(),
            any_folder: caller.any_folder,
            idempotency_key: caller.idempotency_key.clone(),
            now: None,
            grant: caller.delegate.as_ref().and_then(|delegate| delegate.files().cloned()),
        }
    }

    pub fn caller(&self) -> Result<Caller> {
        let mut caller = Caller::new(ActorName::parse(&self.actor)?, &self.by);
        caller.cwd.clone_from(&self.cwd);
        caller.person_home.clone_from(&self.person_home);
        caller.any_folder = self.any_folder;
        caller.idempotency_key.clone_from(&self.idempotency_key);
        if let Some(now) = self.now {
            caller.world = Arc::new(Pinned::new(Some(Millis(now)), None));
        }
        if let Some(files) = &self.grant {
            crate::cli::act_under(&mut caller, files.clone())?;
        }
        Ok(caller)
    }
}

/// A command line to be run for the caller, with all it may look at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunBody {
    pub arguments: Vec<String>,
    pub cwd: PathBuf,
    /// The variables that the command line reads, as far as they are set.
    pub variables: BTreeMap<String, String>,
    pub input_is_terminal: bool,
    pub talk_is_terminal: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The number of the request; none if the request had none that could be read.
    pub id: Option<u64>,
    pub body: ReplyBody,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyBody {
    Ok(Value),
    Error(Error),
    /// Data of a command that runs, in base64.
    Out(String),
    /// Its talk.
    Err(String),
    /// It wants to read input.
    Read,
    /// It ended.
    Exit(u8),
}

pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn decode(text: &str) -> Result<Vec<u8>> {
    STANDARD.decode(text).map_err(|error| garbled(&error))
}

/// A line of JSON with its line break.
pub fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes =
        serde_json::to_vec(value).map_err(|error| Error::internal(error.to_string()))?;
    bytes.push(b'\n');
    if bytes.len() > LINE_BYTES_MAX {
        return Err(too_large());
    }
    Ok(bytes)
}

pub fn garbled(error: &impl std::fmt::Display) -> Error {
    Error::new("bad_json", Fault::Caller, format!("not understood: {error}"))
}

pub fn too_large() -> Error {
    let message = format!("a message may have {LINE_BYTES_MAX} bytes");
    Error::new("too_large", Fault::Caller, message)
}

/// Both sides must speak the same protocol.
pub fn check_hello(hello: &Hello) -> Result<()> {
    if hello.cortex == PROTOCOL {
        return Ok(());
    }
    let message = format!(
        "the daemon speaks protocol {PROTOCOL} (version {}), the caller {} (version {})",
        env!("CARGO_PKG_VERSION"),
        hello.cortex,
        hello.version
    );
    Err(Error::new("other_version", Fault::Conflict, message)
        .with_hint("`cortex stop` ends the old daemon; the next command starts the new one"))
}
