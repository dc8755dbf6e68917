//! `cortex graph`: what a memory is connected to.

use std::collections::{BTreeMap, BTreeSet};

use api::graph::{GraphAnswer, GraphRequest, NodeView};
use api::memory::EdgeView;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::wiring::words::MemoryRef;

/// Shows what a memory is connected to, as a tree.
///
/// JSON: {id, depth, start, nodes: [{id, hop, title, type, memory_type, uri, project, preview, text, superseded}],
/// edges: [{id, from_obs_id, to_obs_id, relation_type, weight, created_at, by}], capped}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex graph 12
  cortex graph 12 --depth 3 --direction both --relation supersedes,caused_by")]
pub(crate) struct GraphArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// Steps from the memory, 1 to 10
    #[arg(long, value_name = "N", default_value_t = 2)]
    depth: u32,
    /// out, in or both
    #[arg(long, default_value = "both")]
    direction: String,
    /// Only along this relation; repeat or separate with commas
    #[arg(long = "relation", value_name = "RELATION", value_delimiter = ',')]
    relations: Vec<String>,
    /// Through forgotten memories too
    #[arg(long)]
    forgotten: bool,
}

pub(crate) fn run(args: &GraphArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = GraphRequest {
        id: args.memory.of(inv.actor())?.get(),
        depth: Some(args.depth),
        relations: args.relations.clone(),
        direction: Some(args.direction.clone()),
        include_forgotten: args.forgotten,
    };
    let answer = inv.ask(request)?;
    if out.is_json() {
        return out.object(&answer);
    }
    tree(&answer, out)?;
    out.flush()?;
    if answer.capped {
        out.say("there is more than is shown; walk fewer steps or along fewer relations");
    }
    Ok(())
}

/// Each memory hangs once, below the first one that leads to it; further edges to it are named, not followed.
fn tree(answer: &GraphAnswer, out: &mut Output) -> CommandResult {
    let nodes = std::iter::once(&answer.start).chain(&answer.nodes);
    let by_id: BTreeMap<u64, &NodeView> = nodes.map(|node| (node.id, node)).collect();
    let mut stack = vec![(answer.id, None::<&EdgeView>, 0_usize)];
    let mut hung = BTreeSet::new();
    while let Some((id, edge, depth)) = stack.pop() {
        let Some(node) = by_id.get(&id) else { continue };
        let first = hung.insert(id);
        let arrow = match edge {
            None => String::new(),
            Some(edge) if edge.to_obs_id == id => format!("-{}-> ", edge.relation_type),
            Some(edge) => format!("<-{}- ", edge.relation_type),
        };
        let again = if first { "" } else { " (above)" };
        let (indent, kind, text) = ("   ".repeat(depth), &node.memory_type, plain(&node.text));
        out.line(format_args!("{indent}{arrow}{id} {kind} {text}{again}"))?;
        if !first {
            continue;
        }
        let mut next = Vec::new();
        for edge in &answer.edges {
            let far = if edge.from_obs_id == id { edge.to_obs_id } else { edge.from_obs_id };
            let touches = edge.from_obs_id == id || edge.to_obs_id == id;
            // Only downwards: an edge back to where we came from, or sideways, is shown from its nearer end.
            if touches && by_id.get(&far).is_some_and(|other| other.hop > node.hop) {
                next.push((far, Some(edge), depth + 1));
            }
        }
        stack.extend(next.into_iter().rev());
    }
    Ok(())
}
