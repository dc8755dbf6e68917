//! What a search reads: posting lists per term and run, walked in windows of documents, and the pages of the dead.
//!
//! A term has one list per run and one for the memtable. A document is alive in one list at most, so the largest impact
//! over the lists bounds what the term can add to it.

use std::ops::Range;

use kernel::Result;
use kernel::store::View;

use super::block::{self, BLOCK_POSTINGS};
use super::memtable::Memtable;
use super::meta::{Meta, Run};
use super::posting_rows;
use super::rows::{self, PAGE_DOCS, damaged};
use crate::bytes::RowCursor;

/// A block that spans more windows is decoded to find the next document, so that sparse ids do not cost empty windows.
const WIDE_BLOCK: u64 = 64 * PAGE_DOCS;

/// What the rows of a term that is neither rare nor frequent take.
const ROWS_BYTES: usize = 16 << 10;

/// The first and last document of a window.
pub(super) type Window = (u64, u64);

#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    last: u64,
    max: u8,
    /// Where its bytes lie among those of the term.
    start: usize,
    end: usize,
}

#[derive(Debug, Default)]
struct List {
    /// Place of the run in the list of runs; `None` for the memtable.
    run: Option<usize>,
    blocks: Vec<Block>,
    /// The first block that may hold what comes next; windows only go up.
    at: usize,
    /// Which block is in `docs` and `impacts`.
    decoded: Option<usize>,
    docs: Vec<u64>,
    impacts: Vec<u8>,
}

impl List {
    /// Adds a block; `place` is where it lies among the bytes of the term.
    fn push(&mut self, first: u64, place: Range<usize>, value: &[u8]) -> Result<u64> {
        let head = block::head(first, value)?;
        let (last, max) = (head.last, head.max);
        self.blocks.push(Block { first, last, max, start: place.start, end: place.end });
        Ok(head.count.into())
    }

    fn decode(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        if self.decoded != Some(at) {
            let block = self.blocks[at];
            self.decoded = None;
            let (docs, impacts) = (&mut self.docs, &mut self.impacts);
            docs.clear();
            impacts.clear();
            docs.reserve(BLOCK_POSTINGS);
            impacts.reserve(BLOCK_POSTINGS);
            block::each(block.first, &bytes[block.start..block.end], |doc, impact| {
                docs.push(doc);
                impacts.push(impact);
            })?;
            self.decoded = Some(at);
        }
        Ok(())
    }

    /// Passes over blocks that end before `from`.
    fn advance(&mut self, from: u64) -> Option<Block> {
        while self.blocks.get(self.at).is_some_and(|block| block.last < from) {
            self.at += 1;
        }
        self.blocks.get(self.at).copied()
    }

    /// No document between `from` and the answer is in the list.
    fn next(&mut self, from: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let Some(block) = self.advance(from) else { return Ok(None) };
        if block.first >= from {
            return Ok(Some(block.first));
        }
        if block.last - block.first < WIDE_BLOCK {
            return Ok(Some(from));
        }
        self.decode(self.at, bytes)?;
        let at = self.docs.partition_point(|doc| *doc < from);
        Ok(self.docs.get(at).copied())
    }

    /// The largest impact that a document of the window can have; `None` if it has none.
    fn bound(&mut self, window: Window) -> Option<u8> {
        self.advance(window.0);
        let inside = self.blocks[self.at..].iter().take_while(|block| block.first <= window.1);
        inside.map(|block| block.max).max()
    }

    #[inline]
    fn each(
        &mut self,
        window: Window,
        bytes: &[u8],
        dead: Option<&[u8]>,
        visit: &mut impl FnMut(u64, u8),
    ) -> Result<()> {
        let mut at = self.at;
        while let Some(block) = self.blocks.get(at).filter(|block| block.first <= window.1) {
            let (first, last) = (block.first, block.last);
            self.decode(at, bytes)?;
            let from = if first >= window.0 { 0 } else { self.place(window.0) };
            let to = if last <= window.1 { self.docs.len() } else { self.place(window.1 + 1) };
            let postings = self.docs[from..to].iter().zip(&self.impacts[from..to]);
            match dead {
                None => postings.for_each(|(doc, impact)| visit(*doc, *impact)),
                Some(page) => postings
                    .filter(|(doc, _)| !rows::is_dead(page, **doc))
                    .for_each(|(doc, impact)| visit(*doc, *impact)),
            }
            at += 1;
        }
        Ok(())
    }

