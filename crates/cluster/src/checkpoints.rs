//! Checkpoints: copies of long journals' states in a folder that all nodes see, so that a cold actor need not be made
//! again from its first entry.
//!
//! One file per checkpoint: `ACTOR/SIZE-ERASED.checkpoint`, a head, the files of a copy one after the other, and a
//! seal over all of it with the secret that only nodes of this ledger have. What must stay true: a checkpoint appears
//! whole, by a rename; what its seal does not cover is never used; one that is older than an erasure is deleted, and
//! nothing is erased while old ones cannot be. Losing them all costs time and nothing else.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel::CheckpointState;
use proof::Digest;
use proof::actor::ActorName;
use proof::digest::encode_hex;

use crate::seal::{keyed, same};

const MAGIC: &str = "cortex checkpoint 1";
const ENDING: &str = "checkpoint";
const SCRATCH: &str = "new";
/// How long a checkpoint may take to be packed.
const SCRATCH_LIVES: Duration = Duration::from_hours(1);
/// Digits of the size in a name: enough for every `u64`, so that names sort as numbers do.
const DIGITS: usize = 20;
/// Bytes that are read and hashed at a time.
const PART_BYTES: usize = 1 << 20;
/// Bytes of a line of a head.
const LINE_BYTES_MAX: u64 = 256;
/// Files of one checkpoint: segments of the ledger and the derived rows.
const FILES_MAX: usize = 65_536;

/// The folder in which checkpoints are.
#[derive(Debug)]
pub struct CheckpointFolder {
    folder: PathBuf,
    secret: Vec<u8>,
}

/// A checkpoint as its name says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FoundCheckpoint {
    state: CheckpointState,
    path: PathBuf,
}

fn other(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl CheckpointFolder {
    pub(crate) fn new(folder: PathBuf, secret: Vec<u8>) -> CheckpointFolder {
        CheckpointFolder { folder, secret }
    }

    /// The newest checkpoint of an actor.
    pub fn newest(&self, actor: &ActorName) -> io::Result<Option<CheckpointState>> {
        Ok(self.found(actor)?.pop().map(|found| found.state))
    }

    /// All of an actor, the newest last.
    fn found(&self, actor: &ActorName) -> io::Result<Vec<FoundCheckpoint>> {
        let entries = match fs::read_dir(self.folder.join(actor.as_str())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // An actor without any is common; a folder that is away must not be taken for that.
                return fs::metadata(&self.folder).map(|_| Vec::new());
            }
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry?.path();
            // A file with another name is not ours.
            if let Some(state) = path.file_name().and_then(|name| parse_name(name.to_str()?)) {
                found.push(FoundCheckpoint { state, path });
            }
        }
        found.sort_by_key(|found| (found.state.size, found.state.erased));
        Ok(found)
    }

    /// Packs the files of a copy. Older checkpoints of the actor go. Returns its bytes.
    pub fn put(&self, actor: &ActorName, state: CheckpointState, from: &Path) -> io::Result<u64> {
        let folder = self.folder.join(actor.as_str());
        fs::create_dir_all(&folder)?;
        let path = folder.join(name_of(state));
        sweep(&folder)?;
        let scratch =
            folder.join(format!("{}.{SCRATCH}", draw_scratch().map_err(io::Error::other)?));
        let packed = self.pack(actor, state, from, &scratch).and_then(|bytes| {
            fs::rename(&scratch, &path)?;
            File::open(&folder)?.sync_all()?;
            Ok(bytes)
        });
        if packed.is_err() {
            // Worthless, and perhaps not there at all.
            let _ = fs::remove_file(&scratch);
        }
        let bytes = packed?;
        for old in self.found(actor)?.into_iter().filter(|old| old.state.size < state.size) {
            delete(&old.path)?;
        }
        Ok(bytes)
    }

    fn pack(
        &self,
        actor: &ActorName,
        state: CheckpointState,
        from: &Path,
        to: &Path,
    ) -> io::Result<u64> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // Memories are private: other users of the machine may not read the file.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut packed = HashChain::new(BufWriter::with_capacity(PART_BYTES, options.open(to)?));
        let CheckpointState { size, erased } = state;
        packed.put(format!("{MAGIC}\nactor {actor}\nsize {size}\nerased {erased}\n").as_bytes())?;
        for name in files_in(from)? {
            let mut file = File::open(from.join(&name))?;
            let length = file.metadata()?.len();
            packed.put(format!("file {name} {length}\n").as_bytes())?;
            let copied = copy_exactly(&mut file, length, |part| packed.put(part))?;
            if copied != length {
                return Err(other("a file grew shorter while it was packed"));
            }
        }
        packed.put(b"end\n")?;
        let seal = self.seal(&packed.digest());
        let mut inner = packed.inner;
        writeln!(inner, "seal {seal}")?;
        let file = inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(file.metadata()?.len())
    }

    fn seal(&self, digest: &Digest) -> Digest {
        keyed(&self.secret, &[b"checkpoint", digest.as_bytes()])
    }

    /// Puts the files of the newest checkpoint into a folder. `None`: there is none. An error leaves no file behind.
    pub fn take(&self, actor: &ActorName, into: &Path) -> io::Result<Option<CheckpointState>> {
        let Some(found) = self.found(actor)?.pop() else { return Ok(None) };
        let mut written = Vec::new();
        let unpacked = self.unpack(actor, &found, into, &mut written);
        if unpacked.is_err() {
            for path in written {
                fs::remove_file(path)?;
            }
        }
        unpacked.map(|()| Some(found.state))
    }

    fn unpack(
        &self,
        actor: &ActorName,
        found: &FoundCheckpoint,
        into: &Path,
        written: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let file = BufReader::with_capacity(PART_BYTES, File::open(&found.path)?);
        let mut packed = HashChain::new(file);
        let CheckpointState { size, erased } = found.state;
        for expected in [
            MAGIC.to_owned(),
            format!("actor {actor}"),
            format!("size {size}"),
            format!("erased {erased}"),
        ] {
            if packed.line()? != expected {
                return Err(other("its head is not that of this checkpoint"));
            }
        }
        for _ in 0..=FILES_MAX {
            let line = packed.line()?;
            if line == "end" {
                let seal = self.seal(&packed.digest());
                let given = packed.line()?.strip_prefix("seal ").and_then(|text| text.parse().ok());
                let is_sealed = given.is_some_and(|given| same(&given, &seal));
                return if is_sealed {
                    Ok(())
                } else {
                    Err(other("its seal is not of this ledger"))
                };
            }
            let named = line.strip_prefix("file ").and_then(|rest| rest.split_once(' '));
            let named = named.and_then(|(name, length)| Some((name, length.parse().ok()?)));
            let Some((name, length)) = named.filter(|(name, _)| is_of_copy(name)) else {
                return Err(other("it holds what is no file of a copy"));
            };
            let path = into.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true);
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut to = options.open(&path)?;
            written.push(path);
            packed.copy(length, &mut to)?;
        }
        Err(other("it holds too many files"))
    }

    /// Deletes the checkpoints of an actor in which fewer memories are erased than now. Returns how many.
    pub fn delete_older(&self, actor: &ActorName, erased: u64) -> io::Result<usize> {
        let mut deleted = 0;
        for found in self.found(actor)?.into_iter().filter(|found| found.state.erased < erased) {
            delete(&found.path)?;
            deleted += 1;
        }
        Ok(deleted)
    }
}

