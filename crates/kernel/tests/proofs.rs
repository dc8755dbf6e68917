//! Goal: a proof file says one true thing about one root, to anybody, and nothing else after any change.
//! Method: files for every claim are checked without the store; every bit of each is flipped, and what still passes
//! against the same root must still be true in the store.

#![allow(clippy::unwrap_used)]

mod support;

use kernel::actor::ActorName;
use kernel::journal::{Manifest, SCHEMA};
use kernel::memory::{MemoryType, Relation};
use kernel::prove::{Subject, prove, prove_since, prove_slice};
use kernel::store::View;
use kernel::{Cortex, Options, Result};
use proof::{CheckedProof, Claim, ProofFile, ProvedFact, check};
use support::{SECRET, fill};
use testkit::Disk;
use testkit::build::{ada, fact, holds, id, open, stamp};

fn filled() -> Cortex {
    let cortex = open(&Disk::new());
    fill(&cortex);
    cortex
}

fn manifest(cortex: &Cortex, number: u64) -> Manifest {
    cortex.read().unwrap().view().snapshot(number).unwrap().unwrap()
}

fn proof(cortex: &Cortex, subject: Subject, at_snapshot: Option<u64>) -> Result<ProofFile> {
    prove(&cortex.read()?.view(), &ada(), subject, at_snapshot)
}

/// Through bytes, as a file travels.
fn checked(file: &ProofFile) -> CheckedProof {
    check(&ProofFile::from_bytes(&file.to_bytes()).unwrap()).unwrap()
}

fn edge() -> Subject {
    Subject::Edge(id(4), Relation::Supersedes, id(2))
}

fn removed_edge() -> Subject {
    Subject::Edge(id(3), Relation::References, id(2))
}

/// A file for every claim, by name.
fn every_claim(cortex: &Cortex) -> Vec<(&'static str, ProofFile)> {
    let reading = cortex.read().unwrap();
    let view = reading.view();
    let of = |subject| prove(&view, &ada(), subject, None).unwrap();
    let types = [MemoryType::Fact, MemoryType::Event, MemoryType::Pattern];
    vec![
        ("a memory", of(Subject::Memory(id(2)))),
        ("an erased memory", of(Subject::Memory(id(5)))),
        ("no memory", of(Subject::Memory(id(99)))),
        ("an entry that is no memory", of(Subject::Memory(id(1)))),
        ("an edge", of(edge())),
        ("no edge", of(removed_edge())),
        ("since a snapshot", prove_since(&view, &ada(), 1).unwrap()),
        ("since the latest snapshot", prove_since(&view, &ada(), 2).unwrap()),
        ("a slice", prove_slice(&view, &ada(), &types, None, None).unwrap()),
    ]
}

// kernel 55, 57, 58
#[test]
fn every_claim_checks_without_the_store() {
    let cortex = filled();
    let (root, size) = (cortex.root().unwrap(), testkit::build::size(&cortex));
    let resolved = cortex.read().unwrap().resolve_version(id(2), None).unwrap();
    let known = cortex.read().unwrap().view().edge(id(4), Relation::Supersedes, id(2)).unwrap();
    let first = manifest(&cortex, 1);
    let files = every_claim(&cortex);
    drop(cortex);
    let mut facts = Vec::new();
    for (name, file) in &files {
        let checked = checked(file);
        assert_eq!((checked.root, checked.size), (root, size), "{name}");
        assert_eq!(checked.actor, ada());
        facts.push(checked.fact);
    }
    assert_eq!(
        facts[0],
        ProvedFact::Memory {
            head: Box::new(resolved.head),
            version: Box::new(resolved.version),
            body: resolved.body.map(Box::new),
        }
    );
    let ProvedFact::Memory { head, body, .. } = &facts[1] else { panic!() };
    assert!(head.erased && body.is_none());
    assert!(!holds(&files[1].1.to_bytes(), SECRET));
    assert_eq!(facts[2], ProvedFact::NoMemory { id: id(99) });
    assert_eq!(facts[3], ProvedFact::NoMemory { id: id(1) });
    assert_eq!(facts[4], ProvedFact::Edge { edge: Box::new(known.unwrap()) });
    let gone = ProvedFact::NoEdge { src: id(3), relation: Relation::References, dst: id(2) };
    assert_eq!(facts[5], gone);
    assert_eq!(facts[6], ProvedFact::AppendOnly { since: Box::new(first) });
    let types = vec![MemoryType::Fact, MemoryType::Pattern, MemoryType::Event];
    assert_eq!(facts[8], ProvedFact::Slice { types, shown: 2, hidden: 0 });
}

