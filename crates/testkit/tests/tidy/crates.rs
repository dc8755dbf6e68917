//! Who may depend on whom.
//!
//! The workspace's own edges point one way, the deterministic crates stay free of async runtimes and network code, the
//! vocabulary has no I/O, and nothing comes from a git repository. The rules are data in `edges`; `violations` checks
//! them on any graph, so the tests below first show on made-up graphs that a broken rule is noticed, and then check the
//! real one as `cargo metadata` tells it. A crate is called by its folder in `crates`, whatever its package is called.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::edges::{
    ALLOWED, ANY, DETERMINISTIC, DEV_ONLY, FORBIDDEN, OF_VOCABULARY, STORES, VOCABULARY,
};
use crate::metadata::{list, metadata, text};

#[derive(Clone, Debug, Default)]
struct Graph {
    /// What each package (by id) is called. Our own are called `crates/…`, so that none is mistaken for a crate of the
    /// registry with the same name, such as `http`.
    names: BTreeMap<String, String>,
    /// Normal and build dependencies between package ids. Build scripts run on the developer's machine and count too.
    needs: BTreeMap<String, BTreeSet<String>>,
    /// Packages of the graph that come from a git repository, and such requirements of our own crates.
    from_git: BTreeSet<String>,
}

/// The folder of one of our own crates.
fn own(name: &str) -> Option<&str> {
    name.strip_prefix("crates/")
}

/// Every broken rule, in words.
fn violations(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (id, name) in graph.names.iter().filter_map(|(id, name)| Some((id, own(name)?))) {
        found.extend(unwanted(graph, id, name));
        let Some((_, allowed)) = ALLOWED.iter().find(|(from, _)| *from == name) else {
            found.push(format!("{name} is not in the list of crates"));
            continue;
        };
        for needed in graph.needs.get(id).into_iter().flatten().map(|id| graph.names[id].as_str()) {
            match own(needed) {
                Some(DEV_ONLY) => {
                    found.push(format!("{name} needs {DEV_ONLY}, which is for tests only"));
                }
                Some(ours) if !allowed.contains(&ours) && !allowed.contains(&ANY) => {
                    found.push(format!("{name} may not depend on {ours}"));
                }
                None if name == VOCABULARY && !OF_VOCABULARY.contains(&needed) => {
                    found.push(format!("{name} is a vocabulary and may not depend on {needed}"));
                }
                _ => {}
            }
        }
    }
    found.extend(graph.from_git.iter().map(|package| format!("{package} comes from git")));
    found
}

/// What a crate reaches, however far, that it must not.
fn unwanted(graph: &Graph, id: &str, name: &str) -> Vec<String> {
    let (forbidden, stores): (BTreeSet<&str>, BTreeSet<&str>) = (FORBIDDEN.into(), STORES.into());
    let mut found = Vec::new();
    for (reached, path) in reachable(graph, id) {
        let reached = graph.names[&reached].as_str();
        if DETERMINISTIC.contains(&name) && forbidden.contains(reached) {
            found.push(format!("{name} must stay sync and offline, but {path}"));
        }
        if name == VOCABULARY && stores.contains(reached) {
            found.push(format!("{name} must not open anything, but {path}"));
        }
    }
    found
}

/// Everything a package needs, directly or not, with the way to it in words.
fn reachable(graph: &Graph, from: &str) -> BTreeMap<String, String> {
    let mut paths = BTreeMap::new();
    let mut open = vec![(from.to_owned(), graph.names[from].clone())];
    while let Some((id, path)) = open.pop() {
        for next in graph.needs.get(&id).into_iter().flatten() {
            if !paths.contains_key(next) && next != from {
                let path = format!("{path} -> {}", graph.names[next]);
                paths.insert(next.clone(), path.clone());
                open.push((next.clone(), path));
            }
        }
    }
    paths
}

/// Reads the graph that `cargo metadata` prints.
fn graph_of(metadata: &Value) -> Graph {
    let mut graph = Graph::default();
    let members: BTreeSet<String> = list(metadata, "workspace_members").iter().map(text).collect();
    for package in list(metadata, "packages") {
        let (id, mut name) = (text(&package["id"]), text(&package["name"]));
        let is_git = |source: &Value| source.as_str().is_some_and(|s| s.starts_with("git"));
        if is_git(&package["source"]) {
            graph.from_git.insert(name.clone());
        }
        if members.contains(&id) {
            let manifest = text(&package["manifest_path"]).replace('\\', "/");
            let folder =
                manifest.strip_suffix("/Cargo.toml").and_then(|path| path.rsplit('/').next());
            name =
                format!("crates/{}", folder.expect("a manifest lies in the folder of its crate"));
            // Requirements that the resolver did not pick (another platform, an unused feature) count as well.
            for needed in list(package, "dependencies").iter().filter(|d| is_git(&d["source"])) {
                graph.from_git.insert(format!("{} of {name}", text(&needed["name"])));
            }
        }
        graph.names.insert(id, name);
    }
    for node in list(&metadata["resolve"], "nodes") {
        let needs = graph.needs.entry(text(&node["id"])).or_default();
        for needed in list(node, "deps") {
            let only_dev = list(needed, "dep_kinds").iter().all(|kind| kind["kind"] == "dev");
            if !only_dev {
                needs.insert(text(&needed["pkg"]));
            }
        }
    }
    graph
}

