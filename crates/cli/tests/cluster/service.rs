//! Two nodes on one server: one service.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::node::{Asked, Node, Reply, init, program, run};
use super::postgres::{Server, is_installed};
use super::proxy::Proxy;

/// How long something that happens by itself may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn save(
    node: &Node,
    token: &str,
    actor: Option<&str>,
    title: &str,
    headers: &[(&str, &str)],
) -> Reply {
    let body = json!({"title": title, "content": format!("what {title} says"), "type": "manual"});
    let (method, path) = ("POST", "/api/observations");
    let body = Some(&body);
    node.ask(&Asked { method, path, token, actor, headers, body, ..Asked::default() }).unwrap()
}

fn titles(found: &Value) -> Vec<&str> {
    let list = found.as_array().unwrap();
    list.iter().map(|one| one["title"].as_str().unwrap()).collect()
}

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

// cluster 1, 2, 8, 9, 15, 16
#[test]
fn what_is_saved_at_one_node_is_found_at_the_other_and_nobody_else_is_let_in() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let token = init(&server.url());
    let nodes = [Node::start(&server.url(), &[]), Node::start(&server.url(), &[])];
    let mut size = 0;
    for n in 0..6 {
        let saved = save(&nodes[n % 2], &token, None, &format!("memory {n}"), &[]);
        assert_eq!(saved.status, 201, "{}", saved.body);
        let seen: u64 = saved.header("x-cortex-journal-size").unwrap().parse().unwrap();
        assert!(seen > size, "{seen} after {size}");
        size = seen;
        let found = nodes[(n + 1) % 2].get(&token, "/api/observations?limit=20");
        assert!(titles(&found).contains(&&*format!("memory {n}")), "{found}");
    }
    // A follower that is told how much there must be shows at least that.
    for node in &nodes {
        let wanted = size.to_string();
        let headers = [("X-Cortex-At-Least", &*wanted)];
        let path = "/api/search?q=memory+5";
        let found = node
            .ask(&Asked { token: &token, path, headers: &headers, ..Asked::default() })
            .unwrap();
        assert_eq!(found.status, 200, "{}", found.body);
        assert!(found.body.to_string().contains("memory 5"), "{}", found.body);
        let headers = [("X-Cortex-At-Least", "1000000")];
        let behind = node
            .ask(&Asked { token: &token, path, headers: &headers, ..Asked::default() })
            .unwrap();
        assert_eq!((behind.status, &behind.body["code"]), (503, &json!("behind")));
    }
    // What was read is journaled now and then, so the size may change between the two.
    eventually("roots differ", || {
        let roots = nodes.each_ref().map(|node| node.get(&token, "/api/root"));
        roots[0]["size"] == roots[1]["size"] && roots[0]["root"] == roots[1]["root"]
    });
    for node in &nodes {
        for path in ["/api/observations", "/api/root", "/metrics", "/health", "/openapi.json", "/"]
        {
            for token in ["", "ct_wrong", "0000"] {
                let refused = node.ask(&Asked { token, path, ..Asked::default() }).unwrap();
                assert_eq!(refused.status, 401, "{path}");
                let said = refused.body.to_string();
                assert!(said.contains("cortex ledger token issue"), "{path}: {said}");
            }
        }
        let open = node.ask(&Asked { path: "/healthz", ..Asked::default() }).unwrap();
        assert_eq!(open.status, 200);
        // Whatever stands in front calls it by a name of its own.
        let named = |path, token| {
            let host = Some("cortex.example");
            node.ask(&Asked { path, token, host, ..Asked::default() }).unwrap().status
        };
        assert_eq!(named("/healthz", ""), 200, "a probe has no token");
        assert_eq!((named("/api/stats", &token), named("/api/stats", "")), (200, 421));
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let headers = [("Accept", "application/json, text/event-stream")];
        let (method, path, host) = ("POST", "/mcp", Some("cortex.example"));
        let (headers, body, actor) = (&headers[..], Some(&call), None);
        let asked = Asked { method, path, host, token: &token, actor, headers, body };
        let tools = node.ask(&asked).unwrap();
        assert!(tools.body.to_string().contains("mem_save"), "{}", tools.body);
        let metrics = node.get(&token, "/metrics");
        assert!(metrics.as_str().unwrap().contains("cortex_ledger_append_duration_seconds_count"));
        let forged = [("X-Cortex-Node", "61.0.00"), ("X-Cortex-Who", "administrator x *")];
        let path = "/api/root";
        let refused =
            node.ask(&Asked { token: "", path, headers: &forged, ..Asked::default() }).unwrap();
        assert_eq!(refused.status, 401, "{}", refused.body);
    }
    let status = run(&nodes[0].home, &["ledger", "status", "--ledger", &server.url()]);
    assert_eq!(status["nodes"].as_array().unwrap().len(), 2, "{status}");
}

