//! Hooks: what an agent is told without asking, and what is kept of its session without its doing.
//!
//! - here: the one operation, which every hook asks once. `switches`: what hooks may do. `told`: nothing twice.
//! - `prompt_recall`, `tool_recall`: memories that answer a prompt, or are about a file or a command. `past_recall`:
//!   what earlier sessions say about them, and what a session came to.
//! - `briefing`: what a session begins with. `transcript`, `session_digest`, `stated`: what becomes of a session.
//!
//! What must stay true: silence is the usual answer; no memory is told twice in a session; what does not work is a
//! note in the answer, and never keeps an agent from its work.

mod briefing;
mod past_recall;
mod prompt_recall;
mod session_digest;
mod stated;
mod stated_phrases;
mod switches;
mod told;
mod tool_recall;
mod transcript;

use std::path::Path;

use api::ErrorCode;
use api::capture::CaptureRequest;
use api::hook::{HookAnswer, HookMoment, HookRequest, SessionBeginning};
use api::prompt::PromptSaveRequest;
use api::render::tokens;
use api::session::{SessionEndRequest, SessionStartRequest};
use kernel::memory::MemoryId;

use crate::{AgentSessions, lock};
use briefing::BriefingText;
use service::access::only_owner;
use service::caller::Caller;
use service::error::{Error, Result};
use switches::HookSwitches;

pub use stated::{StatedCounts, stated_precision};
pub(crate) use told::ToldLog;

/// Whose session it is.
struct HookSubject<'r> {
    agent: &'r str,
    session: Option<&'r str>,
    /// Its name in the log of what was told.
    key: Option<String>,
}

impl AgentSessions {
    pub fn hook(&self, caller: &Caller, request: HookRequest) -> Result<HookAnswer> {
        only_owner(caller, "use hooks")?;
        let (switches, wrong) = HookSwitches::of(
            self.service.folder(),
            &request.variables,
            caller.cwd.as_deref(),
            caller.person_home.as_deref(),
        );
        let session = request.session_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
        // Whoever looks is in no session: what one was told already would be missing.
        let session = session.filter(|_| !request.preview);
        let key = session.map(|id| told::key(caller.actor.as_str(), &request.agent, id));
        let subject = HookSubject { agent: &request.agent, session, key };
        let mut answer = HookAnswer::default();
        if request.preview {
            answer = self.would_tell(caller, &request, &subject, switches, &wrong)?;
            answer.notes.extend(wrong);
            return Ok(answer);
        }
        match request.moment {
            HookMoment::SessionStart => {
                self.begin(caller, &request, &subject, switches, &wrong, &mut answer)?;
            }
            HookMoment::Prompt => {
                self.asked(caller, &request, &subject, switches, &mut answer)?;
            }
            HookMoment::PreTool if switches.recall => {
                let found = self.recall_for_tool(caller, &request, &subject)?;
                self.tell(caller, &subject, found, &mut answer)?;
                // What the past cannot say keeps nobody from what memory says.
                if let Err(error) = self.past_for_tool(caller, &request, &subject, &mut answer) {
                    answer.notes.push(error.to_string());
                }
            }
            HookMoment::PreTool => {}
            HookMoment::SubagentStop => {
                if switches.capture
                    && let Some(message) = &request.message
                {
                    answer.captured = self.learnings(caller, &request, message)?;
                }
            }
            HookMoment::PreCompact | HookMoment::Stop | HookMoment::SessionEnd => {
                self.paused(caller, &request, &subject, switches, &mut answer)?;
            }
        }
        let has_written = matches!(
            request.moment,
            HookMoment::SubagentStop
                | HookMoment::PreCompact
                | HookMoment::Stop
                | HookMoment::SessionEnd
        );
        if let Some(path) = request.transcript.as_deref().filter(|_| has_written)
            && let Err(error) = self.past_hear(caller, &request.variables, Path::new(path))
        {
            answer.notes.push(error.to_string());
        }
        answer.notes.extend(wrong);
        Ok(answer)
    }

    /// What a session that begins now would be told. Changes nothing.
    fn would_tell(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
        switches: HookSwitches,
        wrong: &[String],
    ) -> Result<HookAnswer> {
        let trouble = wrong.first().map(|reason| briefing::trouble(reason));
        let mut answer = HookAnswer::default();
        let found = match request.moment {
            HookMoment::SessionStart if switches.briefing => {
                let begun = self.briefing(caller, request, subject, trouble)?;
                answer.left_out = begun.left_out;
                Some((begun.text, begun.told))
            }
            HookMoment::SessionStart => trouble.map(|trouble| (trouble, Vec::new())),
            HookMoment::Prompt if switches.recall => {
                let prompt = request.prompt.as_deref().unwrap_or_default();
                self.recall_for_prompt(caller, subject, prompt)?
            }
            HookMoment::PreTool if switches.recall => {
                self.recall_for_tool(caller, request, subject)?
            }
            _ => None,
        };
        if let Some((text, memories)) = found.filter(|(text, _)| !text.is_empty()) {
            answer.tokens = tokens::estimate(&text);
            (answer.context, answer.memories) = (Some(text), memories);
        }
        Ok(answer)
    }

