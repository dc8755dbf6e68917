//! Bearer tokens of grants: a word that stands for a grant, for callers over HTTP.
//!
//! Such a caller cannot sign, so the key that signs for it is kept here, under the digest of the token and sealed with
//! the token. What must stay true: the token itself is kept nowhere, and without it neither the key nor the token can
//! be had from what is kept; the key never travels; a token is worth what its grants are worth in the journal.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use api::grants::GrantFile;
use api::{ErrorCode, Fault};
use ed25519_dalek::SigningKey;
use kernel::Digest;
use kernel::digest::{decode_hex, encode_hex};
use kernel::grants::SignedGrant;
use kernel::memory::Millis;
use serde::{Deserialize, Serialize};

use crate::delegate::Delegate;
use crate::error::{Error, Result};
use crate::grant_file::into_delegate;

/// What a token starts with, so that people and programs see what it is.
const PREFIX: &str = "cg_";
/// Hexadecimal digits of a token behind its prefix.
const DIGITS: usize = 64;
/// Tokens that a home keeps at once.
const BEARERS_MAX: usize = 1_024;
/// Bytes of a kept token's file.
const FILE_BYTES_MAX: u64 = 1_048_576;

/// What is kept of a token.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptBearer {
    /// The grants, without a key.
    file: GrantFile,
    /// The key that signs, sealed with the token.
    sealed: String,
}

/// The tokens of a home.
#[derive(Clone, Debug)]
pub struct Bearers {
    folder: PathBuf,
}

impl Bearers {
    pub fn new(home: &Path) -> Bearers {
        Bearers { folder: home.join("keys").join("bearers") }
    }

    /// A token for whoever holds this grant file, which must hold its key. `drawn` are bytes that nobody can guess.
    pub fn issue(&self, file: &GrantFile, drawn: [u8; 32], now: Millis) -> Result<String> {
        let key = file.secret_key.as_deref().and_then(|hex| decode_hex(hex.trim()));
        let Some(key) = key.and_then(|key| <[u8; 32]>::try_from(key).ok()) else {
            return Err(Error::invalid("grant", "it holds no key that could sign for a token"));
        };
        self.sweep(now)?;
        let token = format!("{PREFIX}{}", encode_hex(&drawn));
        let (name, pad) = names(&token);
        let sealed: Vec<u8> = key.iter().zip(pad.as_bytes()).map(|(key, pad)| key ^ pad).collect();
        let kept = KeptBearer {
            file: GrantFile { secret_key: None, ..file.clone() },
            sealed: encode_hex(&sealed),
        };
        let text = serde_json::to_vec(&kept).map_err(|error| Error::internal(error.to_string()))?;
        let path = self.folder.join(name.to_string());
        write(&path, &text).map_err(|error| failed(&path, &error))?;
        Ok(token)
    }

    /// The delegate that a token stands for; `None` if it is not known here.
    pub fn find(&self, token: &str) -> Result<Option<Delegate>> {
        let Some(name) = Bearers::name(token) else { return Ok(None) };
        let Some(text) = read_file(&self.folder.join(name))? else { return Ok(None) };
        Bearers::read(token, &text)
    }

    /// The name that a token is kept under; `None` if it is none of a grant.
    pub fn name(token: &str) -> Option<String> {
        let digits = token.strip_prefix(PREFIX).unwrap_or_default();
        let is_token =
            digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token.then(|| names(token).0.to_string())
    }

    /// What is kept of a token here, to be kept elsewhere too: it is worth nothing without the token.
    pub fn kept_text(&self, token: &str) -> Result<Option<Vec<u8>>> {
        Bearers::name(token).map_or(Ok(None), |name| read_file(&self.folder.join(name)))
    }

    /// The delegate that a token stands for, by what is kept of it.
    pub fn read(token: &str, text: &[u8]) -> Result<Option<Delegate>> {
        let (_, pad) = names(token);
        let Ok(kept) = serde_json::from_slice::<KeptBearer>(text) else { return Ok(None) };
        let sealed = decode_hex(&kept.sealed).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let sealed =
            sealed.ok_or_else(|| Error::invalid("token", "what is kept of it is damaged"))?;
        let mut key = [0; 32];
        for (key, (sealed, pad)) in key.iter_mut().zip(sealed.iter().zip(pad.as_bytes())) {
            *key = sealed ^ pad;
        }
        into_delegate(kept.file, Some(SigningKey::from_bytes(&key)), None).map(Some)
    }

    /// Forgets tokens whose grant is past its time, and refuses one more than there may be.
    fn sweep(&self, now: Millis) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let entries =
            std::fs::read_dir(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let mut left = 0;
        for entry in entries.flatten() {
            let path = entry.path();
            // What cannot be read may be one that is being written.
            let kept =
                read_file(&path)?.and_then(|text| serde_json::from_slice::<KeptBearer>(&text).ok());
            let ended = kept.is_some_and(|kept| has_ended(&kept.file, now));
            if !ended || std::fs::remove_file(&path).is_err() {
                left += 1;
            }
        }
        if left < BEARERS_MAX {
            return Ok(());
        }
        let message = format!("{BEARERS_MAX} tokens of grants are in use");
        Err(Error::new(ErrorCode::TooMany, Fault::Conflict, message)
            .with_hint("let some expire, or give grants a shorter time"))
    }
}

fn read_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path, &error)),
    };
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(|error| failed(path, &error))?;
    Ok(Some(text))
}

fn has_ended(file: &GrantFile, now: Millis) -> bool {
    let last = file.chain.last().and_then(|token| SignedGrant::from_token(token).ok());
    last.is_none_or(|last| last.grant().expires <= now)
}

/// The name that a token is kept under, and what its key is sealed with.
fn names(token: &str) -> (Digest, Digest) {
    let name = Digest::of("cortex/grant-bearer/name/1", &[token.as_bytes()]);
    (name, Digest::of("cortex/grant-bearer/key/1", &[token.as_bytes()]))
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text).and_then(|()| file.sync_all())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", path.display()))
}
