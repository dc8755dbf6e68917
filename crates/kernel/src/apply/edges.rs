//! Effects on edges: both ends, the counts each end keeps, the leaf.

use proof::journal::{AddEdge, RemoveEdge};
use proof::memory::{Edge, MemoryId, Relation, Usage};

use super::{About, EdgeChange, Step};
use crate::error::Result;
use crate::keys;

pub(super) fn add(step: &mut Step<'_>, p: &AddEdge) -> Result<About> {
    let edge = Edge {
        src: p.src,
        relation: p.relation,
        dst: p.dst,
        weight: p.weight,
        by: step.entry.by.clone(),
        at: step.entry.at,
        seq: step.entry.seq,
    };
    // An edge that is there already only changes its weight.
    if step.view.edge(p.src, p.relation, p.dst)?.is_none() {
        step.mark(keys::edge_in(p.dst, p.relation, p.src));
        step.counters.edges += 1;
        count_ends(step, p.src, p.relation, p.dst, 1)?;
    }
    step.put(keys::edge_out(p.src, p.relation, p.dst), &edge);
    step.changes.edges.push(EdgeChange {
        src: p.src,
        relation: p.relation,
        dst: p.dst,
        leaf: Some(edge.leaf_hash()),
    });
    Ok(About { id: Some(p.src), version: None })
}

pub(super) fn remove(step: &mut Step<'_>, p: &RemoveEdge) -> Result<About> {
    if step.view.edge(p.src, p.relation, p.dst)?.is_none() {
        return Err(step.damaged("the edge it removes is not there"));
    }
    step.delete(keys::edge_out(p.src, p.relation, p.dst));
    step.delete(keys::edge_in(p.dst, p.relation, p.src));
    step.counters.edges = step.counters.edges.saturating_sub(1);
    count_ends(step, p.src, p.relation, p.dst, -1)?;
    step.changes.edges.push(EdgeChange {
        src: p.src,
        relation: p.relation,
        dst: p.dst,
        leaf: None,
    });
    Ok(About { id: Some(p.src), version: None })
}

fn count_ends(
    step: &mut Step<'_>,
    src: MemoryId,
    relation: Relation,
    dst: MemoryId,
    change: i32,
) -> Result<()> {
    let add = |n: &mut u32| *n = n.saturating_add_signed(change);
    let mut from: Usage = step.view.usage(src)?;
    let mut to: Usage = step.view.usage(dst)?;
    add(&mut from.edges_out);
    add(&mut to.edges_in);
    match relation {
        // What a forgotten memory supersedes is not superseded; see `memories::step_superseded`.
        Relation::Supersedes if step.view.required_head(src)?.tombstone.is_none() => {
            add(&mut to.superseded);
        }
        Relation::Contradicts => {
            add(&mut from.contradicted);
            add(&mut to.contradicted);
        }
        _ => {}
    }
    step.put(keys::usage(src), &from);
    step.put(keys::usage(dst), &to);
    Ok(())
}
