//! What the interface asks for and gets: typed operations, tickets, and the places that wait for an answer.
//!
//! A place takes the answer to the last thing it asked and to nothing else, so an answer that comes too late changes
//! nothing.

use serde::{Deserialize, Serialize};

use api::Operation;
use api::activity::{ActivityAnswer, ActivityRequest};
use api::audit::{AuditAnswer, AuditRequest};
use api::change::{
    ArchiveRequest, ChangeAnswer, DeleteAnswer, DeleteRequest, PinRequest, RestoreRequest,
    UpdateRequest,
};
use api::channel::{
    ChannelGetAnswer, ChannelGetRequest, ChannelListAnswer, ChannelListRequest, ChannelRunAnswer,
    ChannelSayRequest,
};
use api::graph::{GraphAnswer, GraphRequest};
use api::mind::{JobsAnswer, JobsRequest, RunsAnswer, RunsRequest};
use api::proof::{ProveAnswer, ProveRequest};
use api::read::{GetAnswer, GetRequest, ListAnswer, ListRequest};
use api::search::{SearchAnswer, SearchRequest};
use api::server_tools::{ApprovalView, ApprovalsAnswer, ApprovalsRequest, DecideRequest};
use api::session::{SessionListAnswer, SessionListRequest};
use api::stats::{ProjectsAnswer, ProjectsRequest, StatsAnswer, StatsRequest};
use api::talent_runs::{TalentRunsAnswer, TalentRunsRequest};
use api::timeline::{TimelineAnswer, TimelineRequest};
use api::{Error, Result};

/// Whoever answers: the daemon, or operations of this process in tests.
pub(super) trait Answerer: Send + Sync + 'static {
    fn ask<R: Operation + Clone>(&self, request: R) -> Result<R::Answer>;
    /// How the daemon is.
    fn status(&self) -> Result<StatusView>;
}

/// How the daemon is, as far as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StatusView {
    pub(super) pid: u32,
    pub(super) version: String,
    pub(super) home: String,
    pub(super) uptime_seconds: u64,
    pub(super) connections: u64,
    pub(super) requests: u64,
    pub(super) open_actors: u64,
}

/// An answer that fits a place.
pub(super) trait FromAnswer: Sized {
    fn from_answer(answer: Answer) -> Option<Self>;
}

macro_rules! asks {
    ($($variant:ident: $request:ty => $answer:ty;)+) => {
        #[derive(Clone, Debug, PartialEq)]
        pub(super) enum Ask {
            Status,
            Change(Change),
            $($variant($request),)+
        }

        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one at a time, on its way to its place")]
        pub(super) enum Answer {
            Status(StatusView),
            Change(ChangeReport),
            $($variant($answer),)+
        }

        impl Ask {
            pub(super) fn run(self, asked: &impl Answerer) -> Result<Answer> {
                match self {
                    Ask::Status => asked.status().map(Answer::Status),
                    Ask::Change(change) => change.run(asked).map(Answer::Change),
                    $(Ask::$variant(request) => asked.ask(request).map(Answer::$variant),)+
                }
            }
        }

        $(impl FromAnswer for $answer {
            fn from_answer(answer: Answer) -> Option<$answer> {
                match answer {
                    Answer::$variant(answer) => Some(answer),
                    _ => None,
                }
            }
        })+
    };
}

asks! {
    Stats: StatsRequest => StatsAnswer;
    List: ListRequest => ListAnswer;
    Get: GetRequest => GetAnswer;
    Search: SearchRequest => SearchAnswer;
    Timeline: TimelineRequest => TimelineAnswer;
    Sessions: SessionListRequest => SessionListAnswer;
    Projects: ProjectsRequest => ProjectsAnswer;
    Graph: GraphRequest => GraphAnswer;
    Prove: ProveRequest => ProveAnswer;
    Activity: ActivityRequest => ActivityAnswer;
    Approvals: ApprovalsRequest => ApprovalsAnswer;
    Decide: DecideRequest => ApprovalView;
    Audit: AuditRequest => AuditAnswer;
    Jobs: JobsRequest => JobsAnswer;
    Changes: RunsRequest => RunsAnswer;
    Runs: TalentRunsRequest => TalentRunsAnswer;
    Channels: ChannelListRequest => ChannelListAnswer;
    Channel: ChannelGetRequest => ChannelGetAnswer;
    Say: ChannelSayRequest => ChannelRunAnswer;
}

impl FromAnswer for StatusView {
    fn from_answer(answer: Answer) -> Option<StatusView> {
        match answer {
            Answer::Status(status) => Some(status),
            _ => None,
        }
    }
}