    /// Where a document is or would be in the block that is decoded.
    fn place(&self, doc: u64) -> usize {
        self.docs.partition_point(|other| *other < doc)
    }

    /// The impact of one document, if it is alive in this list.
    fn find(&mut self, doc: u64, bytes: &[u8], dead: Option<&[u8]>) -> Result<Option<u8>> {
        if dead.is_some_and(|page| rows::is_dead(page, doc)) {
            return Ok(None);
        }
        let at = self.at + self.blocks[self.at..].partition_point(|block| block.last < doc);
        if self.blocks.get(at).is_none_or(|block| block.first > doc) {
            return Ok(None);
        }
        self.decode(at, bytes)?;
        let at = self.place(doc);
        Ok(self.docs.get(at).filter(|other| **other == doc).map(|_| self.impacts[at]))
    }
}

/// All postings of one term, and what a point of impact is worth.
#[derive(Debug, Default)]
pub(super) struct TermLists {
    lists: Vec<List>,
    /// The rows they were read from.
    bytes: Vec<u8>,
    /// Live documents that have the term.
    pub(super) df: u64,
    /// Score per point of impact.
    pub(super) factor: u64,
    /// The window that was entered last, the largest impact in it, and which lists have something there: most have not.
    window: Option<Window>,
    max: u8,
    inside: Vec<usize>,
}

impl TermLists {
    pub(super) fn read(
        view: &View<'_>,
        meta: &Meta,
        memtable: &Memtable,
        term: u32,
    ) -> Result<TermLists> {
        Ok(TermLists::read_up_to(view, meta, memtable, term, u64::MAX)?.unwrap_or_default())
    }

    /// The same for a term of at most `max` postings; `None` if it has more, which is seen after the run in which they
    /// become too many.
    pub(super) fn read_up_to(
        view: &View<'_>,
        meta: &Meta,
        memtable: &Memtable,
        term: u32,
        max: u64,
    ) -> Result<Option<TermLists>> {
        let mut lists = Vec::with_capacity(meta.runs.len() + 1);
        let mut bytes = Vec::with_capacity(ROWS_BYTES);
        let (mut postings, mut differences) = (0u64, 0i64);
        for (at, run) in meta.runs.iter().enumerate() {
            let mut list = List { run: Some(at), ..List::default() };
            posting_rows::read(view, run.id, term, &mut bytes, &mut |first, place, value| {
                if first == 0 {
                    let difference = RowCursor::new(value).signed();
                    differences +=
                        difference.ok_or_else(|| damaged("difference", "does not decode"))?;
                } else {
                    postings += list.push(first, place, value)?;
                }
                Ok(())
            })?;
            if postings > max {
                return Ok(None);
            }
            if !list.blocks.is_empty() {
                lists.push(list);
            }
        }
        let recent = memtable.postings(term);
        if !recent.is_empty() {
            let mut list = List::default();
            for (first, value) in block::encode(&recent) {
                let place = bytes.len()..bytes.len() + value.len();
                bytes.extend_from_slice(&value);
                postings += list.push(first, place, &value)?;
            }
            lists.push(list);
        }
        let df =
            postings.saturating_sub(memtable.buried_with(term)).saturating_add_signed(differences);
        let found = TermLists { lists, bytes, df, ..TermLists::default() };
        Ok((postings <= max).then_some(found))
    }

    pub(super) fn next(&mut self, from: u64) -> Result<Option<u64>> {
        let mut nearest: Option<u64> = None;
        for list in &mut self.lists {
            if let Some(doc) = list.next(from, &self.bytes)? {
                nearest = Some(nearest.map_or(doc, |other| other.min(doc)));
            }
        }
        Ok(nearest)
    }

