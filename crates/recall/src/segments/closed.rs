//! The rows of a closed segment: metadata and heads of codes of many memories, in as few bytes as they need.
//!
//! The store gives a row that is larger than a page a power of two of pages. So a segment is cut into rows that fill
//! four pages, and what is left into smaller ones. What must stay true: the vectors of a row have the numbers they got
//! when the segment was closed, also when a memory is taken out, because those numbers say where their levels are.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 3 |
//! | varint | the number of the first vector of the row |
//! | varint | how many vectors it had when the segment was closed |
//! | then for each memory, ascending: varint | its id minus that of the memory before |
//! | varint | twice the count of its vectors; one more if some of erased memories come before them |
//! | varint | how many do; only if some do |
//! | varint | length m of what is given of its metadata |
//! | varint | how many bytes at the end of its metadata are those at the end of the metadata before |
//! | m | the beginning of its metadata |
//! | rest of the memory | the heads of its codes, each a scale and a sketch |

use std::ops::Range;

use kernel::Error;
use kernel::store::value_bytes;
use text::bytes::{RowCursor, push_varint};

use crate::embedding::DIMS;
use crate::error::Result;
use crate::vectors::{Code, Heads};

const VERSION: u8 = 3;

/// Bytes of a row's key.
const KEY_BYTES: usize = 9;
/// Pages that a row may fill, the most first.
const PAGES: [usize; 3] = [4, 2, 1];

/// A memory of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentDoc {
    pub(super) doc: u64,
    pub(super) meta: Vec<u8>,
    /// The number of its first vector.
    pub(super) first_vector: u64,
    pub(super) heads: Vec<u8>,
}

impl SegmentDoc {
    fn vectors(&self) -> Range<u64> {
        Heads { first: self.first_vector, bytes: &self.heads }.numbers(DIMS)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentRow {
    /// The numbers of its vectors, those of erased memories included.
    pub(super) vectors: Range<u64>,
    pub(super) docs: Vec<SegmentDoc>,
}

/// Called for each memory of a row with its metadata and the heads of its codes.
pub(super) type VisitDoc<'v> = dyn FnMut(u64, &[u8], Heads<'_>) -> Result<()> + 'v;

impl SegmentRow {
    fn of(docs: &[SegmentDoc]) -> SegmentRow {
        let first = docs.first().map_or(0, |doc| doc.first_vector);
        let end = docs.last().map_or(first, |doc| doc.vectors().end);
        SegmentRow { vectors: first..end, docs: docs.to_vec() }
    }

    /// The rows of a segment, each of whole memories.
    pub(super) fn cut(docs: &[SegmentDoc]) -> Vec<SegmentRow> {
        let mut rows = Vec::new();
        let mut left = docs;
        while !left.is_empty() {
            let whole = SegmentRow::of(left).encode().len();
            let fill = |pages: &usize| value_bytes(*pages, KEY_BYTES);
            let room = PAGES.iter().map(fill).find(|room| *room <= whole);
            let room = room.unwrap_or(value_bytes(1, KEY_BYTES));
            let (row, rest) = left.split_at(fitting(left, room));
            rows.push(SegmentRow::of(row));
            left = rest;
        }
        rows
    }

    /// Takes a memory out. Returns the numbers of its vectors; `None` if it is not there.
    pub(super) fn take(&mut self, doc: u64) -> Option<Range<u64>> {
        let at = self.docs.iter().position(|other| other.doc == doc)?;
        Some(self.docs.remove(at).vectors())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        push_varint(&mut out, self.vectors.start);
        push_varint(&mut out, self.vectors.end - self.vectors.start);
        let mut before = self.before();
        for doc in &self.docs {
            push_doc(&mut out, &before, doc);
            before = Before::of(doc);
        }
        out
    }

    fn before(&self) -> Before<'static> {
        Before { doc: 0, meta: &[], vector: self.vectors.start }
    }

    pub(super) fn decode(row: &[u8]) -> Result<SegmentRow> {
        let mut docs = Vec::new();
        let vectors = each(row, &mut |doc, meta, heads| {
            let (meta, first_vector, heads) = (meta.to_vec(), heads.first, heads.bytes.to_vec());
            docs.push(SegmentDoc { doc, meta, first_vector, heads });
            Ok(())
        })?;
        Ok(SegmentRow { vectors, docs })
    }
}

/// How many of some memories, one at least, make a row of at most so many bytes.
fn fitting(docs: &[SegmentDoc], room: usize) -> usize {
    let row = SegmentRow::of(docs);
    // A count of vectors may take two bytes more than this one, of none.
    let empty = SegmentRow { vectors: row.vectors.start..row.vectors.start, docs: Vec::new() };
    let (mut out, mut before) = (empty.encode(), empty.before());
    let mut fitting = 0;
    for doc in docs {
        push_doc(&mut out, &before, doc);
        if out.len() + 2 > room && fitting > 0 {
            break;
        }
        fitting += 1;
        before = Before::of(doc);
    }
    fitting
}

/// What a memory is written as a difference from.
struct Before<'d> {
    doc: u64,
    meta: &'d [u8],
    /// The number behind its last vector.
    vector: u64,
}

