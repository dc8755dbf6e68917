//! Grant files and key files: what an owner hands to a delegate, and what a delegate signs with.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use ed25519_dalek::SigningKey;
use kernel::Error;
use kernel::actor::ActorName;
use kernel::digest::{decode_hex, encode_hex};
use kernel::scope::{PublicKey, SignedGrant};
use serde::{Deserialize, Serialize};

use super::failure::{Failure, Outcome};
use crate::ops::{Delegate, GrantFiles};

/// Bytes of a grant or key file that are read at most.
const GRANT_FILE_BYTES_MAX: u64 = 1_048_576;
const FORMAT: u32 = 1;

/// What `scope-grant --out` writes. With the secret inside, the file is all a delegate needs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantFile {
    /// Version of this file's format.
    pub(crate) cortex_grant: u32,
    pub(crate) id: String,
    pub(crate) actor: String,
    pub(crate) delegate: String,
    /// Signed grants, the owner's first.
    pub(crate) chain: Vec<String>,
    pub(crate) public_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret_key: Option<String>,
}

impl GrantFile {
    pub(crate) fn new(grant: &SignedGrant, secret: Option<&SigningKey>) -> GrantFile {
        let inner = grant.grant();
        GrantFile {
            cortex_grant: FORMAT,
            id: inner.id().to_string(),
            actor: inner.actor.clone(),
            delegate: inner.audience_name.clone(),
            chain: vec![grant.to_token()],
            public_key: encode_hex(&inner.audience),
            secret_key: secret.map(|key| encode_hex(&key.to_bytes())),
        }
    }
}

/// Reads the grants and the key to use them with. Also gives whose memory they are about.
pub(crate) fn load(files: GrantFiles) -> Outcome<(ActorName, Delegate)> {
    let file = files.grant.as_path();
    let text = read_text(file)?;
    let wrong = |reason: String| {
        Failure::from(Error::invalid("grant", format!("{}: {reason}", file.display())))
    };
    let read: GrantFile = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if read.cortex_grant != FORMAT {
        return Err(wrong(format!("format {} is unknown", read.cortex_grant)));
    }
    let chain = read
        .chain
        .iter()
        .map(|token| SignedGrant::from_token(token))
        .collect::<kernel::Result<Vec<_>>>()?;
    let key = match (files.key.as_deref(), &read.secret_key) {
        (Some(path), _) => read_key(path)?,
        (None, Some(hex)) => key_of(hex).ok_or_else(|| wrong("the key is malformed".into()))?,
        (None, None) => {
            return Err(Failure::input(
                "the grant file holds no secret key; give yours with --grant-key FILE",
            ));
        }
    };
    let actor = ActorName::parse(&read.actor)?;
    let nothing = wrong("it holds no grant".into());
    Ok((actor, Delegate::new(Some(files), chain, key).ok_or(nothing)?))
}

/// A public key as 64 hexadecimal digits.
pub(crate) fn public_key(text: &str) -> kernel::Result<PublicKey> {
    decode_hex(text)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| Error::invalid("key", "expected 64 hexadecimal digits"))
}

fn key_of(hex: &str) -> Option<SigningKey> {
    let bytes: [u8; 32] = decode_hex(hex.trim())?.try_into().ok()?;
    Some(SigningKey::from_bytes(&bytes))
}

pub(crate) fn read_key(path: &Path) -> Outcome<SigningKey> {
    key_of(&read_text(path)?)
        .ok_or_else(|| Error::invalid("key", format!("{} holds no key", path.display())).into())
}

/// The key in `path`, made from `fresh` if there is none yet.
pub(crate) fn read_or_make_key(
    path: &Path,
    fresh: impl FnOnce() -> Outcome<[u8; 32]>,
) -> Outcome<SigningKey> {
    if path.exists() {
        return read_key(path);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    }
    let key = SigningKey::from_bytes(&fresh()?);
    write_secret(path, &format!("{}\n", encode_hex(&key.to_bytes())))?;
    Ok(key)
}

/// Writes a new file that only its owner can read. An existing file is never overwritten: it may be the only copy.
pub(crate) fn write_secret(path: &Path, text: &str) -> Outcome {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| Failure::file(path, error))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| Failure::file(path, error))
}

fn read_text(path: &Path) -> Outcome<String> {
    use std::io::Read as _;
    let file = std::fs::File::open(path).map_err(|error| Failure::file(path, error))?;
    let mut text = String::new();
    file.take(GRANT_FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Failure::file(path, error))?;
    Ok(text)
}
