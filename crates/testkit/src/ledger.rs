//! The bytes of a ledger as docs/format.md has them, read and forged without the kernel's own code.

use kernel::Digest;
use kernel::store::StoreFile;

use crate::disk::Disk;

/// Bytes of a segment before its first frame.
pub const SEGMENT_HEADER: usize = 144;
const FRAME_HEADER: usize = 32;

/// Where something lies in a file.
pub type Span = std::ops::Range<usize>;

/// One entry of a segment. Spans of records are without their checksums, that of a body without its flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRecord {
    pub seq: u64,
    /// The whole frame it is in.
    pub frame: Span,
    pub entry: Span,
    pub body: Option<Span>,
}

/// The records of a segment that is whole, up to the zeros at its end.
pub fn records(bytes: &[u8]) -> Vec<LedgerRecord> {
    let number = |at: usize, width: usize| {
        bytes[at..at + width].iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte))
    };
    let size = |at: usize| usize::try_from(number(at, 4)).expect("a length");
    let mut records = Vec::new();
    let mut at = SEGMENT_HEADER;
    while bytes.get(at..at + 4) == Some(b"CXLF") {
        let (count, first) = (size(at + 4), number(at + 8, 8));
        let length = usize::try_from(number(at + 16, 8)).expect("a length");
        let frame = at..at + FRAME_HEADER + length;
        let mut record = at + FRAME_HEADER + count * 8;
        for (n, seq) in (0..count).zip(first..) {
            let row = at + FRAME_HEADER + n * 8;
            let (entry_bytes, body_bytes) = (size(row), size(row + 4));
            let entry = record + 8..record + 8 + entry_bytes;
            record = entry.end;
            let body = (body_bytes > 0).then(|| record + 9..record + 9 + body_bytes);
            record = body.as_ref().map_or(record, |body| body.end);
            records.push(LedgerRecord { seq, frame: frame.clone(), entry, body });
        }
        assert_eq!(record, frame.end, "the lengths of a frame add up");
        at = frame.end;
    }
    records
}

/// The segments of a disk in order.
pub fn segments(disk: &Disk) -> Vec<StoreFile> {
    disk.files().into_iter().filter(|file| matches!(file, StoreFile::Segment(_))).collect()
}

/// The record of entry `seq`, and the segment it is in.
pub fn find(disk: &Disk, seq: u64) -> (StoreFile, LedgerRecord) {
    let in_file = |file: StoreFile| {
        let found = records(&disk.bytes_of(file)).into_iter().find(|record| record.seq == seq);
        found.map(|record| (file, record))
    };
    segments(disk).into_iter().find_map(in_file).expect("the entry is in the ledger")
}

/// Changes the bytes of a file.
pub fn edit(disk: &Disk, file: StoreFile, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = disk.bytes_of(file);
    change(&mut bytes);
    disk.set_bytes(file, bytes);
}

/// Replaces an entry by another of the same length, with the right checksum: what only a forger does.
pub fn forge_entry(disk: &Disk, seq: u64, entry: &[u8]) {
    let (file, record) = find(disk, seq);
    edit(disk, file, |bytes| {
        bytes[record.entry.clone()].copy_from_slice(entry);
        let sum = Digest::of("cortex/ledger-entry/1", &[&seq.to_be_bytes(), entry]);
        bytes[record.entry.start - 8..record.entry.start].copy_from_slice(&sum.0[..8]);
    });
}

/// The same for a body.
pub fn forge_body(disk: &Disk, seq: u64, body: &[u8]) {
    let (file, record) = find(disk, seq);
    let span = record.body.expect("the entry has a body");
    edit(disk, file, |bytes| {
        bytes[span.clone()].copy_from_slice(body);
        bytes[span.start - 1] = 0;
        let sum = Digest::of("cortex/ledger-body/1", &[&seq.to_be_bytes(), &[0], body]);
        bytes[span.start - 9..span.start - 1].copy_from_slice(&sum.0[..8]);
    });
}
