//! Markdown for Obsidian: one file per memory, folders by project, edges as wiki links.
//!
//! A folder that we made is brought up to date; a folder with anything else in it is refused. What we wrote is listed
//! in `.cortex-export` with a digest of each file, so that files that people edited or added are theirs: they are never
//! overwritten or removed, and named in the report. Every file is written beside its place and moved there.

mod front;
mod names;
mod note;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use api::transfer::FolderReport;
use kernel::Reading;
use kernel::digest::{Digest, encode_hex};

use crate::export::{Selection, each_head};
use crate::export_line::{origin_of, store_name};
use crate::{Error, Result, TransferProgress};
pub(super) use front::{Front, split};

/// The list of what we wrote: a header line, then `digest path`.
const MANIFEST: &str = ".cortex-export";
const MANIFEST_HEADER: &str = "cortex markdown export 1";
/// Files named in the report that were left alone.
const NAMED_MAX: usize = 1_000;

pub fn write_folder(
    reading: &Reading,
    selection: &Selection,
    folder: &Path,
    progress: &mut TransferProgress<'_>,
) -> Result<FolderReport> {
    let mut out = Folder::open(folder)?;
    let store = store_name(reading)?.unwrap_or_default();
    let mut written = FolderReport::default();
    each_head(reading, selection, progress, &mut |head| {
        let own = format!("{}:{store}:{}", crate::export_line::SYSTEM, head.id);
        let origin = origin_of(reading, head.id.get())?.unwrap_or(own);
        let (path, text, edges) = note::note(reading, selection, head, &origin)?;
        written.memories += 1;
        written.edges += edges;
        out.put(&path, &text, &mut written)
    })?;
    out.finish(&mut written)?;
    Ok(written)
}

struct Folder {
    path: PathBuf,
    /// What we wrote before and have not written again: path to digest.
    before: BTreeMap<String, String>,
    now: BTreeMap<String, String>,
    /// Grows with every file, before the file is there, so that a killed export knows its own files again.
    log: File,
}

impl Folder {
    fn open(path: &Path) -> Result<Folder> {
        fs::create_dir_all(path).map_err(|error| Error::file(path, error))?;
        let before = manifest(path)?;
        let occupied = || -> Result<bool> {
            let mut entries = fs::read_dir(path).map_err(|error| Error::file(path, error))?;
            Ok(entries.next().is_some())
        };
        let before = match before {
            Some(before) => before,
            None if occupied()? => {
                let what = path.display().to_string();
                let reason = "is not empty and was not made by an export; give a new folder";
                return Err(Error::Foreign { what, reason });
            }
            None => BTreeMap::new(),
        };
        let list = path.join(MANIFEST);
        let fresh = !list.exists();
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&list)
            .map_err(|error| Error::file(&list, error))?;
        if fresh {
            writeln!(log, "{MANIFEST_HEADER}").map_err(|error| Error::file(&list, error))?;
        }
        Ok(Folder { path: path.to_owned(), before, now: BTreeMap::new(), log })
    }

    fn put(&mut self, name: &str, text: &str, written: &mut FolderReport) -> Result<()> {
        let wanted = digest(text.as_bytes());
        let path = self.path.join(name);
        let there = match fs::read(&path) {
            Ok(bytes) => Some(digest(&bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::file(&path, error)),
        };
        let ours = self.before.remove(name);
        let edited = there.is_some() && there != ours && there.as_ref() != Some(&wanted);
        if edited {
            keep(written, name);
            // It stays theirs: the list keeps what we wrote, which their file is not.
            if let Some(ours) = ours {
                self.now.insert(name.to_owned(), ours);
            }
            return Ok(());
        }
        self.now.insert(name.to_owned(), wanted.clone());
        if there.as_ref() == Some(&wanted) {
            written.unchanged += 1;
            return Ok(());
        }
        writeln!(self.log, "{wanted} {name}").map_err(|error| Error::file(&self.path, error))?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::file(parent, error))?;
        }
        replace(&path, text.as_bytes())?;
        written.written += 1;
        Ok(())
    }

    /// Removes what is no longer exported and was not edited, and writes the list anew.
    fn finish(mut self, written: &mut FolderReport) -> Result<()> {
        for (name, ours) in std::mem::take(&mut self.before) {
            let path = self.path.join(&name);
            match fs::read(&path) {
                Ok(bytes) if digest(&bytes) == ours => {
                    fs::remove_file(&path).map_err(|error| Error::file(&path, error))?;
                    written.removed += 1;
                }
                Ok(_) => keep(written, &name),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::file(&path, error)),
            }
        }
        let mut list = format!("{MANIFEST_HEADER}\n");
        for (name, digest) in &self.now {
            list.push_str(digest);
            list.push(' ');
            list.push_str(name);
            list.push('\n');
        }
        replace(&self.path.join(MANIFEST), list.as_bytes())
    }
}

/// Counts a file that is left as it is.
fn keep(report: &mut FolderReport, name: &str) {
    report.kept += 1;
    if report.kept_files.len() < NAMED_MAX {
        report.kept_files.push(name.to_owned());
    }
}

/// Writes a file whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        // The half-written file may not even exist; the error to report is the one that came first.
        let _ = fs::remove_file(&part);
        Error::file(path, error)
    })
}

fn digest(bytes: &[u8]) -> String {
    let digest = Digest::of("cortex/markdown-file/1", &[bytes]);
    encode_hex(&digest.as_bytes()[..16])
}

/// What an earlier export wrote; `None` if there was none. Later lines are newer.
fn manifest(folder: &Path) -> Result<Option<BTreeMap<String, String>>> {
    let path = folder.join(MANIFEST);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file(&path, error)),
    };
    let mut files = BTreeMap::new();
    let mut lines = BufReader::new(file).lines();
    match lines.next().transpose().map_err(|error| Error::file(&path, error))? {
        Some(header) if header == MANIFEST_HEADER => {}
        _ => return Ok(None),
    }
    for line in lines {
        let line = line.map_err(|error| Error::file(&path, error))?;
        // A path that leads out of the folder was not written by us.
        if let Some((digest, name)) = line.split_once(' ')
            && Path::new(name)
                .components()
                .all(|part| matches!(part, std::path::Component::Normal(_)))
        {
            files.insert(name.to_owned(), digest.to_owned());
        }
    }
    Ok(Some(files))
}
