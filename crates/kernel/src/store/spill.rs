//! A file that goes on in memory when the disk has no room for it.
//!
//! What is derived can be made again, so a full disk is no reason to stop reading, or to open everything anew for each
//! save that is refused. From the first write that finds no room, everything that is written stays in memory, and the
//! file on disk stays as it was.
//!
//! What must stay true: once a write was kept in memory, no byte reaches the disk any more, whatever the order in which
//! the engine writes. So a crash finds the state of the last sync before, and what it lacks is replayed from the
//! ledger. The way back to the disk is a fresh copy that takes the place of the file.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use redb::{BackendError, StorageBackend};

use crate::error::is_want_of_room;
use crate::limits::SPILL_BYTES_MAX;

/// What is kept is kept in blocks of this size.
const BLOCK_BYTES: u64 = 4_096;
const BLOCK: usize = 4_096;

/// How long the file would be on a disk with room; 0 while all of it is on disk.
pub(super) type SpilledLength = Arc<AtomicU64>;

pub(super) struct SpillFile {
    disk: Box<dyn StorageBackend>,
    /// Held for reading while the disk is written to, so that nothing is once a spill has begun.
    spill: RwLock<Option<Spill>>,
    length: SpilledLength,
}

/// The part of a file that has no room on disk.
#[derive(Debug)]
struct Spill {
    blocks: BTreeMap<u64, Vec<u8>>,
    length: u64,
    /// Bytes of the file on disk that still count.
    shown: u64,
}

impl fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillFile").field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl SpillFile {
    pub(super) fn over(disk: Box<dyn StorageBackend>) -> SpillFile {
        let (spill, length) = (RwLock::default(), SpilledLength::default());
        SpillFile { disk, spill, length }
    }

    /// An empty file for which there is no place on disk.
    pub(super) fn in_memory() -> SpillFile {
        let file = SpillFile::over(Box::new(redb::backends::InMemoryBackend::new()));
        let spill = RwLock::new(Some(Spill { blocks: BTreeMap::new(), length: 0, shown: 0 }));
        SpillFile { spill, ..file }
    }

    pub(super) fn spilled_length(&self) -> SpilledLength {
        Arc::clone(&self.length)
    }

    /// Changes the file: on disk, or in memory if it has no room there.
    fn change(
        &self,
        on_disk: impl FnOnce(&dyn StorageBackend) -> io::Result<()>,
        in_memory: impl FnOnce(&mut Spill, &dyn StorageBackend) -> io::Result<()>,
    ) -> io::Result<()> {
        let disk = &*self.disk;
        {
            let spill = self.spill.read().unwrap_or_else(PoisonError::into_inner);
            if spill.is_none() {
                match on_disk(disk) {
                    Err(error) if is_want_of_room(error.kind()) => {}
                    outcome => return outcome,
                }
            }
        }
        let mut spill = self.spill.write().unwrap_or_else(PoisonError::into_inner);
        let kept = match &mut *spill {
            Some(kept) => kept,
            none => {
                let length = disk.len()?;
                none.insert(Spill { blocks: BTreeMap::new(), length, shown: length })
            }
        };
        in_memory(kept, disk)?;
        self.length.store(kept.length, Ordering::Release);
        Ok(())
    }
}

impl Spill {
    fn read(&self, disk: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        if end > self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let on_disk = to_usize(self.shown.saturating_sub(offset))?.min(out.len());
        let (from_disk, beyond) = out.split_at_mut(on_disk);
        beyond.fill(0);
        if !from_disk.is_empty() {
            disk.read(offset, from_disk)?;
        }
        for (number, block) in self.blocks.range(offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)) {
            let begin = number * BLOCK_BYTES;
            let (from, to) = (begin.max(offset), (begin + BLOCK_BYTES).min(end));
            let kept = &block[to_usize(from - begin)?..to_usize(to - begin)?];
            out[to_usize(from - offset)?..to_usize(to - offset)?].copy_from_slice(kept);
        }
        Ok(())
    }

    fn write(&mut self, disk: &dyn StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset + data.len() as u64;
        self.length = self.length.max(end);
        for number in offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
            let begin = number * BLOCK_BYTES;
            let (from, to) = (begin.max(offset), (begin + BLOCK_BYTES).min(end));
            if !self.blocks.contains_key(&number) {
                if (self.blocks.len() as u64 + 1) * BLOCK_BYTES > SPILL_BYTES_MAX {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                let mut block = vec![0; BLOCK];
                let there = to_usize((self.length - begin).min(BLOCK_BYTES))?;
                self.read(disk, begin, &mut block[..there])?;
                self.blocks.insert(number, block);
            }
            let block = self.blocks.get_mut(&number).expect("it was put there just now");
            let new = &data[to_usize(from - offset)?..to_usize(to - offset)?];
            block[to_usize(from - begin)?..to_usize(to - begin)?].copy_from_slice(new);
        }
        Ok(())
    }

    fn set_len(&mut self, length: u64) {
        self.shown = self.shown.min(length);
        self.blocks.retain(|number, _| number * BLOCK_BYTES < length);
        // What is cut off and grows back is zeros.
        let rest = usize::try_from(length % BLOCK_BYTES).unwrap_or(0);
        if rest > 0
            && let Some(block) = self.blocks.get_mut(&(length / BLOCK_BYTES))
        {
            block[rest..].fill(0);
        }
        self.length = length;
    }
}

