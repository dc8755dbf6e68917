//! Keys of all rows, and the rows of single documents. Numbers in keys are big-endian.
//!
//! ```text
//! 80 | term bytes                 -> term id u32 BE; ids in order of first appearance
//! 82 | run u32 | term u32 | doc   -> posting row: blocks of up to 128 postings from this term and document on
//! 84 | 0 | doc u64                -> the document is in the memtable, although it was there before the last flush
//! 84 | 1 | doc u64                -> terms of a version that died since the last flush and has postings in a run
//! 85 | run u32 | doc / 4096 u64   -> bitmap of documents whose postings in the run are dead
//! 86 | doc u64                    -> forward record, see `ForwardRecord::encode`
//! 86 | ff x 8 | 0                 -> meta
//! ```
//!
//! The record of a new document, meta and the first row of the next prefix are neighbours: a write changes one page for
//! them.
//!
//! An *epoch* is the time between two flushes. A forward record carries the epoch of its put, a run covers a range of
//! epochs: together they say where the postings of a document lie, whatever was merged since.

use kernel::store::KeyRange;
use kernel::{Error, Result};

use super::score::FIELDS;
use crate::bytes::{RowCursor, push_varint};

pub(super) const FIRST_PREFIX: u8 = 0x80;
const DICTIONARY: u8 = 0x80;
const POSTINGS: u8 = 0x82;
/// Where meta was in earlier formats.
const FORMER_META: u8 = 0x83;
const ASIDE: u8 = 0x84;
const DEAD: u8 = 0x85;
const FORWARD: u8 = 0x86;
/// The first prefix that is not ours.
pub(super) const END_PREFIX: u8 = 0x87;

/// Documents per bitmap page, and per window of a search: a window needs one page of each run.
pub(super) const PAGE_DOCS: u64 = 4096;
const PAGE_BYTES: usize = 512;

pub(super) fn damaged(what: &str, reason: &str) -> Error {
    Error::corrupt(format!("text index, {what}"), reason)
}

pub(super) fn term_key(term: &str) -> Vec<u8> {
    [&[DICTIONARY], term.as_bytes()].concat()
}

pub(super) fn parse_term(key: &[u8]) -> Result<String> {
    let bytes = key.get(1..).unwrap_or_default();
    String::from_utf8(bytes.to_vec()).map_err(|_| damaged("dictionary", "a term is not UTF-8"))
}

pub(super) fn parse_term_id(value: &[u8]) -> Result<u32> {
    let bytes = value.try_into().map_err(|_| damaged("dictionary", "an id has not four bytes"))?;
    Ok(u32::from_be_bytes(bytes))
}

pub(super) fn forward(doc: u64) -> Vec<u8> {
    [&[FORWARD], doc.to_be_bytes().as_slice()].concat()
}

/// The records of all documents.
pub(super) fn forwards() -> KeyRange {
    KeyRange { from: vec![FORWARD], to: Some(meta()), reverse: false }
}

/// The records of the documents behind one.
pub(super) fn forwards_after(doc: u64) -> KeyRange {
    KeyRange { from: [forward(doc).as_slice(), &[0]].concat(), ..forwards() }
}

pub(super) fn run(run: u32) -> Vec<u8> {
    [&[POSTINGS], run.to_be_bytes().as_slice()].concat()
}

pub(super) fn term_in_run(id: u32, term: u32) -> Vec<u8> {
    [run(id).as_slice(), &term.to_be_bytes()].concat()
}

pub(super) fn block(id: u32, term: u32, first: u64) -> Vec<u8> {
    [term_in_run(id, term).as_slice(), &first.to_be_bytes()].concat()
}

/// Term and first document of a posting row; document 0 marks the row of differences.
pub(super) fn parse_block(key: &[u8]) -> Result<(u32, u64)> {
    let parts = key.get(5..9).zip(key.get(9..17)).filter(|_| key.len() == 17);
    let parsed = parts.and_then(|(term, doc)| {
        Some((u32::from_be_bytes(term.try_into().ok()?), u64::from_be_bytes(doc.try_into().ok()?)))
    });
    parsed.ok_or_else(|| damaged("posting key", "has another length"))
}

pub(super) fn meta() -> Vec<u8> {
    [forward(u64::MAX).as_slice(), &[0]].concat()
}

pub(super) fn former_meta() -> Vec<u8> {
    vec![FORMER_META]
}

pub(super) fn in_memtable(doc: u64) -> Vec<u8> {
    [&[ASIDE, 0], doc.to_be_bytes().as_slice()].concat()
}

pub(super) fn all_in_memtable() -> Vec<u8> {
    vec![ASIDE, 0]
}

pub(super) fn buried(doc: u64) -> Vec<u8> {
    [&[ASIDE, 1], doc.to_be_bytes().as_slice()].concat()
}

pub(super) fn all_buried() -> Vec<u8> {
    vec![ASIDE, 1]
}

pub(super) fn dead(run: u32, page: u64) -> Vec<u8> {
    [&[DEAD], run.to_be_bytes().as_slice(), &page.to_be_bytes()].concat()
}

pub(super) fn dead_of(run: u32) -> Vec<u8> {
    [&[DEAD], run.to_be_bytes().as_slice()].concat()
}

pub(super) fn trailing_doc(key: &[u8]) -> Result<u64> {
    kernel::keys::trailing_u64(key).ok_or_else(|| damaged("key", "is too short"))
}

