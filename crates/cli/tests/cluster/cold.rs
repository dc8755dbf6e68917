//! Cold actors, begun from a checkpoint; copies that were damaged.

use std::path::Path;

use super::node::{Asked, Node, init};
use super::postgres::{Server, is_installed};
use super::service::{eventually, is_below, save};

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
    assert_eq!(second.metric(&token, "cortex_ledger_checkpoints_taken_total"), 1);
    // A checkpoint in which a byte changed is of no use, and nothing else is wrong.
    let path = checkpoints_in(folder.path()).remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let third = Node::start(&url, &settings);
    equal(&third);
    assert_eq!(third.metric(&token, "cortex_ledger_checkpoints_refused_total"), 1);
    let path = format!("/api/observations/{secret}?hard=true");
    let (method, actor) = ("DELETE", Some("ada"));
    let asked = Asked { method, path: &path, token: &token, actor, ..Asked::default() };
    let erased = second.ask(&asked).unwrap();
    assert!(erased.status < 300, "{}", erased.body);
    // Nobody packs anything now, so what is not there when it is acknowledged does not come back.
    eventually("a checkpoint holds it", || !is_below(folder.path(), SECRET.as_bytes()));
}

/// The files of a node's own copy that hold anything of an actor.
fn copies_of(node: &Node, actor: &str) -> Vec<std::path::PathBuf> {
    let folder = node.home.path().join("ledger-cache/actors").join(actor);
    let segments = std::fs::read_dir(folder.join("ledger")).unwrap().flatten();
    let segments = segments.map(|entry| entry.path());
    let segments = segments.filter(|path| path.extension().is_some_and(|end| end == "log"));
    segments.chain([folder.join("derived.redb")]).collect()
}

/// Everything that a node's own copy of an actor holds once it has all entries up to `size`, as it is told.
fn own_memories(node: &Node, token: &str, actor: &str, size: &str) -> serde_json::Value {
    let headers = [("X-Cortex-At-Least", size)];
    let path = "/api/observations?limit=100";
    let asked = Asked { path, token, actor: Some(actor), headers: &headers, ..Asked::default() };
    let reply = node.ask(&asked).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
    let told = reply.body.as_array().unwrap().iter();
    told.map(|one| serde_json::json!([one["id"], one["title"], one["content"]])).collect()
}

// cluster 9
#[test]
fn a_copy_in_which_a_byte_changed_is_noticed_and_made_again() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    let sound = Node::start(&url, &[]);
    let mut damaged = Node::start(&url, &[]);
    let mut size = String::new();
    for n in 0..24 {
        let saved = save(&sound, &token, Some("ada"), &format!("memory {n}"), &[]);
        assert_eq!(saved.status, 201);
        size = saved.header("x-cortex-journal-size").expect("a node tells it").to_owned();
    }
    let whole = own_memories(&sound, &token, "ada", &size);
    assert_eq!(own_memories(&damaged, &token, "ada", &size), whole);
    for quarter in 1..4 {
        let count = copies_of(&damaged, "ada").len();
        assert!(count >= 2, "there is a copy");
        for n in 0..count {
            damaged.kill();
            let path = copies_of(&damaged, "ada").swap_remove(n);
            let mut bytes = std::fs::read(&path).unwrap();
            let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
            let at = (written * quarter / 4..=written).find(|at| bytes[*at] != 0).unwrap();
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            damaged.resume();
            let what = format!("byte {at} of {}", path.display());
            assert_eq!(own_memories(&damaged, &token, "ada", &size), whole, "{what}");
            eventually(&what, || {
                own_root(&sound, &token, "ada") == own_root(&damaged, &token, "ada")
            });
        }
    }
}
