//! Nodes that come and go, and what the others hear of it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::node::{Asked, Node, init};
use super::postgres::{Server, is_installed};
use super::service::{eventually, save};

// cluster 5
#[test]
fn whoever_comes_or_goes_says_so_and_nobody_answers_that() {
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    let watcher = Node::start(&url, &[]);
    let news = || watcher.metric(&token, "cortex_node_news_total");
    let alive = || watcher.metric(&token, "cortex_nodes_alive");
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    eventually("it does not listen", || server.sql(listening).trim() == "1");
    let other = Node::start(&url, &[]);
    eventually("who comes does not say so", || news() > 0 && alive() == 2);
    let before = news();
    other.signal("TERM");
    eventually("who goes does not say so", || news() > before && alive() == 1);
    // Two processes of one name say with every heartbeat that they came, which is no reason for another heartbeat.
    let (before, began) = (news(), Instant::now());
    let twin = || Node::start(&url, &[("CORTEX_LEDGER_NODE", "twin")]);
    let _twins = [twin(), twin()];
    eventually("they do not say so", || news() > before + 6);
    let told = news() - before;
    let beats = 2 * (began.elapsed().as_secs() + 2);
    assert!(told <= beats, "told {told} times in at most {beats} heartbeats");
}

// cluster 3
#[test]
fn what_evolves_under_a_name_is_there_once_whichever_nodes_save_it() {
    const ROUNDS: usize = 12;
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    // They cannot reach each other, so each answers itself.
    let apart = [("CORTEX_LEDGER_ADVERTISE", "http://127.0.0.1:9")];
    let nodes = [Node::start(&url, &apart), Node::start(&url, &apart)];
    for round in 0..ROUNDS {
        // With the header it is decided by a copy that may be old.
        let headers: &[_] = if round % 2 == 0 { &[] } else { &[("X-Cortex-At-Least", "1")] };
        std::thread::scope(|scope| {
            for node in &nodes {
                let title = format!("of {}", node.port);
                let topic = format!("topic-{round}");
                let token = &*token;
                scope.spawn(move || {
                    let body = json!({"title": title, "content": title, "topic_key": topic});
                    let (method, path) = ("POST", "/api/observations");
                    let body = Some(&body);
                    let asked = Asked { method, path, token, headers, body, ..Asked::default() };
                    let saved = node.ask(&asked).unwrap();
                    assert!([200, 201].contains(&saved.status), "{}", saved.body);
                });
            }
        });
    }
    let found = nodes[0].get(&token, "/api/observations?limit=100");
    let mut times = BTreeMap::<&str, usize>::new();
    for one in found.as_array().unwrap() {
        *times.entry(one["topic_key"].as_str().unwrap()).or_default() += 1;
    }
    assert_eq!(times.len(), ROUNDS);
    assert!(times.values().all(|times| *times == 1), "{times:?}");
}

// cluster 3
#[test]
fn nodes_that_cannot_reach_each_other_take_turns_at_one_actor() {
    const CLIENTS: usize = 6;
    /// Longer than a save is decided again.
    const LIFE: Duration = Duration::from_secs(4);
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let (url, token) = (server.url(), init(&server.url()));
    let apart = [("CORTEX_LEDGER_ADVERTISE", "http://127.0.0.1:9")];
    let nodes = [Node::start(&url, &apart), Node::start(&url, &apart)];
    // So that each serves the actor itself: the first request that is passed on fails, and then none is for a while.
    for node in &nodes {
        let first = format!("first of {}", node.port);
        assert_eq!(save(node, &token, None, &first, &[]).status, 201);
    }
    let longest = Mutex::new(vec![Duration::ZERO; nodes.len()]);
    let saved = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (nodes, token, longest, saved) = (&nodes, &*token, &longest, &saved);
            scope.spawn(move || {
                let place = client % nodes.len();
                for n in 0.. {
                    let asked = Instant::now();
                    if asked - began > LIFE {
                        return;
                    }
                    let reply = save(&nodes[place], token, None, &format!("{client} {n}"), &[]);
                    assert_eq!(reply.status, 201, "{}", reply.body);
                    saved.fetch_add(1, Ordering::Relaxed);
                    let took = &mut longest.lock().unwrap()[place];
                    *took = asked.elapsed().max(*took);
                }
            });
        }
    });
    let conflicts =
        nodes.each_ref().map(|node| node.metric(&token, "cortex_ledger_conflicts_total"));
    let asked = nodes.each_ref().map(|node| node.metric(&token, "cortex_ledger_ways_asked_total"));
    let longest = longest.into_inner().unwrap();
    eprintln!("{saved:?} saved; longest {longest:?}; conflicts {conflicts:?}; ways {asked:?}");
    assert!(conflicts.iter().sum::<u64>() > 0, "they never met");
    let rows = server.sql_in("cortex", "SELECT count(*) FROM cortex.body");
    let there: usize = rows.trim().parse().unwrap();
    assert_eq!(there, saved.into_inner() + nodes.len());
}
