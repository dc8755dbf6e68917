//! Goal: words of an erased memory are in no file once the store was opened again, wherever the power failed.
//! Method: the power fails at every sync of an erasure and of what follows it; the index keeps words, so it is the
//! index that would keep them.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use kernel::store::EngineOptions;
use kernel::{Cortex, Options};
use recall::RecallHook;
use testkit::build::{ada, assert_clean, fact, holds, removal, stamp};
use testkit::{Disk, PowerCut};

const PATIENCE: Duration = Duration::from_mins(5);
const CANARY: &str = "zyxcanaryword";

fn open(disk: &Disk) -> Cortex {
    let hooks = Arc::new(|| -> Vec<Box<dyn kernel::hook::JournalHook>> {
        vec![Box::new(RecallHook::new())]
    });
    // A cache so small that rows reach the file before anything is made durable, as they do in a large store.
    let engine = EngineOptions { cache_bytes: 0, ..EngineOptions::default() };
    let options = Options { hooks, engine, ..Options::default() };
    Cortex::open_on(disk.medium(), &ada(), options).unwrap()
}

// L4, L8
#[test]
fn an_erased_word_is_in_no_file_after_any_power_cut_and_the_next_open() {
    for is_settled in [true, false] {
        after_cuts(is_settled);
    }
}

/// `is_settled`: the index was made durable between saving and erasing.
fn after_cuts(is_settled: bool) {
    let (mut cuts, mut acknowledged) = (0, 0);
    for sync in 1.. {
        let disk = Disk::new();
        let cortex = open(&disk);
        for n in 1..=20 {
            cortex.write(stamp(1), fact(n, "kept", "ordinary words of a memory")).unwrap();
        }
        let erased = cortex.write(stamp(1), fact(21, "erased", CANARY)).unwrap().seq;
        let cortex = if is_settled {
            drop(cortex);
            assert!(holds(&disk.bytes(), CANARY));
            open(&disk)
        } else {
            cortex
        };
        disk.die_at_sync(disk.syncs() + sync);
        let is_erased = cortex.erase(stamp(2), removal(erased)).is_ok();
        cortex.wait_for_scrub(PATIENCE);
        drop(cortex);
        if !disk.is_dead() {
            break;
        }
        for cut in [PowerCut::KeepUnsynced, PowerCut::LoseUnsynced, PowerCut::Some(sync)] {
            let found = disk.after_power_cut(cut);
            let cortex = open(&found);
            assert_clean(&cortex);
            assert!(cortex.wait_for_scrub(PATIENCE));
            drop(cortex);
            cuts += 1;
            acknowledged += u32::from(is_erased);
            let is_there = holds(&found.bytes(), CANARY);
            assert!(!(is_erased && is_there), "cut at sync {sync}, {cut:?}, settled {is_settled}");
        }
    }
    assert!(cuts >= 6 && acknowledged >= 3, "{cuts} cuts, {acknowledged} after the answer");
}
