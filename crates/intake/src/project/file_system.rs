//! What the resolver may ask of a file system: three questions, none of which changes anything.
//!
//! Must stay true: a file that is not there is an answer, not an error; no file is read beyond a bound.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// A file system, as far as the resolver knows it.
pub trait FileSystem {
    /// The text of a file; `None` if there is no such file.
    fn text(&self, path: &Path) -> io::Result<Option<String>>;
    fn is_folder(&self, path: &Path) -> bool;
    /// The path without links and dots; `None` if nothing is there.
    fn canonical(&self, path: &Path) -> Option<PathBuf>;
}

/// The machine's own file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

/// Bytes of a file that are read; a longer file is an error.
pub const FILE_BYTES_MAX: u64 = 1_048_576;

impl FileSystem for DiskFiles {
    fn text(&self, path: &Path) -> io::Result<Option<String>> {
        let is_file = match path.metadata() {
            Ok(metadata) => metadata.is_file(),
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if !is_file {
            return Ok(None);
        }
        let mut text = String::new();
        File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is too large"));
        }
        Ok(Some(text))
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The text of a file, or a note on why it could not be read.
pub(super) fn text_or_note(
    tree: &dyn FileSystem,
    path: &Path,
    notes: &mut Vec<String>,
) -> Option<String> {
    tree.text(path).unwrap_or_else(|error| {
        notes.push(format!("{} could not be read and was passed over: {error}", path.display()));
        None
    })
}
