//! Random histories over every kind of change, as plain data, and a driver that runs them on an open actor.
//!
//! A step names memories by position, so any sequence of steps makes sense: what does not apply is refused by the
//! kernel and changes nothing, which is part of what is tested. The same steps give the same requests, salts and times.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kernel::command::{
    Attestation, Command, Compaction, Draft, EdgeDraft, EdgeRemoval, GrantDraft, HeadRevision,
    LateFind, MigrationDraft, MindRunDraft, PastForgetDraft, PastRestoreDraft, PromptDraft,
    Removal, Revision, Revocation, SessionClose, SessionDraft, SnapshotDraft, Touches, Violation,
};
use kernel::grants::{Grant, Permission, Selector, SignedGrant};
use kernel::journal::{Access, FoundMemory, HeadPatch, MindRunPhase, SCHEMA, Stub};
use kernel::memory::{
    MemoryId, MemoryType, Outcome, PinnedVersion, Provenance, Relation, Scope, Source, Visibility,
};
use kernel::store::KeyRange;
use kernel::{Cortex, Digest, Result, Submission};
use proptest::prelude::*;

use crate::build::{at, body, salt, stamp};

/// One change. Numbers pick among what exists.
#[derive(Clone, Debug)]
pub enum HistoryStep {
    Write {
        memory_type: u8,
        tags: Vec<u8>,
        project: Option<u8>,
        text: String,
        flags: u8,
    },
    Update {
        memory: u8,
        text: String,
        tags: Option<Vec<u8>>,
        expect_wrong: bool,
    },
    UpdateHead {
        memory: u8,
        pinned: bool,
        archived: bool,
        tags: Option<Vec<u8>>,
        clear: bool,
    },
    Tombstone(u8),
    Restore(u8),
    Erase(u8),
    AddEdge(u8, u8, u8, u32),
    RemoveEdge(u8, u8, u8),
    Touch(Vec<u8>),
    FindLate(Vec<u8>),
    Attest {
        intent: u8,
        outcome: u8,
        cited: Vec<u8>,
        shown: Vec<u8>,
    },
    Compact(Vec<u8>, Vec<u8>),
    SessionStart(u8),
    SessionEnd(u8, bool),
    Prompt(String),
    Snapshot,
    Grant(u8),
    Revoke(u8),
    Violation,
    MindRun,
    Migration,
    /// Something of the past is forgotten, or may be read again.
    PastForget(u8),
    PastRestore(u8),
    /// A retry of an earlier request with the same key, or the key with another request.
    Retry(u8, String),
}

fn text() -> impl Strategy<Value = String> {
    "[a-zäß東 ]{1,24}x".prop_map(|s| s.trim().to_owned())
}

fn picks() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..4)
}

