//! The files of an actor in a folder: `derived.redb`, and the segments of its ledger in a folder of their own.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Medium, StoreFile};

/// The folder of the segments, inside the actor's.
const LEDGER_FOLDER: &str = "ledger";
/// Digits of the number in a segment's name: enough for every `u64`, so that names sort as numbers do.
const SEGMENT_DIGITS: usize = 20;

#[derive(Debug)]
pub struct DiskMedium {
    folder: PathBuf,
}

impl DiskMedium {
    pub fn new(folder: impl Into<PathBuf>) -> DiskMedium {
        DiskMedium { folder: folder.into() }
    }

    /// True if an actor lives in the folder.
    pub fn is_actor(&self) -> bool {
        let former = [StoreFile::Former, StoreFile::FormerAside];
        // A folder that cannot be read is none of ours; whoever opens it is told why.
        former.into_iter().any(|file| self.path(file).exists())
            || self.segments().is_ok_and(|files| !files.is_empty())
    }

    pub fn path(&self, file: StoreFile) -> PathBuf {
        let segment = |first: u64, ending: &str| {
            let name = format!("{first:0SEGMENT_DIGITS$}.{ending}");
            self.folder.join(LEDGER_FOLDER).join(name)
        };
        match file {
            StoreFile::Derived => self.folder.join("derived.redb"),
            StoreFile::DerivedScratch => self.folder.join("derived.redb.new"),
            StoreFile::DerivedAside => self.folder.join("derived.redb.damaged"),
            StoreFile::Former => self.folder.join("store.redb"),
            StoreFile::FormerAside => self.folder.join("store.redb.moved"),
            StoreFile::Watermark => self.folder.join(LEDGER_FOLDER).join("watermark"),
            StoreFile::Segment(first) => segment(first, "log"),
            StoreFile::SegmentScratch(first) => segment(first, "log.new"),
            StoreFile::SegmentMove(first) => segment(first, "log.move"),
        }
    }
}

impl Medium for DiskMedium {
    fn exists(&self, file: StoreFile) -> io::Result<bool> {
        self.path(file).try_exists()
    }

    fn open(&self, file: StoreFile) -> io::Result<Box<dyn redb::StorageBackend>> {
        let path = self.path(file);
        if let Some(parent) = path.parent()
            && parent != self.folder
            && !parent.try_exists()?
        {
            fs::create_dir_all(parent)?;
            sync_folder(&self.folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // Memories are private: other users of the machine may not read the file.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = options.open(path)?;
        let backend = redb::backends::FileBackend::new(opened).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => io::ErrorKind::WouldBlock.into(),
            other => io::Error::other(other.to_string()),
        })?;
        Ok(Box::new(backend))
    }

    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(fs::metadata(self.path(file))?.len())
    }

    #[cfg(unix)]
    fn used(&self, file: StoreFile) -> io::Result<u64> {
        /// The unit in which the system counts, whatever the file system has.
        const BLOCK_BYTES: u64 = 512;
        let blocks = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(self.path(file))?);
        Ok(blocks * BLOCK_BYTES)
    }

    fn rename(&self, from: StoreFile, to: StoreFile) -> io::Result<()> {
        let to = self.path(to);
        fs::rename(self.path(from), &to)?;
        sync_folder(to.parent().unwrap_or(&self.folder))
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        match fs::remove_file(self.path(file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn segments(&self) -> io::Result<Vec<StoreFile>> {
        let entries = match fs::read_dir(self.folder.join(LEDGER_FOLDER)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut files = Vec::new();
        for entry in entries {
            // A file with another name is not ours.
            files.extend(entry?.file_name().to_str().and_then(parse_segment));
        }
        files.sort_unstable();
        Ok(files)
    }

    fn room(&self) -> io::Result<Option<u64>> {
        room_in(&self.folder)
    }
}

/// Bytes that a user may still write to the file system of a folder.
#[cfg(unix)]
fn room_in(folder: &Path) -> io::Result<Option<u64>> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(Some(found.f_bavail.saturating_mul(found.f_frsize)))
}

#[cfg(not(unix))]
fn room_in(_: &Path) -> io::Result<Option<u64>> {
    Ok(None)
}

fn parse_segment(name: &str) -> Option<StoreFile> {
    let (digits, ending) = name.split_once('.')?;
    if digits.len() != SEGMENT_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let first = digits.parse().ok()?;
    match ending {
        "log" => Some(StoreFile::Segment(first)),
        "log.new" => Some(StoreFile::SegmentScratch(first)),
        "log.move" => Some(StoreFile::SegmentMove(first)),
        _ => None,
    }
}

/// A rename is durable only when the folder that holds the name is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_known_by_its_name_and_nothing_else_is() {
        let medium = DiskMedium::new("actor");
        for first in [1, 512, u64::MAX] {
            for file in [
                StoreFile::Segment(first),
                StoreFile::SegmentScratch(first),
                StoreFile::SegmentMove(first),
            ] {
                let path = medium.path(file);
                let name = path.file_name().and_then(|name| name.to_str());
                assert_eq!(name.and_then(parse_segment), Some(file));
            }
        }
        let bad = [
            "1.log",
            "00000000000000000001",
            "00000000000000000001.txt",
            "99999999999999999999.log",
        ];
        assert!(bad.iter().all(|name| parse_segment(name).is_none()));
    }
}
