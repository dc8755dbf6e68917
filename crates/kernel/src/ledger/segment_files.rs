//! The files of a ledger: their names, how one comes into being, and whose they are.

use std::sync::Arc;

use proof::Digest;
use proof::actor::ActorName;
use proof::merkle::log::empty_root;

use super::segment::{LedgerKey, SEGMENT_HEADER_BYTES, SEGMENT_KEY_AT, SegmentFile, SegmentHeader};
use super::watermark::Watermark;
use crate::error::{Error, Result};
use crate::store::{DamageNote, Medium, StoreFile};

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

/// Makes a segment without frames. If there is no room for it, it is not there.
pub(super) fn make_segment(
    medium: &dyn Medium,
    names: SegmentNames,
    header: &SegmentHeader,
) -> Result<()> {
    let scratch = StoreFile::SegmentScratch(header.first);
    medium.remove(scratch).map_err(failed)?;
    let written = medium.open(scratch).and_then(|file| {
        file.write(0, &header.to_bytes())?;
        file.sync_data()
    });
    if let Err(error) = written {
        // It is worthless, and the next open removes it too.
        let _ = medium.remove(scratch);
        return Err(failed(error));
    }
    // After a rename that failed nobody knows which name it has.
    medium.rename(scratch, names.file(header.first)).map_err(|error| failed(error).unsettled())
}

/// The segments there are; a first one, if there are none.
pub(super) fn own_segments(
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

/// Opens all segments. One whose header does not read has the key of the others, and its frames count as before. If
/// none does, the key is what stands in a header all the same, or in the watermark, if it fits the frames.
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
    let mut key = opened.iter().find_map(|segment| segment.as_ref().ok()).map(|s| s.header.key);
    if key.is_none() {
        key = found_key(medium, names, firsts, actor)?;
    }
    let mut segments = Vec::with_capacity(firsts.len());
    for (first, segment) in firsts.iter().zip(opened) {
        segments.push(Arc::new(match (segment, key) {
            (Ok(segment), _) => segment,
            (Err(DamageNote { place, reason }), None) => return Err(Error::corrupt(place, reason)),
            (Err(note), Some(key)) => {
                damage.push(note);
                without_header(medium, names, *first, actor, key)?
            }
        }));
    }
    Ok(segments)
}

/// A segment whose header does not read, with what is known otherwise.
fn without_header(
    medium: &dyn Medium,
    names: SegmentNames,
    first: u64,
    actor: &ActorName,
    key: LedgerKey,
) -> Result<SegmentFile> {
    let header = SegmentHeader { actor: actor.clone(), first, root: Digest::ZERO, key };
    Ok(SegmentFile { header, file: medium.open(names.file(first)).map_err(failed)? })
}

/// The key of a ledger of which no header reads: one with which frames do.
fn found_key(
    medium: &dyn Medium,
    names: SegmentNames,
    firsts: &[u64],
    actor: &ActorName,
) -> Result<Option<LedgerKey>> {
    let marked = Watermark::read(medium).and_then(|mark| mark.key);
    let mut candidates: Vec<LedgerKey> = marked.into_iter().collect();
    for first in firsts {
        let segment = without_header(medium, names, *first, actor, LedgerKey::default())?;
        let mut bytes = LedgerKey::default();
        if segment.file.read(SEGMENT_KEY_AT as u64, &mut bytes).is_ok() {
            candidates.push(bytes);
        }
    }
    for key in candidates {
        for first in firsts {
            let segment = without_header(medium, names, *first, actor, key)?;
            let end = segment.len()?;
            if segment.frame_from(SEGMENT_HEADER_BYTES as u64, end)?.is_some() {
                return Ok(Some(key));
            }
        }
    }
    Ok(None)
}

pub(super) fn open_segment(
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

fn failed(error: std::io::Error) -> Error {
    Error::io("ledger", error)
}
