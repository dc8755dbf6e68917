//! The past: what coding agents wrote down on this disk, as far as Cortex has read it.
//!
//! - here: what there is, and reading what is new. `sessions`: sessions, turns, and how to go on with one.
//! - `search`: turns that answer a question. `forget`: what must not come back, what is checked and made again.
//! - `work`: what fixed an error, how something is done, why a file is so. `keep`: a turn that becomes a memory.
//!
//! What must stay true: only the owner is answered; a session is named `AGENT:SESSION`, a turn `AGENT:SESSION#TURN`.

mod forget;
mod keep;
mod search;
mod sessions;
mod work;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use forget::{
    PastCheckAnswer, PastCheckRequest, PastExcludeAnswer, PastExcludeRequest, PastForgetAnswer,
    PastForgetRequest, PastRebuildAnswer, PastRebuildRequest, PastRestoreAnswer,
    PastRestoreRequest, PastTombstone, PastTombstonesAnswer, PastTombstonesRequest,
};
pub use keep::{PastHandOverAnswer, PastHandOverRequest, PastKeepAnswer, PastKeepRequest};
pub use search::{PastArm, PastHit, PastSearchAnswer, PastSearchRequest};
pub use sessions::{
    PastItemView, PastResumeAnswer, PastResumeRequest, PastSessionView, PastSessionsAnswer,
    PastSessionsRequest, PastShowAnswer, PastShowRequest, PastTurnView,
};

pub use work::{
    PastFix, PastFriction, PastHabit, PastRemoval, PastReportAnswer, PastReportRequest, PastShape,
    PastTrace, PastWorkAnswer, PastWorkKind, PastWorkRequest,
};

/// What there is of the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastStateRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastStateAnswer {
    /// By the name of the agent.
    pub agents: BTreeMap<String, PastAgentState>,
    pub sessions: u64,
    pub turns: u64,
    pub segments: u64,
    /// Bytes that it takes on disk.
    pub bytes: u64,
    /// Sessions whose source is gone: this is the only copy.
    pub kept_only_here: u64,
    /// Sessions and turns that were forgotten.
    pub forgotten: u64,
    /// Versions of agents that this build does not read well any more.
    pub drift: Vec<PastDrift>,
    /// Folders and agents that are not read.
    pub excluded: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastAgentState {
    pub sessions: u64,
    /// Sessions that other agents led.
    pub children: u64,
    pub turns: u64,
    pub bytes: u64,
    /// Files that were read.
    pub sources: u64,
    pub kept_only_here: u64,
    /// Secrets and private blocks that were taken out.
    pub masked: u64,
    /// The time of its newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastDrift {
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub files: u64,
    pub records: u64,
    /// Records of types that this build does not know.
    pub unknown: u64,
    /// Files of at least 64 KiB in which no prompt was found.
    pub silent_files: u64,
}

/// Reads what agents wrote since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastReadRequest {
    /// Names of agents; all if there are none.
    pub agents: Vec<String>,
    /// Only files that changed since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// One file: of the agent that is named, or in our own form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only says what would be read.
    pub dry_run: bool,
    /// Variables of the caller that say where agents keep their files. The home is the caller's own.
    pub variables: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastReadAnswer {
    /// What was read just now, by the name of the agent; agents of which there is nothing are left out.
    pub agents: BTreeMap<String, PastReadCounts>,
    /// Agents whose records this build does not know well any more.
    pub drift: Vec<String>,
    /// All that there is now.
    pub sessions: u64,
    pub turns: u64,
    /// Files that were new or changed, and their bytes.
    pub changed_files: u64,
    pub changed_bytes: u64,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastReadCounts {
    pub files: u64,
    pub bytes: u64,
    pub records: u64,
    pub prompts: u64,
    pub items: u64,
    /// Items that another session, or an earlier reading, already holds.
    pub copies: u64,
    /// Records of types that are known to hold nothing.
    pub skipped: u64,
    pub malformed: u64,
    pub too_large: u64,
    /// Records of types that nobody knows, by type.
    pub unknown: BTreeMap<String, u64>,
    /// Secrets that were taken out, by kind.
    pub masked: BTreeMap<String, u64>,
    /// Blocks that agents put into the words of a person.
    pub noise: u64,
    /// Texts of Cortex itself.
    pub echoes: u64,
    /// Items of what was forgotten or is excluded.
    pub forgotten: u64,
    /// Files that could not be read, and why.
    pub unreadable: Vec<String>,
}