/// Any step; memories are written more often than anything else is done to them.
pub fn step() -> impl Strategy<Value = HistoryStep> {
    prop_oneof![
        8 => (1u8..=9, picks(), prop::option::of(any::<u8>()), text(), any::<u8>()).prop_map(
            |(memory_type, tags, project, text, flags)| HistoryStep::Write { memory_type, tags, project, text, flags }),
        4 => (any::<u8>(), text(), prop::option::of(picks()), prop::bool::weighted(0.1)).prop_map(
            |(memory, text, tags, expect_wrong)| HistoryStep::Update { memory, text, tags, expect_wrong }),
        3 => (any::<u8>(), any::<bool>(), any::<bool>(), prop::option::of(picks()), any::<bool>()).prop_map(
            |(memory, pinned, archived, tags, clear)|
                HistoryStep::UpdateHead { memory, pinned, archived, tags, clear }),
        2 => any::<u8>().prop_map(HistoryStep::Tombstone),
        2 => any::<u8>().prop_map(HistoryStep::Restore),
        1 => any::<u8>().prop_map(HistoryStep::Erase),
        4 => (any::<u8>(), 1u8..=9, any::<u8>(), 0u32..=1_000_000).prop_map(
            |(a, r, b, w)| HistoryStep::AddEdge(a, r, b, w)),
        2 => (any::<u8>(), 1u8..=9, any::<u8>()).prop_map(|(a, r, b)| HistoryStep::RemoveEdge(a, r, b)),
        1 => picks().prop_map(HistoryStep::Touch),
        1 => picks().prop_map(HistoryStep::FindLate),
        2 => (0u8..4, 0u8..3, picks(), picks()).prop_map(
            |(intent, outcome, cited, shown)| HistoryStep::Attest { intent, outcome, cited, shown }),
        1 => (picks(), picks()).prop_map(|(kept, stubs)| HistoryStep::Compact(kept, stubs)),
        1 => (0u8..3).prop_map(HistoryStep::SessionStart),
        1 => (0u8..3, any::<bool>()).prop_map(|(s, summary)| HistoryStep::SessionEnd(s, summary)),
        1 => text().prop_map(HistoryStep::Prompt),
        2 => Just(HistoryStep::Snapshot),
        1 => any::<u8>().prop_map(HistoryStep::Grant),
        1 => any::<u8>().prop_map(HistoryStep::Revoke),
        1 => Just(HistoryStep::Violation),
        1 => Just(HistoryStep::MindRun),
        1 => Just(HistoryStep::Migration),
        1 => (0u8..3).prop_map(HistoryStep::PastForget),
        1 => (0u8..3).prop_map(HistoryStep::PastRestore),
        1 => (0u8..3, text()).prop_map(|(key, text)| HistoryStep::Retry(key, text)),
    ]
}

pub fn steps(max: usize) -> impl Strategy<Value = Vec<HistoryStep>> {
    prop::collection::vec(step(), 1..max)
}

