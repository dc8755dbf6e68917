//! Proofs: a file that convinces somebody who has nothing but a root, and the root itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::proof::{Subject, check, prove};
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::Result;
use super::read::memory_id;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProveRequest {
    pub id: u64,
    /// For the state of this snapshot instead of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProveAnswer {
    pub id: u64,
    /// False: it proves that no memory has this id.
    pub exists: bool,
    pub root: String,
    /// Journal entries the root covers.
    pub size: u64,
    /// The file, in base64; `cortex verify-proof` checks it.
    pub proof: String,
    pub bytes: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RootRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootAnswer {
    pub actor: String,
    pub root: String,
    pub size: u64,
}

impl Ops {
    pub fn prove(&self, caller: &Caller, request: ProveRequest) -> Result<ProveAnswer> {
        let id = memory_id(request.id)?;
        let (cortex, reading) = self.reading(caller)?;
        let file = prove(&reading.view(), cortex.actor(), Subject::Memory(id), request.snapshot)?;
        // A proof that cannot be checked must not leave the house.
        let checked = check(&file)?;
        let bytes = file.to_bytes();
        Ok(ProveAnswer {
            id: id.get(),
            exists: matches!(checked.fact, kernel::proof::Fact::Memory { .. }),
            root: checked.root.to_string(),
            size: checked.size,
            bytes: bytes.len(),
            proof: STANDARD.encode(bytes),
        })
    }

    pub fn root(&self, caller: &Caller, _: RootRequest) -> Result<RootAnswer> {
        let (_, reading) = self.reading(caller)?;
        Ok(RootAnswer {
            actor: caller.actor.as_str().to_owned(),
            root: reading.root()?.to_string(),
            size: reading.view().counters()?.size,
        })
    }
}
