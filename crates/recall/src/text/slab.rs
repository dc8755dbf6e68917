//! Slabs: posting blocks of one run packed into rows of about a kilobyte.
//!
//! Most terms of a run have a posting or two. A row for each would make flushes and merges move hundreds of thousands of
//! rows, so neighbours share one. Its key is that of its first block; a term may begin inside the row before its own key.
//!
//! `(varint term - previous term, varint first doc, varint length, block)*`. A first doc of 0 marks a difference: by how
//! many documents the term's live ones differ from its postings, as a signed varint.

use std::ops::{ControlFlow, Range};

use kernel::error::Result;
use kernel::store::{KeyRange, View};

use super::block::{self, Posting};
use super::bytes::{Cursor, push_signed, push_varint};
use super::pending::Pending;
use super::rows::{self, damaged};

/// Rows are closed before they grow beyond this; larger values waste the ends of pages.
const SLAB_BYTES: usize = 1000;

/// Writes one run, term after term.
#[derive(Debug)]
pub(super) struct Writer {
    run: u32,
    key: Vec<u8>,
    term: u32,
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn new(run: u32) -> Writer {
        Writer { run, key: Vec::new(), term: 0, bytes: Vec::new() }
    }

    /// Writes all there is of one term; terms come in ascending order.
    pub(super) fn list(
        &mut self,
        pending: &mut Pending,
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

    fn push(&mut self, pending: &mut Pending, term: u32, first: u64, value: &[u8]) {
        if !self.bytes.is_empty() && self.bytes.len() + value.len() > SLAB_BYTES {
            self.close(pending);
        }
        if self.bytes.is_empty() {
            self.key = rows::block(self.run, term, first);
            self.term = term;
        }
        push_varint(&mut self.bytes, (term - self.term).into());
        push_varint(&mut self.bytes, first);
        push_varint(&mut self.bytes, u64::try_from(value.len()).unwrap_or(u64::MAX));
        self.bytes.extend_from_slice(value);
        self.term = term;
    }

    /// Writes the row that is open.
    pub(super) fn close(&mut self, pending: &mut Pending) {
        if !self.bytes.is_empty() {
            pending.set(std::mem::take(&mut self.key), Some(std::mem::take(&mut self.bytes)));
        }
    }
}

/// What a visitor gets: term, first document (0 for a difference), block.
pub(super) type Items<'v> = dyn FnMut(u32, u64, &[u8]) -> Result<()> + 'v;

/// Visits what a run says of some terms, in order.
///
/// Backwards from the end, because that finds the row that the first term begins in without a search of its own: a search in
/// the store costs more than what there is to read of most terms.
pub(super) fn read(
    view: &View<'_>,
    run: u32,
    terms: &Range<u32>,
    visit: &mut Items<'_>,
) -> Result<()> {
    let (from, start) = (rows::run(run), rows::term_in_run(run, terms.start));
    let to = Some(rows::term_in_run(run, terms.end));
    let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    view.scan(&KeyRange { from, to, reverse: true }, &mut |key, value| {
        let more = key > start.as_slice();
        if !more && found.is_empty() {
            // Of most terms there is nothing but this, and it need not be copied.
            items(key, value, terms, visit)?;
        } else {
            found.push((key.to_vec(), value.to_vec()));
        }
        Ok(if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    for (key, value) in found.iter().rev() {
        items(key, value, terms, visit)?;
    }
    Ok(())
}

/// The same with rows that are not committed.
pub(super) fn read_pending(
    view: &View<'_>,
    pending: &Pending,
    run: u32,
    terms: &Range<u32>,
    visit: &mut Items<'_>,
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

fn items(key: &[u8], value: &[u8], terms: &Range<u32>, visit: &mut Items<'_>) -> Result<()> {
    let (mut term, _) = rows::parse_block(key)?;
    let mut cursor = Cursor::new(value);
    while !cursor.is_empty() {
        let (gap, first, block) =
            item(&mut cursor).ok_or_else(|| damaged("slab", "does not decode"))?;
        term = term.checked_add(gap).ok_or_else(|| damaged("slab", "has an impossible term"))?;
        if term >= terms.end {
            break;
        }
        if term >= terms.start {
            visit(term, first, block)?;
        }
    }
    Ok(())
}

fn item<'b>(cursor: &mut Cursor<'b>) -> Option<(u32, u64, &'b [u8])> {
    let (gap, first) = (cursor.u32()?, cursor.varint()?);
    let length = usize::try_from(cursor.varint()?).ok()?;
    Some((gap, first, cursor.take(length)?))
}
