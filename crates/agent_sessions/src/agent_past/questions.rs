//! What can be asked of the past: its state, its sessions, the turns of one, and which turns answer a question.

use api::past::{
    PastResumeAnswer, PastResumeRequest, PastSearchAnswer, PastSearchRequest, PastSessionsAnswer,
    PastSessionsRequest, PastShowAnswer, PastShowRequest, PastStateAnswer, PastStateRequest,
};
use kernel::memory::Millis;
use past::{SessionScope, TurnQuestion, TurnScope};

use super::{agent_named, folders_of, refused, tombstones, views};
use service::caller::Caller;
use service::error::{Error, Result};
use service::parse;

use crate::AgentSessions;

/// Turns of a session that are shown unless all are asked for.
const TURNS_SHOWN: usize = 40;
/// Sessions of a list that are read for something to call them by.
const FIRST_ASKED_MAX: usize = 50;

impl AgentSessions {
    pub fn past_state(&self, caller: &Caller, _: PastStateRequest) -> Result<PastStateAnswer> {
        let owner = self.past_owner(caller)?;
        let known = self.ask_past(caller, |past| Ok((past.state(), past.drift())))?;
        let (contents, drift) = known.unwrap_or_default();
        let exclusion = self.exclusion(&owner)?;
        let agents = exclusion.agents.iter().map(|agent| agent.name().to_owned());
        let cortex = self.service.existing(&owner)?;
        Ok(PastStateAnswer {
            forgotten: tombstones::entries(&cortex)?.len() as u64,
            excluded: exclusion.folders.iter().cloned().chain(agents).collect(),
            ..views::state(contents, &drift)
        })
    }

    pub fn past_sessions(
        &self,
        caller: &Caller,
        request: PastSessionsRequest,
    ) -> Result<PastSessionsAnswer> {
        let scope = SessionScope {
            agent: request.agent.as_deref().map(agent_named).transpose()?,
            folder: request.folder,
            since: time(request.since.as_deref())?,
            children: request.children,
            limit: request.limit,
        };
        let list = self.ask_past(caller, |past| {
            let mut list = past.sessions(&scope);
            let untitled = list.sessions.iter_mut().filter(|state| state.info.title.is_none());
            // A title costs reading a turn, so that a long list has them only at its beginning.
            for state in untitled.take(FIRST_ASKED_MAX) {
                state.info.title = past.first_asked(&state.info);
            }
            Ok(list)
        })?;
        Ok(list.map(views::sessions).unwrap_or_default())
    }

    pub fn past_show(&self, caller: &Caller, request: PastShowRequest) -> Result<PastShowAnswer> {
        let scope = TurnScope {
            reference: request.reference.clone(),
            around: request.around,
            work: request.work,
        };
        let shown = self.ask_past(caller, |past| past.show(&scope))?;
        let mut answer = views::turns(shown.ok_or_else(|| unknown(&request.reference))?);
        let is_turn = request.reference.contains('#');
        if !request.whole && !is_turn && answer.turns.len() > TURNS_SHOWN {
            let extra = answer.turns.len() - TURNS_SHOWN;
            answer.turns.drain(..extra);
            answer.left_out += extra as u64;
        }
        if is_turn && answer.turns.is_empty() {
            return Err(unknown(&request.reference));
        }
        for kept in self.kept_of(caller, &answer.session.reference)? {
            let turn = answer.turns.iter_mut().find(|turn| turn.reference == kept.reference);
            if let Some(turn) = turn {
                turn.kept.push(kept.id);
            }
        }
        Ok(answer)
    }

    pub fn past_resume(
        &self,
        caller: &Caller,
        request: PastResumeRequest,
    ) -> Result<PastResumeAnswer> {
        let command = self.ask_past(caller, |past| past.resume(&request.reference))?;
        Ok(views::resume(command.ok_or_else(|| unknown(&request.reference))?))
    }

    pub fn past_search(
        &self,
        caller: &Caller,
        request: PastSearchRequest,
    ) -> Result<PastSearchAnswer> {
        let question = TurnQuestion {
            question: request.query.clone(),
            agent: request.agent.as_deref().map(agent_named).transpose()?,
            folder: request.folder.or_else(|| request.project.as_deref().and_then(folders_of)),
            session: request.session,
            since: time(request.since.as_deref())?,
            until: time(request.until.as_deref())?,
            work: request.work,
            limit: request.limit,
            now: caller.now()?.get(),
        };
        let found = self.ask_past(caller, |past| {
            let found = past.search(&question)?;
            let resume = |hit: &past::TurnHit| {
                let session = format!("{}:{}", hit.agent.name(), hit.session);
                past.resume(&session).ok().map(|command| command.line)
            };
            let lines: Vec<Option<String>> = found.hits.iter().map(resume).collect();
            Ok((found, lines))
        })?;
        let mut answer = PastSearchAnswer { query: request.query, ..PastSearchAnswer::default() };
        if let Some((found, lines)) = found {
            answer.matches = found.matches;
            let hits = found.hits.into_iter().zip(lines);
            answer.past = hits.map(|(hit, resume)| views::hit(hit, resume)).collect();
            self.mark_kept(caller, &mut answer.past)?;
        }
        Ok(answer)
    }
}

pub(super) fn time(text: Option<&str>) -> Result<Option<i64>> {
    Ok(text.map(parse::time).transpose()?.map(Millis::get))
}

/// Said as if it were never there.
fn unknown(reference: &str) -> Error {
    refused(past::Error::Unknown { reference: reference.to_owned() })
}
