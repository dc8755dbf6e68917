//! What the admin chat says about each thing that can be asked: a text for people, and the data behind it.

use api::activity::ActivityRequest;
use api::admin::ProcessKind;
use api::bulletin::BulletinRequest;
use api::channel::ChannelListRequest;
use api::mind::{BudgetRequest, JobsRequest, PauseJobRequest, RunJobRequest, RunsRequest};
use api::read::{GetRequest, ListRequest};
use api::render::model::{self, ModelReader};
use api::render::people;
use api::render::untrusted::{line, lines};
use api::search::SearchRequest;
use api::session::{SessionGetRequest, SessionListRequest};
use mind::supervision::{ProcessId, ProcessStatus};
use serde_json::json;
use service::caller::Caller;
use service::error::Result;

use super::{AdminReply, listed, value};
use crate::host::Host;

/// Lines of a list in an answer.
const LIST: usize = 20;

impl Host {
    pub(super) fn activity_reply(&self, caller: &Caller, limit: usize) -> Result<AdminReply> {
        let request = ActivityRequest { limit: Some(limit), ..ActivityRequest::default() };
        let answer = self.service.activity(caller, request)?;
        Ok((people::activity(&answer), value(&answer)?))
    }

    /// Everything that is under way: jobs, processes, conversations.
    pub(super) fn running_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let jobs = self.mind_jobs(caller, JobsRequest {})?;
        let processes = self.processes(caller, None)?;
        let sessions = SessionListRequest { live: true, ..SessionListRequest::default() };
        let sessions = self.service.session_list(caller, sessions)?;
        let mut all = Vec::new();
        for job in &jobs.jobs {
            all.extend(job.running.as_ref().map(|run| format!("job {} as {run}", job.name)));
        }
        all.extend(processes.iter().map(process_line));
        for session in sessions.sessions.iter().take(LIST) {
            all.push(format!("session {} since {}", line(&session.id), session.started_at));
        }
        let head = format!("warm-up: {}", jobs.warmup.state);
        let head = match all.len() {
            0 => format!("Nothing is running; {head}."),
            count => format!("{count} things are running; {head}:"),
        };
        let data = json!({
            "jobs": jobs.jobs, "warmup": jobs.warmup, "processes": processes,
            "sessions": sessions.sessions,
        });
        Ok((listed(&head, all), data))
    }

    /// Conversations: those that are kept here, and the sessions of agents.
    pub(super) fn channels_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let channels = self.channel_list(caller, ChannelListRequest {})?;
        let sessions = self.service.session_list(caller, SessionListRequest::default())?;
        let text = people::conversations(&channels, &sessions);
        let data = json!({"channels": channels.channels, "sessions": sessions.sessions});
        Ok((text, data))
    }

    pub(super) fn processes_reply(
        &self,
        caller: &Caller,
        kind: Option<ProcessKind>,
    ) -> Result<AdminReply> {
        let processes = self.processes(caller, kind)?;
        let head = match processes.len() {
            0 => "None is running.".to_owned(),
            count => format!("{count} running:"),
        };
        let text = listed(&head, processes.iter().map(process_line));
        Ok((text, json!({ "processes": processes })))
    }

    fn processes(&self, caller: &Caller, kind: Option<ProcessKind>) -> Result<Vec<ProcessStatus>> {
        let actor_mind = self.actor_mind(caller)?;
        let slot = actor_mind.slot();
        let wanted =
            |process: &&ProcessStatus| kind.is_none_or(|kind| process.process.kind == kind);
        Ok(slot.mind.supervisor.all().filter(wanted).cloned().collect())
    }

    pub(super) fn process_reply(
        &self,
        caller: &Caller,
        kind: ProcessKind,
        id: &str,
    ) -> Result<AdminReply> {
        let process = ProcessId { kind, id: id.to_owned() };
        let now = caller.now()?;
        let actor_mind = self.actor_mind(caller)?;
        let known = {
            let slot = actor_mind.slot();
            let (supervisor, settings) = (&slot.mind.supervisor, &slot.mind.settings.supervision);
            let explained = supervisor.explain(&process, settings, now);
            supervisor.get(&process).cloned().zip(explained.ok())
        };
        if let Some((process, explained)) = known {
            return Ok((lines(&explained), value(&process)?));
        }
        if kind == ProcessKind::Channel {
            let session =
                self.service.session_get(caller, SessionGetRequest { id: id.to_owned() })?;
            return Ok((people::session(&session), value(&session)?));
        }
        Err(mind::error::MindError::UnknownProcess { process: process.kind.name(), id: process.id }
            .into())
    }

    pub(super) fn cancel_reply(
        &self,
        caller: &Caller,
        kind: ProcessKind,
        id: &str,
    ) -> Result<AdminReply> {
        let process = ProcessId { kind, id: id.to_owned() };
        let actor_mind = self.actor_mind(caller)?;
        let now = caller.now()?;
        let effects =
            { actor_mind.slot().mind.supervisor.cancel(&process, "the admin chat", now)? };
        let effects = effects.into_iter().map(mind::MindEffect::Supervise).collect();
        self.run_effects(&actor_mind, effects, caller)?;
        Ok((format!("{} {} was asked to stop", process.kind.name(), line(id)), value(&process)?))
    }

    pub(super) fn recall_reply(&self, caller: &Caller, query: String) -> Result<AdminReply> {
        let request = SearchRequest { query, limit: Some(10), ..SearchRequest::default() };
        let found = self.service.search(caller, request)?;
        Ok((model::found(&found, &ModelReader::default()).text, value(&found)?))
    }

    pub(super) fn memory_reply(&self, caller: &Caller, id: u64) -> Result<AdminReply> {
        let request = GetRequest {
            id,
            history: true,
            include_put_away: true,
            quiet: true,
            ..GetRequest::default()
        };
        let found = self.service.get(caller, request)?;
        Ok((people::whereabouts(&found), value(&found)?))
    }

    pub(super) fn jobs_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let answer = self.mind_jobs(caller, JobsRequest {})?;
        Ok((people::jobs(&answer), value(&answer)?))
    }

    pub(super) fn run_reply(
        &self,
        caller: &Caller,
        job: String,
        dry_run: bool,
    ) -> Result<AdminReply> {
        let answer = self.mind_run(caller, RunJobRequest { job, dry_run })?;
        Ok((people::ran(&answer), value(&answer)?))
    }

    pub(super) fn pause_reply(
        &self,
        caller: &Caller,
        job: String,
        paused: bool,
    ) -> Result<AdminReply> {
        let view = self.mind_pause(caller, PauseJobRequest { job, paused })?;
        Ok((people::paused(&view), value(&view)?))
    }

    pub(super) fn runs_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let answer = self.mind_runs(caller, RunsRequest::default())?;
        Ok((people::runs(&answer), value(&answer)?))
    }

    pub(super) fn budget_reply(
        &self,
        caller: &Caller,
        kill_switch: Option<bool>,
    ) -> Result<AdminReply> {
        let answer = self.budget(caller, BudgetRequest { kill_switch, limit: None })?;
        Ok((people::budget(&answer), value(&answer)?))
    }

    pub(super) fn bulletin_reply(
        &self,
        caller: &Caller,
        refresh: bool,
        explain: bool,
    ) -> Result<AdminReply> {
        let request = BulletinRequest { refresh, explain, ..BulletinRequest::default() };
        let answer = self.bulletin(caller, request)?;
        let text = match &answer.bulletin {
            Some(bulletin) if explain => people::bulletin_explained(bulletin),
            bulletin => people::bulletin(bulletin.as_ref()),
        };
        Ok((text, value(&answer)?))
    }

    pub(super) fn patterns_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let kind = Some("observation".to_owned());
        let request = ListRequest { kind, limit: Some(LIST), ..ListRequest::default() };
        let found = self.service.list(caller, request)?;
        Ok((people::listed(&found), value(&found)?))
    }
}

fn process_line(process: &ProcessStatus) -> String {
    let ProcessStatus { process, about, phase, status, .. } = process;
    let (about, status) = (line(about), line(status));
    format!("{} {} {about} {status} ({phase:?})", process.kind.name(), line(&process.id))
}
