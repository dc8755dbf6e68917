//! The end of the last segment, where frames are written.
//!
//! The segment is filled with zeros ahead of its frames, so that a sync has nothing but data to write: no length and no
//! new blocks. The zeros are cut off when the segment is closed.
//!
//! What must stay true: `DiskFull` says that nothing of the frame is there, so that the ledger goes on. A frame gets
//! its room before it is written; one that finds none all the same is cut off, and that is synced. After any other
//! error nobody knows what the disk holds.

use std::sync::Arc;

use super::Location;
use super::recovery::find_end;
use super::segment::{SEGMENT_HEADER_BYTES, SegmentFile};
use super::watermark::Watermark;
use crate::error::{Error, Result, is_want_of_room};
use crate::store::DamageNote;

/// Zeros written ahead of the frames at a time: as much as the segment holds, within these.
const AHEAD_BYTES_MIN: u64 = 64 << 10;
const AHEAD_BYTES_MAX: u64 = 1 << 20;

/// Where the next frame goes.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) segment: Arc<SegmentFile>,
    /// The first byte behind the last frame.
    pub(super) at: u64,
    /// Length of the file: zeros from `at` on.
    length: u64,
    pub(super) last: u64,
    /// After a failed write or sync nobody knows what the disk holds.
    pub(super) has_failed: bool,
}

impl Tail {
    /// Finds where a ledger ends and leaves nothing behind it.
    ///
    /// `known` is the last entry that a durable derived store has seen, `mark` what was acknowledged: whatever both
    /// say was there is not torn.
    pub(super) fn open(
        segment: Arc<SegmentFile>,
        known: Option<(u64, Location)>,
        mark: Option<Watermark>,
        damage: &mut Vec<DamageNote>,
    ) -> Result<Tail> {
        let first = segment.header.first;
        // A location says nothing about which segment it is in.
        let is_lost = mark.is_some_and(|mark| mark.segment > first);
        let is_here = |(seq, location): &(u64, Location)| {
            *seq >= first && !is_lost && *location != Location::LOST
        };
        let (from, last) = match known.filter(is_here) {
            Some((seq, location)) => (location.end(), seq),
            None => (SEGMENT_HEADER_BYTES as u64, first - 1),
        };
        if from > segment.len()? {
            return Err(Error::corrupt(
                segment.place(),
                format!("entry {last} was in it and is gone"),
            ));
        }
        let mut end = find_end(&segment, from, last)?;
        let frame_end = end.at;
        let mark = mark.filter(|mark| mark.last > end.last && mark.segment >= first);
        let marked = mark.map(|mark| (mark.last, if is_lost { 0 } else { mark.end }));
        // Numbers that were given once are not given again, whatever became of their entries.
        let seen = known.filter(|(seq, _)| *seq > end.last).map(|(seq, _)| (seq, 0));
        if let Some((acknowledged, at)) = marked.max(seen) {
            let lost = match end.last + 1 {
                first if first == acknowledged => format!("entry {first}"),
                first => format!("entries {first} to {acknowledged}"),
            };
            let reason = "were acknowledged, and the ledger does not have all of them any more";
            damage.push(DamageNote::new(lost, reason));
            end.last = acknowledged;
            if at == 0 {
                // Behind everything, also behind what was cut off of a frame.
                let length = segment.len()?;
                let cut_off = segment.frame_at(end.at, length)?;
                end.at = cut_off.map_or(length, |frame| frame.end().max(length));
            } else {
                end.at = at;
            }
            end.is_torn = false;
        }
        if let Some(at) = end.last_frame {
            // The sync of this frame may have failed, and the system may take its pages for written since.
            let bytes = segment.read(at, usize::try_from(frame_end - at).unwrap_or(usize::MAX))?;
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

    /// True if the segment has frames.
    pub(super) fn is_begun(&self) -> bool {
        self.at > SEGMENT_HEADER_BYTES as u64
    }

    /// Writes a frame behind the last one, durably.
    pub(super) fn append(&mut self, frame: &[u8]) -> Result<()> {
        let end = self.at + frame.len() as u64;
        if end > self.length {
            self.make_room(end)?;
        }
        let file = &self.segment.file;
        match file.write(self.at, frame).and_then(|()| file.sync_data()) {
            Ok(()) => {
                self.at = end;
                Ok(())
            }
            Err(error) if is_want_of_room(error.kind()) => {
                self.cut()?;
                Err(self.segment.failed(error))
            }
            Err(error) => Err(self.segment.failed(error)),
        }
    }

    /// Fills the file with zeros beyond `end`, or at least up to it.
    fn make_room(&mut self, end: u64) -> Result<()> {
        let ahead = self.length.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
        match self.fill_to(end + ahead) {
            Err(Error::DiskFull(_)) => self.fill_to(end),
            filled => filled,
        }
    }

    fn fill_to(&mut self, length: u64) -> Result<()> {
        let segment = &self.segment;
        let zeros = vec![0; usize::try_from(length - self.length).unwrap_or(usize::MAX)];
        match segment.file.write(self.length, &zeros) {
            Ok(()) => {
                self.length = length;
                Ok(())
            }
            Err(error) if is_want_of_room(error.kind()) => {
                // Zeros at the end do no harm, so this need not be synced.
                segment
                    .file
                    .set_len(self.length)
                    .map_err(|error| segment.failed(error).unsettled())?;
                Err(segment.failed(error))
            }
            Err(error) => Err(segment.failed(error)),
        }
    }

    /// Leaves nothing behind the last frame, durably.
    fn cut(&mut self) -> Result<()> {
        let segment = &self.segment;
        let cut = segment.file.set_len(self.at).and_then(|()| segment.file.sync_data());
        cut.map_err(|error| segment.failed(error).unsettled())?;
        self.length = self.at;
        Ok(())
    }

    /// Cuts the zeros off, since no frame follows in this segment.
    pub(super) fn close_segment(&mut self) -> Result<()> {
        self.cut()
    }

    /// Goes on in a segment without frames.
    pub(super) fn begin_segment(&mut self, segment: Arc<SegmentFile>) -> Result<()> {
        self.length = segment.len()?;
        self.at = SEGMENT_HEADER_BYTES as u64;
        self.segment = segment;
        Ok(())
    }
}
