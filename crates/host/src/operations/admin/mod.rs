//! Admin chat: what an administrator types, answered from the operations; by a model only what no rule understands.
//!
//! What must stay true: a sentence that is not understood changes nothing and is answered with examples; it is no
//! channel of its own, so nothing that is said here reaches a conversation.

mod answers;
mod listing;

use std::time::Duration;

use api::admin::{
    AdminAnswer, AdminQuestion, AdminQuestionRequest, AdminRequest, MESSAGE_BYTES_MAX,
};
use api::audit::AuditRequest;
use api::bulletin::BulletinRequest;
use api::change::{DeleteRequest, RestoreRequest, UpdateRequest};
use api::mind::{DueRequest, KeepRequest, ResetRequest, UndoRequest};
use api::pages::PageListRequest;
use api::render::people::{self, HitDetail};
use api::render::untrusted;
use api::run::RunRequest;
use api::save::SaveRequest;
use api::search::SearchRequest;
use api::server_tools::ApprovalsRequest;
use api::session::SessionListRequest;
use api::stats::ProjectsRequest;
use api::talent_runs::TalentRunsRequest;
use kernel::actor::ActorName;
use serde::Serialize;
use serde_json::{Value, json};
use service::caller::Caller;
use service::error::{Error, Result};

use crate::admin_grammar::{EXAMPLES, meant, nearest, parse};
use crate::channels::ADMIN;
use crate::home::Host;

/// How long a model may take.
const MODEL_PATIENCE: Duration = Duration::from_mins(2);

/// Memories that answer what was no question about Cortex.
const FOUND: usize = 5;

/// Examples of each finding of an audit.
const EXAMPLES_OF_EACH: usize = 3;

/// Bytes of the title of a memory that is said anew.
const TITLE_BYTES: usize = 120;

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
            Ok(text) => (untrusted::lines(&text), json!({ "use_id": self.use_id })),
            Err(why) => unclear(&self.message, &no_model(&why)),
        };
        AdminAnswer { agent_id: self.agent_id, response, asked: self.asked, data }
    }
}

/// What is said to somebody who was not understood: what was meant, else the command that does it, else what can be
/// asked that is nearest to it.
fn unclear(message: &str, why: &str) -> AdminReply {
    let data = json!({ "examples": EXAMPLES });
    let head = format!("I did not understand {message:?}{why}; nothing was changed.");
    if let Some(order) = meant(message) {
        return (format!("{head} Did you mean {order:?}? Then say it so."), data);
    }
    let (command, examples) = nearest(message);
    let command = command.map(|says| format!(" {says}.")).unwrap_or_default();
    let head = format!("{head}{command} You can ask, among other things (`help` names all):");
    (listed(&head, examples.into_iter().map(str::to_owned)), data)
}

