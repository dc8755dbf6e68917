//! Goal: reads show what was written, cost no trace unless asked to, and give the same bytes again; what is recorded
//! about intents, edges and snapshots can be read back and checked.
//! Method: each operation through `Cortex` on a simulated disk; dumps and roots compared before, after, reopened,
//! rebuilt.

#![allow(clippy::unwrap_used)]

mod support;

use kernel::Cortex;
use kernel::Roots;
use kernel::command::{Compaction, EdgeRemoval, Stamp};
use kernel::compact::{CompactRequest, plan};
use kernel::context::{ContextQuery, interpolate};
use kernel::find::{Predicate, Query};
use kernel::graph::{Direction, Walk};
use kernel::journal::Weights;
use kernel::journal::{Attest, EntryKind, HeadPatch, LearnWeights, Payload, SCHEMA};
use kernel::keys;
use kernel::memory::{MemoryType, Outcome, Relation};
use support::{attestation, edge, fill, pinned};
use testkit::Disk;
use testkit::build::{
    assert_clean, assert_refused, at, dump, fact, filtered, head_revision, id, open, payload,
    removal, revision, salt, size, stamp,
};

/// Three facts tagged `a`, `a b` and `b`.
fn three_facts(cortex: &Cortex) {
    for (n, tags) in (1..).zip([&["a"][..], &["a", "b"], &["b"]]) {
        let mut draft = fact(n, &format!("fact {n}"), "content");
        draft.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        draft.importance = Some(u32::try_from(n).unwrap() * 200_000);
        cortex.write(stamp(i64::try_from(n).unwrap()), draft).unwrap();
    }
}

fn tagged(tag: &str) -> Query {
    filtered(Predicate::HasTag(tag.into()), 10)
}

// kernel 16, 41, 42, 43, 47
#[test]
fn a_find_is_bounded_and_leaves_no_trace() {
    let cortex = open(&Disk::new());
    three_facts(&cortex);
    let unbounded = Query { types: vec![MemoryType::Fact], ..Query::default() };
    assert_refused(&cortex, "unbounded", |c| c.find(&unbounded, at(9)));
    let budget = Query { budget_tokens: Some(500), ..unbounded };
    let tag = Box::new(Predicate::HasTag("a".into()));
    for broad in [
        Query { limit: Some(5), ..Query::default() },
        filtered(Predicate::Not(tag.clone()), 5),
        filtered(Predicate::Or(vec![*tag.clone(), *tag]), 5),
    ] {
        assert_refused(&cortex, "too_broad", |c| c.find(&broad, at(9)));
    }

    let before = (dump(&cortex), cortex.root().unwrap());
    let ids = |query: &Query| {
        let found = cortex.find(query, at(9)).unwrap();
        let mut ids: Vec<u64> = found.items.iter().map(|item| item.head.id.get()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&budget), [1, 2, 3]);
    assert_eq!(ids(&tagged("a")), [1, 2]);
    assert_eq!(ids(&tagged("b")), [2, 3]);
    assert_eq!(ids(&tagged("c")), [0; 0]);
    assert_eq!(ids(&Query::of_types(&[MemoryType::Goal], 5)), [0; 0]);
    assert_eq!((dump(&cortex), cortex.root().unwrap()), before);
}

// kernel 48
#[test]
fn a_late_find_is_one_entry_that_can_be_asked_again() {
    const DAY: i64 = 86_400;
    let cortex = open(&Disk::new());
    three_facts(&cortex);
    cortex.write(stamp(60 * DAY), fact(4, "much later", "")).unwrap();
    let reading = cortex.read().unwrap();
    let root = cortex.root().unwrap();
    // The caller's clock lags far behind the journal's, and what counts is the journal's.
    let (found, receipt) = cortex.find_late(stamp(DAY), &tagged("a"), salt(7)).unwrap();
    assert_eq!((receipt.seq, size(&cortex)), (5, 5));
    let Payload::FindLate(entry) = payload(&cortex, 5) else { panic!("not a find") };
    assert_eq!((entry.size, entry.root), (4, root));
    assert_eq!(entry.results, found.results());
    assert_eq!(entry.results.len(), 2);

    let now = cortex.read().unwrap();
    for (n, accesses) in [(1, 1), (2, 1), (3, 0)] {
        assert_eq!(now.view().usage(id(n)).unwrap().accesses, accesses);
    }
    let note = now.view().sealed(5).unwrap().unwrap();
    assert_eq!(note.hash(), entry.query_hash);
    let query = Query::from_bytes(&note.bytes).unwrap();
    let at = now.view().entry(5).unwrap().unwrap().at;
    assert_eq!(reading.root().unwrap(), entry.root);
    assert_eq!(reading.find(None, &query, at).unwrap().results(), entry.results);
    assert_clean(&cortex);
    assert_refused(&cortex, "unbounded", |c| c.find_late(stamp(9), &Query::default(), salt(8)));
}

