//! Admin chat: what an administrator types, answered from the operations; by a model only what no rule understands.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of one message.
pub const MESSAGE_BYTES_MAX: usize = 16_384;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdminRequest {
    /// Whose memory is meant; the caller's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AdminAnswer {
    pub agent_id: String,
    /// For people.
    pub response: String,
    /// What the message was understood as.
    #[schema(value_type = Object)]
    pub asked: Value,
    /// The same as data: what the operation answered.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// A question that a program asks: it needs no sentence that would be read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminQuestionRequest {
    pub question: AdminQuestion,
}

/// What an administrator wants. The daemon answers each from the operations it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum AdminQuestion {
    /// "show me recent memory activity"
    RecentActivity {
        limit: usize,
    },
    /// "what is running": `system_inspect`.
    Running,
    /// "list channels": `channel_list`.
    Channels,
    /// "list workers"
    Workers,
    /// "why is worker X stuck", "inspect worker X": `worker_inspect`.
    Inspect {
        kind: ProcessKind,
        id: String,
    },
    /// "stop worker X"
    Cancel {
        kind: ProcessKind,
        id: String,
    },
    /// "recall …", "what do you know about …": `memory_recall`.
    Recall {
        query: String,
    },
    /// "remember that …": `memory_save`.
    Remember {
        text: String,
    },
    /// "why was memory 12 forgotten", "history of memory 12"
    Memory {
        id: u64,
    },
    /// "forget memory 12", "restore memory 12"
    Forget {
        id: u64,
    },
    Restore {
        id: u64,
    },
    /// "show jobs"
    Jobs,
    /// "run maintenance", "pause maintenance", "resume maintenance"
    RunJob {
        job: String,
    },
    PauseJob {
        job: String,
    },
    ResumeJob {
        job: String,
    },
    /// "preview maintenance"
    DryRun {
        job: String,
    },
    /// "show runs", "log"
    Runs,
    /// "undo run X"
    Undo {
        run: String,
    },
    /// "what did we spend today"
    Budget,
    /// "stop all models", "allow models"
    KillSwitch {
        on: bool,
    },
    /// "show the bulletin", "show the bulletin of project shop"
    Bulletin {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    },
    /// "explain the bulletin"
    ExplainBulletin,
    RefreshBulletin,
    Patterns,
    Breakers,
    /// "close the breakers", "reset": what was left alone is tried again.
    Reset,
    /// "how many memories are there"
    Counts,
    /// "which projects are there"
    Projects,
    /// "are there contradictions": what needs attention.
    Audit,
    /// "what is about to be put away"
    Due,
    /// "keep memory 12"
    Keep {
        id: u64,
    },
    /// "what did maintenance do", "what was put away last night"
    LastRun,
    /// "undo the last run"
    UndoLast,
    /// "update memory 12: …"
    Update {
        id: u64,
        text: String,
    },
    /// "which rules are there", "which goals are open": memories of one kind, of one project if it names one.
    Listing {
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    },
    /// "which sessions were there"
    Sessions,
    /// "which talents ran", "did any run fail"
    TalentRuns {
        failed: bool,
    },
    /// "what waits for me"
    Approvals,
    /// "which pages are there"
    Pages,
    /// "is the system healthy"
    Health,
    /// "are you ready", "status"
    Status,
    Help,
    /// The sentence was not understood; a model may answer it, if there is one.
    Unclear {
        text: String,
    },
}

/// What kind of process a conversation has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessKind {
    Channel,
    Branch,
    Worker,
}

impl ProcessKind {
    pub fn name(self) -> &'static str {
        match self {
            ProcessKind::Channel => "channel",
            ProcessKind::Branch => "branch",
            ProcessKind::Worker => "worker",
        }
    }
}