// kernel 57
#[test]
fn a_proof_can_be_given_as_of_a_snapshot_after_later_changes() {
    let cortex = filled();
    let then = manifest(&cortex, 1);
    let at =
        |n, snapshot| checked(&proof(&cortex, Subject::Memory(id(n)), Some(snapshot)).unwrap());
    // Updated, moved to another project and superseded since.
    let old = at(2, 1);
    assert_eq!((old.root, old.size), (then.root, then.size));
    let ProvedFact::Memory { head, body, .. } = old.fact else { panic!() };
    assert_eq!((head.version, head.project.as_deref()), (1, Some("web")));
    assert_eq!(body.unwrap().title, "The deploy key rotates monthly");
    // Erased since: it was live then, and its text is gone now.
    let ProvedFact::Memory { head, body, .. } = at(5, 1).fact else { panic!() };
    assert!(!head.erased && head.tombstone.is_none() && body.is_none());
    // At the second snapshot it was erased already.
    let ProvedFact::Memory { head, .. } = at(5, 2).fact else { panic!() };
    assert!(head.erased);
    let late = cortex.write(stamp(40), fact(40, "later", "")).unwrap().id.unwrap();
    assert_eq!(at(late.get(), 2).fact, ProvedFact::NoMemory { id: late });
    let now = checked(&proof(&cortex, Subject::Memory(late), None).unwrap());
    assert!(matches!(now.fact, ProvedFact::Memory { .. }));

    let missing = proof(&cortex, Subject::Memory(id(2)), Some(3)).unwrap_err();
    assert_eq!(missing.code(), "not_found");
    assert_eq!(proof(&cortex, edge(), Some(1)).unwrap_err().code(), "invalid");
    let reading = cortex.read().unwrap();
    assert_eq!(prove_since(&reading.view(), &ada(), 9).unwrap_err().code(), "not_found");
}

/// A claim that passed against the actor's own root must hold in the actor's own store.
fn is_true(view: &View<'_>, fact: &ProvedFact, original: &ProvedFact) -> bool {
    match fact {
        ProvedFact::NoMemory { id } => view.head(*id).unwrap().is_none(),
        ProvedFact::NoEdge { src, relation, dst } => {
            view.edge(*src, *relation, *dst).unwrap().is_none()
        }
        other => other == original,
    }
}

// kernel 55
#[test]
fn no_flipped_bit_makes_a_file_prove_something_untrue() {
    let cortex = filled();
    let root = cortex.root().unwrap();
    let reading = cortex.read().unwrap();
    for (name, file) in every_claim(&cortex) {
        let original = checked(&file);
        let bytes = file.to_bytes();
        let mut passed = 0;
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let Ok(found) = ProofFile::from_bytes(&changed).and_then(|file| check(&file)) else {
                continue;
            };
            if found.root == root {
                passed += 1;
                let holds = is_true(&reading.view(), &found.fact, &original.fact);
                assert!(holds, "{name}, bit {bit}: {:?}", found.fact);
            }
        }
        assert!(passed < bytes.len() / 4, "{name}: {passed} changes passed");
        for len in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            ProofFile::from_bytes(&bytes[..len]).unwrap_err();
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(ProofFile::from_bytes(&longer).unwrap_err().code(), "proof_refused");
    }
}