// kernel 17, 45, 46
#[test]
fn a_context_is_the_same_bytes_every_time() {
    let disk = Disk::new();
    let cortex = open(&disk);
    fill(&cortex);
    let query = ContextQuery { tags: vec!["release".into()], ..ContextQuery::new(at(50)) };
    let bundle = cortex.context(&query).unwrap();
    assert!(bundle.text.contains("Ship on Friday"), "{}", bundle.text);
    assert!(bundle.text.contains("rotates weekly"), "{}", bundle.text);
    assert_eq!(bundle.root, cortex.root().unwrap());
    assert_eq!(cortex.context(&query).unwrap(), bundle);
    let prompt = interpolate("Know this: {cortex.bundle} Go.", &bundle);
    assert_eq!(prompt, format!("Know this: {} Go.", bundle.text));
    drop(cortex);
    let cortex = open(&disk);
    assert_eq!(cortex.context(&query).unwrap(), bundle, "after reopening");
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(cortex.context(&query).unwrap(), bundle, "after a rebuild");
    let nothing = ContextQuery { budget_tokens: 0, ..query };
    assert_refused(&cortex, "unbounded", |c| c.context(&nothing));
}

// kernel 18
#[test]
fn a_compaction_is_recorded_under_its_step() {
    let cortex = open(&Disk::new());
    three_facts(&cortex);
    let mut request = CompactRequest::new("i", "one");
    request.in_context = vec![pinned(1, 1), pinned(2, 1)];
    request.load_bearing = vec![id(2)];
    let reading = cortex.read().unwrap();
    let planned = plan(&reading.view(), None, &request, at(9)).unwrap();
    assert_eq!(planned.compaction.kept, [pinned(2, 1)]);
    let checkpoint = |cortex: &Cortex, step: &str| {
        let row = cortex.read().unwrap().view().get(&keys::checkpoint("i", step)).unwrap();
        row.map(|bytes| u64::from_be_bytes(bytes.try_into().unwrap()))
    };
    for seq in [4, 5] {
        cortex.compact(stamp(9), planned.compaction.clone()).unwrap();
        assert_eq!(checkpoint(&cortex, "one"), Some(seq), "the latest counts");
    }
    assert_eq!(checkpoint(&cortex, "two"), None);
    let Payload::Compact(entry) = payload(&cortex, 5) else { panic!("not a compaction") };
    assert_eq!((entry.kept, entry.stubs.len()), (planned.compaction.kept.clone(), 1));

    let refused = |code, change: &dyn Fn(&mut Compaction)| {
        let mut compaction = planned.compaction.clone();
        change(&mut compaction);
        assert_refused(&cortex, code, |c| c.compact(stamp(10), compaction));
    };
    refused("budget_unreachable", &|c| c.budget = c.tokens - 1);
    refused("not_found", &|c| c.kept = vec![pinned(1, 2)]);
    refused("not_found", &|c| c.kept = vec![pinned(9, 1)]);
    refused("invalid", &|c| {
        c.kept.clear();
        c.stubs.clear();
    });
}

fn attested(cortex: &Cortex, seq: u64) -> (Attest, LearnWeights) {
    match (payload(cortex, seq), payload(cortex, seq + 1)) {
        (Payload::Attest(attest), Payload::LearnWeights(learn)) => (attest, learn),
        other => panic!("{other:?}"),
    }
}

