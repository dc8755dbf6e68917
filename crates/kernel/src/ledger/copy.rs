//! Copies of a ledger: its files for a backup, its entries for a restore or a salvage.
//!
//! What must stay true: a copied file is a segment as any other, whole up to the last frame, and appears by a rename; a
//! copy never shows an erasure half done. A ledger that is copied entry by entry has every entry checked on the way;
//! one that does not read ends the copy, or a marker takes its number, and it is named.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use proof::Digest;
use proof::journal::Entry;
use proof::memory::Millis;
use proof::merkle::log::{self, RunningRoot};

use super::file::FileLedger;
use super::segment::SegmentFile;
use super::time_line::entries_at;
use super::{Frame, FrameEntry, Ledger, LedgerPart};
use crate::error::{Error, Result};
use crate::rebuild::marker_bytes;
use crate::store::{DamageNote, DiskMedium, StoreFile};

const CHUNK_BYTES: u64 = 1 << 20;
/// Entries and bytes in one frame of a copy.
const ENTRIES_PER_FRAME: usize = 1_024;
const BYTES_PER_FRAME: usize = 4 << 20;

/// Copies the first `end` bytes of a segment to its name in a folder. False: a file of that length is there already.
pub(super) fn copy_segment(
    segment: &SegmentFile,
    end: u64,
    folder: &DiskMedium,
    is_changed: bool,
) -> Result<bool> {
    let first = segment.header.first;
    let path = folder.path(StoreFile::Segment(first));
    let failed = |error: std::io::Error| Error::io(path.display(), error);
    if !is_changed && std::fs::metadata(&path).is_ok_and(|found| found.len() == end) {
        return Ok(false);
    }
    let scratch = folder.path(StoreFile::SegmentScratch(first));
    let written = write_copy(segment, end, &scratch)
        .and_then(|()| std::fs::rename(&scratch, &path).map_err(failed));
    if let Err(error) = written {
        // What could not be finished is worthless. It may not be there at all.
        let _ = std::fs::remove_file(&scratch);
        return Err(error);
    }
    Ok(true)
}

fn write_copy(segment: &SegmentFile, end: u64, path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(path.display(), error);
    let mut file = File::create(path).map_err(failed)?;
    let mut at = 0;
    while at < end {
        let bytes = (end - at).min(CHUNK_BYTES);
        let chunk = segment.read(at, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        file.write_all(&chunk).map_err(failed)?;
        at += bytes;
    }
    file.sync_all().map_err(failed)
}

/// What to do with an entry that does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossRule {
    Refuse,
    /// A marker takes its number.
    Mark,
}

/// Up to where a ledger is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePoint {
    /// This entry is the last.
    Seq(u64),
    /// Everything that was there at this moment, as the clock had it; see `time_line`.
    Time(Millis),
}

/// What came of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LedgerCopy {
    pub(crate) entries: u64,
    pub(crate) journal_root: Digest,
    pub(crate) lost: Vec<DamageNote>,
}

/// Entries on their way into a frame.
struct FrameDraft<'a> {
    to: &'a FileLedger,
    tree: RunningRoot,
    parts: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    bytes: usize,
}

impl FrameDraft<'_> {
    fn push(&mut self, entry: Vec<u8>, body: Option<Vec<u8>>) -> Result<()> {
        self.bytes += entry.len() + body.as_ref().map_or(0, Vec::len);
        self.parts.push((entry, body));
        let is_full = self.parts.len() == ENTRIES_PER_FRAME || self.bytes >= BYTES_PER_FRAME;
        if is_full { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        self.bytes = 0;
        let entries =
            parts.iter().map(|(entry, body)| FrameEntry { entry, body: body.as_deref() }).collect();
        self.to.append(self.to.last(), &Frame { entries, ..Frame::default() }, &|| {
            Ok(self.tree.root())
        })?;
        parts.iter().for_each(|(entry, _)| self.tree.push(log::leaf_hash(entry)));
        Ok(())
    }
}

/// Copies entries into an empty ledger.
pub(crate) fn copy_entries(
    from: &dyn Ledger,
    to: &FileLedger,
    upto: Option<RestorePoint>,
    rule: LossRule,
) -> Result<LedgerCopy> {
    let last = match upto {
        Some(RestorePoint::Seq(last)) => last,
        Some(RestorePoint::Time(moment)) => last_at(from, moment)?,
        None => u64::MAX,
    };
    let mut draft = FrameDraft { to, tree: RunningRoot::default(), parts: Vec::new(), bytes: 0 };
    let (mut done, mut at, mut lost) = (0, Millis(0), Vec::new());
    let mut lose = |note: DamageNote| match rule {
        LossRule::Refuse => Err(Error::corrupt(note.place, note.reason)),
        LossRule::Mark => {
            lost.push(note);
            Ok(())
        }
    };
    from.read(1, &mut |found| {
        if found.seq > last {
            return Ok(ControlFlow::Break(()));
        }
        while done + 1 < found.seq {
            done += 1;
            lose(DamageNote::new(format!("entry {done}"), "is missing"))?;
            draft.push(marker_bytes(done, at), None)?;
        }
        let entry = match found.entry {
            LedgerPart::Whole(bytes) => Entry::from_bytes(&bytes).ok().map(|entry| (entry, bytes)),
            _ => None,
        };
        let Some((entry, bytes)) = entry.filter(|(entry, _)| entry.seq == found.seq) else {
            lose(DamageNote::new(format!("entry {}", found.seq), "does not read"))?;
            draft.push(marker_bytes(found.seq, at), None)?;
            done = found.seq;
            return Ok(ControlFlow::Continue(()));
        };
        at = entry.at;
        let body = match found.body {
            LedgerPart::Whole(body) => Some(body),
            LedgerPart::Absent | LedgerPart::Erased => None,
            LedgerPart::Damaged => {
                lose(DamageNote::new(format!("body {}", found.seq), "does not read"))?;
                None
            }
        };
        draft.push(bytes, body)?;
        done = found.seq;
        Ok(ControlFlow::Continue(()))
    })?;
    draft.flush()?;
    let journal_root = draft.tree.root();
    Ok(LedgerCopy { entries: done, journal_root, lost })
}

/// The last entry that was there at a moment. One that does not read has no time.
fn last_at(from: &dyn Ledger, moment: Millis) -> Result<u64> {
    let (mut times, mut seqs) = (Vec::new(), Vec::new());
    from.read(1, &mut |found| {
        if let LedgerPart::Whole(bytes) = &found.entry
            && let Ok(entry) = Entry::from_bytes(bytes)
        {
            times.push(entry.at.get());
            seqs.push(found.seq);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let many = entries_at(&times, moment.get());
    Ok(seqs.get(many).map_or(u64::MAX, |first_left_out| first_left_out - 1))
}

/// The folder of a backup's segments, made if it is not there.
pub(super) fn prepare_folder(folder: &Path) -> Result<DiskMedium> {
    let medium = DiskMedium::new(folder);
    if let Some(segments) = medium.path(StoreFile::Segment(1)).parent() {
        std::fs::create_dir_all(segments).map_err(|error| Error::io(segments.display(), error))?;
    }
    Ok(medium)
}
