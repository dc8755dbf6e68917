//! Whether every actor of the home can be opened and its newest entries read.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::upkeep::StoreProblem;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthAnswer {
    pub actors: Vec<ActorHealth>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorHealth {
    pub actor: String,
    pub entries: u64,
    pub memories: u64,
    pub file_bytes: u64,
    pub root: String,
    /// What is wrong with the store. None: what was looked at is sound, and the search index is the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Error>,
    /// Damage that was met since the actor was opened, and gone around: what was lost, or made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<StoreProblem>,
    /// Old bytes of what was erased are still in a file of the index; with the reason, if removing them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<String>,
    /// Where the clock was set back, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_jumps: Vec<ClockJumpView>,
    /// The time of the last entry, if that has not come yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<String>,
    /// What the last read of the ledger in idle time came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<LedgerCheckView>,
    /// What is wrong with the table of merged project names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects_problem: Option<Error>,
    /// Repositories of one name that are kept apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects_apart: Vec<String>,
}

/// Entry `seq` is dated `to`, though the one before it is dated `from`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockJumpView {
    pub seq: u64,
    pub from: String,
    pub to: String,
}

/// A read of a ledger against its checksums and the hash tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerCheckView {
    pub at: String,
    pub entries: u64,
    pub problems: Vec<StoreProblem>,
}
