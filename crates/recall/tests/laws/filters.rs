//! Filters apply before the best are taken: a reference that filters first and ranks afterwards gives the same hits.

use std::collections::BTreeMap;

use kernel::command::{Command, Draft, HeadRevision};
use kernel::grants::Gate;
use kernel::journal::HeadPatch;
use kernel::memory::{Head, MemoryType, Millis, Scope};
use kernel::{Reading, Submission};
use recall::document::document;
use recall::search::{ArmWeights, SearchQuery, search};
use testkit::Disk;
use testkit::build::{at, body, id, removal, salt, stamp};
use text::analyze::Memo;
use text::index::{FIELDS, idf, impact};

use crate::support::{Twice, analyzer, ids};

const MEMORIES: u64 = 3_000;
const WORDS: ArmWeights = ArmWeights([1, 0, 0, 0, 0, 0, 0, 0]);
const TYPES: [MemoryType; 3] = [MemoryType::Fact, MemoryType::Goal, MemoryType::Decision];

fn mixed(n: u64) -> u64 {
    (n ^ 0x9e37_79b9).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 17
}

fn draft(n: u64) -> Draft {
    let r = mixed(n);
    let names = ["apple", "birch", "cedar", "dahlia", "elder", "fern"];
    let name = |shift: u32| names[usize::try_from((r >> shift) % 6).unwrap()];
    let filler = "lorem ".repeat(usize::try_from(r % 40).unwrap());
    let title = format!("{} {}", name(3), name(7));
    let content = format!("{} {filler} {} unique{n}x", name(11), name(15));
    let memory_type = TYPES[usize::try_from(r % 3).unwrap()];
    let mut draft = Draft::new(body(memory_type, &title, &content), salt(n));
    draft.project = Some(if n % 1_000 == 7 { "rare".into() } else { format!("p{}", r % 4) });
    draft.kind = Some(if n % 1_000 == 9 { "odd".into() } else { format!("kind{}", (r >> 5) % 3) });
    draft.tags = vec![format!("t{}", (r >> 9) % 5), format!("u{}", (r >> 12) % 3)];
    if n % 1_000 == 11 {
        draft.tags.push("seldom".into());
        draft.scope = Scope::Personal;
    }
    // Alone in its session: neighbours would lend it their words.
    draft.session = Some(format!("s{n}"));
    draft
}

struct OddOnes;

impl Gate for OddOnes {
    fn sees(&self, head: &Head) -> bool {
        head.id.get() % 997 == 5
    }
}

fn filled() -> Twice {
    let twice = Twice::open(&Disk::new());
    for chunk in (1..=MEMORIES).collect::<Vec<_>>().chunks(1_000) {
        let each = chunk.iter().map(|n| {
            let second = i64::try_from(*n).unwrap();
            let command = Command::Write(Box::new(draft(*n)));
            Submission { stamp: stamp(second), command, authority: None }
        });
        twice.warm.submit_bulk(each.collect()).unwrap().into_iter().for_each(|o| drop(o.unwrap()));
    }
    for n in (20..MEMORIES).step_by(40) {
        twice.warm.tombstone(stamp(5_000), removal(n)).unwrap();
    }
    for n in (30..MEMORIES).step_by(40) {
        let patch = HeadPatch { archived: Some(true), ..HeadPatch::default() };
        let revision = HeadRevision { id: id(n), expected: None, patch, reason: None };
        twice.warm.update_head(stamp(5_001), revision).unwrap();
    }
    twice
}

fn passes(head: &Head, query: &SearchQuery, gate: Option<&dyn Gate>) -> bool {
    let moment = query.as_of.unwrap_or(Millis(i64::MAX));
    let forgotten = head.tombstone.as_ref().is_some_and(|gone| gone.at <= moment);
    gate.is_none_or(|gate| gate.sees(head))
        && (query.include_forgotten || !forgotten)
        && (query.include_archived || !head.archived)
        && query.project.as_ref().is_none_or(|p| head.project.as_ref() == Some(p))
        && query.session.as_ref().is_none_or(|s| head.session.as_ref() == Some(s))
        && query.scope.is_none_or(|scope| head.scope == scope)
        && (query.types.is_empty() || query.types.contains(&head.memory_type))
        && (query.kinds.is_empty() || query.kinds.contains(&head.kind))
        && query.tags.iter().all(|tag| head.tags.contains(tag))
        && query.created_from.is_none_or(|from| head.created >= from)
        && query.created_until.is_none_or(|until| head.created < until)
        && head.created <= moment
}

