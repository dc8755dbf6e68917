//! `cortex ledger status` and `nodes`.

use serde_json::{Value, json};

use crate::failure::CommandResult;
use crate::output::{Output, plain};
use crate::wiring::ledger::{OpenLedger, Peer};

pub(super) fn status(ledger: &OpenLedger, out: &mut Output) -> CommandResult {
    let state = ledger.state()?;
    let micros = u64::try_from(state.commit.as_micros()).unwrap_or(u64::MAX);
    let nodes: Vec<Value> = views(ledger)?;
    let alive = state.nodes.iter().filter(|node| node.is_alive).count();
    if out.is_json() {
        return out.object(&json!({
            "ledger": state.place, "version": state.version,
            "commit_ms": micros / 1_000, "commit_micros": micros,
            "actors": state.actors, "nodes": nodes,
        }));
    }
    out.line(format_args!(
        "{} answers: version {}, one commit takes {}.{} ms",
        plain(&state.place),
        state.version,
        micros / 1_000,
        micros % 1_000 / 100
    ))?;
    out.line(format_args!("{} actors, {alive} of {} nodes are there", state.actors, nodes.len()))?;
    lines(&nodes, out)
}

pub(super) fn nodes(ledger: &OpenLedger, out: &mut Output) -> CommandResult {
    let nodes = views(ledger)?;
    if out.is_json() {
        return out.object(&Value::Array(nodes));
    }
    if nodes.is_empty() {
        return out
            .line("no node was there in the last day; `cortex serve --ledger URL` starts one");
    }
    lines(&nodes, out)
}

fn views(ledger: &OpenLedger) -> CommandResult<Vec<Value>> {
    let view = |node: Peer| {
        json!({
            "name": node.name, "url": node.url, "alive": node.is_alive,
            "seen_ms_ago": node.seen_ms_ago, "version": node.version,
            "open_actors": node.actors, "lag": node.lag,
        })
    };
    Ok(ledger.nodes()?.into_iter().map(view).collect())
}

fn lines(nodes: &[Value], out: &mut Output) -> CommandResult {
    for node in nodes {
        let state = if node["alive"] == true { "there" } else { "gone" };
        let text = |name: &str| plain(node[name].as_str().unwrap_or_default());
        out.line(format_args!(
            "  {:<28} {state:<6} {:<32} {}  {} open, {} behind, seen {} ms ago",
            text("name"),
            text("url"),
            text("version"),
            node["open_actors"],
            node["lag"],
            node["seen_ms_ago"],
        ))?;
    }
    Ok(())
}
