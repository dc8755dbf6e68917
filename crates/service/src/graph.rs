//! Edges between memories, and walks along them.

use api::graph::{
    GraphAnswer, GraphRequest, NodeView, RelateAnswer, RelateRequest, UnrelateAnswer,
    UnrelateRequest,
};
use kernel::Reading;
use kernel::command::{Command, EdgeDraft, EdgeRemoval};
use kernel::context::RuleAuthors;
use kernel::grants::Permission;
use kernel::graph::{Direction, Walk};
use kernel::journal::Payload;
use kernel::memory::{Head, Relation};
use kernel::render::{self, Form};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::read::memory_id;
use crate::{Service, views};

/// The largest weight of an edge.
const WEIGHT_MAX: f64 = 10.0;

/// Characters shown of each memory on the way.
const NODE_CHARS: usize = 80;

/// The relation by its name; others are refused with the list.
fn relation(name: &str) -> Result<Relation> {
    let known = || Relation::ALL.iter().map(|r| r.name()).collect::<Vec<_>>().join(", ");
    if name.trim().is_empty() {
        return Err(Error::invalid("relation_type", format!("is required: one of {}", known())));
    }
    Relation::parse(name.trim()).map_err(|_| {
        let shown: String = name.chars().take(64).collect();
        Error::invalid("relation_type", format!("{shown:?} is not one of {}", known()))
    })
}

fn weight_ppm(weight: f64) -> Result<u32> {
    if !(weight > 0.0 && weight <= WEIGHT_MAX) {
        return Err(Error::invalid("weight", "must lie above 0 and at most at 10"));
    }
    // In range, so neither sign nor size can be lost.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok((weight * 1_000_000.0).round() as u32)
}

impl Service {
    pub fn relate(&self, caller: &Caller, request: RelateRequest) -> Result<RelateAnswer> {
        let draft = EdgeDraft {
            src: memory_id(request.from_obs_id)?,
            relation: relation(&request.relation_type)?,
            dst: memory_id(request.to_obs_id)?,
            weight: weight_ppm(request.weight.unwrap_or(1.0))?,
        };
        let (src, kind, dst) = (draft.src, draft.relation, draft.dst);
        let cortex = self.opened(caller)?;
        let receipt = self.change(caller, &cortex, Command::AddEdge(draft), Permission::Edge)?;
        let reading = cortex.read()?;
        let edge = reading.view().edge(src, kind, dst)?;
        let edge = edge.ok_or_else(|| Error::missing("edge", receipt.seq))?;
        Ok(RelateAnswer {
            edge: crate::views::edge_view(&edge),
            seq: receipt.seq,
            at: receipt.at.rfc3339(),
            changed: receipt.changed,
        })
    }

    /// Takes an edge away: the one that an entry made, or the one between two memories.
    pub fn unrelate(&self, caller: &Caller, request: UnrelateRequest) -> Result<UnrelateAnswer> {
        let (src, relation, dst) = if request.edge_id == 0 {
            let ends = (memory_id(request.from_obs_id)?, memory_id(request.to_obs_id)?);
            (ends.0, relation(&request.relation_type)?, ends.1)
        } else {
            let (_, reading) = self.reading(caller)?;
            let missing = || Error::missing("edge", request.edge_id);
            let entry = reading.view().entry(request.edge_id)?.ok_or_else(missing)?;
            let Payload::AddEdge(made) = entry.payload()? else { return Err(missing()) };
            if reading.view().edge(made.src, made.relation, made.dst)?.is_none() {
                return Err(missing());
            }
            (made.src, made.relation, made.dst)
        };
        let cortex = self.opened(caller)?;
        let reason = request.reason.unwrap_or_else(|| "removed".to_owned());
        let command = Command::RemoveEdge(EdgeRemoval { src, relation, dst, reason });
        let receipt = self.change(caller, &cortex, command, Permission::Edge)?;
        Ok(UnrelateAnswer {
            edge_id: request.edge_id,
            from_obs_id: src.get(),
            to_obs_id: dst.get(),
            relation_type: relation.name().to_owned(),
            seq: receipt.seq,
            at: receipt.at.rfc3339(),
            changed: receipt.changed,
        })
    }

    /// What a memory is connected to, either way, by distance.
    pub fn graph(&self, caller: &Caller, request: GraphRequest) -> Result<GraphAnswer> {
        let from = memory_id(request.id)?;
        let depth = request.depth.unwrap_or(1);
        if !(1..=kernel::limits::WALK_DEPTH_MAX).contains(&depth) {
            let most = kernel::limits::WALK_DEPTH_MAX;
            return Err(Error::invalid("depth", format!("must be between 1 and {most}")));
        }
        let direction = request.direction.as_deref().map(Direction::parse).transpose()?;
        let mut walk = Walk::new(from, direction.unwrap_or(Direction::Both), depth);
        walk.relations =
            request.relations.iter().map(|name| relation(name)).collect::<Result<_>>()?;
        walk.include_forgotten = request.include_forgotten;
        let access = self.access(caller, Permission::Graph, &request)?;
        let (reading, now) = (&access.reading, caller.now()?);
        let walked = match &access.authority {
            Some(authority) => access.cortex.walk_for(authority, &walk, now)?,
            None => reading.walk(None, &walk, now)?,
        };
        let view = reading.view();
        let start = node(reading, &view.required_head(from)?, 0)?;
        let mut nodes = Vec::new();
        let mut shown = std::collections::BTreeSet::from([from]);
        for reached in &walked.nodes {
            let head = view.required_head(reached.id)?;
            if views::is_live(&head) || request.include_forgotten {
                shown.insert(reached.id);
                nodes.push(node(reading, &head, reached.hop)?);
            }
        }
        let edges = walked
            .edges
            .iter()
            .filter(|edge| shown.contains(&edge.src) && shown.contains(&edge.dst))
            .map(crate::views::edge_view)
            .collect();
        Ok(GraphAnswer { id: from.get(), depth, start, nodes, edges, capped: walked.capped })
    }
}

fn node(reading: &Reading, head: &Head, hop: u32) -> Result<NodeView> {
    let view = reading.view();
    let version = view.required_version(head.id, head.version)?;
    let text = render::render(head, &version, view.body(&version)?.as_ref(), Form::Short);
    let brief = views::brief(reading, head, NODE_CHARS, RuleAuthors::Persons)?;
    Ok(NodeView {
        id: brief.id,
        hop,
        title: brief.title,
        kind: brief.kind,
        memory_type: head.memory_type.name().to_owned(),
        created_at: brief.created_at,
        uri: reading.uri(head, head.version).to_string(),
        project: brief.project,
        preview: brief.preview,
        text,
        superseded: brief.superseded,
    })
}
