//! The bytes of a frame.
//!
//! ```text
//! header   magic "CXLF" | count u32 | first seq u64 | length u64 of all that follows | checksum, 8 bytes
//! table    for each entry: length of the entry u32, length of the body u32 (0: no body)
//! records  for each entry: checksum, 8 bytes | entry; then, if it has a body: checksum, 8 bytes | flag u8 | body
//! ```
//!
//! All numbers are big-endian. A checksum is the first eight bytes of a SHA-256: of the frame over the segment's key,
//! the header before it and the table; of a record over its `seq`, for a body the flag, and its bytes. So a record
//! cannot stand in for another, and a body can be overwritten without touching anything but itself. What must stay
//! true: no bytes make a reader panic or ask for more memory than the file has.

use proof::Digest;

use super::{Frame, LedgerPart};

pub(super) const MAGIC: [u8; 4] = *b"CXLF";
pub(super) const HEADER_BYTES: usize = 32;
const TABLE_ROW_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 8;
/// Checksum and flag before a body.
pub(super) const BODY_PREFIX_BYTES: usize = CHECKSUM_BYTES + 1;

/// The body as it was written.
const CONTENT: u8 = 0;
/// A filler in the place of a body.
const ERASED: u8 = 1;

type Checksum = [u8; CHECKSUM_BYTES];

fn checksum(domain: &str, parts: &[&[u8]]) -> Checksum {
    let mut sum = Checksum::default();
    sum.copy_from_slice(&Digest::of(domain, parts).0[..CHECKSUM_BYTES]);
    sum
}

fn entry_checksum(seq: u64, bytes: &[u8]) -> Checksum {
    checksum("cortex/ledger-entry/1", &[&seq.to_be_bytes(), bytes])
}

fn body_checksum(seq: u64, flag: u8, bytes: &[u8]) -> Checksum {
    checksum("cortex/ledger-body/1", &[&seq.to_be_bytes(), &[flag], bytes])
}

/// Where the records of an entry are inside its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Of the entry's checksum.
    pub(super) offset: u32,
    pub(super) entry_bytes: u32,
    /// 0: no body.
    pub(super) body_bytes: u32,
}

impl Location {
    const BYTES: usize = 12;
    /// Of an entry that was acknowledged and is nowhere.
    pub(super) const LOST: Location = Location { offset: 0, entry_bytes: 0, body_bytes: 0 };

    pub(super) fn entry_span(self) -> (u64, usize) {
        (u64::from(self.offset), CHECKSUM_BYTES + self.entry_bytes as usize)
    }

    pub(super) fn body_span(self) -> Option<(u64, usize)> {
        let (offset, bytes) = self.entry_span();
        let length = BODY_PREFIX_BYTES + self.body_bytes as usize;
        (self.body_bytes > 0).then_some((offset + bytes as u64, length))
    }

    /// The first byte behind it.
    pub(super) fn end(self) -> u64 {
        let (offset, bytes) = self.body_span().unwrap_or_else(|| self.entry_span());
        offset + bytes as u64
    }

    /// As the derived store keeps it.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [self.offset, self.entry_bytes, self.body_bytes].map(u32::to_be_bytes).concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Location> {
        let bytes: &[u8; Location::BYTES] = bytes.try_into().ok()?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let [offset, entry_bytes, body_bytes] =
            [numbers[0], numbers[1], numbers[2]].map(u32::from_be_bytes);
        Some(Location { offset, entry_bytes, body_bytes })
    }
}

/// What the header of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) first: u64,
    pub(super) count: u32,
    /// Bytes behind the header.
    pub(super) length: u64,
    checksum: Checksum,
}

impl FrameHeader {
    /// `None`: these bytes are no header, or `room` bytes behind it do not hold its table. Its records may reach beyond
    /// them, if the file was cut off.
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES], room: u64) -> Option<FrameHeader> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let (length, checksum) = rest.split_first_chunk::<8>()?;
        let header = FrameHeader {
            first: u64::from_be_bytes(*first),
            count: u32::from_be_bytes(*count),
            length: u64::from_be_bytes(*length),
            checksum: checksum.try_into().ok()?,
        };
        let is_possible = *magic == MAGIC
            && header.count > 0
            && header.first > 0
            && header.first.checked_add(u64::from(header.count)).is_some()
            && header.table_bytes() as u64 <= header.length.min(room);
        is_possible.then_some(header)
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.count as usize * TABLE_ROW_BYTES
    }

    /// The last entry in it.
    pub(super) fn last(&self) -> u64 {
        self.first + u64::from(self.count) - 1
    }

    /// Where its records are, if header and table are as they were written; `at` is the offset of the header.
    pub(super) fn locations(&self, key: &[u8], at: u64, table: &[u8]) -> Option<Vec<Location>> {
        if frame_checksum(key, self, table) != self.checksum {
            return None;
        }
        let mut offset = at + HEADER_BYTES as u64 + table.len() as u64;
        let mut locations = Vec::with_capacity(self.count as usize);
        let (rows, _) = table.as_chunks::<TABLE_ROW_BYTES>();
        for row in rows {
            let (entry, body) = row.split_at(4);
            let location = Location {
                offset: u32::try_from(offset).ok()?,
                entry_bytes: u32::from_be_bytes(entry.try_into().ok()?),
                body_bytes: u32::from_be_bytes(body.try_into().ok()?),
            };
            offset = location.end();
            locations.push(location);
        }
        (offset == at + HEADER_BYTES as u64 + self.length).then_some(locations)
    }
}

