//! From a request to a run with an id and a log.
//!
//! An id is reserved under the lock before the log is made, so two requests for the same id cannot both become
//! runs; whoever comes second with the same words gets the first one's run.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use api::run::{RunEvent, RunReceipt, RunRejection, RunRequest};
use tokio::sync::{oneshot, watch};

use super::RunnerStep;
use super::log::event::{Secrets, Stamp};
use super::log::read;
use super::log::tally::Tally;
use super::log::write::RunLogWriter;
use super::owner::Owner;
use super::queue::Waiting;
use super::request::ValidRequest;
use super::shared::{RunSlot, RunnerContext};
use talents::UseId;
use talents::confine::{self, ConfineError, ConfineMode};

/// The provider of a run that names none, for limits.
const NO_PROVIDER: &str = "default";
/// Ids that are tried when somebody has used those of now.
const ID_TRIES_MAX: u32 = 1_000;

impl RunnerContext {
    /// Makes a run of a request: everything up to the log, which then exists.
    pub(super) fn admit(
        self: &Arc<Self>,
        given: &RunRequest,
        caller: &str,
    ) -> Result<Admission, RunRejection> {
        let timeout_max = Duration::from_secs(self.settings.timeout_seconds_max);
        let mut request = ValidRequest::check(given, timeout_max)?;
        self.keep_provider(&mut request)?;
        let facts = self
            .facts
            .facts(&request.name, &request.shown)
            .map_err(|reason| RunRejection::new("unknown_talent", reason))?;
        // The only way to a process, whoever asks: bus, HTTP, command line, schedule, conversation.
        facts.variables.check(request.env.keys())?;
        if facts.policy.as_ref().is_some_and(|policy| policy.mode == ConfineMode::Require)
            && !confine::available().is_enough()
        {
            let missing = ConfineError::Missing;
            return Err(RunRejection::new(missing.code(), missing.to_string()));
        }
        if let Some(refusal) = self.facts.refusal(&request.shown) {
            return Err(refusal);
        }
        let provider = request
            .shown
            .provider
            .clone()
            .or_else(|| facts.provider.clone())
            .unwrap_or_else(|| NO_PROVIDER.to_owned());
        let (orders, ordered) = watch::channel(None);
        let (turn, has_turn) = oneshot::channel();
        let live = RunSlot {
            name: request.name.clone(),
            provider: provider.clone(),
            request: RunEvent::default(),
            orders,
            turn: Some(turn),
            going: false,
            since: self.millis(),
        };
        let run = match self.reserve(&request, live)? {
            Reservation::New(run) => run,
            Reservation::Known(receipt) => return Ok(Admission::Known(receipt)),
        };
        let (run, log, first) = match self.begin(&request, run) {
            Ok(begun) => begun,
            Err(LogStart::Known(receipt)) => return Ok(Admission::Known(receipt)),
            Err(LogStart::Rejected(rejection)) => return Err(rejection),
        };
        self.probe(RunnerStep::LogCreated);
        let mut tally = Tally::new(&request.name, &run);
        tally.see(&first);
        let stamp = Stamp {
            use_id: run.clone(),
            name: request.name.clone(),
            day: request.day,
            secrets: Secrets::new(&request.env),
            event_bytes_max: self.settings.event_bytes_max,
        };
        let waiting = Waiting { run: run.clone(), talent: request.name.to_string(), provider };
        let owner = Owner {
            shared: Arc::clone(self),
            request,
            facts,
            stamp,
            log,
            tally,
            orders: ordered,
            turn: has_turn,
        };
        Ok(Admission::New { owner: Box::new(owner), waiting, first, caller: caller.to_owned() })
    }