/// Turns step `n` into a request against what `cortex` holds. Depends on the state only through ids that exist.
pub fn request(cortex: &Cortex, n: usize, step: &HistoryStep) -> Result<Submission> {
    let time = i64::try_from(n).expect("tests have few steps");
    let mut made = stamp(time);
    let seed = n as u64 + 1;
    let reading = cortex.read()?;
    let size = reading.view().counters()?.size;
    let mut memories = Vec::new();
    for id in (1..=size).filter_map(MemoryId::new) {
        if reading.view().head(id)?.is_some() {
            memories.push(id);
        }
    }
    // With no memory at all, id 1 is as good as any: the kernel refuses it.
    let pick = |i: u8| -> MemoryId {
        let fallback = MemoryId::new(1).expect("one is not zero");
        memories.get(usize::from(i) % memories.len().max(1)).copied().unwrap_or(fallback)
    };
    let pinned = |i: u8| PinnedVersion { id: pick(i), version: 1 };
    let type_of = |id: MemoryId| -> Result<MemoryType> {
        Ok(reading.view().head(id)?.map_or(MemoryType::Fact, |head| head.memory_type))
    };
    let tags = |tags: &[u8]| tags.iter().map(|t| format!("tag{}", t % 5)).collect::<Vec<_>>();
    let relation = |code: u8| Relation::from_code(code).expect("strategies make legal codes");
    let removal = |i: u8| Removal { id: pick(i), expected: None, reason: "test".into() };
    let command = match step {
        HistoryStep::Write { memory_type, tags: t, project, text, flags } => {
            let memory_type =
                MemoryType::from_code(*memory_type).expect("strategies make legal codes");
            let mut draft = Draft::new(body(memory_type, text, text), salt(seed));
            draft.tags = tags(t);
            draft.project = project.map(|p| format!("project{}", p % 3));
            draft.pinned = flags & 1 != 0;
            draft.topic_key = (flags & 2 != 0).then(|| format!("topic/{}", flags >> 4));
            draft.session = (flags & 4 != 0).then(|| format!("s{}", flags >> 6));
            if flags & 8 != 0 {
                draft.visibility = Visibility::Private;
                draft.scope = Scope::Personal;
            }
            if flags & 16 != 0 && !memories.is_empty() {
                draft.provenance = Provenance {
                    source: Source::Derived,
                    derived_from: vec![pinned(*flags)],
                    model: Some("model".into()),
                    origin: None,
                };
            }
            Command::Write(Box::new(draft))
        }
        HistoryStep::Update { memory, text, tags: t, expect_wrong } => {
            let id = pick(*memory);
            let expected = expect_wrong.then_some(999);
            let content = body(type_of(id)?, text, "updated");
            let mut revision = Revision::new(id, expected, content, salt(seed));
            revision.patch.tags = t.as_deref().map(tags);
            Command::Update(Box::new(revision))
        }
        HistoryStep::UpdateHead { memory, pinned, archived, tags: t, clear } => {
            let patch = HeadPatch {
                pinned: Some(*pinned),
                archived: Some(*archived),
                tags: t.as_deref().map(tags),
                project: clear.then(String::new),
                importance: Some(u32::from(*memory) * 1_000),
                ..HeadPatch::default()
            };
            let reason = Some("test".into());
            Command::UpdateHead(HeadRevision { id: pick(*memory), expected: None, patch, reason })
        }
        HistoryStep::Tombstone(i) => Command::Tombstone(removal(*i)),
        HistoryStep::Restore(i) => Command::Restore(removal(*i)),
        HistoryStep::Erase(i) => Command::Erase(removal(*i)),
        HistoryStep::AddEdge(a, r, b, weight) => Command::AddEdge(EdgeDraft {
            src: pick(*a),
            relation: relation(*r),
            dst: pick(*b),
            weight: *weight,
        }),
        HistoryStep::RemoveEdge(a, r, b) => Command::RemoveEdge(EdgeRemoval {
            src: pick(*a),
            relation: relation(*r),
            dst: pick(*b),
            reason: "test".into(),
        }),
        HistoryStep::Touch(ids) => Command::Touch(Touches {
            accesses: ids.iter().map(|i| Access { id: pick(*i), count: 2, at: at(time) }).collect(),
            shown: ids.iter().map(|i| Access { id: pick(*i), count: 1, at: at(time) }).collect(),
            grants: Vec::new(),
        }),
        HistoryStep::FindLate(ids) => {
            let mut found: Vec<_> = ids.iter().map(|i| pick(*i)).collect();
            found.sort_unstable();
            found.dedup();
            let results = found.into_iter().map(|id| FoundMemory { id, version: 1, score: 7 });
            Command::FindLate(LateFind {
                query: vec![1, 2, 3],
                salt: salt(seed),
                size,
                root: Digest::ZERO,
                results: results.collect(),
            })
        }
        HistoryStep::Attest { intent, outcome, cited, shown } => Command::Attest(Attestation {
            intent: format!("intent{intent}"),
            outcome: Outcome::ALL[usize::from(*outcome)],
            reason: None,
            cited: cited.iter().map(|i| pinned(*i)).collect(),
            retrieved: shown.iter().map(|i| pick(*i)).collect(),
            bundle: None,
        }),
        HistoryStep::Compact(kept, stubs) => Command::Compact(Compaction {
            intent: "intent".into(),
            step: format!("step{}", n % 3),
            budget: 100,
            kept: kept.iter().map(|i| pinned(*i)).collect(),
            stubs: stubs.iter().map(|i| Stub { memory: pinned(*i), score: 5 }).collect(),
            tokens: 50,
        }),
        HistoryStep::SessionStart(s) => Command::SessionStart(SessionDraft {
            session: format!("s{s}"),
            project: Some("project0".into()),
            directory: None,
            agent: Some("tester".into()),
        }),
        HistoryStep::SessionEnd(s, summary) => Command::SessionEnd(SessionClose {
            session: format!("s{s}"),
            summary: summary.then(|| "what was done".into()),
            salt: salt(seed),
        }),
        HistoryStep::Prompt(text) => Command::Prompt(PromptDraft {
            session: None,
            project: None,
            text: text.clone(),
            salt: salt(seed),
        }),
        HistoryStep::Snapshot => Command::Snapshot(SnapshotDraft { reason: "test".into() }),
        HistoryStep::Grant(n) => {
            Command::ScopeGrant(GrantDraft { grant: grant(cortex, *n, time)? })
        }
        HistoryStep::Revoke(n) => {
            let grant = SignedGrant::decode(&grant(cortex, *n, time)?)?.id();
            Command::ScopeRevoke(Revocation { grant, reason: "test".into() })
        }
        HistoryStep::Violation => Command::ScopeViolation(Violation {
            grant: Digest::ZERO,
            operation: "read".into(),
            memory: None,
            reason: "outside the grant".into(),
        }),
        HistoryStep::MindRun => {
            made.run = Some("run1".into());
            Command::MindRun(MindRunDraft {
                run: "run1".into(),
                job: "decay".into(),
                phase: MindRunPhase::Started,
                reason: None,
            })
        }
        HistoryStep::PastForget(n) => Command::PastForget(PastForgetDraft {
            subject: Digest::of("past", &[&[*n]]),
            members: vec![Digest::of("past member", &[&[*n]])],
            reason: "private".into(),
        }),
        HistoryStep::PastRestore(n) => {
            Command::PastRestore(PastRestoreDraft { subject: Digest::of("past", &[&[*n]]) })
        }
        HistoryStep::Migration => {
            Command::Migration(MigrationDraft { component: "text".into(), from: 1, to: 2 })
        }
        HistoryStep::Retry(key, text) => {
            made.idempotency_key = Some(format!("key{key}"));
            let draft = Draft::new(body(MemoryType::Fact, text, "retried"), salt(seed));
            Command::Write(Box::new(draft))
        }
    };
    Ok(Submission { stamp: made, command, authority: None })
}

