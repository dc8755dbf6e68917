//! Checking a proof file: pure, total, and blind to everything but the file.

use std::collections::BTreeMap;

use super::file::{Claim, MemoryClaim, ProofFile, SliceClaim, SnapshotClaim};
use crate::actor::ActorName;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::journal::{Entry, Manifest, Payload, SCHEMA};
use crate::memory::{Body, Edge, Head, MemoryId, MemoryType, Relation, Sealed, Version};
use crate::merkle::{self, Roots};

/// What a file proves, once it has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub actor: ActorName,
    /// The root everything was recomputed to. Compare it with one you trust.
    pub root: Digest,
    pub size: u64,
    pub fact: Fact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    Memory { head: Box<Head>, version: Box<Version>, body: Option<Box<Body>> },
    NoMemory { id: MemoryId },
    Edge { edge: Box<Edge> },
    NoEdge { src: MemoryId, relation: Relation, dst: MemoryId },
    AppendOnly { since: Box<Manifest> },
    Slice { types: Vec<MemoryType>, shown: usize, hidden: usize },
}

/// Checks every hash of a proof. Any doubt is `ProofRefused`.
pub fn check(file: &ProofFile) -> Result<Checked> {
    if file.schema != SCHEMA {
        return Err(Error::Schema { found: file.schema, expected: SCHEMA });
    }
    let actor = ActorName::parse(&file.actor).map_err(|error| refused(error.to_string()))?;
    let roots = &file.roots;
    let fact = match &file.claim {
        Claim::Memory(claim) => memory(roots, claim)?,
        Claim::NoMemory(id, proof) => {
            let claims: Vec<_> = MemoryType::ALL
                .map(|memory_type| (merkle::head_key(memory_type.code(), id.get()), None))
                .to_vec();
            merkle::verify_multi(&roots.heads, &claims, proof)?;
            Fact::NoMemory { id: *id }
        }
        Claim::Edge(edge, proof) => {
            let key = merkle::edge_key(edge.src.get(), edge.relation.code(), edge.dst.get());
            merkle::verify(&roots.edges, &key, Some(&edge.leaf_hash()), proof)?;
            Fact::Edge { edge: edge.clone() }
        }
        Claim::NoEdge(src, relation, dst, proof) => {
            let key = merkle::edge_key(src.get(), relation.code(), dst.get());
            merkle::verify(&roots.edges, &key, None, proof)?;
            Fact::NoEdge { src: *src, relation: *relation, dst: *dst }
        }
        Claim::AppendOnly(claim) => append_only(&actor, roots, claim)?,
        Claim::Slice(slice) => check_slice(roots, slice)?,
    };
    Ok(Checked { root: roots.overall(actor.as_str()), size: roots.size, actor, fact })
}

fn memory(roots: &Roots, claim: &MemoryClaim) -> Result<Fact> {
    let MemoryClaim { head, version, sealed, .. } = claim;
    let key = merkle::head_key(head.memory_type.code(), head.id.get());
    merkle::verify(&roots.heads, &key, Some(&head.leaf_hash()), &claim.head_proof)?;
    let body = check_record(head, version, sealed.as_ref())?;

    let entry = Entry::from_bytes(&claim.entry).map_err(|error| refused(error.to_string()))?;
    let index = version.seq.checked_sub(1).ok_or_else(|| refused("entry 0 does not exist"))?;
    let leaf = merkle::log::leaf_hash(&claim.entry);
    merkle::verify_inclusion(&leaf, index, roots.size, &claim.entry_proof, &roots.journal)?;
    let written = match entry.payload().map_err(|error| refused(error.to_string()))? {
        Payload::Write(write) => (MemoryId::new(entry.seq), 1, write.body_hash),
        Payload::Update(update) => (Some(update.id), update.version, update.body_hash),
        _ => return Err(refused("the entry does not write a version")),
    };
    if entry.seq != version.seq || written != (Some(head.id), version.n, version.body_hash) {
        return Err(refused("the entry wrote another version"));
    }
    Ok(Fact::Memory {
        head: Box::new(head.clone()),
        version: Box::new(version.clone()),
        body: body.map(Box::new),
    })
}

/// Head, version and body belong together.
fn check_record(head: &Head, version: &Version, sealed: Option<&Sealed>) -> Result<Option<Body>> {
    if version.id != head.id || version.n != head.version || version.hash() != head.version_hash {
        return Err(refused("the version is not the one the head names"));
    }
    match sealed {
        // Erased, now or after the snapshot the proof is about: the hashes still stand, the text is gone.
        None => Ok(None),
        Some(sealed) if sealed.hash() != version.body_hash => {
            Err(refused("the body is not the one the version names"))
        }
        Some(sealed) => sealed.open().map(Some).map_err(|error| refused(error.to_string())),
    }
}

fn append_only(actor: &ActorName, roots: &Roots, claim: &SnapshotClaim) -> Result<Fact> {
    let entry = Entry::from_bytes(&claim.entry).map_err(|error| refused(error.to_string()))?;
    let payload = entry.payload().map_err(|error| refused(error.to_string()))?;
    let Payload::Snapshot(manifest) = payload else {
        return Err(refused("the entry is not a snapshot"));
    };
    if manifest.size.checked_add(1) != Some(entry.seq) {
        return Err(refused("the snapshot does not cover what comes before it"));
    }
    let leaf = merkle::log::leaf_hash(&claim.entry);
    let (index, proof) = (manifest.size, &claim.entry_proof);
    merkle::verify_inclusion(&leaf, index, roots.size, proof, &roots.journal)?;
    let then = Roots {
        size: manifest.size,
        journal: manifest.journal_root,
        heads: manifest.heads_root,
        edges: manifest.edges_root,
    };
    if manifest.actor != actor.as_str() || then.overall(actor.as_str()) != manifest.root {
        return Err(refused("the snapshot does not have the root it names"));
    }
    let (size, journal) = (roots.size, &roots.journal);
    merkle::verify_consistency(then.size, &then.journal, size, journal, &claim.consistency)?;
    Ok(Fact::AppendOnly { since: Box::new(manifest) })
}

fn check_slice(roots: &Roots, slice: &SliceClaim) -> Result<Fact> {
    let mut leaves = BTreeMap::new();
    let mut types = Vec::new();
    for (memory_type, proof) in &slice.types {
        let prefix = merkle::heads_of_type(memory_type.code());
        leaves.extend(merkle::verify_slice(&roots.heads, &prefix, proof)?);
        types.push(*memory_type);
    }
    let listed = leaves.len();
    for record in &slice.records {
        let key = merkle::head_key(record.head.memory_type.code(), record.head.id.get());
        if leaves.remove(&key) != Some(record.head.leaf_hash()) {
            return Err(refused(format!("memory {} is not in the slice", record.head.id)));
        }
        check_record(&record.head, &record.version, record.sealed.as_ref())?;
    }
    let shown = slice.records.len();
    Ok(Fact::Slice { types, shown, hidden: listed - shown })
}

fn refused(reason: impl Into<String>) -> Error {
    Error::ProofRefused(reason.into())
}
