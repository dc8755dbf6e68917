//! Cold actors: begun from a checkpoint.

use std::path::Path;

use super::node::{Asked, Node, init};
use super::postgres::{Server, is_installed};
use super::service::{eventually, is_below, save};

/// A number that a node tells of itself.
fn metric(node: &Node, token: &str, name: &str) -> u64 {
    let text = node.get(token, "/metrics");
    let line = text.as_str().unwrap().lines().find(|line| line.starts_with(&format!("{name} ")));
    line.and_then(|line| line.rsplit_once(' ')).map_or(0, |(_, value)| value.parse().unwrap())
}

/// Size and root of a node's own copy.
fn own_root(node: &Node, token: &str, actor: &str) -> String {
    let headers = [("X-Cortex-At-Least", "1")];
    let path = "/api/root";
    let asked = Asked { path, token, actor: Some(actor), headers: &headers, ..Asked::default() };
    let reply = node.ask(&asked).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
    format!("{} {}", reply.body["size"], reply.body["root"])
}

fn checkpoints_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("ada")) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "checkpoint")).collect()
}

// cluster 9, 10, 11
#[test]
fn a_cold_actor_begins_from_a_checkpoint_unless_it_is_damaged_or_something_was_erased() {
    const SECRET: &str = "the keeper's second name";
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    let folder = tempfile::TempDir::new().unwrap();
    let place = folder.path().to_str().unwrap();
    let settings =
        [("CORTEX_LEDGER_CHECKPOINTS", place), ("CORTEX_LEDGER_CHECKPOINT_ENTRIES", "20")];
    let first = Node::start(&url, &settings);
    let secret = save(&first, &token, Some("ada"), SECRET, &[]).body["id"].as_u64().unwrap();
    for n in 0..24 {
        assert_eq!(save(&first, &token, Some("ada"), &format!("memory {n}"), &[]).status, 201);
    }
    eventually("there is no checkpoint", || !checkpoints_in(folder.path()).is_empty());
    assert!(is_below(folder.path(), SECRET.as_bytes()), "it holds what was saved");
    let second = Node::start(&url, &settings);
    let equal = |node: &Node| {
        eventually("roots differ", || {
            own_root(&first, &token, "ada") == own_root(node, &token, "ada")
        });
    };
    equal(&second);
    assert_eq!(metric(&second, &token, "cortex_ledger_checkpoints_taken_total"), 1);
    // A checkpoint in which a byte changed is of no use, and nothing else is wrong.
    let path = checkpoints_in(folder.path()).remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let third = Node::start(&url, &settings);
    equal(&third);
    assert_eq!(metric(&third, &token, "cortex_ledger_checkpoints_refused_total"), 1);
    let path = format!("/api/observations/{secret}?hard=true");
    let (method, actor) = ("DELETE", Some("ada"));
    let asked = Asked { method, path: &path, token: &token, actor, ..Asked::default() };
    let erased = second.ask(&asked).unwrap();
    assert!(erased.status < 300, "{}", erased.body);
    // Nobody packs anything now, so what is not there when it is acknowledged does not come back.
    eventually("a checkpoint holds it", || !is_below(folder.path(), SECRET.as_bytes()));
}
