//! Streams of services and lines of command line tools, in pieces of any size.
//!
//! The law: how the network cut the stream changes nothing.

use llm::models::ProviderKind;
use llm::providers::read_recorded;
use llm::testing::{ANTHROPIC, GOOGLE, OPENAI};

use super::{Outcome, shape};

const KINDS: [ProviderKind; 6] = [
    ProviderKind::Anthropic,
    ProviderKind::Openai,
    ProviderKind::Google,
    ProviderKind::Claude,
    ProviderKind::Codex,
    ProviderKind::Gemini,
];

/// The first byte says whose it is.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let claude = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n\
        {\"type\":\"assistant\",\"message\":{\"content\":[\
        {\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Read\",\"input\":{}}]}}\n\
        {\"type\":\"user\",\"message\":{\"content\":[\
        {\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"x\"}]}}\n\
        {\"type\":\"result\",\"subtype\":\"success\",\"result\":\"Well.\",\
        \"usage\":{\"input_tokens\":1},\"num_turns\":2}\n";
    let codex = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n\
        {\"type\":\"item.completed\",\"item\":{\
        \"id\":\"i\",\"type\":\"command_execution\",\"command\":\"ls\",\"exit_code\":0}}\n\
        {\"type\":\"item.completed\",\"item\":{\"id\":\"j\",\"type\":\"agent_message\",\"text\":\"One.\"}}\n\
        {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":20}}\n";
    let gemini = "{\"type\":\"init\",\"session_id\":\"g\"}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Fine.\",\"delta\":true}\n\
        {\"type\":\"result\",\"status\":\"success\",\"stats\":{\"input_tokens\":6}}\n";
    let texts = [ANTHROPIC, OPENAI, GOOGLE, claude, codex, gemini];
    let seed = |(n, text): (usize, &str)| {
        let mut bytes = vec![u8::try_from(n).unwrap_or(0)];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    texts.into_iter().enumerate().map(seed).collect()
}

pub(super) fn read(bytes: &[u8]) -> Outcome {
    let Some((kind, stream)) = bytes.split_first() else { return Ok(0) };
    let kind = KINDS[usize::from(*kind) % KINDS.len()];
    let whole = read_recorded(kind, stream, stream.len());
    let cut = read_recorded(kind, stream, 1 + stream.len() % 7);
    match (whole, cut) {
        (Ok(whole), Ok(cut)) if whole == cut => Ok(1 + (whole.text.len().min(9) as u64)),
        (Err(whole), Err(cut)) if whole.message == cut.message => Ok(shape(&whole.message)),
        (whole, cut) => Err(format!("{whole:?} in one piece, {cut:?} in several")),
    }
}
