//! Records, proof files, grants and journal payloads: whatever is canonical bytes.
//!
//! The law of all of them: what is read is written back to the same bytes.

use std::time::Duration;

use kernel::actor::ActorName;
use kernel::command::{Draft, Stamp};
use kernel::grants::{
    DelegateRequest, Grant, Permission, Presentation, Selector, SignedGrant, SignedRequest,
};
use kernel::memory::{Body, Fields, MemoryId, MemoryType, Millis, Salt};
use kernel::prove::{Subject, prove};
use kernel::{Cortex, Options};
use proof::codec;
use proof::journal::{Entry, EntryKind, Payload};
use proof::memory::{Edge, Head, SealedBody, Usage};
use proof::{ProofFile, check};

use super::{Outcome, shape};

pub(super) const MADE: &str = "a store in a temporary folder";
const NOW: Millis = Millis(1_767_225_600_000);

pub(super) fn owner() -> ActorName {
    ActorName::parse("ada").expect("a legal name")
}

/// A store with a memory of each type and a snapshot.
pub(super) fn with_store<T>(use_it: impl FnOnce(&Cortex) -> T) -> T {
    let folder = tempfile::tempdir().expect(MADE);
    let options = Options { wait: Duration::from_secs(5), ..Options::default() };
    let cortex = Cortex::open(folder.path(), &owner(), options).expect(MADE);
    for (n, memory_type) in MemoryType::ALL.into_iter().enumerate() {
        let body = Body {
            title: format!("memory {n}"),
            content: "Its words.".to_owned(),
            fields: Fields::empty(memory_type),
        };
        let n = u8::try_from(n).unwrap_or(0);
        let mut draft = Draft::new(body, Salt([n; 16]));
        draft.project = Some("web".to_owned());
        draft.tags = vec!["release".to_owned()];
        cortex.write(Stamp::new(NOW, "fuzz"), draft).expect(MADE);
    }
    cortex.snapshot(Stamp::new(NOW, "fuzz"), "for proofs").expect(MADE);
    use_it(&cortex)
}

fn entries() -> Vec<Entry> {
    with_store(|cortex| {
        let reading = cortex.read().expect(MADE);
        let view = reading.view();
        let last = view.last_seq().expect(MADE);
        (1..=last).filter_map(|seq| view.entry(seq).expect(MADE)).collect()
    })
}

pub(super) fn records() -> Vec<Vec<u8>> {
    entries().iter().map(codec::encode).collect()
}

pub(super) fn codec(bytes: &[u8]) -> Outcome {
    let mut answer = 0;
    macro_rules! read {
        ($($type:ty),+) => {$(
            answer = answer << 1;
            match codec::decode::<$type>("record", bytes) {
                Ok(record) if codec::encode(&record) == bytes => answer |= 1,
                Ok(_) => return Err(format!("a {} has two byte strings", stringify!($type))),
                Err(error) => answer ^= shape(&error.to_string()) & !0xffff,
            }
        )+};
    }
    read!(Entry, Head, Usage, Edge, SealedBody);
    Ok(answer)
}

pub(super) fn proof_files() -> Vec<Vec<u8>> {
    with_store(|cortex| {
        let reading = cortex.read().expect(MADE);
        let view = reading.view();
        let subjects = [1, 3, 99].map(|n| Subject::Memory(MemoryId::new(n).expect("from 1")));
        let file = |subject| prove(&view, &owner(), subject, None).expect(MADE).to_bytes();
        subjects.into_iter().map(file).collect()
    })
}

pub(super) fn proof(bytes: &[u8]) -> Outcome {
    let file = match ProofFile::from_bytes(bytes) {
        Ok(file) => file,
        Err(error) => return Ok(shape(&error.to_string())),
    };
    if file.to_bytes() != bytes {
        return Err("a proof file has two byte strings".to_owned());
    }
    Ok(match check(&file) {
        Ok(_) => 1,
        Err(error) => shape(&error.to_string()),
    })
}

pub(super) fn grant_seeds() -> Vec<Vec<u8>> {
    let key = |n: u8| ed25519_dalek::SigningKey::from_bytes(&[n; 32]);
    let root = with_store(|cortex| cortex.root().expect(MADE));
    let grant = Grant {
        schema: proof::journal::SCHEMA,
        actor: "ada".to_owned(),
        issuer: key(1).verifying_key().to_bytes(),
        audience: key(2).verifying_key().to_bytes(),
        audience_name: "helper".to_owned(),
        operations: Permission::ALL.to_vec(),
        include: Selector { projects: vec!["web".to_owned()], ..Selector::default() },
        exclude: None,
        issued: NOW,
        expires: Millis(NOW.0 + 3_600_000),
        use_limit: Some(3),
        budget_tokens: None,
        parent: None,
        nonce: [7; 16],
        root,
        size: 1,
    };
    let signed = SignedGrant::sign(grant, &key(1)).expect("a grant");
    let request = DelegateRequest {
        grant: signed.id(),
        operation: Permission::Read,
        digest: proof::Digest::of("fuzz", &[b"what is asked"]),
        at: NOW,
        nonce: [9; 16],
    };
    let request = SignedRequest::sign(request, &key(2));
    let presented = Presentation { chain: vec![signed.clone()], request };
    vec![signed.to_bytes(), presented.to_bytes(), presented.to_token().into_bytes()]
}

pub(super) fn grants(bytes: &[u8]) -> Outcome {
    let mut answer = 0;
    match SignedGrant::decode(bytes) {
        Ok(grant) if grant.to_bytes() == bytes => {
            answer ^= 1 << u32::from(grant.verify_signature().is_ok());
        }
        Ok(_) => return Err("a grant has two byte strings".to_owned()),
        Err(error) => answer ^= shape(&error.to_string()),
    }
    match Presentation::decode(bytes) {
        Ok(presented) if presented.to_bytes() == bytes => answer ^= 4,
        Ok(_) => return Err("a presentation has two byte strings".to_owned()),
        Err(error) => answer ^= shape(&error.to_string()).rotate_left(7),
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        match Presentation::from_token(text) {
            Ok(presented) if presented.to_token() == text => answer ^= 8,
            Ok(_) => return Err("a token has two texts".to_owned()),
            Err(error) => answer ^= shape(&error.to_string()).rotate_left(13),
        }
    }
    Ok(answer)
}

/// The first byte says which kind; the payload follows.
pub(super) fn payload_seeds() -> Vec<Vec<u8>> {
    let place =
        |kind: EntryKind| EntryKind::ALL.iter().position(|known| *known == kind).unwrap_or(0);
    let seed = |entry: &Entry| {
        let mut bytes = vec![u8::try_from(place(entry.kind)).unwrap_or(0)];
        bytes.extend_from_slice(&entry.payload);
        bytes
    };
    entries().iter().map(seed).collect()
}

pub(super) fn payloads(bytes: &[u8]) -> Outcome {
    let Some((kind, payload)) = bytes.split_first() else { return Ok(0) };
    let kind = EntryKind::ALL[usize::from(*kind) % EntryKind::ALL.len()];
    match Payload::from_bytes(kind, payload) {
        Ok(read) if read.kind() != kind => Err(format!("{kind:?} was read as {:?}", read.kind())),
        Ok(read) if read.to_bytes() == payload => Ok(shape(kind.name())),
        Ok(_) => Err(format!("{kind:?} has two byte strings")),
        Err(error) => Ok(shape(&error.to_string())),
    }
}
