//! What goes over the socket: one JSON object per line, at most [`LINE_BYTES_MAX`] each.
//!
//! The client says hello, the server welcomes or refuses it; then each request has a number and is answered by that
//! number. A command line that is run for somebody streams: the server sends output and asks for input when the command
//! reads it, so that nothing is taken from the caller that the command does not want.

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::{Call, CallerInfo, Error, ErrorCode, Fault, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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
pub struct DaemonRequest {
    pub id: u64,
    pub body: RequestBody,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    Ask(Box<CallBody>),
    Run(CommandLine),
    /// Bytes for the command that runs, in base64; none: that was all.
    Input(String),
    Status,
    /// A link that opens the page as the owner, once.
    Open,
    Stop,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallBody {
    pub from: CallerInfo,
    pub ask: Call,
}

/// A command line to be run for the caller, with all it may look at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CommandLine {
    pub arguments: Vec<String>,
    pub cwd: PathBuf,
    /// The variables that the command line reads, as far as they are set.
    pub variables: BTreeMap<String, String>,
    pub input_is_terminal: bool,
    pub talk_is_terminal: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonReply {
    /// The number of the request; none if the request had none that could be read.
    pub id: Option<u64>,
    pub body: ReplyBody,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyBody {
    /// The answer, as the bytes that the operation wrote.
    Ok(Box<RawValue>),
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
    Error::new(ErrorCode::BadJson, Fault::Caller, format!("not understood: {error}"))
}

pub fn too_large() -> Error {
    let message = format!("a message may have {LINE_BYTES_MAX} bytes");
    Error::new(ErrorCode::TooLarge, Fault::Caller, message)
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
    Err(Error::new(ErrorCode::OtherVersion, Fault::Conflict, message)
        .with_hint("`cortex stop` ends the old daemon; the next command starts the new one"))
}
