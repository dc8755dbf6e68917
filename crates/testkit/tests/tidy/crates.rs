//! Who may depend on whom.
//!
//! The deterministic crates stay free of async runtimes and network code, the workspace's own edges point one way, and
//! nothing comes from a git repository. The rules are data; `violations` checks them on any graph, so the tests below first
//! show on made-up graphs that a broken rule is noticed, and then check the real one as `cargo metadata` tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Crates that must answer the same today and in a year, on any machine: no runtime, no sockets.
const DETERMINISTIC: [&str; 3] = ["cortex-kernel", "cortex-recall", "cortex-mind"];

/// Crates that bring an async runtime, an executor, sockets, TLS or a network protocol.
const FORBIDDEN: [&str; 47] = [
    "actix-rt",
    "actix-web",
    "async-channel",
    "async-executor",
    "async-global-executor",
    "async-io",
    "async-nats",
    "async-net",
    "async-process",
    "async-std",
    "attohttpc",
    "axum",
    "curl",
    "embassy-executor",
    "futures-executor",
    "glommio",
    "h2",
    "h3",
    "hickory-resolver",
    "hyper",
    "hyper-util",
    "isahc",
    "mio",
    "monoio",
    "native-tls",
    "openssl",
    "openssl-sys",
    "polling",
    "quinn",
    "quinn-proto",
    "reqwest",
    "ring",
    "rmcp",
    "rustls",
    "smol",
    "socket2",
    "tiny_http",
    "tokio",
    "tokio-rustls",
    "tokio-stream",
    "tokio-tungstenite",
    "tokio-util",
    "tonic",
    "tower-http",
    "tungstenite",
    "ureq",
    "warp",
];

/// Normal and build dependencies between our own crates. What is not listed may depend on none of them.
const ALLOWED: [(&str, &[&str]); 6] = [
    ("cortex", &["cortex-kernel", "cortex-recall", "cortex-mind", "cortex-exec", "cortex-replica"]),
    ("cortex-mind", &["cortex-recall", "cortex-kernel"]),
    ("cortex-recall", &["cortex-kernel"]),
    ("cortex-exec", &["cortex-kernel"]),
    ("cortex-replica", &["cortex-kernel"]),
    // Test support may use what it supports; rule 3 says who may use test support.
    ("cortex-testkit", &["cortex-kernel", "cortex-recall", "cortex-mind", "cortex-exec"]),
];

/// Only a dev-dependency, of anyone.
const DEV_ONLY: &str = "cortex-testkit";

#[derive(Clone, Debug, Default)]
struct Graph {
    /// Names of our own crates.
    members: BTreeSet<String>,
    /// What each package (by id) is called.
    names: BTreeMap<String, String>,
    /// Normal and build dependencies between package ids. Build scripts run on the developer's machine and count too.
    needs: BTreeMap<String, BTreeSet<String>>,
    /// Packages of the graph that come from a git repository, and such requirements of our own crates.
    from_git: BTreeSet<String>,
}

