//! Files that are whole or not there.
//!
//! A file is written under another name in the same folder, made durable, and then renamed, so whoever reads it
//! finds the old content or the new one and never a part, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Two writers of one process must not share a temporary name.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// Replaces a file in one step, durably. Folders on the way are made.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with_mode(path, bytes, 0o666)
}

/// Replaces a file that only its owner may read in one step, durably. Folders on the way are made.
pub fn write_atomic_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with_mode(path, bytes, 0o600)
}

fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    let part = folder.join(format!(".{name}.{}-{number}.part", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        sync_folder(folder)
    })();
    if written.is_err() {
        // The first error is the one to report; a part that stays behind has a name nobody reads.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Makes names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
