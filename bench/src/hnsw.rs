//! A deterministic HNSW graph over the codes that the scan ranks: what a search would cost if it did not look at every sketch.
//!
//! Only here, to be compared with the scan: `docs/decisions.md` says why the product has none. The level of a node follows from
//! its number, nodes are inserted in order, ties go to the smaller number: the same vectors give the same graph. A filter
//! applies to what is found, not to where the walk leads, and the walk goes on until enough is found.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Neighbours of a node, and on the lowest level.
const M: usize = 16;
const M_LOWEST: usize = 2 * M;
/// Candidates looked at when a node is inserted.
const EF_BUILD: usize = 100;

/// Vectors as i8, each scaled by its largest component.
pub struct Vectors {
    dims: usize,
    levels: Vec<i8>,
    scales: Vec<i32>,
}

impl Vectors {
    pub fn new(dims: usize) -> Vectors {
        Vectors { dims, levels: Vec::new(), scales: Vec::new() }
    }

    pub fn push(&mut self, values: &[i16]) {
        let scale = values.iter().map(|v| i32::from(*v).abs()).max().unwrap_or(0).max(1);
        // Rounded as the scan's codes are, so that both rank by the same numbers.
        let level = |value: &i16| {
            let product = i32::from(*value) * 127;
            ((product + product.signum() * (scale / 2)) / scale) as i8
        };
        self.levels.extend(values.iter().map(level));
        self.scales.push(scale);
    }

    pub fn len(&self) -> usize {
        self.scales.len()
    }

    fn row(&self, n: u32) -> &[i8] {
        &self.levels[n as usize * self.dims..][..self.dims]
    }

    fn scale(&self, n: u32) -> i64 {
        i64::from(self.scales[n as usize])
    }

    /// How near two vectors are, as seen from the first.
    fn near(&self, a: u32, b: u32) -> i64 {
        let dot: i32 =
            self.row(a).iter().zip(self.row(b)).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        i64::from(dot) * self.scale(b)
    }

    fn near_query(&self, query: &[i16], n: u32) -> i64 {
        let dot: i32 =
            query.iter().zip(self.row(n)).map(|(&q, &c)| i32::from(q) * i32::from(c)).sum();
        i64::from(dot) * self.scale(n)
    }
}

/// Best is largest; among equals the smaller number.
type Ranked = (i64, Reverse<u32>);

pub struct Hnsw {
    /// By level, then by node; the upper levels are empty for most nodes.
    links: Vec<Vec<Vec<u32>>>,
    entry: Option<(u32, usize)>,
}

/// Marks nodes that a walk has seen, without clearing them each time.
#[derive(Default)]
pub struct Seen {
    marks: Vec<u32>,
    now: u32,
}

impl Seen {
    fn begin(&mut self, nodes: usize) {
        self.marks.resize(nodes, 0);
        self.now += 1;
    }

    fn first(&mut self, n: u32) -> bool {
        std::mem::replace(&mut self.marks[n as usize], self.now) != self.now
    }
}

/// One node in sixteen is on the next level.
fn level_of(n: u32) -> usize {
    let mut z = u64::from(n).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)).trailing_zeros() / 4).min(8) as usize
}

impl Hnsw {
    pub fn build(vectors: &Vectors) -> Hnsw {
        let mut graph = Hnsw { links: Vec::new(), entry: None };
        let mut seen = Seen::default();
        for n in 0..vectors.len() as u32 {
            graph.insert(vectors, n, &mut seen);
        }
        graph
    }

    fn insert(&mut self, vectors: &Vectors, n: u32, seen: &mut Seen) {
        let level = level_of(n);
        while self.links.len() <= level {
            self.links.push(Vec::new());
        }
        for links in &mut self.links {
            links.resize_with(n as usize + 1, Vec::new);
        }
        let Some((mut at, top)) = self.entry else {
            self.entry = Some((n, level));
            return;
        };
        let near = |other: u32| vectors.near(n, other);
        for upper in (level + 1..=top).rev() {
            at = self.climb(&near, at, upper);
        }
        for each in (0..=level.min(top)).rev() {
            let found = self.walk(&near, (at, each), EF_BUILD, &|_| true, seen);
            at = found.first().map_or(at, |(_, Reverse(best))| *best);
            let chosen = choose(vectors, n, &found, M);
            for &other in &chosen {
                self.link(vectors, other, n, each);
            }
            self.links[each][n as usize] = chosen;
        }
        if level > top {
            self.entry = Some((n, level));
        }
    }

    /// Adds a neighbour; one that has too many keeps the best chosen.
    fn link(&mut self, vectors: &Vectors, from: u32, to: u32, level: usize) {
        let most = if level == 0 { M_LOWEST } else { M };
        let links = &mut self.links[level][from as usize];
        links.push(to);
        if links.len() > most {
            let mut ranked: Vec<Ranked> =
                links.iter().map(|&other| (vectors.near(from, other), Reverse(other))).collect();
            ranked.sort_unstable_by(|a, b| b.cmp(a));
            self.links[level][from as usize] = choose(vectors, from, &ranked, most);
        }
    }