#[test]
fn dependencies_point_one_way_and_the_kernel_stays_sync_and_offline() {
    let graph = graph_of(&metadata());
    let kernel =
        graph.names.iter().find(|(_, name)| *name == "crates/kernel").expect("it is a member").0;
    assert!(reachable(&graph, kernel).len() > 5, "the graph was read with its edges");
    assert_eq!(violations(&graph), Vec::<String>::new());
}

/// A graph from `a -> b` edges; the names of our own crates start with `crates/`.
fn made_up(edges: &[(&str, &str)]) -> Graph {
    let mut graph = Graph::default();
    for (from, to) in edges {
        for name in [from, to] {
            graph.names.insert((*name).to_owned(), (*name).to_owned());
        }
        graph.needs.entry((*from).to_owned()).or_default().insert((*to).to_owned());
    }
    graph
}

#[test]
fn the_edges_that_are_allowed_make_no_cycle() {
    let edges: Vec<(&str, &str)> =
        ALLOWED.iter().flat_map(|(from, all)| all.iter().map(move |to| (*from, *to))).collect();
    let graph = made_up(&edges);
    for (name, allowed) in ALLOWED {
        assert!(
            allowed.iter().all(|to| *to == ANY || ALLOWED.iter().any(|(from, _)| from == to)),
            "{name}"
        );
        let round = |to: &&&str| **to != ANY && reachable(&graph, to).contains_key(name);
        assert_eq!(allowed.iter().find(round), None, "{name} is reached by what it may use");
        // Who may use all of them must be used by nobody, or the star would close a cycle.
        let is_used = edges.iter().any(|(_, to)| *to == name);
        assert!(!(allowed.contains(&ANY) && is_used), "{name} may use all, and is used");
    }
}

#[test]
fn a_graph_that_keeps_the_rules_passes() {
    let graph = made_up(&[
        ("crates/cli", "crates/kernel"),
        ("crates/cli", "crates/http"),
        ("crates/cli", "tokio"),
        ("crates/mind", "crates/recall"),
        ("crates/recall", "crates/kernel"),
        ("crates/talents", "crates/llm"),
        ("crates/talents", "tokio"),
        ("crates/api", "serde"),
        ("crates/tui", "crates/api"),
        // A crate of the registry that is called like one of ours.
        ("crates/llm", "http"),
        ("crates/kernel", "redb"),
        ("redb", "libc"),
    ]);
    assert_eq!(violations(&graph), Vec::<String>::new());
}

#[test]
fn each_broken_rule_is_named() {
    let cases: [(&[(&str, &str)], &str); 12] = [
        (&[("crates/kernel", "tokio")], "crates/kernel -> tokio"),
        (
            &[("crates/kernel", "redb"), ("redb", "helper"), ("helper", "mio")],
            "crates/kernel -> redb -> helper -> mio",
        ),
        (
            &[("crates/recall", "crates/kernel"), ("crates/recall", "reqwest")],
            "crates/recall -> reqwest",
        ),
        (&[("crates/proof", "hyper")], "proof must stay sync and offline"),
        (&[("crates/kernel", "crates/recall")], "kernel may not depend on recall"),
        (&[("crates/mind", "crates/talents")], "mind may not depend on talents"),
        (&[("crates/tui", "crates/service")], "tui may not depend on service"),
        (&[("crates/api", "crates/kernel")], "api may not depend on kernel"),
        (&[("crates/api", "clap")], "api is a vocabulary and may not depend on clap"),
        (&[("crates/api", "serde"), ("serde", "redb")], "api must not open anything"),
        (&[("crates/new", "crates/kernel")], "new is not in the list of crates"),
        (&[("crates/cli", "crates/testkit")], "testkit, which is for tests only"),
    ];
    for (edges, expected) in cases {
        let found = violations(&made_up(edges));
        assert!(found.iter().any(|said| said.contains(expected)), "{edges:?}: {found:?}");
    }
}

#[test]
fn git_dependencies_are_seen_in_what_is_resolved_and_in_what_is_asked_for() {
    let metadata = serde_json::json!({
        "workspace_members": ["own"],
        "packages": [
            {"id": "own", "name": "cortex", "source": null, "manifest_path": "/r/crates/cli/Cargo.toml",
             "dependencies": [
                {"name": "optional", "source": "git+https://example.org/optional"},
                {"name": "plain", "source": "registry"},
            ]},
            {"id": "far", "name": "far", "source": "git+https://example.org/far", "dependencies": []},
        ],
        "resolve": {"nodes": [
            {"id": "own", "deps": [{"pkg": "far", "dep_kinds": [{"kind": null}]}]},
            {"id": "far", "deps": []},
        ]},
    });
    let found = violations(&graph_of(&metadata));
    assert_eq!(found, ["far comes from git", "optional of crates/cli comes from git"]);
}

#[test]
fn a_dev_dependency_is_no_dependency() {
    let package = |id: &str, folder: &str| {
        let manifest = format!("/r/crates/{folder}/Cargo.toml");
        serde_json::json!({"id": id, "name": id, "source": null, "manifest_path": manifest, "dependencies": []})
    };
    let metadata = |kind: Value| {
        serde_json::json!({
            "workspace_members": ["k", "t"],
            "packages": [package("k", "kernel"), package("t", "testkit")],
            "resolve": {"nodes": [
                {"id": "k", "deps": [{"pkg": "t", "dep_kinds": [{"kind": kind}]}]},
                {"id": "t", "deps": [{"pkg": "k", "dep_kinds": [{"kind": null}]}]},
            ]},
        })
    };
    assert_eq!(violations(&graph_of(&metadata("dev".into()))), Vec::<String>::new());
    assert_eq!(violations(&graph_of(&metadata(Value::Null))).len(), 1);
}