fn frame_checksum(key: &[u8], header: &FrameHeader, table: &[u8]) -> Checksum {
    let numbers =
        (header.count.to_be_bytes(), header.first.to_be_bytes(), header.length.to_be_bytes());
    let parts = [key, &MAGIC, &numbers.0, &numbers.1, &numbers.2, table];
    checksum("cortex/ledger-frame/1", &parts)
}

/// Bytes that a frame takes.
pub(super) fn frame_bytes(frame: &Frame<'_>) -> u64 {
    let of_entry = |entry: &super::FrameEntry<'_>| {
        let body = entry.body.filter(|body| !body.is_empty());
        let body = body.map_or(0, |body| BODY_PREFIX_BYTES + body.len());
        TABLE_ROW_BYTES + CHECKSUM_BYTES + entry.entry.len() + body
    };
    (HEADER_BYTES + frame.entries.iter().map(of_entry).sum::<usize>()) as u64
}

/// The bytes of a frame that begins with entry `first` at offset `at`, and where its records are. `None` if a length is
/// not below 4 GiB.
pub(super) fn encode(
    key: &[u8],
    frame: &Frame<'_>,
    first: u64,
    at: u64,
) -> Option<(Vec<u8>, Vec<Location>)> {
    let total = frame_bytes(frame);
    let mut table = Vec::with_capacity(frame.entries.len() * TABLE_ROW_BYTES);
    for entry in &frame.entries {
        table.extend(u32::try_from(entry.entry.len()).ok()?.to_be_bytes());
        table.extend(u32::try_from(entry.body.map_or(0, <[u8]>::len)).ok()?.to_be_bytes());
    }
    let mut header = FrameHeader {
        first,
        count: u32::try_from(frame.entries.len()).ok()?,
        length: total - HEADER_BYTES as u64,
        checksum: Checksum::default(),
    };
    header.checksum = frame_checksum(key, &header, &table);
    let locations = header.locations(key, at, &table)?;
    let mut bytes = Vec::with_capacity(usize::try_from(total).ok()?);
    bytes.extend(MAGIC);
    bytes.extend(header.count.to_be_bytes());
    bytes.extend(header.first.to_be_bytes());
    bytes.extend(header.length.to_be_bytes());
    bytes.extend(header.checksum);
    bytes.extend(table);
    for (seq, entry) in (first..).zip(&frame.entries) {
        bytes.extend(entry_checksum(seq, entry.entry));
        bytes.extend(entry.entry);
        if let Some(body) = entry.body.filter(|body| !body.is_empty()) {
            bytes.extend(body_checksum(seq, CONTENT, body));
            bytes.push(CONTENT);
            bytes.extend(body);
        }
    }
    Some((bytes, locations))
}

/// What the record of an entry says.
pub(super) fn decode_entry(seq: u64, record: &[u8]) -> LedgerPart {
    match record.split_first_chunk::<CHECKSUM_BYTES>() {
        Some((sum, bytes)) if *sum == entry_checksum(seq, bytes) => {
            LedgerPart::Whole(bytes.to_vec())
        }
        _ => LedgerPart::Damaged,
    }
}

/// What the record of a body says.
pub(super) fn decode_body(seq: u64, record: &[u8]) -> LedgerPart {
    let Some((sum, rest)) = record.split_first_chunk::<CHECKSUM_BYTES>() else {
        return LedgerPart::Damaged;
    };
    match rest.split_first() {
        Some((flag, bytes)) if *sum == body_checksum(seq, *flag, bytes) => match *flag {
            CONTENT => LedgerPart::Whole(bytes.to_vec()),
            ERASED if bytes.iter().all(|byte| *byte == 0) => LedgerPart::Erased,
            _ => LedgerPart::Damaged,
        },
        _ => LedgerPart::Damaged,
    }
}