impl<'d> Before<'d> {
    fn of(doc: &'d SegmentDoc) -> Before<'d> {
        Before { doc: doc.doc, meta: &doc.meta, vector: doc.vectors().end }
    }
}

fn push_doc(out: &mut Vec<u8>, before: &Before<'_>, doc: &SegmentDoc) {
    let vectors = doc.vectors();
    let skipped = vectors.start - before.vector;
    let pairs = doc.meta.iter().rev().zip(before.meta.iter().rev());
    let shared = pairs.take_while(|(own, other)| own == other).count();
    let own = &doc.meta[..doc.meta.len() - shared];
    let length = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    push_varint(out, doc.doc - before.doc);
    push_varint(out, (vectors.end - vectors.start) << 1 | u64::from(skipped > 0));
    if skipped > 0 {
        push_varint(out, skipped);
    }
    push_varint(out, length(own.len()));
    push_varint(out, length(shared));
    out.extend(own);
    out.extend(&doc.heads);
}

/// Calls `visit` for each memory of a row. Returns the numbers of the row's vectors.
pub(super) fn each(row: &[u8], visit: &mut VisitDoc<'_>) -> Result<Range<u64>> {
    let damaged =
        || Error::corrupt("a segment of codes and metadata".to_owned(), "does not decode");
    let mut cursor = RowCursor::new(row);
    let vectors = header(&mut cursor).ok_or_else(damaged)?;
    let (mut id, mut next, mut meta) = (0u64, vectors.start, Vec::new());
    while !cursor.is_empty() {
        let mut parse = || {
            id = id.checked_add(cursor.varint()?)?;
            let head = cursor.varint()?;
            let skipped = if head & 1 == 1 { cursor.varint()? } else { 0 };
            let first = next.checked_add(skipped)?;
            next = first.checked_add(head >> 1).filter(|next| *next <= vectors.end)?;
            let own = usize::try_from(cursor.varint()?).ok()?;
            let shared = usize::try_from(cursor.varint()?).ok()?;
            meta.drain(..meta.len().checked_sub(shared)?);
            meta.splice(..0, cursor.take(own)?.iter().copied());
            let heads = usize::try_from(head >> 1).ok()?.checked_mul(Code::head_size(DIMS))?;
            Some(Heads { first, bytes: cursor.take(heads)? })
        };
        let heads = parse().ok_or_else(damaged)?;
        visit(id, &meta, heads)?;
    }
    Ok(vectors)
}

/// The numbers of the vectors of a row.
pub(super) fn vectors(row: &[u8]) -> Option<Range<u64>> {
    header(&mut RowCursor::new(row))
}

fn header(cursor: &mut RowCursor<'_>) -> Option<Range<u64>> {
    let (version, first, count) = (cursor.u8()?, cursor.varint()?, cursor.varint()?);
    let end = first.checked_add(count)?;
    (version == VERSION).then_some(first..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Memories one after the other, with so many vectors each, and metadata.
    fn docs(first_vector: u64, all: &[(u64, usize, Vec<u8>)]) -> Vec<SegmentDoc> {
        let (mut doc, mut vector) = (0, first_vector);
        all.iter()
            .map(|(gap, count, meta)| {
                doc += gap;
                let heads = vec![doc.to_le_bytes()[0]; count * Code::head_size(DIMS)];
                let made = SegmentDoc { doc, meta: meta.clone(), first_vector: vector, heads };
                vector = made.vectors().end;
                made
            })
            .collect()
    }

    fn some_docs() -> impl Strategy<Value = Vec<SegmentDoc>> {
        let meta = prop::collection::vec(0u8..3, 0..30);
        let doc = (1u64..9, prop_oneof![9 => 0usize..4, 1 => Just(65)], meta);
        (0u64..1 << 40, prop::collection::vec(doc, 1..300))
            .prop_map(|(first, all)| docs(first, &all))
    }

    proptest! {
        #[test]
        fn rows_come_back_with_every_number_and_damage_is_noticed(
            docs in some_docs(), out in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let (mut wanted, mut rows) = (docs.clone(), SegmentRow::cut(&docs));
            let end = rows.last().unwrap().vectors.end;
            for at in out {
                let gone = wanted.remove(at.index(wanted.len()));
                let taken: Vec<Range<u64>> = rows.iter_mut().filter_map(|row| row.take(gone.doc)).collect();
                prop_assert_eq!(taken, [gone.vectors()]);
                if wanted.is_empty() {
                    break;
                }
            }
            let bytes: Vec<Vec<u8>> = rows.iter().map(SegmentRow::encode).collect();
            let read: Vec<SegmentRow> = bytes.iter().map(|row| SegmentRow::decode(row).unwrap()).collect();
            prop_assert_eq!(&read, &rows);
            prop_assert_eq!(vectors(bytes.last().unwrap()).map(|vectors| vectors.end), Some(end));
            prop_assert_eq!(read.into_iter().flat_map(|row| row.docs).collect::<Vec<_>>(), wanted);
            let row = cut.get(&bytes);
            if let Ok(shorter) = SegmentRow::decode(&row[..cut.index(row.len())]) {
                prop_assert_ne!(shorter, SegmentRow::decode(row).unwrap());
            }
        }

        // L19: nothing that is cut takes more pages than it fills, but for the last ones.
        #[test]
        fn rows_fill_their_pages(count in 1usize..2_000) {
            let docs = docs(7, &vec![(1, 1, vec![5; 20]); count]);
            let rows = SegmentRow::cut(&docs);
            let sizes: Vec<usize> = rows.iter().map(|row| row.encode().len()).collect();
            let four = value_bytes(4, KEY_BYTES);
            let (full, rest) = sizes.split_at(sizes.partition_point(|size| *size > four - 100));
            prop_assert!(full.iter().all(|size| *size <= four));
            prop_assert!(rest.iter().sum::<usize>() < four + 100);
            for size in rest {
                let pages = PAGES.into_iter().find(|pages| *size > value_bytes(*pages, KEY_BYTES) - 100);
                let is_full = pages.is_some_and(|pages| *size <= value_bytes(pages, KEY_BYTES));
                prop_assert!(is_full || *size <= value_bytes(1, KEY_BYTES), "{sizes:?}");
            }
        }
    }
}