/// Every memory with its terms: how often in which field, and the lengths of the fields.
struct Reference(Vec<Counted>);

/// A memory, how often each term occurs in each field, and how long the fields are.
type Counted = (Head, BTreeMap<String, [u32; FIELDS]>, [u32; FIELDS]);

impl Reference {
    fn new(reading: &Reading) -> Reference {
        let each = (1..=MEMORIES).map(|n| {
            let found = reading.resolve_version(id(n), None).unwrap();
            let mut terms: BTreeMap<String, [u32; FIELDS]> = BTreeMap::new();
            let mut lengths = [0; FIELDS];
            let mut memo = Memo::default();
            let document = document(&analyzer(), &mut memo, &found.head, &found.body.unwrap());
            for (field, term) in document.words(memo.lexicon()) {
                terms.entry(term.to_owned()).or_default()[field.index()] += 1;
                lengths[field.index()] += 1;
            }
            (found.head, terms, lengths)
        });
        Reference(each.collect())
    }

    /// The best memories that pass, by words alone.
    fn best(&self, query: &SearchQuery, gate: Option<&dyn Gate>) -> Vec<u64> {
        let question = analyzer().question(&query.text);
        // A delegate's words are as rare as they are in what it may see.
        let in_sight = |head: &Head| head.tombstone.is_none() && !head.archived;
        let counts = |head: &Head| gate.is_none_or(|gate| in_sight(head) && gate.sees(head));
        let counted = || self.0.iter().filter(|(head, ..)| counts(head));
        let df = |term: &String| counted().filter(|(_, terms, _)| terms.contains_key(term)).count();
        let documents = u64::try_from(counted().count()).unwrap();
        let asked = question
            .terms
            .iter()
            .map(|term| (term, idf(documents, u64::try_from(df(term)).unwrap())));
        let asked: Vec<_> = asked.collect();
        let mut found: Vec<(u64, u64)> = Vec::new();
        for (head, terms, lengths) in &self.0 {
            let worth = |(term, rarity): &(&String, u64)| {
                let counts = terms.get(*term)?;
                let impact = impact(&text::index::FieldWeights::default(), lengths, counts);
                let impact = u64::from(impact);
                // What a word has, and that it is there at all.
                Some(16 * rarity * (impact + (impact * 255).isqrt()))
            };
            let score: u64 = asked.iter().filter_map(worth).sum();
            if score > 0 && passes(head, query, gate) {
                found.push((head.id.get(), score));
            }
        }
        found.sort_by_key(|(id, score)| (std::cmp::Reverse(*score), *id));
        found.truncate(query.limit);
        found.into_iter().map(|(id, _)| id).collect()
    }
}