fn to_usize(n: u64) -> io::Result<usize> {
    usize::try_from(n).map_err(io::Error::other)
}

impl StorageBackend for SpillFile {
    fn len(&self) -> io::Result<u64> {
        match &*self.spill.read().unwrap_or_else(PoisonError::into_inner) {
            Some(spill) => Ok(spill.length),
            None => self.disk.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match &*self.spill.read().unwrap_or_else(PoisonError::into_inner) {
            Some(spill) => spill.read(&*self.disk, offset, out),
            None => self.disk.read(offset, out),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(
            |disk| disk.set_len(length),
            |spill, _| {
                spill.set_len(length);
                Ok(())
            },
        )
    }

    fn sync_data(&self) -> io::Result<()> {
        match &*self.spill.read().unwrap_or_else(PoisonError::into_inner) {
            None => self.disk.sync_data(),
            // Nothing reaches the disk, and nothing has to: a crash leads back to the ledger.
            Some(_) => Ok(()),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(|disk| disk.write(offset, data), |spill, disk| spill.write(disk, offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.disk.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.disk.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.disk.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.disk.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.disk.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.disk.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.disk.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file that takes no write and grows no further from some moment on.
    #[derive(Debug, Default)]
    struct Narrow {
        file: redb::backends::InMemoryBackend,
        is_full: std::sync::atomic::AtomicBool,
    }

    impl Narrow {
        fn room(&self) -> io::Result<()> {
            let is_full = self.is_full.load(Ordering::Relaxed);
            if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    #[derive(Debug)]
    struct Shared(Arc<Narrow>);

    impl StorageBackend for Shared {
        fn len(&self) -> io::Result<u64> {
            self.0.file.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.file.read(offset, out)
        }

        fn set_len(&self, length: u64) -> io::Result<()> {
            self.0.room()?;
            self.0.file.set_len(length)
        }

        fn sync_data(&self) -> io::Result<()> {
            Ok(())
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.0.room()?;
            self.0.file.write(offset, data)
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, u8, usize),
        Length(u64),
        Fill,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..40_000_u64, any::<u8>(), 1..9_000_usize).prop_map(|(at, n, many)| Step::Write(at, n, many)),
            2 => (0..50_000_u64).prop_map(Step::Length),
            1 => Just(Step::Fill),
        ]
    }

    proptest! {
        // L4: whenever the disk becomes full, the file reads as if it had not, and what is on disk stays as it was
        // then.
        #[test]
        fn a_file_reads_the_same_with_and_without_room(steps in prop::collection::vec(step(), 1..30)) {
            let disk = Arc::new(Narrow::default());
            let spilling = SpillFile::over(Box::new(Shared(Arc::clone(&disk))));
            let mut expected: Vec<u8> = Vec::new();
            let mut frozen: Option<Vec<u8>> = None;
            for step in steps {
                match step {
                    Step::Write(at, byte, many) => {
                        // The engine writes only inside of the file.
                        let end = at + many as u64;
                        if end > expected.len() as u64 {
                            spilling.set_len(end).unwrap();
                            expected.resize(usize::try_from(end).unwrap(), 0);
                        }
                        spilling.write(at, &vec![byte; many]).unwrap();
                        let at = usize::try_from(at).unwrap();
                        expected[at..at + many].fill(byte);
                    }
                    Step::Length(length) => {
                        spilling.set_len(length).unwrap();
                        expected.resize(usize::try_from(length).unwrap(), 0);
                    }
                    Step::Fill => {
                        disk.is_full.store(true, Ordering::Relaxed);
                        let bytes = usize::try_from(disk.file.len().unwrap()).unwrap();
                        let mut content = vec![0; bytes];
                        disk.file.read(0, &mut content).unwrap();
                        frozen.get_or_insert(content);
                    }
                }
                prop_assert_eq!(spilling.len().unwrap(), expected.len() as u64);
                let mut found = vec![9; expected.len()];
                spilling.read(0, &mut found).unwrap();
                prop_assert!(found == expected);
                let half = expected.len() / 2;
                spilling.read(half as u64, &mut found[half..]).unwrap();
                prop_assert!(found == expected);
            }
            if let Some(frozen) = frozen {
                // Room that comes back changes nothing either, once something is kept in memory.
                disk.is_full.store(false, Ordering::Relaxed);
                if spilling.spilled_length().load(Ordering::Relaxed) > 0 {
                    spilling.write(0, b"later").unwrap();
                    let mut found = vec![0; frozen.len()];
                    disk.file.read(0, &mut found).unwrap();
                    prop_assert!(found == frozen);
                }
            }
        }
    }

    #[test]
    fn what_is_kept_in_memory_is_bounded() {
        let spilling = SpillFile::in_memory();
        let step = 64 << 20;
        let data = vec![1; step];
        let written =
            (0..1_000).map(|n| n * step as u64).take_while(|at| spilling.write(*at, &data).is_ok());
        assert_eq!(written.count() as u64, SPILL_BYTES_MAX / step as u64);
    }
}
