//! What hooks and the chronicle ask of the past: the work of a day, what a transcript gained, a word before a tool is
//! used, and what a session must not lose when its conversation is shortened.
//!
//! What must stay true: only the owner is answered; every text is bounded and quoted from what was recorded; silence
//! is the answer wherever nothing is worth saying.

use std::fmt::Write as _;
use std::path::Path;

use api::render::untrusted;
use kernel::render;
use past::{FileQuestion, PastEvent, SessionFacts, WorkScope, WorkSpan, read_transcript};

use super::{agent_named, folders_of};
use crate::Service;
use crate::caller::Caller;
use crate::error::Result;

/// Characters of what is said before a tool is used.
const TOOL_CHARS_MAX: usize = 240;
/// Turns about a file that are looked at.
const TRACES_MAX: usize = 40;
/// Tokens of what is said after a conversation was shortened.
const FACTS_TOKENS_MAX: u32 = 600;
/// Bytes of a transcript that are read for it.
const FACTS_BYTES_MAX: u64 = 64 << 20;
const TAKES: &str = "a String takes any text";

/// What an agent is about to do.
#[derive(Clone, Copy, Debug)]
pub enum ToolIntent<'a> {
    /// To edit or read this file.
    File(&'a str),
    /// To run this command.
    Command(&'a str),
}

/// One line for an agent, and the turn it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFact {
    /// At most 240 characters, the citation included.
    pub text: String,
    /// `AGENT:SESSION#TURN`. Whoever tells it once per session remembers it by this.
    pub reference: String,
}

impl Service {
    /// The work of agents from a time on and before another, in milliseconds. Nothing where nothing was read.
    pub fn past_span(&self, caller: &Caller, from: i64, until: i64) -> Result<WorkSpan> {
        Ok(self.ask_past(caller, |past| past.span(from, until))?.unwrap_or_default())
    }

    /// A word before a tool is used: a decision that was kept from a turn about the file, an approach that was tried
    /// and rejected, or that the command failed the same way before. Silence otherwise.
    pub fn past_tool_fact(
        &self,
        caller: &Caller,
        intent: ToolIntent<'_>,
        project: Option<&str>,
    ) -> Result<Option<ToolFact>> {
        let folder = project.map(folders_of);
        match intent {
            ToolIntent::Command(line) => {
                let scope = WorkScope { folder, since: None, limit: 1 };
                let failure = self.ask_past(caller, |past| past.failure(line, &scope))?.flatten();
                Ok(failure.map(|failure| {
                    let times = failure.times;
                    let said =
                        format!("this command failed {times} times before: {}", failure.error);
                    tool_fact(&said, failure.reference)
                }))
            }
            ToolIntent::File(path) => {
                let scope = WorkScope { folder: None, since: None, limit: TRACES_MAX };
                let asked = FileQuestion { path: path.to_owned(), ..FileQuestion::default() };
                let traces = self.ask_past(caller, |past| past.traces(&asked, &scope))?;
                for trace in traces.unwrap_or_default() {
                    let session = trace.reference.split('#').next().unwrap_or_default();
                    for kept in self.kept_of(caller, session)? {
                        if kept.reference != trace.reference {
                            continue;
                        }
                        let said = kept.rejected.or(kept.decision);
                        if let Some(said) = said {
                            let name = path.rsplit('/').next().unwrap_or(path);
                            let said = format!("{name}: {said}");
                            return Ok(Some(tool_fact(&said, trace.reference)));
                        }
                    }
                }
                Ok(None)
            }
        }
    }

    /// What of a session must not be lost, from its own transcript, in at most 600 tokens; none if there is nothing.
    pub fn past_session_facts(
        &self,
        caller: &Caller,
        agent: &str,
        path: &Path,
    ) -> Result<Option<String>> {
        let now = self.past_owner(caller)?.now()?.get();
        let reading = read_transcript(agent_named(agent)?, path, None, now, FACTS_BYTES_MAX)?;
        let item = |event| match event {
            PastEvent::Item(item) => Some(item),
            PastEvent::Session(_) | PastEvent::Undo(_) => None,
        };
        let items: Vec<_> = reading.events.into_iter().filter_map(item).collect();
        Ok(facts_text(&past::facts(&items)))
    }
}

fn tool_fact(said: &str, reference: String) -> ToolFact {
    let end = format!(" [{}]", untrusted::line(&reference));
    let room = TOOL_CHARS_MAX.saturating_sub(end.chars().count());
    let text: String = untrusted::line(said).chars().take(room).collect();
    ToolFact { text: text + &end, reference }
}

/// Decisions first, then what is open, then what worked, then files: what does not fit is left out from the end.
fn facts_text(facts: &SessionFacts) -> Option<String> {
    let mut text = String::new();
    let mut tokens = 0;
    for (what, lines) in [
        ("Decided in this session", &facts.decisions),
        ("Still failing", &facts.errors),
        ("Files edited", &facts.files),
        ("Commands that worked", &facts.commands),
    ] {
        for (at, line) in lines.iter().enumerate() {
            let mut part = String::new();
            if at == 0 {
                writeln!(part, "{what}:").expect(TAKES);
            }
            writeln!(part, "- {}", untrusted::line(line)).expect(TAKES);
            let cost = render::tokens(&part) + 1;
            if tokens + cost > FACTS_TOKENS_MAX {
                return Some(text);
            }
            tokens += cost;
            text.push_str(&part);
        }
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 61, 62
    #[test]
    fn what_is_told_is_bounded() {
        let fact = tool_fact(&"word ".repeat(100), "codex:0199c0de#3".to_owned());
        assert!(fact.text.chars().count() <= TOOL_CHARS_MAX);
        assert!(fact.text.ends_with(" [codex:0199c0de#3]"));
        let commands = (0..40).map(|n| format!("make {}{n}", "target ".repeat(30))).collect();
        let facts = SessionFacts { commands, ..SessionFacts::default() };
        let text = facts_text(&facts).unwrap();
        assert!(render::tokens(&text) <= FACTS_TOKENS_MAX && text.lines().count() > 3);
        assert_eq!(facts_text(&SessionFacts::default()), None);
    }
}
