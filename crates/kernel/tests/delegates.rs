//! Goal: a delegate reads and changes its slice and nothing else, and learns nothing about the rest.
//! Method: real keys and signed requests against a store with memories inside and outside the slice; answers about
//! hidden and missing memories are compared, and so are answers of two stores that differ only in what is hidden.

#![allow(clippy::unwrap_used)]

mod support;

use kernel::command::{Command, Draft};
use kernel::context::ContextQuery;
use kernel::find::Query;
use kernel::grants::{Grant, Permission, Selector};
use kernel::graph::{Direction, Walk};
use kernel::journal::{EntryKind, Payload};
use kernel::limits::VIOLATION_BURST;
use kernel::memory::{MemoryType, Relation, Visibility};
use proof::{Claim, ProofFile, ProvedFact, check};
use support::delegate::{grant, issue, may, submit, world, world_draft};
use support::edge;
use testkit::Disk;
use testkit::build::{
    ada, assert_clean, assert_refused, at, body, fact, id, open, payload, removal, size, stamp,
};

// kernel 58, 59
#[test]
fn a_delegate_reads_inside_and_cannot_tell_hidden_from_missing() {
    let (cortex, manifest) = world();
    let by = |selector: Selector| Grant { include: selector, ..grant(&manifest) };
    let none = Selector::default;
    for (number, (include, inside)) in [
        (Selector { types: vec![MemoryType::Fact], ..none() }, &[1, 2, 3, 6][..]),
        (Selector { tags: vec!["release".into()], ..none() }, &[1, 2, 6]),
        (Selector { projects: vec!["web".into()], ..none() }, &[1, 2, 4, 6]),
        (Selector { ids: vec![id(2), id(5)], ..none() }, &[2, 6]),
    ]
    .into_iter()
    .enumerate()
    {
        let chain = [issue(&cortex, by(include))];
        let authority = may(&cortex, &chain, Permission::Read);
        let read = |n| cortex.resolve_for(&authority, id(n), None, at(4));
        let missing = read(99).unwrap_err();
        assert_eq!(missing.code(), "outside_grant");
        for n in 1..=6 {
            if inside.contains(&n) {
                assert_eq!(read(n).unwrap().head.id, id(n));
            } else {
                assert_eq!(read(n).unwrap_err(), missing, "grant {number}, memory {n}");
            }
        }
        assert_eq!(cortex.resolve_for(&authority, id(7), None, at(4)).unwrap_err(), missing);
    }
    assert_clean(&cortex);
}

// kernel 59
#[test]
fn violations_are_journaled_and_cannot_flood_the_journal() {
    let (cortex, manifest) = world();
    let chain = [issue(&cortex, grant(&manifest))];
    let reader = may(&cortex, &chain, Permission::Read);
    let start = size(&cortex);
    cortex.resolve_for(&reader, id(3), None, at(4)).unwrap_err();
    assert_eq!(size(&cortex), start + 1);
    let Payload::ScopeViolation(entry) = payload(&cortex, start + 1) else { panic!() };
    assert_eq!((entry.grant, entry.memory), (chain[0].id(), Some(id(3))));
    assert_eq!(entry.operation, "read");
    assert_eq!(cortex.read().unwrap().view().entry(start + 1).unwrap().unwrap().by, "helper");

    let forget = may(&cortex, &chain, Permission::Tombstone);
    let change = |n| submit(&cortex, &forget, Command::Tombstone(removal(n)));
    for _ in 1..VIOLATION_BURST {
        assert_eq!(change(3).unwrap_err().code(), "outside_grant");
    }
    // F6: counted, and journaled at most once a minute.
    assert_eq!(size(&cortex), start + 1);
    for _ in 0..3 {
        assert_refused(&cortex, "rate_limited", |_| change(3));
        assert_refused(&cortex, "rate_limited", |c| c.resolve_for(&reader, id(3), None, at(4)));
    }
    cortex.resolve_for(&reader, id(1), None, at(4)).unwrap();
    let later = cortex.resolve_for(&reader, id(3), None, at(5)).unwrap_err();
    assert_eq!(later.code(), "outside_grant", "the next second counts anew");
}

