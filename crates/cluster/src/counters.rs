//! What happened between this node and the ledger, in numbers that only grow.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of append times that are told apart, in milliseconds.
pub const APPEND_BOUNDS_MS: [u64; 8] = [1, 2, 5, 10, 25, 100, 500, 2_500];

#[derive(Debug, Default)]
pub struct LedgerCounters {
    pub appends: AtomicU64,
    pub appended_entries: AtomicU64,
    pub append_micros: AtomicU64,
    pub append_within: [AtomicU64; APPEND_BOUNDS_MS.len()],
    /// Another node wrote first.
    pub conflicts: AtomicU64,
    /// Times that this node asked others to let it append.
    pub ways_asked: AtomicU64,
    /// Answers that were lost, and found again.
    pub resolved: AtomicU64,
    /// Answers that were lost for good.
    pub unknown: AtomicU64,
    /// Times the ledger could not be reached.
    pub away: AtomicU64,
    pub reads: AtomicU64,
    /// Entries of other nodes that were read.
    pub read_entries: AtomicU64,
    pub connections_made: AtomicU64,
    pub retries: AtomicU64,
    /// Requests passed on to another node, and those that were answered here because it could not be reached.
    pub forwarded: AtomicU64,
    pub forward_failures: AtomicU64,
    /// Times that another node said it came or went.
    pub node_news: AtomicU64,
    pub cache_hits: AtomicU64,
    pub cache_misses: AtomicU64,
    /// Actors whose copy was thrown away to make room.
    pub cache_evictions: AtomicU64,
    /// Checkpoints that were made, that cold actors began from, and that were of no use.
    pub checkpoints_made: AtomicU64,
    pub checkpoints_taken: AtomicU64,
    pub checkpoints_refused: AtomicU64,
    /// Entries that the open copies were behind when last looked at: the most, and not growing.
    pub lag: AtomicU64,
}

impl LedgerCounters {
    pub(crate) fn appended(&self, entries: usize, took: Duration) {
        add(&self.appends, 1);
        add(&self.appended_entries, entries as u64);
        add(&self.append_micros, u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        for (count, bound) in self.append_within.iter().zip(APPEND_BOUNDS_MS) {
            add(count, u64::from(took <= Duration::from_millis(bound)));
        }
    }
}

pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

pub fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
