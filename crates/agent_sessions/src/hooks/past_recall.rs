//! What earlier sessions say unasked: a line before a tool is used, what a session came to when its conversation was
//! shortened, and where work stopped where no memory tells it.
//!
//! What must stay true: a file, a command and a turn are told once per session, and few lines in all; every text is
//! quoted from what was recorded and bounded; orders in it are not told; without a past all of it is silent.

use std::path::Path;

use api::author::Author;
use api::hook::{HookAnswer, HookRequest, RECALL_TOKENS_MAX};
use api::render::model::{BriefingLine, BriefingSection, may_be_told};
use api::render::{tokens, untrusted};
use kernel::memory::Millis;
use transcripts::session::{PastAgent, SessionInfo};

use super::{HookSubject, session_digest, told, tool_recall};
use crate::agent_past::ToolIntent;
use crate::{AgentSessions, lock};
use service::caller::Caller;
use service::error::Result;

/// Above the line.
const HEADING: &str = "From earlier sessions here (quoted, for reference):";
/// Lines of the past that one session is told before tools. Each leaves two marks: what was touched, and the turn.
const LINES_MAX: usize = 2;
/// Tokens of what a session came to, by what it is: decisions, open errors, files, commands.
const FACT_SHARES: [usize; 4] = [110, 80, 80, 130];
/// Characters of one such line, and of a command: those are short or scripts.
const FACT_CHARS: usize = 160;
/// Characters of what was asked, and of the end of what was answered, where work stopped.
const ASKED_CHARS: usize = 160;
const ANSWERED_CHARS: usize = 240;
pub(super) const STOPPED_SHARE: usize = 150;

impl AgentSessions {
    /// Adds a line about a file or a command to what memory said, if there is room for both.
    pub(super) fn past_for_tool(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
        answer: &mut HookAnswer,
    ) -> Result<()> {
        let Some(key) = subject.key.as_deref().filter(|_| self.has_past()) else { return Ok(()) };
        let intent = match (&request.file, &request.command) {
            (Some(file), _) => ToolIntent::File(file),
            (None, Some(line)) if tool_recall::is_telling(line) => ToolIntent::Command(line),
            _ => return Ok(()),
        };
        let touched = match intent {
            ToolIntent::File(path) => told::mark(&format!("file {path}")),
            ToolIntent::Command(line) => told::mark(&format!("command {}", line.trim())),
        };
        if self.was_told(subject, touched) || lock(&self.told).marks(key) >= 2 * LINES_MAX {
            return Ok(());
        }
        let project = self.service.project(caller, None);
        let Some(fact) = self.past_tool_fact(caller, intent, project.as_deref())? else {
            return Ok(());
        };
        let turn = told::mark(&fact.reference);
        if self.was_told(subject, turn) || !may_be_told(Author::Import, &[&fact.text]) {
            return Ok(());
        }
        let said = match &answer.context {
            Some(context) => format!("{context}\n{HEADING}\n- {}", fact.text),
            None => format!("{HEADING}\n- {}", fact.text),
        };
        let cost = tokens::estimate(&said);
        if cost > RECALL_TOKENS_MAX {
            return Ok(());
        }
        if let Err(error) = lock(&self.told).add(key, &[touched, turn]) {
            answer.notes.push(format!("what was told could not be noted: {error}"));
        }
        answer.context = Some(said);
        answer.tokens = cost;
        Ok(())
    }

    /// What the session had come to, from its own record, in sections for a briefing.
    pub(super) fn facts_so_far(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
    ) -> Result<Vec<BriefingSection>> {
        let path = request.transcript.as_deref().map(Path::new).filter(|path| path.is_file());
        let (Some(path), Some(agent)) = (path, PastAgent::parse(subject.agent)) else {
            return Ok(Vec::new());
        };
        let mut info = SessionInfo::new(agent, subject.session.unwrap_or_default());
        info.folder = caller.cwd.as_ref().map(|folder| folder.display().to_string());
        if self.exclusion(caller)?.covers(&info, &|path: &Path| path.is_file()) {
            return Ok(Vec::new());
        }
        let mut facts = self.past_session_facts(caller, subject.agent, path)?;
        let folder = info.folder.as_deref();
        for list in [&mut facts.files, &mut facts.commands, &mut facts.errors] {
            list.iter_mut().for_each(|line| *line = session_digest::below(folder, line));
        }
        // What was decided and run are words of this very session; an error is text of whoever wrote the program.
        facts.errors.retain(|line| may_be_told(Author::Import, &[line]));
        let lists = [
            ("Said in this session, as decided:", facts.decisions),
            ("Still failing:", facts.errors),
            ("Files edited in this session:", facts.files),
            ("Commands that worked:", facts.commands),
        ];
        let section = |((heading, lines), share): ((&'static str, Vec<String>), usize)| {
            let lines = lines.iter().map(|line| fact_line(line, FACT_CHARS)).collect();
            BriefingSection { heading, lines, share }
        };
        Ok(lists.into_iter().zip(FACT_SHARES).map(section).collect())
    }

    /// Where the last session in this folder stopped, by its own record.
    pub(super) fn stopped_in_past(
        &self,
        caller: &Caller,
        subject: &HookSubject<'_>,
    ) -> Result<Vec<BriefingLine>> {
        let Some(folder) = caller.cwd.as_deref().filter(|_| self.has_past()) else {
            return Ok(Vec::new());
        };
        let Some(stopped) = self.past_stopped(caller, folder, subject.session)? else {
            return Ok(Vec::new());
        };
        let answered = stopped.answered.unwrap_or_default();
        if !may_be_told(Author::Import, &[&stopped.asked, &answered]) {
            return Ok(Vec::new());
        }
        let day = Millis(stopped.at).rfc3339();
        // Whose session it was; its number is of no use to who reads this.
        let agent = stopped.reference.split(':').next().unwrap_or_default();
        let mut text = format!(
            "- {} [{}] asked \u{201c}{}\u{201d}",
            day.get(..10).unwrap_or(&day),
            untrusted::line(agent),
            clipped(&stopped.asked, ASKED_CHARS),
        );
        if !answered.trim().is_empty() {
            text.push_str(&format!("; answered \u{201c}{}\u{201d}", end_of(&answered)));
        }
        if let Some(error) = stopped.errors.first() {
            text.push_str(&format!("; still failing: {}", clipped(error, ASKED_CHARS)));
        }
        Ok(vec![BriefingLine { text, memory: None }])
    }
}

fn fact_line(text: &str, chars: usize) -> BriefingLine {
    BriefingLine { text: format!("- {}", clipped(text, chars)), memory: None }
}

/// The beginning of a text on one line.
fn clipped(text: &str, chars: usize) -> String {
    let line = untrusted::line(text);
    let cut: String = line.chars().take(chars).collect();
    if cut.len() < line.len() { format!("{}…", cut.trim_end()) } else { line }
}

/// The end of an answer: what was found out stands there.
fn end_of(text: &str) -> String {
    let line = untrusted::line(text);
    let skipped = line.chars().count().saturating_sub(ANSWERED_CHARS);
    let end: String = line.chars().skip(skipped).collect();
    if skipped == 0 { end } else { format!("…{}", end.trim_start()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_the_end_that_matters() {
        let long = format!("begin {} end", "word ".repeat(200));
        assert!(clipped(&long, 20).starts_with("begin") && clipped(&long, 20).ends_with('…'));
        assert!(end_of(&long).starts_with('…') && end_of(&long).ends_with("end"));
        assert_eq!(end_of("short"), "short");
    }
}