/// Every broken rule, in words.
fn violations(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    let forbidden: BTreeSet<&str> = FORBIDDEN.into();
    for (id, name) in graph.names.iter().filter(|(_, name)| graph.members.contains(*name)) {
        if DETERMINISTIC.contains(&name.as_str()) {
            for (reached, path) in reachable(graph, id) {
                if forbidden.contains(graph.names[&reached].as_str()) {
                    found.push(format!("{name} must stay sync and offline, but {path}"));
                }
            }
        }
        let allowed = ALLOWED.iter().find(|(from, _)| from == name).map_or(&[][..], |(_, to)| to);
        for needed in graph.needs.get(id).into_iter().flatten().map(|id| &graph.names[id]) {
            if needed == DEV_ONLY {
                found.push(format!("{name} needs {needed}, which is for tests only"));
            } else if graph.members.contains(needed) && !allowed.contains(&needed.as_str()) {
                found.push(format!("{name} may not depend on {needed}"));
            }
        }
    }
    found.extend(graph.from_git.iter().map(|package| format!("{package} comes from git")));
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

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

/// Reads the graph that `cargo metadata` prints.
fn graph_of(metadata: &Value) -> Graph {
    let mut graph = Graph::default();
    let own: BTreeSet<String> = list(metadata, "workspace_members").iter().map(text).collect();
    for package in list(metadata, "packages") {
        let (id, name) = (text(&package["id"]), text(&package["name"]));
        let is_git = |source: &Value| source.as_str().is_some_and(|s| s.starts_with("git"));
        if is_git(&package["source"]) {
            graph.from_git.insert(name.clone());
        }
        if own.contains(&id) {
            // Requirements that the resolver did not pick (another platform, an unused feature) count as well.
            for needed in list(package, "dependencies").iter().filter(|d| is_git(&d["source"])) {
                graph.from_git.insert(format!("{} of {name}", text(&needed["name"])));
            }
            graph.members.insert(name.clone());
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

/// The graph for all platforms, or, when manifests of foreign platforms cannot be had (no network), for this one.
fn metadata() -> Value {
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs")
    };
    let base = ["metadata", "--format-version", "1", "--locked"];
    let mut answer = run(&base);
    if !answer.status.success() {
        let version = String::from_utf8(run(&["-vV"]).stdout).expect("cargo speaks UTF-8");
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.expect("cargo -vV names the host").to_owned();
        answer = run(&[&base[..], &["--offline", "--filter-platform", &host]].concat());
    }
    let complaint = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(answer.status.success(), "cargo metadata failed: {complaint}");
    serde_json::from_slice(&answer.stdout).expect("cargo metadata prints JSON")
}

#[test]
fn dependencies_point_one_way_and_the_kernel_stays_sync_and_offline() {
    let graph = graph_of(&metadata());
    assert!(graph.members.contains("cortex-kernel"), "the kernel is a member: {:?}", graph.members);
    let kernel = graph.names.iter().find(|(_, name)| *name == "cortex-kernel").expect("named").0;
    assert!(reachable(&graph, kernel).len() > 5, "the graph was read with its edges");
    assert_eq!(violations(&graph), Vec::<String>::new());
}

/// A graph from `a -> b` edges; names starting with `cortex` are our own.
fn made_up(edges: &[(&str, &str)]) -> Graph {
    let mut graph = Graph::default();
    for (from, to) in edges {
        for name in [from, to] {
            graph.names.insert((*name).to_owned(), (*name).to_owned());
            if name.starts_with("cortex") {
                graph.members.insert((*name).to_owned());
            }
        }
        graph.needs.entry((*from).to_owned()).or_default().insert((*to).to_owned());
    }
    graph
}

#[test]
fn a_graph_that_keeps_the_rules_passes() {
    let graph = made_up(&[
        ("cortex", "cortex-kernel"),
        ("cortex", "cortex-mind"),
        ("cortex", "tokio"),
        ("cortex-mind", "cortex-recall"),
        ("cortex-recall", "cortex-kernel"),
        ("cortex-exec", "cortex-kernel"),
        ("cortex-exec", "tokio"),
        ("cortex-kernel", "redb"),
        ("redb", "libc"),
    ]);
    assert_eq!(violations(&graph), Vec::<String>::new());
}

#[test]
fn each_broken_rule_is_named() {
    let cases: [(&[(&str, &str)], &str); 8] = [
        (&[("cortex-kernel", "tokio")], "cortex-kernel -> tokio"),
        (
            &[("cortex-kernel", "redb"), ("redb", "helper"), ("helper", "mio")],
            "cortex-kernel -> redb -> helper -> mio",
        ),
        (
            &[("cortex-recall", "cortex-kernel"), ("cortex-recall", "reqwest")],
            "cortex-recall -> reqwest",
        ),
        (&[("cortex-kernel", "cortex-recall")], "cortex-kernel may not depend on cortex-recall"),
        (&[("cortex-mind", "cortex-exec")], "cortex-mind may not depend on cortex-exec"),
        (&[("cortex-exec", "cortex-mind")], "cortex-exec may not depend on cortex-mind"),
        (&[("cortex-new", "cortex-kernel")], "cortex-new may not depend on cortex-kernel"),
        (&[("cortex", "cortex-testkit")], "cortex-testkit, which is for tests only"),
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
            {"id": "own", "name": "cortex", "source": null, "dependencies": [
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
    assert_eq!(found, ["far comes from git", "optional of cortex comes from git"]);
}

#[test]
fn a_dev_dependency_is_no_dependency() {
    let metadata = serde_json::json!({
        "workspace_members": ["k", "t"],
        "packages": [
            {"id": "k", "name": "cortex-kernel", "source": null, "dependencies": []},
            {"id": "t", "name": "cortex-testkit", "source": null, "dependencies": []},
        ],
        "resolve": {"nodes": [
            {"id": "k", "deps": [{"pkg": "t", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "t", "deps": [{"pkg": "k", "dep_kinds": [{"kind": null}]}]},
        ]},
    });
    assert_eq!(violations(&graph_of(&metadata)), Vec::<String>::new());
}