    /// The nearest node that can be reached by going uphill only.
    fn climb(&self, near: &dyn Fn(u32) -> i64, from: u32, level: usize) -> u32 {
        let mut best = (near(from), Reverse(from));
        loop {
            let links = self.links[level][best.1.0 as usize].iter();
            match links.map(|&other| (near(other), Reverse(other))).max() {
                Some(next) if next > best => best = next,
                _ => return best.1.0,
            }
        }
    }

    /// The nearest `ef` that the filter accepts, best first.
    fn walk(
        &self,
        near: &dyn Fn(u32) -> i64,
        (from, level): (u32, usize),
        ef: usize,
        filter: &dyn Fn(u32) -> bool,
        seen: &mut Seen,
    ) -> Vec<Ranked> {
        seen.begin(self.links[0].len());
        let start = (near(from), Reverse(from));
        seen.first(from);
        let mut open: BinaryHeap<Ranked> = BinaryHeap::from([start]);
        let mut found: BinaryHeap<Reverse<Ranked>> = BinaryHeap::new();
        if filter(from) {
            found.push(Reverse(start));
        }
        while let Some(next) = open.pop() {
            if found.len() >= ef && found.peek().is_some_and(|Reverse(worst)| next < *worst) {
                break;
            }
            for &other in &self.links[level][next.1.0 as usize] {
                if !seen.first(other) {
                    continue;
                }
                let ranked = (near(other), Reverse(other));
                if found.len() < ef || found.peek().is_some_and(|Reverse(worst)| ranked > *worst) {
                    open.push(ranked);
                    if filter(other) {
                        found.push(Reverse(ranked));
                        if found.len() > ef {
                            found.pop();
                        }
                    }
                }
            }
        }
        found.into_sorted_vec().into_iter().map(|Reverse(ranked)| ranked).collect()
    }

    /// The nearest `k` that the filter accepts, best first.
    pub fn search(
        &self,
        vectors: &Vectors,
        query: &[i16],
        (k, ef): (usize, usize),
        filter: &dyn Fn(u32) -> bool,
        seen: &mut Seen,
    ) -> Vec<u32> {
        let Some((mut at, top)) = self.entry else { return Vec::new() };
        let near = |n: u32| vectors.near_query(query, n);
        for level in (1..=top).rev() {
            at = self.climb(&near, at, level);
        }
        let found = self.walk(&near, (at, 0), ef.max(k), filter, seen);
        found.into_iter().take(k).map(|(_, Reverse(n))| n).collect()
    }

    /// Bytes the links would take as rows: a number for each.
    pub fn bytes(&self) -> usize {
        self.links.iter().flatten().map(|links| links.len() * 4 + 1).sum()
    }
}

/// Of candidates, best first, those that are nearer to the node than to one chosen before, then the best of the rest.
fn choose(vectors: &Vectors, node: u32, candidates: &[Ranked], most: usize) -> Vec<u32> {
    let (mut chosen, mut rest): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for &(near, Reverse(candidate)) in candidates {
        if chosen.len() == most {
            break;
        }
        let apart = |other: &u32| {
            vectors.near(*other, candidate) * vectors.scale(*other) < near * vectors.scale(node)
        };
        if chosen.iter().all(apart) { chosen.push(candidate) } else { rest.push(candidate) }
    }
    let missing = most - chosen.len();
    chosen.extend(rest.into_iter().take(missing));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall::embedding::{DIMS, Embedder, Embedding, StaticEmbedder};

    fn embeddings(count: u64) -> Vec<Embedding> {
        let corpus = crate::corpus::Corpus::new();
        let text = |n| corpus.memory(n).content;
        (0..count).map(|n| StaticEmbedder::shared().embed(&text(n))).collect()
    }

    fn vectors(all: &[Embedding]) -> Vectors {
        let mut vectors = Vectors::new(DIMS);
        all.iter().for_each(|e| vectors.push(e.values()));
        vectors
    }

    #[test]
    fn the_same_vectors_give_the_same_graph_and_filters_hold() {
        let all = embeddings(1_500);
        let vectors = vectors(&all);
        let (a, b) = (Hnsw::build(&vectors), Hnsw::build(&vectors));
        assert_eq!(a.links, b.links);
        let mut seen = Seen::default();
        let (mut right, mut wanted) = (0, 0);
        for question in all.iter().step_by(50) {
            // Few are allowed: the walk goes on until it has found them.
            let allowed = |n: u32| n.is_multiple_of(30);
            let found = a.search(&vectors, question.values(), (10, 200), &allowed, &mut seen);
            assert!(found.len() == 10 && found.iter().all(|n| allowed(*n)));
            let mut exact: Vec<i64> = all.iter().map(|other| question.dot(other)).collect();
            let scores = exact.clone();
            exact.sort_unstable_by(|a, b| b.cmp(a));
            let found = a.search(&vectors, question.values(), (10, 200), &|_| true, &mut seen);
            right += found.iter().filter(|n| scores[**n as usize] >= exact[9]).count();
            wanted += 10;
        }
        assert!(right * 100 >= wanted * 98, "{right} of {wanted}");
    }
}