// kernel 59
#[test]
fn finds_walks_and_contexts_say_nothing_about_what_is_hidden() {
    let answers = |hidden: bool| {
        let cortex = open(&Disk::new());
        for n in 1..=3 {
            let mut draft = fact(n, &format!("fact {n}"), "of web");
            draft.project = Some("web".into());
            cortex.write(stamp(1), draft).unwrap();
        }
        cortex.add_edge(stamp(1), edge(1, Relation::PartOf, 2)).unwrap();
        let manifest = cortex.snapshot(stamp(2), "for grants").unwrap();
        let chain = [issue(&cortex, grant(&manifest))];
        let mut secret = Vec::new();
        for n in 0..if hidden { 40 } else { 0 } {
            let mut draft = fact(10 + n, &format!("secret {n}"), "of ops");
            draft.project = Some(if n % 2 == 0 { "ops" } else { "web" }.into());
            if n % 2 == 1 {
                draft.visibility = Visibility::Private;
            }
            secret.push(cortex.write(stamp(3), draft).unwrap().id.unwrap().get());
        }
        if let [first, second, ..] = secret[..] {
            cortex.add_edge(stamp(3), edge(2, Relation::RelatesTo, first)).unwrap();
            cortex.add_edge(stamp(3), edge(first, Relation::RelatesTo, 3)).unwrap();
            cortex.add_edge(stamp(3), edge(second, Relation::Supersedes, 1)).unwrap();
            cortex.add_edge(stamp(3), edge(second, Relation::Contradicts, 2)).unwrap();
        }
        let find = may(&cortex, &chain, Permission::Find);
        let facts = Query::of_types(&[MemoryType::Fact], 2);
        let found = cortex.find_for(&find, &facts, at(9)).unwrap();
        assert_eq!(found.items.len(), 2);
        let graph = may(&cortex, &chain, Permission::Graph);
        let walked = cortex.walk_for(&graph, &Walk::new(id(1), Direction::Both, 6), at(9)).unwrap();
        let context = may(&cortex, &chain, Permission::Context);
        let query = ContextQuery { project: Some("web".into()), ..ContextQuery::new(at(9)) };
        let bundle = cortex.context_for(&context, &query).unwrap();
        assert!(!bundle.text.contains("secret"));
        let seen = (bundle.pinned, bundle.relevant, bundle.outcomes, bundle.overflow);
        (found, walked, seen, bundle.trimmed, bundle.rows_examined, bundle.tokens)
    };
    assert_eq!(answers(true), answers(false));
}

fn draft_for(project: &str) -> Draft {
    let mut draft = fact(50, "by the helper", "");
    draft.project = Some(project.into());
    draft
}

// kernel 59
#[test]
fn a_delegate_writes_inside_its_slice_only() {
    let (cortex, manifest) = world();
    let chain = [issue(&cortex, grant(&manifest))];
    let write = may(&cortex, &chain, Permission::Write);
    let update = may(&cortex, &chain, Permission::Update);
    let written = submit(&cortex, &write, Command::Write(Box::new(draft_for("web")))).unwrap();
    let mine = written.id.unwrap().get();
    let entry = cortex.read().unwrap().view().entry(written.seq).unwrap().unwrap();
    assert_eq!(entry.by, "helper");
    let better = testkit::build::revision(mine, Some(1), "better");
    submit(&cortex, &update, Command::Update(Box::new(better))).unwrap();

    let patched = |patch| Command::UpdateHead(testkit::build::head_revision(mine, patch));
    let none = kernel::journal::HeadPatch::default;
    let changed = |change: fn(&mut Draft)| {
        let mut draft = draft_for("web");
        change(&mut draft);
        Command::Write(Box::new(draft))
    };
    let outside = [
        (&write, Command::Write(Box::new(draft_for("ops")))),
        (&write, changed(|d| d.pinned = true)),
        (&write, changed(|d| d.visibility = Visibility::Public)),
        (&write, changed(|d| d.body = body(MemoryType::Goal, "a goal", ""))),
        (&write, changed(|d| d.scope = kernel::memory::Scope::Personal)),
        (&write, changed(|d| d.provenance.derived_from = vec![support::pinned(3, 1)])),
        (&update, patched(kernel::journal::HeadPatch { pinned: Some(true), ..none() })),
        (&update, patched(kernel::journal::HeadPatch { tags: Some(vec!["x".into()]), ..none() })),
        (&update, patched(kernel::journal::HeadPatch { project: Some("ops".into()), ..none() })),
        (&write, Command::Tombstone(removal(mine))),
        (&update, Command::Erase(removal(mine))),
        (&write, Command::Snapshot(kernel::command::SnapshotDraft { reason: "no".into() })),
    ];
    for (place, (authority, command)) in outside.into_iter().enumerate() {
        let (before, roots) = (size(&cortex), cortex.read().unwrap().roots().unwrap());
        let error = submit(&cortex, authority, command.clone()).expect_err("outside");
        assert_eq!(error.code(), "outside_grant", "{command:?}");
        // The first is journaled; the others of the same minute are counted.
        if place == 0 {
            assert_eq!(payload(&cortex, before + 1).kind(), EntryKind::ScopeViolation);
        }
        assert_eq!(size(&cortex), before + u64::from(place == 0));
        let after = cortex.read().unwrap().roots().unwrap();
        assert_eq!((after.heads, after.edges), (roots.heads, roots.edges));
    }
}

