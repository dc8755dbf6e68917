//! The columns of one set of vectors, and the scan over them.
//!
//! Each vector is a sketch (a bit for each dimension) and i8 codes scaled by its own largest component. Up to `EXACT_UP_TO`
//! vectors the scan ranks all by their codes; above, sketches first choose at least `KEEP` candidates. All choices are by
//! (distance or score, then slot), so the place of a row in the columns, which deletes move, never shows.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::sketch::Rotation;
use crate::embed::Embedding;

/// So many vectors are ranked one by one: about a millisecond.
pub const EXACT_UP_TO: usize = 20_000;

/// Candidates the sketches must leave: at least, for each result asked for, and one of so many vectors. 400 were enough on
/// synthetic clusters; on this model's vectors of 100,000 made-up sentences 2,000 find 0.975 of the true ten, 4,000 0.989.
const KEEP: usize = 4000;
const KEEP_EACH: usize = 40;
const KEEP_ONE_OF: usize = 50;

/// Candidates compared by their full values, at least and for each result asked for.
const FINAL: usize = 40;
const FINAL_EACH: usize = 4;

const LEVELS: i64 = 127;

/// A found vector; the score is the cosine times `embed::ONE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub slot: u32,
    pub score: i64,
}

/// Vectors in memory, each under a slot number the caller chose.
#[derive(Debug)]
pub struct Codes {
    dims: usize,
    rotation: Rotation,
    slots: Vec<u32>,
    rows: HashMap<u32, usize>,
    sketches: Vec<u64>,
    levels: Vec<i8>,
    scales: Vec<i16>,
}

impl Codes {
    pub fn new(dims: usize) -> Codes {
        Codes {
            dims,
            rotation: Rotation::new(dims),
            slots: Vec::new(),
            rows: HashMap::new(),
            sketches: Vec::new(),
            levels: Vec::new(),
            scales: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn contains(&self, slot: u32) -> bool {
        self.rows.contains_key(&slot)
    }

    /// Bytes held by the columns.
    pub fn bytes(&self) -> usize {
        self.sketches.len() * 8 + self.levels.len() + self.scales.len() * 2 + self.slots.len() * 4
    }

    /// Sets the vector of a slot. A zero vector is near nothing, so it takes the slot's vector away. False when the
    /// dimensions are not these.
    pub fn insert(&mut self, slot: u32, embedding: &Embedding) -> bool {
        if embedding.dims() != self.dims {
            return false;
        }
        self.remove(slot);
        let scale = embedding.values().iter().map(|v| v.saturating_abs()).max().unwrap_or(0);
        if scale == 0 {
            return true;
        }
        self.rows.insert(slot, self.slots.len());
        self.slots.push(slot);
        self.rotation.sketch(embedding.values(), &mut self.sketches);
        self.scales.push(scale);
        self.levels.extend(embedding.values().iter().map(|&value| {
            i8::try_from(rounded(i64::from(value) * LEVELS, i64::from(scale))).unwrap_or(0)
        }));
        true
    }

    /// Forgets a slot: the last row takes its place. False when there was none.
    pub fn remove(&mut self, slot: u32) -> bool {
        let Some(row) = self.rows.remove(&slot) else {
            return false;
        };
        take_row(&mut self.sketches, row, self.rotation.words());
        take_row(&mut self.levels, row, self.dims);
        self.scales.swap_remove(row);
        self.slots.swap_remove(row);
        if let Some(&moved) = self.slots.get(row) {
            self.rows.insert(moved, row);
        }
        true
    }

    /// The nearest `k` by their codes, best first.
    pub fn top_k(&self, query: &Embedding, k: usize, filter: &dyn Fn(u32) -> bool) -> Vec<Hit> {
        if k == 0 || query.dims() != self.dims || query.is_zero() {
            return Vec::new();
        }
        let hits = if self.len() <= EXACT_UP_TO {
            let rows = 0..self.len();
            rows.filter(|&row| filter(self.slots[row])).map(|row| self.hit(query, row)).collect()
        } else {
            let keep = k.saturating_mul(KEEP_EACH).max(KEEP).max(self.len() / KEEP_ONE_OF);
            let rows = self.candidates(query, keep, filter);
            rows.into_iter().map(|row| self.hit(query, row)).collect()
        };
        best(hits, k)
    }

    /// As `top_k`, with the last few compared by their full values, which `exact` brings from the store. A slot it does
    /// not have keeps the score of its codes.
    pub fn top_k_exact(
        &self,
        query: &Embedding,
        k: usize,
        filter: &dyn Fn(u32) -> bool,
        exact: &mut dyn FnMut(u32) -> Option<Embedding>,
    ) -> Vec<Hit> {
        let wide = if k == 0 { 0 } else { k.saturating_mul(FINAL_EACH).max(FINAL) };
        let mut hits = self.top_k(query, wide, filter);
        for hit in &mut hits {
            if let Some(full) = exact(hit.slot) {
                hit.score = query.dot(&full);
            }
        }
        best(hits, k)
    }

    /// Rows the filter accepts whose sketch is within the smallest distance that leaves at least `keep` of them.
    ///
    /// The filter is the caller's and may be slow, so it is asked in rings of growing distance and not for every row.
    fn candidates(
        &self,
        query: &Embedding,
        keep: usize,
        filter: &dyn Fn(u32) -> bool,
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
                ring.filter(|(row, _)| filter(self.slots[*row]))
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

    fn hit(&self, query: &Embedding, row: usize) -> Hit {
        let codes = &self.levels[row * self.dims..(row + 1) * self.dims];
        // At most |query| * |codes| = 2^15 * 127 * sqrt(512): within i32.
        let dot: i32 =
            query.values().iter().zip(codes).map(|(&q, &c)| i32::from(q) * i32::from(c)).sum();
        Hit {
            slot: self.slots[row],
            score: rounded(i64::from(dot) * i64::from(self.scales[row]), LEVELS),
        }
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

/// Divides, half away from zero, for a positive divisor.
fn rounded(value: i64, by: i64) -> i64 {
    (value + value.signum() * (by / 2)) / by
}

fn take_row<T: Copy>(column: &mut Vec<T>, row: usize, width: usize) {
    let last = column.len() - width;
    column.copy_within(last.., row * width);
    column.truncate(last);
}

fn best(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    let order = |hit: &Hit| (Reverse(hit.score), hit.slot);
    if k < hits.len() {
        hits.select_nth_unstable_by_key(k, order);
        hits.truncate(k);
    }
    hits.sort_unstable_by_key(order);
    hits
}

#[cfg(test)]
mod tests;
