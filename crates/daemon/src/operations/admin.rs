//! Admin chat: what an administrator types, answered from the operations; by a model only what no rule understands.
//!
//! What must stay true: a sentence that is not understood changes nothing and is answered with examples; it is no
//! channel of its own, so nothing that is said here reaches a conversation.

use std::fmt::Write as _;
use std::time::Duration;

use api::activity::ActivityRequest;
use api::admin::{
    AdminAnswer, AdminQuestion, AdminQuestionRequest, AdminRequest, MESSAGE_BYTES_MAX, ProcessKind,
};
use api::bulletin::BulletinRequest;
use api::change::{DeleteRequest, RestoreRequest};
use api::channel::{ChannelListRequest, ChannelView};
use api::mind::{
    BudgetRequest, ChangeView, JobsRequest, PauseJobRequest, RunJobRequest, RunsRequest,
    UndoRequest,
};
use api::read::{GetRequest, ListRequest};
use api::run::RunRequest;
use api::save::SaveRequest;
use api::search::SearchRequest;
use api::session::{SessionGetRequest, SessionListRequest};
use kernel::actor::ActorName;
use mind::admin::{EXAMPLES, parse};
use mind::supervision::{ProcessId, ProcessStatus};
use serde::Serialize;
use serde_json::{Value, json};
use service::caller::Caller;
use service::error::{Error, Result};

use crate::channels::ADMIN;
use crate::host::Host;

/// How long a model may take.
const MODEL_PATIENCE: Duration = Duration::from_mins(2);

/// Lines of a list in an answer.
const LIST: usize = 20;

/// What became of a message.
#[derive(Debug)]
pub enum AdminTurn {
    Answered(AdminAnswer),
    Asked(AdminRun),
}

/// A model that answers an administrator.
#[derive(Clone, Debug)]
pub struct AdminRun {
    agent_id: String,
    message: String,
    asked: Value,
    pub use_id: String,
}

impl AdminRun {
    /// What the run came to, or why to nothing.
    pub fn ended(self, outcome: std::result::Result<String, String>) -> AdminAnswer {
        let (response, data) = match outcome {
            Ok(text) => (text, json!({ "use_id": self.use_id })),
            Err(why) => unclear(&self.message, &format!(", and no model answered ({why})")),
        };
        AdminAnswer { agent_id: self.agent_id, response, asked: self.asked, data }
    }
}

fn unclear(message: &str, why: &str) -> AdminReply {
    let text = format!("I did not understand {message:?}{why}; nothing was changed. You can ask:");
    (help(&text), json!({ "examples": EXAMPLES }))
}

/// What is said, and the data behind it.
type AdminReply = (String, Value);

impl Host {
    pub fn admin(&self, caller: &Caller, request: AdminRequest) -> Result<AdminAnswer> {
        match self.admin_begin(caller, request)? {
            AdminTurn::Answered(answer) => Ok(answer),
            AdminTurn::Asked(run) => {
                let outcome = self.run_control()?.wait(&run.use_id, MODEL_PATIENCE);
                Ok(run.ended(outcome))
            }
        }
    }

    /// Answers a question as the admin chat would. No model is asked: what is unclear stays so.
    pub fn admin_question(
        &self,
        caller: &Caller,
        AdminQuestionRequest { question }: AdminQuestionRequest,
    ) -> Result<AdminAnswer> {
        service::access::for_owner(caller)?;
        let (asked, agent_id) = (value(&question)?, caller.actor.as_str().to_owned());
        let (response, data) = self.answer_admin(caller, question)?;
        Ok(AdminAnswer { agent_id, response, asked, data })
    }

    /// Answers, or lets a model begin to.
    pub fn admin_begin(&self, caller: &Caller, request: AdminRequest) -> Result<AdminTurn> {
        if request.message.len() > MESSAGE_BYTES_MAX {
            let reason = format!("has more than {MESSAGE_BYTES_MAX} bytes");
            return Err(Error::invalid("message", reason));
        }
        let mut caller = caller.clone();
        service::access::for_owner(&caller)?;
        if let Some(agent) = &request.agent_id {
            caller.actor = ActorName::parse(agent)?;
        }
        let question = parse(&request.message);
        let (asked, agent_id) = (value(&question)?, caller.actor.as_str().to_owned());
        let (response, data) = match question {
            AdminQuestion::Unclear { text } => match self.admin_model(&caller, &text)? {
                Some(Ok(use_id)) => {
                    let message = text;
                    return Ok(AdminTurn::Asked(AdminRun { agent_id, message, asked, use_id }));
                }
                Some(Err(why)) => unclear(&text, &format!(", and no model answered ({why})")),
                None => unclear(&text, ""),
            },
            question => self.answer_admin(&caller, question)?,
        };
        Ok(AdminTurn::Answered(AdminAnswer { agent_id, response, asked, data }))
    }

