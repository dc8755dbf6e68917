//! Proofs: a file that convinces somebody who has nothing but a root, and the root itself.

use api::proof::{
    ClaimAnswer, ClaimRequest, ProveAnswer, ProveRequest, ProvedMemory, RootAnswer, RootRequest,
    VerifyAnswer, VerifyRequest,
};
use api::{ErrorCode, Fault};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::Digest;
use kernel::grants::Permission;
use kernel::memory::{MemoryType, Relation};
use kernel::prove::{Subject, prove, prove_since, prove_slice};
use proof::{CheckedProof, ProofFile, ProvedFact, check};

use crate::Service;
use crate::access::only_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::find::signed_request;
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
                // Nothing here is damaged: two states are not the same.
                let differ = kernel::Error::RootMismatch { expected, found: checked.root };
                let told = api::Error::from(Error::from(differ));
                Err(api::Error { fault: Fault::Conflict, ..told }.into())
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

    /// A file for any claim.
    pub fn prove_claim(&self, caller: &Caller, request: ClaimRequest) -> Result<ClaimAnswer> {
        let file = self.claim_file(caller, request)?;
        // A proof that cannot be checked must not leave the house.
        let checked = check(&file)?;
        let bytes = file.to_bytes();
        Ok(ClaimAnswer {
            root: checked.root.to_string(),
            size: checked.size,
            claim: checked.fact.name().to_owned(),
            bytes: bytes.len(),
            proof: STANDARD.encode(bytes),
        })
    }

    fn claim_file(&self, caller: &Caller, request: ClaimRequest) -> Result<ProofFile> {
        let cortex = self.opened(caller)?;
        let actor = cortex.actor();
        if let ClaimRequest::Slice { types: names, snapshot } = &request {
            let types = names.iter().map(|name| MemoryType::parse(name));
            let mut types: Vec<MemoryType> = types.collect::<Result<_, proof::Error>>()?;
            let digest = signed_request(&[b"slice"]);
            if let Some(authority) = self.authority(caller, &cortex, Permission::Prove, digest)? {
                if !types.is_empty() || snapshot.is_some() {
                    let message = "a grant says itself which slice it proves; give --slice alone";
                    return Err(Error::new(ErrorCode::Usage, Fault::Caller, message));
                }
                return Ok(cortex.prove_slice_for(&authority, caller.now()?)?);
            }
            if types.is_empty() {
                types.extend(MemoryType::ALL);
            }
            return Ok(prove_slice(&cortex.read()?.view(), actor, &types, None, *snapshot)?);
        }
        only_owner(caller, "prove anything but a slice")?;
        let reading = cortex.read()?;
        let view = reading.view();
        Ok(match request {
            ClaimRequest::Since { snapshot } => prove_since(&view, actor, snapshot)?,
            ClaimRequest::Memory { id, snapshot } => {
                prove(&view, actor, Subject::Memory(memory_id(id)?), snapshot)?
            }
            ClaimRequest::Edge { src, relation, dst, snapshot } => {
                let relation = Relation::parse(&relation)?;
                let subject = Subject::Edge(memory_id(src)?, relation, memory_id(dst)?);
                prove(&view, actor, subject, snapshot)?
            }
            ClaimRequest::Slice { .. } => return Err(Error::internal("a slice was proved above")),
        })
    }

    /// A root tells nothing of what it covers, so a delegate may know it: it checks what it is shown against it.
    pub fn root(&self, caller: &Caller, _: RootRequest) -> Result<RootAnswer> {
        let reading = self.opened(caller)?.read()?;
        let roots = reading.roots()?;
        Ok(RootAnswer {
            actor: caller.actor.as_str().to_owned(),
            root: roots.overall(caller.actor.as_str()).to_string(),
            size: roots.size,
            journal_root: roots.journal.to_string(),
            memories_root: roots.heads.to_string(),
            edges_root: roots.edges.to_string(),
        })
    }
}

fn verified(checked: &CheckedProof) -> VerifyAnswer {
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
        claim: checked.fact.name().to_owned(),
        memory,
    }
}
