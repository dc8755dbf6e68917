//! The columns of one set of vectors, and the scan over them.
//!
//! Each vector is a sketch (two bits for each dimension) and i8 codes scaled by its own largest component; a document has one
//! vector or several, and is as near as its nearest. Rows are in the order of their documents, so what was inserted when
//! never shows. Up to `EXACT_UP_TO` vectors the scan ranks all by their codes; above, sketches first choose which. All
//! choices are by (farness or score, then document).

use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::code::{Code, LEVELS, rounded};
use super::sketch::{Asked, Rotation};
use crate::embed::{Embedding, FETCHED, Wide, dot, fetch, widest};

/// So many vectors are ranked one by one: about a millisecond.
pub const EXACT_UP_TO: usize = 20_000;

/// What the sketches leave to be ranked by codes: at least so many vectors, so many for each result asked for, and one of so
/// many of all. Of 100,000 generated memories they find what ranking all by codes would: 0.985 of the true ten, and of
/// the four hundred that a search takes 0.94.
const LEAST: usize = 1_200;
const FOR_EACH: usize = 3;
const ONE_OF: usize = 250;

fn kept(vectors: usize, k: usize) -> usize {
    k.saturating_mul(FOR_EACH).max(LEAST).max(vectors / ONE_OF)
}

/// A found document; the score is the cosine times `embed::ONE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub doc: u64,
    pub score: i64,
}

/// Vectors in memory, by document.
#[derive(Debug)]
pub struct Codes {
    dims: usize,
    rotation: Rotation,
    /// Ascending; a document is there once for each of its vectors.
    docs: Vec<u64>,
    sketches: Vec<u8>,
    levels: Vec<i8>,
    scales: Vec<i16>,
    spare: Mutex<Vec<Scan>>,
}

/// What a scan writes down. Kept for the next one: asking the system for so much memory each time costs as much as a step of
/// the scan. There are as many as there were scans at the same time.
#[derive(Debug, Default)]
struct Scan {
    far: Vec<u16>,
    counts: Vec<u32>,
}

