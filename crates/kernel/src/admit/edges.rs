//! Admission of edges: both ends exist, none is the other, and nothing is journaled that changes nothing.

use proof::journal::{AddEdge, Payload, RemoveEdge};

use super::{Admission, AdmittedCommand, Situation};
use crate::command::{EdgeDraft, EdgeRemoval};
use crate::error::{Error, Result};
use crate::limits::{EDGE_WEIGHT_MAX, EDGES_PER_MEMORY_MAX};
use crate::validate::check_reason;

pub(super) fn add(situation: &Situation<'_>, draft: &EdgeDraft) -> Result<AdmittedCommand> {
    if draft.src == draft.dst {
        return Err(Error::SelfEdge(draft.src.get()));
    }
    if draft.weight > EDGE_WEIGHT_MAX {
        return Err(Error::invalid("weight", "must lie between 0 and 10"));
    }
    for end in [draft.src, draft.dst] {
        let head = situation.view.required_head(end)?;
        if head.erased {
            return Err(Error::Erased(end.get()));
        }
        if head.tombstone.is_some() {
            return Err(Error::Tombstoned(end.get()));
        }
    }
    match situation.view.edge(draft.src, draft.relation, draft.dst)? {
        Some(edge) if edge.weight == draft.weight => return Ok(AdmittedCommand::unchanged()),
        Some(_) => {}
        None => {
            let out = situation.view.usage(draft.src)?.edges_out;
            let back = situation.view.usage(draft.dst)?.edges_in;
            if out.max(back) >= EDGES_PER_MEMORY_MAX {
                let max = EDGES_PER_MEMORY_MAX as usize;
                return Err(Error::TooMany { field: "edges", count: max + 1, max });
            }
        }
    }
    let payload = Payload::AddEdge(AddEdge {
        src: draft.src,
        relation: draft.relation,
        dst: draft.dst,
        weight: draft.weight,
    });
    Ok(AdmittedCommand { id: Some(draft.src), ..AdmittedCommand::one(Admission::plain(payload)) })
}

pub(super) fn remove(situation: &Situation<'_>, removal: &EdgeRemoval) -> Result<AdmittedCommand> {
    check_reason(&removal.reason)?;
    if situation.view.edge(removal.src, removal.relation, removal.dst)?.is_none() {
        let edge = format!("{} {} {}", removal.src, removal.relation.name(), removal.dst);
        return Err(Error::not_found("edge", edge));
    }
    let payload = Payload::RemoveEdge(RemoveEdge {
        src: removal.src,
        relation: removal.relation,
        dst: removal.dst,
        reason: removal.reason.clone(),
    });
    Ok(AdmittedCommand { id: Some(removal.src), ..AdmittedCommand::one(Admission::plain(payload)) })
}