    fn answer_admin(&self, caller: &Caller, question: AdminQuestion) -> Result<AdminReply> {
        match question {
            AdminQuestion::RecentActivity { limit } => self.said_activity(caller, limit),
            AdminQuestion::Running => self.said_running(caller),
            AdminQuestion::Channels => self.said_channels(caller),
            AdminQuestion::Workers => self.said_processes(caller, Some(ProcessKind::Worker)),
            AdminQuestion::Inspect { kind, id } => self.said_process(caller, kind, &id),
            AdminQuestion::Cancel { kind, id } => self.said_cancel(caller, kind, &id),
            AdminQuestion::Recall { query } => self.said_recall(caller, query),
            AdminQuestion::Remember { text } => {
                let request = SaveRequest { content: text, ..SaveRequest::default() };
                let saved = self.service.save(caller, request)?;
                Ok((format!("saved as #{}: {}", saved.id, saved.title), value(&saved)?))
            }
            AdminQuestion::Memory { id } => self.said_memory(caller, id),
            AdminQuestion::Forget { id } => {
                let reason = Some("asked for in the admin chat".to_owned());
                let request = DeleteRequest { id, reason, ..DeleteRequest::default() };
                let gone = self.delete(caller, request)?;
                Ok((
                    format!("#{id} is forgotten; \"restore memory {id}\" brings it back"),
                    value(&gone)?,
                ))
            }
            AdminQuestion::Restore { id } => {
                let reason = Some("asked for in the admin chat".to_owned());
                let request = RestoreRequest { id, reason, ..RestoreRequest::default() };
                let back = self.service.restore(caller, request)?;
                Ok((format!("#{id} is back"), value(&back)?))
            }
            AdminQuestion::Jobs | AdminQuestion::Breakers | AdminQuestion::Status => {
                self.said_jobs(caller)
            }
            AdminQuestion::RunJob { job } => self.said_run(caller, job, false),
            AdminQuestion::DryRun { job } => self.said_run(caller, job, true),
            AdminQuestion::PauseJob { job } => self.said_pause(caller, job, true),
            AdminQuestion::ResumeJob { job } => self.said_pause(caller, job, false),
            AdminQuestion::Runs => self.said_runs(caller),
            AdminQuestion::Undo { run } => {
                let undone = self.mind_undo(caller, UndoRequest { run, dry_run: false })?;
                let count = undone.changes.len();
                let mut text = format!("{count} changes of {} were taken back", undone.undone);
                lines(&mut text, &undone.changes);
                Ok((text, value(&undone)?))
            }
            AdminQuestion::Budget => self.said_budget(caller, None),
            AdminQuestion::KillSwitch { on } => self.said_budget(caller, Some(on)),
            AdminQuestion::Bulletin => self.said_bulletin(caller, false, false),
            AdminQuestion::ExplainBulletin => self.said_bulletin(caller, false, true),
            AdminQuestion::RefreshBulletin => self.said_bulletin(caller, true, false),
            AdminQuestion::Patterns => self.said_patterns(caller),
            AdminQuestion::Help => Ok((help("You can ask:"), json!({ "examples": EXAMPLES }))),
            AdminQuestion::Unclear { text } => Ok(unclear(&text, "")),
        }
    }

    /// What no rule understands is for a model, if the configuration names one: the run that answers, or why none does.
    fn admin_model(
        &self,
        caller: &Caller,
        message: &str,
    ) -> Result<Option<std::result::Result<String, String>>> {
        let named = self.minds.config()?.names_model;
        let Some(runs) = self.run_control_if_there().filter(|_| named) else { return Ok(None) };
        let run = RunRequest {
            name: Some(ADMIN.to_owned()),
            prompt: Some(message.to_owned()),
            actor: crate::channels::actor_key(&caller.actor),
            ..RunRequest::default()
        };
        Ok(Some(runs.start(run, &caller.by).map_err(|error| error.to_string())))
    }

    fn said_activity(&self, caller: &Caller, limit: usize) -> Result<AdminReply> {
        let request = ActivityRequest { limit: Some(limit), ..ActivityRequest::default() };
        let answer = self.service.activity(caller, request)?;
        let entries = answer.entries.iter();
        let lines = entries.map(|e| format!("{}  {}  {} by {}", e.at, e.kind, e.summary, e.by));
        let head = format!("The last {} of {} entries:", answer.entries.len(), answer.size);
        Ok((listed(&head, lines), value(&answer)?))
    }

