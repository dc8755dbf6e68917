//! Supervision: who is running, who makes progress, and what is done about those who do not.
//!
//! A process is watched from its registration on, in three phases: inside a call to a model, inside a tool, between.
//! Too long without progress, or past its lifetime, it is asked to stop, given a while, then ended. What must stay
//! true: one look acts on a limited number; nothing is done on old news; what came of a process is stored before
//! anybody is told; a process that waits for a person is left alone; channels are never ended.

mod event;
mod judge;
mod process;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use judge::{Verdict, judge, overdue, timeout_event};
use kernel::memory::Millis;

pub use api::admin::ProcessKind;
pub use event::{ProcessEvent, ProcessId, ProcessLogEntry};
pub use process::{ProcessPhase, ProcessRecord, ProcessStage, ProcessStatus};

use crate::error::{MindError, Result};
use crate::settings::{SupervisionSettings, secs_ms};

/// Processes watched at once.
pub const PROCESSES_MAX: usize = 10_000;

/// What the daemon is to do about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SupervisionEffect {
    /// Log a warning.
    Warn { process: ProcessId, running_secs: i64, why: String },
    /// Persist this, then call `ProcessSupervisor::stored`.
    Store { process: ProcessId, record: ProcessRecord },
    /// Ask it to stop. If that fails, call `ProcessSupervisor::cancel_failed`.
    Cancel(ProcessId),
    /// End it by force; it still reports its end.
    Kill(ProcessId),
    /// Append to the log and put on the bus.
    Emit(ProcessEvent),
    /// Nothing was judged, because what is known is too old.
    Stale { why: String },
}

#[derive(Clone, Debug, Default)]
pub struct ProcessSupervisor {
    processes: BTreeMap<ProcessId, ProcessStatus>,
    /// What may be told once it is stored, in order.
    untold: BTreeMap<ProcessId, Vec<ProcessEvent>>,
    heard: Option<Millis>,
    looked: Option<Millis>,
    lagged: bool,
    pub kills_total: u64,
    pub cancels_total: u64,
}

impl ProcessSupervisor {
    /// Takes in what happened. `now` is when it was heard.
    pub fn observe(&mut self, event: &ProcessEvent, now: Millis) -> Vec<SupervisionEffect> {
        self.heard = Some(now);
        match event {
            ProcessEvent::ChannelStarted { channel_id, started_at } => {
                self.register(ProcessId::channel(channel_id), None, "", *started_at, now);
            }
            ProcessEvent::BranchStarted { branch_id, channel_id, description, started_at } => {
                let channel = Some(channel_id.clone());
                self.register(ProcessId::branch(branch_id), channel, description, *started_at, now);
            }
            ProcessEvent::WorkerStarted { worker_id, channel_id, task, started_at } => {
                let channel = channel_id.clone();
                self.register(ProcessId::worker(worker_id), channel, task, *started_at, now);
            }
            ProcessEvent::WorkerStatus { worker_id, status, .. } => {
                self.status(&ProcessId::worker(worker_id), status, now);
            }
            ProcessEvent::BranchStatus { branch_id, status, .. } => {
                self.status(&ProcessId::branch(branch_id), status, now);
            }
            ProcessEvent::CompletionStarted { process } => {
                if let Some(process) = self.progress(process, Some(ProcessPhase::Llm), now) {
                    process.llm_calls += 1;
                }
            }
            ProcessEvent::ToolStarted { process, tool_name } => {
                let phase = ProcessPhase::Tool { name: tool_name.clone() };
                if let Some(process) = self.progress(process, Some(phase), now) {
                    process.tool_calls += 1;
                }
            }
            ProcessEvent::CompletionEnded { process, .. } => {
                self.progress(process, Some(ProcessPhase::Between), now);
            }
            ProcessEvent::ToolCompleted { process, error, .. } => {
                if let Some(process) = self.progress(process, Some(ProcessPhase::Between), now) {
                    process.last_error.clone_from(error);
                }
            }
            ProcessEvent::Queued { process } => {
                self.progress(process, Some(ProcessPhase::Queued), now);
            }
            ProcessEvent::Waiting { process } => {
                self.progress(process, Some(ProcessPhase::Waiting), now);
            }
            ProcessEvent::ChannelEnded { channel_id } => {
                self.processes.remove(&ProcessId::channel(channel_id));
            }
            ProcessEvent::BranchComplete { .. }
            | ProcessEvent::BranchTimeout { .. }
            | ProcessEvent::WorkerComplete { .. }
            | ProcessEvent::WorkerTimeout { .. }
            | ProcessEvent::MemorySaved { .. } => {}
        }
        Vec::new()
    }

