//! How far a ledger was acknowledged: a small file beside the segments.
//!
//! ```text
//! magic "CXMARK02" | first entry of the last segment u64 | end of the last frame in it u64 | last entry u64
//! | size u64 and journal root, 32 bytes, of a journal that was derived once | key of the ledger, 16 bytes
//! | checksum, 8 bytes
//! ```
//!
//! It is written after a frame is synced and is not synced itself, so it may lag behind and never runs ahead. Without
//! it, and without a derived store, a last frame that does not read could be one that power cut short or one that was
//! acknowledged and damaged since; with it the two are told apart. The key stands here a second time: without it no
//! frame can be told from other bytes, and most ledgers have one segment and so one header. A mark of the first form,
//! "CXMARK01", has no key. What must stay true: nothing depends on it. One that is not there, or does not read, leaves
//! the ledger as it is.

use std::sync::{Mutex, MutexGuard, PoisonError};

use proof::Digest;

use super::segment::LedgerKey;
use crate::store::{Medium, StoreFile};

const MAGIC: [u8; 8] = *b"CXMARK02";
const MAGIC_WITHOUT_KEY: [u8; 8] = *b"CXMARK01";
const CHECKSUM_BYTES: usize = 8;
const BYTES_WITHOUT_KEY: usize = 8 + 4 * 8 + 32 + CHECKSUM_BYTES;
const BYTES: usize = BYTES_WITHOUT_KEY + size_of::<LedgerKey>();

/// What was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watermark {
    /// The first entry of the segment that the last frame is in.
    pub(super) segment: u64,
    /// The first byte behind that frame.
    pub(super) end: u64,
    /// The last entry.
    pub(super) last: u64,
    /// Entries of a journal, and the root it had. 0: no root is known.
    pub(super) size: u64,
    pub(super) root: Digest,
    /// The key of the ledger; a mark of the first form has none.
    pub(super) key: Option<LedgerKey>,
}

impl Watermark {
    /// Of a ledger without frames.
    const NOTHING: Watermark =
        Watermark { segment: 0, end: 0, last: 0, size: 0, root: Digest::ZERO, key: None };

    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(if self.key.is_some() { MAGIC } else { MAGIC_WITHOUT_KEY });
        let numbers = [self.segment, self.end, self.last, self.size];
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        bytes.extend(self.root.0);
        bytes.extend(self.key.iter().flatten());
        bytes.extend(&checksum(&bytes));
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Watermark> {
        let (content, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (magic, rest) = content.split_first_chunk::<8>()?;
        let (numbers, rest) = rest.split_first_chunk::<32>()?;
        let (root, key) = rest.split_first_chunk::<32>()?;
        let key = match (*magic, key) {
            (MAGIC_WITHOUT_KEY, []) => None,
            (MAGIC, key) => Some(key.try_into().ok()?),
            _ => return None,
        };
        if checksum(content) != *sum {
            return None;
        }
        let (numbers, _) = numbers.as_chunks::<8>();
        let [segment, end, last, size] =
            [numbers[0], numbers[1], numbers[2], numbers[3]].map(u64::from_be_bytes);
        Some(Watermark { segment, end, last, size, root: Digest(*root), key })
    }

    /// The mark of a ledger, if it has one that reads.
    pub(super) fn read(medium: &dyn Medium) -> Option<Watermark> {
        if !medium.exists(StoreFile::Watermark).ok()? {
            return None;
        }
        let file = medium.open(StoreFile::Watermark).ok()?;
        // One of the first form is shorter, and may stand in front of bytes of nobody's.
        [BYTES, BYTES_WITHOUT_KEY].into_iter().find_map(|length| {
            let mut bytes = vec![0; length];
            file.read(0, &mut bytes).ok()?;
            Watermark::from_bytes(&bytes)
        })
    }
}

fn checksum(content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&Digest::of("cortex/ledger-mark/1", &[content]).0[..CHECKSUM_BYTES]);
    sum
}

/// The mark of an open ledger, and its file once there was something to write.
#[derive(Debug)]
pub(super) struct MarkFile(Mutex<MarkState>);

#[derive(Debug)]
struct MarkState {
    mark: Watermark,
    file: Option<Box<dyn redb::StorageBackend>>,
}

impl MarkFile {
    pub(super) fn new(mark: Option<Watermark>, key: LedgerKey) -> MarkFile {
        let mark = Watermark { key: Some(key), ..mark.unwrap_or(Watermark::NOTHING) };
        MarkFile(Mutex::new(MarkState { mark, file: None }))
    }

    fn lock(&self) -> MutexGuard<'_, MarkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self) -> Watermark {
        self.lock().mark
    }

    /// Changes the mark and writes it. If that fails, the file says less than is true, or nothing.
    pub(super) fn change(&self, medium: &dyn Medium, change: impl FnOnce(&mut Watermark)) {
        let mut marked = self.lock();
        change(&mut marked.mark);
        if marked.file.is_none() {
            marked.file = medium.open(StoreFile::Watermark).ok();
        }
        let bytes = marked.mark.to_bytes();
        if let Some(file) = &marked.file
            && file.write(0, &bytes).is_err()
        {
            marked.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_no_changed_one_does() {
        for key in [None, Some([5; 16])] {
            let root = Digest([4; 32]);
            let mark = Watermark { segment: 1, end: 900, last: 7, size: 6, root, key };
            let bytes = mark.to_bytes();
            assert_eq!(Watermark::from_bytes(&bytes), Some(mark));
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert_eq!(Watermark::from_bytes(&changed), None);
            }
        }
    }
}
