//! Walks along edges: breadth first, each memory once, within bounds that are reported when hit.
//!
//! The gate is asked while walking. A memory it does not see is not returned, not walked through, and not told from one
//! that does not exist: two memories connected only through it are not connected. Forgotten memories are the same
//! unless asked for.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use minicbor::{Decode, Encode};
use proof::memory::{Edge, MemoryId, Millis, Relation};

use crate::error::{Error, Result};
use crate::grants::Gate;
use crate::keys;
use crate::limits::{WALK_DEPTH_MAX, WALK_EDGES_MAX, WALK_NODES_MAX};
use crate::rows::{MemoryReader, Standing};
use crate::store::{KeyRange, View};
use crate::validate::check_at_most;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Direction {
    /// From source to target.
    #[default]
    #[n(1)]
    Out,
    #[n(2)]
    In,
    #[n(3)]
    Both,
}

impl Direction {
    pub fn parse(text: &str) -> Result<Direction> {
        match text {
            "out" => Ok(Direction::Out),
            "in" => Ok(Direction::In),
            "both" => Ok(Direction::Both),
            _ => Err(Error::invalid("direction", "use out, in or both")),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Walk {
    #[n(0)]
    pub from: MemoryId,
    /// Any if empty.
    #[n(1)]
    pub relations: Vec<Relation>,
    #[n(2)]
    pub direction: Direction,
    /// From 1 to `WALK_DEPTH_MAX`.
    #[n(3)]
    pub depth: u32,
    /// Memories to reach at most; the kernel's own limit if absent.
    #[n(4)]
    pub nodes_max: Option<u32>,
    /// Edges to read at most; the kernel's own limit if absent.
    #[n(5)]
    pub edges_max: Option<u32>,
    /// Through what is forgotten or archived, too.
    #[n(6)]
    pub include_forgotten: bool,
}

impl Walk {
    pub fn new(from: MemoryId, direction: Direction, depth: u32) -> Walk {
        Walk {
            from,
            relations: Vec::new(),
            direction,
            depth,
            nodes_max: None,
            edges_max: None,
            include_forgotten: false,
        }
    }

    fn check(&self) -> Result<()> {
        if self.depth == 0 {
            return Err(Error::invalid("depth", "must be at least 1"));
        }
        check_at_most("depth", Some(self.depth), WALK_DEPTH_MAX)?;
        check_at_most("nodes_max", self.nodes_max, WALK_NODES_MAX)?;
        check_at_most("edges_max", self.edges_max, WALK_EDGES_MAX)
    }
}

/// Where a walk came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkAnswer {
    /// By distance, then by id. The start is not among them.
    pub nodes: Vec<WalkNode>,
    /// Every edge between memories of the walk that was seen on the way, once.
    pub edges: Vec<Edge>,
    /// Something was left out because of a bound other than the depth.
    pub capped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkNode {
    pub id: MemoryId,
    /// Edges from the start, by the shortest way.
    pub hop: u32,
}

/// Walks from one memory. One that the gate does not see, or that is forgotten and not asked for, is not found.
pub fn walk(
    view: &View<'_>,
    gate: Option<&dyn Gate>,
    walk: &Walk,
    now: Millis,
) -> Result<WalkAnswer> {
    walk_with(&MemoryReader::new(view, gate, None, now)?, walk)
}

pub(crate) fn walk_with(memories: &MemoryReader<'_>, walk: &Walk) -> Result<WalkAnswer> {
    walk.check()?;
    if !passes(memories, walk, walk.from)? {
        return Err(Error::not_found("memory", walk.from));
    }
    let nodes_max = walk.nodes_max.unwrap_or(WALK_NODES_MAX) as usize;
    let mut edges_left = walk.edges_max.unwrap_or(WALK_EDGES_MAX) as usize;
    let mut walked = WalkAnswer::default();
    let mut edges: BTreeMap<(MemoryId, Relation, MemoryId), Edge> = BTreeMap::new();
    let mut known: BTreeMap<MemoryId, bool> = BTreeMap::from([(walk.from, true)]);
    let mut frontier = vec![walk.from];
    for hop in 1..=walk.depth {
        let mut reached = BTreeSet::new();
        for here in frontier {
            for (far, edge) in steps(memories, walk, here, &mut edges_left, &mut walked.capped)? {
                let passed = match known.get(&far) {
                    Some(passed) => *passed,
                    None if walked.nodes.len() + reached.len() == nodes_max => {
                        walked.capped = true;
                        continue;
                    }
                    None => {
                        let passed = passes(memories, walk, far)?;
                        known.insert(far, passed);
                        if passed {
                            reached.insert(far);
                        }
                        passed
                    }
                };
                if passed {
                    edges.insert((edge.src, edge.relation, edge.dst), edge);
                }
            }
        }
        walked.nodes.extend(reached.iter().map(|id| WalkNode { id: *id, hop }));
        frontier = reached.into_iter().collect();
    }
    walked.edges = edges.into_values().collect();
    Ok(walked)
}

/// There, seen and not put away.
fn passes(memories: &MemoryReader<'_>, walk: &Walk, id: MemoryId) -> Result<bool> {
    let Some(row) = memories.row(id)? else { return Ok(false) };
    let put_away = row.standing.is_forgotten() || row.standing == Standing::Archived;
    Ok(walk.include_forgotten || !put_away)
}

/// The edges that leave a memory in the walk's direction, in the order of their keys.
fn steps(
    memories: &MemoryReader<'_>,
    walk: &Walk,
    here: MemoryId,
    edges_left: &mut usize,
    capped: &mut bool,
) -> Result<Vec<(MemoryId, Edge)>> {
    let mut prefixes = Vec::new();
    let directions = [
        (Direction::In, false, keys::edges_out(here)),
        (Direction::Out, true, keys::edges_in(here)),
    ];
    for (other, incoming, prefix) in directions {
        if walk.direction == other {
            continue;
        }
        if walk.relations.is_empty() {
            prefixes.push((incoming, prefix));
        } else {
            let codes: BTreeSet<u8> = walk.relations.iter().map(|r| r.code()).collect();
            let of = |code: u8| [prefix.as_slice(), &[code]].concat();
            prefixes.extend(codes.into_iter().map(|code| (incoming, of(code))));
        }
    }
    let mut found = Vec::new();
    for (incoming, prefix) in prefixes {
        let mut ends = Vec::new();
        memories.view.scan(&KeyRange::prefix(&prefix), &mut |key, _| {
            if *edges_left == 0 {
                *capped = true;
                return Ok(ControlFlow::Break(()));
            }
            *edges_left -= 1;
            ends.push(keys::parse_edge(key).ok_or_else(|| {
                Error::corrupt(proof::digest::encode_hex(key), "not an edge key")
            })?);
            Ok(ControlFlow::Continue(()))
        })?;
        for (relation, far) in ends {
            let (src, dst) = if incoming { (far, here) } else { (here, far) };
            let edge = memories.view.edge(src, relation, dst)?.ok_or_else(|| {
                Error::corrupt(format!("edge {src} -> {dst}"), "only its far end is stored")
            })?;
            // An edge made after the moment asked about is not there yet.
            if memories.as_of.is_none_or(|t| edge.at <= t) {
                found.push((far, edge));
            }
        }
    }
    Ok(found)
}
