//! What the runner answers, lists and counts.

use std::io;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::log::tally::Row;
use crate::{TalentName, UseId};

/// Why there is no runner.
#[derive(Debug, Error)]
pub enum RunnerError {
    #[error("the time zone {0:?} is not known")]
    Zone(String),
    #[error("the run logs cannot be read: {0}")]
    Logs(#[from] io::Error),
}

impl RunnerError {
    pub fn code(&self) -> &'static str {
        match self {
            RunnerError::Zone(_) => "unknown_zone",
            RunnerError::Logs(_) => "run_logs",
        }
    }
}

/// The answer to a request.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Receipt {
    /// It runs, or (`replayed`) the same request was a run before.
    Accepted {
        use_id: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    /// It waits; 1 is next.
    Queued {
        use_id: String,
        position: usize,
    },
    Rejected {
        code: &'static str,
        reason: String,
    },
}

impl Receipt {
    /// The run, if there is one.
    pub fn run(&self) -> Option<UseId> {
        match self {
            Receipt::Accepted { use_id, .. } | Receipt::Queued { use_id, .. } => {
                UseId::parse(use_id).ok()
            }
            Receipt::Rejected { .. } => None,
        }
    }
}

/// Which runs to cancel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunSelector {
    Run(UseId),
    Talent(TalentName),
    /// The runs that this one asked for, and theirs.
    Parent(UseId),
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
    pub runs: Vec<Row>,
    pub total: usize,
    pub has_more: bool,
}

/// The counters of a runner.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct RunnerCounters {
    pub started: u64,
    pub ended: u64,
    pub rejected: u64,
    /// LineReader that processes printed after their end.
    pub late_lines: u64,
    /// Writes to logs or the index that failed.
    pub log_failures: u64,
    /// Process groups that could not be signalled or outlived their kill.
    pub signals_failed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunnerStatus {
    pub running: Vec<LiveRun>,
    pub queued: Vec<LiveRun>,
    pub counters: RunnerCounters,
    /// The newest failure to write a log or the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}
