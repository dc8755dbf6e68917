//! Sessions: the frame around an agent's work. Starting twice is no error; saves find the session they belong to.

use api::ErrorCode;
use api::author::Author;
use api::save::{SaveAnswer, SaveRequest};
use api::session::{
    SESSIONS_MAX, SessionEndRequest, SessionGetRequest, SessionListAnswer, SessionListRequest,
    SessionStartRequest, SessionView, SummaryRequest,
};
use kernel::Cortex;
use kernel::command::{Command, SessionClose, SessionDraft};
use kernel::memory::{MemoryId, Millis, Session};
use kernel::store::View;

use crate::caller::Caller;
use crate::default_session::default_id;
use crate::error::{Error, Result};
use crate::journal_tail::each_session;
use crate::{ActorState, Service, views, wording};
use intake::cleaner::IntakeCleaner;
use intake::project::alias::Aliases;

impl Service {
    /// Starts a session. Starting one that lives, or that has ended, changes nothing; the answer says which.
    pub fn session_start(
        &self,
        caller: &Caller,
        request: SessionStartRequest,
    ) -> Result<SessionView> {
        let cortex = self.cortex(caller)?;
        let project = self.claimed_project(caller, request.project.as_deref());
        let directory = request
            .directory
            .or_else(|| caller.cwd.as_ref().map(|folder| folder.display().to_string()));
        let id = request.id.trim().to_owned();
        let draft = SessionDraft { session: id.clone(), project, directory, agent: request.agent };
        let changed = match self.submit(&cortex, caller.stamp()?, Command::SessionStart(draft)) {
            Ok(receipt) => receipt.changed && !receipt.replayed,
            // An agent that resumes its conversation says start again.
            Err(error) if error.code() == ErrorCode::SessionEnded => false,
            Err(error) => return Err(error),
        };
        self.session_view(caller, &cortex, &id, changed)
    }

    /// Ends a session. Ending one that has ended changes nothing, and the answer says so; only a summary that would be
    /// lost by that is refused.
    pub fn session_end(&self, caller: &Caller, request: SessionEndRequest) -> Result<SessionView> {
        let cortex = self.existing(caller)?;
        let id = request.id.trim().to_owned();
        let summary = request.summary.filter(|summary| !summary.trim().is_empty());
        let summary =
            summary.map(|summary| IntakeCleaner::default().text(self.screen().text(&summary)));
        let (salt, said) = (caller.salt()?, summary.clone());
        let close = SessionClose { session: id.clone(), summary, salt };
        match self.submit(&cortex, caller.stamp()?, Command::SessionEnd(close)) {
            Ok(_) => self.session_view(caller, &cortex, &id, true),
            Err(error) if error.code() == ErrorCode::SessionEnded => {
                let ended = self.session_view(caller, &cortex, &id, false)?;
                if said.is_none() || said == ended.summary {
                    return Ok(ended);
                }
                Err(error
                    .with_hint("mem_session_summary or `cortex save` keeps what is to be added"))
            }
            Err(error) => Err(error),
        }
    }

    pub fn session_get(&self, caller: &Caller, request: SessionGetRequest) -> Result<SessionView> {
        let cortex = self.existing(caller)?;
        self.session_view(caller, &cortex, &request.id, false)
    }

    pub fn session_list(
        &self,
        caller: &Caller,
        request: SessionListRequest,
    ) -> Result<SessionListAnswer> {
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        let project = self.read_project(caller, request.project.as_deref(), false);
        let is_any = request.project.as_deref().is_none_or(wording::is_every_project);
        let mut found: Vec<Session> = Vec::new();
        let aliases = self.known_aliases(&caller.actor);
        each_session(&view, &mut |session| {
            let its = aliases.of(session.project.as_deref());
            let wanted =
                (is_any || its == project.as_deref()) && !(request.live && session.ended.is_some());
            if wanted {
                found.push(session);
            }
        })?;
        found.sort_by(|a, b| b.started.cmp(&a.started).then(b.id.cmp(&a.id)));
        let total = found.len();
        let limit = request.limit.unwrap_or(50).min(SESSIONS_MAX);
        let page = found.into_iter().skip(request.offset).take(limit);
        let sessions = page
            .map(|session| shown(&view, &aliases, session, false))
            .collect::<Result<Vec<_>>>()?;
        Ok(SessionListAnswer { sessions, total })
    }