// kernel 19, 50, 51, 52
#[test]
fn an_attestation_is_two_entries_and_teaches_once() {
    let cortex = open(&Disk::new());
    three_facts(&cortex);
    let weights = || cortex.read().unwrap().view().weights().unwrap();
    assert_eq!(weights(), Weights::cold());
    let mut first = attestation("i", Outcome::Success, &[3], &[1, 2, 3]);
    first.cited.extend([pinned(9, 1), pinned(1, 5)]);
    let receipt = cortex.attest(stamp(4), first).unwrap();
    assert_eq!((receipt.seq, receipt.kind, size(&cortex)), (4, EntryKind::Attest, 5));
    assert_eq!(receipt.skipped, [(id(9), "not found"), (id(1), "no such version")]);
    let (attest, learn) = attested(&cortex, receipt.seq);
    assert_eq!((attest.cited, attest.uncited), (vec![pinned(3, 1)], vec![id(1), id(2)]));
    assert_eq!((learn.attest_seq, learn.previous, learn.skipped), (4, Weights::cold(), None));
    assert_eq!(weights(), learn.next);
    // What set the cited memory apart is its importance.
    assert!(learn.next.importance() > Weights::cold().importance());
    assert_eq!(cortex.read().unwrap().view().usage(id(3)).unwrap().citations, 1);

    let learned = weights();
    cortex.tombstone(stamp(5), removal(2)).unwrap();
    for (intent, outcome, cited, reason) in [
        ("i", Outcome::Success, &[3][..], "the intent was attested before"),
        ("j", Outcome::Partial, &[3], "the outcome was neutral"),
        ("k", Outcome::Success, &[], "nothing was cited"),
        ("l", Outcome::Success, &[2], "nothing was cited"),
    ] {
        let receipt =
            cortex.attest(stamp(9), attestation(intent, outcome, cited, &[1, 3])).unwrap();
        let (_, learn) = attested(&cortex, receipt.seq);
        assert_eq!(learn.skipped.as_deref(), Some(reason));
        assert_eq!((learn.next, weights()), (learned, learned), "{reason}");
    }
    let failed = cortex.attest(stamp(9), attestation("m", Outcome::Failure, &[3], &[1])).unwrap();
    let (_, learn) = attested(&cortex, failed.seq);
    assert!(learn.next.importance() < learned.importance(), "away on failure");
    assert_eq!(cortex.read().unwrap().view().usage(id(3)).unwrap().citations, 1);
    assert_clean(&cortex);
}

#[test]
fn attestations_of_one_intent_are_limited_until_the_clock_moves_on() {
    let cortex = open(&Disk::new());
    three_facts(&cortex);
    let attest = |n| cortex.attest(stamp(n), attestation("i", Outcome::Success, &[1], &[]));
    for _ in 0..kernel::limits::ATTEST_BURST {
        attest(4).unwrap();
    }
    assert_refused(&cortex, "rate_limited", |_| attest(4));
    cortex.attest(stamp(4), attestation("j", Outcome::Success, &[1], &[])).unwrap();
    attest(5).unwrap();
}

// kernel 3, 20, 21
#[test]
fn edges_connect_memories_that_exist_and_are_changed_or_removed() {
    let cortex = open(&Disk::new());
    three_facts(&cortex);
    let add = |c: &Cortex, src, dst| c.add_edge(stamp(5), edge(src, Relation::RelatesTo, dst));
    assert_refused(&cortex, "self_edge", |c| add(c, 1, 1));
    assert_refused(&cortex, "not_found", |c| add(c, 1, 9));
    assert_refused(&cortex, "not_found", |c| add(c, 9, 1));
    add(&cortex, 1, 2).unwrap();
    assert_eq!(cortex.read().unwrap().view().edges_in(id(2), 9).unwrap().len(), 1);
    let before = dump(&cortex);
    assert!(!add(&cortex, 1, 2).unwrap().changed);
    assert_eq!(dump(&cortex), before);
    let heavier = kernel::command::EdgeDraft { weight: 900_000, ..edge(1, Relation::RelatesTo, 2) };
    assert!(cortex.add_edge(stamp(6), heavier).unwrap().changed);
    let reading = cortex.read().unwrap();
    let edges = reading.view().edges_out(id(1), 9).unwrap();
    assert_eq!((edges.len(), edges[0].weight), (1, 900_000));
    assert_eq!(reading.view().counters().unwrap().edges, 1);
    let walked = reading.walk(None, &Walk::new(id(2), Direction::In, 1), at(9)).unwrap();
    assert_eq!(walked.nodes[0].id, id(1));

    let remove = |relation| EdgeRemoval { src: id(1), relation, dst: id(2), reason: "no".into() };
    assert_refused(&cortex, "not_found", |c| c.remove_edge(stamp(7), remove(Relation::Supersedes)));
    cortex.remove_edge(stamp(7), remove(Relation::RelatesTo)).unwrap();
    assert!(cortex.read().unwrap().view().edges_in(id(2), 9).unwrap().is_empty());
    assert_refused(&cortex, "not_found", |c| c.remove_edge(stamp(7), remove(Relation::RelatesTo)));
    cortex.tombstone(stamp(8), removal(2)).unwrap();
    assert_refused(&cortex, "tombstoned", |c| add(c, 1, 2));
    cortex.erase(stamp(8), removal(2)).unwrap();
    assert_refused(&cortex, "erased", |c| add(c, 3, 2));
    assert_clean(&cortex);
}

