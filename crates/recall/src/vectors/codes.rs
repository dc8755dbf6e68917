//! The columns of one set of vectors, and the scan over them.
//!
//! Each vector is a sketch (a bit for each dimension) and i8 codes scaled by its own largest component; a document has one
//! vector or several, and is as near as its nearest. Rows are in the order of their documents, so what was inserted when
//! never shows. Up to `EXACT_UP_TO` vectors the scan ranks all by their codes; above, sketches first choose in two
//! steps (`BY_BITS`, `BY_NEARNESS`). All choices are by (distance or score, then document).

use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::code::{Code, rounded};
use super::sketch::{Nearness, Rotation, signs};
use crate::embed::{Embedding, FETCHED, Wide, dot, fetch, widest};

/// So many vectors are ranked one by one: about a millisecond.
pub const EXACT_UP_TO: usize = 20_000;

/// What a step of the scan leaves for the next: at least so many vectors, so many for each result asked for, and one of so
/// many of all.
struct Keep {
    least: usize,
    each: usize,
    one_of: usize,
}

impl Keep {
    fn of(&self, vectors: usize, k: usize) -> usize {
        k.saturating_mul(self.each).max(self.least).max(vectors / self.one_of)
    }
}

/// By the bits of two sketches. Costs a few nanoseconds a vector.
const BY_BITS: Keep = Keep { least: 12_000, each: 15, one_of: 3 };
/// By the sketch and the question in full, which tells them apart better and costs a few lookups. What is left is read from
/// memory far apart, and that is what takes the time: of 100,000 generated memories 5,000 find 0.98 of the true ten.
const BY_NEARNESS: Keep = Keep { least: 4_000, each: 5, one_of: 20 };

pub(super) const LEVELS: i64 = 127;

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
    sketches: Vec<u64>,
    levels: Vec<i8>,
    scales: Vec<i16>,
    spare: Mutex<Vec<Scan>>,
}

/// What a scan writes down. Kept for the next one: asking the system for so much memory each time costs as much as a step of
/// the scan. There are as many as there were scans at the same time.
#[derive(Debug, Default)]
struct Scan {
    distances: Vec<u16>,
    ring: Vec<Near>,
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
        self.sketches.reserve(vectors.saturating_mul(self.rotation.words()));
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
        self.sketches.len() * 8 + self.levels.len() + self.scales.len() * 2 + self.docs.len() * 8
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
        let words = self.rotation.words();
        if codes.iter().any(|code| code.levels.len() != self.dims || code.sketch.len() != words) {
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
        self.sketches.splice(old.start * words..old.end * words, sketches);
        true
    }

