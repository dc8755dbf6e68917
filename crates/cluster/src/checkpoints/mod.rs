//! Checkpoints: copies of long journals' states in a place that all nodes see, so that a cold actor need not be made
//! again from its first entry.
//!
//! One object per checkpoint, `ACTOR/SIZE-ERASED.checkpoint`, in a folder (`folder.rs`) or a bucket (`bucket.rs`); what
//! is in it, and its seal, is in `package.rs`. What must stay true: a checkpoint appears whole; what its seal does not
//! cover is never used; one that is older than an erasure is deleted, and nothing is erased while old ones cannot be.
//! Losing them all costs time and nothing else.

mod bucket;
mod folder;
mod package;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernel::CheckpointState;
use proof::actor::ActorName;
use proof::digest::encode_hex;
use tokio::runtime::Handle;

pub use bucket::{Bucket, VARIABLES};

const ENDING: &str = "checkpoint";
/// Digits of the size in a name: enough for every `u64`, so that names sort as numbers do.
const DIGITS: usize = 20;

/// Where checkpoints are.
#[derive(Clone, Debug)]
pub enum CheckpointPlace {
    /// A folder that all nodes see.
    Folder(PathBuf),
    /// A bucket of an object store.
    Bucket(Bucket),
}

impl CheckpointPlace {
    /// `text` is a folder, or the address of a bucket (`s3://`, `gs://`, `az://`); `variables` hold what the store asks
    /// for, under the names that its own tools have.
    pub fn parse(text: &str, variables: &[(String, String)]) -> crate::Result<CheckpointPlace> {
        if !text.contains("://") {
            return Ok(CheckpointPlace::Folder(PathBuf::from(text)));
        }
        Bucket::open(text, variables).map(CheckpointPlace::Bucket)
    }
}

/// The checkpoints of all actors.
#[derive(Debug)]
pub struct Checkpoints {
    place: CheckpointPlace,
    secret: Vec<u8>,
    /// Runs what a bucket is asked.
    runtime: Handle,
}

impl Checkpoints {
    pub(crate) fn new(place: CheckpointPlace, secret: Vec<u8>, runtime: Handle) -> Checkpoints {
        Checkpoints { place, secret, runtime }
    }

    /// The newest checkpoint of an actor.
    pub fn newest(&self, actor: &ActorName) -> io::Result<Option<CheckpointState>> {
        Ok(self.found(actor)?.pop())
    }

    /// All of an actor, the newest last.
    fn found(&self, actor: &ActorName) -> io::Result<Vec<CheckpointState>> {
        let names = match &self.place {
            CheckpointPlace::Folder(folder) => folder::names(folder, actor)?,
            CheckpointPlace::Bucket(bucket) => bucket.names(&self.runtime, actor)?,
        };
        // One with another name is not ours.
        let mut found: Vec<CheckpointState> =
            names.iter().filter_map(|name| parse_name(name)).collect();
        found.sort_by_key(|state| (state.size, state.erased));
        Ok(found)
    }

    /// Packs the files of a copy. Older checkpoints of the actor go. Returns its bytes.
    pub fn put(&self, actor: &ActorName, state: CheckpointState, from: &Path) -> io::Result<u64> {
        let name = name_of(state);
        let bytes = match &self.place {
            CheckpointPlace::Folder(folder) => folder::put(folder, actor, &name, |to| {
                package::pack(&self.secret, actor, state, from, to)
            })?,
            CheckpointPlace::Bucket(bucket) => {
                let mut upload = bucket.upload(&self.runtime, actor, &name)?;
                let packed = package::pack(&self.secret, actor, state, from, &mut upload);
                upload.end(packed)?
            }
        };
        for old in self.found(actor)?.into_iter().filter(|old| old.size < state.size) {
            self.delete(actor, old)?;
        }
        Ok(bytes)
    }

