//! What `--json` prints where no operation has a shape for it: plain structs, so that the kernel's records can change
//! without breaking scripts.
//!
//! The words are those of every answer (`api::memory`): `type` is the caller's own word, `memory_type` one of the nine,
//! `created_at`, `updated_at`, `session_id`, `project`, `seq`. Times are RFC 3339 in UTC, ratios are numbers from 0 to
//! 1, digests are hexadecimal.

use kernel::journal::Manifest;
use kernel::memory::PinnedVersion;
use serde::Serialize;

use crate::failure::CommandResult;
use crate::invocation::Invocation;

/// `12#3`.
pub(crate) fn pinned(pinned: &PinnedVersion) -> String {
    format!("{}#{}", pinned.id, pinned.version)
}

/// The answer of an operation that changed something, with the root that followed.
#[derive(Debug, Serialize)]
pub(crate) struct WithRoot<'a, T> {
    #[serde(flatten)]
    answer: &'a T,
    root: String,
}

impl<'a, T> WithRoot<'a, T> {
    pub(crate) fn of(inv: &Invocation, answer: &'a T) -> CommandResult<WithRoot<'a, T>> {
        Ok(WithRoot { answer, root: inv.existing()?.root()?.to_string() })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SnapshotView {
    pub(crate) number: u64,
    /// Journal entries it covers.
    pub(crate) size: u64,
    pub(crate) root: String,
    pub(crate) manifest: String,
    pub(crate) previous: Option<String>,
    pub(crate) reason: String,
    pub(crate) memories: u64,
    pub(crate) forgotten: u64,
    pub(crate) edges: u64,
}

impl From<&Manifest> for SnapshotView {
    fn from(manifest: &Manifest) -> SnapshotView {
        SnapshotView {
            number: manifest.number,
            size: manifest.size,
            root: manifest.root.to_string(),
            manifest: manifest.digest().to_string(),
            previous: manifest.previous.map(|digest| digest.to_string()),
            reason: manifest.reason.clone(),
            memories: manifest.live,
            forgotten: manifest.tombstoned,
            edges: manifest.edges,
        }
    }
}