    /// Adds a vector from its bytes, see `Code::push_to`. Documents come in ascending order. `None` if it does not fit.
    pub(crate) fn append(&mut self, doc: u64, bytes: &[u8]) -> Option<()> {
        let (scale, rest) = bytes.split_first_chunk::<2>()?;
        let (levels, sketch) = rest.split_at_checked(self.dims)?;
        let (sketch, rest) = sketch.as_chunks::<8>();
        if sketch.len() != self.rotation.words() || !rest.is_empty() {
            return None;
        }
        let scale = i16::from_le_bytes(*scale);
        if scale > 0 {
            self.docs.push(doc);
            self.scales.push(scale);
            self.levels.extend(levels.iter().map(|level| level.cast_signed()));
            self.sketches.extend(sketch.iter().map(|word| u64::from_le_bytes(*word)));
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

    /// Rows the filter accepts that the sketches leave, ascending: at least as many as `BY_NEARNESS` says, if there are.
    ///
    /// Rings of growing distance are looked at until there are enough. The filter is the caller's and may be slow, so it is
    /// asked of the nearest of a ring first, and of the others only if those do not suffice.
    fn candidates(&self, query: &Embedding, k: usize, filter: &dyn Fn(u64) -> bool) -> Vec<usize> {
        let mut scan = self.spare().pop().unwrap_or_default();
        let rows = self.scan(&mut scan, query, k, filter);
        self.spare().push(scan);
        rows
    }

    fn scan(
        &self,
        Scan { distances, ring }: &mut Scan,
        query: &Embedding,
        k: usize,
        filter: &dyn Fn(u64) -> bool,
    ) -> Vec<usize> {
        let rotated = self.rotation.rotated(query.values());
        let (nearness, words) = (Nearness::new(&rotated), self.rotation.words());
        let near = |row: u32| {
            let at = place(row) * words;
            Near::new(nearness.to(&self.sketches[at..at + words]), row)
        };
        let accepts = |near: &Near| filter(self.docs[near.row()]);
        self.distances(&signs(&rotated), distances);
        let mut counts = vec![0usize; words * 64 + 1];
        for &distance in &*distances {
            counts[usize::from(distance)] += 1;
        }
        let keep = BY_NEARNESS.of(self.len(), k);
        let mut accepted: Vec<Near> = Vec::with_capacity(keep.min(self.len()));
        let (mut from, mut target) = (0u16, BY_BITS.of(self.len(), k));
        loop {
            let to = reach(&counts, target);
            ring.clear();
            each_between(distances, from..=to, |row| ring.push(near(row)));
            let missing = keep.saturating_sub(accepted.len());
            if missing < ring.len() {
                ring.select_nth_unstable(missing);
            }
            let (nearest, others) = ring.split_at(missing.min(ring.len()));
            accepted.extend(nearest.iter().copied().filter(accepts));
            if accepted.len() < keep {
                accepted.extend(others.iter().copied().filter(accepts));
            }
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
        let mut rows: Vec<usize> = accepted.into_iter().map(Near::row).collect();
        rows.sort_unstable();
        rows
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Scan>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn distances(&self, sketch: &[u64], out: &mut Vec<u16>) {
        out.resize(self.len(), 0);
        widest(Distances { rows: &self.sketches, sketch, out });
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

/// In how many bits the sketches differ from one.
struct Distances<'d> {
    rows: &'d [u64],
    sketch: &'d [u64],
    out: &'d mut [u16],
}

impl Wide for Distances<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn call(self) {
        // The default model's width gets a loop of fixed length, which the compiler turns into vector code.
        if let Ok(sketch) = <&[u64; 4]>::try_from(self.sketch) {
            for (distance, row) in self.out.iter_mut().zip(self.rows.as_chunks::<4>().0) {
                *distance = differing(row, sketch);
            }
        } else {
            let rows = self.rows.chunks_exact(self.sketch.len().max(1));
            for (distance, row) in self.out.iter_mut().zip(rows) {
                *distance = differing(row, self.sketch);
            }
        }
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

/// A row and how near its sketch is, as one number, so that choosing among thousands is quick: the nearest is the smallest,
/// then the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Near(u64);

impl Near {
    fn new(nearness: i32, row: u32) -> Near {
        let farness = !(nearness.cast_unsigned() ^ 1 << 31);
        Near(u64::from(farness) << 32 | u64::from(row))
    }

    fn row(self) -> usize {
        place(self.0.to_le_bytes().first_chunk().map_or(0, |row| u32::from_le_bytes(*row)))
    }
}

/// 2^32 rows would take a terabyte.
fn place(row: u32) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}

/// Calls `visit` for the rows at some distances, ascending. Every row is noted, and the next takes its place unless it
/// belongs: which do is as good as random, and a wrong guess of the machine costs more than a note.
fn each_between(distances: &[u16], between: RangeInclusive<u16>, mut visit: impl FnMut(u32)) {
    const PART: usize = 256;
    for (part, first) in distances.chunks(PART).zip((0u32..).step_by(PART)) {
        let (mut rows, mut count) = ([0; PART], 0);
        for (row, distance) in (first..).zip(part) {
            rows[count % PART] = row;
            count += usize::from(between.contains(distance));
        }
        rows[..count].iter().copied().for_each(&mut visit);
    }
}

/// The smallest distance up to which the counts reach `target`, or the last one.
fn reach(counts: &[usize], target: usize) -> u16 {
    let mut sum = 0;
    let at = counts.iter().position(|count| {
        sum += count;
        sum >= target
    });
    u16::try_from(at.unwrap_or(counts.len().saturating_sub(1))).unwrap_or(u16::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "a sketch has at most 512 bits")]
#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
fn differing(a: &[u64], b: &[u64]) -> u16 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones() as u16).sum()
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