impl FromAnswer for ChangeReport {
    fn from_answer(answer: Answer) -> Option<ChangeReport> {
        match answer {
            Answer::Change(changed) => Some(changed),
            _ => None,
        }
    }
}

/// What a person may do to a memory here. All of it can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Archive(u64),
    Restore(u64),
    Forget(u64),
    Pin(u64),
    Unpin(u64),
    /// Takes back what was written in the editor.
    Rewrite(Box<OldText>),
}

/// What a memory said before it was edited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OldText {
    pub(super) id: u64,
    pub(super) version: u32,
    pub(super) title: String,
    pub(super) content: String,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangeReport {
    pub(super) change: Change,
    /// False: it was so already.
    pub(super) changed: bool,
}

impl Change {
    fn run(self, asked: &impl Answerer) -> Result<ChangeReport> {
        let reason = Some("by hand, in the terminal".to_owned());
        let change = self.clone();
        let answer: Result<ChangeAnswer> = match self {
            Change::Archive(id) => asked.ask(ArchiveRequest { id, reason }),
            Change::Restore(id) => {
                asked.ask(RestoreRequest { id, reason, ..RestoreRequest::default() })
            }
            Change::Pin(id) => asked.ask(PinRequest { id, pinned: true }),
            Change::Unpin(id) => asked.ask(PinRequest { id, pinned: false }),
            Change::Forget(id) => {
                let request = DeleteRequest { id, reason, ..DeleteRequest::default() };
                let _: DeleteAnswer = asked.ask(request)?;
                return Ok(ChangeReport { change, changed: true });
            }
            Change::Rewrite(old) => asked.ask(UpdateRequest {
                id: old.id,
                title: Some(old.title),
                content: Some(old.content),
                // What somebody else wrote since then is not overwritten.
                expected_version: Some(old.version + 1),
                ..UpdateRequest::default()
            }),
        };
        Ok(ChangeReport { change, changed: answer?.changed })
    }

    /// What was done, in words.
    pub(super) fn done(&self) -> String {
        match self {
            Change::Archive(id) => format!("archived {id}"),
            Change::Restore(id) => format!("restored {id}"),
            Change::Forget(id) => format!("forgot {id}"),
            Change::Pin(id) => format!("pinned {id}"),
            Change::Unpin(id) => format!("unpinned {id}"),
            Change::Rewrite(old) => format!("{} says what it said before", old.id),
        }
    }
}

/// The number of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// Gives out tickets, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickets(u64);

impl Tickets {
    fn draw(&mut self) -> Ticket {
        self.0 += 1;
        Ticket(self.0)
    }
}

/// A question on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) ticket: Ticket,
    pub(super) ask: Ask,
}

/// A place for an answer. What was there before stays in sight until the new answer comes.
#[derive(Clone, Debug)]
pub(super) struct Load<T> {
    waits_for: Option<Ticket>,
    value: Option<T>,
    failed: Option<Error>,
}

impl<T> Default for Load<T> {
    fn default() -> Load<T> {
        Load { waits_for: None, value: None, failed: None }
    }
}

impl<T> Load<T> {
    pub(super) fn value(&self) -> Option<&T> {
        self.value.as_ref()
    }

    pub(super) fn failed(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waits_for.is_some()
    }

    pub(super) fn waits_for(&self, ticket: Ticket) -> bool {
        self.waits_for == Some(ticket)
    }

    /// Wants no answer any more, but keeps the one it had.
    pub(super) fn forget_question(&mut self) {
        self.waits_for = None;
    }

    /// Asks anew; an answer still on its way is no longer wanted.
    pub(super) fn ask(&mut self, tickets: &mut Tickets, ask: Ask) -> Request {
        let ticket = tickets.draw();
        self.waits_for = Some(ticket);
        Request { ticket, ask }
    }

    /// Wants no answer any more, and forgets the one it had.
    pub(super) fn clear(&mut self) {
        *self = Load::default();
    }
}

/// Any place, whatever it holds.
pub(super) trait Slot {
    /// Takes the answer if it waits for it.
    fn deliver(&mut self, ticket: Ticket, answer: &mut Option<Result<Answer>>) -> bool;
}

impl<T: FromAnswer> Slot for Load<T> {
    fn deliver(&mut self, ticket: Ticket, answer: &mut Option<Result<Answer>>) -> bool {
        if self.waits_for != Some(ticket) {
            return false;
        }
        match answer.take() {
            Some(Ok(answer)) => match T::from_answer(answer) {
                Some(value) => (self.value, self.failed) = (Some(value), None),
                None => self.failed = Some(Error::internal("an answer of another kind")),
            },
            Some(Err(error)) => self.failed = Some(error),
            None => return false,
        }
        self.waits_for = None;
        true
    }
}
