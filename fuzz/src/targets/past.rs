//! Histories of coding agents, read by every reader that is no database's. The laws: a transcript that did not grow has
//! nothing new, and what is read holds no more bytes than the bounds allow.

use std::fs;

use past::read_transcript;
use transcripts::cleaner::PastEvent;
use transcripts::session::{PastAgent, PastItem};

use super::{Check, shape};

const MADE: &str = "a temporary folder";
const NOW: i64 = 1_800_000_000_000;
/// Bytes of texts that may come of a source, as a multiple: ids and roles are added, texts are cut.
const GROWTH_MAX: usize = 8;

/// What is not a database: those are SQLite's to read.
const FILES: &[(PastAgent, &str)] = &[
    (PastAgent::ClaudeCode, "s1.jsonl"),
    (PastAgent::Codex, "rollout-2026-t1.jsonl"),
    (PastAgent::GeminiCli, "chats/session-g1.jsonl"),
    (PastAgent::GeminiCli, "chats/session-g2.json"),
    (PastAgent::Cursor, "agent-transcripts/c1.jsonl"),
    (PastAgent::CopilotCli, "session-state/p1/events.jsonl"),
    (PastAgent::CopilotChat, "chatSessions/v1.jsonl"),
    (PastAgent::CopilotChat, "chatSessions/v2.json"),
    (PastAgent::Cline, "c1/c1.messages.json"),
    (PastAgent::Cline, "179/api_conversation_history.json"),
    (PastAgent::Goose, "g1.jsonl"),
    (PastAgent::Aider, ".aider.chat.history.md"),
    (PastAgent::QwenCode, "chats/q1.jsonl"),
    (PastAgent::Pi, "sessions/p1.jsonl"),
];

/// The first byte says which reader; the file follows.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let files = [
        "{\"type\":\"user\",\"uuid\":\"u1\",\"timestamp\":\"2026-10-01T08:00:00Z\",\"cwd\":\"/a\",\
         \"message\":{\"content\":\
         \"Why?\"}}\n{\"type\":\"assistant\",\"uuid\":\"a1\",\"message\":{\"id\":\"m\",\
         \"content\":[{\"type\":\"tool_use\",\
         \"id\":\"t\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}]}}\n",
        "{\"type\":\"session_meta\",\"payload\":{\"id\":\"T1\",\"cwd\":\"/a\"}}\n{\"type\":\"event_msg\",\"payload\":\
         {\"type\":\"user_message\",\"message\":\"Why?\"}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\
         \"function_call\",\"name\":\"shell\",\"arguments\":\"{}\",\"call_id\":\"c\"}}\n",
        "{\"sessionId\":\"g1\",\"startTime\":\"2026-10-01T08:00:00Z\"}\n{\"id\":\"m\",\"type\":\"user\",\
         \"content\":\"Why?\"}\n\
         {\"$rewindTo\":\"m\"}\n",
        "{\"sessionId\":\"g2\",\"messages\":[{\"id\":\"m\",\"type\":\"gemini\",\"content\":[{\"text\":\"So.\"}]}]}",
        "{\"role\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\
         \"text\":\"<user_query>Why?</user_query>\"}]}}\n",
        "{\"type\":\"session.start\",\"data\":{\"sessionId\":\"p1\"}}\n{\"type\":\"user.message\",\
         \"data\":{\"content\":\"Why?\"},\
         \"id\":\"e\",\"agentId\":\"k\"}\n",
        "{\"kind\":0,\"v\":{\"sessionId\":\"v1\",\"requests\":[]}}\n{\"kind\":2,\"k\":[\"requests\"],\
         \"v\":[{\"message\":\
         {\"text\":\"Why?\"},\"response\":[{\"value\":\"So.\"}]}]}\n{\"kind\":3,\"k\":[\"requests\",0]}\n",
        "{\"requests\":[{\"message\":{\"text\":\"Why?\"},\"response\":[{\"kind\":\"textEditGroup\",\
         \"edits\":[[{\"text\":\"x\"}]]}]}]}",
        "{\"sessionId\":\"c1\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\
         \"text\":\"Why?\"}]}]}",
        "[{\"role\":\"assistant\",\"content\":\"<execute_command><command>ls</command></execute_command>\"}]",
        "{\"working_dir\":\"/a\"}\n{\"role\":\"user\",\"created\":1,\"content\":[{\"type\":\"text\",\
         \"text\":\"Why?\"}]}\n",
        "# aider chat started at 2026-10-01 08:00:00\n\n#### Why?\n\n```\n#### text\n```\n\n> Applied edit to a\n",
        "{\"uuid\":\"u\",\"parentUuid\":\"u\",\"sessionId\":\"q1\",\"type\":\"user\",\
         \"message\":{\"parts\":[{\"text\":\"Why?\"}]}}\n",
        "{\"type\":\"session\",\"id\":\"p1\"}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"a\",\
         \"message\":{\"role\":\"user\",\
         \"content\":\"Why?\"}}\n",
    ];
    let seed = |(n, text): (usize, &str)| {
        let mut bytes = vec![u8::try_from(n).unwrap_or(0)];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    files.into_iter().enumerate().map(seed).collect()
}

pub(super) fn open() -> Check {
    let folder = tempfile::tempdir().expect(MADE);
    Box::new(move |bytes| {
        let Some((which, text)) = bytes.split_first() else { return Ok(0) };
        let (agent, name) = FILES[usize::from(*which) % FILES.len()];
        let path = folder.path().join(name);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|e| e.to_string())?;
        let part = match read_transcript(agent, &path, None, NOW, u64::MAX) {
            Ok(part) => part,
            Err(error) => return Ok(shape(&error.to_string())),
        };
        let held: usize =
            items(&part.events).flat_map(|item| item.body.texts()).map(str::len).sum();
        if held > text.len() * GROWTH_MAX + 4_096 {
            return Err(format!("{} bytes came of {}", held, text.len()));
        }
        let again = read_transcript(agent, &path, Some(&part.place), NOW, u64::MAX)
            .map_err(|e| e.to_string())?;
        let new = items(&again.events).count();
        if !again.is_anew && new > 0 {
            return Err(format!("{new} items are new in a file that did not grow"));
        }
        let roles: Vec<&str> = items(&part.events).map(|item| item.body.role()).collect();
        Ok(shape(&format!("{agent:?} {roles:?}")))
    })
}

fn items(events: &[PastEvent]) -> impl Iterator<Item = &PastItem> {
    events.iter().filter_map(|event| match event {
        PastEvent::Item(item) => Some(item),
        PastEvent::Session(_) | PastEvent::Undo(_) => None,
    })
}
