//! Copies of actors: backups, what is restored from one, and what is saved from damage.
//!
//! Folders are named as the process that answers sees them, which is on the same machine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::upkeep::StoreProblem;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackupRequest {
    /// The folder of the backup; a later one into the same folder copies only what is new.
    pub folder: PathBuf,
    /// Only this actor; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupAnswer {
    pub actors: Vec<ActorBackup>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorBackup {
    pub actor: String,
    /// Journal entries.
    pub size: u64,
    /// The root of the state with these entries.
    pub root: String,
    /// Bytes that were not in the folder before.
    pub copied_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreBackupRequest {
    /// The folder of a backup.
    pub folder: PathBuf,
    /// Only this actor; all of the backup if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The last entry, by number, or the moment of it; the end of the backup if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreBackupAnswer {
    pub actors: Vec<ActorCopy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SalvageRequest {
    /// The folder of a home that gets the copy.
    pub folder: PathBuf,
}

/// An actor that was made from the entries of a backup or of a damaged one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorCopy {
    pub actor: String,
    pub entries: u64,
    pub root: String,
    /// What could not be read.
    pub lost: Vec<StoreProblem>,
    /// Memories that were erased after these entries. They stay erased, by entries that follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased_since: Vec<u64>,
}