// kernel 22, 57, 72
#[test]
fn snapshots_are_kept_and_chained() {
    let disk = Disk::new();
    let cortex = open(&disk);
    three_facts(&cortex);
    let (root, roots) = (cortex.root().unwrap(), cortex.read().unwrap().roots().unwrap());
    let first = cortex.snapshot(stamp(4), "one").unwrap();
    cortex.update(stamp(5), revision(1, None, "later")).unwrap();
    let second = cortex.snapshot(stamp(6), "two").unwrap();
    assert_eq!((first.number, first.size, first.root), (1, 3, root));
    assert_eq!((first.schema, first.live, first.previous), (SCHEMA, 3, None));
    let named = Roots {
        size: first.size,
        journal: first.journal_root,
        heads: first.heads_root,
        edges: first.edges_root,
    };
    assert_eq!(named, roots);
    assert_eq!(named.overall("ada"), first.root, "recomputed from its parts");
    assert_eq!((second.number, second.size), (2, 5));
    assert_eq!(second.previous, Some(first.digest()));
    assert_refused(&cortex, "invalid", |c| c.snapshot(stamp(7), " "));
    drop(cortex);
    let cortex = open(&disk);
    let reading = cortex.read().unwrap();
    for manifest in [&first, &second] {
        assert_eq!(reading.view().snapshot(manifest.number).unwrap().as_ref(), Some(manifest));
        let number = reading.view().snapshot_number_of(manifest.root).unwrap();
        assert_eq!(number, Some(manifest.number));
    }
    assert_eq!(reading.view().snapshot(3).unwrap(), None);
}

// kernel 23, 54, 56
#[test]
fn the_root_changes_with_every_entry_and_reading_it_changes_nothing() {
    let cortex = open(&Disk::new());
    let mut roots = vec![cortex.root().unwrap()];
    let mut step = || {
        let before = dump(&cortex);
        assert_eq!(cortex.root().unwrap(), cortex.root().unwrap());
        assert_eq!(dump(&cortex), before);
        roots.push(cortex.root().unwrap());
    };
    cortex.write(stamp(1), fact(1, "a", "")).unwrap();
    step();
    cortex.write(stamp(1), fact(2, "b", "")).unwrap();
    step();
    let patch = HeadPatch { pinned: Some(true), ..HeadPatch::default() };
    cortex.update_head(stamp(1), head_revision(1, patch)).unwrap();
    step();
    cortex.add_edge(stamp(1), edge(1, Relation::PartOf, 2)).unwrap();
    step();
    cortex.find_late(stamp(1), &Query::of_types(&[MemoryType::Fact], 1), salt(3)).unwrap();
    step();
    let distinct: std::collections::BTreeSet<_> = roots.iter().collect();
    assert_eq!(distinct.len(), roots.len());
}

// kernel 7, 24, 60, 62
#[test]
fn a_rebuild_gives_the_same_bytes_twice() {
    let (one, two) = (Disk::new(), Disk::new());
    let cortex = open(&one);
    fill(&cortex);
    let before = (dump(&cortex), cortex.root().unwrap());
    for _ in 0..2 {
        assert_eq!(cortex.rebuild(Box::new(|_, _| {})).unwrap().entries, size(&cortex));
        assert_eq!((dump(&cortex), cortex.root().unwrap()), before);
    }
    assert_clean(&cortex);
    let other = open(&two);
    fill(&other);
    assert_eq!((dump(&other), other.root().unwrap()), before, "the same steps, the same bytes");
    let unknown: Vec<_> = before
        .0
        .keys()
        .filter(|(derived, key)| *derived && keys::namespace_of(key).is_none())
        .collect();
    assert!(unknown.is_empty(), "kernel 5: {unknown:?}");
    let late = Stamp { at: at(25), ..stamp(0) };
    let receipt = cortex.write(late, fact(70, "written by a slow clock", "")).unwrap();
    assert_eq!(receipt.at, at(29), "who is a little late has waited its turn");
}

#[test]
fn projects_are_listed_across_segments() {
    let cortex = open(&Disk::new());
    let names = ["web", "api", "web"];
    for (n, name) in (1..).zip(names.iter().cycle().take(600)) {
        let mut draft = fact(n, &format!("fact {n}"), "content");
        draft.project = (n % 7 != 0).then(|| (*name).to_owned());
        cortex.write(stamp(1), draft).unwrap();
    }
    let mut last = fact(601, "last", "content");
    last.project = Some("späte".into());
    cortex.write(stamp(2), last).unwrap();
    let (found, capped) = cortex.read().unwrap().view().projects().unwrap();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["api", "späte", "web"]);
    assert!(!capped);
}