/// Deletes a file. Another node may have been faster.
fn delete(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        deleted => deleted,
    }
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
            delete(&path)?;
        }
    }
    Ok(())
}

/// Bytes that are hashed on their way, one part after the other.
struct HashChain<T> {
    inner: T,
    digest: Digest,
    part: Vec<u8>,
}

impl<T> HashChain<T> {
    fn new(inner: T) -> HashChain<T> {
        HashChain { inner, digest: Digest::ZERO, part: Vec::new() }
    }

    /// Parts are of one length whoever hands them over, so that writer and reader hash the same ones.
    fn hash(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = bytes.len().min(PART_BYTES - self.part.len());
            self.part.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.part.len() == PART_BYTES {
                self.digest = Digest::of(DOMAIN, &[self.digest.as_bytes(), &self.part]);
                self.part.clear();
            }
        }
    }

    /// Of everything so far.
    fn digest(&self) -> Digest {
        Digest::of(DOMAIN, &[self.digest.as_bytes(), &self.part])
    }
}

const DOMAIN: &str = "cortex/checkpoint/1";

impl<W: Write> HashChain<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash(bytes);
        self.inner.write_all(bytes)
    }
}

impl<R: BufRead> HashChain<R> {
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.inner.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        self.hash(&line);
        if line.pop() != Some(b'\n') {
            return Err(other("it is cut off"));
        }
        String::from_utf8(line).map_err(|_| other("its head is no text"))
    }

    fn copy(&mut self, length: u64, to: &mut File) -> io::Result<()> {
        let mut part = vec![0; PART_BYTES];
        let mut left = length;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(PART_BYTES).min(PART_BYTES);
            self.inner.read_exact(&mut part[..wanted])?;
            self.hash(&part[..wanted]);
            to.write_all(&part[..wanted])?;
            left -= wanted as u64;
        }
        Ok(())
    }
}

/// Hands over at most `length` bytes of a file; returns how many there were.
fn copy_exactly(
    file: &mut File,
    length: u64,
    mut put: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let mut part = vec![0; PART_BYTES];
    let mut left = length;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(PART_BYTES).min(PART_BYTES);
        let read = file.read(&mut part[..wanted])?;
        if read == 0 {
            break;
        }
        put(&part[..read])?;
        left -= read as u64;
    }
    Ok(length - left)
}

