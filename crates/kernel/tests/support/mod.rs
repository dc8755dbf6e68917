//! A small store that holds every kind of entry and a row in every namespace, and the keys of its people.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod delegate;
pub(crate) mod small_segments;

use ed25519_dalek::SigningKey;
use kernel::command::{
    Attestation, Command, Compaction, Draft, EdgeDraft, EdgeRemoval, GrantDraft, MigrationDraft,
    MindRunDraft, PastForgetDraft, PastRestoreDraft, PromptDraft, Revocation, SessionClose,
    SessionDraft, Stamp, Touches, Violation,
};
use kernel::find::Query;
use kernel::grants::{Grant, Permission, PublicKey, Selector, SignedGrant};
use kernel::journal::{Access, HeadPatch, Manifest, MindRunPhase, SCHEMA, Stub};
use kernel::memory::{MemoryType, Millis, Outcome, PinnedVersion, Relation};
use kernel::{Cortex, Digest};
use testkit::build::{at, body, fact, head_revision, id, removal, revision, run, salt, stamp};

pub(crate) const HOUR: i64 = 3_600;

pub(crate) fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

pub(crate) fn public(n: u8) -> PublicKey {
    key(n).verifying_key().to_bytes()
}

/// A grant by key 1 to key 2 on facts, for reading, an hour long, pinned to a snapshot.
pub(crate) fn grant_at(manifest: &Manifest, issued: i64) -> Grant {
    Grant {
        schema: SCHEMA,
        actor: "ada".into(),
        issuer: public(1),
        audience: public(2),
        audience_name: "helper".into(),
        operations: vec![Permission::Read, Permission::Find],
        include: Selector { types: vec![MemoryType::Fact], ..Selector::default() },
        exclude: None,
        issued: at(issued),
        expires: Millis(at(issued).get() + HOUR * 1_000),
        use_limit: None,
        budget_tokens: None,
        parent: None,
        nonce: [7; 16],
        root: manifest.root,
        size: manifest.size,
    }
}

pub(crate) fn edge(src: u64, relation: Relation, dst: u64) -> EdgeDraft {
    EdgeDraft { src: id(src), relation, dst: id(dst), weight: 500_000 }
}

pub(crate) fn pinned(n: u64, version: u32) -> PinnedVersion {
    PinnedVersion { id: id(n), version }
}

pub(crate) fn attestation(
    intent: &str,
    outcome: Outcome,
    cited: &[u64],
    shown: &[u64],
) -> Attestation {
    Attestation {
        intent: intent.into(),
        outcome,
        reason: Some("the run ended".into()),
        cited: cited.iter().map(|n| pinned(*n, 1)).collect(),
        retrieved: shown.iter().map(|n| id(*n)).collect(),
        bundle: None,
    }
}

/// Text that only the erased memory of `fill` ever held.
pub(crate) const SECRET: &str = "the passphrase was correct-horse-battery";