// cluster 15
#[test]
fn a_token_of_one_actor_is_worth_nothing_for_another_and_nothing_once_it_is_revoked() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, admin) = (server.url(), init(&server.url()));
    let nodes = [Node::start(&url, &[]), Node::start(&url, &[])];
    let issued = run(&nodes[0].home, &["ledger", "token", "issue", "ada", "--ledger", &url]);
    let (token, id) = (issued["token"].as_str().unwrap(), issued["id"].as_str().unwrap());
    assert_eq!(save(&nodes[0], &admin, Some("bob"), "bob's", &[]).status, 201);
    assert_eq!(save(&nodes[0], token, None, "ada's", &[]).status, 201);
    for node in &nodes {
        let own =
            node.ask(&Asked { token, path: "/api/observations", ..Asked::default() }).unwrap();
        assert_eq!(titles(&own.body), ["ada's"]);
        let ask = |actor| {
            let path = "/api/observations";
            let asked = Asked { token, path, actor: Some(actor), ..Asked::default() };
            let reply = node.ask(&asked).unwrap();
            (reply.status, reply.body)
        };
        let there = ask("bob");
        assert_eq!(there.0, 403);
        assert_eq!(there, ask("nobody"), "whether an actor is there is not told");
        for path in ["/metrics", "/api/runs", "/api/events", "/api/channels", "/readyz"] {
            let refused = node.ask(&Asked { token, path, ..Asked::default() }).unwrap();
            assert_eq!(refused.status, 403, "{path}");
        }
    }
    // Both nodes have just let it in, and remember that.
    let asked = Asked { token, path: "/api/observations", ..Asked::default() };
    assert!(nodes.iter().all(|node| node.ask(&asked).unwrap().status == 200));
    run(&nodes[0].home, &["ledger", "token", "revoke", id, "--ledger", &url]);
    // A second is what is promised; it may be more, never less.
    std::thread::sleep(Duration::from_secs(1));
    for node in &nodes {
        let refused = node.ask(&asked).unwrap();
        assert_eq!(refused.status, 401, "a revoked token still counts: {}", refused.body);
    }
    let tokens = run(&nodes[0].home, &["ledger", "token", "list", "--ledger", &url]).to_string();
    assert!(!tokens.contains(token) && !String::from_utf8_lossy(&server.dump()).contains(token));
}

// cluster 3, 5
#[test]
fn of_two_that_expect_the_same_version_one_wins_and_a_repeated_key_does_nothing_twice() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let token = init(&server.url());
    let nodes = [Node::start(&server.url(), &[]), Node::start(&server.url(), &[])];
    let saved = save(&nodes[0], &token, None, "contested", &[]);
    let id = saved.body["id"].as_u64().unwrap();
    for round in 1..=4_u64 {
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let update = |node: &Node| {
                let title = format!("round {round} at {}", node.port);
                let body = json!({"title": title, "expected_version": round});
                let path = format!("/api/observations/{id}");
                // As a follower each answers itself, so that both really write.
                let headers = [("X-Cortex-At-Least", "1")];
                let (method, path) = ("PATCH", path.as_str());
                let asked = Asked {
                    method,
                    path,
                    token: &token,
                    actor: None,
                    headers: &headers,
                    body: Some(&body),
                    ..Asked::default()
                };
                Node::ask(node, &asked).unwrap().status
            };
            let threads: Vec<_> =
                nodes.iter().map(|node| scope.spawn(move || update(node))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut sorted = statuses.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [200, 409], "round {round}: {statuses:?}");
    }
    let key = [("Idempotency-Key", "once")];
    let first = save(&nodes[0], &token, None, "keyed", &key);
    let again = save(&nodes[1], &token, None, "keyed", &key);
    assert_eq!(first.body["id"], again.body["id"], "{}", again.body);
}

