//! After an erasure nothing is left of a memory: not in rows, not in answers, not in the bytes on disk.

use std::ops::ControlFlow;

use kernel::store::KeyRange;
use recall::search::{ArmWeights, SearchQuery};
use testkit::Disk;
use testkit::build::{assert_clean, body, dump, fact, holds, id, removal, salt, stamp};

use crate::support::{Twice, ask, hooks_flushed_after, ids};

const VECTORS: u8 = 0x90;
const TOKENS: u8 = 0x94;
const BLOCKS: u8 = 0x96;
/// All rows of a memory whose block is not full yet: the kind of each ends its key.
const NEW: u8 = 0x87;

fn row_count(twice: &Twice, prefix: u8) -> usize {
    dump(&twice.warm).keys().filter(|(derived, key)| *derived && key[0] == prefix).count()
}

/// A row of a memory, wherever it is.
fn row(twice: &Twice, prefix: u8, memory: u64) -> Option<Vec<u8>> {
    let reading = twice.warm.read().unwrap();
    let mut found = None;
    let id = memory.to_be_bytes();
    let kind: &[u8] = match prefix {
        VECTORS => &[1],
        TOKENS => &[3],
        _ => &[],
    };
    let new = (u64::MAX - memory).to_be_bytes();
    for key in [[&[prefix][..], &id].concat(), [&[NEW][..], &new, kind].concat()] {
        let visit = &mut |_: &[u8], value: &[u8]| {
            found = Some(value.to_vec());
            Ok(ControlFlow::Continue(()))
        };
        reading.view().scan(&KeyRange::prefix(&key), visit).unwrap();
    }
    found
}

// recall: erased text is found by nothing and stands nowhere
#[test]
fn nothing_is_left_of_an_erased_memory() {
    nothing_is_left(1_024);
}

// The same for one whose rows were moved into a block with others.
#[test]
fn nothing_is_left_of_an_erased_memory_in_a_block() {
    nothing_is_left(8);
}

fn nothing_is_left(flush_docs: u32) {
    let disk = Disk::new();
    let twice = Twice::open_with(&disk, hooks_flushed_after(flush_docs));
    let sentence = "The xylograph of Quetzalpetlatl hangs above the fireplace in the hallway. ";
    for n in 1..=20u64 {
        twice.warm.write(stamp(1), fact(n, &format!("note {n}"), "an ordinary text")).unwrap();
    }
    let long = fact(21, "a picture", &sentence.repeat(40));
    let secret = twice.warm.write(stamp(1), long).unwrap().id.unwrap().get();
    let revised = body(kernel::memory::MemoryType::Fact, "a picture", &sentence.repeat(30));
    let revision = kernel::command::Revision::new(id(secret), None, revised, salt(99));
    twice.warm.update(stamp(2), revision).unwrap();
    let everything = |weights| SearchQuery {
        weights,
        include_forgotten: true,
        include_archived: true,
        ..SearchQuery::new("xylograph of Quetzalpetlatl above the fireplace", 100)
    };
    let arms = [
        ArmWeights::default(),
        ArmWeights([1, 0, 0, 0, 0, 0, 0, 0]),
        ArmWeights([0, 1, 0, 0, 0, 0, 0, 0]),
    ];
    for weights in arms {
        let found = ask(&twice.warm.read().unwrap(), &everything(weights));
        assert_eq!(ids(&found).first(), Some(&secret));
    }
    // The levels of the first vector, its sketch, and the last tokens: long enough to be no chance.
    let (vectors, tokens) =
        (row(&twice, VECTORS, secret).unwrap(), row(&twice, TOKENS, secret).unwrap());
    let traces =
        [vectors[7..62].to_vec(), vectors[263..327].to_vec(), tokens[tokens.len() - 60..].to_vec()];
    for n in 30..40u64 {
        twice.warm.write(stamp(2), fact(n, &format!("note {n}"), "an ordinary text")).unwrap();
    }
    let moved = row(&twice, VECTORS, secret).is_none();
    assert_eq!(moved, flush_docs < 30, "its rows are in a block");
    twice.agree("before the erasure");
    let on_disk = |trace: &[u8]| disk.bytes().windows(trace.len()).any(|w| w == trace);
    assert!(traces.iter().all(|trace| on_disk(trace)));
    twice.warm.erase(stamp(3), removal(secret)).unwrap();
    for weights in arms {
        for cortex in [&twice.warm, &twice.cold] {
            let found = ask(&cortex.read().unwrap(), &everything(weights));
            assert!(!ids(&found).contains(&secret));
            assert!(found.hits.iter().all(|hit| !hit.preview.contains("xylograph")));
        }
    }
    twice.scrubbed();
    assert!((VECTORS..=TOKENS).all(|prefix| row(&twice, prefix, secret).is_none()));
    assert_eq!(row_count(&twice, BLOCKS) > 0, flush_docs < 30);
    assert!(!traces.iter().any(|trace| on_disk(trace)), "its vectors and tokens are gone");
    for word in
        ["xylograph", "xylograp", "quetzalpetlatl", "Quetzalpetlatl", "fireplace", "fireplac"]
    {
        assert!(!holds(&disk.bytes(), word), "{word}");
        assert!(!dump(&twice.warm).iter().any(|((_, k), v)| holds(k, word) || holds(v, word)));
    }
    twice.agree("after the erasure");
    assert_clean(&twice.warm);
}

// The entry that erases may be the one that moves rows into a block: they are not moved.
#[test]
fn an_erasure_that_fills_a_block_leaves_nothing_in_it() {
    // Blocks of fifteen entries.
    let twice = Twice::open_with(&Disk::new(), hooks_flushed_after(1));
    for n in 1..=14u64 {
        twice.warm.write(stamp(1), fact(n, &format!("note {n}"), "an ordinary text")).unwrap();
    }
    twice.store.hold(true);
    let erased = twice.warm.erase(stamp(2), removal(5)).unwrap().seq;
    assert_eq!((erased, row_count(&twice, BLOCKS)), (15, 1));
    let before = twice.agree("erased");
    twice.store.hold(false);
    twice.scrubbed();
    crate::support::assert_same(&twice.agree("scrubbed"), &before, "by the scrub");
    assert_clean(&twice.warm);
}
