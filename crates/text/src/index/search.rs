//! Searching one consistent state: the best few documents by MaxScore, in windows of documents.
//!
//! The windows go upwards, so a later document must beat the threshold to get in: at equal scores the smaller id stays.
//! In each window the terms that together cannot beat it are only asked about documents that the others brought up.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use kernel::Result;
use kernel::store::{KeyRange, View};

use super::lists::{DeadPages, TermLists, Window};
use super::matches::WordMatches;
use super::memtable::{Memtable, MemtableHandle};
use super::meta::{IndexSettings, Meta};
use super::rows::{self, ForwardRecord, PAGE_DOCS};
use super::score::{FIELDS, TextField, idf};

const WINDOW: usize = 4096;

/// Words of a document that are looked at to find others that share them.
const SHARED_WORDS_LOOKED_AT: usize = 32;
/// Words that are used for it, and documents that such a word may have.
const SHARED_WORDS: usize = 10;
const SHARED_WORD_DOCS_MAX: u64 = 256;

/// Says whether a document may be in the answer.
pub type DocFilter<'f> = dyn Fn(u64) -> bool + 'f;

/// Documents with their scores, best first; equal scores by document.
pub type DocScores = Vec<(u64, u64)>;

pub struct TextSearch<'a> {
    view: &'a View<'a>,
    meta: Meta,
    memtable: Arc<Memtable>,
    /// Words of added documents that the dictionary does not have.
    added: HashMap<String, u32>,
    /// Frequencies of terms whose lists were read: whoever asks for them next need not read the lists again.
    counted: RefCell<HashMap<String, u64>>,
    /// The lists that the last question was answered from.
    asked: RefCell<Vec<TermLists>>,
    /// What is counted: these documents alone, or all of them.
    counted_docs: Option<CountedDocs<'a>>,
}

/// The documents that frequencies are counted over, for a caller who may not see all of them.
struct CountedDocs<'a> {
    documents: u64,
    is_in: Box<DocFilter<'a>>,
}

impl std::fmt::Debug for TextSearch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextSearch").field("meta", &self.meta).finish_non_exhaustive()
    }
}

