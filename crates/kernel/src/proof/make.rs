//! Making proof files from a view of the store, for the state now or as of a kept snapshot.

use super::file::{Claim, MemoryClaim, ProofFile, SliceClaim, SliceRecord, SnapshotClaim};
use crate::actor::ActorName;
use crate::commitments::roots_at;
use crate::error::{Error, Result};
use crate::journal::{Manifest, SCHEMA};
use crate::keys;
use crate::memory::{Head, MemoryId, MemoryType, Relation};
use crate::merkle::{self, EDGES, HEADS, Roots};
use crate::scope::Gate;
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
        Subject::Memory(id) => match state.head(id)? {
            Some(head) => memory_claim(&state, head)?,
            None => {
                let keys: Vec<_> = MemoryType::ALL
                    .map(|memory_type| merkle::head_key(memory_type.code(), id.get()))
                    .to_vec();
                Claim::NoMemory(id, merkle::multi_prove(view, HEADS, &keys, state.number())?)
            }
        },
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
    let seq = manifest.size + 1;
    let entry = view
        .entry_bytes(seq)?
        .ok_or_else(|| Error::corrupt(format!("entry {seq}"), "is missing"))?;
    let size = now.roots.size;
    let claim = SnapshotClaim {
        entry,
        entry_proof: merkle::log_proof::inclusion(view, manifest.size, size)?,
        consistency: merkle::log_proof::consistency(view, manifest.size, size)?,
    };
    Ok(file(actor, now.roots, Claim::AppendOnly(Box::new(claim))))
}

/// Proves which memories of some types exist and shows those that the gate lets through.
pub fn prove_slice(
    view: &View<'_>,
    actor: &ActorName,
    types: &[MemoryType],
    gate: Option<&dyn Gate>,
) -> Result<ProofFile> {
    let state = state(view, None)?;
    let mut slice = SliceClaim { types: Vec::new(), records: Vec::new() };
    let mut types = types.to_vec();
    types.sort_unstable();
    types.dedup();
    for memory_type in types {
        let prefix = merkle::heads_of_type(memory_type.code());
        slice.types.push((memory_type, merkle::slice_prove(view, HEADS, &prefix, None)?));
        let mut ids = Vec::new();
        view.scan_index(&keys::by_type(memory_type), None, false, &mut |id| {
            ids.push(id);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        for id in ids {
            let head = view.required_head(id)?;
            if gate.is_none_or(|gate| gate.sees(&head)) {
                let version = view.required_version(id, head.version)?;
                let sealed = view.sealed(version.seq)?;
                slice.records.push(SliceRecord { head, version, sealed });
            }
        }
    }
    Ok(file(actor, state.roots, Claim::Slice(slice)))
}

fn file(actor: &ActorName, roots: Roots, claim: Claim) -> ProofFile {
    ProofFile { schema: SCHEMA, actor: actor.as_str().to_owned(), roots, claim }
}
