//! A ledger of small segments, a history of which every prefix is known, and what a disk must hold of it.

use std::sync::Arc;

use kernel::command::Receipt;
use kernel::store::EngineOptions;
use kernel::{Cortex, Options, Result};
use testkit::build::{Dump, ada, assert_clean, dump, fact, removal, revision, size, stamp};
use testkit::{Disk, PowerCut};

/// Segments of a few entries each.
pub(crate) fn small() -> Options {
    let engine = EngineOptions { segment_bytes: 4_096, ..EngineOptions::default() };
    Options { engine, ledger_key: Arc::new(|| [7; 16]), ..Options::default() }
}

pub(crate) fn try_open(disk: &Disk) -> Result<Cortex> {
    Cortex::open_on(disk.medium(), &ada(), small())
}

pub(crate) const CUTS: [PowerCut; 4] =
    [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Some(4), PowerCut::Some(77)];

/// The `n`-th entry of the same history: a memory, a new version or an erasure.
pub(crate) fn write_one(cortex: &Cortex, n: u64) -> Result<Receipt> {
    match n % 7 {
        3 => cortex.update(stamp(1), revision(1, None, &format!("title {n}"))),
        5 => cortex.erase(stamp(1), removal(n - 3)),
        _ => cortex.write(stamp(1), fact(n, &format!("memory {n}"), &"x".repeat(300))),
    }
}

/// Writes until the disk fails; returns how many were acknowledged.
pub(crate) fn write_some(cortex: &Cortex, count: u64) -> u64 {
    (1..=count).take_while(|n| write_one(cortex, *n).is_ok()).count() as u64
}

/// The states after each write, by the number of entries.
pub(crate) fn states(count: u64) -> Vec<Dump> {
    let cortex = try_open(&Disk::new()).unwrap();
    let mut states = vec![dump(&cortex)];
    for n in 1..=count {
        write_one(&cortex, n).unwrap();
        states.push(dump(&cortex));
    }
    states
}

#[track_caller]
pub(crate) fn assert_found(disk: &Disk, states: &[Dump], acknowledged: u64, what: &str) {
    let cortex = try_open(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = size(&cortex);
    let possible = acknowledged..=acknowledged + 1;
    assert!(possible.contains(&found), "{what}: {found} entries, {acknowledged} acknowledged");
    let expected = &states[usize::try_from(found).unwrap()];
    assert!(dump(&cortex) == *expected, "{what}: another state of {found} entries");
    assert_clean(&cortex);
}
