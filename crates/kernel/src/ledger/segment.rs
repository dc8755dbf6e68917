//! A segment: a file that begins with whose it is and where in the journal it stands, and then holds frames.
//!
//! ```text
//! header   magic "CXLEDGER" | schema u32 | first seq u64 | journal root before it, 32 bytes | key, 16 bytes
//!          | length of the actor's name u8 | name, 64 bytes, filled with zeros | 3 zeros | checksum, 8 bytes
//! frames   one after the other
//! rest     zeros, if the segment is the last one
//! ```
//!
//! The key is the same in all segments of a ledger and goes into the checksums of its frames. What must stay true:
//! frames are found by walking from one to the next; where one does not read, the next is the first place that has the
//! magic and a right checksum.

use std::fmt;

use proof::Digest;
use proof::actor::ActorName;
use proof::journal::SCHEMA;

use super::LedgerPart;
use super::frame::{FrameHeader, HEADER_BYTES, Location, MAGIC};
use crate::error::{Error, Result};

const SEGMENT_MAGIC: [u8; 8] = *b"CXLEDGER";
/// Bytes that are read without a look at the length of the file, which is a call of the system for each record.
const UNCHECKED_BYTES_MAX: usize = 64 << 10;

/// Bytes of a segment before its first frame.
pub(super) const SEGMENT_HEADER_BYTES: usize = 144;
/// Where in the header the key stands.
pub(super) const SEGMENT_KEY_AT: usize = SEGMENT_MAGIC.len() + 4 + 8 + 32;
const NAME_BYTES: usize = 64;
const CHECKSUM_BYTES: usize = 8;
/// Bytes read at a time to find the next frame behind a damaged one.
const SEARCH_BYTES: usize = 1 << 20;

/// What keeps the text of a memory from posing as a frame: sixteen bytes that nobody outside knows.
pub type LedgerKey = [u8; 16];

/// What a segment says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    pub actor: ActorName,
    /// The entry its first frame begins with.
    pub first: u64,
    /// The root of the journal before that entry.
    pub root: Digest,
    pub key: LedgerKey,
}

impl SegmentHeader {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let name = self.actor.as_str().as_bytes();
        let mut bytes = Vec::with_capacity(SEGMENT_HEADER_BYTES);
        bytes.extend(SEGMENT_MAGIC);
        bytes.extend(SCHEMA.to_be_bytes());
        bytes.extend(self.first.to_be_bytes());
        bytes.extend(self.root.0);
        bytes.extend(self.key);
        bytes.push(u8::try_from(name.len()).expect("a name has at most 64 bytes"));
        bytes.extend(name);
        bytes.resize(SEGMENT_HEADER_BYTES - CHECKSUM_BYTES, 0);
        bytes.extend(&Digest::of("cortex/ledger-segment/1", &[&bytes]).0[..CHECKSUM_BYTES]);
        bytes
    }

    /// Reads a header. One of another schema is told apart from damage.
    pub(super) fn from_bytes(place: &str, bytes: &[u8; SEGMENT_HEADER_BYTES]) -> Result<Self> {
        let damaged = || Error::corrupt(place, "the header does not read");
        let (content, sum) = bytes.split_at(SEGMENT_HEADER_BYTES - CHECKSUM_BYTES);
        let right = Digest::of("cortex/ledger-segment/1", &[content]);
        if !content.starts_with(&SEGMENT_MAGIC) || right.0[..CHECKSUM_BYTES] != *sum {
            return Err(damaged());
        }
        let parts =
            content[SEGMENT_MAGIC.len()..].split_first_chunk::<4>().and_then(|(schema, rest)| {
                let (first, rest) = rest.split_first_chunk::<8>()?;
                let (root, rest) = rest.split_first_chunk::<32>()?;
                let (key, rest) = rest.split_first_chunk::<16>()?;
                let (length, name) = rest.split_first()?;
                let name = name.get(..NAME_BYTES)?.get(..usize::from(*length))?;
                let actor = ActorName::parse(std::str::from_utf8(name).ok()?).ok()?;
                let (first, root) = (u64::from_be_bytes(*first), Digest(*root));
                Some((u32::from_be_bytes(*schema), SegmentHeader { actor, first, root, key: *key }))
            });
        match parts.ok_or_else(damaged)? {
            (SCHEMA, header) => Ok(header),
            (found, _) => Err(Error::Schema { found, expected: SCHEMA }),
        }
    }
}

/// An open segment.
pub(super) struct SegmentFile {
    pub(super) header: SegmentHeader,
    pub(super) file: Box<dyn redb::StorageBackend>,
}

impl fmt::Debug for SegmentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentFile").field("first", &self.header.first).finish_non_exhaustive()
    }
}