/// Sets a document's bit in a page of the dead.
pub(super) fn mark_dead(page: Option<Vec<u8>>, doc: u64) -> Result<Vec<u8>> {
    let mut page = page.unwrap_or_else(|| vec![0; PAGE_BYTES]);
    let (byte, bit) = place(doc);
    let cell = page.get_mut(byte).ok_or_else(|| damaged("page of the dead", "is too short"))?;
    *cell |= bit;
    Ok(page)
}

pub(super) fn is_dead(page: &[u8], doc: u64) -> bool {
    let (byte, bit) = place(doc);
    page.get(byte).is_some_and(|cell| cell & bit != 0)
}

fn place(doc: u64) -> (usize, u8) {
    let place = usize::try_from(doc % PAGE_DOCS).expect("a page has 4096 places");
    (place / 8, 1 << (place % 8))
}

/// What a document says, by term: all that is needed to take it out again or to index it anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ForwardRecord {
    pub(super) epoch: u32,
    pub(super) lengths: [u32; FIELDS],
    /// By term id.
    pub(super) terms: Vec<(u32, [u32; FIELDS])>,
}

/// One occurrence in the content and none elsewhere: by far the most frequent case, and one bit.
const PLAIN: [u32; FIELDS] = [0, 1, 0, 0, 0, 0];

/// Flags beside the fields of a term: it stands once in each of them, or twice.
const ONCE: u8 = 0x40;
const TWICE: u8 = 0x80;
const _: () = assert!(FIELDS <= 6, "fields and flags share a byte");

impl ForwardRecord {
    /// The epoch, which fields have a length, their lengths; for each term the gap to the one before and, if it is not
    /// plain, which fields have it and how often.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + 2 * self.terms.len());
        push_varint(&mut out, self.epoch.into());
        out.push(mask(&self.lengths));
        self.lengths.iter().filter(|n| **n > 0).for_each(|n| push_varint(&mut out, (*n).into()));
        let mut next = 0;
        for (term, tfs) in &self.terms {
            let gap = u64::from(*term) - next;
            next = u64::from(*term) + 1;
            push_varint(&mut out, gap << 1 | u64::from(*tfs != PLAIN));
            if *tfs != PLAIN {
                let counts = tfs.iter().filter(|tf| **tf > 0).copied();
                if counts.clone().all(|tf| tf == 1) {
                    out.push(mask(tfs) | ONCE);
                } else if counts.clone().all(|tf| tf == 2) {
                    out.push(mask(tfs) | TWICE);
                } else {
                    out.push(mask(tfs));
                    counts.for_each(|tf| push_varint(&mut out, tf.into()));
                }
            }
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<ForwardRecord> {
        ForwardRecord::parse(bytes).ok_or_else(|| damaged("forward record", "does not decode"))
    }

    fn parse(bytes: &[u8]) -> Option<ForwardRecord> {
        let mut cursor = RowCursor::new(bytes);
        let mut forward = ForwardRecord { epoch: cursor.u32()?, ..ForwardRecord::default() };
        forward.lengths = numbers(cursor.u8()?, || cursor.u32())?;
        let mut next = 0u64;
        while !cursor.is_empty() {
            let head = cursor.varint()?;
            let term = u32::try_from(next.checked_add(head >> 1)?).ok()?;
            next = u64::from(term) + 1;
            let mut tfs = PLAIN;
            if head & 1 == 1 {
                let mask = cursor.u8()?;
                tfs = numbers(mask, || match mask & (ONCE | TWICE) {
                    0 => cursor.u32(),
                    ONCE => Some(1),
                    TWICE => Some(2),
                    _ => None,
                })?;
            }
            forward.terms.push((term, tfs));
        }
        Some(forward)
    }
}

/// Which fields have a number, one bit each.
fn mask(numbers: &[u32; FIELDS]) -> u8 {
    numbers.iter().rev().fold(0, |mask, n| mask << 1 | u8::from(*n > 0))
}

/// A number for each field that a mask names, 0 for the others.
fn numbers(mask: u8, mut number: impl FnMut() -> Option<u32>) -> Option<[u32; FIELDS]> {
    let mut numbers = [0; FIELDS];
    for (field, n) in numbers.iter_mut().enumerate() {
        if mask >> field & 1 == 1 {
            *n = number()?;
        }
    }
    Some(numbers)
}

/// The terms of a buried version, ascending.
pub(super) fn encode_terms(terms: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut next = 0;
    for term in terms {
        push_varint(&mut out, u64::from(term) - next);
        next = u64::from(term) + 1;
    }
    out
}

pub(super) fn decode_terms(bytes: &[u8]) -> Result<Vec<u32>> {
    let mut cursor = RowCursor::new(bytes);
    let mut terms = Vec::new();
    let mut next = 0u64;
    while !cursor.is_empty() {
        let term = cursor.varint().and_then(|gap| u32::try_from(next.checked_add(gap)?).ok());
        let term = term.ok_or_else(|| damaged("buried terms", "do not decode"))?;
        next = u64::from(term) + 1;
        terms.push(term);
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_read_back(
            epoch: u32, lengths: [u32; FIELDS],
            terms in prop::collection::btree_map(any::<u32>(), prop_oneof![Just(PLAIN), any::<[u32; FIELDS]>()], 0..20),
        ) {
            let forward = ForwardRecord { epoch, lengths, terms: terms.into_iter().collect() };
            prop_assert_eq!(&ForwardRecord::decode(&forward.encode()).unwrap(), &forward);
            let ids: Vec<u32> = forward.terms.iter().map(|(term, _)| *term).collect();
            prop_assert_eq!(decode_terms(&encode_terms(ids.iter().copied())).unwrap(), ids);
        }
    }
}
