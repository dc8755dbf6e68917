//! Finding the end of a segment after a crash: which frames count, and what is a torn tail.
//!
//! What must stay true: a frame that was acknowledged is never cut off. Only the last frame can be torn, since each is
//! synced before the next is written; so a frame that does not read is torn only if nothing stands behind it, and only
//! what the derived store has not durably seen is looked at. What the watermark says was acknowledged counts whatever
//! is found here.

use super::LedgerPart;
use super::segment::SegmentFile;
use crate::error::Result;

/// The end of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SegmentEnd {
    /// The first byte behind the last frame that counts.
    pub(super) at: u64,
    /// The last entry.
    pub(super) last: u64,
    /// Where the last frame begins, if it was looked at.
    pub(super) last_frame: Option<u64>,
    /// True if bytes of a frame that is not whole stand behind it.
    pub(super) is_torn: bool,
}

/// Looks at all frames from `at` on, behind entry `last`.
pub(super) fn find_end(segment: &SegmentFile, at: u64, last: u64) -> Result<SegmentEnd> {
    let length = segment.len()?;
    let mut end = SegmentEnd { at, last, last_frame: None, is_torn: false };
    while let Some(frame) = segment.frame_from(end.at, length)? {
        let next = segment.frame_at(frame.end(), length)?;
        let is_followed = next.is_some_and(|next| next.header.first == frame.header.last() + 1);
        if !is_followed && !is_whole(segment, &frame)? {
            break;
        }
        end.last_frame = Some(frame.at);
        end.last = frame.header.last();
        end.at = frame.end();
    }
    end.is_torn = has_content(segment, end.at, length)?;
    Ok(end)
}

fn is_whole(segment: &SegmentFile, frame: &super::segment::FoundFrame) -> Result<bool> {
    for (seq, location) in (frame.header.first..).zip(&frame.locations) {
        let entry = segment.entry_part(seq, *location)?;
        let body = segment.body_part(seq, *location)?;
        if entry == LedgerPart::Damaged || body == LedgerPart::Damaged {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if anything but zeros stands between two places.
fn has_content(segment: &SegmentFile, mut from: u64, to: u64) -> Result<bool> {
    const CHUNK_BYTES: u64 = 1 << 20;
    while from < to {
        let bytes = (to - from).min(CHUNK_BYTES);
        let chunk = segment.read(from, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        if chunk.iter().any(|byte| *byte != 0) {
            return Ok(true);
        }
        from += bytes;
    }
    Ok(false)
}
