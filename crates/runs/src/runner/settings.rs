//! The bounds of the runner, as `cortex.toml` carries them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many runs, how long, how large, and for how long they are kept.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunnerSettings {
    /// Runs that go on at once on this host.
    pub runs_max: usize,
    /// Runs at once for each provider that `provider_limits` does not name.
    pub runs_per_provider_max: usize,
    pub provider_limits: BTreeMap<String, usize>,
    /// Runs at once of each talent that `talent_limits` does not name.
    pub runs_per_talent_max: usize,
    pub talent_limits: BTreeMap<String, usize>,
    /// Runs that wait for their turn.
    pub queue_max: usize,
    /// For runs whose request and talent name no time.
    pub timeout_seconds: u64,
    pub timeout_seconds_max: u64,
    /// How long a process may go on after it has told its end.
    pub exit_grace_ms: u64,
    /// How long a process may go on after it was asked to end, before it is killed.
    pub stop_grace_ms: u64,
    /// Longest line a talent may print; a longer one becomes a note about itself.
    pub line_bytes_max: usize,
    /// Largest event in a log and on the bus; a larger one is cut and says so.
    pub event_bytes_max: usize,
    /// Largest log of one run. What comes on top is counted and left out; the end is always written.
    pub log_bytes_max: u64,
    /// How much of the end of standard error stands in the log.
    pub stderr_tail_bytes: usize,
    /// How much of standard error is kept in a file beside the log.
    pub stderr_file_bytes: u64,
    /// Ended runs are kept for so many days,
    pub keep_days: u64,
    /// and so many of each talent.
    pub keep_runs_per_talent: usize,
    /// The user's time zone, for example `Europe/Berlin`; that of the system if empty.
    pub zone: String,
}

impl Default for RunnerSettings {
    fn default() -> RunnerSettings {
        RunnerSettings {
            runs_max: 8,
            runs_per_provider_max: 8,
            provider_limits: BTreeMap::new(),
            runs_per_talent_max: 8,
            talent_limits: BTreeMap::new(),
            queue_max: 1_000,
            timeout_seconds: 600,
            timeout_seconds_max: 24 * 60 * 60,
            exit_grace_ms: 2_000,
            stop_grace_ms: 10_000,
            line_bytes_max: 16 << 20,
            event_bytes_max: 256 << 10,
            log_bytes_max: 64 << 20,
            stderr_tail_bytes: 8 << 10,
            stderr_file_bytes: 1 << 20,
            keep_days: 90,
            keep_runs_per_talent: 1_000,
            zone: String::new(),
        }
    }
}
