//! Trees that compare whole numbers, packed.
//!
//! | bytes | what |
//! |---|---|
//! | 2 | count of trees, u16 |
//! | for each tree: 1 | count of nodes, u8, at most 127 |
//! | for each node: 1 + 4 + 1 + 1 | feature u8, threshold i32, where to go at or below it and above it, i8 each |
//! | 4 * (nodes + 1) | leaves, i32 each |
//!
//! A place from 0 on is a node behind this one, below 0 a leaf: -1 is the first. What must stay true: every way through
//! a tree ends, because a node leads only to nodes behind it.

use super::bytes::ModelBytes;
use super::features::{FEATURES, FeatureRow};

#[derive(Clone, Copy, Debug)]
struct Node {
    threshold: i32,
    feature: u8,
    /// Where to go at or below the threshold, and above it.
    next: [i8; 2],
}

#[derive(Debug)]
struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<i32>,
}

/// Trees whose leaves are added.
#[derive(Debug)]
pub(super) struct Trees(Vec<Tree>);

impl Trees {
    /// `None` if a tree is cut off, leads nowhere or looks at a feature that there is not.
    pub(super) fn parse(bytes: &mut ModelBytes<'_>) -> Option<Trees> {
        let count = bytes.u16()?;
        (0..count).map(|_| Tree::parse(bytes)).collect::<Option<_>>().map(Trees)
    }

    pub(super) fn sum(&self, signals: &FeatureRow) -> i64 {
        self.0.iter().map(|tree| i64::from(tree.leaf(signals))).sum()
    }

    /// The sums of many candidates: one tree after the other, so that each is fetched once.
    pub(super) fn sums(&self, candidates: &[FeatureRow]) -> Vec<i64> {
        let mut sums = vec![0; candidates.len()];
        for tree in &self.0 {
            for (sum, signals) in sums.iter_mut().zip(candidates) {
                *sum += i64::from(tree.leaf(signals));
            }
        }
        sums
    }

    /// The least and the most that a sum can be.
    pub(super) fn bounds(&self) -> (i64, i64) {
        let end = |of: fn(&[i32]) -> Option<i32>| -> i64 {
            self.0.iter().map(|tree| i64::from(of(&tree.leaves).unwrap_or(0))).sum()
        };
        (end(|leaves| leaves.iter().min().copied()), end(|leaves| leaves.iter().max().copied()))
    }
}

impl Tree {
    fn parse(bytes: &mut ModelBytes<'_>) -> Option<Tree> {
        let count = bytes.u8().filter(|count| *count <= 127)?;
        let mut nodes = Vec::with_capacity(count.into());
        for at in 0..count {
            let feature = bytes.u8()?;
            let threshold = bytes.i32()?;
            let next = [bytes.i8()?, bytes.i8()?];
            let leads = |place: i8| match u8::try_from(place) {
                Ok(node) => node > at && node < count,
                Err(_) => place.unsigned_abs() <= count + 1,
            };
            if usize::from(feature) >= FEATURES || !next.into_iter().all(leads) {
                return None;
            }
            nodes.push(Node { threshold, feature, next });
        }
        let leaves = (0..=count).map(|_| bytes.i32()).collect::<Option<_>>()?;
        Some(Tree { nodes, leaves })
    }

    fn leaf(&self, signals: &FeatureRow) -> i32 {
        let mut place = if self.nodes.is_empty() { -1 } else { 0 };
        while let Ok(at) = usize::try_from(place) {
            let Some(node) = self.nodes.get(at) else { return 0 };
            // Which way it goes cannot be foreseen, so it is looked up and not branched to.
            let above = signals.0[usize::from(node.feature)] > node.threshold;
            place = node.next[usize::from(above)];
        }
        self.leaves.get(usize::from(place.unsigned_abs()) - 1).copied().unwrap_or(0)
    }
}
