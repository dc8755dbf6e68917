//! The proof file: canonical CBOR, one claim, everything needed to check it.

use minicbor::{Decode, Encode};

use crate::codec;
use crate::error::{Error, Result};
use crate::memory::{Edge, Head, MemoryId, MemoryType, Relation, SealedBody, Version};
use crate::merkle::{ConsistencyProof, InclusionProof, MultiProof, Roots, SliceProof, TreeProof};

/// Bytes of a proof or slice file that a verifier reads.
pub const PROOF_BYTES_MAX: u64 = 256 * 1_048_576;

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ProofFile {
    #[n(0)]
    pub schema: u32,
    #[n(1)]
    pub actor: String,
    /// The state the claim is about.
    #[n(2)]
    pub roots: Roots,
    #[n(3)]
    pub claim: Claim,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Claim {
    /// This memory, in this version, says this.
    #[n(1)]
    Memory(#[n(0)] Box<MemoryClaim>),
    /// No memory of any type has this id.
    #[n(2)]
    NoMemory(#[n(0)] MemoryId, #[n(1)] MultiProof),
    #[n(3)]
    Edge(#[n(0)] Box<Edge>, #[n(1)] TreeProof),
    #[n(4)]
    NoEdge(#[n(0)] MemoryId, #[n(1)] Relation, #[n(2)] MemoryId, #[n(3)] TreeProof),
    /// The journal of an earlier snapshot is a prefix of this one: nothing was rewritten since.
    #[n(5)]
    AppendOnly(#[n(0)] Box<AppendOnlyClaim>),
    /// These memories are there; of some types, these are all there are.
    #[n(6)]
    Slice(#[n(0)] SliceClaim),
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct MemoryClaim {
    #[n(0)]
    pub head: Head,
    #[n(1)]
    pub version: Version,
    /// Absent when the content was erased.
    #[n(2)]
    pub sealed: Option<SealedBody>,
    #[n(3)]
    pub head_proof: TreeProof,
    /// The journal entry that wrote this version.
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    pub entry: Vec<u8>,
    #[n(5)]
    pub entry_proof: InclusionProof,
}

/// The snapshot is shown by the journal entry that made it, which lies in the journal it vouches for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct AppendOnlyClaim {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub entry: Vec<u8>,
    #[n(1)]
    pub entry_proof: InclusionProof,
    #[n(2)]
    pub consistency: ConsistencyProof,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct SliceClaim {
    /// One complete list of leaves per type.
    #[n(0)]
    pub types: Vec<(MemoryType, SliceProof)>,
    /// Ascending by id.
    #[n(1)]
    pub records: Vec<SliceRecord>,
    /// That the records of other types are there.
    #[n(2)]
    pub others: Option<MultiProof>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct SliceRecord {
    #[n(0)]
    pub head: Head,
    #[n(1)]
    pub version: Version,
    #[n(2)]
    pub sealed: Option<SealedBody>,
}

impl ProofFile {
    pub fn to_bytes(&self) -> Vec<u8> {
        codec::encode(self)
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<ProofFile> {
        if bytes.len() as u64 > PROOF_BYTES_MAX {
            let max = usize::try_from(PROOF_BYTES_MAX).unwrap_or(usize::MAX);
            return Err(Error::TooLarge { field: "proof", size: bytes.len(), max });
        }
        codec::decode("proof file", bytes).map_err(|error| Error::ProofRefused(error.to_string()))
    }
}
