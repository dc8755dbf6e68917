//! The ledger in files: segments in a folder, one write and one sync per frame.
//!
//! The last segment is filled with zeros ahead of its frames, so that a sync has nothing but data to write: no length
//! and no new blocks. The zeros are cut off when the segment is closed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use proof::Digest;
use proof::actor::ActorName;
use proof::merkle::log::empty_root;

use super::copy::{copy_segment, prepare_folder};
use super::frame::{decode_entry, encode, filler, frame_bytes};
use super::recovery::find_end;
use super::segment::{LedgerKey, SEGMENT_HEADER_BYTES, SegmentFile, SegmentHeader};
use super::{Frame, Ledger, LedgerEntry, LedgerPart, LedgerVisit, Location, SegmentCopies};
use crate::error::{Error, Result};
use crate::store::{DamageNote, Medium, StoreFile};

/// Zeros written ahead of the frames at a time: as much as the segment holds, within these.
const AHEAD_BYTES_MIN: u64 = 64 << 10;
const AHEAD_BYTES_MAX: u64 = 1 << 20;

/// Under which names the segments are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentNames {
    Ledger,
    /// Those of a move, which do not count yet.
    Move,
}

impl SegmentNames {
    pub(super) fn file(self, first: u64) -> StoreFile {
        match self {
            SegmentNames::Ledger => StoreFile::Segment(first),
            SegmentNames::Move => StoreFile::SegmentMove(first),
        }
    }

