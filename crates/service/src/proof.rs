//! Proofs: a file that convinces somebody who has nothing but a root, and the root itself.

use api::proof::{
    ProveAnswer, ProveRequest, ProvedMemory, RootAnswer, RootRequest, VerifyAnswer, VerifyRequest,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::Digest;
use kernel::prove::{Subject, prove};
use proof::{CheckedProof, ProofFile, ProvedFact, check};

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::read::memory_id;

impl Service {
    /// Checks a proof by itself. Nothing that is remembered here is looked at.
    pub fn verify_proof(&self, _: &Caller, request: VerifyRequest) -> Result<VerifyAnswer> {
        let trusted = request.root.as_deref().map(|text| text.trim().parse::<Digest>());
        let trusted = trusted
            .transpose()
            .map_err(|_| Error::invalid("root", "expected 64 hexadecimal digits"))?;
        let bytes = STANDARD
            .decode(request.proof.trim())
            .map_err(|error| Error::invalid("proof", format!("is not base64: {error}")))?;
        // Whatever is wrong with the file, it is the proof that is refused.
        let checked = ProofFile::from_bytes(&bytes).and_then(|file| check(&file)).map_err(
            |error| match error {
                proof::Error::ProofRefused(reason) => kernel::Error::ProofRefused(reason),
                other => kernel::Error::ProofRefused(other.to_string()),
            },
        )?;
        match trusted {
            Some(expected) if expected != checked.root => {
                Err(kernel::Error::RootMismatch { expected, found: checked.root }.into())
            }
            _ => Ok(verified(&checked)),
        }
    }

    pub fn prove(&self, caller: &Caller, request: ProveRequest) -> Result<ProveAnswer> {
        let id = memory_id(request.id)?;
        let (cortex, reading) = self.reading(caller)?;
        let file = prove(&reading.view(), cortex.actor(), Subject::Memory(id), request.snapshot)?;
        // A proof that cannot be checked must not leave the house.
        let checked = check(&file)?;
        let bytes = file.to_bytes();
        Ok(ProveAnswer {
            id: id.get(),
            exists: matches!(checked.fact, proof::ProvedFact::Memory { .. }),
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

fn verified(checked: &CheckedProof) -> VerifyAnswer {
    let claim = match &checked.fact {
        ProvedFact::Memory { .. } => "memory",
        ProvedFact::NoMemory { .. } => "no_memory",
        ProvedFact::Edge { .. } => "edge",
        ProvedFact::NoEdge { .. } => "no_edge",
        ProvedFact::AppendOnly { .. } => "append_only",
        ProvedFact::Slice { .. } => "slice",
    };
    let memory = match &checked.fact {
        ProvedFact::Memory { head, version, body: Some(body) } => Some(ProvedMemory {
            id: head.id.get(),
            version: version.n,
            title: body.title.clone(),
            kind: head.kind.clone(),
            memory_type: head.memory_type.name().to_owned(),
            content: body.content.clone(),
            forgotten: head.tombstone.is_some(),
            created_at: version.created.rfc3339(),
            by: version.by.clone(),
        }),
        _ => None,
    };
    VerifyAnswer {
        valid: true,
        actor: checked.actor.as_str().to_owned(),
        root: checked.root.to_string(),
        size: checked.size,
        claim: claim.to_owned(),
        memory,
    }
}
