//! What the admin chat says about each thing that can be asked: a text for people, and the data behind it.

use api::activity::ActivityRequest;
use api::admin::ProcessKind;
use api::bulletin::BulletinRequest;
use api::channel::ChannelListRequest;
use api::health::HealthRequest;
use api::mind::{
    BudgetRequest, EVENTS_MAX, JobsRequest, PauseJobRequest, RunJobRequest, RunsRequest,
    ShowRunRequest, UndoRequest,
};
use api::read::{GetRequest, ListRequest};
use api::render::people::{self, HitDetail};
use api::render::untrusted::{line, lines};
use api::search::SearchRequest;
use api::session::{SessionGetRequest, SessionListRequest};
use api::stats::StatsRequest;
use kernel::memory::Millis;
use mind::supervision::{ProcessId, ProcessStatus};
use serde_json::{Value, json};
use service::caller::Caller;
use service::error::Result;

use super::{AdminReply, listed, value};
use crate::home::Host;

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
        let ready = readiness(&jobs.warmup.state);
        let head = match all.len() {
            0 => format!("Nothing is running; {ready}."),
            1 => format!("One thing is running; {ready}:"),
            count => format!("{count} things are running; {ready}:"),
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

    /// Workers and branches: what each does, and whether it is stuck.
    pub(super) fn workers_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let mut processes = self.processes(caller, None)?;
        processes.retain(|process| process.process.kind != ProcessKind::Channel);
        let now = caller.now()?;
        let (mut all, mut stuck) = (Vec::new(), 0);
        {
            let actor_mind = self.actor_mind(caller)?;
            let slot = actor_mind.slot();
            let (supervisor, settings) = (&slot.mind.supervisor, &slot.mind.settings.supervision);
            for process in &processes {
                // One that ended meanwhile has nothing to say.
                let Ok(explained) = supervisor.explain(&process.process, settings, now) else {
                    continue;
                };
                stuck += usize::from(explained.contains(" is stuck: "));
                let (about, explained) = (line(&process.about), lines(&explained));
                all.push(format!("{explained} It is about: {about}"));
            }
        }
        let running = match all.len() {
            0 => "No worker and no branch is running".to_owned(),
            1 => "One worker or branch is running".to_owned(),
            count => format!("{count} workers and branches are running"),
        };
        let head = match stuck {
            _ if all.is_empty() => format!("{running}, so none is stuck."),
            0 => format!("{running}; none is stuck:"),
            1 => format!("{running}; one is stuck:"),
            stuck => format!("{running}; {stuck} are stuck:"),
        };
        Ok((listed(&head, all), json!({ "processes": processes })))
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
        if let Some(reply) = self.ended_reply(caller, &process)? {
            return Ok(reply);
        }
        Err(mind::error::MindError::UnknownProcess { process: process.kind.name(), id: process.id }
            .into())
    }

    /// What is known of a process that ended within the last day.
    fn ended_reply(&self, caller: &Caller, process: &ProcessId) -> Result<Option<AdminReply>> {
        let since = caller.now()?.get().saturating_sub(kernel::salience::DAY_MS);
        let key = format!("{}_id", process.kind.name());
        let its = |event: &Value| {
            let recent = event["at_unix_ms"].as_i64().is_some_and(|at| at >= since);
            let id = event[&key].as_str().or(event["process"]["id"].as_str());
            recent && id == Some(process.id.as_str())
        };
        let mut events = self.process_events(caller, EVENTS_MAX)?;
        events.retain(its);
        let Some(last) = events.last() else { return Ok(None) };
        let at = |event: &Value| Millis(event["at_unix_ms"].as_i64().unwrap_or_default()).rfc3339();
        let head = format!(
            "{} {} ended, last heard of {}:",
            process.kind.name(),
            line(&process.id),
            at(last)
        );
        let lines = events.iter().rev().take(LIST).rev().map(|event| {
            let name = event["event"].as_str().or(event["record"].as_str()).unwrap_or("event");
            let said = ["task", "status", "result", "error", "why"];
            let said = said.iter().find_map(|key| event[*key].as_str()).unwrap_or_default();
            format!("{} {} {}", at(event), line(&name.replace('_', " ")), line(said))
        });
        Ok(Some((listed(&head, lines), json!({ "events": events }))))
    }

    pub(super) fn counts_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let stats = self.service.stats(caller, StatsRequest {})?;
        let head = format!(
            "Memories: {}; archived {}, forgotten {}. Sessions: {}, prompts: {}, links: {}. \
             The store has {}:",
            stats.observations,
            stats.archived,
            stats.forgotten,
            stats.sessions,
            stats.prompts,
            stats.edges,
            megabytes(stats.file_bytes)
        );
        let types = stats.by_type.iter().map(|(name, count)| format!("{}: {count}", line(name)));
        Ok((listed(&head, types), value(&stats)?))
    }

    pub(super) fn health_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let health = self.service.health(caller, HealthRequest {})?;
        let jobs = self.mind_jobs(caller, JobsRequest {})?;
        let actors = health.actors.iter().map(|one| match &one.problem {
            None => format!("the memory of {} is sound", line(&one.actor)),
            Some(problem) => format!("{}: {}", line(&one.actor), line(&problem.message)),
        });
        let sick = health.actors.iter().filter(|one| one.problem.is_some()).count();
        let failing = jobs.jobs.iter().filter(|job| job.breaker != "closed").count()
            + jobs.breakers.iter().filter(|breaker| breaker.state != "closed").count();
        let head = match (sick, failing) {
            (0, 0) => format!("Yes: {}, and nothing is failing.", readiness(&jobs.warmup.state)),
            (0, _) => "No: something is left alone because it kept failing:".to_owned(),
            (_, 0) => "No: a memory has a problem:".to_owned(),
            _ => "No: a memory has a problem, and something kept failing:".to_owned(),
        };
        let data = json!({ "health": health, "jobs": jobs });
        let failing = jobs.jobs.iter().filter(|job| job.breaker != "closed").map(|job| {
            let why = job.last.as_ref().map(|last| line(&last.summary)).unwrap_or_default();
            format!("the job {} waits after {} failures: {why}", job.name, job.failures)
        });
        let open = jobs.breakers.iter().filter(|breaker| breaker.state != "closed");
        let open = open.map(|breaker| {
            format!(
                "{} is left alone for a while; `cortex mind reset` tries again",
                line(&breaker.name)
            )
        });
        Ok((listed(&head, actors.chain(failing).chain(open)), data))
    }

    /// What the last run that changed something did.
    pub(super) fn last_run_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let runs = self.mind_runs(caller, RunsRequest::default())?;
        let Some(last) = runs.runs.iter().find(|run| run.job == mind::maintenance::JOB) else {
            return Ok(("Maintenance has changed nothing yet.".to_owned(), value(&runs)?));
        };
        let run = self.mind_show(caller, ShowRunRequest { run: last.run.clone() })?;
        Ok((people::run(&run), value(&run)?))
    }

    /// Takes back the newest run that was not taken back yet.
    pub(super) fn undo_last_reply(&self, caller: &Caller) -> Result<AdminReply> {
        let runs = self.mind_runs(caller, RunsRequest::default())?;
        let last = runs.runs.iter().find(|run| !run.undone && run.job != "undo");
        let Some(last) = last else {
            return Ok(("There is no run to undo.".to_owned(), value(&runs)?));
        };
        let request = UndoRequest { run: last.run.clone(), dry_run: false };
        let undone = self.mind_undo(caller, request)?;
        Ok((people::undone(&undone), value(&undone)?))
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
        Ok((people::found(&found, HitDetail::Usual), value(&found)?))
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
        let answer =
            self.budget(caller, BudgetRequest { kill_switch, ..BudgetRequest::default() })?;
        Ok((people::budget(&answer), value(&answer)?))
    }

    pub(super) fn bulletin_reply(
        &self,
        caller: &Caller,
        request: BulletinRequest,
    ) -> Result<AdminReply> {
        let explain = request.explain;
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

/// What a state of warm-up means for who asks.
fn readiness(state: &str) -> String {
    match state {
        "warm" => "the bulletin is ready".to_owned(),
        "cold" => "no bulletin was written yet".to_owned(),
        "warming" => "the first bulletin is being written".to_owned(),
        other => format!("the bulletin is {other}"),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

fn process_line(process: &ProcessStatus) -> String {
    let ProcessStatus { process, about, phase, status, .. } = process;
    let (about, status) = (line(about), line(status));
    let (kind, id, phase) = (process.kind.name(), line(&process.id), line(&phase.name()));
    format!("{kind} {id} {about} {status} ({phase})")
}