// cluster 5
#[test]
fn the_other_node_serves_when_one_is_killed_or_stopped() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let token = init(&server.url());
    let mut nodes = [Node::start(&server.url(), &[]), Node::start(&server.url(), &[])];
    let actors: Vec<String> = (0..8).map(|n| format!("actor-{n}")).collect();
    for actor in &actors {
        assert_eq!(save(&nodes[0], &token, Some(actor), "before", &[]).status, 201);
    }
    nodes[0].kill();
    let began = Instant::now();
    for actor in &actors {
        assert_eq!(save(&nodes[1], &token, Some(actor), "while one is gone", &[]).status, 201);
    }
    assert!(began.elapsed() < PATIENCE);
    nodes[0].resume();
    nodes[1].signal("STOP");
    for actor in &actors {
        let found = nodes[0]
            .ask(&Asked {
                token: &token,
                path: "/api/observations",
                actor: Some(actor),
                ..Asked::default()
            })
            .unwrap();
        assert_eq!(titles(&found.body).len(), 2, "{}", found.body);
        assert_eq!(save(&nodes[0], &token, Some(actor), "while one stands still", &[]).status, 201);
    }
    nodes[1].signal("CONT");
    for actor in &actors {
        let found = nodes[1]
            .ask(&Asked {
                token: &token,
                path: "/api/observations",
                actor: Some(actor),
                ..Asked::default()
            })
            .unwrap();
        assert_eq!(titles(&found.body).len(), 3, "{}", found.body);
    }
}

// cluster 7
#[test]
fn a_connection_cut_at_any_byte_of_an_append_loses_and_doubles_nothing() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let proxy = Proxy::start(server.port);
    let token = init(&server.url());
    let node = Node::start(&proxy.url(), &[]);
    assert_eq!(save(&node, &token, None, "first", &[]).status, 201);
    let mut saved = vec!["first".to_owned()];
    // What the database answers to one append is shorter than this.
    for bytes in (0..120).step_by(4) {
        proxy.cut_after(bytes);
        let title = format!("cut after {bytes}");
        let reply = save(&node, &token, None, &title, &[("Idempotency-Key", &title)]);
        assert!(reply.status < 300, "{bytes}: {}", reply.body);
        saved.push(title);
    }
    proxy.cut_after(-1);
    assert!(proxy.cuts() >= 10, "only {} connections were cut", proxy.cuts());
    let found = node.get(&token, "/api/observations?limit=100");
    let mut there = titles(&found);
    there.reverse();
    assert_eq!(there, saved);
}

// cluster 6: the part with one server: it goes away and comes back
#[test]
fn while_the_database_is_away_requests_are_told_to_try_again_and_then_it_goes_on() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start();
    let token = init(&server.url());
    let node = Node::start(&server.url(), &[]);
    assert_eq!(save(&node, &token, None, "before", &[]).status, 201);
    server.kill();
    let away = save(&node, &token, None, "meanwhile", &[("Idempotency-Key", "meanwhile")]);
    assert_eq!(away.status, 503, "{}", away.body);
    assert_eq!(away.body["retry"], true);
    assert!(away.header("retry-after").is_some());
    server.resume();
    eventually("it does not go on", || {
        save(&node, &token, None, "meanwhile", &[("Idempotency-Key", "meanwhile")]).status < 300
    });
    let found = node.get(&token, "/api/observations");
    assert_eq!(titles(&found), ["meanwhile", "before"]);
}

// cluster 11
#[test]
fn what_is_erased_is_in_no_table_and_in_no_copy() {
    const SECRET: &str = "the harbour master's name";
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let token = init(&server.url());
    let nodes = [Node::start(&server.url(), &[]), Node::start(&server.url(), &[])];
    let saved = save(&nodes[0], &token, None, SECRET, &[]);
    let id = saved.body["id"].as_u64().unwrap();
    for node in &nodes {
        let path = "/api/search?q=harbour";
        let headers = [("X-Cortex-At-Least", "1")];
        node.ask(&Asked { token: &token, path, headers: &headers, ..Asked::default() }).unwrap();
    }
    assert!(is_within(&nodes[1], SECRET.as_bytes()), "both have a copy");
    let path = format!("/api/observations/{id}?hard=true");
    let path = path.as_str();
    let erased =
        nodes[1].ask(&Asked { method: "DELETE", path, token: &token, ..Asked::default() }).unwrap();
    assert!(erased.status < 300, "{}: {}", erased.status, erased.body);
    let dump = server.dump();
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(!String::from_utf8_lossy(&dump).contains(&hex), "it is in a table");
    for node in &nodes {
        eventually("it is in a copy", || !is_within(node, SECRET.as_bytes()));
    }
}

/// Is the text in any file of the node's copies?
fn is_within(node: &Node, text: &[u8]) -> bool {
    is_below(&node.home.path().join("ledger-cache"), text)
}

/// Is the text in any file below a folder?
pub(crate) fn is_below(folder: &std::path::Path, text: &[u8]) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_below(&path, text);
        }
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text)
    })
}

