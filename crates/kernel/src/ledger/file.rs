//! The ledger in files: segments in a folder, one write and one sync per frame.
//!
//! `segment_files` makes and opens the files, `tail` writes behind the last frame; here is which file holds what.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use proof::Digest;
use proof::actor::ActorName;

use super::copy::{EarlierCopy, copy_segment, prepare_folder};
use super::frame::{decode_entry, encode, filler, frame_bytes};
use super::segment::{LedgerKey, SEGMENT_HEADER_BYTES, SegmentFile, SegmentHeader};
use super::segment_files::{SegmentNames, make_segment, open_segment, own_segments};
use super::tail::Tail;
use super::watermark::{MarkFile, Watermark};
use super::{Frame, Ledger, LedgerEntry, LedgerPart, LedgerVisit, Location, SegmentCopies};
use crate::error::{Error, Result};
use crate::store::{DamageNote, DiskMedium, Medium, StoreFile};

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
    watermark: MarkFile,
    tail: Mutex<Tail>,
    /// How often bodies were overwritten. Held for writing meanwhile, and for reading while a body is looked at again.
    erasures: RwLock<u64>,
    damage: Vec<DamageNote>,
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
        let mut damage = Vec::new();
        let segments = own_segments(&*medium, names, (actor, key), &mut damage)?;
        let segment = Arc::clone(segments.last().expect("a ledger has a segment"));
        let key = segment.header.key;
        let watermark = match names {
            SegmentNames::Ledger => Watermark::read(&*medium),
            SegmentNames::Move => None,
        };
        let is_lost = watermark.is_some_and(|mark| mark.segment > segment.header.first);
        let tail = Tail::open(segment, known, watermark, &mut damage)?;
        let known = known.filter(|(_, location)| !is_lost && *location != Location::LOST);
        let mark = known.map_or((0, 0), |(seq, location)| (seq, location.end()));
        let watermark = MarkFile::new(watermark, key);
        let actor = actor.clone();
        let (segments, tail) = (RwLock::new(segments), Mutex::new(tail));
        let erasures = RwLock::default();
        Ok(FileLedger {
            medium,
            names,
            actor,
            key,
            segment_bytes,
            segments,
            mark,
            watermark,
            tail,
            erasures,
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

    /// Closes the last segment and begins one for what follows its last entry. If there is no room for one, nothing has
    /// changed.
    fn roll(&self, tail: &mut Tail, root: Digest) -> Result<()> {
        tail.close_segment()?;
        let (actor, first, key) = (self.actor.clone(), tail.last + 1, self.key);
        make_segment(&*self.medium, self.names, &SegmentHeader { actor, first, root, key })?;
        let opened = Arc::new(open_segment(&*self.medium, self.names, first, &self.actor)?);
        tail.begin_segment(Arc::clone(&opened))?;
        self.segments.write().unwrap_or_else(PoisonError::into_inner).push(opened);
        Ok(())
    }

    /// A body as it is. One that is being overwritten is waited for: half of it is not damage.
    fn body_part(&self, segment: &SegmentFile, seq: u64, location: Location) -> Result<LedgerPart> {
        let part = segment.body_part(seq, location)?;
        if part != LedgerPart::Damaged {
            return Ok(part);
        }
        let _read_guard = self.erasures();
        segment.body_part(seq, location)
    }

    fn erasures(&self) -> RwLockReadGuard<'_, u64> {
        self.erasures.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies a segment in which nothing was erased meanwhile. Whoever erases, and with him all who write, does not
    /// wait for the copy; it is made again, and the last time he waits.
    fn copy_undisturbed(
        &self,
        segment: &SegmentFile,
        end: u64,
        folder: &DiskMedium,
        mut earlier: EarlierCopy,
    ) -> Result<u64> {
        const TRIES: usize = 3;
        let path = folder.path(StoreFile::Segment(segment.header.first));
        let is_first = !path.exists();
        for _ in 0..TRIES {
            let before = *self.erasures();
            let copied = copy_segment(segment, end, folder, earlier);
            if *self.erasures() == before {
                return copied;
            }
            // What was copied may hold half of a body: none of it counts.
            earlier.is_changed = true;
            if is_first && path.exists() {
                std::fs::remove_file(&path).map_err(|error| Error::io(path.display(), error))?;
            }
        }
        let _copy_guard = self.erasures();
        copy_segment(segment, end, folder, earlier)
    }

    fn write_frame(
        &self,
        tail: &mut Tail,
        frame: &Frame<'_>,
        root: &dyn Fn() -> Result<Digest>,
    ) -> Result<Vec<Location>> {
        let bytes = frame_bytes(frame);
        if tail.is_begun() && tail.at + bytes > self.segment_bytes {
            self.roll(tail, root()?)?;
        }
        let encoded = encode(&self.key, frame, tail.last + 1, tail.at);
        let (bytes, locations) = encoded.ok_or(Error::TooLarge {
            field: "commit",
            size: usize::try_from(bytes).unwrap_or(usize::MAX),
            max: u32::MAX as usize,
        })?;
        tail.append(&bytes)?;
        tail.last += frame.entries.len() as u64;
        if self.names == SegmentNames::Ledger {
            let (segment, end, last) = (tail.segment.header.first, tail.at, tail.last);
            let change = |mark: &mut Watermark| *mark = Watermark { segment, end, last, ..*mark };
            self.watermark.change(&*self.medium, change);
        }
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
        // What found no room is not there.
        tail.has_failed = written.as_ref().is_err_and(|error| !matches!(error, Error::DiskFull(_)));
        written
    }

    fn read(&self, from: u64, visit: &mut LedgerVisit<'_>) -> Result<()> {
        let (last_segment, tail_end) = {
            let tail = self.tail();
            (tail.segment.header.first, tail.at)
        };
        for segment in self.segments_from(from) {
            let is_last = segment.header.first == last_segment;
            let length = segment.len()?;
            // What was acknowledged may reach beyond a file that was cut off since.
            let end = if is_last { tail_end.min(length) } else { length };
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
                    let entry = segment.entry_part(seq, *location)?;
                    let body = self.body_part(&segment, seq, *location)?;
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
        match self.body_part(&segment, seq, location).map_err(|error| at(place, error))? {
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
        let mut erasures = self.erasures.write().unwrap_or_else(PoisonError::into_inner);
        *erasures += 1;
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
        // The frame that erases is there already.
        outcome.map_err(Error::unsettled)
    }

    fn copy_to(
        &self,
        folder: &Path,
        before: &[(u64, u64)],
        erased: &[u64],
    ) -> Result<SegmentCopies> {
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
            let named = before.iter().find(|(named, _)| *named == first).map(|(_, bytes)| *bytes);
            let earlier = EarlierCopy { named, is_changed: changed.contains(&first) };
            copies.copied_bytes += self.copy_undisturbed(&segment, bytes, &folder, earlier)?;
            copies.segments.push((first, bytes));
        }
        Ok(copies)
    }

    fn note_root(&self, size: u64, root: Digest) {
        self.watermark.change(&*self.medium, |mark| {
            *mark = Watermark { size, root, ..*mark };
        });
    }

    fn named_roots(&self) -> Vec<(u64, Digest)> {
        // A header that does not read names none.
        let segments = self.segments_from(0);
        let headers = segments.iter().map(|segment| &segment.header);
        let mut roots: Vec<_> = headers
            .filter(|header| header.root != Digest::ZERO)
            .map(|header| (header.first - 1, header.root))
            .collect();
        let mark = self.watermark.get();
        if mark.size > 0 {
            roots.push((mark.size, mark.root));
        }
        roots
    }

    fn size_bytes(&self) -> Result<u64> {
        self.segments_from(0).iter().map(|segment| segment.len()).sum()
    }
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