    /// How many live documents that have the term are in a set.
    pub(super) fn count(
        &mut self,
        dead: &mut DeadPages<'_>,
        is_in: &dyn Fn(u64) -> bool,
    ) -> Result<u64> {
        let (mut count, mut from) = (0, 0);
        while let Some(next) = self.next(from)? {
            let start = next - next % PAGE_DOCS;
            let window = (start, start | (PAGE_DOCS - 1));
            dead.enter(window);
            self.each(window, dead, |doc, _| count += u64::from(is_in(doc)))?;
            let Some(after) = window.1.checked_add(1) else { break };
            from = after;
        }
        self.rewind();
        Ok(count)
    }

    /// Windows start from the first document again.
    pub(super) fn rewind(&mut self) {
        self.window = None;
        self.lists.iter_mut().for_each(|list| list.at = 0);
    }

    fn enter(&mut self, window: Window) {
        if self.window == Some(window) {
            return;
        }
        self.window = Some(window);
        self.max = 0;
        self.inside.clear();
        for (at, list) in self.lists.iter_mut().enumerate() {
            if let Some(max) = list.bound(window) {
                self.max = self.max.max(max);
                self.inside.push(at);
            }
        }
    }

    /// The most the term can add to a document of the window.
    pub(super) fn bound(&mut self, window: Window) -> u64 {
        self.enter(window);
        self.factor.saturating_mul(self.max.into())
    }

    /// Visits the live documents of a window with what the term adds to them, list after list.
    #[inline]
    pub(super) fn each(
        &mut self,
        window: Window,
        dead: &mut DeadPages<'_>,
        mut visit: impl FnMut(u64, u64),
    ) -> Result<()> {
        self.enter(window);
        let factor = self.factor;
        for at in &self.inside {
            let list = &mut self.lists[*at];
            let page = dead.page(list.run)?;
            list.each(window, &self.bytes, page, &mut |doc, impact| {
                visit(doc, factor.saturating_mul(impact.into()));
            })?;
        }
        Ok(())
    }

    /// What the term adds to one document of the window that `bound` was last asked for.
    pub(super) fn find(&mut self, doc: u64, dead: &mut DeadPages<'_>) -> Result<u64> {
        for at in &self.inside {
            let list = &mut self.lists[*at];
            let page = dead.page(list.run)?;
            if let Some(impact) = list.find(doc, &self.bytes, page)? {
                return Ok(self.factor.saturating_mul(impact.into()));
            }
        }
        Ok(0)
    }
}

#[derive(Clone, Debug)]
enum Page {
    Unread,
    /// The page was read, and no document of the window is dead.
    Empty,
    Bitmap(Vec<u8>),
}

/// The pages of the dead of one window, read when first needed.
pub(super) struct DeadPages<'s> {
    view: &'s View<'s>,
    runs: &'s [Run],
    page: u64,
    pages: Vec<Page>,
}

impl<'s> DeadPages<'s> {
    pub(super) fn new(view: &'s View<'s>, runs: &'s [Run]) -> DeadPages<'s> {
        DeadPages { view, runs, page: 0, pages: vec![Page::Unread; runs.len()] }
    }

    pub(super) fn enter(&mut self, window: Window) {
        let page = window.0 / PAGE_DOCS;
        if page != self.page {
            self.page = page;
            self.pages.fill(Page::Unread);
        }
    }

    fn page(&mut self, run: Option<usize>) -> Result<Option<&[u8]>> {
        let Some(at) = run.filter(|at| self.runs[*at].dead > 0) else { return Ok(None) };
        if matches!(self.pages[at], Page::Unread) {
            let read = self.view.get(&rows::dead(self.runs[at].id, self.page))?;
            self.pages[at] = read.map_or(Page::Empty, Page::Bitmap);
        }
        match &self.pages[at] {
            Page::Bitmap(page) => Ok(Some(page)),
            Page::Empty | Page::Unread => Ok(None),
        }
    }
}
