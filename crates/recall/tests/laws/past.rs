//! A question about an earlier moment finds memories by what they said then, and never by what was written later.

use kernel::command::Revision;
use kernel::memory::{MemoryType, Millis};
use recall::search::{ArmWeights, SearchOutcome, SearchQuery};
use testkit::Disk;
use testkit::build::{at, body, fact, id, removal, salt, stamp};

use crate::support::{Twice, ask, ids};

const WORDS: ArmWeights = ArmWeights([1, 0, 0, 0, 0, 0, 0, 0]);
const MEANING: ArmWeights = ArmWeights([0, 1, 0, 0, 0, 0, 0, 0]);
const ENTITIES: ArmWeights = ArmWeights([0, 0, 0, 0, 0, 0, 0, 1]);

fn then(text: &str, weights: ArmWeights, moment: Option<Millis>) -> SearchQuery {
    SearchQuery { weights, as_of: moment, ..SearchQuery::new(text, 50) }
}

/// What both openings of the actor answer.
#[track_caller]
fn found(twice: &Twice, query: &SearchQuery) -> SearchOutcome {
    let warm = ask(&twice.warm.read().unwrap(), query);
    assert!(warm == ask(&twice.cold.read().unwrap(), query), "{query:?}");
    warm
}

fn revise(twice: &Twice, when: i64, memory: u64, title: &str, content: &str) {
    let text = body(MemoryType::Fact, title, content);
    let revision = Revision::new(id(memory), None, text, salt(memory * 100 + when.unsigned_abs()));
    twice.warm.update(stamp(when), revision).unwrap();
}

#[test]
fn memories_are_found_by_what_they_said_then() {
    let disk = Disk::new();
    let twice = Twice::open(&disk);
    let old = ("The lighthouse", "Ships steer by its lamp, see docs/harbour.md for the tides.");
    let new = ("The railway", "Trains leave every hour, see docs/timetable.md for all of them.");
    let memory = twice.warm.write(stamp(1), fact(1, old.0, old.1)).unwrap().id.unwrap().get();
    for n in 2..=12 {
        twice.warm.write(stamp(1), fact(n, &format!("note {n}"), "bread and butter")).unwrap();
    }
    let gone = twice.warm.write(stamp(1), fact(13, "a secret", "passphrase")).unwrap().id.unwrap();
    revise(&twice, 10, memory, new.0, new.1);
    // The index is made anew after an erasure; then it no longer has the old words.
    for erased in [false, true] {
        if erased {
            twice.warm.erase(stamp(20), removal(gone.get())).unwrap();
        }
        for (moment, finds, misses) in [
            (Some(at(5)), ["lighthouse lamp", "ships at sea", "docs/harbour.md"], "railway"),
            (Some(at(15)), ["railway trains", "train station", "docs/timetable.md"], "lighthouse"),
            (None, ["railway trains", "train station", "docs/timetable.md"], "lighthouse"),
        ] {
            for (text, weights) in finds.into_iter().zip([WORDS, MEANING, ENTITIES]) {
                let answer = found(&twice, &then(text, weights, moment));
                assert_eq!(ids(&answer).first(), Some(&memory), "{text} at {moment:?}");
            }
            let answer = found(&twice, &then(misses, WORDS, moment));
            assert!(!ids(&answer).contains(&memory), "{misses} at {moment:?}");
            let phrase = format!("\"the {misses}\"");
            assert!(ids(&found(&twice, &then(&phrase, ArmWeights::default(), moment))).is_empty());
        }
        let shown = found(&twice, &then("lighthouse", ArmWeights::default(), Some(at(5))));
        assert!(shown.hits[0].preview.contains("lamp"), "{}", shown.hits[0].preview);
    }
}

// recall: the past of a long history is what a history that ended there says now
#[test]
fn the_past_is_what_it_was_when_it_was_the_present() {
    const NAMES: [&str; 5] = ["ada", "bee", "cat", "dog", "elk"];
    let text = |n: u64, round: u64| {
        let name = |step: u64| NAMES[usize::try_from((n * 7 + round * step) % 5).unwrap()];
        format!("{} {} {}", name(1), name(2), name(3))
    };
    let disk = Disk::new();
    let twice = Twice::open(&disk);
    let mut past = Vec::new();
    for round in 0..4u64 {
        let when = i64::try_from(round * 10).unwrap();
        for n in 1..=40u64 {
            if round == 0 {
                twice.warm.write(stamp(when), fact(n, "animals", &text(n, 0))).unwrap();
            } else if n % (round + 1) == 0 {
                revise(&twice, when, n, "animals", &text(n, round));
            }
        }
        let present = |name: &str| {
            let mut ids = ids(&found(&twice, &then(name, WORDS, None)));
            ids.sort_unstable();
            ids
        };
        past.push((at(when + 5), NAMES.map(present)));
    }
    for (moment, expected) in past {
        for (name, expected) in NAMES.into_iter().zip(expected) {
            let mut found = ids(&found(&twice, &then(name, WORDS, Some(moment))));
            found.sort_unstable();
            assert_eq!(found, expected, "{name} at {moment:?}");
        }
    }
}