impl<'a> TextSearch<'a> {
    /// A search of the state that `view` shows.
    pub fn new(view: &'a View<'a>, memtable: &MemtableHandle) -> Result<TextSearch<'a>> {
        let meta = Meta::read(view)?.unwrap_or_else(|| Meta::new(IndexSettings::default()));
        let current = memtable.current();
        // A commit may have come between the view and this line, or come here before the view sees it; or all rows were
        // made again.
        let fits = (current.seq, current.generation) == (meta.seq, view.generation());
        let memtable = if fits { current } else { Arc::new(Memtable::read(view, &meta)?) };
        let (counted, asked) = <_>::default();
        let (added, counted_docs) = (HashMap::new(), None);
        Ok(TextSearch { view, meta, memtable, added, counted, asked, counted_docs })
    }

    /// Counts only some documents, `documents` of them: how rare a word is then tells nothing of the others. A word's
    /// whole list is read to count it.
    pub fn count_only(&mut self, documents: u64, is_in: Box<DocFilter<'a>>) {
        self.counted.take();
        self.counted_docs = Some(CountedDocs { documents, is_in });
    }

    /// Adds documents for this search alone. None of them has a number that the index has.
    pub fn add<'d>(
        &mut self,
        documents: impl Iterator<Item = (u64, &'d [(TextField, String)])>,
    ) -> Result<()> {
        self.counted.take();
        for (doc, terms) in documents {
            let (lengths, terms) = count(terms);
            let mut forward =
                ForwardRecord { epoch: 0, lengths, terms: Vec::with_capacity(terms.len()) };
            for (term, tfs) in terms {
                let fresh = u32::try_from(self.added.len()).unwrap_or(u32::MAX);
                let id = match self.term_id(term)? {
                    Some(id) => id,
                    None => self.meta.next_term.saturating_add(fresh),
                };
                if id >= self.meta.next_term {
                    self.added.insert(term.to_owned(), id);
                }
                forward.terms.push((id, tfs));
            }
            forward.terms.sort_unstable();
            Arc::make_mut(&mut self.memtable).put(doc, &forward, &self.meta.settings.weights);
        }
        Ok(())
    }

    fn term_id(&self, term: &str) -> Result<Option<u32>> {
        match self.view.get(&rows::term_key(term))? {
            Some(value) => rows::parse_term_id(&value).map(Some),
            None => Ok(self.added.get(term).copied()),
        }
    }

    /// Live documents, of those that are counted.
    pub fn documents(&self) -> u64 {
        self.counted_docs.as_ref().map_or(self.meta.documents, |counted| counted.documents)
    }

    /// Live documents that have the term, of those that are counted.
    pub fn df(&self, term: &str) -> Result<u64> {
        if let Some(df) = self.counted.borrow().get(term) {
            return Ok(*df);
        }
        Ok(self.lists(term)?.map_or(0, |lists| lists.df))
    }

    /// Terms of live documents that start with `prefix`, in byte order, at most `max`.
    pub fn prefix_terms(&self, prefix: &str, max: usize) -> Result<Vec<String>> {
        let mut terms = Vec::new();
        self.view.scan(&KeyRange::prefix(&rows::term_key(prefix)), &mut |key, value| {
            if terms.len() >= max {
                return Ok(ControlFlow::Break(()));
            }
            let term = rows::parse_term_id(value)?;
            // Words of deleted documents stay in the dictionary.
            if TermLists::read(self.view, &self.meta, &self.memtable, term)?.df > 0 {
                terms.push(rows::parse_term(key)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(terms)
    }

    /// The best `k` documents that `filter` lets through and that have none of the `excluded` terms.
    pub fn top_k(
        &self,
        query: &[(String, u32)],
        k: usize,
        filter: &DocFilter<'_>,
        excluded: &[String],
    ) -> Result<DocScores> {
        let terms = self.weighted(query)?;
        self.best_of(terms, k, filter, self.all_lists(excluded)?)
    }

    /// Documents that share rare words with one, those that share most first, at most `k`.
    ///
    /// The cost does not grow with the index: of the document's words the newest are looked at, which are the rarest,
    /// at most [`SHARED_WORDS_LOOKED_AT`]; of those that few documents have, [`SHARED_WORDS`] are used.
    pub fn sharing_words(&self, doc: u64, k: usize, filter: &DocFilter<'_>) -> Result<DocScores> {
        let Some(row) = self.view.get(&rows::forward(doc))? else { return Ok(Vec::new()) };
        let forward = ForwardRecord::decode(&row)?;
        let mut terms = Vec::new();
        // Numbers are given to words as they first appear, so the largest are the newest.
        for (term, _) in forward.terms.iter().rev().take(SHARED_WORDS_LOOKED_AT) {
            let (view, meta, max) = (self.view, &self.meta, SHARED_WORD_DOCS_MAX);
            let lists = TermLists::read_up_to(view, meta, &self.memtable, *term, max)?;
            if let Some(mut lists) = lists.filter(|lists| lists.df > 1) {
                lists.factor = idf(self.meta.documents, lists.df);
                terms.push(lists);
            }
            if terms.len() == SHARED_WORDS {
                break;
            }
        }
        self.best_of(terms, k, filter, Vec::new())
    }

    fn best_of(
        &self,
        mut terms: Vec<TermLists>,
        k: usize,
        filter: &DocFilter<'_>,
        mut barring: Vec<TermLists>,
    ) -> Result<DocScores> {
        let mut dead = DeadPages::new(self.view, &self.meta.runs);
        let mut best = Best::new(k);
        let mut scratch = Scratch::new();
        let mut from = 0;
        while k > 0
            && let Some(next) = nearest(&mut terms, from)?
        {
            let start = next - next % PAGE_DOCS;
            let window = (start, start | (PAGE_DOCS - 1));
            dead.enter(window);
            scratch.window(window, &mut terms, &mut barring, &mut dead, filter, &mut best)?;
            let Some(after) = window.1.checked_add(1) else { break };
            from = after;
        }
        self.asked.replace(terms);
        Ok(best.into_sorted())
    }

    /// What the terms of the last `top_k` find in some documents, which come ascending.
    pub fn matched(&self, docs: &[u64]) -> Result<WordMatches> {
        let mut terms = self.asked.borrow_mut();
        terms.iter_mut().for_each(TermLists::rewind);
        let mut dead = DeadPages::new(self.view, &self.meta.runs);
        let mut found = WordMatches::new(terms.iter().map(|term| term.factor).collect());
        for doc in docs {
            let start = doc - doc % PAGE_DOCS;
            let window = (start, start | (PAGE_DOCS - 1));
            dead.enter(window);
            for term in terms.iter_mut() {
                term.bound(window);
                found.push(term.factor, term.find(*doc, &mut dead)?);
            }
        }
        Ok(found)
    }

    fn lists(&self, term: &str) -> Result<Option<TermLists>> {
        let Some(id) = self.term_id(term)? else { return Ok(None) };
        let mut lists = TermLists::read(self.view, &self.meta, &self.memtable, id)?;
        if let Some(counted) = &self.counted_docs {
            let mut dead = DeadPages::new(self.view, &self.meta.runs);
            lists.df = lists.count(&mut dead, &counted.is_in)?;
        }
        self.counted.borrow_mut().insert(term.to_owned(), lists.df);
        Ok(Some(lists))
    }

    fn all_lists(&self, terms: &[String]) -> Result<Vec<TermLists>> {
        terms.iter().filter_map(|term| self.lists(term).transpose()).collect()
    }

    /// The lists of a query; a term given twice counts with both weights.
    fn weighted(&self, query: &[(String, u32)]) -> Result<Vec<TermLists>> {
        let mut weights: BTreeMap<&str, u64> = BTreeMap::new();
        for (term, weight) in query {
            *weights.entry(term).or_default() += u64::from(*weight);
        }
        let mut terms = Vec::with_capacity(weights.len());
        for (term, weight) in weights {
            if weight > 0
                && let Some(mut lists) = self.lists(term)?
            {
                lists.factor = weight.saturating_mul(idf(self.documents(), lists.df));
                terms.push(lists);
            }
        }
        Ok(terms)
    }
}

/// Field lengths, and how often each term occurs in each field.
fn count(terms: &[(TextField, String)]) -> ([u32; FIELDS], BTreeMap<&str, [u32; FIELDS]>) {
    let mut lengths = [0u32; FIELDS];
    let mut counted: BTreeMap<&str, [u32; FIELDS]> = BTreeMap::new();
    for (field, term) in terms {
        let field = field.index();
        lengths[field] = lengths[field].saturating_add(1);
        let tfs = counted.entry(term).or_default();
        tfs[field] = tfs[field].saturating_add(1);
    }
    (lengths, counted)
}

fn nearest(terms: &mut [TermLists], from: u64) -> Result<Option<u64>> {
    let mut nearest: Option<u64> = None;
    for term in terms {
        if let Some(doc) = term.next(from)? {
            nearest = Some(nearest.map_or(doc, |other| other.min(doc)));
        }
    }
    Ok(nearest)
}

/// Sums of one window. Reused, because clearing costs less than allocating.
struct Scratch {
    sums: Vec<u64>,
    touched: WindowBits,
    barred: WindowBits,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch { sums: vec![0; WINDOW], touched: WindowBits::new(), barred: WindowBits::new() }
    }

    fn window(
        &mut self,
        window: Window,
        terms: &mut [TermLists],
        barring: &mut [TermLists],
        dead: &mut DeadPages<'_>,
        filter: &DocFilter<'_>,
        best: &mut Best,
    ) -> Result<()> {
        let mut bounds: Vec<(u64, usize)> =
            terms.iter_mut().enumerate().map(|(at, term)| (term.bound(window), at)).collect();
        bounds.retain(|(bound, _)| *bound > 0);
        bounds.sort_unstable();
        // `reach[n]`: what the n weakest terms can add together.
        let mut reach = vec![0u64];
        for (bound, _) in &bounds {
            reach.push(reach[reach.len() - 1].saturating_add(*bound));
        }
        let weak = reach.partition_point(|reach| *reach <= best.threshold) - 1;
        if weak == bounds.len() {
            return Ok(());
        }
        for (_, at) in &bounds[weak..] {
            terms[*at].each(window, dead, |doc, score| {
                let place = place(doc);
                self.touched.insert(place);
                self.sums[place] = self.sums[place].saturating_add(score);
            })?;
        }
        for term in barring.iter_mut() {
            term.each(window, dead, |doc, _| self.barred.insert(place(doc)))?;
        }
        let touched = self.touched.take();
        for (word, base) in touched.0.iter().zip((0..).step_by(64)) {
            let mut left = *word;
            while left != 0 {
                let place = base + left.trailing_zeros() as usize;
                left &= left - 1;
                let mut sum = std::mem::take(&mut self.sums[place]);
                let hopeless = |sum: u64, weak: usize, best: &Best| {
                    sum.saturating_add(reach[weak]) <= best.threshold
                };
                let doc = window.0 + place as u64;
                if hopeless(sum, weak, best) || self.barred.contains(place) || !filter(doc) {
                    continue;
                }
                for (left, (_, at)) in bounds[..weak].iter().enumerate().rev() {
                    if hopeless(sum, left + 1, best) {
                        break;
                    }
                    sum = sum.saturating_add(terms[*at].find(doc, dead)?);
                }
                best.offer(doc, sum);
            }
        }
        self.barred.take();
        Ok(())
    }
}

fn place(doc: u64) -> usize {
    usize::try_from(doc % PAGE_DOCS).expect("a window has 4096 places")
}

/// A set of places of a window.
struct WindowBits([u64; WINDOW / 64]);

impl WindowBits {
    fn new() -> WindowBits {
        WindowBits([0; WINDOW / 64])
    }

    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn take(&mut self) -> WindowBits {
        std::mem::replace(self, WindowBits::new())
    }
}

/// The best documents so far.
struct Best {
    k: usize,
    /// What a document must score more than; every match scores more than nothing.
    threshold: u64,
    /// The worst on top: the lowest score, then the largest document.
    heap: BinaryHeap<(Reverse<u64>, u64)>,
}

impl Best {
    fn new(k: usize) -> Best {
        Best { k, threshold: 0, heap: BinaryHeap::new() }
    }

    fn offer(&mut self, doc: u64, score: u64) {
        if score > self.threshold {
            if self.heap.len() == self.k {
                self.heap.pop();
            }
            self.heap.push((Reverse(score), doc));
            let worst = self.heap.peek().filter(|_| self.heap.len() == self.k);
            self.threshold = worst.map_or(0, |(Reverse(score), _)| *score);
        }
    }

    fn into_sorted(self) -> DocScores {
        self.heap.into_sorted_vec().into_iter().map(|(Reverse(score), doc)| (doc, score)).collect()
    }
}
