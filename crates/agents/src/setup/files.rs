//! Reading and writing settings files without ever leaving half of one behind.
//!
//! A file is replaced by renaming a finished copy over it. Links are followed, so that a linked settings file stays a
//! link; permissions stay. Before the first change a copy is put beside the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::setup::entry::SettingsFault;

/// The largest settings file that is read. Real ones have a few megabytes at most.
const SETTINGS_BYTES_MAX: u64 = 64 << 20;
/// How many names for a copy are tried.
const COPIES_MAX: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{}: {fault}; nothing was changed", path.display())]
    Broken { path: PathBuf, fault: SettingsFault },
    #[error("{}: byte {place} is not UTF-8; nothing was changed", path.display())]
    NotText { path: PathBuf, place: usize },
    #[error("{}: the file has more than {SETTINGS_BYTES_MAX} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("{}: the file keeps changing while it is edited; close the agent and try again", path.display())]
    Restless { path: PathBuf },
    #[error("{0} has no settings for a single project")]
    NoProject(crate::agent::Agent),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl SetupError {
    pub fn code(&self) -> &'static str {
        match self {
            SetupError::Broken { .. } | SetupError::NotText { .. } => "settings_broken",
            SetupError::TooLarge { .. } => "settings_too_large",
            SetupError::Restless { .. } => "settings_restless",
            SetupError::NoProject(_) => "no_project_settings",
            SetupError::Io { .. } => "io",
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> SetupError + '_ {
        move |error| SetupError::Io { path: path.to_owned(), error }
    }
}

pub(super) type Result<T> = std::result::Result<T, SetupError>;

/// The text of a file, or nothing if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let bytes = match fs::metadata(path) {
        Ok(about) if about.len() > SETTINGS_BYTES_MAX => {
            return Err(SetupError::TooLarge { path: path.to_owned() });
        }
        Ok(_) => fs::read(path).map_err(SetupError::io(path))?,
        // A link that leads nowhere is no missing file: writing would replace the link.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(None);
        }
        Err(error) => return Err(SetupError::Io { path: path.to_owned(), error }),
    };
    String::from_utf8(bytes).map(Some).map_err(|error| SetupError::NotText {
        path: path.to_owned(),
        place: error.utf8_error().valid_up_to(),
    })
}

/// The file that a path leads to.
fn real(path: &Path) -> Result<PathBuf> {
    if path.is_symlink() {
        fs::canonicalize(path).map_err(SetupError::io(path))
    } else {
        Ok(path.to_owned())
    }
}

/// Folders on the way to a file that do not exist yet, outermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<_> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Into::into).collect();
    missing.reverse();
    missing
}

/// Puts a copy beside the file and returns where.
pub(super) fn keep_copy(path: &Path) -> Result<PathBuf> {
    let real = real(path)?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=COPIES_MAX {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let copy = real.with_file_name(format!("{name}.before-cortex{suffix}"));
        // Somebody's older copy is not ours to overwrite.
        if !copy.exists() {
            // `copy` keeps the permissions: settings may hold secrets.
            fs::copy(&real, &copy).map_err(SetupError::io(&copy))?;
            return Ok(copy);
        }
    }
    let error = io::Error::new(io::ErrorKind::AlreadyExists, "too many copies beside it");
    Err(SetupError::Io { path: real, error })
}

/// Replaces a file, or makes it, in one step. `expected` is what it must still hold.
pub(super) fn write(path: &Path, text: &str, expected: Option<&str>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(SetupError::io(folder))?;
    }
    let real = real(path)?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let draft = real.with_file_name(format!(".{name}.cortex-{}", std::process::id()));
    let written = fill(&draft, &real, text).map_err(SetupError::io(&draft)).and_then(|()| {
        // Agents write their settings too. Theirs must not be lost between our reading and our writing.
        if read(path)?.as_deref() != expected {
            return Err(SetupError::Restless { path: path.to_owned() });
        }
        fs::rename(&draft, &real).map_err(SetupError::io(&real))
    });
    if written.is_err() {
        // The draft may not even exist; the first error is the one to report.
        let _ = fs::remove_file(&draft);
    }
    written
}

fn fill(draft: &Path, real: &Path, text: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).open(draft)?;
    if let Ok(about) = fs::metadata(real) {
        file.set_permissions(about.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Deletes a file that may be gone already.
pub(super) fn delete(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(SetupError::Io { path: path.to_owned(), error })
        }
        _ => Ok(()),
    }
}

/// Deletes folders that are empty, innermost first.
pub(super) fn delete_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // A folder that somebody uses is not empty, and stays.
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
