//! Compaction: the oldest part of a conversation becomes memories and a short note, and only then leaves the context.

use kernel::memory::{MemoryType, Millis};
use serde::{Deserialize, Serialize};

use super::{Channel, ChannelEffect, ChannelMessage, Compaction, MessageRole};
use crate::memory_recall::types_of;
use crate::quote::{self, Quotation, quoted};
use crate::settings::{ChannelSettings, ppm};

/// Memories taken from one compaction.
const MEMORIES_MAX: usize = 20;
/// Words of the note that stays.
const NOTE_WORDS: usize = 120;
/// Bytes of conversation in one memory made without a model; a longer message has one of its own.
const CONTENT_BYTES: usize = 262_144;
/// Characters of each message in a note made without a model.
const LINE_CHARS: usize = 120;

/// A memory to be saved from a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMemory {
    #[serde(rename = "type", default = "fact")]
    pub memory_type: String,
    pub title: String,
    #[serde(default)]
    pub content: String,
}

fn fact() -> String {
    "fact".to_owned()
}

impl NewMemory {
    pub fn kernel_type(&self) -> MemoryType {
        let types = types_of(std::slice::from_ref(&self.memory_type)).unwrap_or_default();
        types.first().copied().unwrap_or(MemoryType::Fact)
    }
}

/// What a model finds worth keeping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extraction {
    summary: String,
    #[serde(default)]
    memories: Vec<NewMemory>,
}

/// Reads a model's answer: one JSON object, with or without a fence around it.
pub(super) fn read_extraction(answer: &str) -> Result<Extraction, String> {
    let start = answer.find('{').ok_or("the answer holds no JSON object")?;
    let end = answer.rfind('}').filter(|end| *end > start).ok_or("the JSON object does not end")?;
    let mut read: Extraction =
        serde_json::from_str(&answer[start..=end]).map_err(|error| error.to_string())?;
    if read.summary.trim().is_empty() {
        return Err("the summary is empty".to_owned());
    }
    read.memories.retain(|memory| !memory.title.trim().is_empty());
    for memory in &read.memories {
        types_of(std::slice::from_ref(&memory.memory_type)).map_err(|error| error.to_string())?;
        if memory.title.len() > kernel::limits::TITLE_BYTES_MAX || memory.title.contains('\n') {
            return Err("a title is too long".to_owned());
        }
    }
    if read.memories.len() > MEMORIES_MAX {
        return Err(format!("{} memories, {MEMORIES_MAX} are allowed", read.memories.len()));
    }
    Ok(read)
}

impl Channel {
    /// Begins a compaction if the context is too full and none is under way.
    pub(super) fn compact(
        &mut self,
        settings: &ChannelSettings,
        now: Millis,
    ) -> Vec<ChannelEffect> {
        let full = u64::from(self.tokens()) * 1_000_000;
        let limit = |share: f64| u64::from(settings.context_tokens) * u64::from(ppm(share));
        if self.compacting.is_some() || full < limit(settings.compact_at) {
            return Vec::new();
        }
        let share = if full >= limit(settings.emergency_at) {
            500_000
        } else {
            ppm(settings.compact_share)
        };
        let Some(up_to) = self.cut(share) else { return Vec::new() };
        self.compactions += 1;
        let run = format!("compact-{}-{}", self.channel_id, self.compactions);
        let leaving: Vec<&ChannelMessage> = self.leaving(up_to).collect();
        let items: Vec<Quotation<'_>> = leaving
            .iter()
            .map(|message| Quotation {
                id: message.number,
                kind: role_name(&message.role),
                trust: None,
                section: None,
                text: &message.text,
            })
            .collect();
        let (data, mark) = quoted(&items);
        let system = format!(
            "You keep the memory of an agent. Part of a conversation leaves its context. Say what must not be \
lost: facts, decisions, preferences, goals, rules, events. Answer with one JSON object: {{\"summary\": at \
most {NOTE_WORDS} words, \"memories\": at most {MEMORIES_MAX} of {{\"type\", \"title\", \"content\"}}}}. \
Types: identity, goal, preference, constraint, decision, fact, event.\n{}",
            quote::RULE
        );
        self.compacting = Some(Compaction { run: run.clone(), up_to, note: None, mark });
        if full >= limit(settings.emergency_at) {
            // The context is nearly full, so nobody waits for a model: the messages are stored as they are.
            return self.extracted(&run, Err("the context is full".to_owned()), now);
        }
        let user = format!("{data}\nAnswer with the JSON object now.");
        vec![ChannelEffect::Extract { run, system, user }]
    }

