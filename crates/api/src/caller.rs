//! Who asks, as it goes over a wire.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::author::Author;

/// Bytes of a key that makes a retry return the first answer.
pub const KEY_BYTES_MAX: usize = 128;

/// The actor that is always there.
pub const DEFAULT_ACTOR: &str = "default";

/// The files that a delegate's grants and key are in, for a process that acts for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantFiles {
    pub grant: PathBuf,
    /// Absent if the grant file holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

/// Who asks for an operation, where they work, and what their request may be repeated under.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallerInfo {
    /// Whose memory.
    pub actor: String,
    /// Author of changes.
    pub by: String,
    /// Through whose door they came: a person's, or that of a program which a model drives.
    pub author: Author,
    /// The folder the caller works in: it says which project is meant when none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The home folder of the person: it is no project by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person_home: Option<PathBuf>,
    /// The project they work in, where no folder says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Makes a retry return the first answer instead of acting again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// For tests and replays: the clock stands still here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<i64>,
    /// What a delegate acts under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantFiles>,
}

impl CallerInfo {
    /// A caller of an actor who works in no folder.
    pub fn new(actor: impl Into<String>, by: impl Into<String>) -> CallerInfo {
        let (actor, by) = (actor.into(), by.into());
        CallerInfo { actor, by, ..CallerInfo::default() }
    }
}
