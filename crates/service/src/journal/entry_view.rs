//! A journal entry as answers show it: every kind, with everything it carries.
//!
//! `kind` is the kind of the entry (write, update …), here as in the activity over HTTP. What the entry says of a
//! memory has the words of every answer: `type`, `memory_type`, `session_id`.

use api::journal::JournalEntry;

use kernel::digest::encode_hex;
use kernel::grants::SignedGrant;
use kernel::journal::{Entry, HeadPatch, Payload, Weights};
use kernel::memory::{Millis, PinnedVersion, Provenance};
use serde_json::{Map, Value, json};

use crate::activity::phase;
use crate::parse::from_ppm;
use crate::views::pinned;

/// The whole entry, without a line for people.
pub(super) fn entry_view(entry: &Entry, payload: &Payload) -> JournalEntry {
    JournalEntry {
        seq: entry.seq,
        kind: entry.kind.name().to_owned(),
        at: entry.at.rfc3339(),
        by: entry.by.clone(),
        run: entry.run.clone(),
        idempotency_key: entry.idempotency.as_ref().map(|used| used.key.clone()),
        payload: payload_view(payload),
        summary: String::new(),
    }
}

/// What stands in a list where an entry does not read.
pub(super) fn damaged(seq: u64) -> JournalEntry {
    JournalEntry {
        seq,
        kind: "damaged".to_owned(),
        summary: "does not read; `cortex verify` says why, a backup has it".to_owned(),
        ..JournalEntry::default()
    }
}