/// A frame found in a segment.
#[derive(Debug)]
pub(super) struct FoundFrame {
    pub(super) at: u64,
    pub(super) header: FrameHeader,
    pub(super) locations: Vec<Location>,
}

impl FoundFrame {
    /// The first byte behind it.
    pub(super) fn end(&self) -> u64 {
        self.at + HEADER_BYTES as u64 + self.header.length
    }
}

impl SegmentFile {
    /// How errors and reports call it.
    pub(super) fn place(&self) -> String {
        format!("ledger segment {}", self.header.first)
    }

    pub(super) fn failed(&self, error: std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::corrupt(self.place(), "is cut off"),
            _ => Error::io(self.place(), error),
        }
    }

    pub(super) fn len(&self) -> Result<u64> {
        self.file.len().map_err(|error| self.failed(error))
    }

    pub(super) fn read(&self, offset: u64, bytes: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; bytes];
        self.file.read(offset, &mut out).map_err(|error| self.failed(error))?;
        Ok(out)
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    /// The frame at `at`, if header and table read, in a segment that counts up to `end`.
    pub(super) fn frame_at(&self, at: u64, end: u64) -> Result<Option<FoundFrame>> {
        let Some(room) = end.checked_sub(at).and_then(|left| left.checked_sub(HEADER_BYTES as u64))
        else {
            return Ok(None);
        };
        let mut head = [0; HEADER_BYTES];
        self.file.read(at, &mut head).map_err(|error| self.failed(error))?;
        let Some(header) = FrameHeader::parse(&head, room) else { return Ok(None) };
        let table = self.read(at + HEADER_BYTES as u64, header.table_bytes())?;
        let locations = header.locations(&self.header.key, at, &table);
        Ok(locations.map(|locations| FoundFrame { at, header, locations }))
    }

    /// The first frame at `at` or behind it.
    pub(super) fn frame_from(&self, mut at: u64, end: u64) -> Result<Option<FoundFrame>> {
        if let Some(frame) = self.frame_at(at, end)? {
            return Ok(Some(frame));
        }
        at += 1;
        while at + (HEADER_BYTES as u64) <= end {
            let bytes = usize::try_from(end - at).unwrap_or(usize::MAX).min(SEARCH_BYTES);
            let chunk = self.read(at, bytes)?;
            let is_magic = |window: &&[u8]| **window == MAGIC;
            let found = chunk.windows(MAGIC.len()).enumerate().filter(|(_, w)| is_magic(w));
            for (offset, _) in found {
                if let Some(frame) = self.frame_at(at + offset as u64, end)? {
                    return Ok(Some(frame));
                }
            }
            // The last bytes are looked at again: a magic may begin in them.
            at += (bytes - (MAGIC.len() - 1)) as u64;
            if bytes < SEARCH_BYTES {
                break;
            }
        }
        Ok(None)
    }

    /// The entry at a place, as it is.
    pub(super) fn entry_part(&self, seq: u64, location: Location) -> Result<LedgerPart> {
        self.part(location.entry_span(), |bytes| super::frame::decode_entry(seq, bytes))
    }

    pub(super) fn body_part(&self, seq: u64, location: Location) -> Result<LedgerPart> {
        let Some(span) = location.body_span() else { return Ok(LedgerPart::Absent) };
        self.part(span, |bytes| super::frame::decode_body(seq, bytes))
    }

    /// A record as it is. One that lies behind the end of a file that was cut off is damaged as any other.
    fn part(
        &self,
        (offset, bytes): (u64, usize),
        decode: impl FnOnce(&[u8]) -> LedgerPart,
    ) -> Result<LedgerPart> {
        // A place that does not read may name any length; no more is asked for than the file has.
        if bytes > UNCHECKED_BYTES_MAX && self.len()? < offset.saturating_add(bytes as u64) {
            return Ok(LedgerPart::Damaged);
        }
        match self.read(offset, bytes) {
            Err(Error::Corrupt { .. }) => Ok(LedgerPart::Damaged),
            read => Ok(decode(&read?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_and_no_changed_one_does() {
        let actor = ActorName::parse(&"a".repeat(64)).unwrap();
        let header = SegmentHeader { actor, first: 7, root: Digest([3; 32]), key: [9; 16] };
        let bytes: [u8; SEGMENT_HEADER_BYTES] = header.to_bytes().try_into().unwrap();
        assert_eq!(SegmentHeader::from_bytes("x", &bytes).unwrap(), header);
        for at in 0..SEGMENT_HEADER_BYTES {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert_eq!(SegmentHeader::from_bytes("x", &changed).unwrap_err().code(), "corrupt");
        }
    }
}