fn no_model(why: &str) -> String {
    format!(", and no model answered ({})", untrusted::line(why))
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
                Some(Err(why)) => self.answer_from_memory(&caller, &text, &no_model(&why))?,
                None => self.answer_from_memory(&caller, &text, "")?,
            },
            question => self.answer_admin(&caller, question)?,
        };
        Ok(AdminTurn::Answered(AdminAnswer { agent_id, response, asked, data }))
    }

    fn answer_admin(&self, caller: &Caller, question: AdminQuestion) -> Result<AdminReply> {
        match question {
            AdminQuestion::RecentActivity { limit } => self.activity_reply(caller, limit),
            AdminQuestion::Running => self.running_reply(caller),
            AdminQuestion::Channels => self.channels_reply(caller),
            AdminQuestion::Workers => self.workers_reply(caller),
            AdminQuestion::Inspect { kind, id } => self.process_reply(caller, kind, &id),
            AdminQuestion::Cancel { kind, id } => self.cancel_reply(caller, kind, &id),
            AdminQuestion::Recall { query } => self.recall_reply(caller, query),
            AdminQuestion::Remember { text } => {
                let request = SaveRequest { content: text, ..SaveRequest::default() };
                let saved = self.service.save(caller, request)?;
                let text = format!("Remembered as #{}.", saved.id);
                Ok((text, value(&saved)?))
            }
            AdminQuestion::Memory { id } => self.memory_reply(caller, id),
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
                self.jobs_reply(caller)
            }
            AdminQuestion::RunJob { job } => self.run_reply(caller, job, false),
            AdminQuestion::DryRun { job } => self.run_reply(caller, job, true),
            AdminQuestion::PauseJob { job } => self.pause_reply(caller, job, true),
            AdminQuestion::ResumeJob { job } => self.pause_reply(caller, job, false),
            AdminQuestion::Runs => self.runs_reply(caller),
            AdminQuestion::Undo { run } => {
                let undone = self.mind_undo(caller, UndoRequest { run, dry_run: false })?;
                Ok((people::undone(&undone), value(&undone)?))
            }
            AdminQuestion::Budget => self.budget_reply(caller, None),
            AdminQuestion::KillSwitch { on } => self.budget_reply(caller, Some(on)),
            AdminQuestion::Bulletin { project } => {
                let project = self.known_project(caller, project)?;
                self.bulletin_reply(caller, BulletinRequest { project, ..Default::default() })
            }
            AdminQuestion::ExplainBulletin => {
                let request = BulletinRequest { explain: true, ..Default::default() };
                self.bulletin_reply(caller, request)
            }
            AdminQuestion::RefreshBulletin => {
                let request = BulletinRequest { refresh: true, ..Default::default() };
                self.bulletin_reply(caller, request)
            }
            AdminQuestion::Patterns => self.patterns_reply(caller),
            AdminQuestion::Reset => {
                let answer = self.mind_reset(caller, ResetRequest {})?;
                Ok((people::reset(&answer), value(&answer)?))
            }
            AdminQuestion::Counts => self.counts_reply(caller),
            AdminQuestion::Projects => {
                let answer = self.service.projects(caller, ProjectsRequest {})?;
                Ok((people::projects(&answer), value(&answer)?))
            }
            AdminQuestion::Audit => {
                let request = AuditRequest { limit: Some(EXAMPLES_OF_EACH), ..Default::default() };
                let answer = self.service.audit(caller, request)?;
                Ok((people::audit(&answer), value(&answer)?))
            }
            AdminQuestion::Due => {
                let answer = self.mind_due(caller, DueRequest {})?;
                Ok((people::due(&answer), value(&answer)?))
            }
            AdminQuestion::Keep { id } => {
                let answer = self.mind_keep(caller, KeepRequest { ids: vec![id] })?;
                Ok((people::kept(&answer), value(&answer)?))
            }
            AdminQuestion::LastRun => self.last_run_reply(caller),
            AdminQuestion::UndoLast => self.undo_last_reply(caller),
            AdminQuestion::Update { id, text } => {
                let (title, said) = (short(&text).to_owned(), untrusted::line(&text));
                let (title, content) = (Some(title), Some(text));
                let request = UpdateRequest { id, title, content, ..UpdateRequest::default() };
                let changed = self.service.update(caller, request)?;
                let text = format!(
                    "#{id} now says: {said}\n\"history of memory {id}\" shows what it said before"
                );
                Ok((text, value(&changed)?))
            }
            AdminQuestion::Listing { kind, project } => {
                let project = self.known_project(caller, project)?;
                self.listing_reply(caller, kind, project)
            }
            AdminQuestion::Sessions => {
                let answer = self.service.session_list(caller, SessionListRequest::default())?;
                Ok((people::sessions(&answer), value(&answer)?))
            }
            AdminQuestion::TalentRuns { failed } => {
                let answer = self.talent_runs(caller, TalentRunsRequest::default())?;
                Ok((people::talent_runs(&answer, failed), value(&answer)?))
            }
            AdminQuestion::Approvals => {
                let answer = self.approvals(caller, ApprovalsRequest::default())?;
                Ok((people::approvals(&answer), value(&answer)?))
            }
            AdminQuestion::Pages => {
                let answer = self.page_list(caller, PageListRequest::default())?;
                Ok((people::pages(&answer), value(&answer)?))
            }
            AdminQuestion::Health => self.health_reply(caller),
            AdminQuestion::Help => Ok((help("You can ask:"), json!({ "examples": EXAMPLES }))),
            AdminQuestion::Unclear { text } => Ok(unclear(&text, "")),
        }
    }

    /// The project that a sentence named, if there is one of that name: "goals for today" names none.
    fn known_project(&self, caller: &Caller, said: Option<String>) -> Result<Option<String>> {
        let wanted = said.and_then(|name| self.service.named(&caller.actor, &name));
        let Some(wanted) = wanted else { return Ok(None) };
        let known = self.service.projects(caller, ProjectsRequest {})?.projects;
        Ok(known.iter().any(|project| project.name == wanted).then_some(wanted))
    }

    /// What no rule understood may be a question about what is remembered. Then that is the answer.
    fn answer_from_memory(&self, caller: &Caller, text: &str, why: &str) -> Result<AdminReply> {
        if meant(text).is_some() || !self.service.home().has(&caller.actor) {
            return Ok(unclear(text, why));
        }
        let request = SearchRequest {
            query: text.to_owned(),
            limit: Some(FOUND),
            quiet: true,
            ..SearchRequest::default()
        };
        let found = self.service.search(caller, request)?;
        if found.hits.is_empty() || found.is_unanswered() {
            return Ok(unclear(text, why));
        }
        let hits = people::found(&found, HitDetail::Usual);
        Ok((format!("In the memory, on {text:?}{why}:\n{hits}"), value(&found)?))
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
}

/// What a text is known by: its first sentence, and of that as much as a title has.
fn short(text: &str) -> &str {
    let first = text.split(['\n', '\r']).find(|line| !line.trim().is_empty()).unwrap_or(text);
    let first = first.split_once(". ").map_or(first, |(first, _)| first).trim();
    let fits = |at: &usize| *at <= TITLE_BYTES;
    let mut ends = first.match_indices(' ').map(|(at, _)| at).chain([first.len()]);
    let end = ends.rfind(fits);
    &first[..end.unwrap_or_else(|| first.floor_char_boundary(TITLE_BYTES))]
}

fn value(answer: &impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::internal(error.to_string()))
}

fn listed(head: &str, lines: impl IntoIterator<Item = String>) -> String {
    let mut text = head.to_owned();
    for line in lines {
        text.push_str("\n- ");
        text.push_str(&line);
    }
    text
}

fn help(head: &str) -> String {
    listed(head, EXAMPLES.iter().map(ToString::to_string))
}
