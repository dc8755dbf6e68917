//! Checkpoints as files of a folder that all nodes see.
//!
//! What must stay true: a file appears whole, by a rename, and only its owner may read it; a folder that is away is not
//! taken for one without checkpoints.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::Path;
use std::time::Duration;

use proof::actor::ActorName;

use super::draw_scratch;
use super::package::PART_BYTES;

const SCRATCH: &str = "new";
/// How long a checkpoint may take to be packed.
const SCRATCH_LIVES: Duration = Duration::from_hours(1);

/// The names of an actor's files.
pub(super) fn names(folder: &Path, actor: &ActorName) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder.join(actor.as_str())) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // An actor without any is common; a folder that is away must not be taken for that.
            return fs::metadata(folder).map(|_| Vec::new());
        }
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Lets `pack` fill a file, which then gets its name. Returns its bytes.
pub(super) fn put(
    folder: &Path,
    actor: &ActorName,
    name: &str,
    pack: impl FnOnce(&mut BufWriter<File>) -> io::Result<u64>,
) -> io::Result<u64> {
    let folder = folder.join(actor.as_str());
    fs::create_dir_all(&folder)?;
    sweep(&folder)?;
    let scratch = folder.join(format!("{}.{SCRATCH}", draw_scratch().map_err(io::Error::other)?));
    let packed = fill(&scratch, pack).and_then(|bytes| {
        fs::rename(&scratch, folder.join(name))?;
        File::open(&folder)?.sync_all()?;
        Ok(bytes)
    });
    if packed.is_err() {
        // Worthless, and perhaps not there at all.
        let _ = fs::remove_file(&scratch);
    }
    packed
}

fn fill(
    path: &Path,
    pack: impl FnOnce(&mut BufWriter<File>) -> io::Result<u64>,
) -> io::Result<u64> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // Memories are private: other users of the machine may not read the file.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = BufWriter::with_capacity(PART_BYTES, options.open(path)?);
    let bytes = pack(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(bytes)
}

pub(super) fn open(folder: &Path, actor: &ActorName, name: &str) -> io::Result<BufReader<File>> {
    let file = File::open(folder.join(actor.as_str()).join(name))?;
    Ok(BufReader::with_capacity(PART_BYTES, file))
}

pub(super) fn delete(folder: &Path, actor: &ActorName, name: &str) -> io::Result<()> {
    fs::remove_file(folder.join(actor.as_str()).join(name))
}

/// Removes what whoever packed a checkpoint could not finish.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_scratch = path.extension().is_some_and(|ending| ending == SCRATCH);
        // One that is gone meanwhile was finished.
        let age = fs::metadata(&path).and_then(|found| found.modified()).ok();
        let age = age.and_then(|modified| modified.elapsed().ok());
        if is_scratch && age.is_some_and(|age| age > SCRATCH_LIVES) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