    fn register(
        &mut self,
        process: ProcessId,
        channel_id: Option<String>,
        about: &str,
        at: i64,
        now: Millis,
    ) {
        if self.processes.len() >= PROCESSES_MAX {
            return;
        }
        // A process started earlier is not thought to have been idle since.
        let progress_unix_ms = now.get().max(at);
        self.processes.entry(process.clone()).or_insert(ProcessStatus {
            process,
            channel_id,
            about: about.to_owned(),
            started_unix_ms: at,
            progress_unix_ms,
            phase: ProcessPhase::Between,
            stage: ProcessStage::Running,
            status: String::new(),
            llm_calls: 0,
            tool_calls: 0,
            last_error: None,
        });
    }

    fn status(&mut self, id: &ProcessId, status: &str, now: Millis) {
        if let Some(process) = self.progress(id, None, now) {
            status.clone_into(&mut process.status);
        }
    }

    fn progress(
        &mut self,
        id: &ProcessId,
        phase: Option<ProcessPhase>,
        now: Millis,
    ) -> Option<&mut ProcessStatus> {
        let process = self.processes.get_mut(id)?;
        process.progress_unix_ms = now.get();
        // A process that makes progress has had its turn, so its lifetime begins now.
        if process.phase == ProcessPhase::Queued && phase != Some(ProcessPhase::Queued) {
            process.phase = ProcessPhase::Between;
            process.started_unix_ms = now.get();
        }
        if let Some(phase) = phase {
            process.phase = phase;
        }
        Some(process)
    }

    /// A process moves on, in whatever phase it is.
    pub fn progressed(&mut self, id: &ProcessId, now: Millis) {
        self.progress(id, None, now);
    }

    /// Nothing happened, but the events are up to date.
    pub fn heartbeat(&mut self, now: Millis) {
        self.heard = Some(now);
    }

    /// Events were missed. Nobody is judged until `resynced`.
    pub fn lagged(&mut self) {
        self.lagged = true;
    }

    /// The log was read again: these run, nothing else does.
    pub fn resynced(&mut self, running: &[ProcessId], now: Millis) {
        self.processes.retain(|id, _| running.contains(id));
        for process in self.processes.values_mut() {
            process.progress_unix_ms = now.get();
        }
        (self.lagged, self.heard) = (false, Some(now));
    }

    /// Looks at every process once and acts on those that are overdue.
    pub fn tick(&mut self, settings: &SupervisionSettings, now: Millis) -> Vec<SupervisionEffect> {
        let stale = secs_ms(settings.stale_after_secs);
        let gap = self.looked.map_or(0, |last| now.get() - last.get());
        self.looked = Some(now);
        if gap > stale {
            // The machine slept. The time counts neither as the life nor as the idleness of any process.
            for process in self.processes.values_mut() {
                process.started_unix_ms += gap;
                process.progress_unix_ms += gap;
                if let ProcessStage::Cancelling { since_unix_ms, .. } = &mut process.stage {
                    *since_unix_ms += gap;
                }
            }
            let why = format!("nobody looked for {} s", gap / 1_000);
            return vec![SupervisionEffect::Stale { why }];
        }
        let silent = self.heard.map_or(0, |heard| now.get() - heard.get());
        if self.lagged || silent > stale {
            let why = if self.lagged { "events were missed" } else { "no news from the bus" };
            return vec![SupervisionEffect::Stale { why: why.to_owned() }];
        }
        let mut due: Vec<(i64, ProcessId)> =
            self.processes.values().map(|p| (p.progress_unix_ms, p.process.clone())).collect();
        due.sort();
        let mut budget = settings.kill_budget_per_tick;
        let mut effects = Vec::new();
        for (_, id) in due {
            if budget == 0 {
                break;
            }
            let Some(process) = self.processes.get_mut(&id) else { continue };
            let acted = judge(process, settings, now, &mut effects);
            if let Some(told) = acted {
                budget -= 1;
                match told {
                    Verdict::Cancelled => {
                        self.cancels_total += 1;
                        let event = timeout_event(process);
                        self.untold.entry(id).or_default().extend(event);
                    }
                    Verdict::Killed => self.kills_total += 1,
                }
            }
        }
        effects
    }

