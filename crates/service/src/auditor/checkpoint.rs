//! Signed checkpoints: the size and root of the journal, signed with a key of the home, as transparency logs do it.
//!
//! The note has the form that witnesses of such logs read: a text, an empty line, and a line per signature. Its first
//! three lines are origin, size and journal root in base64; the overall root and the time follow. What must stay true:
//! the key is made once, is readable by its owner alone, and never leaves the file.

use api::auditor::{CheckpointAnswer, CheckpointRequest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use kernel::Digest;
use kernel::digest::encode_hex;

use crate::Service;
use crate::access::only_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::grant_file::read_or_make_key;

/// The file of the key, below the home.
const KEY_FILE: &str = "checkpoint.key";
/// What the origin of every checkpoint begins with.
const ORIGIN: &str = "cortex";
/// The code of Ed25519 in notes.
const ED25519: u8 = 1;

impl Service {
    pub fn checkpoint(&self, caller: &Caller, _: CheckpointRequest) -> Result<CheckpointAnswer> {
        only_owner(caller, "sign checkpoints")?;
        let reading = self.opened(caller)?.read()?;
        let roots = reading.roots()?;
        let key = read_or_make_key(&self.folder.join(KEY_FILE), || {
            let mut bytes = [0; 32];
            caller.environment.fill(&mut bytes)?;
            Ok(bytes)
        })?;
        let actor = caller.actor.as_str();
        let signer = NoteSigner { name: format!("{ORIGIN}/{actor}"), key };
        let root = roots.overall(actor);
        let text = format!(
            "{}\n{}\n{}\nroot {root}\ntime {}\n",
            signer.name,
            roots.size,
            STANDARD.encode(roots.journal.as_bytes()),
            caller.now()?.rfc3339(),
        );
        Ok(CheckpointAnswer {
            note: signer.signed(&text),
            key: signer.verifier_key(),
            actor: actor.to_owned(),
            size: roots.size,
            root: root.to_string(),
            journal_root: roots.journal.to_string(),
        })
    }
}

/// What a note says, after its signature was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedNote {
    pub origin: String,
    pub size: u64,
    pub journal_root: Digest,
    /// The overall root, and when it was signed, as the note says.
    pub root: String,
    pub time: String,
}

/// Checks a note with a key, without a store. Any doubt is `ProofRefused`.
pub fn check_note(note: &str, key: &str) -> Result<CheckedNote> {
    let refused = |reason: &str| Error::from(kernel::Error::ProofRefused(reason.to_owned()));
    let wrong_key = || Error::invalid("key", "expected name+hash+base64 of an Ed25519 key");
    let mut parts = key.trim().splitn(3, '+');
    let (Some(name), Some(hash), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong_key());
    };
    let public = STANDARD.decode(encoded).map_err(|_| wrong_key())?;
    let bytes: [u8; 32] = match public.split_first() {
        Some((&ED25519, rest)) => rest.try_into().map_err(|_| wrong_key())?,
        _ => return Err(wrong_key()),
    };
    let verifier = VerifyingKey::from_bytes(&bytes).map_err(|_| wrong_key())?;
    let hint = key_hint(name, &public);
    if encode_hex(&hint) != hash {
        return Err(wrong_key());
    }
    let (body, signatures) =
        note.split_once("\n\n").ok_or_else(|| refused("the note has no signatures"))?;
    let text = format!("{body}\n");
    let start = format!("\u{2014} {name} ");
    let ours =
        signatures.lines().filter_map(|line| STANDARD.decode(line.strip_prefix(&start)?).ok());
    let signed = ours.filter(|blob| blob.starts_with(&hint)).any(|blob| {
        let signature = Signature::from_slice(&blob[hint.len()..]);
        signature.is_ok_and(|signature| verifier.verify_strict(text.as_bytes(), &signature).is_ok())
    });
    if !signed {
        return Err(refused("nobody with this key signed the note"));
    }
    read_note(&text).ok_or_else(|| refused("the note is no checkpoint"))
}

fn read_note(text: &str) -> Option<CheckedNote> {
    let mut lines = text.lines();
    let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
    let journal: [u8; 32] = STANDARD.decode(root).ok()?.try_into().ok()?;
    let mut checked = CheckedNote {
        origin: origin.to_owned(),
        size: size.parse().ok()?,
        journal_root: Digest(journal),
        root: String::new(),
        time: String::new(),
    };
    for line in lines {
        match line.split_once(' ')? {
            ("root", root) => root.clone_into(&mut checked.root),
            ("time", time) => time.clone_into(&mut checked.time),
            _ => {}
        }
    }
    Some(checked)
}

/// Four bytes that tell keys of one name apart.
fn key_hint(name: &str, public: &[u8]) -> [u8; 4] {
    let digest = Digest::of("", &[name.as_bytes(), b"\n", public]);
    let [a, b, c, d, ..] = *digest.as_bytes();
    [a, b, c, d]
}

/// Who signs notes: a name and a key.
struct NoteSigner {
    name: String,
    key: SigningKey,
}

impl NoteSigner {
    /// The public key as notes write it: the algorithm, then the key.
    fn public(&self) -> Vec<u8> {
        [&[ED25519][..], &self.key.verifying_key().to_bytes()].concat()
    }

    fn verifier_key(&self) -> String {
        let public = self.public();
        let hint = encode_hex(&key_hint(&self.name, &public));
        format!("{}+{hint}+{}", self.name, STANDARD.encode(public))
    }

    fn signed(&self, text: &str) -> String {
        let hint = key_hint(&self.name, &self.public());
        let signature = self.key.sign(text.as_bytes()).to_bytes();
        let blob = STANDARD.encode([&hint[..], &signature].concat());
        format!("{text}\n\u{2014} {} {blob}\n", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> NoteSigner {
        let key = SigningKey::from_bytes(&[7; 32]);
        NoteSigner { name: "cortex/default".to_owned(), key }
    }

    fn text(size: u64) -> String {
        let root = STANDARD.encode([9; 32]);
        format!("cortex/default\n{size}\n{root}\nroot aa\ntime 2026-11-14T00:00:00Z\n")
    }

    // L16
    #[test]
    fn a_note_is_read_with_its_key_and_with_no_other() {
        let (signer, note) = (signer(), signer().signed(&text(3)));
        let checked = check_note(&note, &signer.verifier_key()).unwrap();
        assert_eq!((checked.size, checked.root.as_str()), (3, "aa"));
        assert_eq!(checked.journal_root, Digest([9; 32]));
        let other = NoteSigner { key: SigningKey::from_bytes(&[8; 32]), ..signer };
        let error = check_note(&note, &other.verifier_key()).unwrap_err();
        assert_eq!(error.code(), api::ErrorCode::ProofRefused);
    }

    // L16
    #[test]
    fn no_altered_note_passes() {
        let note = signer().signed(&text(3));
        for at in 0..note.len() {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(altered) = String::from_utf8(bytes) else { continue };
            // Base64 has one spelling, so every altered letter is another signature.
            assert!(check_note(&altered, &signer().verifier_key()).is_err(), "byte {at}");
        }
    }

    // L16: a witness adds its own line, which changes nothing for others
    #[test]
    fn a_second_signature_does_not_disturb_the_first() {
        let witness = NoteSigner { name: "witness".into(), key: SigningKey::from_bytes(&[1; 32]) };
        let line = witness.signed(&text(3)).rsplit_once("\n\n").unwrap().1.to_owned();
        let note = signer().signed(&text(3)) + &line;
        assert!(check_note(&note, &signer().verifier_key()).is_ok());
        assert!(check_note(&note, &witness.verifier_key()).is_ok());
    }
}
