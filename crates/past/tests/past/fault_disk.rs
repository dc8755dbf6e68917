//! A disk in memory that dies at a given write, in the middle of it, or has no more room from then on.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use past::PastDisk;

#[derive(Clone, Debug, Default)]
pub(crate) struct FaultDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, Vec<u8>>,
    /// Single changes so far: a file written, a frame appended, a file removed.
    changes: u64,
    dies_at: Option<u64>,
    is_dead: bool,
    full_at: Option<u64>,
}

impl State {
    /// An error if there is no room for one more change.
    fn has_room(&self) -> io::Result<()> {
        let is_full = self.full_at.is_some_and(|at| self.changes >= at);
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// Counts a change; true if it still happens.
    fn survives(&mut self) -> bool {
        self.changes += 1;
        self.is_dead |= self.dies_at.is_some_and(|at| self.changes >= at);
        !self.is_dead
    }
}

fn dead() -> io::Error {
    io::Error::other("the process was killed")
}

impl FaultDisk {
    pub(crate) fn changes(&self) -> u64 {
        self.state.lock().unwrap().changes
    }

    /// Kills the process at the n-th change from now, which happens in part or not at all.
    pub(crate) fn die_at(&self, change: u64) {
        let mut state = self.state.lock().unwrap();
        state.dies_at = Some(state.changes + change);
    }

    /// From the n-th change from now nothing more can be written; reading and removing go on.
    pub(crate) fn fill_at(&self, change: u64) {
        let mut state = self.state.lock().unwrap();
        state.full_at = Some(state.changes + change);
    }

    pub(crate) fn make_room(&self) {
        self.state.lock().unwrap().full_at = None;
    }

    /// What a new process finds.
    pub(crate) fn revive(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_dead = false;
        state.dies_at = None;
    }

    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.state.lock().unwrap().files.clone()
    }

    pub(crate) fn delete_all(&self) {
        self.state.lock().unwrap().files.clear();
    }

    pub(crate) fn delete(&self, name: &str) {
        self.state.lock().unwrap().files.remove(name);
    }

    pub(crate) fn damage(&self, name: &str) {
        let mut state = self.state.lock().unwrap();
        let bytes = state.files.get_mut(name).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
    }

    /// Whether any byte of any file, packed or not, holds the text.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let contains =
            |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        self.files()
            .values()
            .any(|bytes| contains(bytes) || unpacked(bytes).iter().any(|block| contains(block)))
    }
}

/// Every zstd frame inside a file.
fn unpacked(bytes: &[u8]) -> Vec<Vec<u8>> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let starts = (0..bytes.len().saturating_sub(4)).filter(|at| bytes[*at..*at + 4] == MAGIC);
    let unpack = |at: usize| {
        let mut block = Vec::new();
        let decoder = zstd::Decoder::new(&bytes[at..]).ok()?.single_frame();
        io::Read::read_to_end(&mut { decoder }, &mut block).ok()?;
        Some(block)
    };
    starts.filter_map(unpack).collect()
}

impl PastDisk for FaultDisk {
    fn write_all(&self, files: &[(String, Vec<u8>)]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        for (name, bytes) in files {
            state.has_room()?;
            if !state.survives() {
                return Err(dead());
            }
            state.files.insert(name.clone(), bytes.clone());
        }
        Ok(())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if state.is_dead {
            return Err(dead());
        }
        state.has_room()?;
        let survives = state.survives();
        let part = if survives { bytes } else { &bytes[..bytes.len() / 2] };
        state.files.entry(name.to_owned()).or_default().extend_from_slice(part);
        if survives { Ok(()) } else { Err(dead()) }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let state = self.state.lock().unwrap();
        if state.is_dead {
            return Err(dead());
        }
        state.files.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_range(&self, name: &str, from: u64, length: usize) -> io::Result<Vec<u8>> {
        let bytes = self.read(name)?;
        let from = usize::try_from(from).unwrap();
        let range = bytes.get(from..from + length).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(range.to_vec())
    }

    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        for name in names {
            if !state.survives() {
                return Err(dead());
            }
            state.files.remove(name);
        }
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let state = self.state.lock().unwrap();
        if state.is_dead {
            return Err(dead());
        }
        let below = format!("{folder}/");
        Ok(state.files.keys().filter(|name| name.starts_with(&below)).cloned().collect())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(name)
    }
}