    /// Puts the files of the newest checkpoint into a folder. `None`: there is none. An error leaves no file behind.
    pub fn take(&self, actor: &ActorName, into: &Path) -> io::Result<Option<CheckpointState>> {
        let Some(state) = self.newest(actor)? else { return Ok(None) };
        let name = name_of(state);
        let mut written = Vec::new();
        let unpacked = match &self.place {
            CheckpointPlace::Folder(folder) => {
                folder::open(folder, actor, &name).and_then(|from| {
                    package::unpack(&self.secret, (actor, state), from, into, &mut written)
                })
            }
            CheckpointPlace::Bucket(bucket) => {
                bucket.download(&self.runtime, actor, &name).and_then(|from| {
                    package::unpack(&self.secret, (actor, state), from, into, &mut written)
                })
            }
        };
        if unpacked.is_err() {
            for path in written {
                fs::remove_file(path)?;
            }
        }
        unpacked.map(|()| Some(state))
    }

    /// Deletes the checkpoints of an actor in which fewer memories are erased than now. Returns how many.
    pub fn delete_older(&self, actor: &ActorName, erased: u64) -> io::Result<usize> {
        let old: Vec<CheckpointState> =
            self.found(actor)?.into_iter().filter(|state| state.erased < erased).collect();
        for state in &old {
            self.delete(actor, *state)?;
        }
        Ok(old.len())
    }

    /// Deletes one. Another node may have been faster.
    fn delete(&self, actor: &ActorName, state: CheckpointState) -> io::Result<()> {
        let name = name_of(state);
        let deleted = match &self.place {
            CheckpointPlace::Folder(folder) => folder::delete(folder, actor, &name),
            CheckpointPlace::Bucket(bucket) => bucket.delete(&self.runtime, actor, &name),
        };
        match deleted {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            deleted => deleted,
        }
    }
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
    use super::package::PART_BYTES;
    use super::*;

    fn ada() -> ActorName {
        ActorName::parse("ada").unwrap()
    }

    fn copy(folder: &Path) {
        fs::create_dir_all(folder.join("ledger")).unwrap();
        fs::write(folder.join("derived.redb"), vec![7; PART_BYTES * 9 + 5]).unwrap();
        fs::write(folder.join("ledger/00000000000000000001.log"), b"frames").unwrap();
        fs::write(folder.join("ledger/watermark"), b"not of it").unwrap();
    }

    /// Both kinds of places, and what answers for them.
    fn places(folder: &Path) -> (tokio::runtime::Runtime, Vec<CheckpointPlace>) {
        let kept = folder.join("kept");
        fs::create_dir_all(&kept).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        (runtime, vec![CheckpointPlace::Folder(kept), CheckpointPlace::Bucket(Bucket::in_memory())])
    }

    /// Another hand changes the bytes of a checkpoint.
    fn replace(place: &CheckpointPlace, runtime: &Handle, name: &str, bytes: &[u8]) {
        match place {
            CheckpointPlace::Folder(folder) => {
                fs::write(folder.join("ada").join(name), bytes).unwrap();
            }
            CheckpointPlace::Bucket(bucket) => {
                let mut upload = bucket.upload(runtime, &ada(), name).unwrap();
                io::Write::write_all(&mut upload, bytes).unwrap();
                upload.end(Ok(0)).unwrap();
            }
        }
    }

    fn whole(place: &CheckpointPlace, runtime: &Handle, name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        match place {
            CheckpointPlace::Folder(folder) => {
                io::Read::read_to_end(&mut folder::open(folder, &ada(), name).unwrap(), &mut bytes)
            }
            CheckpointPlace::Bucket(bucket) => io::Read::read_to_end(
                &mut bucket.download(runtime, &ada(), name).unwrap(),
                &mut bytes,
            ),
        }
        .unwrap();
        bytes
    }

