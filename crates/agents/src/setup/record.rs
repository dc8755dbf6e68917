//! What was set up where: `setup.json` in the home.
//!
//! With it, removing gives back the very bytes, files and folders from before. Without it (another home, a deleted
//! file) removing still takes out everything that is ours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::setup::entry::SettingsFault;
use crate::setup::files;
use crate::setup::files::{Result, SetupError};
use crate::setup::places::Scope;
use crate::setup::plan::Trace;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// Folders that were made to hold this record.
    #[serde(default)]
    folders: Vec<PathBuf>,
    /// Files by their path.
    files: BTreeMap<PathBuf, FileRecord>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FileRecord {
    pub agent: Agent,
    pub scope: Scope,
    /// The copy of the file from before, beside it.
    pub copy: Option<PathBuf>,
    /// Folders that were made for the file.
    pub folders: Vec<PathBuf>,
    pub trace: Trace,
}

impl Record {
    pub(super) fn load(home: &Path) -> Result<Record> {
        let path = place(home);
        let Some(text) = files::read(&path)? else { return Ok(Record::default()) };
        serde_json::from_str(&text).map_err(|error| SetupError::Broken {
            path,
            fault: SettingsFault {
                line: error.line(),
                column: error.column(),
                message: format!("{error}; without this file `--remove` still works"),
            },
        })
    }

    pub(super) fn file(&self, path: &Path) -> Option<&FileRecord> {
        self.files.get(path)
    }

    pub(super) fn set(&mut self, home: &Path, path: &Path, file: FileRecord) -> Result<()> {
        if self.files.is_empty() {
            self.folders = files::missing_folders(&place(home));
        }
        self.files.insert(path.to_owned(), file);
        self.store(home)
    }

    /// Forgets a file that was cleaned, and deletes the folders that were made for it and are empty now.
    pub(super) fn forget(&mut self, home: &Path, path: &Path) -> Result<()> {
        let Some(gone) = self.files.remove(path) else { return Ok(()) };
        files::delete_empty(&gone.folders);
        // A folder that another set-up still needs goes with the last one that does.
        for folder in gone.folders.into_iter().filter(|folder| folder.exists()) {
            let heir = self.files.iter_mut().find(|(path, _)| path.starts_with(&folder));
            if let Some((_, heir)) = heir
                && !heir.folders.contains(&folder)
            {
                heir.folders.push(folder);
                heir.folders.sort();
            }
        }
        if self.files.is_empty() {
            files::delete(&place(home))?;
            files::delete_empty(&self.folders);
            return Ok(());
        }
        self.store(home)
    }

    fn store(&self, home: &Path) -> Result<()> {
        let path = place(home);
        let text = serde_json::to_string_pretty(self).map_err(|error| SetupError::Io {
            path: path.clone(),
            error: std::io::Error::other(error),
        })?;
        let before = files::read(&path)?;
        files::write(&path, &(text + "\n"), before.as_deref())
    }
}

fn place(home: &Path) -> PathBuf {
    home.join("setup.json")
}
