//! Goal: a delegate reads and changes its slice and nothing else, and learns nothing about the rest.
//! Method: real keys and signed requests against a store with memories inside and outside the slice; answers about hidden
//! and missing memories are compared, and so are answers of two stores that differ only in what is hidden.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::actor::ActorName;
use kernel::command::{Command, Draft, GrantDraft, Revocation};
use kernel::context::ContextQuery;
use kernel::find::Query;
use kernel::graph::{Direction, Walk};
use kernel::journal::{EntryKind, Manifest, Payload, SCHEMA};
use kernel::limits::VIOLATION_BURST;
use kernel::memory::{MemoryType, Millis, Relation, Visibility};
use kernel::proof::{Claim, Fact, ProofFile, check};
use kernel::scope::{
    Authority, Grant, Operation, Presented, Request as Asked, Selector, SignedGrant, SignedRequest,
};
use kernel::{Cortex, Digest, Error, Options, Result};
use support::{edge, grant_at, key, public};
use testkit::Disk;
use testkit::build::{
    ada, assert_clean, assert_refused, at, body, fact, id, open, payload, removal, run, salt, size,
    stamp,
};

/// Memories: 1 and 2 facts of web tagged release, 3 a fact of ops, 4 a goal of web, 5 a private fact of web, 6 public.
fn world() -> (Cortex, Manifest) {
    let cortex = open(&Disk::new());
    for n in 1..=6 {
        cortex.write(stamp(1), world_draft(n)).unwrap();
    }
    let manifest = cortex.snapshot(stamp(2), "for grants").unwrap();
    (cortex, manifest)
}

fn world_draft(n: u64) -> Draft {
    let memory_type = if n == 4 { MemoryType::Goal } else { MemoryType::Fact };
    let mut draft = Draft::new(body(memory_type, &format!("memory {n}"), "its content"), salt(n));
    draft.project = Some(if n == 3 || n == 6 { "ops" } else { "web" }.into());
    draft.tags = if n <= 2 { vec!["release".into()] } else { vec!["other".into()] };
    draft.visibility = match n {
        5 => Visibility::Private,
        6 => Visibility::Public,
        _ => Visibility::Scoped,
    };
    draft
}

fn web() -> Selector {
    Selector { projects: vec!["web".into()], types: vec![MemoryType::Fact], ..Selector::default() }
}

/// A grant by key 1 for key 2 on the facts of web, allowing everything.
fn grant(manifest: &Manifest) -> Grant {
    Grant { operations: Operation::ALL.to_vec(), include: web(), ..grant_at(manifest, 2) }
}

fn issue(cortex: &Cortex, grant: Grant) -> SignedGrant {
    let signed = SignedGrant::sign(grant, &key(1)).unwrap();
    run(cortex, 3, Command::ScopeGrant(GrantDraft { grant: signed.to_bytes() })).unwrap();
    signed
}

static NONCE: AtomicU64 = AtomicU64::new(1);

fn asked() -> Digest {
    Digest::of("test", &[b"what is asked"])
}

/// A request at second `n` by the holder of key `signer`, with a nonce never used before.
fn present(chain: &[SignedGrant], signer: u8, operation: Operation, n: i64) -> Presented {
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&NONCE.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    let grant = chain.last().unwrap().id();
    let request = Asked { grant, operation, digest: asked(), at: at(n), nonce };
    Presented { chain: chain.to_vec(), request: SignedRequest::sign(request, &key(signer)) }
}

fn may(cortex: &Cortex, chain: &[SignedGrant], operation: Operation) -> Authority {
    let presented = present(chain, 2, operation, 4);
    cortex.authorize(&presented, operation, asked(), at(4)).unwrap()
}