    /// A session begins or goes on.
    fn begin(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
        switches: HookSwitches,
        wrong: &[String],
        answer: &mut HookAnswer,
    ) -> Result<()> {
        if let Some(id) = subject.session {
            let start = SessionStartRequest {
                id: id.to_owned(),
                project: None,
                directory: caller.cwd.as_ref().map(|folder| folder.display().to_string()),
                agent: Some(subject.agent.to_owned()),
            };
            // A session whose name nobody could keep is still worth its briefing.
            if let Err(error) = self.service.session_start(caller, start) {
                answer.notes.push(error.to_string());
            }
        }
        let trouble = wrong.first().map(|reason| briefing::trouble(reason));
        if !switches.briefing {
            answer.context = trouble;
            return Ok(());
        }
        let BriefingText { text, told: ids, .. } =
            self.briefing(caller, request, subject, trouble.clone())?;
        let is_resumed = request.beginning == SessionBeginning::Resumed;
        if is_resumed && ids.is_empty() && self.was_told(subject, told::OPENING) {
            // Nothing is new since.
            answer.context = trouble;
            return Ok(());
        }
        self.tell(caller, subject, Some((text, ids)), answer)?;
        if let Some(key) = &subject.key
            && let Err(error) = lock(&self.told).add(key, &[told::OPENING])
        {
            answer.notes.push(format!("what was told could not be noted: {error}"));
        }
        Ok(())
    }

    /// A person asked something.
    fn asked(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
        switches: HookSwitches,
        answer: &mut HookAnswer,
    ) -> Result<()> {
        let Some(prompt) = request.prompt.as_deref().filter(|text| !text.trim().is_empty()) else {
            return Err(Error::invalid("prompt", "is empty"));
        };
        // What is looked for is judged before the prompt itself is there.
        let found = if switches.recall {
            self.recall_for_prompt(caller, subject, prompt)
        } else {
            Ok(None)
        };
        let spent = match found {
            Ok(found) => {
                self.tell(caller, subject, found, answer)?;
                answer.tokens
            }
            Err(error) => {
                answer.notes.push(error.to_string());
                0
            }
        };
        if let Some(key) = &subject.key {
            lock(&self.told).spend(key, spent);
        }
        if switches.prompts {
            let save = PromptSaveRequest {
                content: prompt.to_owned(),
                session_id: subject.session.map(str::to_owned),
                ..PromptSaveRequest::default()
            };
            if let Err(error) = self.service.prompt_save(caller, save) {
                answer.notes.push(error.to_string());
            }
        }
        Ok(())
    }

    /// The agent ended a turn, is about to shorten its conversation, or ends the session.
    fn paused(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
        switches: HookSwitches,
        answer: &mut HookAnswer,
    ) -> Result<()> {
        if switches.capture {
            match self.capture_session(caller, request, subject) {
                Ok(made) => answer.captured = made,
                Err(error) => answer.notes.push(error.to_string()),
            }
        }
        if request.moment != HookMoment::SessionEnd {
            return Ok(());
        }
        if let Some(key) = &subject.key {
            lock(&self.told).end(key);
        }
        let Some(id) = subject.session else { return Ok(()) };
        let end = SessionEndRequest { id: id.to_owned(), summary: None };
        match self.service.session_end(caller, end) {
            Ok(_) => Ok(()),
            // Some agents announce the end of sessions whose start they never announced.
            Err(error) if is_moot(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The learnings that a sub-agent wrote at the end of its report.
    fn learnings(&self, caller: &Caller, request: &HookRequest, message: &str) -> Result<Vec<u64>> {
        let capture = CaptureRequest {
            content: message.to_owned(),
            session_id: request.session_id.clone(),
            project: None,
            source: Some("subagent-stop".to_owned()),
        };
        Ok(self.service.capture(caller, capture)?.ids)
    }

    /// Puts what was found into the answer, and notes that the session was told.
    fn tell(
        &self,
        caller: &Caller,
        subject: &HookSubject<'_>,
        found: Option<(String, Vec<u64>)>,
        answer: &mut HookAnswer,
    ) -> Result<()> {
        let Some((text, ids)) = found.filter(|(text, _)| !text.is_empty()) else { return Ok(()) };
        if let Some(key) = &subject.key
            && let Err(error) = lock(&self.told).add(key, &ids)
        {
            answer.notes.push(format!("what was told could not be noted: {error}"));
        }
        let shown: Vec<MemoryId> = ids.iter().filter_map(|id| MemoryId::new(*id)).collect();
        self.service.note_shown(caller, &shown)?;
        answer.tokens = tokens::estimate(&text);
        answer.context = Some(text);
        answer.memories = ids;
        Ok(())
    }

    /// Whether the session heard of a memory from a hook.
    fn was_told(&self, subject: &HookSubject<'_>, id: u64) -> bool {
        subject.key.as_deref().is_some_and(|key| lock(&self.told).has(key, id))
    }
}

/// True for an error that says it is so already, or never was: hooks come late, twice, or not at all.
fn is_moot(error: &Error) -> bool {
    matches!(error.fault(), api::Fault::Missing | api::Fault::Conflict)
        || error.code() == ErrorCode::SessionEnded
}
