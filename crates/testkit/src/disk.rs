//! A disk in memory that keeps what was synced apart from what was only written.
//!
//! `Disk::after_power_cut` says what a machine would find after losing power: synced bytes for certain, and of the
//! writes since the last sync any part, which a seed decides: each may be there, missing, or torn in the middle. A file
//! that was removed may be back. A disk can also be told to lose power at its n-th sync, to fail its n-th call, or to
//! be full.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::store::{Medium, StoreFile};

use crate::image::{Change, Image, PowerCut};

#[derive(Clone, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Names point to images, as directory entries point to inodes: a replaced file lives on for who has it open.
    names: BTreeMap<StoreFile, usize>,
    /// Removed since the last rename, so that a power cut may bring them back.
    removed: BTreeMap<StoreFile, usize>,
    images: Vec<Image>,
    syncs: u64,
    /// Calls that reach the disk: reads, writes, lengths, syncs.
    calls: u64,
    /// Those that write, set a length, sync or rename.
    changes: u64,
    fault: Option<DiskFault>,
    /// Bytes that the files may have together.
    room: Option<usize>,
    /// From this sync on nothing reaches the disk and every call fails.
    dies_at_sync: Option<u64>,
    dead: bool,
}

/// A call that goes wrong, once, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The n-th call fails and does nothing.
    Error(u64),
    /// The n-th call, if it writes, writes the first half of its bytes and fails.
    ShortWrite(u64),
    /// The n-th call that changes something finds no room; half of what it writes is there.
    NoRoom(u64),
}

impl DiskFault {
    fn number(self) -> u64 {
        let (DiskFault::Error(n) | DiskFault::ShortWrite(n) | DiskFault::NoRoom(n)) = self;
        n
    }
}

/// Without the bytes: a failed assertion would print all of them.
impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").finish_non_exhaustive()
    }
}

impl Disk {
    pub fn new() -> Disk {
        Disk::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs so far, over both files and renames.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// Loses power when the n-th sync (from 1) is asked for: that sync does not happen, nor anything after it.
    pub fn die_at_sync(&self, n: u64) {
        self.lock().dies_at_sync = Some(n);
    }

    pub fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Lets a call fail, counted from now.
    pub fn fail(&self, fault: DiskFault) {
        let mut state = self.lock();
        let (calls, changes) = (state.calls, state.changes);
        state.fault = Some(match fault {
            DiskFault::Error(n) => DiskFault::Error(calls + n),
            DiskFault::ShortWrite(n) => DiskFault::ShortWrite(calls + n),
            DiskFault::NoRoom(n) => DiskFault::NoRoom(changes + n),
        });
    }

    /// True once the call has come that was to fail.
    pub fn has_failed(&self) -> bool {
        let state = self.lock();
        state.fault.is_some_and(|fault| {
            let counted =
                if let DiskFault::NoRoom(_) = fault { state.changes } else { state.calls };
            counted >= fault.number()
        })
    }

    /// Leaves room for so many bytes beyond those that are there; `None`: as many as anybody wants.
    pub fn leave_room(&self, bytes: Option<usize>) {
        let mut state = self.lock();
        state.room = bytes.map(|bytes| state.bytes() + bytes);
    }

    /// The disk as the machine finds it when power is back.
    pub fn after_power_cut(&self, cut: PowerCut) -> Disk {
        let state = self.lock();
        let images = state.images.iter().map(|image| Image::of(image.after(cut))).collect();
        let mut names = state.names.clone();
        let is_back = match cut {
            PowerCut::LoseUnsynced => true,
            PowerCut::KeepUnsynced => false,
            PowerCut::Some(seed) => seed % 2 == 0,
        };
        if is_back {
            for (file, image) in &state.removed {
                names.entry(*file).or_insert(*image);
            }
        }
        Disk { state: Arc::new(Mutex::new(State { names, images, ..State::default() })) }
    }

    /// The files there are.
    pub fn files(&self) -> Vec<StoreFile> {
        self.lock().names.keys().copied().collect()
    }

    /// The bytes of one file; none if it is not there.
    pub fn bytes_of(&self, file: StoreFile) -> Vec<u8> {
        let state = self.lock();
        let image = state.names.get(&file).map(|n| &state.images[*n]);
        image.map(|image| image.current.clone()).unwrap_or_default()
    }

    /// All bytes of all files.
    pub fn bytes(&self) -> Vec<u8> {
        self.files().into_iter().flat_map(|file| self.bytes_of(file)).collect()
    }

    /// Replaces a file, as damage would.
    pub fn set_bytes(&self, file: StoreFile, bytes: Vec<u8>) {
        let mut state = self.lock();
        state.images.push(Image::of(bytes));
        let last = state.images.len() - 1;
        state.names.insert(file, last);
    }

    /// Takes a file away.
    pub fn take(&self, file: StoreFile) {
        self.lock().names.remove(&file);
    }

    pub fn medium(&self) -> Box<dyn Medium> {
        Box::new(self.clone())
    }
}

impl State {
    fn alive(&self) -> io::Result<()> {
        if self.dead { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }

    /// Counts a call; an error if it is to fail. `Ok(true)` asks for half a write.
    fn call(&mut self) -> io::Result<bool> {
        self.alive()?;
        self.calls += 1;
        match self.fault {
            Some(DiskFault::Error(n)) if n == self.calls => {
                Err(io::Error::other("the disk failed"))
            }
            Some(DiskFault::ShortWrite(n)) => Ok(n == self.calls),
            _ => Ok(false),
        }
    }

    /// Counts a call that changes something. True: it finds no room.
    fn change(&mut self) -> bool {
        self.changes += 1;
        self.fault == Some(DiskFault::NoRoom(self.changes))
    }

    fn bytes(&self) -> usize {
        self.names.values().map(|image| self.images[*image].current.len()).sum()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.call()?;
        if self.change() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.syncs += 1;
        if self.dies_at_sync == Some(self.syncs) {
            self.dead = true;
        }
        self.alive()
    }
}

impl Medium for Disk {
    fn exists(&self, file: StoreFile) -> io::Result<bool> {
        let state = self.lock();
        state.alive()?;
        Ok(state.names.contains_key(&file))
    }