    // cluster 10
    #[test]
    fn what_is_put_is_taken_and_a_changed_byte_anywhere_is_refused() {
        let folder = tempfile::TempDir::new().unwrap();
        let from = folder.path().join("from");
        copy(&from);
        let (runtime, places) = places(folder.path());
        for (n, place) in places.into_iter().enumerate() {
            let to = folder.path().join(format!("to-{n}"));
            let handle = runtime.handle().clone();
            let checkpoints = Checkpoints::new(place.clone(), b"secret".to_vec(), handle.clone());
            assert_eq!(checkpoints.take(&ada(), &to).unwrap(), None);
            let state = CheckpointState { size: 12, erased: 1 };
            let bytes = checkpoints.put(&ada(), state, &from).unwrap();
            assert_eq!(checkpoints.take(&ada(), &to).unwrap(), Some(state));
            for name in ["derived.redb", "ledger/00000000000000000001.log"] {
                assert_eq!(fs::read(from.join(name)).unwrap(), fs::read(to.join(name)).unwrap());
            }
            assert!(!to.join("ledger/watermark").exists());
            let name = name_of(state);
            let whole = whole(&place, &handle, &name);
            assert_eq!(whole.len() as u64, bytes);
            let changes = [0, 30, 60, PART_BYTES + 100, whole.len() - 80, whole.len() - 3];
            for at in changes {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                replace(&place, &handle, &name, &changed);
                let other = folder.path().join(format!("other-{n}-{at}"));
                assert!(checkpoints.take(&ada(), &other).is_err(), "{place:?}, byte {at}");
                assert!(!other.join("derived.redb").exists(), "{place:?}, byte {at} left a file");
            }
            replace(&place, &handle, &name, &whole[..whole.len() / 2]);
            assert!(checkpoints.take(&ada(), &folder.path().join(format!("half-{n}"))).is_err());
            // Nobody without the secret makes one.
            replace(&place, &handle, &name, &whole);
            let strangers = Checkpoints::new(place, b"another".to_vec(), handle);
            assert!(strangers.take(&ada(), &folder.path().join(format!("stranger-{n}"))).is_err());
        }
    }

    // cluster 10, 11
    #[test]
    fn a_newer_checkpoint_and_an_erasure_leave_none_that_is_older() {
        let folder = tempfile::TempDir::new().unwrap();
        let from = folder.path().join("from");
        copy(&from);
        let (runtime, places) = places(folder.path());
        for place in places {
            let handle = runtime.handle().clone();
            let checkpoints = Checkpoints::new(place, b"secret".to_vec(), handle);
            for size in [5, 9] {
                checkpoints.put(&ada(), CheckpointState { size, erased: 2 }, &from).unwrap();
            }
            assert_eq!(checkpoints.found(&ada()).unwrap().len(), 1);
            assert_eq!(checkpoints.newest(&ada()).unwrap().map(|state| state.size), Some(9));
            assert_eq!(checkpoints.delete_older(&ada(), 2).unwrap(), 0);
            assert_eq!(checkpoints.delete_older(&ada(), 3).unwrap(), 1);
            assert_eq!(checkpoints.newest(&ada()).unwrap(), None);
        }
    }

    // cluster 11
    #[test]
    fn a_place_that_is_away_is_not_one_without_checkpoints() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let gone = tempfile::TempDir::new().unwrap().path().to_owned();
        // Nobody listens at the discard port of this machine.
        let variables = [
            ("AWS_ENDPOINT", "http://127.0.0.1:9"),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "hush"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let bucket = CheckpointPlace::parse("s3://kept/cortex", &variables).unwrap();
        assert!(!format!("{bucket:?}").contains("hush"));
        for place in [CheckpointPlace::Folder(gone), bucket] {
            let checkpoints = Checkpoints::new(place, b"secret".to_vec(), runtime.handle().clone());
            assert!(checkpoints.delete_older(&ada(), 3).is_err());
        }
    }

    #[test]
    fn an_address_is_a_folder_or_a_known_store() {
        assert!(matches!(
            CheckpointPlace::parse("/mnt/checkpoints", &[]),
            Ok(CheckpointPlace::Folder(_))
        ));
        for wrong in ["ftp://kept", "file:///kept", "memory:///kept", "s3://"] {
            assert!(CheckpointPlace::parse(wrong, &[]).is_err(), "{wrong}");
        }
    }
}
