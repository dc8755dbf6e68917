//! The columns of one set of vectors, and the scan over them.
//!
//! Each vector is a sketch (a bit for each dimension) and i8 codes scaled by its own largest component; a document has one
//! vector or several, and is as near as its nearest. Rows are in the order of their documents, so what was inserted when
//! never shows. Up to `EXACT_UP_TO` vectors the scan ranks all by their codes; above, sketches first choose at least `KEEP`
//! candidates. All choices are by (distance or score, then document).

use std::cmp::Reverse;
use std::ops::Range;

use super::code::{Code, rounded};
use super::sketch::Rotation;
use crate::embed::{Embedding, dot};

/// So many vectors are ranked one by one: about a millisecond.
pub const EXACT_UP_TO: usize = 20_000;

/// Candidates the sketches must leave: at least, for each result asked for, and one of so many vectors. On this model's vectors
/// of made-up sentences, which all resemble each other, 12,000 of 50,000 find 0.987 of the true ten.
const KEEP: usize = 12_000;
const KEEP_EACH: usize = 15;
const KEEP_ONE_OF: usize = 5;

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
        }
    }

    pub fn dims(&self) -> usize {
        self.dims
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
        let start = self.docs.partition_point(|other| *other < doc);
        start..start + self.docs[start..].iter().take_while(|other| **other == doc).count()
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
        self.rows_of(doc).map(|row| self.score_row(query, row)).max()
    }

    /// The nearest `k` documents by their codes, best first.
    pub fn top_k(&self, query: &Embedding, k: usize, filter: &dyn Fn(u64) -> bool) -> Vec<Hit> {
        if k == 0 || query.dims() != self.dims || query.is_zero() {
            return Vec::new();
        }
        let hit = |row: usize| Hit { doc: self.docs[row], score: self.score_row(query, row) };
        let hits: Vec<Hit> = if self.len() <= EXACT_UP_TO {
            (0..self.len()).filter(|&row| filter(self.docs[row])).map(hit).collect()
        } else {
            let keep = k.saturating_mul(KEEP_EACH).max(KEEP).max(self.len() / KEEP_ONE_OF);
            self.candidates(query, keep, filter).into_iter().map(hit).collect()
        };
        best(hits, k)
    }

    /// Rows the filter accepts whose sketch is within the smallest distance that leaves at least `keep` of them.
    ///
    /// The filter is the caller's and may be slow, so it is asked in rings of growing distance and not for every row.
    fn candidates(
        &self,
        query: &Embedding,
        keep: usize,
        filter: &dyn Fn(u64) -> bool,
    ) -> Vec<usize> {
        let mut sketch = Vec::new();
        self.rotation.sketch(query.values(), &mut sketch);
        let distances = self.distances(&sketch);
        let mut all = vec![0usize; sketch.len() * 64 + 1];
        for &distance in &distances {
            all[usize::from(distance)] += 1;
        }
        let mut accepted: Vec<(u16, usize)> = Vec::new();
        let (mut from, mut target) = (0u16, keep);
        loop {
            let to = reach(&all, target);
            let ring = distances.iter().enumerate().filter(|(_, d)| (from..=to).contains(*d));
            accepted.extend(
                ring.filter(|(row, _)| filter(self.docs[*row]))
                    .map(|(row, &distance)| (distance, row)),
            );
            if accepted.len() >= keep || usize::from(to) + 1 >= all.len() {
                break;
            }
            from = to + 1;
            target = target.saturating_mul(8);
        }
        let mut counts = vec![0usize; all.len()];
        for &(distance, _) in &accepted {
            counts[usize::from(distance)] += 1;
        }
        let last = reach(&counts, keep);
        accepted.into_iter().filter(|(distance, _)| *distance <= last).map(|(_, row)| row).collect()
    }

    fn distances(&self, sketch: &[u64]) -> Vec<u16> {
        // The default model's width gets a loop of fixed length, which the compiler turns into vector code.
        if let Ok(query) = <&[u64; 4]>::try_from(sketch) {
            let (rows, _) = self.sketches.as_chunks::<4>();
            return rows.iter().map(|row| differing(row, query)).collect();
        }
        self.sketches.chunks_exact(sketch.len().max(1)).map(|row| differing(row, sketch)).collect()
    }

    fn score_row(&self, query: &Embedding, row: usize) -> i64 {
        let codes = &self.levels[row * self.dims..(row + 1) * self.dims];
        // At most |query| * |codes| = 2^15 * 127 * sqrt(512): within i32.
        let dot = dot(query.values(), codes, i16::from);
        rounded(i64::from(dot) * i64::from(self.scales[row]), LEVELS)
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