    /// When the last session of an agent ended, in a project if one is named.
    pub fn last_session_end(
        &self,
        caller: &Caller,
        agent: &str,
        project: Option<&str>,
    ) -> Result<Option<Millis>> {
        let (_, reading) = self.reading(caller)?;
        let aliases = self.known_aliases(&caller.actor);
        let mut last = None;
        each_session(&reading.view(), &mut |session| {
            let its = aliases.of(session.project.as_deref());
            let meant =
                session.agent.as_deref() == Some(agent) && (project.is_none() || its == project);
            if meant {
                last = last.max(session.ended);
            }
        })?;
        Ok(last)
    }

    /// Saves what a session came to. The session goes on.
    pub fn session_summary(&self, caller: &Caller, request: SummaryRequest) -> Result<SaveAnswer> {
        if request.content.trim().is_empty() {
            return Err(Error::invalid("content", "is empty; say what the session came to"));
        }
        let project = self.claimed_project(caller, request.project.as_deref());
        let save = SaveRequest {
            title: format!("Session summary: {}", project.as_deref().unwrap_or("all projects")),
            content: request.content,
            kind: Some("session_summary".to_owned()),
            project,
            session_id: request.session_id,
            default_session: true,
            ..SaveRequest::default()
        };
        self.save(caller, save)
    }

    fn session_view(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        id: &str,
        changed: bool,
    ) -> Result<SessionView> {
        let reading = cortex.read()?;
        let view = reading.view();
        let session = view.session(id)?.ok_or_else(|| Error::missing("session", id))?;
        shown(&view, &self.known_aliases(&caller.actor), session, changed)
    }

    /// The session a save belongs to: the one named (started if it is new), else the live one of the project that spoke
    /// last, else the default one if the caller wants it.
    pub(super) fn attach(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        state: &ActorState,
        named: Option<&str>,
        project: Option<&str>,
        default: bool,
    ) -> Result<Option<String>> {
        let reading = cortex.read()?;
        let named = named.map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned);
        let id = match named {
            Some(id) => id,
            None => {
                let now = caller.now()?;
                let aliases = self.known_aliases(&caller.actor);
                let live =
                    self.with_tail(state, &reading, now, |tail| tail.speaking(project, &aliases))?;
                match live {
                    Some(id) => return Ok(Some(id)),
                    None if default => default_id(project),
                    None => return Ok(None),
                }
            }
        };
        if reading.view().session(&id)?.is_none() {
            let directory = caller.cwd.as_ref().map(|folder| folder.display().to_string());
            let project = project.map(str::to_owned);
            let draft = SessionDraft { session: id.clone(), project, directory, agent: None };
            self.submit(cortex, caller.plain_stamp()?, Command::SessionStart(draft))?;
        }
        Ok(Some(id))
    }
}

/// When an imported memory was made: its session is as old, whenever the journal heard of it.
fn of_origin(view: &View<'_>, id: MemoryId) -> Result<Option<Millis>> {
    let head = view.required_head(id)?;
    let version = view.required_version(id, head.version)?;
    let is_imported = views::author(&version) == Author::Import;
    Ok(if is_imported { Some(views::when_happened(view, &head)?) } else { None })
}

/// A session under the name that its project has now.
pub(super) fn shown(
    view: &View<'_>,
    aliases: &Aliases,
    session: Session,
    changed: bool,
) -> Result<SessionView> {
    let summary = match session.summary_seq {
        Some(seq) => view.sealed(seq)?.map(|sealed| sealed.open_note()).transpose()?,
        None => None,
    };
    let (mut memories, mut oldest, mut newest) = (0, None, None);
    view.scan_index(&kernel::keys::by_session(&session.id), None, false, &mut |id| {
        memories += 1;
        oldest = oldest.or(Some(id));
        newest = Some(id);
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    let started = match oldest {
        Some(oldest) => session.started.min(of_origin(view, oldest)?.unwrap_or(session.started)),
        None => session.started,
    };
    let newest = newest.map(|id| view.required_head(id)).transpose()?;
    Ok(SessionView {
        id: session.id,
        project: aliases.of(session.project.as_deref()).unwrap_or_default().to_owned(),
        directory: session.directory.unwrap_or_default(),
        agent: session.agent,
        started_at: started.rfc3339(),
        ended_at: session.ended.map(Millis::rfc3339),
        summary: summary.map(|note| note.text),
        memories,
        last_saved_at: newest.map(|head| head.created.rfc3339()),
        changed,
    })
}
