//! One immutable version of a memory: which body, by whom, from what, and when it was true.

use minicbor::{Decode, Encode};

use super::body::words;
use super::{MemoryId, Millis};
use crate::codec;
use crate::digest::Digest;

words!(
    /// Where a memory came from.
    Source { User = 1 "user", Derived = 2 "derived", Observed = 3 "observed", Imported = 4 "imported" }
);

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Version {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub n: u32,
    #[n(2)]
    pub body_hash: Digest,
    #[n(3)]
    pub created: Millis,
    #[n(4)]
    pub by: String,
    #[n(5)]
    pub provenance: Provenance,
    /// Parts per million.
    #[n(6)]
    pub confidence: u32,
    /// When it became true in the world; the time of writing if absent.
    #[n(7)]
    pub valid_from: Option<Millis>,
    /// When it stopped being true; half-open.
    #[n(8)]
    pub valid_until: Option<Millis>,
    #[n(9)]
    pub expires: Option<Millis>,
    /// The journal entry the body lies beside.
    #[n(10)]
    pub seq: u64,
}

impl Version {
    /// What the head holds of its current version.
    pub fn hash(&self) -> Digest {
        Digest::of("cortex/version/1", &[&codec::encode(self)])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Provenance {
    #[n(0)]
    pub source: Source,
    #[n(1)]
    pub derived_from: Vec<PinnedVersion>,
    /// The model that wrote it, if one did.
    #[n(2)]
    pub model: Option<String>,
    /// Its name where it was imported from.
    #[n(3)]
    pub origin: Option<String>,
}

impl Provenance {
    pub fn user() -> Provenance {
        Provenance { source: Source::User, derived_from: Vec::new(), model: None, origin: None }
    }
}

/// A memory at a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(map)]
pub struct PinnedVersion {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub version: u32,
}