#[test]
fn parts_of_two_proofs_do_not_make_a_third() {
    let cortex = filled();
    let of = |n| {
        let file = proof(&cortex, Subject::Memory(id(n)), None).unwrap();
        let Claim::Memory(claim) = file.claim.clone() else { panic!() };
        (file, claim)
    };
    let ((file, two), (_, three)) = (of(2), of(3));
    let with = |change: &dyn Fn(&mut proof::MemoryClaim)| {
        let mut claim = two.clone();
        change(&mut claim);
        check(&ProofFile { claim: Claim::Memory(claim), ..file.clone() })
    };
    assert!(with(&|_| {}).is_ok());
    let changes: [&dyn Fn(&mut proof::MemoryClaim); 5] = [
        &|claim| claim.head = three.head.clone(),
        &|claim| claim.version = three.version.clone(),
        &|claim| claim.sealed = three.sealed.clone(),
        &|claim| {
            claim.entry.clone_from(&three.entry);
            claim.entry_proof = three.entry_proof.clone();
        },
        &|claim| claim.head_proof = three.head_proof.clone(),
    ];
    for change in changes {
        assert_eq!(with(change).unwrap_err().code(), "proof_refused");
    }
    // Leaving the text out is not a lie: the hashes stand, and the reader sees that it is missing.
    let ProvedFact::Memory { body, head, .. } = with(&|c| c.sealed = None).unwrap().fact else {
        panic!()
    };
    assert!(body.is_none() && !head.erased);
}

// kernel 1, 72
#[test]
fn a_proof_belongs_to_one_actor_and_one_schema() {
    let cortex = filled();
    let bob = ActorName::parse("bob").unwrap();
    let other = Cortex::open_on(Disk::new().medium(), &bob, Options::default()).unwrap();
    other.write(stamp(1), fact(1, "of bob", "")).unwrap();
    let file = proof(&cortex, Subject::Memory(id(2)), None).unwrap();
    let renamed = ProofFile { actor: "bob".into(), ..file.clone() };
    let root = check(&renamed).unwrap().root;
    assert!(root != other.root().unwrap() && root != cortex.root().unwrap());
    let moved = ProofFile { roots: other.read().unwrap().roots().unwrap(), ..renamed };
    assert_eq!(check(&moved).unwrap_err().code(), "proof_refused");

    let next = ProofFile { schema: SCHEMA + 1, ..file.clone() };
    assert_eq!(check(&next).unwrap_err().code(), "schema");
    let nameless = ProofFile { actor: "../bob".into(), ..file };
    assert_eq!(check(&nameless).unwrap_err().code(), "proof_refused");
    let since = prove_since(&cortex.read().unwrap().view(), &ada(), 1).unwrap();
    let elsewhere = ProofFile { actor: "bob".into(), ..since };
    assert_eq!(check(&elsewhere).unwrap_err().code(), "proof_refused");
}

#[test]
fn files_stay_small_as_the_store_grows() {
    let cortex = open(&Disk::new());
    let request = |n| kernel::Submission {
        stamp: stamp(1),
        command: kernel::command::Command::Write(Box::new(fact(n, "a fact", "short"))),
        authority: None,
    };
    let outcomes = cortex.submit_bulk((1..=3_000).map(request).collect()).unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    cortex.snapshot(stamp(2), "all").unwrap();
    let memory = proof(&cortex, Subject::Memory(id(1_500)), None).unwrap().to_bytes().len();
    let absent = proof(&cortex, Subject::Memory(id(9_999)), None).unwrap().to_bytes().len();
    let reading = cortex.read().unwrap();
    let since = prove_since(&reading.view(), &ada(), 1).unwrap().to_bytes().len();
    assert!(memory < 2_048, "{memory} bytes for a memory with its text and entry");
    assert!(absent < 1_024, "{absent} bytes for an absence");
    assert!(since < 2_048, "{since} bytes since a snapshot");
}
