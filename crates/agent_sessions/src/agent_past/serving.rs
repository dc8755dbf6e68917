//! What hooks and the chronicle ask of the past: the work of a day, what a transcript gained, a word before a tool is
//! used, and what a session must not lose when its conversation is shortened.
//!
//! What must stay true: only the owner is answered; every text is bounded and quoted from what was recorded; silence
//! is the answer wherever nothing is worth saying.

use std::path::Path;

use api::render::untrusted;
use past::{SessionFacts, SessionScope, WorkScope, read_transcript};
use transcripts::cleaner::PastEvent;

use super::{agent_named, folders_of, refused};
use crate::AgentSessions;
use service::caller::Caller;
use service::error::Result;

/// Characters of what is said before a tool is used.
const TOOL_CHARS_MAX: usize = 240;
/// Characters of an error in it.
const ERROR_CHARS_MAX: usize = 110;
/// Turns in which a command is looked for: a hook has 30 ms.
const TURNS_LOOKED_AT: usize = 24;
/// Kept turns that are compared with a file.
const KEPT_LOOKED_AT: usize = 40;
/// Bytes of a transcript that are read for the facts of a session.
const FACTS_BYTES_MAX: u64 = 64 << 20;
/// Newest sessions of a folder among which one is taken for the last: the newest may be the one that asks.
const STOPPED_LOOKED_AT: usize = 6;

/// What an agent is about to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ToolIntent<'a> {
    /// To edit or read this file.
    File(&'a str),
    /// To run this command.
    Command(&'a str),
}

/// One line for an agent, and the turn it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolFact {
    /// At most 240 characters, the citation included.
    pub(crate) text: String,
    /// `AGENT:SESSION#TURN`. Whoever tells it once per session remembers it by this.
    pub(crate) reference: String,
}

/// Where a session stopped, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoppedSession {
    pub(crate) reference: String,
    pub(crate) at: i64,
    pub(crate) asked: String,
    pub(crate) answered: Option<String>,
    /// Errors that nothing afterwards shows to be gone.
    pub(crate) errors: Vec<String>,
}

impl AgentSessions {
    /// A word before a tool is used: a decision that was kept from a turn about the file, an approach that was tried
    /// and rejected, or that the command failed the same way before and what helped then. Silence otherwise.
    pub(crate) fn past_tool_fact(
        &self,
        caller: &Caller,
        intent: ToolIntent<'_>,
        project: Option<&str>,
    ) -> Result<Option<ToolFact>> {
        if !self.has_past() {
            return Ok(None);
        }
        match intent {
            ToolIntent::Command(line) => {
                self.command_fact(caller, line, project.and_then(folders_of))
            }
            ToolIntent::File(path) => self.file_fact(caller, path),
        }
    }

    fn command_fact(
        &self,
        caller: &Caller,
        line: &str,
        folder: Option<String>,
    ) -> Result<Option<ToolFact>> {
        let scope = WorkScope { folder, since: None, limit: 1, turns: Some(TURNS_LOOKED_AT) };
        let known = self.ask_past(caller, |past| {
            let Some(failure) = past.failure(line, &scope)? else { return Ok(None) };
            let fix = past.fixes(&failure.error, &scope)?.into_iter().find(|fix| fix.is_confirmed);
            Ok(Some((failure, fix)))
        })?;
        Ok(known.flatten().map(|(failure, fix)| {
            let helped = fix.and_then(|fix| fix.steps.into_iter().next());
            let helped = helped.filter(|step| step.trim() != line.trim());
            let helped = helped.map(|step| format!("; what helped then: {step}"));
            // What helped is worth more than the end of a long line of an error.
            let error: String = failure.error.chars().take(ERROR_CHARS_MAX).collect();
            let times = failure.times;
            let said =
                format!("failed {times} times before: {error}{}", helped.unwrap_or_default());
            tool_fact(&said, failure.reference)
        }))
    }

    fn file_fact(&self, caller: &Caller, path: &str) -> Result<Option<ToolFact>> {
        let owner = self.past_owner(caller)?;
        for kept in self.kept_newest(&owner, KEPT_LOOKED_AT)? {
            let Some(said) = kept.rejected.or(kept.decision) else { continue };
            // A turn whose source was forgotten says nothing about a file any more.
            let is_of_file = self.ask_past(caller, |past| past.has_file(&kept.reference, path))?;
            if is_of_file == Some(true) {
                let name = path.rsplit('/').next().unwrap_or(path);
                return Ok(Some(tool_fact(&format!("{name}: {said}"), kept.reference)));
            }
        }
        Ok(None)
    }

    /// What of a session must not be lost, from its own transcript.
    pub(crate) fn past_session_facts(
        &self,
        caller: &Caller,
        agent: &str,
        path: &Path,
    ) -> Result<SessionFacts> {
        let now = self.past_owner(caller)?.now()?.get();
        let reading = read_transcript(agent_named(agent)?, path, None, now, FACTS_BYTES_MAX)
            .map_err(refused)?;
        let item = |event| match event {
            PastEvent::Item(item) => Some(item),
            PastEvent::Session(_) | PastEvent::Undo(_) => None,
        };
        let items: Vec<_> = reading.events.into_iter().filter_map(item).collect();
        Ok(past::facts(&items))
    }

    /// Where the newest session in a folder stopped, other than one that is named; none if nothing was read of any.
    pub(crate) fn past_stopped(
        &self,
        caller: &Caller,
        folder: &Path,
        session: Option<&str>,
    ) -> Result<Option<StoppedSession>> {
        let scope = SessionScope {
            folder: Some(folder.to_string_lossy().into_owned()),
            limit: Some(STOPPED_LOOKED_AT),
            ..SessionScope::default()
        };
        let brief = self.ask_past(caller, |past| {
            let list = past.sessions(&scope);
            let others =
                list.sessions.iter().filter(|state| Some(state.info.id.as_str()) != session);
            let mut newest = None;
            for state in others {
                let brief = past.brief(&state.reference)?;
                // One that only asked and answered is no work that stopped.
                let worked = !(brief.files.is_empty()
                    && brief.commands.is_empty()
                    && brief.errors.is_empty());
                if worked {
                    return Ok(Some(brief));
                }
                newest.get_or_insert(brief);
            }
            Ok(newest)
        })?;
        Ok(brief.flatten().and_then(|brief| {
            let (asked, _) = brief.last_prompt.or(brief.goal)?;
            Some(StoppedSession {
                reference: brief.reference,
                at: brief.info.updated,
                asked,
                answered: brief.last_answer.map(|(text, _)| text),
                errors: brief.errors.into_iter().map(|(line, _)| line).collect(),
            })
        }))
    }
}

fn tool_fact(said: &str, reference: String) -> ToolFact {
    let end = format!(" [{}]", untrusted::line(&reference));
    let room = TOOL_CHARS_MAX.saturating_sub(end.chars().count());
    let text: String = untrusted::line(said).chars().take(room).collect();
    ToolFact { text: text + &end, reference }
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 61
    #[test]
    fn what_is_told_is_bounded() {
        let fact = tool_fact(&"word ".repeat(100), "codex:0199c0de#3".to_owned());
        assert!(fact.text.chars().count() <= TOOL_CHARS_MAX);
        assert!(fact.text.ends_with(" [codex:0199c0de#3]"));
    }
}