// kernel 59
#[test]
fn a_refused_change_does_not_tell_hidden_from_missing() {
    let (cortex, manifest) = world();
    cortex.tombstone(stamp(3), removal(3)).unwrap();
    let chain = [issue(&cortex, grant(&manifest))];
    let patch = kernel::journal::HeadPatch { project: Some("ops".into()), ..Default::default() };
    let attest = |n| {
        let outcome = kernel::memory::Outcome::Success;
        Command::Attest(support::attestation("i", outcome, &[n], &[]))
    };
    let cases: [(Permission, &dyn Fn(u64) -> Command); 6] = [
        (Permission::Update, &|n| {
            Command::Update(Box::new(testkit::build::revision(n, Some(7), "x")))
        }),
        (Permission::Update, &|n| {
            Command::UpdateHead(testkit::build::head_revision(n, patch.clone()))
        }),
        (Permission::Tombstone, &|n| Command::Tombstone(removal(n))),
        (Permission::Tombstone, &|n| Command::Restore(removal(n))),
        (Permission::Edge, &|n| Command::AddEdge(edge(1, Relation::PartOf, n))),
        (Permission::Attest, &attest),
    ];
    for (operation, command) in cases {
        let authority = may(&cortex, &chain, operation);
        let missing = submit(&cortex, &authority, command(99)).unwrap_err();
        assert_eq!(missing.code(), "outside_grant");
        // 3 is forgotten and of another project, 5 is private.
        for hidden in [3, 5] {
            let error = submit(&cortex, &authority, command(hidden)).unwrap_err();
            assert_eq!(error, missing, "{operation:?} of memory {hidden}");
        }
    }
}

// kernel 58
#[test]
fn a_slice_is_complete_and_checks_against_the_root_alone() {
    let (cortex, manifest) = world();
    let chain = [issue(&cortex, grant(&manifest))];
    let prove = may(&cortex, &chain, Permission::Prove);
    let file = cortex.prove_slice_for(&prove, at(4)).unwrap();
    // The root is the one in the delegate's grant, however much was written since.
    cortex.write(stamp(5), world_draft(1)).unwrap();
    let root = manifest.root;
    drop(cortex);
    let read = ProofFile::from_bytes(&file.to_bytes()).unwrap();
    let checked = check(&read).unwrap();
    assert_eq!((checked.actor, checked.root), (ada(), root));
    let types = vec![MemoryType::Fact];
    // 1, 2 and the public 6 are shown; 3 and the private 5 are counted, not shown.
    assert_eq!(checked.fact, ProvedFact::Slice { types, shown: 3, hidden: 2 });
    let Claim::Slice(slice) = &file.claim else { panic!() };
    let shown: Vec<u64> = slice.records.iter().map(|record| record.head.id.get()).collect();
    assert_eq!(shown, [1, 2, 6]);
    for secret in ["memory 3", "memory 5"] {
        assert!(!testkit::build::holds(&file.to_bytes(), secret));
    }

    let tampered = |change: &dyn Fn(&mut proof::SliceClaim)| {
        let mut file = file.clone();
        let Claim::Slice(slice) = &mut file.claim else { panic!() };
        change(slice);
        check(&file).map(|checked| checked.fact)
    };
    // A record held back is counted as hidden: the delegate sees that something is missing.
    let dropped = tampered(&|slice| drop(slice.records.remove(0)));
    assert_eq!(
        dropped,
        Ok(ProvedFact::Slice { types: vec![MemoryType::Fact], shown: 2, hidden: 3 })
    );
    let changes: [fn(&mut proof::SliceClaim); 5] = [
        |s| s.records[0].head.pinned = true,
        |s| s.records[0].version.confidence = 1,
        |s| s.records[0].sealed = s.records[1].sealed.clone(),
        |s| s.records.push(s.records[0].clone()),
        |s| s.types[0].0 = MemoryType::Goal,
    ];
    for change in changes {
        assert_eq!(tampered(&change).unwrap_err().code(), "proof_refused");
    }
    // The list of a store that never had memory 6 is this list with a leaf dropped.
    let shorter = open(&Disk::new());
    for n in 1..=5 {
        shorter.write(stamp(1), world_draft(n)).unwrap();
    }
    let reading = shorter.read().unwrap();
    let all = kernel::prove::prove_slice(&reading.view(), &ada(), &[MemoryType::Fact], None, None)
        .unwrap();
    let Claim::Slice(fewer) = all.claim else { panic!() };
    let leafless = tampered(&|slice| {
        slice.types.clone_from(&fewer.types);
        slice.records.pop();
    });
    assert_eq!(leafless.unwrap_err().code(), "proof_refused");
}