    fn open(&self, file: StoreFile) -> io::Result<Box<dyn redb::StorageBackend>> {
        let mut state = self.lock();
        state.alive()?;
        let image = if let Some(image) = state.names.get(&file) {
            *image
        } else {
            state.images.push(Image::default());
            let image = state.images.len() - 1;
            state.names.insert(file, image);
            image
        };
        Ok(Box::new(OpenFile { disk: self.clone(), image }))
    }

    fn len(&self, file: StoreFile) -> io::Result<u64> {
        let state = self.lock();
        Ok(state.names.get(&file).map_or(0, |n| state.images[*n].current.len() as u64))
    }

    fn rename(&self, from: StoreFile, to: StoreFile) -> io::Result<()> {
        // A rename is atomic: before the folder is synced the old file is there, afterwards the new one.
        let mut state = self.lock();
        state.sync()?;
        let image = state.names.remove(&from);
        let image = image.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        state.names.insert(to, image);
        state.removed.clear();
        Ok(())
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        let mut state = self.lock();
        state.call()?;
        if let Some(image) = state.names.remove(&file) {
            state.removed.insert(file, image);
        }
        Ok(())
    }

    fn segments(&self) -> io::Result<Vec<StoreFile>> {
        let state = self.lock();
        state.alive()?;
        let is_segment = |file: &StoreFile| {
            matches!(
                file,
                StoreFile::Segment(_) | StoreFile::SegmentScratch(_) | StoreFile::SegmentMove(_)
            )
        };
        Ok(state.names.keys().copied().filter(is_segment).collect())
    }

    fn room(&self) -> io::Result<Option<u64>> {
        let state = self.lock();
        Ok(state.room.map(|room| room.saturating_sub(state.bytes()) as u64))
    }
}

#[derive(Debug)]
struct OpenFile {
    disk: Disk,
    image: usize,
}

impl OpenFile {
    /// Does a call on the file; `true` asks for half of it.
    fn call<T>(&self, work: impl FnOnce(&mut Image, bool) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.lock();
        let is_short = state.call()?;
        work(&mut state.images[self.image], is_short)
    }

    /// An error if the file is to become longer than there is room for.
    fn grow(&self, end: usize) -> io::Result<()> {
        let mut state = self.disk.lock();
        if state.change() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let added = end.saturating_sub(state.images[self.image].current.len());
        match state.room {
            Some(room) if added > 0 && state.bytes() + added > room => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }
}

fn to_usize(n: u64) -> io::Result<usize> {
    usize::try_from(n).map_err(io::Error::other)
}

impl redb::StorageBackend for OpenFile {
    fn len(&self) -> io::Result<u64> {
        self.call(|image, _| Ok(image.current.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.call(|image, _| {
            let start = to_usize(offset)?;
            let bytes = image.current.get(start..start + out.len());
            out.copy_from_slice(
                bytes.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?,
            );
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.grow(to_usize(len)?)?;
        self.call(|image, _| {
            let change = Change::Length(to_usize(len)?);
            Image::apply(&mut image.current, &change);
            image.pending.push(change);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.sync()?;
        let image = &mut state.images[self.image];
        image.durable.clone_from(&image.current);
        image.pending.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if let Err(error) = self.grow(to_usize(offset)? + data.len()) {
            // What had room is there.
            let half =
                Change::Write { offset: to_usize(offset)?, data: data[..data.len() / 2].to_vec() };
            let mut state = self.disk.lock();
            let image = &mut state.images[self.image];
            if to_usize(offset)? + data.len() / 2 <= image.current.len() {
                Image::apply(&mut image.current, &half);
                image.pending.push(half);
            }
            return Err(error);
        }
        self.call(|image, is_short| {
            let kept = if is_short { &data[..data.len() / 2] } else { data };
            let change = Change::Write { offset: to_usize(offset)?, data: kept.to_vec() };
            Image::apply(&mut image.current, &change);
            image.pending.push(change);
            if is_short { Err(io::Error::other("the disk failed in the middle")) } else { Ok(()) }
        })
    }
}
