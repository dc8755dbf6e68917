//! Whether a process is stuck, and what is done to it next.

use kernel::memory::Millis;

use super::{
    ProcessEvent, ProcessPhase, ProcessRecord, ProcessStage, ProcessStatus, SupervisionEffect,
};
use crate::settings::{SupervisionSettings, secs_ms};
use api::admin::ProcessKind;

/// What was done to a process.
pub(super) enum Verdict {
    Cancelled,
    Killed,
}

/// The next stage of one process, if it is due.
pub(super) fn judge(
    process: &mut ProcessStatus,
    settings: &SupervisionSettings,
    now: Millis,
    effects: &mut Vec<SupervisionEffect>,
) -> Option<Verdict> {
    let id = process.process.clone();
    let running_secs = (now.get() - process.started_unix_ms).max(0) / 1_000;
    match &process.stage {
        ProcessStage::Running => {
            let why = overdue(process, settings, now)?;
            effects.push(SupervisionEffect::Warn {
                process: id.clone(),
                running_secs,
                why: why.clone(),
            });
            if id.kind == ProcessKind::Channel {
                // A conversation is never ended for its user; the next warning comes when it is as late again.
                process.progress_unix_ms = now.get();
                return None;
            }
            let record = ProcessRecord::TimingOut { why: why.clone() };
            effects.push(SupervisionEffect::Store { process: id.clone(), record });
            effects.push(SupervisionEffect::Cancel(id));
            process.stage = ProcessStage::Cancelling { since_unix_ms: now.get(), why };
            Some(Verdict::Cancelled)
        }
        ProcessStage::Cancelling { since_unix_ms, why } => {
            if now.get().saturating_sub(*since_unix_ms) < secs_ms(settings.grace_secs) {
                return None;
            }
            let why = why.clone();
            effects.push(SupervisionEffect::Warn {
                process: id.clone(),
                running_secs,
                why: format!("did not stop within {} s", settings.grace_secs),
            });
            effects.push(SupervisionEffect::Kill(id));
            process.stage = ProcessStage::Killed { why };
            Some(Verdict::Killed)
        }
        ProcessStage::Killed { .. } | ProcessStage::Ending => None,
    }
}

/// Why a process is overdue, if it is.
pub(super) fn overdue(
    process: &ProcessStatus,
    settings: &SupervisionSettings,
    now: Millis,
) -> Option<String> {
    let lived = now.get() - process.started_unix_ms;
    let limit = match process.process.kind {
        ProcessKind::Worker => settings.worker_timeout_secs,
        ProcessKind::Branch => settings.branch_timeout_secs,
        ProcessKind::Channel => 0,
    };
    if matches!(process.phase, ProcessPhase::Waiting | ProcessPhase::Queued) {
        return None;
    }
    if limit > 0 && lived > secs_ms(limit) {
        return Some(format!("older than {limit} s"));
    }
    let stall = match process.phase {
        ProcessPhase::Llm => settings.llm_stall_secs,
        ProcessPhase::Tool { .. } => settings.tool_stall_secs,
        // A channel without a message is idle, not stuck.
        ProcessPhase::Between if process.process.kind == ProcessKind::Channel => return None,
        ProcessPhase::Between | ProcessPhase::Waiting | ProcessPhase::Queued => {
            settings.idle_stall_secs
        }
    };
    let idle = now.get() - process.progress_unix_ms;
    (idle > secs_ms(stall))
        .then(|| format!("no progress for {} s {}", idle / 1_000, process.phase.name()))
}

pub(super) fn timeout_event(process: &ProcessStatus) -> Option<ProcessEvent> {
    let id = process.process.id.clone();
    match process.process.kind {
        ProcessKind::Worker => {
            let channel_id = process.channel_id.clone();
            Some(ProcessEvent::WorkerTimeout { worker_id: id, channel_id })
        }
        ProcessKind::Branch => {
            let channel_id = process.channel_id.clone().unwrap_or_default();
            Some(ProcessEvent::BranchTimeout { branch_id: id, channel_id })
        }
        ProcessKind::Channel => None,
    }
}
