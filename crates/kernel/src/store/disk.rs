//! A store in a folder: `store.redb`, and `store.redb.new` while it is being replaced.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Medium, StoreFile};

#[derive(Debug)]
pub struct DiskMedium {
    folder: PathBuf,
}

impl DiskMedium {
    pub fn new(folder: impl Into<PathBuf>) -> DiskMedium {
        DiskMedium { folder: folder.into() }
    }

    fn path(&self, file: StoreFile) -> PathBuf {
        self.folder.join(match file {
            StoreFile::Store => "store.redb",
            StoreFile::Scratch => "store.redb.new",
        })
    }
}

impl Medium for DiskMedium {
    fn exists(&self, file: StoreFile) -> io::Result<bool> {
        self.path(file).try_exists()
    }

    fn open(&self, file: StoreFile) -> io::Result<Box<dyn redb::StorageBackend>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // Memories are private: other users of the machine may not read the file.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = options.open(self.path(file))?;
        let backend = redb::backends::FileBackend::new(opened).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => io::ErrorKind::WouldBlock.into(),
            other => io::Error::other(other.to_string()),
        })?;
        Ok(Box::new(backend))
    }

    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(fs::metadata(self.path(file))?.len())
    }

    fn replace(&self) -> io::Result<()> {
        fs::rename(self.path(StoreFile::Scratch), self.path(StoreFile::Store))?;
        sync_folder(&self.folder)
    }

    fn remove_scratch(&self) -> io::Result<()> {
        match fs::remove_file(self.path(StoreFile::Scratch)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// A rename is durable only when the folder that holds the name is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
