//! A disk in memory that keeps what was synced apart from what was only written.
//!
//! `Disk::power_cut` says what a machine would find after losing power: synced bytes for certain, and of the writes
//! since the last sync any part, which a seed decides: each may be there, missing, or torn in the middle. A disk can
//! also be told to fail its n-th sync, or to lose power at it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::store::{Medium, StoreFile};

#[derive(Clone, Debug, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Names point to images, as directory entries point to inodes: a replaced file lives on for who has it open.
    names: BTreeMap<StoreFile, usize>,
    images: Vec<Image>,
    syncs: u64,
    /// From this sync on nothing reaches the disk and every call fails.
    dies_at_sync: Option<u64>,
    dead: bool,
}

#[derive(Clone, Debug, Default)]
struct Image {
    durable: Vec<u8>,
    current: Vec<u8>,
    /// Changes since the last sync, in order.
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, data: Vec<u8> },
    Length(usize),
}

/// How much of the unsynced writes survives a power cut.
#[derive(Clone, Copy, Debug)]
pub enum PowerCut {
    /// Nothing that was not synced.
    LoseUnsynced,
    /// All of it, as if the disk had been quick.
    KeepUnsynced,
    /// A part of it, chosen by a seed; single writes may be torn at 512-byte sectors.
    Some(u64),
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

    /// The disk as the machine finds it when power is back.
    pub fn after_power_cut(&self, cut: PowerCut) -> Disk {
        let state = self.lock();
        let images = state.images.iter().map(|image| Image::of(image.after(cut))).collect();
        let names = state.names.clone();
        Disk { state: Arc::new(Mutex::new(State { names, images, ..State::default() })) }
    }

    /// All bytes of the store file.
    pub fn bytes(&self) -> Vec<u8> {
        let state = self.lock();
        let image = state.names.get(&StoreFile::Store).map(|n| &state.images[*n]);
        image.map(|image| image.current.clone()).unwrap_or_default()
    }

    /// Overwrites the store file, as damage would.
    pub fn set_bytes(&self, bytes: Vec<u8>) {
        let mut state = self.lock();
        state.images.push(Image::of(bytes));
        let last = state.images.len() - 1;
        state.names.insert(StoreFile::Store, last);
    }

    pub fn medium(&self) -> Box<dyn Medium> {
        Box::new(self.clone())
    }
}

impl State {
    fn alive(&self) -> io::Result<()> {
        if self.dead { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.alive()?;
        self.syncs += 1;
        if self.dies_at_sync == Some(self.syncs) {
            self.dead = true;
        }
        self.alive()
    }
}

impl Image {
    fn of(bytes: Vec<u8>) -> Image {
        Image { durable: bytes.clone(), current: bytes, pending: Vec::new() }
    }

    fn apply(bytes: &mut Vec<u8>, change: &Change) {
        match change {
            Change::Length(len) => bytes.resize(*len, 0),
            Change::Write { offset, data } => {
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(data);
            }
        }
    }

    fn after(&self, cut: PowerCut) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        match cut {
            PowerCut::LoseUnsynced => {}
            PowerCut::KeepUnsynced => bytes.clone_from(&self.current),
            PowerCut::Some(seed) => {
                let mut random = seed | 1;
                for change in &self.pending {
                    // xorshift: any mixture will do, but the same one for the same seed.
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    match (random % 4, change) {
                        (0, _) => {}
                        (1, Change::Write { offset, data }) => {
                            let sectors = data.len() / 512;
                            let kept = if sectors == 0 {
                                0
                            } else {
                                (random >> 8) as usize % sectors * 512
                            };
                            let torn =
                                Change::Write { offset: *offset, data: data[..kept].to_vec() };
                            Image::apply(&mut bytes, &torn);
                        }
                        _ => Image::apply(&mut bytes, change),
                    }
                }
            }
        }
        bytes
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

    fn replace(&self) -> io::Result<()> {
        // A rename is atomic: before the folder is synced the old file is there, afterwards the new one.
        let mut state = self.lock();
        state.sync()?;
        let scratch = state.names.remove(&StoreFile::Scratch);
        let scratch = scratch.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        state.names.insert(StoreFile::Store, scratch);
        Ok(())
    }

    fn remove_scratch(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.alive()?;
        state.names.remove(&StoreFile::Scratch);
        Ok(())
    }
}

#[derive(Debug)]
struct OpenFile {
    disk: Disk,
    image: usize,
}

impl OpenFile {
    fn with<T>(&self, work: impl FnOnce(&mut Image) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.lock();
        state.alive()?;
        work(&mut state.images[self.image])
    }
}

impl redb::StorageBackend for OpenFile {
    fn len(&self) -> io::Result<u64> {
        self.with(|image| Ok(image.current.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|image| {
            let start = usize::try_from(offset).map_err(io::Error::other)?;
            let end = start + out.len();
            let bytes = image.current.get(start..end);
            out.copy_from_slice(
                bytes.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?,
            );
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|image| {
            let change = Change::Length(usize::try_from(len).map_err(io::Error::other)?);
            Image::apply(&mut image.current, &change);
            image.pending.push(change);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.lock().sync()?;
        self.with(|image| {
            image.durable.clone_from(&image.current);
            image.pending.clear();
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|image| {
            let offset = usize::try_from(offset).map_err(io::Error::other)?;
            let change = Change::Write { offset, data: data.to_vec() };
            Image::apply(&mut image.current, &change);
            image.pending.push(change);
            Ok(())
        })
    }
}
