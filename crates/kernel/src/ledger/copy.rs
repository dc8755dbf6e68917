//! Copies of a ledger: its files for a backup, its entries for a restore or a salvage.
//!
//! What must stay true: a copied file is a segment as any other, whole up to the last frame; it appears by a rename,
//! and grows by what is new behind what a manifest names already. A copy never shows an erasure half done, and bytes
//! that do not read never take the place of a copy. A ledger that is copied entry by entry has every entry checked on
//! the way; one that does not read ends the copy, or a marker takes its number, and it is named.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use proof::Digest;
use proof::journal::Entry;
use proof::memory::Millis;
use proof::merkle::log::{self, RunningRoot};

use super::file::FileLedger;
use super::segment::{SEGMENT_HEADER_BYTES, SegmentFile};
use super::time_line::entries_at;
use super::{Frame, FrameEntry, Ledger, LedgerPart};
use crate::error::{Error, Result};
use crate::rebuild::marker_bytes;
use crate::store::{DamageNote, DiskMedium, StoreFile};

const CHUNK_BYTES: u64 = 1 << 20;
/// Bytes at the end of a copy that are compared before it grows.
const COMPARED_BYTES: u64 = 4 << 10;
/// Entries and bytes in one frame of a copy.
const ENTRIES_PER_FRAME: usize = 1_024;
const BYTES_PER_FRAME: usize = 4 << 20;

/// What is in a folder already of a segment that is copied to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierCopy {
    /// Bytes that the manifest names.
    pub(super) named: Option<u64>,
    /// A body in it was erased since.
    pub(super) is_changed: bool,
}

/// Copies the first `end` bytes of a segment to its name in a folder. Returns how many were written.
pub(super) fn copy_segment(
    segment: &SegmentFile,
    end: u64,
    folder: &DiskMedium,
    earlier: EarlierCopy,
) -> Result<u64> {
    let first = segment.header.first;
    let path = folder.path(StoreFile::Segment(first));
    let found = std::fs::metadata(&path).ok();
    let there = found.as_ref().map(std::fs::Metadata::len);
    if !earlier.is_changed && there == Some(end) {
        return Ok(0);
    }
    let scratch = folder.path(StoreFile::SegmentScratch(first));
    let grows_from =
        there.filter(|there| !earlier.is_changed && earlier.named == Some(*there) && *there < end);
    let written = match grows_from {
        Some(from) if is_of(segment, &path, from)? => {
            refuse_damage(segment, from, end)?;
            // A file that an older backup shares is not written to.
            let is_shared = found.is_none_or(|found| is_shared(&found));
            grow(segment, (from, end), &path, is_shared.then_some(&scratch))
        }
        _ => {
            // The first copy of a damaged ledger is better than none.
            if there.is_some() {
                refuse_damage(segment, SEGMENT_HEADER_BYTES as u64, end)?;
            }
            write_copy(segment, (0, end), File::create(&scratch), &scratch)
                .and_then(|()| std::fs::rename(&scratch, &path).map_err(|e| failed(&path, e)))
                .map(|()| end)
        }
    };
    if written.is_err() {
        // What could not be finished is worthless. It may not be there at all.
        let _ = std::fs::remove_file(&scratch);
    }
    written
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::io(path.display(), error)
}

#[cfg(unix)]
fn is_shared(file: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(file) > 1
}

#[cfg(not(unix))]
fn is_shared(_: &std::fs::Metadata) -> bool {
    true
}

/// True if a copy is what the segment begins with, or was before it was damaged there: then the copy is the better one.
fn is_of(segment: &SegmentFile, copy: &Path, end: u64) -> Result<bool> {
    if ends_alike(segment, copy, end)? {
        return Ok(true);
    }
    let is_damaged = refuse_damage(segment, SEGMENT_HEADER_BYTES as u64, end).is_err();
    Ok(is_damaged && ends_alike(segment, copy, SEGMENT_HEADER_BYTES as u64)?)
}

/// True if the last bytes of a copy are those of the segment.
fn ends_alike(segment: &SegmentFile, copy: &Path, end: u64) -> Result<bool> {
    let bytes = end.min(COMPARED_BYTES);
    let mut found = Vec::new();
    let read = File::open(copy).and_then(|mut file| {
        file.seek(SeekFrom::Start(end - bytes))?;
        file.take(bytes).read_to_end(&mut found)
    });
    read.map_err(|error| failed(copy, error))?;
    Ok(found == segment.read(end - bytes, usize::try_from(bytes).unwrap_or(usize::MAX))?)
}

/// Refuses to copy frames that do not read over a copy that may.
fn refuse_damage(segment: &SegmentFile, mut at: u64, end: u64) -> Result<()> {
    let refused = |place: String| {
        let reason =
            "does not read; the backup was left as it is, and may have it: restore from it";
        Err(Error::corrupt(place, reason))
    };
    while at < end {
        let frame = segment.frame_from(at, end)?;
        let Some(frame) = frame.filter(|frame| frame.at == at) else {
            return refused(format!("{}, byte {at}", segment.place()));
        };
        for (seq, location) in (frame.header.first..).zip(&frame.locations) {
            if segment.entry_part(seq, *location)? == LedgerPart::Damaged {
                return refused(format!("entry {seq}"));
            }
            if segment.body_part(seq, *location)? == LedgerPart::Damaged {
                return refused(format!("body {seq}"));
            }
        }
        at = frame.end();
    }
    Ok(())
}

/// Adds what is new to a copy: to the file itself, or to one of its own that takes its place.
fn grow(
    segment: &SegmentFile,
    (from, end): (u64, u64),
    path: &Path,
    scratch: Option<&PathBuf>,
) -> Result<u64> {
    let target = scratch.map_or(path, PathBuf::as_path);
    if scratch.is_some() {
        std::fs::copy(path, target).map_err(|error| failed(target, error))?;
    }
    write_copy(segment, (from, end), OpenOptions::new().append(true).open(target), target)?;
    if scratch.is_some() {
        std::fs::rename(target, path).map_err(|error| failed(path, error))?;
    }
    Ok(end - from)
}

fn write_copy(
    segment: &SegmentFile,
    (mut at, end): (u64, u64),
    file: std::io::Result<File>,
    path: &Path,
) -> Result<()> {
    let mut file = file.map_err(|error| failed(path, error))?;
    while at < end {
        let bytes = (end - at).min(CHUNK_BYTES);
        let chunk = segment.read(at, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        file.write_all(&chunk).map_err(|error| failed(path, error))?;
        at += bytes;
    }
    file.sync_all().map_err(|error| failed(path, error))
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
    /// Entries whose bodies were erased where they were copied from.
    pub(crate) erased: Vec<u64>,
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
    let (mut done, mut at) = (0, Millis(0));
    let (mut lost, mut erased) = (Vec::new(), Vec::new());
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
            LedgerPart::Absent => None,
            LedgerPart::Erased => {
                erased.push(found.seq);
                None
            }
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
    Ok(LedgerCopy { entries: done, journal_root, lost, erased })
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
