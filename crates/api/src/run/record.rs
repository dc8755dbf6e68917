//! What is known of runs: those that wait or go on, and those that have ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a run ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Completed,
    Error,
}

/// One run in the index of its day.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunRecord {
    pub use_id: String,
    pub name: String,
    pub day: String,
    pub ts: u64,
    pub status: RunStatus,
    /// Why an error; why a finish did nothing (`skipped`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    pub runtime_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    pub events: u64,
    pub thinking_count: u64,
    pub tool_count: u64,
    pub info_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The first 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The first 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Memories that were read and used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<Value>,
}

/// How a run ended, for whoever learns from it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Finished,
    /// It found nothing to do.
    Skipped,
    Failed,
    Cancelled,
}

/// A run that waits or goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveRun {
    pub use_id: String,
    pub name: String,
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whose memory it works with; the home's own if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The conversation it belongs to, and what it was told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Place in the queue; absent if it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    pub elapsed_seconds: f64,
}

/// Which ended runs are wanted, newest first.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunQuery {
    pub name: Option<String>,
    pub facet: Option<String>,
    pub day: Option<String>,
    pub chat_id: Option<String>,
    pub parent: Option<String>,
    pub status: Option<RunStatus>,
    pub offset: usize,
    /// 1 to 100; 0 means 10.
    pub limit: usize,
}

/// Which runs to list.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunScope {
    Live,
    Historical,
    #[default]
    All,
}

/// A page of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunList {
    /// Runs that wait or go on; not paged, there are never many.
    pub live: Vec<LiveRun>,
    /// Ended runs, newest first.
    pub runs: Vec<RunRecord>,
    pub total: usize,
    pub has_more: bool,
}
