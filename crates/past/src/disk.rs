//! The files of the past, by name inside its folder.
//!
//! What must stay true: a file that is written is there whole or not at all, also after a power cut; only the
//! catalogue is appended to, and its frames tell whether they are whole. Files are for their owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What the past needs of a disk. Tests have one that fails at any write.
pub trait PastDisk: Send + Sync {
    /// Writes files whole, and returns when they are durable under their names.
    fn write_all(&self, files: &[(String, Vec<u8>)]) -> io::Result<()>;

    /// Adds to the end of a file, and returns when it is durable.
    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    fn read_range(&self, name: &str, from: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Removes files; one that is not there is no error.
    fn remove_all(&self, names: &[String]) -> io::Result<()>;

    /// Names below a folder, in order, as the other functions take them.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// For messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// A folder of the file system.
#[derive(Debug)]
pub struct FolderDisk {
    folder: PathBuf,
    /// Held as long as the past is open.
    _lock: File,
}

const LOCK: &str = "lock";
/// Ends the name of a file that is not whole yet.
const UNFINISHED: &str = ".new";

impl FolderDisk {
    /// Opens the folder, makes it if it is not there, and keeps others out.
    pub fn open(folder: &Path) -> crate::Result<FolderDisk> {
        let failed = |error| crate::Error::file(folder, error);
        make_folder(folder).map_err(failed)?;
        let lock =
            private_file().create(true).truncate(false).open(folder.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(FolderDisk { folder: folder.to_owned(), _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => {
                Err(crate::Error::Busy { path: folder.to_owned() })
            }
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the names in a folder durable. Only Unix knows that a folder can be synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

impl PastDisk for FolderDisk {
    fn write_all(&self, files: &[(String, Vec<u8>)]) -> io::Result<()> {
        let mut folders = std::collections::BTreeSet::new();
        let mut open = Vec::with_capacity(files.len());
        for (name, bytes) in files {
            let path = self.folder.join(name);
            if let Some(folder) = path.parent()
                && folders.insert(folder.to_owned())
            {
                make_folder(folder)?;
            }
            let unfinished = self.folder.join(format!("{name}{UNFINISHED}"));
            let mut file = private_file().create(true).truncate(true).open(&unfinished)?;
            file.write_all(bytes)?;
            open.push((unfinished, path));
        }
        for (unfinished, path) in open {
            File::open(&unfinished)?.sync_data()?;
            fs::rename(&unfinished, &path)?;
        }
        folders.iter().try_for_each(|folder| sync_folder(folder))
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        let is_new = !path.exists();
        let mut file = private_file().append(true).create(true).open(&path)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        if is_new { sync_folder(&self.folder) } else { Ok(()) }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.folder.join(name))
    }

    fn read_range(&self, name: &str, from: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.folder.join(name))?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        let mut folders = std::collections::BTreeSet::new();
        for name in names {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Ok(()) => folders.extend(path.parent().map(Path::to_owned)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        folders.iter().try_for_each(|folder| sync_folder(folder))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            let entries = match fs::read_dir(self.folder.join(&folder)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                let entry = entry?;
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if entry.file_type()?.is_dir() { open.push(name) } else { found.push(name) }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 26, 28
    #[test]
    fn files_are_for_their_owner_and_one_process_writes() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("past");
        let disk = FolderDisk::open(&place).unwrap();
        disk.write_all(&[("segments/ab/x.seg".to_owned(), b"abc".to_vec())]).unwrap();
        disk.append("log", b"1").unwrap();
        disk.append("log", b"2").unwrap();
        assert_eq!(disk.read("log").unwrap(), b"12");
        assert_eq!(disk.read_range("segments/ab/x.seg", 1, 2).unwrap(), b"bc");
        assert_eq!(disk.list("segments").unwrap(), ["segments/ab/x.seg"]);
        assert_eq!(disk.list("nowhere").unwrap(), Vec::<String>::new());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode =
                |name: &str| fs::metadata(place.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode("segments/ab/x.seg"), 0o600);
            assert_eq!(mode("segments/ab"), 0o700);
            assert_eq!(mode("log"), 0o600);
        }
        assert!(matches!(FolderDisk::open(&place), Err(crate::Error::Busy { .. })));
        disk.remove_all(&["segments/ab/x.seg".to_owned(), "none".to_owned()]).unwrap();
        assert_eq!(disk.list("segments").unwrap(), Vec::<String>::new());
        drop(disk);
        FolderDisk::open(&place).unwrap();
    }
}
