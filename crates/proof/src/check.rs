//! Checking a proof file: pure, total, and blind to everything but the file.

use std::collections::BTreeMap;

use crate::actor::ActorName;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::file::{AppendOnlyClaim, Claim, MemoryClaim, ProofFile, SliceClaim};
use crate::journal::{Entry, Manifest, Payload, SCHEMA};
use crate::memory::{Body, Edge, Head, MemoryId, MemoryType, Relation, SealedBody, Version};
use crate::merkle::{self, Roots};

/// What a file proves, once it has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedProof {
    pub actor: ActorName,
    /// The root everything was recomputed to. Compare it with one you trust.
    pub root: Digest,
    pub size: u64,
    pub fact: ProvedFact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProvedFact {
    Memory {
        head: Box<Head>,
        version: Box<Version>,
        body: Option<Box<Body>>,
    },
    NoMemory {
        id: MemoryId,
    },
    Edge {
        edge: Box<Edge>,
    },
    NoEdge {
        src: MemoryId,
        relation: Relation,
        dst: MemoryId,
    },
    AppendOnly {
        since: Box<Manifest>,
    },
    /// `types` are listed completely; `hidden` of them exist but are not shown.
    Slice {
        types: Vec<MemoryType>,
        shown: usize,
        hidden: usize,
    },
}

impl ProvedFact {
    /// A name for the kind of claim.
    pub fn name(&self) -> &'static str {
        match self {
            ProvedFact::Memory { .. } => "memory",
            ProvedFact::NoMemory { .. } => "no_memory",
            ProvedFact::Edge { .. } => "edge",
            ProvedFact::NoEdge { .. } => "no_edge",
            ProvedFact::AppendOnly { .. } => "append_only",
            ProvedFact::Slice { .. } => "slice",
        }
    }
}

/// Checks every hash of a proof. Any doubt is `ProofRefused`.
pub fn check(file: &ProofFile) -> Result<CheckedProof> {
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
            ProvedFact::NoMemory { id: *id }
        }
        Claim::Edge(edge, proof) => {
            let key = merkle::edge_key(edge.src.get(), edge.relation.code(), edge.dst.get());
            merkle::verify(&roots.edges, &key, Some(&edge.leaf_hash()), proof)?;
            ProvedFact::Edge { edge: edge.clone() }
        }
        Claim::NoEdge(src, relation, dst, proof) => {
            let key = merkle::edge_key(src.get(), relation.code(), dst.get());
            merkle::verify(&roots.edges, &key, None, proof)?;
            ProvedFact::NoEdge { src: *src, relation: *relation, dst: *dst }
        }
        Claim::AppendOnly(claim) => append_only(&actor, roots, claim)?,
        Claim::Slice(slice) => check_slice(roots, slice)?,
    };
    Ok(CheckedProof { root: roots.overall(actor.as_str()), size: roots.size, actor, fact })
}

fn memory(roots: &Roots, claim: &MemoryClaim) -> Result<ProvedFact> {
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
    Ok(ProvedFact::Memory {
        head: Box::new(head.clone()),
        version: Box::new(version.clone()),
        body: body.map(Box::new),
    })
}

/// Head, version and body belong together.
fn check_record(
    head: &Head,
    version: &Version,
    sealed: Option<&SealedBody>,
) -> Result<Option<Body>> {
    if version.id != head.id || version.n != head.version || version.hash() != head.version_hash {
        return Err(refused("the version is not the one the head names"));
    }
    match sealed {
        // The body was erased, now or after the snapshot the proof is about: the hashes still stand, the text is gone.
        None => Ok(None),
        Some(sealed) if sealed.hash() != version.body_hash => {
            Err(refused("the body is not the one the version names"))
        }
        Some(sealed) => sealed.open().map(Some).map_err(|error| refused(error.to_string())),
    }
}

fn append_only(actor: &ActorName, roots: &Roots, claim: &AppendOnlyClaim) -> Result<ProvedFact> {
    let entry = Entry::from_bytes(&claim.entry).map_err(|error| refused(error.to_string()))?;
    let payload = entry.payload().map_err(|error| refused(error.to_string()))?;
    let Payload::Snapshot(manifest) = payload else {
        return Err(refused("the entry is not a snapshot"));
    };
    let then = Roots {
        size: manifest.size,
        journal: manifest.journal_root,
        heads: manifest.heads_root,
        edges: manifest.edges_root,
    };
    if manifest.actor != actor.as_str()
        || then.overall(actor.as_str()) != manifest.root
        || Some(entry.seq) != manifest.size.checked_add(1)
    {
        return Err(refused("the snapshot does not have the root it names"));
    }
    let leaf = merkle::log::leaf_hash(&claim.entry);
    let (size, journal) = (roots.size, &roots.journal);
    merkle::verify_inclusion(&leaf, manifest.size, size, &claim.entry_proof, journal)?;
    merkle::verify_consistency(then.size, &then.journal, size, journal, &claim.consistency)?;
    Ok(ProvedFact::AppendOnly { since: Box::new(manifest) })
}

fn check_slice(roots: &Roots, slice: &SliceClaim) -> Result<ProvedFact> {
    let mut leaves = BTreeMap::new();
    let mut types = Vec::new();
    for (memory_type, proof) in &slice.types {
        let prefix = merkle::heads_of_type(memory_type.code());
        leaves.extend(merkle::verify_slice(&roots.heads, &prefix, proof)?);
        types.push(*memory_type);
    }
    if !types.is_sorted_by(|a, b| a < b) {
        return Err(refused("a type is listed twice"));
    }
    if !slice.records.is_sorted_by(|a, b| a.head.id < b.head.id) {
        return Err(refused("the records are not in order"));
    }
    let mut others = Vec::new();
    for record in &slice.records {
        let head = &record.head;
        let key = merkle::head_key(head.memory_type.code(), head.id.get());
        if !types.contains(&head.memory_type) {
            others.push((key, Some(head.leaf_hash())));
        } else if leaves.remove(&key) != Some(head.leaf_hash()) {
            return Err(refused(format!("memory {} is not in the slice", head.id)));
        }
        check_record(head, &record.version, record.sealed.as_ref())?;
    }
    match &slice.others {
        Some(proof) => merkle::verify_multi(&roots.heads, &others, proof)?,
        None if others.is_empty() => {}
        None => return Err(refused("the proof of some records is missing")),
    }
    Ok(ProvedFact::Slice { types, shown: slice.records.len(), hidden: leaves.len() })
}

fn refused(reason: impl Into<String>) -> Error {
    Error::ProofRefused(reason.into())
}
