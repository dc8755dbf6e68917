//! Posting rows: the posting blocks of one run, packed into rows of about a kilobyte.
//!
//! Most terms of a run have a posting or two. A row for each would make flushes and merges move hundreds of thousands
//! of rows, so neighbouring blocks share one. The key of a row is that of its first block; a term may begin inside the
//! row before its own key. A row is a sequence of items:
//!
//! | bytes | what |
//! |---|---|
//! | varint | term minus the term before; the first counts from the key's term |
//! | varint | first document of the block; 0 marks a difference |
//! | varint | length n |
//! | n | the block, see `block`; of a difference a signed varint |
//!
//! A difference says by how many documents the term's live ones differ from its postings.

use std::ops::{ControlFlow, Range};

use kernel::Result;
use kernel::store::{KeyRange, View};

use super::block::{self, Posting};
use super::pending::PendingRows;
use super::rows::{self, damaged};
use crate::bytes::{RowCursor, push_signed, push_varint};

/// Rows are closed before they grow beyond this: four of them, with their keys, fill a page of the store.
const ROW_BYTES_MAX: usize = 998;

/// Writes one run, term after term.
#[derive(Debug)]
pub(super) struct PostingWriter {
    run: u32,
    key: Vec<u8>,
    term: u32,
    bytes: Vec<u8>,
}

impl PostingWriter {
    pub(super) fn new(run: u32) -> PostingWriter {
        PostingWriter { run, key: Vec::new(), term: 0, bytes: Vec::new() }
    }

    /// Writes all there is of one term; terms come in ascending order.
    pub(super) fn list(
        &mut self,
        pending: &mut PendingRows,
        term: u32,
        postings: &[Posting],
        difference: i64,
    ) {
        if difference != 0 {
            let mut value = Vec::new();
            push_signed(&mut value, difference);
            self.push(pending, term, 0, &value);
        }
        for (first, value) in block::encode(postings) {
            self.push(pending, term, first, &value);
        }
    }

    fn push(&mut self, pending: &mut PendingRows, term: u32, first: u64, value: &[u8]) {
        if !self.bytes.is_empty() {
            let before = self.bytes.len();
            self.append(term, first, value);
            if self.bytes.len() <= ROW_BYTES_MAX {
                return;
            }
            self.bytes.truncate(before);
            self.close(pending);
        }
        self.key = rows::block(self.run, term, first);
        self.term = term;
        self.append(term, first, value);
    }

    fn append(&mut self, term: u32, first: u64, value: &[u8]) {
        push_varint(&mut self.bytes, (term - self.term).into());
        push_varint(&mut self.bytes, first);
        push_varint(&mut self.bytes, u64::try_from(value.len()).unwrap_or(u64::MAX));
        self.bytes.extend_from_slice(value);
        self.term = term;
    }

    /// Writes the row that is open.
    pub(super) fn close(&mut self, pending: &mut PendingRows) {
        if !self.bytes.is_empty() {
            pending.set(std::mem::take(&mut self.key), Some(std::mem::take(&mut self.bytes)));
        }
    }
}

/// What a visitor gets: term, first document (0 for a difference), block.
pub(super) type VisitTermBlock<'v> = dyn FnMut(u32, u64, &[u8]) -> Result<()> + 'v;

/// What a visitor gets of one term: first document (0 for a difference), where the block lies, the block.
pub(super) type VisitBlock<'v> = dyn FnMut(u64, Range<usize>, &[u8]) -> Result<()> + 'v;

/// Appends the rows of a run that say something of a term to `bytes`, and visits what they say, in order: the first
/// document (0 for a difference), and where its block lies in `bytes`.
///
/// Backwards from the end, because that finds the row that the term begins in without a search of its own: a search in
/// the store costs more than what there is to read of most terms.
pub(super) fn read(
    view: &View<'_>,
    run: u32,
    term: u32,
    bytes: &mut Vec<u8>,
    visit: &mut VisitBlock<'_>,
) -> Result<()> {
    let terms = term..term.saturating_add(1);
    let (from, start) = (rows::run(run), rows::term_in_run(run, terms.start));
    let to = Some(rows::term_in_run(run, terms.end));
    let mut found: Vec<(u32, Range<usize>)> = Vec::new();
    view.scan(&KeyRange { from, to, reverse: true }, &mut |key, value| {
        let place = bytes.len()..bytes.len() + value.len();
        bytes.extend_from_slice(value);
        found.push((rows::parse_block(key)?.0, place));
        let more = key > start.as_slice();
        Ok(if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    for (first_term, place) in found.into_iter().rev() {
        let end = place.end;
        each_of(first_term, &bytes[place], &terms, &mut |_, first, block, left| {
            let end = end - left;
            visit(first, end - block.len()..end, block)
        })?;
    }
    Ok(())
}

/// The same with rows that are not committed.
pub(super) fn read_pending(
    view: &View<'_>,
    pending: &PendingRows,
    run: u32,
    terms: &Range<u32>,
    visit: &mut VisitTermBlock<'_>,
) -> Result<()> {
    let (before, inside) = ranges(run, terms);
    if let Some((key, value)) = pending.last(view, before)? {
        items(&key, &value, terms, visit)?;
    }
    for (key, value) in pending.rows(view, &inside)? {
        items(&key, &value, terms, visit)?;
    }
    Ok(())
}

/// Rows whose last one may reach into the terms, and rows that begin with one of them.
fn ranges(run: u32, terms: &Range<u32>) -> (KeyRange, KeyRange) {
    let start = rows::term_in_run(run, terms.start);
    let before = KeyRange { from: rows::run(run), to: Some(start.clone()), reverse: false };
    let end = rows::term_in_run(run, terms.end);
    (before, KeyRange { from: start, to: Some(end), reverse: false })
}

fn items(
    key: &[u8],
    value: &[u8],
    terms: &Range<u32>,
    visit: &mut VisitTermBlock<'_>,
) -> Result<()> {
    let (first_term, _) = rows::parse_block(key)?;
    each_of(first_term, value, terms, &mut |term, first, block, _| visit(term, first, block))
}

/// Visits what a row says of some terms; with each block how many bytes come after it.
#[inline]
fn each_of(
    first_term: u32,
    value: &[u8],
    terms: &Range<u32>,
    visit: &mut impl FnMut(u32, u64, &[u8], usize) -> Result<()>,
) -> Result<()> {
    let (mut term, mut cursor) = (first_term, RowCursor::new(value));
    while !cursor.is_empty() {
        let (gap, first, block) =
            item(&mut cursor).ok_or_else(|| damaged("slab", "does not decode"))?;
        term = term.checked_add(gap).ok_or_else(|| damaged("slab", "has an impossible term"))?;
        if term >= terms.end {
            break;
        }
        if term >= terms.start {
            visit(term, first, block, cursor.rest().len())?;
        }
    }
    Ok(())
}

fn item<'b>(cursor: &mut RowCursor<'b>) -> Option<(u32, u64, &'b [u8])> {
    let (gap, first) = (cursor.u32()?, cursor.varint()?);
    let length = usize::try_from(cursor.varint()?).ok()?;
    Some((gap, first, cursor.take(length)?))
}
