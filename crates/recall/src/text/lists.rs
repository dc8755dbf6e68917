//! What a search reads: posting lists per term and run, walked in windows of documents, and the pages of the dead.
//!
//! A term has one list per run and one for the tail. A document is alive in one list at most, so the largest impact over the
//! lists bounds what the term can add to it.

use kernel::error::Result;
use kernel::store::View;

use super::block::{self, Posting};
use super::bytes::Cursor;
use super::meta::{Meta, Run};
use super::rows::{self, PAGE_DOCS, damaged};
use super::slab;
use super::tail::Tail;

/// A block that spans more windows is decoded to find the next document, so that sparse ids do not cost empty windows.
const WIDE_BLOCK: u64 = 64 * PAGE_DOCS;

/// The first and last document of a window.
pub(super) type Window = (u64, u64);

#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    last: u64,
    max: u8,
    /// Where its bytes lie.
    start: usize,
    end: usize,
}

#[derive(Debug, Default)]
struct List {
    /// Place of the run in the list of runs; `None` for the tail.
    run: Option<usize>,
    blocks: Vec<Block>,
    bytes: Vec<u8>,
    /// The first block that may hold what comes next; windows only go up.
    at: usize,
    /// Which block is in `current`.
    decoded: Option<usize>,
    current: Vec<Posting>,
}

impl List {
    fn push(&mut self, first: u64, value: &[u8]) -> Result<u64> {
        let head = block::head(first, value)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        let (last, max, end) = (head.last, head.max, self.bytes.len());
        self.blocks.push(Block { first, last, max, start, end });
        Ok(head.count.into())
    }

    fn decode(&mut self, at: usize) -> Result<&[Posting]> {
        if self.decoded != Some(at) {
            let block = self.blocks[at];
            self.current.clear();
            self.decoded = None;
            block::decode(block.first, &self.bytes[block.start..block.end], &mut self.current)?;
            self.decoded = Some(at);
        }
        Ok(&self.current)
    }

    /// Passes over blocks that end before `from`.
    fn advance(&mut self, from: u64) -> Option<Block> {
        while self.blocks.get(self.at).is_some_and(|block| block.last < from) {
            self.at += 1;
        }
        self.blocks.get(self.at).copied()
    }

    /// No document between `from` and the answer is in the list.
    fn next(&mut self, from: u64) -> Result<Option<u64>> {
        let Some(block) = self.advance(from) else { return Ok(None) };
        if block.first >= from {
            return Ok(Some(block.first));
        }
        if block.last - block.first < WIDE_BLOCK {
            return Ok(Some(from));
        }
        let postings = self.decode(self.at)?;
        let at = postings.partition_point(|(doc, _)| *doc < from);
        Ok(postings.get(at).map(|(doc, _)| *doc))
    }

    /// The largest impact that a document of the window can have.
    fn bound(&mut self, window: Window) -> u8 {
        self.advance(window.0);
        let inside = self.blocks[self.at..].iter().take_while(|block| block.first <= window.1);
        inside.map(|block| block.max).max().unwrap_or(0)
    }

