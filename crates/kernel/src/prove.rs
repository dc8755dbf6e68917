//! Making proof files from a view of the store, for the state now or as of a kept snapshot.

use std::collections::BTreeSet;

use proof::actor::ActorName;
use proof::journal::{Manifest, SCHEMA};
use proof::memory::{Head, MemoryId, MemoryType, Relation};
use proof::merkle::{self, EDGES, HEADS, Roots};
use proof::{AppendOnlyClaim, Claim, MemoryClaim, ProofFile, SliceClaim, SliceRecord};

use crate::commitments::roots_at;
use crate::error::{Error, Result};
use crate::grants::Gate;
use crate::keys;
use crate::limits::SLICE_RECORDS_MAX;
use crate::store::View;

/// What a proof is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Memory(MemoryId),
    Edge(MemoryId, Relation, MemoryId),
}

/// The state a proof is made against.
struct State<'a> {
    view: &'a View<'a>,
    roots: Roots,
    snapshot: Option<Manifest>,
}

impl State<'_> {
    fn number(&self) -> Option<u64> {
        self.snapshot.as_ref().map(|manifest| manifest.number)
    }

    fn head(&self, id: MemoryId) -> Result<Option<Head>> {
        match &self.snapshot {
            // The snapshot entry itself comes right after what it covers.
            Some(manifest) => self.view.head_at(id, manifest.number, manifest.size + 1),
            None => self.view.head(id),
        }
    }
}

fn state<'a>(view: &'a View<'a>, at_snapshot: Option<u64>) -> Result<State<'a>> {
    let Some(number) = at_snapshot else {
        let roots = roots_at(view, view.counters()?.size)?;
        return Ok(State { view, roots, snapshot: None });
    };
    let manifest = view.snapshot(number)?.ok_or_else(|| Error::not_found("snapshot", number))?;
    let roots = Roots {
        size: manifest.size,
        journal: manifest.journal_root,
        heads: manifest.heads_root,
        edges: manifest.edges_root,
    };
    Ok(State { view, roots, snapshot: Some(manifest) })
}

/// Proves that a memory or edge is there as it is, or that it is not there.
pub fn prove(
    view: &View<'_>,
    actor: &ActorName,
    subject: Subject,
    at_snapshot: Option<u64>,
) -> Result<ProofFile> {
    let state = state(view, at_snapshot)?;
    let claim = match subject {
        Subject::Memory(id) => {
            if let Some(head) = state.head(id)? {
                memory_claim(&state, head)?
            } else {
                let keys = MemoryType::ALL.map(|t| merkle::head_key(t.code(), id.get()));
                Claim::NoMemory(id, merkle::multi_prove(view, HEADS, &keys, state.number())?)
            }
        }
        Subject::Edge(src, relation, dst) => edge_claim(&state, src, relation, dst)?,
    };
    Ok(file(actor, state.roots, claim))
}

fn memory_claim(state: &State<'_>, head: Head) -> Result<Claim> {
    let view = state.view;
    let version = view.required_version(head.id, head.version)?;
    let key = merkle::head_key(head.memory_type.code(), head.id.get());
    let entry = view
        .entry_bytes(version.seq)?
        .ok_or_else(|| Error::corrupt(format!("entry {}", version.seq), "is missing"))?;
    let index = version.seq - 1;
    Ok(Claim::Memory(Box::new(MemoryClaim {
        head_proof: merkle::prove(view, HEADS, &key, state.number())?,
        sealed: view.sealed(version.seq)?,
        entry,
        entry_proof: merkle::log_proof::inclusion(view, index, state.roots.size)?,
        head,
        version,
    })))
}

fn edge_claim(
    state: &State<'_>,
    src: MemoryId,
    relation: Relation,
    dst: MemoryId,
) -> Result<Claim> {
    if state.snapshot.is_some() {
        // Edges are not kept for snapshots; only their tree is.
        return Err(Error::invalid("edge", "an edge can only be proved for the current state"));
    }
    let key = merkle::edge_key(src.get(), relation.code(), dst.get());
    let proof = merkle::prove(state.view, EDGES, &key, None)?;
    Ok(match state.view.edge(src, relation, dst)? {
        Some(edge) => Claim::Edge(Box::new(edge), proof),
        None => Claim::NoEdge(src, relation, dst, proof),
    })
}

