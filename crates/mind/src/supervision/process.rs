//! What is known about one process: where it is, how far its end has come, and what is stored about it.

use serde::Serialize;

use super::event::ProcessId;

/// What a process does at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum ProcessPhase {
    Between,
    Llm,
    Tool {
        name: String,
    },
    /// The process waits for a person.
    Waiting,
    /// The process waits for its turn.
    Queued,
}

impl ProcessPhase {
    pub fn name(&self) -> String {
        match self {
            ProcessPhase::Between => "between calls".to_owned(),
            ProcessPhase::Llm => "in a call to a model".to_owned(),
            ProcessPhase::Tool { name } => format!("in the tool {name}"),
            ProcessPhase::Waiting => "waiting for a person".to_owned(),
            ProcessPhase::Queued => "waiting for its turn".to_owned(),
        }
    }
}

/// How far the end of a process has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum ProcessStage {
    Running,
    /// The process was asked to stop at this time.
    Cancelling {
        since_unix_ms: i64,
        why: String,
    },
    /// The process was ended by force.
    Killed {
        why: String,
    },
    /// Its outcome is being stored.
    Ending,
}

/// One process as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessStatus {
    pub process: ProcessId,
    pub channel_id: Option<String>,
    /// Description or task.
    pub about: String,
    pub started_unix_ms: i64,
    pub progress_unix_ms: i64,
    pub phase: ProcessPhase,
    pub stage: ProcessStage,
    pub status: String,
    pub llm_calls: u64,
    pub tool_calls: u64,
    pub last_error: Option<String>,
}

/// What is to be stored about a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum ProcessRecord {
    /// The process was found stuck, or past its lifetime.
    TimingOut {
        why: String,
    },
    Ended {
        result: String,
        notify: bool,
    },
}
