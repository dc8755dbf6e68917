//! `cortex graph`: what a memory is connected to.

use std::collections::BTreeMap;

use clap::Args;
use kernel::forms::{self, Form};
use kernel::graph::{Direction, Walk, Walked};
use kernel::memory::{Edge, MemoryId, Relation};
use kernel::scope::Operation;
use kernel::{Error, Reading};
use serde::Serialize;

use super::failure::Outcome;
use super::open::{Invocation, request_digest};
use super::output::{Output, plain};
use super::parse::MemoryRef;
use super::views::EdgeView;

/// Shows what a memory is connected to, as a tree.
///
/// JSON: {from, nodes: [{id, uri, hop, type, text}], edges: [{src, relation, dst, weight, by, at, seq}], capped}
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

#[derive(Debug, Serialize)]
struct GraphView {
    from: u64,
    nodes: Vec<NodeView>,
    edges: Vec<EdgeView>,
    capped: bool,
}

#[derive(Debug, Serialize)]
struct NodeView {
    id: u64,
    uri: String,
    hop: u32,
    #[serde(rename = "type")]
    memory_type: &'static str,
    text: String,
}

pub(crate) fn run(args: &GraphArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let cortex = inv.existing()?;
    let from = args.memory.of(inv.actor())?;
    let mut walk = Walk::new(from, Direction::parse(&args.direction)?, args.depth);
    walk.relations =
        args.relations.iter().map(|name| Relation::parse(name)).collect::<kernel::Result<_>>()?;
    walk.include_forgotten = args.forgotten;
    let asked = format!("{args:?}");
    let digest = request_digest(&[b"graph", asked.as_bytes()]);
    let now = inv.now()?;
    let authority = inv.authority(&cortex, Operation::Graph, digest)?;
    let walked = match &authority {
        Some(authority) => cortex.walk_for(authority, &walk, now)?,
        None => cortex.read()?.walk(None, &walk, now)?,
    };
    let reading = cortex.read()?;
    let mut nodes = vec![node(&reading, from, 0)?];
    for reached in &walked.nodes {
        nodes.push(node(&reading, reached.id, reached.hop)?);
    }
    if out.is_json() {
        let edges = walked.edges.iter().map(EdgeView::from).collect();
        let capped = walked.capped;
        return out.object(&GraphView { from: from.get(), nodes, edges, capped });
    }
    tree(from, &nodes, &walked, out)?;
    out.flush()?;
    if walked.capped {
        out.say("there is more than is shown; walk fewer steps or along fewer relations");
    }
    Ok(())
}

fn node(reading: &Reading, id: MemoryId, hop: u32) -> Outcome<NodeView> {
    let view = reading.view();
    let head = view.required_head(id)?;
    let version = view.required_version(id, head.version)?;
    let text = forms::render(&head, &version, view.body(&version)?.as_ref(), Form::Short);
    let uri = reading.uri(&head, head.version).to_string();
    Ok(NodeView { id: id.get(), uri, hop, memory_type: head.memory_type.name(), text })
}

/// Each memory hangs once, below the first one that leads to it; further edges to it are named, not followed.
fn tree(from: MemoryId, nodes: &[NodeView], walked: &Walked, out: &mut Output) -> Outcome {
    let by_id: BTreeMap<u64, &NodeView> = nodes.iter().map(|node| (node.id, node)).collect();
    let mut stack = vec![(from.get(), None::<&Edge>, 0_usize)];
    let mut hung = std::collections::BTreeSet::new();
    while let Some((id, edge, depth)) = stack.pop() {
        let Some(node) = by_id.get(&id) else {
            return Err(Error::not_found("memory", id).into());
        };
        let first = hung.insert(id);
        let arrow = match edge {
            None => String::new(),
            Some(edge) if edge.dst.get() == id => format!("-{}-> ", edge.relation.name()),
            Some(edge) => format!("<-{}- ", edge.relation.name()),
        };
        let again = if first { "" } else { " (above)" };
        out.line(format_args!(
            "{}{arrow}{id} {} {}{again}",
            "   ".repeat(depth),
            node.memory_type,
            plain(&node.text),
        ))?;
        if !first {
            continue;
        }
        let mut next = Vec::new();
        for edge in &walked.edges {
            let far = if edge.src.get() == id { edge.dst.get() } else { edge.src.get() };
            let touches = edge.src.get() == id || edge.dst.get() == id;
            // Only downwards: an edge back to where we came from, or sideways, is shown from its nearer end.
            if touches && by_id.get(&far).is_some_and(|other| other.hop > node.hop) {
                next.push((far, Some(edge), depth + 1));
            }
        }
        stack.extend(next.into_iter().rev());
    }
    Ok(())
}