/// Writes one entry of every kind at least. Memories: 2 a fact, 3 a goal, 4 a decision, 5 an erased event.
pub(crate) fn fill(cortex: &Cortex) {
    let session = SessionDraft {
        session: "s1".into(),
        project: Some("web".into()),
        directory: Some("/src/web".into()),
        agent: Some("tester".into()),
    };
    run(cortex, 1, Command::SessionStart(session)).unwrap();
    let mut draft = fact(2, "The deploy key rotates monthly", "Ask ops for the new one.");
    draft.tags = vec!["release".into(), "ops".into()];
    draft.project = Some("web".into());
    draft.topic_key = Some("deploy/key".into());
    draft.session = Some("s1".into());
    let first = Stamp { idempotency_key: Some("first".into()), ..stamp(2) };
    cortex.write(first, draft).unwrap();
    let mut goal = Draft::new(body(MemoryType::Goal, "Ship on Friday", "All tests pass."), salt(3));
    goal.pinned = true;
    cortex.write(stamp(3), goal).unwrap();
    let decision = body(MemoryType::Decision, "Use one file per actor", "It is simpler to copy.");
    cortex.write(stamp(4), Draft::new(decision, salt(4))).unwrap();
    let event = body(MemoryType::Event, "A key was leaked", SECRET);
    cortex.write(stamp(5), Draft::new(event, salt(5))).unwrap();
    cortex.add_edge(stamp(6), edge(4, Relation::Supersedes, 2)).unwrap();
    cortex.add_edge(stamp(7), edge(3, Relation::References, 2)).unwrap();
    let manifest = cortex.snapshot(stamp(8), "before the changes").unwrap();

    let by_the_mind = Stamp { run: Some("mind-1".into()), ..stamp(9) };
    cortex.update(by_the_mind, revision(2, Some(1), "The deploy key rotates weekly")).unwrap();
    let tags = HeadPatch { tags: Some(vec!["storage".into()]), ..HeadPatch::default() };
    cortex.update_head(stamp(10), head_revision(4, tags)).unwrap();
    cortex.tombstone(stamp(11), removal(3)).unwrap();
    cortex.restore(stamp(12), removal(3)).unwrap();
    let gone = EdgeRemoval {
        src: id(3),
        relation: Relation::References,
        dst: id(2),
        reason: "not so".into(),
    };
    cortex.remove_edge(stamp(13), gone).unwrap();
    let accesses = vec![Access { id: id(4), count: 3, at: at(14) }];
    run(cortex, 14, Command::Touch(Touches { accesses, ..Touches::default() })).unwrap();
    cortex.find_late(stamp(15), &Query::of_types(&[MemoryType::Fact], 5), salt(15)).unwrap();
    cortex.attest(stamp(16), attestation("i1", Outcome::Success, &[4], &[2, 4])).unwrap();
    let compaction = Compaction {
        intent: "i1".into(),
        step: "one".into(),
        budget: 100,
        kept: vec![pinned(3, 1)],
        stubs: vec![Stub { memory: pinned(4, 1), score: 400_000 }],
        tokens: 40,
    };
    cortex.compact(stamp(17), compaction).unwrap();
    let prompt = PromptDraft {
        session: Some("s1".into()),
        project: Some("web".into()),
        text: "When does the key rotate?".into(),
        salt: salt(18),
    };
    run(cortex, 18, Command::Prompt(prompt)).unwrap();
    let close = SessionClose {
        session: "s1".into(),
        summary: Some("Looked into keys.".into()),
        salt: salt(19),
    };
    run(cortex, 19, Command::SessionEnd(close)).unwrap();
    let grant = SignedGrant::sign(grant_at(&manifest, 20), &key(1)).unwrap();
    run(cortex, 20, Command::ScopeGrant(GrantDraft { grant: grant.to_bytes() })).unwrap();
    let revocation = Revocation { grant: Digest([9; 32]), reason: "lost".into() };
    run(cortex, 21, Command::ScopeRevoke(revocation)).unwrap();
    let violation = Violation {
        grant: grant.id(),
        operation: "read".into(),
        memory: Some(id(3)),
        reason: "outside the grant".into(),
    };
    run(cortex, 22, Command::ScopeViolation(violation)).unwrap();
    let mind_run = MindRunDraft {
        run: "mind-1".into(),
        job: "maintenance".into(),
        phase: MindRunPhase::Finished,
        reason: None,
    };
    run(cortex, 23, Command::MindRun(mind_run)).unwrap();
    let migration = MigrationDraft { component: "text index".into(), from: 1, to: 2 };
    run(cortex, 24, Command::Migration(migration)).unwrap();
    cortex.erase(stamp(25), removal(5)).unwrap();
    cortex.snapshot(stamp(26), "after the changes").unwrap();
    let project = HeadPatch { project: Some("ops".into()), ..HeadPatch::default() };
    cortex.update_head(stamp(27), head_revision(2, project)).unwrap();
    let slip = PromptDraft {
        session: None,
        project: None,
        text: "Said by mistake.".into(),
        salt: salt(28),
    };
    let slip = run(cortex, 28, Command::Prompt(slip)).unwrap();
    cortex.erase(stamp(29), removal(slip.seq)).unwrap();
    let subject = |n: u8| Digest::of("test", &[&[n]]);
    for n in [1, 2] {
        let forget = PastForgetDraft {
            subject: subject(n),
            members: vec![subject(n + 10)],
            reason: "a slip".into(),
        };
        run(cortex, 29, Command::PastForget(forget)).unwrap();
    }
    run(cortex, 29, Command::PastRestore(PastRestoreDraft { subject: subject(2) })).unwrap();
}
