//! Channels, branches and workers, as the mind sees them: what happened is logged and told, and what supervision wants
//! is done.
//!
//! What must stay true: every event is in the log before it is on the bus; what came of a process is in the log before
//! anybody is told of it; a process that cannot be stopped is said to be so.

use api::admin::ProcessKind;
use api::run::RunRequest;
use api::{ErrorCode, Fault};
use kernel::actor::ActorName;
use mind::supervision::{ProcessEvent, ProcessId, ProcessLogEntry, SupervisionEffect};
use mind::{MindEffect, MindEvent};
use serde_json::Value;
use service::Caller;
use service::error::{Error, Result};

use super::Host;
use crate::channels::{COMPACTION, TRACT, TURN, actor_of, context_of, part_of};
use crate::mind_host::{ActorMind, StoredRecord};
use crate::run_control::RunControl;

impl Host {
    /// Something happened to a process. What goes wrong is said in the log: it is no reason to hold up the process.
    pub fn observe(&self, caller: &Caller, event: ProcessEvent) {
        let outcome = self.actor_mind(caller).and_then(|actor_mind| {
            // A conversation that is known begins only once.
            if let ProcessEvent::ChannelStarted { channel_id, .. } = &event
                && actor_mind.slot().mind.supervisor.get(&ProcessId::channel(channel_id)).is_some()
            {
                return Ok(());
            }
            self.emit(&actor_mind, &event, caller)?;
            let effects = actor_mind.handle(MindEvent::Process(event), caller)?;
            self.run_effects(&actor_mind, effects, caller)
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// A process moves: nothing is logged.
    pub fn progressed(&self, caller: &Caller, process: &ProcessId) {
        let outcome = self.actor_mind(caller).and_then(|actor_mind| {
            let now = caller.now()?;
            actor_mind.slot().mind.supervisor.progressed(process, now);
            Ok(())
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// A branch or worker ended. What came of it is stored, then told.
    pub fn process_ended(&self, caller: &Caller, process: &ProcessId, result: &str) {
        let outcome = self.actor_mind(caller).and_then(|actor_mind| {
            let ended = actor_mind.slot().mind.supervisor.ended(process, result, true);
            // One that nobody registered, because the daemon started in the middle of it, is nobody's.
            let effects =
                ended.unwrap_or_default().into_iter().map(MindEffect::Supervise).collect();
            self.run_effects(&actor_mind, effects, caller)
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// The bus is heard, and what is heard is up to date.
    pub(crate) fn runs_are_heard(&self, caller: &Caller) -> Result<()> {
        let now = caller.now()?;
        self.actor_mind(caller)?.slot().mind.supervisor.heartbeat(now);
        Ok(())
    }

    /// Events were missed: only who runs now is still supervised.
    pub fn events_were_missed(&self, caller: &Caller, running: &[ProcessId]) {
        let outcome = self.actor_mind(caller).and_then(|actor_mind| {
            let now = caller.now()?;
            let mut slot = actor_mind.slot();
            slot.mind.supervisor.lagged();
            slot.mind.supervisor.resynced(running, now);
            Ok(())
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// The newest of what happened to processes, oldest first.
    pub(crate) fn process_events(&self, caller: &Caller, limit: usize) -> Result<Vec<Value>> {
        self.actor_mind(caller)?.events.newest(limit)
    }

    /// Logged, then told.
    fn emit(&self, actor_mind: &ActorMind, event: &ProcessEvent, caller: &Caller) -> Result<()> {
        let now = caller.now()?;
        actor_mind.events.add(now, |seq| ProcessLogEntry {
            seq,
            at_unix_ms: now.get(),
            event: event.clone(),
        })?;
        if let Some(runs) = self.run_control_if_there()
            && let Ok(Value::Object(mut fields)) = serde_json::to_value(event)
        {
            fields.insert("agent_id".to_owned(), actor_mind.actor.as_str().into());
            runs.tell(TRACT, fields);
        }
        Ok(())
    }

    /// What supervision wants, done. Gives what follows.
    pub(super) fn supervise(
        &self,
        actor_mind: &ActorMind,
        effect: SupervisionEffect,
        caller: &Caller,
    ) -> Result<Vec<MindEffect>> {
        match effect {
            SupervisionEffect::Warn { process, running_secs, why } => {
                tracing::warn!("{process} appears stuck ({why}), running_time_secs={running_secs}");
            }
            SupervisionEffect::Store { process, record } => {
                let now = caller.now()?;
                let at_unix_ms = now.get();
                actor_mind.events.add(now, |seq| StoredRecord {
                    seq,
                    at_unix_ms,
                    process: &process,
                    record: &record,
                })?;
                let told = actor_mind.slot().mind.supervisor.stored(&process);
                return Ok(told.into_iter().map(MindEffect::Supervise).collect());
            }
            SupervisionEffect::Cancel(process) => {
                if let Err(error) = self.stop_process(&actor_mind.actor, &process) {
                    tracing::warn!("{process} was not stopped: {error}");
                    // It may have ended meanwhile; then there is nobody to tell.
                    let _ = actor_mind
                        .slot()
                        .mind
                        .supervisor
                        .cancel_failed(&process, &error.to_string());
                }
            }
            SupervisionEffect::Kill(process) => {
                match self.stop_process(&actor_mind.actor, &process) {
                    // The runner ends the whole process group by force when its own grace is over.
                    Ok(()) => tracing::warn!("{process} did not stop; its process group is ended"),
                    Err(error) => {
                        // There is no run of it any more, so no end will come.
                        let why = error.to_string();
                        let ended = actor_mind.slot().mind.supervisor.ended(&process, &why, true);
                        let ended = ended.unwrap_or_default();
                        return Ok(ended.into_iter().map(MindEffect::Supervise).collect());
                    }
                }
            }
            SupervisionEffect::Emit(event) => self.emit(actor_mind, &event, caller)?,
            SupervisionEffect::Stale { why } => {
                let error =
                    Error::new(ErrorCode::Stale, Fault::Server, format!("nobody is judged: {why}"));
                self.minds.say(&actor_mind.actor, Err(error));
            }
        }
        Ok(Vec::new())
    }

    fn stop_process(&self, actor: &ActorName, process: &ProcessId) -> Result<()> {
        let runs = self.run_control()?;
        let run = run_of(runs.as_ref(), actor, process);
        match run.filter(|run| runs.cancel(run)) {
            Some(_) => Ok(()),
            None => Err(Error::missing("run", process)),
        }
    }
}

/// The run that a process is, if it goes on.
fn run_of(runs: &dyn RunControl, actor: &ActorName, process: &ProcessId) -> Option<String> {
    let id = Some(process.id.as_str());
    let context = context_of(actor, &process.id);
    let mut live = runs.live().into_iter().filter(|run| run.is_of(actor));
    let run = live.find(|run| match process.kind {
        ProcessKind::Worker => run.use_id == process.id,
        ProcessKind::Branch => run.context.as_ref() == Some(&context),
        ProcessKind::Channel => run.talent == TURN && run.channel.as_deref() == id,
    });
    run.map(|run| run.use_id)
}

/// What a run is to the mind; a compaction is nobody.
pub fn process_of(request: &RunRequest, use_id: &str) -> Option<ProcessId> {
    let RunRequest { name, channel, context, .. } = request;
    match (name.as_deref(), channel.as_deref(), context.as_deref()) {
        (Some(COMPACTION), Some(_), Some(_)) => None,
        (Some(TURN), Some(channel), Some(_)) => Some(ProcessId::channel(channel)),
        (_, Some(_), Some(context)) => {
            let actor = actor_of(request).ok()?;
            Some(ProcessId::branch(part_of(&actor, context)))
        }
        _ => Some(ProcessId::worker(use_id)),
    }
}