    /// Everything that is under way: jobs, processes, conversations.
    fn said_running(&self, caller: &Caller) -> Result<AdminReply> {
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
    fn said_channels(&self, caller: &Caller) -> Result<AdminReply> {
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

    fn said_processes(&self, caller: &Caller, kind: Option<ProcessKind>) -> Result<AdminReply> {
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

    fn said_process(&self, caller: &Caller, kind: ProcessKind, id: &str) -> Result<AdminReply> {
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

    fn said_cancel(&self, caller: &Caller, kind: ProcessKind, id: &str) -> Result<AdminReply> {
        let process = ProcessId { kind, id: id.to_owned() };
        let actor_mind = self.actor_mind(caller)?;
        let now = caller.now()?;
        let effects =
            { actor_mind.slot().mind.supervisor.cancel(&process, "the admin chat", now)? };
        let effects = effects.into_iter().map(mind::MindEffect::Supervise).collect();
        self.run_effects(&actor_mind, effects, caller)?;
        Ok((format!("{} {id} was asked to stop", process.kind.name()), value(&process)?))
    }

    fn said_recall(&self, caller: &Caller, query: String) -> Result<AdminReply> {
        let request = SearchRequest { query, limit: Some(10), ..SearchRequest::default() };
        let found = self.service.search(caller, request)?;
        let head = match found.hits.len() {
            0 => format!("Nothing is known about {:?}.", found.query),
            count => format!("{count} memories:"),
        };
        let lines = found.hits.iter().map(|h| format!("#{} {}: {}", h.id, h.title, h.preview));
        Ok((listed(&head, lines), value(&found)?))
    }

    fn said_memory(&self, caller: &Caller, id: u64) -> Result<AdminReply> {
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

    fn said_jobs(&self, caller: &Caller) -> Result<AdminReply> {
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

    fn said_run(&self, caller: &Caller, job: String, dry_run: bool) -> Result<AdminReply> {
        let answer = self.mind_run(caller, RunJobRequest { job, dry_run })?;
        let mut text = answer.text.clone();
        if !dry_run {
            lines(&mut text, &answer.changes);
        }
        Ok((text, value(&answer)?))
    }

    fn said_pause(&self, caller: &Caller, job: String, paused: bool) -> Result<AdminReply> {
        let view = self.mind_pause(caller, PauseJobRequest { job, paused })?;
        let verb = if view.paused { "is paused" } else { "goes on" };
        Ok((format!("{} {verb}", view.name), value(&view)?))
    }

    fn said_runs(&self, caller: &Caller) -> Result<AdminReply> {
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

    fn said_budget(&self, caller: &Caller, kill_switch: Option<bool>) -> Result<AdminReply> {
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

    fn said_bulletin(&self, caller: &Caller, refresh: bool, explain: bool) -> Result<AdminReply> {
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

    fn said_patterns(&self, caller: &Caller) -> Result<AdminReply> {
        let kind = Some("observation".to_owned());
        let request = ListRequest { kind, limit: Some(LIST), ..ListRequest::default() };
        let found = self.service.list(caller, request)?;
        let head = format!("{} observations:", found.total);
        let lines = found.memories.iter().map(|memory| format!("#{} {}", memory.id, memory.title));
        Ok((listed(&head, lines), value(&found)?))
    }
}

fn value(answer: &impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::internal(error.to_string()))
}

fn process_line(process: &ProcessStatus) -> String {
    let ProcessStatus { process, about, phase, status, .. } = process;
    format!("{} {} {about} {status} ({phase:?})", process.kind.name(), process.id)
}

fn listed(head: &str, lines: impl IntoIterator<Item = String>) -> String {
    let mut text = head.to_owned();
    for line in lines {
        text.push_str("\n- ");
        text.push_str(&line);
    }
    text
}

fn lines(text: &mut String, changes: &[ChangeView]) {
    for change in changes {
        let ids: Vec<String> = change.about.iter().map(|id| format!("#{id}")).collect();
        let ChangeView { action, title, reason, .. } = change;
        // Writing to a text cannot fail.
        let _ = write!(text, "\n- {action} {} {title:?}: {reason}", ids.join(", "));
    }
}

fn help(head: &str) -> String {
    listed(head, EXAMPLES.iter().map(ToString::to_string))
}