// cluster 13
#[test]
fn actors_move_into_the_ledger_and_out_with_the_same_roots() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    let home = tempfile::TempDir::new().unwrap();
    for n in 0..5 {
        run(&home, &["save", &format!("memory {n}"), "some content"]);
        run(&home, &["save", &format!("of ada {n}"), "some content", "--actor", "ada"]);
    }
    let root = |actor: &str| run(&home, &["root", "--actor", actor])["root"].clone();
    let roots = [root("default"), root("ada")];
    let pushed = run(&home, &["ledger", "push", "--ledger", &url]);
    let again = run(&home, &["ledger", "push", "--ledger", &url]);
    assert!(again.as_array().unwrap().iter().all(|one| one["moved"] == 0), "{again}");
    for one in pushed.as_array().unwrap() {
        let place = usize::from(one["actor"] == "ada");
        assert_eq!(one["root"], roots[place], "{one}");
    }
    let node = Node::start(&url, &[]);
    assert_eq!(node.get(&token, "/api/root")["root"], roots[0]);
    assert_eq!(save(&node, &token, Some("ada"), "in the cluster", &[]).status, 201);
    let other = tempfile::TempDir::new().unwrap();
    let pulled = run(&other, &["ledger", "pull", "--ledger", &url]);
    for one in pulled.as_array().unwrap() {
        let actor = one["actor"].as_str().unwrap();
        assert_eq!(one["root"], run(&other, &["root", "--actor", actor])["root"]);
    }
    // What was interrupted after some actors goes on with the others.
    std::fs::remove_dir_all(other.path().join("actors/ada")).unwrap();
    let again = run(&other, &["ledger", "pull", "--ledger", &url]);
    let moved = |actor| again.as_array().unwrap().iter().find(|one| one["actor"] == actor);
    assert_eq!(moved("default").unwrap()["moved"], 0, "{again}");
    assert_eq!(moved("ada").unwrap()["moved"], moved("ada").unwrap()["entries"], "{again}");
    let found = run(&other, &["search", "in the cluster", "--actor", "ada"]);
    assert!(found.to_string().contains("in the cluster"), "{found}");
    // A home with another past is refused and keeps what it has.
    let stranger = tempfile::TempDir::new().unwrap();
    run(&stranger, &["save", "another", "past"]);
    for step in ["push", "pull"] {
        let refused = program(&stranger).args(["ledger", step, "--ledger", &url]).output().unwrap();
        assert_eq!(refused.status.code(), Some(4), "{}", String::from_utf8_lossy(&refused.stderr));
    }
    assert!(run(&stranger, &["search", "another"]).to_string().contains("past"));
}

// cluster 14
#[test]
fn a_node_of_another_version_is_refused_and_says_why() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    let home = tempfile::TempDir::new().unwrap();
    let serve = || {
        program(&home).args(["serve", "--ledger", &url]).env("CORTEX_PORT", "0").output().unwrap()
    };
    for change in ["entries = 99", "version = 99"] {
        server.sql_in("cortex", &format!("UPDATE cortex.schema SET {change}"));
        let refused = serve();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("version 99"), "{said}");
    }
    server.sql_in("cortex", "DROP SCHEMA cortex CASCADE");
    let said = String::from_utf8_lossy(&serve().stderr).into_owned();
    assert!(said.contains("holds no ledger") && said.contains("ledger init"), "{said}");
    assert_ne!(init(&url), token, "what was dropped is made again");
}

// cluster, section 4: grants between the actors of a team
#[test]
fn a_grant_made_at_one_node_counts_at_the_other_until_it_is_revoked() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let admin = init(&server.url());
    let nodes = [Node::start(&server.url(), &[]), Node::start(&server.url(), &[])];
    assert_eq!(save(&nodes[0], &admin, Some("ada"), "shared with bob", &[]).status, 201);
    let wish = json!({
        "name": "bob", "operations": ["read", "find"], "include": {"types": ["Fact"]}, "expires": "2h",
    });
    let asked = |method, path, body| {
        let actor = Some("ada");
        let token = &admin;
        nodes[0].ask(&Asked { method, path, token, actor, body, ..Asked::default() }).unwrap()
    };
    let made = asked("POST", "/api/scopes", Some(&wish));
    assert_eq!(made.status, 201, "{}", made.body);
    let (token, id) = (made.body["token"].as_str().unwrap(), made.body["id"].as_str().unwrap());
    for node in &nodes {
        let seen =
            node.ask(&Asked { token, path: "/api/observations", ..Asked::default() }).unwrap();
        assert_eq!(titles(&seen.body), ["shared with bob"]);
        assert_eq!(save(node, token, None, "not allowed", &[]).status, 403);
    }
    assert_eq!(asked("DELETE", &format!("/api/scopes/{id}"), None).status, 200);
    for node in &nodes {
        let seen =
            node.ask(&Asked { token, path: "/api/observations", ..Asked::default() }).unwrap();
        assert_eq!(seen.status, 403, "{}", seen.body);
    }
}
