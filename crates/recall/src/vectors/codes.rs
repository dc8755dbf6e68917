//! The columns of one set of vectors, and the scan over them.
//!
//! Each vector is a sketch (two bits for each dimension) and i8 codes scaled by its own largest component; a document
//! has one vector or several, and is as near as its nearest. Rows are in the order of their documents, so what was
//! inserted when never shows. Up to `EXACT_UP_TO` vectors the scan ranks all by their codes; above, sketches first
//! choose which. All choices are by (farness or score, then document).

use std::cmp::Reverse;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::code::{Code, Heads, LEVELS, rounded};
use super::level_store::{LevelAddress, LevelStore};
use super::scan::{self, Scan};
use super::sketch::{QuerySketch, Rotation};
use crate::embedding::{Embedding, FETCHED, Wide, dot, fetch, widest};

/// Up to so many vectors are all ranked by their codes, which takes about a millisecond.
pub const EXACT_UP_TO: usize = 20_000;

/// A found document; the score is the cosine times `embedding::ONE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorHit {
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
    scales: Vec<i16>,
    /// Where the levels are.
    at: Vec<LevelAddress>,
    levels: LevelStore,
    spare: Mutex<Vec<Scan>>,
}

impl Codes {
    pub fn new(dims: usize) -> Codes {
        Codes {
            dims,
            rotation: Rotation::new(dims),
            docs: Vec::new(),
            sketches: Vec::new(),
            scales: Vec::new(),
            at: Vec::new(),
            levels: LevelStore::new(dims),
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
        self.at.reserve(vectors);
        self.sketches.reserve(vectors.saturating_mul(self.rotation.bytes()));
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    /// Bytes held by the columns.
    pub fn bytes(&self) -> usize {
        self.sketches.len() + self.levels.bytes() + self.len() * (2 + 4 + 8)
    }

    fn rows_of(&self, doc: u64) -> Range<usize> {
        let start = self.first_row(doc);
        start..start + self.docs[start..].iter().take_while(|other| **other == doc).count()
    }

    /// The first row at or after a document. Documents are numbered almost without gaps, so a guess is close: looking
    /// from there in growing steps touches a few lines of memory, where halving would touch one for each step.
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
        for at in &self.at[old.clone()] {
            self.levels.release(*at);
        }
        let at: Vec<LevelAddress> =
            codes.clone().map(|code| self.levels.hold(code.levels.iter().copied())).collect();
        let n = at.len();
        self.docs.splice(old.clone(), std::iter::repeat_n(doc, n));
        self.scales.splice(old.clone(), codes.clone().map(|code| code.scale));
        self.at.splice(old.clone(), at);
        let sketches = codes.flat_map(|code| code.sketch.iter().copied());
        self.sketches.splice(old.start * bytes..old.end * bytes, sketches);
        true
    }

    /// Adds a vector from its bytes, see `Code::push_to`. Documents come in ascending order. `None` if it does not fit.
    pub(crate) fn append(&mut self, doc: u64, bytes: &[u8]) -> Option<()> {
        let (scale, levels, sketch) = Code::parts(self.dims, bytes)?;
        if scale > 0 {
            let at = self.levels.hold(levels.iter().map(|level| level.cast_signed()));
            self.push(doc, scale, sketch, at);
        }
        Some(())
    }

    /// Adds the vectors of a document whose levels are in groups. `None` if they do not fit.
    pub(crate) fn append_heads(&mut self, doc: u64, heads: Heads<'_>) -> Option<()> {
        for (number, head) in heads.each(self.dims) {
            let (scale, sketch) = head.split_first_chunk::<2>()?;
            if sketch.len() != self.rotation.bytes() {
                return None;
            }
            let at = LevelAddress::grouped(number)?;
            self.levels.add_grouped(at);
            self.push(doc, i16::from_le_bytes(*scale), sketch, at);
        }
        Some(())
    }

    fn push(&mut self, doc: u64, scale: i16, sketch: &[u8], at: LevelAddress) {
        self.docs.push(doc);
        self.scales.push(scale);
        self.sketches.extend(sketch);
        self.at.push(at);
    }

    /// How near a document is; `None` if it has no vector. For codes without groups.
    pub fn score(&self, query: &Embedding, doc: u64) -> Option<i64> {
        self.scores(query, &[doc]).into_iter().next().flatten()
    }

    /// How near some documents are. For codes without groups.
    pub fn scores(&self, query: &Embedding, docs: &[u64]) -> Vec<Option<i64>> {
        let Ok(scores) = self.scores_with(query, docs, &NoGroupSource);
        scores
    }

    /// How near some documents are; `groups` gives those that are not in memory yet.
    pub(crate) fn scores_with<G: GroupSource>(
        &self,
        query: &Embedding,
        docs: &[u64],
        groups: &G,
    ) -> Result<Vec<Option<i64>>, G::Error> {
        let ranges: Vec<Range<usize>> = docs.iter().map(|doc| self.rows_of(*doc)).collect();
        let rows: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let mut scores = self.row_scores(query, &rows, groups)?.into_iter();
        Ok(ranges.iter().map(|range| scores.by_ref().take(range.len()).max()).collect())
    }

    /// How near the first vector of some documents is, which is that of the whole text.
    pub(crate) fn first_scores_with<G: GroupSource>(
        &self,
        query: &Embedding,
        docs: &[u64],
        groups: &G,
    ) -> Result<Vec<Option<i64>>, G::Error> {
        let first = |doc: &u64| Some(self.rows_of(*doc)).filter(|rows| !rows.is_empty());
        let rows: Vec<Option<usize>> =
            docs.iter().map(|d| first(d).map(|rows| rows.start)).collect();
        let wanted: Vec<usize> = rows.iter().copied().flatten().collect();
        let mut scores = self.row_scores(query, &wanted, groups)?.into_iter();
        Ok(rows.iter().map(|row| row.and_then(|_| scores.next())).collect())
    }

    /// How near the whole text of a document is. For codes without groups.
    pub(crate) fn first_score(&self, query: &Embedding, doc: u64) -> Option<i64> {
        let Ok(scores) = self.first_scores_with(query, &[doc], &NoGroupSource);
        scores.into_iter().next().flatten()
    }

    /// The nearest `k` documents by their codes, best first. For codes without groups.
    pub fn top_k(
        &self,
        query: &Embedding,
        k: usize,
        filter: &dyn Fn(u64) -> bool,
    ) -> Vec<VectorHit> {
        let Ok(hits) = self.top_k_with(query, k, filter, &NoGroupSource);
        hits
    }

    /// The nearest `k` documents by their codes, best first; `groups` gives those that are not in memory yet.
    pub(crate) fn top_k_with<G: GroupSource>(
        &self,
        query: &Embedding,
        k: usize,
        filter: &dyn Fn(u64) -> bool,
        groups: &G,
    ) -> Result<Vec<VectorHit>, G::Error> {
        if k == 0 || query.dims() != self.dims || query.is_zero() {
            return Ok(Vec::new());
        }
        let rows: Vec<usize> = if self.len() <= EXACT_UP_TO {
            (0..self.len()).filter(|&row| filter(self.docs[row])).collect()
        } else {
            self.candidates(query, k, filter)
        };
        let scores = self.row_scores(query, &rows, groups)?;
        let hits =
            rows.iter().zip(scores).map(|(row, score)| VectorHit { doc: self.docs[*row], score });
        Ok(best(hits.collect(), k))
    }

    fn row_scores<G: GroupSource>(
        &self,
        query: &Embedding,
        rows: &[usize],
        groups: &G,
    ) -> Result<Vec<i64>, G::Error> {
        self.read_levels(rows, groups)?;
        let levels: Vec<&[i8]> = rows.iter().map(|row| self.levels_of(*row)).collect();
        let scales = rows.iter().map(|row| self.scales[*row]).collect();
        Ok(widest(RowScores { query, levels, scales }))
    }

    /// Brings the levels of some rows into memory.
    fn read_levels<G: GroupSource>(&self, rows: &[usize], groups: &G) -> Result<(), G::Error> {
        let wanted = rows.iter().map(|row| self.at[*row]).filter(|at| self.levels.wants(*at));
        let mut wanted: Vec<u64> = wanted.filter_map(LevelAddress::group).collect();
        wanted.dedup();
        if self.levels.wants_all(wanted.len()) {
            return groups.each(&mut |number, group| self.levels.hold_group(number, group));
        }
        for number in wanted {
            self.levels.hold_group(number, &groups.group(number)?);
        }
        Ok(())
    }

    /// Rows the filter accepts that the sketches leave, ascending.
    fn candidates(&self, query: &Embedding, k: usize, filter: &dyn Fn(u64) -> bool) -> Vec<usize> {
        let mut scan = self.spare().pop().unwrap_or_default();
        let asked = QuerySketch::new(&self.rotation, query.values());
        let keep = scan::kept(self.len(), k);
        scan.look(&asked, &self.sketches, self.len());
        let rows = scan.nearest(keep, &|row| filter(self.docs[row]));
        self.spare().push(scan);
        rows
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Scan>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn levels_of(&self, row: usize) -> &[i8] {
        self.levels.get(self.at[row])
    }
}

/// Where groups of levels are read from.
pub(crate) trait GroupSource {
    type Error;

    /// The levels of all vectors of a group.
    fn group(&self, number: u64) -> Result<Vec<u8>, Self::Error>;

    /// All of them, which takes a fraction of the time.
    fn each(&self, visit: &mut dyn FnMut(u64, &[u8])) -> Result<(), Self::Error>;
}

/// For codes that have all their levels in memory, and never ask.
struct NoGroupSource;

impl GroupSource for NoGroupSource {
    type Error = Infallible;

    fn group(&self, _: u64) -> Result<Vec<u8>, Infallible> {
        Ok(Vec::new())
    }

    fn each(&self, _: &mut dyn FnMut(u64, &[u8])) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The scores of some rows.
struct RowScores<'c> {
    query: &'c Embedding,
    levels: Vec<&'c [i8]>,
    scales: Vec<i16>,
}

impl Wide for RowScores<'_> {
    type Output = Vec<i64>;

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn call(self) -> Vec<i64> {
        let mut scores = Vec::with_capacity(self.levels.len());
        for (levels, scales) in self.levels.chunks(FETCHED).zip(self.scales.chunks(FETCHED)) {
            fetch(levels.iter().copied());
            for (levels, scale) in levels.iter().zip(scales) {
                // At most |query| * |codes| = 2^15 * 127 * sqrt(512): within i32.
                let dot = dot(self.query.values(), levels, i16::from);
                scores.push(rounded(i64::from(dot) * i64::from(*scale), LEVELS));
            }
        }
        scores
    }
}

/// The best `k` documents, each with its nearest vector. Hits come in the order of their documents.
fn best(mut hits: Vec<VectorHit>, k: usize) -> Vec<VectorHit> {
    hits.dedup_by(|later, kept| {
        let same = later.doc == kept.doc;
        if same {
            kept.score = kept.score.max(later.score);
        }
        same
    });
    let order = |hit: &VectorHit| (Reverse(hit.score), hit.doc);
    if k < hits.len() {
        hits.select_nth_unstable_by_key(k, order);
        hits.truncate(k);
    }
    hits.sort_unstable_by_key(order);
    hits
}

#[cfg(test)]
mod tests;
