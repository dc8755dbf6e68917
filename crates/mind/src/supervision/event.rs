//! What happens to processes, in the seed's words, as it is logged and put on the bus.

use api::admin::ProcessKind;
use serde::{Deserialize, Serialize};

/// A channel, branch or worker began, moved or ended. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
#[non_exhaustive]
pub enum ProcessEvent {
    ChannelStarted {
        channel_id: String,
        started_at: i64,
    },
    ChannelEnded {
        channel_id: String,
    },
    BranchStarted {
        branch_id: String,
        channel_id: String,
        description: String,
        started_at: i64,
    },
    BranchComplete {
        branch_id: String,
        channel_id: String,
        result: String,
    },
    BranchTimeout {
        branch_id: String,
        channel_id: String,
    },
    /// What a branch does now.
    BranchStatus {
        branch_id: String,
        channel_id: String,
        status: String,
    },
    WorkerStarted {
        worker_id: String,
        channel_id: Option<String>,
        task: String,
        started_at: i64,
    },
    WorkerStatus {
        worker_id: String,
        channel_id: Option<String>,
        status: String,
    },
    WorkerComplete {
        worker_id: String,
        channel_id: Option<String>,
        result: String,
        notify: bool,
    },
    WorkerTimeout {
        worker_id: String,
        channel_id: Option<String>,
    },
    /// A process asks a model.
    CompletionStarted {
        process: ProcessId,
    },
    /// A model answered.
    CompletionEnded {
        process: ProcessId,
        tokens: u64,
    },
    ToolStarted {
        process: ProcessId,
        tool_name: String,
    },
    /// `error` is there if it failed; `broken` if asking it otherwise would not have helped.
    ToolCompleted {
        process: ProcessId,
        tool_name: String,
        error: Option<String>,
        #[serde(default)]
        broken: bool,
    },
    /// A process waits for its turn; its time has not begun.
    Queued {
        process: ProcessId,
    },
    /// A process waits for a person; it is not stuck.
    Waiting {
        process: ProcessId,
    },
    MemorySaved {
        memory_id: u64,
        channel_id: Option<String>,
        memory_type: String,
    },
}

/// An event in the append-only log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessLogEntry {
    /// From 1, without gaps.
    pub seq: u64,
    pub at_unix_ms: i64,
    #[serde(flatten)]
    pub event: ProcessEvent,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    pub kind: ProcessKind,
    pub id: String,
}

impl ProcessId {
    pub fn channel(id: impl Into<String>) -> ProcessId {
        ProcessId { kind: ProcessKind::Channel, id: id.into() }
    }

    pub fn branch(id: impl Into<String>) -> ProcessId {
        ProcessId { kind: ProcessKind::Branch, id: id.into() }
    }

    pub fn worker(id: impl Into<String>) -> ProcessId {
        ProcessId { kind: ProcessKind::Worker, id: id.into() }
    }
}

impl std::fmt::Display for ProcessId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.id)
    }
}