    fn first(self, file: StoreFile) -> Option<u64> {
        match (self, file) {
            (SegmentNames::Ledger, StoreFile::Segment(first))
            | (SegmentNames::Move, StoreFile::SegmentMove(first)) => Some(first),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub struct FileLedger {
    medium: Arc<dyn Medium>,
    names: SegmentNames,
    actor: ActorName,
    key: LedgerKey,
    /// A segment is closed before it becomes larger.
    segment_bytes: u64,
    /// By their first entry, at least one.
    segments: RwLock<Vec<Arc<SegmentFile>>>,
    /// An entry and where the frame behind it begins: what the derived store knew when the ledger was opened, so that
    /// whoever reads on from there need not walk through the segment.
    mark: (u64, u64),
    tail: Mutex<Tail>,
    /// Held for writing while bodies are overwritten, for reading while a segment is copied.
    erasing: RwLock<()>,
    damage: Vec<DamageNote>,
}

/// Where the next frame goes.
#[derive(Debug)]
struct Tail {
    segment: Arc<SegmentFile>,
    /// The first byte behind the last frame.
    at: u64,
    /// Length of the file: zeros from `at` on.
    length: u64,
    last: u64,
    /// After a failed write or sync nobody knows what the disk holds.
    has_failed: bool,
}

impl FileLedger {
    /// Opens the ledger, or makes a new one. `known` is the last entry that a durable derived store has seen, and where
    /// it is; everything up to it was acknowledged.
    pub(crate) fn open(
        medium: Arc<dyn Medium>,
        names: SegmentNames,
        (actor, key): (&ActorName, LedgerKey),
        known: Option<(u64, Location)>,
        segment_bytes: u64,
    ) -> Result<FileLedger> {
        let mut firsts = Vec::new();
        for file in medium.segments().map_err(failed)? {
            if let StoreFile::SegmentScratch(_) = file {
                medium.remove(file).map_err(failed)?;
            }
            firsts.extend(names.first(file));
        }
        if firsts.is_empty() {
            let header = SegmentHeader { actor: actor.clone(), first: 1, root: empty_root(), key };
            make_segment(&*medium, names, &header)?;
            firsts.push(header.first);
        }
        let mut damage = Vec::new();
        let segments = open_segments(&*medium, names, &firsts, actor, &mut damage)?;
        let segment = Arc::clone(segments.last().expect("a ledger has a segment"));
        let key = segment.header.key;
        let tail = open_tail(segment, known)?;
        let mark = known.map_or((0, 0), |(seq, location)| (seq, location.end()));
        let actor = actor.clone();
        let (segments, tail) = (RwLock::new(segments), Mutex::new(tail));
        let erasing = RwLock::new(());
        Ok(FileLedger {
            medium,
            names,
            actor,
            key,
            segment_bytes,
            segments,
            mark,
            tail,
            erasing,
            damage,
        })
    }

    /// Makes a ledger if there is none, and refuses one of another actor. Nothing else is touched.
    pub(super) fn claim(medium: &dyn Medium, of: (&ActorName, LedgerKey)) -> Result<()> {
        own_segments(medium, SegmentNames::Ledger, of, &mut Vec::new()).map(drop)
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The segments from the one that holds `seq` on.
    fn segments_from(&self, seq: u64) -> Vec<Arc<SegmentFile>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        let after = segments.partition_point(|segment| segment.header.first <= seq);
        segments[after.saturating_sub(1)..].to_vec()
    }

    fn segment_of(&self, seq: u64) -> Option<Arc<SegmentFile>> {
        self.segments_from(seq).into_iter().next().filter(|segment| segment.header.first <= seq)
    }

    /// What was found wrong when the ledger was opened.
    pub(super) fn damage(&self) -> Vec<DamageNote> {
        self.damage.clone()
    }

    /// Closes the last segment and begins one for what follows entry `last`.
    fn roll(&self, tail: &mut Tail, root: Digest) -> Result<()> {
        let closing = &tail.segment;
        closing.file.set_len(tail.at).map_err(|error| closing.failed(error))?;
        closing.sync()?;
        let (actor, first, key) = (self.actor.clone(), tail.last + 1, self.key);
        make_segment(&*self.medium, self.names, &SegmentHeader { actor, first, root, key })?;
        let opened = Arc::new(open_segment(&*self.medium, self.names, first, &self.actor)?);
        tail.length = opened.len()?;
        tail.at = SEGMENT_HEADER_BYTES as u64;
        tail.segment = Arc::clone(&opened);
        self.segments.write().unwrap_or_else(PoisonError::into_inner).push(opened);
        Ok(())
    }

    fn write_frame(
        &self,
        tail: &mut Tail,
        frame: &Frame<'_>,
        root: &dyn Fn() -> Result<Digest>,
    ) -> Result<Vec<Location>> {
        let bytes = frame_bytes(frame);
        let is_begun = tail.at > SEGMENT_HEADER_BYTES as u64;
        if is_begun && tail.at + bytes > self.segment_bytes {
            self.roll(tail, root()?)?;
        }
        let encoded = encode(&self.key, frame, tail.last + 1, tail.at);
        let (bytes, locations) = encoded.ok_or(Error::TooLarge {
            field: "commit",
            size: usize::try_from(bytes).unwrap_or(usize::MAX),
            max: u32::MAX as usize,
        })?;
        let segment = Arc::clone(&tail.segment);
        let end = tail.at + bytes.len() as u64;
        if end > tail.length {
            tail.length = write_ahead(&segment, tail.length, end)?;
        }
        segment.file.write(tail.at, &bytes).map_err(|error| segment.failed(error))?;
        segment.sync()?;
        tail.at = end;
        tail.length = tail.length.max(end);
        tail.last += frame.entries.len() as u64;
        Ok(locations)
    }
}

impl Ledger for FileLedger {
    fn last(&self) -> u64 {
        self.tail().last
    }

    fn append(
        &self,
        after: u64,
        frame: &Frame<'_>,
        root: &dyn Fn() -> Result<Digest>,
    ) -> Result<Vec<Location>> {
        let mut tail = self.tail();
        if tail.has_failed {
            return Err(Error::Poisoned);
        }
        if after != tail.last {
            let reason = format!("a frame behind entry {after} comes after entry {}", tail.last);
            return Err(Error::corrupt("ledger", reason));
        }
        if frame.entries.is_empty() {
            return Ok(Vec::new());
        }
        let written = self.write_frame(&mut tail, frame, root);
        tail.has_failed = written.is_err();
        written
    }

    fn read(&self, from: u64, visit: &mut LedgerVisit<'_>) -> Result<()> {
        let (last_segment, tail_end) = {
            let tail = self.tail();
            (tail.segment.header.first, tail.at)
        };
        for segment in self.segments_from(from) {
            let is_last = segment.header.first == last_segment;
            let end = if is_last { tail_end } else { segment.len()? };
            let is_marked = self.mark.0 >= segment.header.first && self.mark.0 < from;
            let mut at = if is_marked { self.mark.1 } else { SEGMENT_HEADER_BYTES as u64 };
            while let Some(frame) = segment.frame_from(at, end)? {
                at = frame.end();
                if frame.header.last() < from {
                    continue;
                }
                for (seq, location) in (frame.header.first..).zip(&frame.locations) {
                    if seq < from {
                        continue;
                    }
                    let (entry, body) = segment.parts(seq, *location)?;
                    let found = LedgerEntry { seq, location: *location, entry, body };
                    if visit(found)? == ControlFlow::Break(()) {
                        return Ok(());
                    }
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn entry(&self, seq: u64, location: Location) -> Result<Vec<u8>> {
        let place = || format!("entry {seq}");
        let segment = self.segment_of(seq).ok_or_else(|| Error::corrupt(place(), LOST_SEGMENT))?;
        let (offset, bytes) = location.entry_span();
        match segment.read(offset, bytes).map(|record| decode_entry(seq, &record)) {
            Ok(LedgerPart::Whole(bytes)) => Ok(bytes),
            Ok(_) => Err(Error::corrupt(place(), WRONG_CHECKSUM)),
            Err(error) => Err(at(place, error)),
        }
    }

    fn body(&self, seq: u64, location: Location) -> Result<Option<Vec<u8>>> {
        let place = || format!("body {seq}");
        let segment = self.segment_of(seq).ok_or_else(|| Error::corrupt(place(), LOST_SEGMENT))?;
        match segment.body_part(seq, location).map_err(|error| at(place, error))? {
            LedgerPart::Whole(bytes) => Ok(Some(bytes)),
            LedgerPart::Absent | LedgerPart::Erased => Ok(None),
            LedgerPart::Damaged => Err(Error::corrupt(place(), WRONG_CHECKSUM)),
        }
    }

    fn erase(&self, bodies: &[(u64, Location)]) -> Result<()> {
        // No frame is written meanwhile: its sync would also wait for what is overwritten here.
        let mut tail = self.tail();
        if tail.has_failed {
            return Err(Error::Poisoned);
        }
        let _erase_guard = self.erasing.write().unwrap_or_else(PoisonError::into_inner);
        let mut touched: Vec<Arc<SegmentFile>> = Vec::new();
        let outcome = bodies.iter().try_for_each(|(seq, location)| {
            let Some(segment) = self.segment_of(*seq) else { return Ok(()) };
            if let LedgerPart::Absent | LedgerPart::Erased = segment.body_part(*seq, *location)? {
                return Ok(());
            }
            if let Some((offset, _)) = location.body_span() {
                let filler = filler(*seq, location.body_bytes as usize);
                segment.file.write(offset, &filler).map_err(|error| segment.failed(error))?;
            }
            if !touched.iter().any(|known| known.header.first == segment.header.first) {
                touched.push(segment);
            }
            Ok(())
        });
        let outcome = outcome.and_then(|()| touched.iter().try_for_each(|segment| segment.sync()));
        tail.has_failed = outcome.is_err();
        outcome
    }

    fn copy_to(&self, folder: &Path, erased: &[u64]) -> Result<SegmentCopies> {
        let (last, end) = {
            let tail = self.tail();
            (tail.segment.header.first, tail.at)
        };
        let changed: BTreeSet<u64> =
            erased.iter().filter_map(|seq| Some(self.segment_of(*seq)?.header.first)).collect();
        let folder = prepare_folder(folder)?;
        let mut copies = SegmentCopies::default();
        for segment in self.segments_from(0) {
            let first = segment.header.first;
            if first > last {
                break;
            }
            let bytes = if first == last { end } else { segment.len()? };
            let _copy_guard = self.erasing.read().unwrap_or_else(PoisonError::into_inner);
            let is_copied = copy_segment(&segment, bytes, &folder, changed.contains(&first))?;
            copies.segments.push((first, bytes));
            copies.copied_bytes += if is_copied { bytes } else { 0 };
        }
        Ok(copies)
    }

    fn size_bytes(&self) -> Result<u64> {
        self.segments_from(0).iter().map(|segment| segment.len()).sum()
    }
}

/// Finds where a ledger ends and leaves nothing behind it.
fn open_tail(segment: Arc<SegmentFile>, known: Option<(u64, Location)>) -> Result<Tail> {
    let first = segment.header.first;
    let (from, last) = match known.filter(|(seq, _)| *seq >= first) {
        Some((seq, location)) => (location.end(), seq),
        None => (SEGMENT_HEADER_BYTES as u64, first - 1),
    };
    if from > segment.len()? {
        return Err(Error::corrupt(segment.place(), format!("entry {last} was in it and is gone")));
    }
    let end = find_end(&segment, from, last)?;
    if let Some(at) = end.last_frame {
        // The sync of this frame may have failed, and the system may take its pages for written since.
        let bytes = segment.read(at, usize::try_from(end.at - at).unwrap_or(usize::MAX))?;
        segment.file.write(at, &bytes).map_err(|error| segment.failed(error))?;
    }
    if end.is_torn {
        segment.file.set_len(end.at).map_err(|error| segment.failed(error))?;
    }
    if end.is_torn || end.last_frame.is_some() {
        segment.sync()?;
    }
    let length = segment.len()?;
    Ok(Tail { segment, at: end.at, length, last: end.last, has_failed: false })
}

/// Fills the file with zeros beyond `end`, and at least up to it. Returns its length.
fn write_ahead(segment: &SegmentFile, length: u64, end: u64) -> Result<u64> {
    let ahead = length.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
    let zeros = |to: u64| vec![0; usize::try_from(to - length).unwrap_or(usize::MAX)];
    match segment.file.write(length, &zeros(end + ahead)) {
        Ok(()) => Ok(end + ahead),
        // There may be room for the frame itself.
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::StorageFull
                    | std::io::ErrorKind::QuotaExceeded
                    | std::io::ErrorKind::FileTooLarge
            ) =>
        {
            segment.file.set_len(length).map_err(|error| segment.failed(error))?;
            Ok(length)
        }
        Err(error) => Err(segment.failed(error)),
    }
}

fn make_segment(medium: &dyn Medium, names: SegmentNames, header: &SegmentHeader) -> Result<()> {
    let scratch = StoreFile::SegmentScratch(header.first);
    medium.remove(scratch).map_err(failed)?;
    let file = medium.open(scratch).map_err(failed)?;
    file.write(0, &header.to_bytes()).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    drop(file);
    medium.rename(scratch, names.file(header.first)).map_err(failed)
}

/// The segments there are; a first one, if there are none.
fn own_segments(
    medium: &dyn Medium,
    names: SegmentNames,
    (actor, key): (&ActorName, LedgerKey),
    damage: &mut Vec<DamageNote>,
) -> Result<Vec<Arc<SegmentFile>>> {
    let mut firsts = Vec::new();
    for file in medium.segments().map_err(failed)? {
        if let StoreFile::SegmentScratch(_) = file {
            medium.remove(file).map_err(failed)?;
        }
        firsts.extend(names.first(file));
    }
    if firsts.is_empty() {
        let header = SegmentHeader { actor: actor.clone(), first: 1, root: empty_root(), key };
        make_segment(medium, names, &header)?;
        firsts.push(header.first);
    }
    open_segments(medium, names, &firsts, actor, damage)
}

/// Opens all segments. One whose header does not read has the key of the others, and its frames count as before.
fn open_segments(
    medium: &dyn Medium,
    names: SegmentNames,
    firsts: &[u64],
    actor: &ActorName,
    damage: &mut Vec<DamageNote>,
) -> Result<Vec<Arc<SegmentFile>>> {
    let mut opened = Vec::with_capacity(firsts.len());
    for first in firsts {
        opened.push(match open_segment(medium, names, *first, actor) {
            Err(Error::Corrupt { place, reason }) => Err(DamageNote { place, reason }),
            opened => Ok(opened?),
        });
    }
    let key = opened.iter().find_map(|segment| segment.as_ref().ok()).map(|s| s.header.key);
    let mut segments = Vec::with_capacity(firsts.len());
    for (first, segment) in firsts.iter().zip(opened) {
        segments.push(Arc::new(match (segment, key) {
            (Ok(segment), _) => segment,
            (Err(DamageNote { place, reason }), None) => return Err(Error::corrupt(place, reason)),
            (Err(note), Some(key)) => {
                damage.push(note);
                let (actor, first, root) = (actor.clone(), *first, Digest::ZERO);
                let file = medium.open(names.file(first)).map_err(failed)?;
                SegmentFile { header: SegmentHeader { actor, first, root, key }, file }
            }
        }));
    }
    Ok(segments)
}

fn open_segment(
    medium: &dyn Medium,
    names: SegmentNames,
    first: u64,
    actor: &ActorName,
) -> Result<SegmentFile> {
    let place = format!("ledger segment {first}");
    let file = medium.open(names.file(first)).map_err(failed)?;
    let mut bytes = [0; SEGMENT_HEADER_BYTES];
    file.read(0, &mut bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::corrupt(&place, "is cut off"),
        _ => Error::io(&place, error),
    })?;
    let header = SegmentHeader::from_bytes(&place, &bytes)?;
    if header.actor != *actor {
        let reason = format!("this store belongs to {:?}, not {actor}", header.actor.as_str());
        return Err(Error::invalid("actor", reason));
    }
    if header.first != first {
        let reason = format!("is the segment of entry {}", header.first);
        return Err(Error::corrupt(place, reason));
    }
    Ok(SegmentFile { header, file })
}

const LOST_SEGMENT: &str = "the segment that held it is gone";
const WRONG_CHECKSUM: &str = "its checksum does not match";

/// A part of a segment that is cut off costs what was in it.
fn at(place: impl Fn() -> String, error: Error) -> Error {
    match error {
        Error::Corrupt { reason, .. } => Error::corrupt(place(), reason),
        other => other,
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io("ledger", error)
}