    /// The number of the last message that leaves: a share of all, never a call without its result, two stay at
    /// least.
    fn cut(&self, share: u32) -> Option<u64> {
        let count = self.messages.len();
        let wanted = (count as u64 * u64::from(share)).div_ceil(1_000_000);
        let mut end = usize::try_from(wanted).unwrap_or(count).min(count.saturating_sub(2));
        while end > 0 && matches!(self.messages[end].role, MessageRole::ToolResult { .. }) {
            end -= 1;
        }
        let last = end.checked_sub(1)?;
        Some(self.messages[last].number)
    }

    fn leaving(&self, up_to: u64) -> impl Iterator<Item = &ChannelMessage> {
        self.messages.iter().filter(move |message| message.number <= up_to)
    }

    /// A model answered what is worth keeping, or did not: then the messages themselves are kept as an event.
    pub fn extracted(
        &mut self,
        run: &str,
        answer: Result<String, String>,
        now: Millis,
    ) -> Vec<ChannelEffect> {
        let Some(compacting) =
            self.compacting.as_ref().filter(|c| c.run == run && c.note.is_none())
        else {
            return Vec::new();
        };
        let (up_to, mark) = (compacting.up_to, compacting.mark.clone());
        let messages: Vec<ChannelMessage> = self.leaving(up_to).cloned().collect();
        let read = answer.and_then(|text| {
            if text.contains(&mark) {
                Err("it repeats the marks".to_owned())
            } else {
                read_extraction(&text)
            }
        });
        let (note, memories) = match read {
            Ok(read) => {
                let words: Vec<&str> =
                    read.summary.split_whitespace().take(2 * NOTE_WORDS).collect();
                (words.join(" "), read.memories)
            }
            Err(_) => self.by_rules(&messages, now),
        };
        if let Some(compacting) = &mut self.compacting {
            compacting.note = Some(note);
        }
        vec![ChannelEffect::Store { run: run.to_owned(), memories, messages }]
    }

    /// Without a model: one event that holds what was said.
    fn by_rules(&self, messages: &[ChannelMessage], now: Millis) -> (String, Vec<NewMemory>) {
        let line = |message: &ChannelMessage| {
            let text = kernel::render::one_line(&message.text);
            format!("{}: {text}", role_name(&message.role))
        };
        let all: Vec<String> = messages.iter().map(line).collect();
        let short: Vec<String> =
            all.iter().map(|line| line.chars().take(LINE_CHARS).collect()).collect();
        let title = format!(
            "Conversation in {}: {} messages up to {}",
            self.channel_id,
            messages.len(),
            now.date()
        );
        // As many memories are made as it takes, so that nothing that was said is cut off.
        let mut contents = vec![String::new()];
        for line in &all {
            let full = contents.last().is_some_and(|last| last.len() + line.len() > CONTENT_BYTES);
            match contents.last_mut() {
                Some(last) if !full || last.is_empty() => {
                    last.push_str(line);
                    last.push('\n');
                }
                _ => contents.push(format!("{line}\n")),
            }
        }
        let memories = contents.into_iter().map(|content| NewMemory {
            memory_type: "event".to_owned(),
            title: title.clone(),
            content,
        });
        (format!("Earlier in this conversation: {}", short.join(" / ")), memories.collect())
    }

    /// Everything is stored: the messages leave, a note takes their place.
    pub fn stored(&mut self, run: &str, now: Millis) {
        let Some(done) = self.compacting.take_if(|c| c.run == run && c.note.is_some()) else {
            return;
        };
        let note = done.note.unwrap_or_default();
        self.messages.retain(|message| message.number > done.up_to);
        let tokens = kernel::render::tokens(&note);
        let note = ChannelMessage {
            number: done.up_to,
            role: MessageRole::Note,
            text: note,
            at_unix_ms: now.get(),
            tokens,
        };
        self.messages.insert(0, note);
    }

    /// Storing failed: the messages stay, and the next turn tries again.
    pub fn store_failed(&mut self, run: &str) {
        self.compacting.take_if(|c| c.run == run);
    }
}

fn role_name(role: &MessageRole) -> &'static str {
    match role {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::ToolCall { .. } => "tool call",
        MessageRole::ToolResult { .. } => "tool result",
        MessageRole::Note => "note",
    }
}
