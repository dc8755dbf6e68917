//! After an erasure nothing is left of a memory: not in rows, not in answers, not in the bytes on disk.

use std::ops::ControlFlow;

use kernel::store::KeyRange;
use recall::search::{Query, Weights};
use testkit::Disk;
use testkit::build::{assert_clean, body, dump, fact, holds, id, removal, salt, stamp};

use crate::support::{Twice, ask, ids};

/// The row of passages of a memory: vectors and tokens of its text.
fn passages(twice: &Twice, memory: u64) -> Option<Vec<u8>> {
    let reading = twice.warm.read().unwrap();
    let mut found = None;
    let key = [&[0x90][..], &memory.to_be_bytes()].concat();
    let visit = &mut |_: &[u8], value: &[u8]| {
        found = Some(value.to_vec());
        Ok(ControlFlow::Continue(()))
    };
    reading.view().scan(&KeyRange::prefix(&key), visit).unwrap();
    found
}

// recall: erased text is found by nothing and stands nowhere
#[test]
fn nothing_is_left_of_an_erased_memory() {
    let disk = Disk::new();
    let twice = Twice::open(&disk);
    let sentence = "The xylograph of Quetzalpetlatl hangs above the fireplace in the hallway. ";
    for n in 1..=20u64 {
        twice.warm.write(stamp(1), fact(n, &format!("note {n}"), "an ordinary text")).unwrap();
    }
    let long = fact(21, "a picture", &sentence.repeat(40));
    let secret = twice.warm.write(stamp(1), long).unwrap().id.unwrap().get();
    let revised = body(kernel::memory::MemoryType::Fact, "a picture", &sentence.repeat(30));
    let revision = kernel::command::Revision::new(id(secret), None, revised, salt(99));
    twice.warm.update(stamp(2), revision).unwrap();
    let everything = |weights| Query {
        weights,
        include_forgotten: true,
        include_archived: true,
        ..Query::new("xylograph of Quetzalpetlatl above the fireplace", 100)
    };
    let arms =
        [Weights::default(), Weights([1, 0, 0, 0, 0, 0, 0, 0]), Weights([0, 1, 0, 0, 0, 0, 0, 0])];
    for weights in arms {
        let found = ask(&twice.warm.read().unwrap(), &everything(weights));
        assert_eq!(ids(&found).first(), Some(&secret));
    }
    let row = passages(&twice, secret).unwrap();
    // The first vector, and the last tokens: long enough to be no chance.
    let traces = [row[5..60].to_vec(), row[row.len() - 60..].to_vec()];
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
    assert_eq!(passages(&twice, secret), None);
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