    fn each(
        &mut self,
        window: Window,
        dead: Option<&[u8]>,
        visit: &mut impl FnMut(u64, u8),
    ) -> Result<()> {
        self.advance(window.0);
        let mut at = self.at;
        while self.blocks.get(at).is_some_and(|block| block.first <= window.1) {
            for (doc, impact) in self.decode(at)? {
                let inside = (window.0..=window.1).contains(doc);
                if inside && !dead.is_some_and(|page| rows::is_dead(page, *doc)) {
                    visit(*doc, *impact);
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// The impact of one document, if it is alive in this list.
    fn find(&mut self, doc: u64, dead: Option<&[u8]>) -> Result<Option<u8>> {
        if dead.is_some_and(|page| rows::is_dead(page, doc)) {
            return Ok(None);
        }
        let at = self.at + self.blocks[self.at..].partition_point(|block| block.last < doc);
        if self.blocks.get(at).is_none_or(|block| block.first > doc) {
            return Ok(None);
        }
        let postings = self.decode(at)?;
        let found = postings.binary_search_by_key(&doc, |(doc, _)| *doc);
        Ok(found.ok().map(|at| postings[at].1))
    }
}

/// All postings of one term, and what a point of impact is worth.
#[derive(Debug, Default)]
pub(super) struct TermLists {
    lists: Vec<List>,
    /// Live documents that have the term.
    pub(super) df: u64,
    /// Score per point of impact.
    pub(super) factor: u64,
}

impl TermLists {
    pub(super) fn read(view: &View<'_>, meta: &Meta, tail: &Tail, term: u32) -> Result<TermLists> {
        let mut lists = Vec::with_capacity(meta.runs.len() + 1);
        let terms = term..term.saturating_add(1);
        let (mut postings, mut differences) = (0u64, 0i64);
        for (at, run) in meta.runs.iter().enumerate() {
            let mut list = List { run: Some(at), ..List::default() };
            slab::read(view, run.id, &terms, &mut |_, first, value| {
                if first == 0 {
                    let difference = Cursor::new(value).signed();
                    differences +=
                        difference.ok_or_else(|| damaged("difference", "does not decode"))?;
                } else {
                    postings += list.push(first, value)?;
                }
                Ok(())
            })?;
            if !list.blocks.is_empty() {
                lists.push(list);
            }
        }
        let recent = tail.postings(term);
        if !recent.is_empty() {
            let mut list = List::default();
            for (first, value) in block::encode(&recent) {
                postings += list.push(first, &value)?;
            }
            lists.push(list);
        }
        let df = postings.saturating_sub(tail.buried_with(term)).saturating_add_signed(differences);
        Ok(TermLists { lists, df, factor: 0 })
    }

    pub(super) fn next(&mut self, from: u64) -> Result<Option<u64>> {
        let mut nearest: Option<u64> = None;
        for list in &mut self.lists {
            if let Some(doc) = list.next(from)? {
                nearest = Some(nearest.map_or(doc, |other| other.min(doc)));
            }
        }
        Ok(nearest)
    }

    /// The most the term can add to a document of the window.
    pub(super) fn bound(&mut self, window: Window) -> u64 {
        let max = self.lists.iter_mut().map(|list| list.bound(window)).max().unwrap_or(0);
        self.factor.saturating_mul(max.into())
    }

    /// Visits the live documents of a window with what the term adds to them, list after list.
    pub(super) fn each(
        &mut self,
        window: Window,
        dead: &mut Dead<'_>,
        mut visit: impl FnMut(u64, u64),
    ) -> Result<()> {
        let factor = self.factor;
        for list in &mut self.lists {
            let page = dead.page(list.run)?;
            list.each(window, page, &mut |doc, impact| {
                visit(doc, factor.saturating_mul(impact.into()));
            })?;
        }
        Ok(())
    }

    /// What the term adds to one document of the window that `bound` was last asked for.
    pub(super) fn find(&mut self, doc: u64, dead: &mut Dead<'_>) -> Result<u64> {
        for list in &mut self.lists {
            let page = dead.page(list.run)?;
            if let Some(impact) = list.find(doc, page)? {
                return Ok(self.factor.saturating_mul(impact.into()));
            }
        }
        Ok(0)
    }
}

#[derive(Clone, Debug)]
enum Page {
    Unread,
    /// Nobody died.
    Empty,
    Bitmap(Vec<u8>),
}

/// The pages of the dead of one window, read when first needed.
pub(super) struct Dead<'s> {
    view: &'s View<'s>,
    runs: &'s [Run],
    page: u64,
    pages: Vec<Page>,
}

impl<'s> Dead<'s> {
    pub(super) fn new(view: &'s View<'s>, runs: &'s [Run]) -> Dead<'s> {
        Dead { view, runs, page: 0, pages: vec![Page::Unread; runs.len()] }
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