/// The files of a copy, by their names below its folder, in order.
fn files_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = vec!["derived.redb".to_owned()];
    for entry in fs::read_dir(folder.join("ledger"))? {
        let name = entry?.file_name().into_string().map_err(|_| other("a name is no text"))?;
        names.extend(Some(format!("ledger/{name}")).filter(|name| is_of_copy(name)));
    }
    names.sort();
    Ok(names)
}

fn is_of_copy(name: &str) -> bool {
    let segment = |name: &str| {
        let digits = name.strip_prefix("ledger/").and_then(|name| name.strip_suffix(".log"));
        digits.is_some_and(|digits| {
            digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    name == "derived.redb" || segment(name)
}

fn name_of(state: CheckpointState) -> String {
    let CheckpointState { size, erased } = state;
    format!("{size:0DIGITS$}-{erased}.{ENDING}")
}

fn parse_name(name: &str) -> Option<CheckpointState> {
    let (size, erased) = name.strip_suffix(ENDING)?.strip_suffix('.')?.split_once('-')?;
    let state = CheckpointState { size: size.parse().ok()?, erased: erased.parse().ok()? };
    (name_of(state) == name).then_some(state)
}

/// A name for a folder in which a checkpoint is made, that nobody else uses.
pub fn draw_scratch() -> crate::Result<String> {
    let mut drawn = [0; 8];
    getrandom::fill(&mut drawn).map_err(|error| crate::Error::Invalid(error.to_string()))?;
    Ok(format!("checkpoint-{}", encode_hex(&drawn)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ada() -> ActorName {
        ActorName::parse("ada").unwrap()
    }

    fn copy(folder: &Path) {
        fs::create_dir_all(folder.join("ledger")).unwrap();
        fs::write(folder.join("derived.redb"), vec![7; PART_BYTES * 2 + 5]).unwrap();
        fs::write(folder.join("ledger/00000000000000000001.log"), b"frames").unwrap();
        fs::write(folder.join("ledger/watermark"), b"not of it").unwrap();
    }

    // cluster 10
    #[test]
    fn what_is_put_is_taken_and_a_changed_byte_anywhere_is_refused() {
        let folder = tempfile::TempDir::new().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let kept = folder.path().join("kept");
        fs::create_dir_all(&kept).unwrap();
        copy(&from);
        let checkpoints = CheckpointFolder::new(kept.clone(), b"secret".to_vec());
        assert_eq!(checkpoints.take(&ada(), &to).unwrap(), None);
        let state = CheckpointState { size: 12, erased: 1 };
        let bytes = checkpoints.put(&ada(), state, &from).unwrap();
        assert_eq!(checkpoints.take(&ada(), &to).unwrap(), Some(state));
        for name in ["derived.redb", "ledger/00000000000000000001.log"] {
            assert_eq!(fs::read(from.join(name)).unwrap(), fs::read(to.join(name)).unwrap());
        }
        assert!(!to.join("ledger/watermark").exists());
        let path = kept.join("ada").join(name_of(state));
        let whole = fs::read(&path).unwrap();
        assert_eq!(whole.len() as u64, bytes);
        let places = [0, 30, 60, PART_BYTES + 100, whole.len() - 80, whole.len() - 3];
        for place in places {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            fs::write(&path, changed).unwrap();
            let other = folder.path().join(format!("other-{place}"));
            assert!(checkpoints.take(&ada(), &other).is_err(), "byte {place}");
            assert!(!other.join("derived.redb").exists(), "byte {place} left a file");
        }
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(checkpoints.take(&ada(), &folder.path().join("half")).is_err());
        // Nobody without the secret makes one.
        fs::write(&path, &whole).unwrap();
        let strangers = CheckpointFolder::new(kept, b"another".to_vec());
        assert!(strangers.take(&ada(), &folder.path().join("stranger")).is_err());
    }

    // cluster 10, 11
    #[test]
    fn a_newer_checkpoint_and_an_erasure_leave_none_that_is_older() {
        let folder = tempfile::TempDir::new().unwrap();
        let (from, kept) = (folder.path().join("from"), folder.path().join("kept"));
        fs::create_dir_all(&kept).unwrap();
        copy(&from);
        let checkpoints = CheckpointFolder::new(kept.clone(), b"secret".to_vec());
        for size in [5, 9] {
            checkpoints.put(&ada(), CheckpointState { size, erased: 2 }, &from).unwrap();
        }
        assert_eq!(fs::read_dir(kept.join("ada")).unwrap().count(), 1);
        assert_eq!(checkpoints.newest(&ada()).unwrap().map(|state| state.size), Some(9));
        assert_eq!(checkpoints.delete_older(&ada(), 2).unwrap(), 0);
        assert_eq!(checkpoints.delete_older(&ada(), 3).unwrap(), 1);
        assert_eq!(checkpoints.newest(&ada()).unwrap(), None);
        // A folder that is away is not one without checkpoints.
        fs::remove_dir_all(&kept).unwrap();
        assert!(checkpoints.delete_older(&ada(), 3).is_err());
    }
}
