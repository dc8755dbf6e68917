//! What the runner answers, lists and counts.

use std::io;

use api::run::LiveRun;
use serde::Serialize;
use thiserror::Error;

use talents::{TalentName, UseId};

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

/// Which runs to cancel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunSelector {
    Run(UseId),
    Talent(TalentName),
    /// The runs that this one asked for, and theirs.
    Parent(UseId),
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