    /// execution R55, 9.19: a session stays with the provider it began with.
    fn keep_provider(&self, request: &mut ValidRequest) -> Result<(), RunRejection> {
        let Some(session) = &request.shown.session_id else { return Ok(()) };
        let began = self.index().session(session).and_then(|row| row.provider.clone());
        match (began, &request.shown.provider) {
            (Some(began), Some(asked)) if began != *asked => Err(RunRejection::new(
                "provider_mismatch",
                format!("session {session} began with {began}; it cannot go on with {asked}"),
            )),
            (Some(began), None) => {
                request.shown.provider = Some(began);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes an id for a run, so that nobody else does.
    fn reserve(
        &self,
        request: &ValidRequest,
        mut live: RunSlot,
    ) -> Result<Reservation, RunRejection> {
        let mut state = self.state();
        if state.closing {
            return Err(RunRejection::new("shutting_down", "the daemon is stopping"));
        }
        let run = match &request.use_id {
            Some(run) => {
                // The same number must not be two ids.
                if run.as_str().parse::<u64>().ok().map(UseId::from_millis).as_ref() != Some(run) {
                    let reason = "`use_id` must be a number without leading zeros";
                    return Err(RunRejection::new("bad_name", reason));
                }
                if let Some(other) = state.live.get(run) {
                    return if request.is_the_same_as(&other.request) {
                        let use_id = run.to_string();
                        Ok(Reservation::Known(RunReceipt::Accepted { use_id, replayed: true }))
                    } else {
                        Err(id_taken(run))
                    };
                }
                run.clone()
            }
            None => {
                // What is on disk is looked at when the log is made.
                state.last_id = state.last_id.max(self.millis().saturating_sub(1));
                let wish = request.wish.clone().filter(|wish| !state.live.contains_key(wish));
                wish.unwrap_or_else(|| state.next_id())
            }
        };
        if state.queue.len() >= self.settings.queue_max {
            let reason = format!("{} runs wait already", state.queue.len());
            return Err(RunRejection::new("queue_full", reason));
        }
        live.request = request.first_line(&run);
        state.live.insert(run.clone(), live);
        Ok(Reservation::New(run))
    }

    /// Makes the log of a reserved run. An id of ours that somebody used before is exchanged for the next.
    fn begin(
        &self,
        request: &ValidRequest,
        mut run: UseId,
    ) -> Result<(UseId, RunLogWriter, RunEvent), LogStart> {
        let mut tries_left = ID_TRIES_MAX;
        loop {
            match self.begin_log(request, &run) {
                Ok((log, first)) => return Ok((run, log, first)),
                Err(LogStart::Rejected(rejection))
                    if rejection.code != "id_taken"
                        || request.use_id.is_some()
                        || tries_left == 0 =>
                {
                    self.state().live.remove(&run);
                    return Err(LogStart::Rejected(rejection));
                }
                Err(LogStart::Known(receipt)) if request.use_id.is_some() => {
                    self.state().live.remove(&run);
                    return Err(LogStart::Known(receipt));
                }
                Err(_) => {
                    tries_left -= 1;
                    let mut state = self.state();
                    let next = state.next_id();
                    if let Some(mut live) = state.live.remove(&run) {
                        live.request = request.first_line(&next);
                        state.live.insert(next.clone(), live);
                    }
                    run = next;
                }
            }
        }
    }

    fn begin_log(
        &self,
        request: &ValidRequest,
        run: &UseId,
    ) -> Result<(RunLogWriter, RunEvent), LogStart> {
        let failed = |error: io::Error| {
            self.failed("run log", &error);
            LogStart::Rejected(RunRejection::new("log_failed", format!("no run log: {error}")))
        };
        if let Some(found) = read::find(&self.layout, run).map_err(failed)? {
            let log = read::read(&found.path).map_err(failed)?;
            let same = found.name == request.name
                && log.request().is_some_and(|logged| request.is_the_same_as(logged));
            return Err(if same {
                LogStart::Known(RunReceipt::Accepted { use_id: run.to_string(), replayed: true })
            } else {
                LogStart::Rejected(id_taken(run))
            });
        }
        let mut first = request.first_line(run);
        let log = RunLogWriter::create(&self.layout, &request.name, run, &first).map_err(failed)?;
        first.set("seq", 0);
        Ok((log, first))
    }
}

fn id_taken(run: &UseId) -> RunRejection {
    RunRejection::new("id_taken", format!("run {run} exists and is another request"))
}

enum Reservation {
    New(UseId),
    Known(RunReceipt),
}

enum LogStart {
    Known(RunReceipt),
    Rejected(RunRejection),
}

pub(super) enum Admission {
    Known(RunReceipt),
    New { owner: Box<Owner>, waiting: Waiting, first: RunEvent, caller: String },
}