impl Codes {
    pub fn new(dims: usize) -> Codes {
        Codes {
            dims,
            rotation: Rotation::new(dims),
            docs: Vec::new(),
            sketches: Vec::new(),
            levels: Vec::new(),
            scales: Vec::new(),
            spare: Mutex::default(),
        }
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Makes room for so many vectors more: columns that grow step by step are copied at each.
    pub(crate) fn reserve(&mut self, vectors: usize) {
        self.docs.reserve(vectors);
        self.scales.reserve(vectors);
        self.levels.reserve(vectors.saturating_mul(self.dims));
        self.sketches.reserve(vectors.saturating_mul(self.rotation.bytes()));
    }

    /// Vectors.
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    pub fn contains(&self, doc: u64) -> bool {
        self.docs.binary_search(&doc).is_ok()
    }

    /// Bytes held by the columns.
    pub fn bytes(&self) -> usize {
        self.sketches.len() + self.levels.len() + self.scales.len() * 2 + self.docs.len() * 8
    }

    fn rows_of(&self, doc: u64) -> Range<usize> {
        let start = self.first_row(doc);
        start..start + self.docs[start..].iter().take_while(|other| **other == doc).count()
    }

    /// The first row at or after a document. Documents are numbered almost without gaps, so a guess is close: looking from
    /// there in growing steps touches a few lines of memory, where halving would touch one for each step.
    fn first_row(&self, doc: u64) -> usize {
        let docs = &self.docs[..];
        let Some(&last) = docs.last() else { return 0 };
        if doc > last {
            return docs.len();
        }
        let guess = u128::from(doc) * docs.len() as u128 / (u128::from(last) + 1);
        let guess = usize::try_from(guess).unwrap_or(0);
        let (mut low, mut high, mut step) = (guess, guess, 8);
        while low > 0 && docs[low] >= doc {
            high = low;
            low = low.saturating_sub(step);
            step *= 4;
        }
        while high < docs.len() && docs[high] < doc {
            low = high;
            high = (high + step).min(docs.len());
            step *= 4;
        }
        low + docs[low..high].partition_point(|other| *other < doc)
    }

    /// Sets the vectors of a document; none takes it out. False when the dimensions are not these.
    ///
    /// A zero vector is near nothing, so it is left out. New documents come last and cost no more than their own rows.
    pub fn set(&mut self, doc: u64, codes: &[Code]) -> bool {
        let bytes = self.rotation.bytes();
        if codes.iter().any(|code| code.levels.len() != self.dims || code.sketch.len() != bytes) {
            return false;
        }
        let codes = codes.iter().filter(|code| code.scale > 0);
        let old = self.rows_of(doc);
        let n = codes.clone().count();
        self.docs.splice(old.clone(), std::iter::repeat_n(doc, n));
        self.scales.splice(old.clone(), codes.clone().map(|code| code.scale));
        let levels = codes.clone().flat_map(|code| code.levels.iter().copied());
        self.levels.splice(old.start * self.dims..old.end * self.dims, levels);
        let sketches = codes.flat_map(|code| code.sketch.iter().copied());
        self.sketches.splice(old.start * bytes..old.end * bytes, sketches);
        true
    }

    /// Adds a vector from its bytes, see `Code::push_to`. Documents come in ascending order. `None` if it does not fit.
    pub(crate) fn append(&mut self, doc: u64, bytes: &[u8]) -> Option<()> {
        let (scale, rest) = bytes.split_first_chunk::<2>()?;
        let (levels, sketch) = rest.split_at_checked(self.dims)?;
        if sketch.len() != self.rotation.bytes() {
            return None;
        }
        let scale = i16::from_le_bytes(*scale);
        if scale > 0 {
            self.docs.push(doc);
            self.scales.push(scale);
            self.levels.extend(levels.iter().map(|level| level.cast_signed()));
            self.sketches.extend(sketch);
        }
        Some(())
    }

    /// How near a document is; `None` if it has no vector.
    pub fn score(&self, query: &Embedding, doc: u64) -> Option<i64> {
        let rows: Vec<usize> = self.rows_of(doc).collect();
        widest(RowScores { codes: self, query, rows: &rows }).into_iter().max()
    }

    /// How near some documents are, each as `score` tells it. Asked for together they cost less.
    pub fn scores(&self, query: &Embedding, docs: &[u64]) -> Vec<Option<i64>> {
        let ranges: Vec<Range<usize>> = docs.iter().map(|doc| self.rows_of(*doc)).collect();
        let rows: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let mut scores = widest(RowScores { codes: self, query, rows: &rows }).into_iter();
        ranges.iter().map(|range| scores.by_ref().take(range.len()).max()).collect()
    }

    /// The nearest `k` documents by their codes, best first.
    pub fn top_k(&self, query: &Embedding, k: usize, filter: &dyn Fn(u64) -> bool) -> Vec<Hit> {
        if k == 0 || query.dims() != self.dims || query.is_zero() {
            return Vec::new();
        }
        let rows: Vec<usize> = if self.len() <= EXACT_UP_TO {
            (0..self.len()).filter(|&row| filter(self.docs[row])).collect()
        } else {
            self.candidates(query, k, filter)
        };
        let scores = widest(RowScores { codes: self, query, rows: &rows });
        let hits = rows.iter().zip(scores).map(|(row, score)| Hit { doc: self.docs[*row], score });
        best(hits.collect(), k)
    }

    /// Rows the filter accepts that the sketches leave, ascending: as many as `kept` says, if there are.
    ///
    /// Rings of growing distance are looked at until there are enough: the filter is the caller's and may be slow, so it is
    /// asked of the nearest first, and of others only if those do not suffice.
    fn candidates(&self, query: &Embedding, k: usize, filter: &dyn Fn(u64) -> bool) -> Vec<usize> {
        let mut scan = self.spare().pop().unwrap_or_default();
        let rows = self.scan(&mut scan, query, k, filter);
        self.spare().push(scan);
        rows
    }

    fn scan(
        &self,
        Scan { far, counts }: &mut Scan,
        query: &Embedding,
        k: usize,
        filter: &dyn Fn(u64) -> bool,
    ) -> Vec<usize> {
        let asked = Asked::new(&self.rotation, query.values());
        far.resize(self.len(), 0);
        asked.far(&self.sketches, far);
        counts.clear();
        counts.resize(asked.farthest(), 0);
        for &far in &*far {
            counts[usize::from(far)] += 1;
        }
        let keep = kept(self.len(), k);
        let mut accepted: Vec<(u16, u32)> = Vec::with_capacity(keep.min(self.len()));
        let (mut from, mut target) = (0u16, keep);
        loop {
            let to = reach(counts, target);
            each_between(far, from..=to, |row| {
                if filter(self.docs[place(row)]) {
                    accepted.push((far[place(row)], row));
                }
            });
            if accepted.len() >= keep || usize::from(to) + 1 >= counts.len() {
                break;
            }
            from = to + 1;
            target = target.saturating_mul(8);
        }
        if keep < accepted.len() {
            accepted.select_nth_unstable(keep);
            accepted.truncate(keep);
        }
        let mut rows: Vec<usize> = accepted.into_iter().map(|(_, row)| place(row)).collect();
        rows.sort_unstable();
        rows
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Scan>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn levels_of(&self, row: usize) -> &[i8] {
        &self.levels[row * self.dims..(row + 1) * self.dims]
    }

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn score_row(&self, query: &Embedding, row: usize) -> i64 {
        // At most |query| * |codes| = 2^15 * 127 * sqrt(512): within i32.
        let dot = dot(query.values(), self.levels_of(row), i16::from);
        rounded(i64::from(dot) * i64::from(self.scales[row]), LEVELS)
    }
}

/// The scores of some rows.
struct RowScores<'c> {
    codes: &'c Codes,
    query: &'c Embedding,
    rows: &'c [usize],
}

impl Wide for RowScores<'_> {
    type Output = Vec<i64>;

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn call(self) -> Vec<i64> {
        let mut scores = Vec::with_capacity(self.rows.len());
        for rows in self.rows.chunks(FETCHED) {
            fetch(rows.iter().map(|row| self.codes.levels_of(*row)));
            scores.extend(rows.iter().map(|row| self.codes.score_row(self.query, *row)));
        }
        scores
    }
}