fn refusal(cortex: &Cortex, presented: &Presented, n: i64) -> String {
    let operation = presented.request.request().operation;
    match cortex.authorize(presented, operation, asked(), at(n)) {
        Err(Error::GrantRefused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

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
        let authority = may(&cortex, &chain, Operation::Read);
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
    let reader = may(&cortex, &chain, Operation::Read);
    let start = size(&cortex);
    cortex.resolve_for(&reader, id(3), None, at(4)).unwrap_err();
    assert_eq!(size(&cortex), start + 1);
    let Payload::ScopeViolation(entry) = payload(&cortex, start + 1) else { panic!() };
    assert_eq!((entry.grant, entry.memory), (chain[0].id(), Some(id(3))));
    assert_eq!(entry.operation, "read");
    assert_eq!(cortex.read().unwrap().view().entry(start + 1).unwrap().unwrap().by, "helper");

    let forget = may(&cortex, &chain, Operation::Tombstone);
    let change = |n| submit(&cortex, &forget, Command::Tombstone(removal(n)));
    for _ in 1..VIOLATION_BURST {
        assert_eq!(change(3).unwrap_err().code(), "outside_grant");
    }
    assert_eq!(size(&cortex), start + u64::from(VIOLATION_BURST));
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
        let find = may(&cortex, &chain, Operation::Find);
        let facts = Query::of_types(&[MemoryType::Fact], 2);
        let found = cortex.find_for(&find, &facts, at(9)).unwrap();
        assert_eq!(found.items.len(), 2);
        let graph = may(&cortex, &chain, Operation::Graph);
        let walked = cortex.walk_for(&graph, &Walk::new(id(1), Direction::Both, 6), at(9)).unwrap();
        let context = may(&cortex, &chain, Operation::Context);
        let query = ContextQuery { project: Some("web".into()), ..ContextQuery::new(at(9)) };
        let bundle = cortex.context_for(&context, &query).unwrap();
        assert!(!bundle.text.contains("secret"));
        let seen = (bundle.pinned, bundle.relevant, bundle.outcomes, bundle.overflow);
        (found, walked, seen, bundle.trimmed, bundle.rows_examined, bundle.tokens)
    };
    assert_eq!(answers(true), answers(false));
}

fn submit(
    cortex: &Cortex,
    authority: &Authority,
    command: Command,
) -> Result<kernel::command::Receipt> {
    let stamp = kernel::command::Stamp::new(at(4), &authority.audience_name);
    cortex.submit(kernel::Request { stamp, command, authority: Some(authority.clone()) })
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
    let write = may(&cortex, &chain, Operation::Write);
    let update = may(&cortex, &chain, Operation::Update);
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
    for (authority, command) in [
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
    ] {
        let (before, roots) = (size(&cortex), cortex.read().unwrap().roots().unwrap());
        let error = submit(&cortex, authority, command.clone()).expect_err("outside");
        assert_eq!(error.code(), "outside_grant", "{command:?}");
        assert_eq!(payload(&cortex, before + 1).kind(), EntryKind::ScopeViolation);
        assert_eq!(size(&cortex), before + 1);
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
    let cases: [(Operation, &dyn Fn(u64) -> Command); 6] = [
        (Operation::Update, &|n| {
            Command::Update(Box::new(testkit::build::revision(n, Some(7), "x")))
        }),
        (Operation::Update, &|n| {
            Command::UpdateHead(testkit::build::head_revision(n, patch.clone()))
        }),
        (Operation::Tombstone, &|n| Command::Tombstone(removal(n))),
        (Operation::Tombstone, &|n| Command::Restore(removal(n))),
        (Operation::Edge, &|n| Command::AddEdge(edge(1, Relation::PartOf, n))),
        (Operation::Attest, &attest),
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

// kernel 59
#[test]
fn expired_revoked_foreign_and_stolen_grants_are_refused() {
    let (cortex, manifest) = world();
    let chain = [issue(&cortex, grant(&manifest))];
    let read = |signer, n| present(&chain, signer, Operation::Read, n);
    let over = 2 + support::HOUR;
    assert!(refusal(&cortex, &read(2, over), over).contains("expired"));
    assert!(refusal(&cortex, &read(3, 4), 4).contains("not signed by the delegate"));
    assert!(refusal(&cortex, &read(2, 4), 100).contains("too far from now"));
    let first = read(2, 4);
    cortex.authorize(&first, Operation::Read, asked(), at(4)).unwrap();
    assert!(refusal(&cortex, &first, 4).contains("made before"));
    let wrong_lane = cortex.authorize(&read(2, 4), Operation::Find, asked(), at(4)).unwrap_err();
    assert_eq!(wrong_lane.code(), "grant_refused");
    let other = Digest::of("test", &[b"something else"]);
    let swapped = cortex.authorize(&read(2, 4), Operation::Read, other, at(4)).unwrap_err();
    assert_eq!(swapped.code(), "grant_refused");

    let fake = SignedGrant::sign(Grant { nonce: [8; 16], ..grant(&manifest) }, &key(1)).unwrap();
    let unknown = present(&[fake], 2, Operation::Read, 4);
    assert!(refusal(&cortex, &unknown, 4).contains("not in the journal"));
    let bytes = first.to_bytes();
    for at_byte in (0..bytes.len()).step_by(7) {
        let mut tampered = bytes.clone();
        tampered[at_byte] ^= 1;
        let outcome = Presented::decode(&tampered)
            .and_then(|presented| cortex.authorize(&presented, Operation::Read, asked(), at(4)));
        assert!(outcome.is_err(), "byte {at_byte}");
    }
    let bob = ActorName::parse("bob").unwrap();
    let elsewhere = Cortex::open_on(Disk::new().medium(), &bob, Options::default()).unwrap();
    assert!(refusal(&elsewhere, &read(2, 4), 4).contains("another actor"));

    let revocation = Revocation { grant: chain[0].id(), reason: "done".into() };
    run(&cortex, 4, Command::ScopeRevoke(revocation.clone())).unwrap();
    assert!(!run(&cortex, 4, Command::ScopeRevoke(revocation)).unwrap().changed);
    assert!(refusal(&cortex, &read(2, 5), 5).contains("revoked"));
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert!(refusal(&cortex, &read(2, 5), 5).contains("revoked"), "after a rebuild too");
}

// kernel 59, 72
#[test]
fn only_a_grant_of_this_schema_on_a_kept_root_is_journaled() {
    let (cortex, manifest) = world();
    let good = grant(&manifest);
    for (what, bad) in [
        ("schema", Grant { schema: SCHEMA + 1, ..good.clone() }),
        ("actor", Grant { actor: "bob".into(), ..good.clone() }),
        ("root", Grant { root: Digest([1; 32]), ..good.clone() }),
        ("size", Grant { size: manifest.size + 1, ..good.clone() }),
        ("parent", Grant { parent: Some(Digest([1; 32])), ..good.clone() }),
        ("expired", Grant { issued: at(0), expires: at(1), ..good.clone() }),
    ] {
        let grant = SignedGrant::sign(bad, &key(1)).unwrap().to_bytes();
        let before = size(&cortex);
        let error = run(&cortex, 3, Command::ScopeGrant(GrantDraft { grant })).expect_err(what);
        assert_eq!((error.code(), size(&cortex)), ("grant_refused", before), "{what}: {error}");
    }
    let signed = issue(&cortex, good);
    let mut forged = signed.to_bytes();
    *forged.last_mut().unwrap() ^= 1;
    assert_refused(&cortex, "grant_refused", |c| {
        run(c, 3, Command::ScopeGrant(GrantDraft { grant: forged }))
    });
    let again = Command::ScopeGrant(GrantDraft { grant: signed.to_bytes() });
    assert!(!run(&cortex, 3, again).unwrap().changed);
}

// kernel 59
#[test]
fn of_two_requests_for_the_last_use_one_wins() {
    let (cortex, manifest) = world();
    // The limit is the owner's, then only that of a link made offline.
    for (nonce, owner, link) in [(11, Some(3), Some(3)), (12, None, Some(3))] {
        let parent = Grant { use_limit: owner, nonce: [nonce; 16], ..grant(&manifest) };
        let parent = issue(&cortex, parent);
        let child = Grant {
            issuer: public(2),
            audience: public(3),
            parent: Some(parent.id()),
            use_limit: link,
            ..parent.grant().clone()
        };
        let chain = [parent, SignedGrant::sign(child, &key(2)).unwrap()];
        let ask = || {
            let presented = present(&chain, 3, Operation::Read, 4);
            cortex.authorize(&presented, Operation::Read, asked(), at(4)).map(drop)
        };
        ask().unwrap();
        ask().unwrap();
        let start = Barrier::new(2);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let race = || {
                scope.spawn(|| {
                    start.wait();
                    ask()
                })
            };
            [race(), race()].map(|thread| thread.join().unwrap()).into()
        });
        assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 1, "{outcomes:?}");
        assert_eq!(ask().unwrap_err().code(), "grant_refused");
        let state = cortex.read().unwrap().view().grant(chain[0].id()).unwrap().unwrap();
        assert_eq!(state.uses, 3);
    }
}

// kernel 59
#[test]
fn a_delegate_hands_on_less_and_never_more() {
    let (cortex, manifest) = world();
    let parent = issue(&cortex, grant(&manifest));
    let child = Grant {
        issuer: public(2),
        audience: public(3),
        audience_name: "helper's helper".into(),
        operations: vec![Operation::Read],
        include: Selector { ids: vec![id(1)], ..web() },
        parent: Some(parent.id()),
        ..parent.grant().clone()
    };
    let sign = |grant: Grant| SignedGrant::sign(grant, &key(2)).unwrap();
    let chain = [parent.clone(), sign(child.clone())];
    let presented = present(&chain, 3, Operation::Read, 4);
    let authority = cortex.authorize(&presented, Operation::Read, asked(), at(4)).unwrap();
    cortex.resolve_for(&authority, id(1), None, at(4)).unwrap();
    cortex.resolve_for(&authority, id(2), None, at(4)).unwrap_err();
    for wider in [
        Grant { operations: vec![Operation::Read], include: Selector::default(), ..child.clone() },
        Grant {
            include: Selector { tags: vec!["x".into()], ..Selector::default() },
            ..child.clone()
        },
        Grant { expires: Millis(child.expires.get() + 1), ..child.clone() },
        Grant { root: Digest([1; 32]), ..child.clone() },
    ] {
        let Ok(link) = SignedGrant::sign(wider, &key(2)) else { continue };
        let presented = present(&[parent.clone(), link], 3, Operation::Read, 4);
        refusal(&cortex, &presented, 4);
    }
    // The delegate of the first link cannot use the second, and revoking the first ends both.
    assert!(refusal(&cortex, &present(&chain, 2, Operation::Read, 4), 4).contains("not signed"));
    let revocation = Revocation { grant: parent.id(), reason: "done".into() };
    run(&cortex, 4, Command::ScopeRevoke(revocation)).unwrap();
    assert!(refusal(&cortex, &present(&chain, 3, Operation::Read, 4), 4).contains("revoked"));
}

// kernel 58
#[test]
fn a_slice_is_complete_and_checks_against_the_root_alone() {
    let (cortex, manifest) = world();
    let chain = [issue(&cortex, grant(&manifest))];
    let prove = may(&cortex, &chain, Operation::Prove);
    let file = cortex.prove_slice_for(&prove, &[MemoryType::Fact], at(4)).unwrap();
    let root = cortex.root().unwrap();
    drop(cortex);
    let read = ProofFile::from_bytes(&file.to_bytes()).unwrap();
    let checked = check(&read).unwrap();
    assert_eq!((checked.actor, checked.root), (ada(), root));
    let types = vec![MemoryType::Fact];
    // 1, 2 and the public 6 are shown; 3 and the private 5 are counted, not shown.
    assert_eq!(checked.fact, Fact::Slice { types, shown: 3, hidden: 2 });
    let Claim::Slice(slice) = &file.claim else { panic!() };
    let shown: Vec<u64> = slice.records.iter().map(|record| record.head.id.get()).collect();
    assert_eq!(shown, [1, 2, 6]);
    for secret in ["memory 3", "memory 5"] {
        assert!(!testkit::build::holds(&file.to_bytes(), secret));
    }

    let tampered = |change: &dyn Fn(&mut kernel::proof::SliceClaim)| {
        let mut file = file.clone();
        let Claim::Slice(slice) = &mut file.claim else { panic!() };
        change(slice);
        check(&file).map(|checked| checked.fact)
    };
    // A record held back is counted as hidden: the delegate sees that something is missing.
    let dropped = tampered(&|slice| drop(slice.records.remove(0)));
    assert_eq!(dropped, Ok(Fact::Slice { types: vec![MemoryType::Fact], shown: 2, hidden: 3 }));
    let changes: [fn(&mut kernel::proof::SliceClaim); 5] = [
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
    let all =
        kernel::proof::prove_slice(&reading.view(), &ada(), &[MemoryType::Fact], None).unwrap();
    let Claim::Slice(fewer) = all.claim else { panic!() };
    let leafless = tampered(&|slice| {
        slice.types.clone_from(&fewer.types);
        slice.records.pop();
    });
    assert_eq!(leafless.unwrap_err().code(), "proof_refused");
}