/// What replaces the record of a body of `length` bytes.
pub(super) fn filler(seq: u64, length: usize) -> Vec<u8> {
    let zeros = vec![0; length];
    [&body_checksum(seq, ERASED, &zeros)[..], &[ERASED], &zeros].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::FrameEntry;
    use super::*;

    type Entries = Vec<(Vec<u8>, Option<Vec<u8>>)>;

    fn entries() -> impl Strategy<Value = Entries> {
        let bytes = || prop::collection::vec(any::<u8>(), 1..200);
        prop::collection::vec((bytes(), prop::option::of(bytes())), 1..8)
    }

    fn frame(entries: &Entries) -> Frame<'_> {
        Frame {
            entries: entries
                .iter()
                .map(|(entry, body)| FrameEntry { entry, body: body.as_deref() })
                .collect(),
            ..Frame::default()
        }
    }

    fn read(key: &[u8], at: u64, bytes: &[u8]) -> Option<(FrameHeader, Vec<Location>)> {
        let (head, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let header = FrameHeader::parse(head, rest.len() as u64)?;
        let table = rest.get(..header.table_bytes())?;
        let locations = header.locations(key, at, table)?;
        Some((header, locations))
    }

    fn part(at: u64, bytes: &[u8], span: (u64, usize)) -> &[u8] {
        let from = usize::try_from(span.0 - at).unwrap();
        &bytes[from..from + span.1]
    }

    proptest! {
        // L4
        #[test]
        fn a_frame_reads_back(entries in entries(), first in 1u64..1 << 40, at in 0u64..1 << 30) {
            let (bytes, placed) = encode(b"key", &frame(&entries), first, at).unwrap();
            prop_assert_eq!(bytes.len() as u64, frame_bytes(&frame(&entries)));
            let (header, locations) = read(b"key", at, &bytes).unwrap();
            prop_assert_eq!(&locations, &placed);
            prop_assert_eq!(header.last() - header.first + 1, entries.len() as u64);
            for ((seq, location), (entry, body)) in (first..).zip(locations).zip(&entries) {
                prop_assert_eq!(Location::from_bytes(&location.to_bytes()), Some(location));
                let record = part(at, &bytes, location.entry_span());
                prop_assert_eq!(decode_entry(seq, record), LedgerPart::Whole(entry.clone()));
                prop_assert_eq!(decode_entry(seq + 1, record), LedgerPart::Damaged);
                let found = location.body_span().map(|span| decode_body(seq, part(at, &bytes, span)));
                prop_assert_eq!(found, body.clone().map(LedgerPart::Whole));
            }
            prop_assert!(read(b"other", at, &bytes).is_none(), "the key is another segment's");
        }

        // L3: a flipped bit costs the record it is in, or the frame if it is in the header, and nothing passes.
        #[test]
        fn a_flipped_bit_is_noticed(entries in entries(), at_bit: prop::sample::Index) {
            let (mut bytes, locations) = encode(b"key", &frame(&entries), 5, 0).unwrap();
            let bit = at_bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let head = HEADER_BYTES + entries.len() * TABLE_ROW_BYTES;
            prop_assert_eq!(read(b"key", 0, &bytes).is_none(), bit / 8 < head);
            let mut damaged = 0;
            for ((seq, location), (entry, body)) in (5..).zip(locations).zip(&entries) {
                match decode_entry(seq, part(0, &bytes, location.entry_span())) {
                    LedgerPart::Damaged => damaged += 1,
                    found => prop_assert_eq!(found, LedgerPart::Whole(entry.clone())),
                }
                if let (Some(span), Some(body)) = (location.body_span(), body) {
                    match decode_body(seq, part(0, &bytes, span)) {
                        LedgerPart::Damaged => damaged += 1,
                        found => prop_assert_eq!(found, LedgerPart::Whole(body.clone())),
                    }
                }
            }
            prop_assert_eq!(damaged, usize::from(bit / 8 >= head));
        }

        #[test]
        fn any_bytes_are_answered_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut framed = MAGIC.to_vec();
            framed.extend(&bytes);
            for bytes in [bytes, framed] {
                prop_assert_eq!(read(b"key", 0, &bytes), None);
                prop_assert_eq!(decode_entry(1, &bytes), LedgerPart::Damaged);
                prop_assert_eq!(decode_body(1, &bytes), LedgerPart::Damaged);
            }
        }
    }

    // L8
    #[test]
    fn a_filler_has_the_length_of_what_it_replaces_and_says_so() {
        let filler = filler(7, 40);
        assert_eq!(filler.len(), BODY_PREFIX_BYTES + 40);
        assert_eq!(decode_body(7, &filler), LedgerPart::Erased);
        assert_eq!(decode_body(8, &filler), LedgerPart::Damaged);
    }
}
