//! What the admin chat says about each thing that can be asked: a text for people, and the data behind it.

use std::fmt::Write as _;

use api::activity::ActivityRequest;
use api::admin::ProcessKind;
use api::bulletin::BulletinRequest;
use api::channel::{ChannelListRequest, ChannelView};
use api::mind::{BudgetRequest, JobsRequest, PauseJobRequest, RunJobRequest, RunsRequest};
use api::read::{GetRequest, ListRequest};
use api::search::SearchRequest;
use api::session::{SessionGetRequest, SessionListRequest};
use mind::supervision::{ProcessId, ProcessStatus};
use serde_json::json;
use service::caller::Caller;
use service::error::Result;

use super::{AdminReply, lines, listed, value};
use crate::host::Host;

/// Lines of a list in an answer.
const LIST: usize = 20;

impl Host {
    pub(super) fn activity_reply(&self, caller: &Caller, limit: usize) -> Result<AdminReply> {
        let request = ActivityRequest { limit: Some(limit), ..ActivityRequest::default() };
        let answer = self.service.activity(caller, request)?;
        let entries = answer.entries.iter();
        let lines = entries.map(|e| format!("{}  {}  {} by {}", e.at, e.kind, e.summary, e.by));
        let head = format!("The last {} of {} entries:", answer.entries.len(), answer.size);
        Ok((listed(&head, lines), value(&answer)?))
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
            all.push(format!("session {} since {}", session.id, session.started_at));
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
        let channels = self.channel_list(caller, ChannelListRequest {})?.channels;
        let sessions = self.service.session_list(caller, SessionListRequest::default())?;
        let line = |channel: &ChannelView| {
            let busy = if channel.is_answering { ", answering now" } else { "" };
            let (name, count, last) = (&channel.channel, channel.messages, &channel.last_at);
            format!("channel {name}, {count} messages, last {last}{busy}")
        };
        let mut all: Vec<String> = channels.iter().map(line).collect();
        for session in sessions.sessions.iter().take(LIST) {
            let state = if session.ended_at.is_some() { "ended" } else { "live" };
            let (id, memories) = (&session.id, session.memories);
            all.push(format!("session {id} ({state}), {memories} memories"));
        }
        let head = format!("{} channels, {} sessions of agents:", channels.len(), sessions.total);
        Ok((listed(&head, all), json!({"channels": channels, "sessions": sessions.sessions})))
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
            return Ok((explained, value(&process)?));
        }
        if kind == ProcessKind::Channel {
            let session =
                self.service.session_get(caller, SessionGetRequest { id: id.to_owned() })?;
            let state = if session.ended_at.is_some() { "ended" } else { "live" };
            let (started, memories) = (&session.started_at, session.memories);
            let text =
                format!("session {id} started {started} and is {state}; {memories} memories");
            return Ok((text, value(&session)?));
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
        Ok((format!("{} {id} was asked to stop", process.kind.name()), value(&process)?))
    }