/// What the entry says, without what is not set.
fn payload_view(payload: &Payload) -> Map<String, Value> {
    let mut view = match payload {
        Payload::Write(p) => json!({
            "type": p.kind, "memory_type": p.memory_type.name(),
            "body_hash": p.body_hash.to_string(),
            "project": p.project, "scope": p.scope.name(), "visibility": p.visibility.name(),
            "pinned": p.pinned, "tags": p.tags, "topic_key": p.topic_key,
            "session_id": p.session, "channel": p.channel, "importance": from_ppm(p.importance),
            "provenance": provenance(&p.provenance), "confidence": from_ppm(p.confidence),
            "valid_from": time(p.valid_from), "valid_until": time(p.valid_until),
            "expires": time(p.expires),
        }),
        Payload::Update(p) => json!({
            "id": p.id.get(), "version": p.version, "body_hash": p.body_hash.to_string(),
            "provenance": provenance(&p.provenance), "confidence": from_ppm(p.confidence),
            "valid_from": time(p.valid_from), "valid_until": time(p.valid_until),
            "expires": time(p.expires), "changes": patch(&p.patch),
        }),
        Payload::UpdateHead(p) => {
            json!({"id": p.id.get(), "changes": patch(&p.patch), "reason": p.reason})
        }
        Payload::Tombstone(p) => json!({"id": p.id.get(), "reason": p.reason}),
        Payload::Restore(p) => json!({"id": p.id.get(), "reason": p.reason}),
        Payload::Erase(p) => json!({"id": p.id.get(), "reason": p.reason}),
        Payload::AddEdge(p) => json!({
            "src": p.src.get(), "relation": p.relation.name(), "dst": p.dst.get(),
            "weight": from_ppm(p.weight),
        }),
        Payload::RemoveEdge(p) => json!({
            "src": p.src.get(), "relation": p.relation.name(), "dst": p.dst.get(),
            "reason": p.reason,
        }),
        Payload::Touch(p) => json!({
            "accesses": p.accesses.iter()
                .map(|a| json!({"id": a.id.get(), "count": a.count, "at": a.at.rfc3339()}))
                .collect::<Vec<_>>(),
            "shown": p.shown.iter().flatten()
                .map(|a| json!({"id": a.id.get(), "count": a.count, "at": a.at.rfc3339()}))
                .collect::<Vec<_>>(),
            "grants": p.grants.iter()
                .map(|g| json!({"grant": g.grant.to_string(), "uses": g.uses}))
                .collect::<Vec<_>>(),
        }),
        Payload::FindLate(p) => json!({
            "query_hash": p.query_hash.to_string(), "size": p.size, "root": p.root.to_string(),
            "results": p.results.iter()
                .map(|r| json!({"id": r.id.get(), "version": r.version, "score": from_ppm(r.score)}))
                .collect::<Vec<_>>(),
        }),
        Payload::Attest(p) => json!({
            "intent": p.intent, "outcome": p.outcome.name(), "reason": p.reason,
            "cited": pins(&p.cited),
            "uncited": p.uncited.iter().map(|id| id.get()).collect::<Vec<_>>(),
            "bundle": p.bundle.map(|digest| digest.to_string()),
        }),
        Payload::LearnWeights(p) => json!({
            "attest": p.attest_seq, "previous": weights(&p.previous), "next": weights(&p.next),
            "skipped": p.skipped,
        }),
        Payload::Compact(p) => json!({
            "intent": p.intent, "step": p.step, "budget": p.budget, "tokens": p.tokens,
            "kept": pins(&p.kept),
            "stubs": p.stubs.iter().map(|stub| pinned(&stub.memory)).collect::<Vec<_>>(),
        }),
        Payload::SessionStart(p) => json!({
            "session_id": p.session, "project": p.project, "directory": p.directory,
            "agent": p.agent,
        }),
        Payload::SessionEnd(p) => json!({
            "session_id": p.session,
            "summary_hash": p.summary_hash.map(|digest| digest.to_string()),
        }),
        Payload::Prompt(p) => json!({
            "session_id": p.session, "project": p.project,
            "body_hash": p.body_hash.to_string(),
        }),
        Payload::Snapshot(p) => json!({
            "number": p.number, "size": p.size, "root": p.root.to_string(),
            "journal_root": p.journal_root.to_string(), "memories_root": p.heads_root.to_string(),
            "edges_root": p.edges_root.to_string(),
            "previous": p.previous.map(|digest| digest.to_string()), "reason": p.reason,
            "memories": p.live, "forgotten": p.tombstoned, "edges": p.edges,
        }),
        Payload::ScopeGrant(p) => match SignedGrant::decode(&p.grant) {
            Ok(signed) => json!({"id": p.id.to_string(), "grant": signed.grant().describe()}),
            Err(_) => json!({"id": p.id.to_string(), "bytes": encode_hex(&p.grant)}),
        },
        Payload::ScopeRevoke(p) => json!({"grant": p.grant.to_string(), "reason": p.reason}),
        Payload::ScopeViolation(p) => json!({
            "grant": p.grant.to_string(), "operation": p.operation,
            "id": p.memory.map(kernel::memory::MemoryId::get), "reason": p.reason,
        }),
        Payload::MindRun(p) => json!({
            "run": p.run, "job": p.job, "phase": phase(p.phase), "reason": p.reason,
        }),
        Payload::PastForget(p) => json!({
            "subject": p.subject.to_string(), "members": p.members.len(), "reason": p.reason,
        }),
        Payload::PastRestore(p) => json!({"subject": p.subject.to_string()}),
        Payload::Migration(p) => json!({"component": p.component, "from": p.from, "to": p.to}),
    };
    prune(&mut view);
    match view {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn time(time: Option<Millis>) -> Option<String> {
    time.map(Millis::rfc3339)
}

fn pins(list: &[PinnedVersion]) -> Vec<String> {
    list.iter().map(pinned).collect()
}

fn provenance(provenance: &Provenance) -> Value {
    json!({
        "source": provenance.source.name(), "derived_from": pins(&provenance.derived_from),
        "model": provenance.model, "origin": provenance.origin,
    })
}

/// The weights of salience by name, as parts of one.
fn weights(weights: &Weights) -> Value {
    json!(crate::attest::weights_view(weights))
}

fn patch(patch: &HeadPatch) -> Value {
    json!({
        "type": patch.kind, "project": patch.project,
        "scope": patch.scope.map(kernel::memory::Scope::name),
        "visibility": patch.visibility.map(kernel::memory::Visibility::name),
        "pinned": patch.pinned, "archived": patch.archived, "tags": patch.tags,
        "topic_key": patch.topic_key, "session_id": patch.session, "channel": patch.channel,
        "importance": patch.importance.map(from_ppm), "duplicates": patch.duplicates,
    })
}

/// Takes out what is null, so that only what was said is shown.
fn prune(value: &mut Value) {
    if let Value::Object(object) = value {
        let old: Map<String, Value> = std::mem::take(object);
        for (name, mut value) in old {
            prune(&mut value);
            if !value.is_null() && value != json!({}) {
                object.insert(name, value);
            }
        }
    }
}