    /// Asks a process to stop because a person wants it to.
    pub fn cancel(
        &mut self,
        id: &ProcessId,
        by: &str,
        now: Millis,
    ) -> Result<Vec<SupervisionEffect>> {
        let process = self.processes.get_mut(id).ok_or_else(|| unknown(id))?;
        if process.stage != ProcessStage::Running {
            return Ok(Vec::new());
        }
        process.stage =
            ProcessStage::Cancelling { since_unix_ms: now.get(), why: format!("asked by {by}") };
        self.cancels_total += 1;
        Ok(vec![SupervisionEffect::Cancel(id.clone())])
    }

    /// Asking it to stop did not work: the error is kept, and the next look ends it by force.
    pub fn cancel_failed(&mut self, id: &ProcessId, error: &str) -> Result<()> {
        let process = self.processes.get_mut(id).ok_or_else(|| unknown(id))?;
        process.last_error = Some(error.to_owned());
        if let ProcessStage::Cancelling { since_unix_ms, .. } = &mut process.stage {
            *since_unix_ms = i64::MIN / 2;
        }
        Ok(())
    }

    /// A process ended, by itself or not. Its outcome is stored first and told afterwards.
    pub fn ended(
        &mut self,
        id: &ProcessId,
        result: &str,
        notify: bool,
    ) -> Result<Vec<SupervisionEffect>> {
        let process = self.processes.get_mut(id).ok_or_else(|| unknown(id))?;
        if process.stage == ProcessStage::Ending {
            return Ok(Vec::new());
        }
        let result = match &process.stage {
            ProcessStage::Cancelling { why, .. } | ProcessStage::Killed { why } => {
                format!("{why}: {result}")
            }
            ProcessStage::Running | ProcessStage::Ending => result.to_owned(),
        };
        process.stage = ProcessStage::Ending;
        let event = match id.kind {
            ProcessKind::Channel => ProcessEvent::ChannelEnded { channel_id: id.id.clone() },
            ProcessKind::Branch => ProcessEvent::BranchComplete {
                branch_id: id.id.clone(),
                channel_id: process.channel_id.clone().unwrap_or_default(),
                result: result.clone(),
            },
            ProcessKind::Worker => ProcessEvent::WorkerComplete {
                worker_id: id.id.clone(),
                channel_id: process.channel_id.clone(),
                result: result.clone(),
                notify,
            },
        };
        self.untold.entry(id.clone()).or_default().push(event);
        let record = ProcessRecord::Ended { result, notify };
        Ok(vec![SupervisionEffect::Store { process: id.clone(), record }])
    }

    /// What was to be stored is stored: now it may be told.
    pub fn stored(&mut self, id: &ProcessId) -> Vec<SupervisionEffect> {
        let events = self.untold.remove(id).unwrap_or_default();
        if self.processes.get(id).is_some_and(|process| process.stage == ProcessStage::Ending) {
            self.processes.remove(id);
        }
        events.into_iter().map(SupervisionEffect::Emit).collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &ProcessStatus> {
        self.processes.values()
    }

    pub fn get(&self, id: &ProcessId) -> Option<&ProcessStatus> {
        self.processes.get(id)
    }

    /// Why a process is or is not stuck, in words.
    pub fn explain(
        &self,
        id: &ProcessId,
        settings: &SupervisionSettings,
        now: Millis,
    ) -> Result<String> {
        let process = self.get(id).ok_or_else(|| unknown(id))?;
        let idle = (now.get() - process.progress_unix_ms).max(0) / 1_000;
        let lived = (now.get() - process.started_unix_ms).max(0) / 1_000;
        let stage = match &process.stage {
            ProcessStage::Running => match overdue(process, settings, now) {
                Some(why) => format!("is stuck: {why}"),
                None => "is not stuck".to_owned(),
            },
            ProcessStage::Cancelling { why, .. } => format!("was asked to stop: {why}"),
            ProcessStage::Killed { why } => format!("was ended: {why}"),
            ProcessStage::Ending => "has ended; its outcome is being stored".to_owned(),
        };
        let error = process.last_error.as_ref().map(|error| format!(" Last error: {error}."));
        Ok(format!(
            "{id} {stage}. It runs for {lived} s, is {} and made its last progress {idle} s ago, after {} and {}.{}",
            process.phase.name(),
            counted(process.llm_calls, "call to a model", "calls to a model"),
            counted(process.tool_calls, "use of a tool", "uses of tools"),
            error.unwrap_or_default()
        ))
    }
}

fn counted(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

fn unknown(id: &ProcessId) -> MindError {
    MindError::UnknownProcess { process: id.kind.name(), id: id.id.chars().take(64).collect() }
}