    pub(super) fn recall_reply(&self, caller: &Caller, query: String) -> Result<AdminReply> {
        let request = SearchRequest { query, limit: Some(10), ..SearchRequest::default() };
        let found = self.service.search(caller, request)?;
        let head = match found.hits.len() {
            0 => format!("Nothing is known about {:?}.", found.query),
            count => format!("{count} memories:"),
        };
        let lines = found.hits.iter().map(|h| format!("#{} {}: {}", h.id, h.title, h.preview));
        Ok((listed(&head, lines), value(&found)?))
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
        let memory = &found.memory;
        let state = match (&memory.deleted_at, memory.archived) {
            (Some(at), _) => {
                let why = memory.deleted_reason.as_deref().unwrap_or("nobody said why");
                format!("was forgotten at {at}: {why}")
            }
            (None, true) => "is archived".to_owned(),
            (None, false) => "is current".to_owned(),
        };
        let mut text = format!("#{id} ({}) {:?} {state}", memory.kind, memory.title);
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "\n- {} versions, used {} times, importance {:.3}, saved {} by {}",
            memory.latest, memory.accesses, memory.importance, memory.created_at, memory.by
        );
        if !found.superseded_by.is_empty() {
            // Writing to a text cannot fail.
            let _ = write!(text, "\n- replaced by {:?}", found.superseded_by);
        }
        Ok((text, value(&found)?))
    }

    pub(super) fn jobs_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let answer = self.mind_jobs(caller, JobsRequest {})?;
        let warmup = &answer.warmup;
        let why = warmup.last_error.as_deref().map(|why| format!(" ({why})"));
        let ready = if warmup.ready_for_work { ", ready for work" } else { "" };
        let head = format!("{}{ready}{}", warmup.state, why.unwrap_or_default());
        let mut all = Vec::new();
        for job in &answer.jobs {
            let state = match (&job.running, job.paused, &job.next_at) {
                (Some(run), ..) => format!("runs as {run}"),
                (None, true, _) => "is paused".to_owned(),
                (None, false, next) => format!("next {}", next.as_deref().unwrap_or("soon")),
            };
            let last =
                job.last.as_ref().map(|last| format!("; last {}: {}", last.ending, last.summary));
            all.push(format!("{} {state}{}", job.name, last.unwrap_or_default()));
        }
        for breaker in answer.breakers.iter().filter(|breaker| breaker.state != "closed") {
            all.push(format!("{} is left alone after {} failures", breaker.name, breaker.failures));
        }
        Ok((listed(&head, all), value(&answer)?))
    }

    pub(super) fn run_reply(
        &self,
        caller: &Caller,
        job: String,
        dry_run: bool,
    ) -> Result<AdminReply> {
        let answer = self.mind_run(caller, RunJobRequest { job, dry_run })?;
        let mut text = answer.text.clone();
        if !dry_run {
            lines(&mut text, &answer.changes);
        }
        Ok((text, value(&answer)?))
    }

    pub(super) fn pause_reply(
        &self,
        caller: &Caller,
        job: String,
        paused: bool,
    ) -> Result<AdminReply> {
        let view = self.mind_pause(caller, PauseJobRequest { job, paused })?;
        let verb = if view.paused { "is paused" } else { "goes on" };
        Ok((format!("{} {verb}", view.name), value(&view)?))
    }

    pub(super) fn runs_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let answer = self.mind_runs(caller, RunsRequest::default())?;
        let mut all = Vec::new();
        for run in &answer.runs {
            let done = run.done.as_deref().unwrap_or("not finished");
            let undone = if run.undone { " (undone)" } else { "" };
            all.push(format!("{} {} {}: {done}{undone}", run.started_at, run.run, run.planned));
        }
        let head = format!("{} runs changed memories:", answer.runs.len());
        Ok((listed(&head, all), value(&answer)?))
    }

    pub(super) fn budget_reply(
        &self,
        caller: &Caller,
        kill_switch: Option<bool>,
    ) -> Result<AdminReply> {
        let answer = self.budget(caller, BudgetRequest { kill_switch, limit: None })?;
        let provider = answer.provider.as_deref().unwrap_or("none");
        let switch = if answer.kill_switch { "on" } else { "off" };
        let head = format!(
            "{}: {} of {} tokens, {:.6} of {:.6} dollars; provider {provider}, kill switch {switch}",
            answer.day, answer.tokens, answer.tokens_limit, answer.dollars, answer.dollars_limit
        );
        let purposes = answer.purposes.iter();
        let lines = purposes.map(|p| format!("{}: {} of {}", p.purpose, p.tokens, p.tokens_limit));
        Ok((listed(&head, lines), value(&answer)?))
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
            None => "There is no bulletin yet.".to_owned(),
            Some(bulletin) if explain => {
                let head = format!(
                    "Bulletin {} of {}, made by {} in {}, from {} memories:",
                    bulletin.number,
                    bulletin.generated_at,
                    bulletin.made_by,
                    bulletin.run,
                    bulletin.cited.len()
                );
                let sources = bulletin.sources.iter();
                let lines = sources.map(|s| format!("#{} {} ({})", s.id, s.title, s.section));
                listed(&head, lines)
            }
            Some(bulletin) => bulletin.text.clone(),
        };
        Ok((text, value(&answer)?))
    }

    pub(super) fn patterns_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let kind = Some("observation".to_owned());
        let request = ListRequest { kind, limit: Some(LIST), ..ListRequest::default() };
        let found = self.service.list(caller, request)?;
        let head = format!("{} observations:", found.total);
        let lines = found.memories.iter().map(|memory| format!("#{} {}", memory.id, memory.title));
        Ok((listed(&head, lines), value(&found)?))
    }
}

fn process_line(process: &ProcessStatus) -> String {
    let ProcessStatus { process, about, phase, status, .. } = process;
    format!("{} {} {about} {status} ({phase:?})", process.kind.name(), process.id)
}