/// A grant pinned to the latest snapshot, by fixed keys.
fn grant(cortex: &Cortex, n: u8, time: i64) -> Result<Vec<u8>> {
    let reading = cortex.read()?;
    let last = reading.view().counters()?.snapshot;
    let manifest = last.map(|s| reading.view().snapshot(s.number)).transpose()?.flatten();
    let (root, size) = manifest.map_or((Digest::ZERO, 0), |m| (m.root, m.size));
    let key = ed25519_dalek::SigningKey::from_bytes(&[n; 32]);
    let include = Selector { types: vec![MemoryType::Fact], ..Selector::default() };
    let grant = Grant {
        schema: SCHEMA,
        actor: cortex.actor().as_str().to_owned(),
        issuer: key.verifying_key().to_bytes(),
        audience: [n; 32],
        audience_name: "delegate".into(),
        operations: vec![Permission::Read],
        include,
        exclude: None,
        issued: at(time),
        expires: at(time + 3_600),
        use_limit: Some(3),
        budget_tokens: None,
        parent: None,
        nonce: [n; 16],
        root,
        size,
    };
    Ok(SignedGrant::sign(grant, &key)?.to_bytes())
}

/// Runs one step. A refusal is an outcome like any other.
pub fn run(cortex: &Cortex, n: usize, step: &HistoryStep) -> Result<kernel::command::Receipt> {
    cortex.submit(request(cortex, n, step)?)
}

/// Every row that is state: the journal with its bodies, and all that is derived from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDump {
    pub truth: BTreeMap<Vec<u8>, Vec<u8>>,
    pub derived: BTreeMap<Vec<u8>, Vec<u8>>,
}

pub fn dump(cortex: &Cortex) -> StateDump {
    let reading = cortex.read().expect("a readable store");
    let view = reading.view();
    let mut dump = StateDump::default();
    view.scan_truth(&KeyRange::all(), &mut |key, value| {
        dump.truth.insert(key.to_vec(), value.to_vec());
        Ok(ControlFlow::Continue(()))
    })
    .expect("a readable journal");
    view.scan(&KeyRange::all(), &mut |key, value| {
        dump.derived.insert(key.to_vec(), value.to_vec());
        Ok(ControlFlow::Continue(()))
    })
    .expect("readable state");
    dump
}