/// 2^32 rows would take a terabyte.
fn place(row: u32) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}

/// Calls `visit` for the rows that are so far, ascending. Every row is noted, and the next takes its place unless it
/// belongs: which do is as good as random, and a wrong guess of the machine costs more than a note.
fn each_between(far: &[u16], between: RangeInclusive<u16>, mut visit: impl FnMut(u32)) {
    const PART: usize = 256;
    for (part, first) in far.chunks(PART).zip((0u32..).step_by(PART)) {
        let (mut rows, mut count) = ([0; PART], 0);
        for (row, far) in (first..).zip(part) {
            rows[count % PART] = row;
            count += usize::from(between.contains(far));
        }
        rows[..count].iter().copied().for_each(&mut visit);
    }
}

/// The smallest farness up to which the counts reach `target`, or the last one.
fn reach(counts: &[u32], target: usize) -> u16 {
    let mut sum = 0;
    let at = counts.iter().position(|count| {
        sum += place(*count);
        sum >= target
    });
    u16::try_from(at.unwrap_or(counts.len().saturating_sub(1))).unwrap_or(u16::MAX)
}

/// The best `k` documents, each with its nearest vector. Hits come in the order of their documents.
fn best(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    hits.dedup_by(|later, kept| {
        let same = later.doc == kept.doc;
        if same {
            kept.score = kept.score.max(later.score);
        }
        same
    });
    let order = |hit: &Hit| (Reverse(hit.score), hit.doc);
    if k < hits.len() {
        hits.select_nth_unstable_by_key(k, order);
        hits.truncate(k);
    }
    hits.sort_unstable_by_key(order);
    hits
}

#[cfg(test)]
mod tests;
