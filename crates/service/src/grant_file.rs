//! Grant files and keys: what an owner hands to a delegate, and what both sign with.
//!
//! A grant file is JSON. Over HTTP a bearer token stands for it (`bearer`). What the file says about itself
//! counts for nothing: the grants in it are signed, and judged by the journal.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use api::grants::GrantFile;
use api::{ErrorCode, Fault, GrantFiles};
use ed25519_dalek::SigningKey;
use kernel::actor::ActorName;
use kernel::digest::{decode_hex, encode_hex};
use kernel::grants::{PublicKey, SignedGrant};

use crate::delegate::Delegate;
use crate::error::{Error, Result};

const FORMAT: u32 = 1;

/// The file of a grant, with the delegate's secret key if it is to hold it.
pub(crate) fn of_grant(grant: &SignedGrant, secret: Option<&SigningKey>) -> GrantFile {
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

/// The file of a chain of grants, with the secret key of whoever holds the last one if it is to hold it.
pub fn of_chain(chain: &[SignedGrant], secret: Option<&SigningKey>) -> Result<GrantFile> {
    let last = chain.last().ok_or_else(|| Error::invalid("grant", "it holds no grant"))?;
    let chain = chain.iter().map(SignedGrant::to_token).collect();
    Ok(GrantFile { chain, ..of_grant(last, secret) })
}

/// The delegate that the file makes of whoever holds it. `key` is its own, if the file has none; `files` is where both
/// came from, for a process that acts for it.
pub fn into_delegate(
    file: GrantFile,
    key: Option<SigningKey>,
    files: Option<GrantFiles>,
) -> Result<Delegate> {
    if file.cortex_grant != FORMAT {
        let reason = format!("format {} is unknown", file.cortex_grant);
        return Err(Error::invalid("grant", reason));
    }
    let chain: kernel::Result<Vec<SignedGrant>> =
        file.chain.iter().map(|token| SignedGrant::from_token(token)).collect();
    let key = match (key, &file.secret_key) {
        (Some(key), _) => key,
        (None, Some(hex)) => {
            key_of(hex).ok_or_else(|| Error::invalid("grant", "the key in it is malformed"))?
        }
        (None, None) => {
            let wrong = Error::invalid("grant", "the grant file holds no secret key");
            return Err(wrong.with_hint("give yours with --grant-key FILE"));
        }
    };
    Delegate::new(files, chain?, key).ok_or_else(|| Error::invalid("grant", "it holds no grant"))
}

/// A public key as 64 hexadecimal digits.
pub fn public_key(text: &str) -> Result<PublicKey> {
    decode_hex(text)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| Error::invalid("key", "expected 64 hexadecimal digits"))
}

/// A secret key as a file holds it.
pub fn key_of(hex: &str) -> Option<SigningKey> {
    let bytes: [u8; 32] = decode_hex(hex.trim())?.try_into().ok()?;
    Some(SigningKey::from_bytes(&bytes))
}

/// The key in `path`, made from `fresh` if there is none yet.
pub(super) fn read_or_make_key(
    path: &Path,
    fresh: impl FnOnce() -> Result<[u8; 32]>,
) -> Result<SigningKey> {
    let failed = |error: io::Error| {
        Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", path.display()))
    };
    match std::fs::read_to_string(path) {
        Ok(text) => key_of(&text)
            .ok_or_else(|| Error::invalid("key", format!("{} holds no key", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            let key = SigningKey::from_bytes(&fresh()?);
            write_secret(path, &format!("{}\n", encode_hex(&key.to_bytes()))).map_err(failed)?;
            Ok(key)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Writes a new file that only its owner can read. An existing file is never overwritten: it may be the only copy.
pub fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())
}

/// Bytes of a grant or key file that are read at most.
const GRANT_FILE_BYTES_MAX: u64 = 1_048_576;

/// Reads grants and the key to use them with. Also gives whose memory they are about.
pub fn load(files: GrantFiles) -> Result<(ActorName, Delegate)> {
    let path = files.grant.clone();
    let read: GrantFile = serde_json::from_str(&read_text(&path)?)
        .map_err(|error| Error::invalid("grant", format!("{}: {error}", path.display())))?;
    let key = match &files.key {
        Some(path) => Some(
            key_of(&read_text(path)?)
                .ok_or_else(|| Error::invalid("key", format!("{} holds no key", path.display())))?,
        ),
        None => None,
    };
    let actor = ActorName::parse(&read.actor)?;
    Ok((actor, into_delegate(read, key, Some(files))?))
}

fn read_text(path: &Path) -> Result<String> {
    let failed = |error: io::Error| {
        let fault = match error.kind() {
            io::ErrorKind::NotFound => Fault::Missing,
            _ => Fault::Server,
        };
        Error::new(ErrorCode::Io, fault, format!("{}: {error}", path.display()))
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(GRANT_FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