/// Proves that nothing was rewritten since a snapshot.
pub fn prove_since(view: &View<'_>, actor: &ActorName, snapshot: u64) -> Result<ProofFile> {
    let manifest =
        view.snapshot(snapshot)?.ok_or_else(|| Error::not_found("snapshot", snapshot))?;
    let now = state(view, None)?;
    // The snapshot entry comes right after what it covers.
    let seq = manifest.size + 1;
    let entry = view
        .entry_bytes(seq)?
        .ok_or_else(|| Error::corrupt(format!("entry {seq}"), "is missing"))?;
    let claim = AppendOnlyClaim {
        entry,
        entry_proof: merkle::log_proof::inclusion(view, manifest.size, now.roots.size)?,
        consistency: merkle::log_proof::consistency(view, manifest.size, now.roots.size)?,
    };
    Ok(file(actor, now.roots, Claim::AppendOnly(Box::new(claim))))
}

/// Shows the memories that the gate lets through, and proves for each of `types` that the list of its memories is
/// complete. Without types there is no such list: the memories are only proved to be there.
pub fn prove_slice(
    view: &View<'_>,
    actor: &ActorName,
    types: &[MemoryType],
    gate: Option<&dyn Gate>,
    at_snapshot: Option<u64>,
) -> Result<ProofFile> {
    let state = state(view, at_snapshot)?;
    let complete: BTreeSet<MemoryType> = types.iter().copied().collect();
    let shown = if complete.is_empty() { MemoryType::ALL.to_vec() } else { types.to_vec() };
    let records = records(&state, &shown.into_iter().collect(), gate)?;
    let mut slice = SliceClaim { types: Vec::new(), records, others: None };
    for memory_type in &complete {
        let prefix = merkle::heads_of_type(memory_type.code());
        let proof = merkle::slice_prove(view, HEADS, &prefix, state.number())?;
        slice.types.push((*memory_type, proof));
    }
    let others: Vec<_> = slice
        .records
        .iter()
        .filter(|record| !complete.contains(&record.head.memory_type))
        .map(|record| merkle::head_key(record.head.memory_type.code(), record.head.id.get()))
        .collect();
    if !others.is_empty() {
        slice.others = Some(merkle::multi_prove(view, HEADS, &others, state.number())?);
    }
    Ok(file(actor, state.roots, Claim::Slice(slice)))
}

/// Records of some types that the gate sees, as they were then and as they are now: what was hidden since stays hidden.
fn records(
    state: &State<'_>,
    types: &BTreeSet<MemoryType>,
    gate: Option<&dyn Gate>,
) -> Result<Vec<SliceRecord>> {
    let view = state.view;
    let mut ids = Vec::new();
    for memory_type in types {
        view.scan_index(&keys::by_type(*memory_type), None, false, &mut |id| {
            ids.push(id);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
    }
    ids.sort_unstable();
    let mut records = Vec::new();
    for id in ids {
        let (Some(head), Some(now)) = (state.head(id)?, view.head(id)?) else { continue };
        if gate.is_none_or(|gate| gate.sees(&head) && gate.sees(&now)) {
            if records.len() == SLICE_RECORDS_MAX {
                let (count, max) = (SLICE_RECORDS_MAX + 1, SLICE_RECORDS_MAX);
                return Err(Error::TooMany { field: "slice", count, max });
            }
            let version = view.required_version(id, head.version)?;
            let sealed = view.sealed(version.seq)?;
            records.push(SliceRecord { head, version, sealed });
        }
    }
    Ok(records)
}

fn file(actor: &ActorName, roots: Roots, claim: Claim) -> ProofFile {
    ProofFile { schema: SCHEMA, actor: actor.as_str().to_owned(), roots, claim }
}