// recall: filters before top-k; scope grants apply inside
#[test]
fn hits_equal_those_of_a_reference_that_filters_first() {
    let twice = filled();
    let reading = twice.warm.read().unwrap();
    let reference = Reference::new(&reading);
    let base = |text: &str| SearchQuery { weights: WORDS, ..SearchQuery::new(text, 8) };
    let mut queries = Vec::new();
    for text in ["apple", "birch cedar", "elder fern unique77x", "lorem", "dahlia lorem apple"] {
        let base = base(text);
        let time = |from, to| SearchQuery { created_from: from, created_until: to, ..base.clone() };
        queries.extend([
            base.clone(),
            SearchQuery { project: Some("p2".into()), ..base.clone() },
            SearchQuery { project: Some("rare".into()), ..base.clone() },
            SearchQuery { project: Some("none".into()), ..base.clone() },
            SearchQuery { kinds: vec!["odd".into()], ..base.clone() },
            SearchQuery { kinds: vec!["kind0".into(), "odd".into()], ..base.clone() },
            SearchQuery { tags: vec!["seldom".into()], ..base.clone() },
            SearchQuery { tags: vec!["t1".into(), "u2".into()], ..base.clone() },
            SearchQuery { scope: Some(Scope::Personal), ..base.clone() },
            SearchQuery { types: vec![MemoryType::Goal], ..base.clone() },
            SearchQuery { types: TYPES[..2].to_vec(), project: Some("p1".into()), ..base.clone() },
            SearchQuery { session: Some("s700".into()), ..base.clone() },
            SearchQuery { as_of: Some(at(1_500)), ..base.clone() },
            SearchQuery { include_archived: true, ..base.clone() },
            SearchQuery { include_forgotten: true, include_archived: true, ..base.clone() },
            time(Some(at(2_990)), None),
            time(None, Some(at(12))),
            time(Some(at(100)), Some(at(140))),
        ]);
    }
    let mut rare = 0;
    for query in &queries {
        for gate in [None, Some(&OddOnes as &dyn Gate)] {
            let expected = reference.best(query, gate);
            let found = search(&reading, gate, query, at(1_000_000)).unwrap();
            // What scores nothing follows what scores something only where a session brings it in.
            assert_eq!(ids(&found), expected, "{query:#?}, gated: {}", gate.is_some());
            rare += usize::from((1..=3).contains(&expected.len()));
        }
    }
    assert!(rare > 20, "rare filters were tried: {rare}");
}

struct Shown;

impl Gate for Shown {
    fn sees(&self, head: &Head) -> bool {
        head.project.as_deref() == Some("shown")
    }
}

// F6: a delegate that asks for a word learns nothing of whether memories that it may not see have the word
#[test]
fn a_word_planted_where_a_delegate_cannot_look_changes_no_number_of_its_answer() {
    let save = |twice: &Twice, n: u64, project: &str, title: &str| {
        let mut draft = Draft::new(body(MemoryType::Fact, title, "kept for the test"), salt(n));
        draft.project = Some(project.into());
        twice.warm.write(stamp(i64::try_from(n).unwrap()), draft).unwrap();
    };
    let answer = |hidden: &str| {
        let twice = Twice::open(&Disk::new());
        for n in 1..=12 {
            save(
                &twice,
                n,
                "shown",
                &format!("birch number{n} {}", if n == 3 { "cedar" } else { "" }),
            );
        }
        for n in 13..=60 {
            save(&twice, n, "hidden", hidden);
        }
        let reading = twice.warm.read().unwrap();
        let ask = |gate, text: &str| {
            let found = search(&reading, gate, &SearchQuery::new(text, 20), at(1_000_000)).unwrap();
            format!("{found:?}")
        };
        let words = ["cedar", "birch zeppelin", "zeppelin", "cedar zeppelin birch number5"];
        let asked = |gate| words.map(|text| ask(gate, text));
        (asked(Some(&Shown as &dyn Gate)), asked(None))
    };
    let (planted, owner_planted) = answer("zeppelin cedar");
    let (plain, owner_plain) = answer("nothing of it");
    assert_eq!(planted, plain);
    assert_ne!(owner_planted, owner_plain, "the owner's answers do depend on all memories");
}

// recall: filters before top-k. What is not valid now is no reason to hide what is.
#[test]
fn memories_that_are_over_do_not_crowd_out_the_others() {
    let twice = Twice::open(&Disk::new());
    let many = (1..=400u64).map(|n| {
        let mut draft = Draft::new(body(MemoryType::Fact, "apple apple", "apple"), salt(n));
        draft.expires = Some(at(50));
        Submission { stamp: stamp(1), command: Command::Write(Box::new(draft)), authority: None }
    });
    twice.warm.submit_bulk(many.collect()).unwrap().into_iter().for_each(|o| drop(o.unwrap()));
    let text = "a long text in which an apple is named once among many other words";
    let draft = Draft::new(body(MemoryType::Fact, "still true", text), salt(900));
    let saved = twice.warm.write(stamp(2), draft).unwrap().id.unwrap();
    for weights in [WORDS, ArmWeights::default()] {
        let query = SearchQuery { weights, ..SearchQuery::new("apple", 5) };
        let found = search(&twice.warm.read().unwrap(), None, &query, at(100)).unwrap();
        assert_eq!(ids(&found), [saved.get()]);
    }
}
