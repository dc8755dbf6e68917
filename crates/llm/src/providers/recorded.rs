//! Reads recorded bytes as a provider's own, without asking anybody: for tests that throw bytes at the readers.

use serde_json::Value;

use super::anthropic::Anthropic;
use super::cli;
use super::error::{ProviderError, ReasonCode};
use super::google::Google;
use super::http::Protocol;
use super::openai::OpenAi;
use super::sse::SseReader;
use super::{ModelReply, ModelRequest};
use crate::models::ProviderKind;

/// What a stream of a service, or the lines of a tool, come to. The bytes arrive in pieces of this size.
pub fn read_recorded(
    kind: ProviderKind,
    bytes: &[u8],
    piece: usize,
) -> Result<ModelReply, ProviderError> {
    let protocol: Box<dyn Protocol> = match kind {
        ProviderKind::Anthropic => Box::new(Anthropic),
        ProviderKind::Openai => Box::new(OpenAi { original: true }),
        ProviderKind::Google => Box::new(Google),
        ProviderKind::Claude | ProviderKind::Codex | ProviderKind::Gemini => {
            return Ok(cli::read_lines(kind, &lines(bytes)));
        }
    };
    let invalid = |why: String| ProviderError::new(ReasonCode::ResponseInvalid, why);
    let mut reader = protocol.reader(&ModelRequest::default());
    let (mut sse, mut events, mut out) = (SseReader::default(), Vec::new(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        sse.push(piece, &mut events).map_err(invalid)?;
    }
    sse.end(&mut events).map_err(invalid)?;
    for event in &events {
        reader.take(event, &mut out)?;
    }
    reader.finish()
}

/// The lines that are objects; a tool may print others.
fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).filter(Value::is_object).collect()
}
