//! How many writes are acknowledged by one, two and three nodes, beside plain inserts into the same server.
//!
//! Always checks that everything acknowledged is there. `make bench` gives it seconds (`CORTEX_CLUSTER_BENCH`) for its
//! figures to mean something; they are ratios of one machine on one day.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

use super::node::{Asked, Line, Node, init};
use super::postgres::{Server, is_installed};
use super::service::{eventually, save};

const CLIENTS: usize = 16;
const ACTORS: usize = 64;

struct Load {
    acknowledged: usize,
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

/// Lets clients write for a while, each to the next node and actor.
fn load(nodes: &[Node], token: &str, actors: &[String], life: Duration, round: &str) -> Load {
    let times = Mutex::new(Vec::new());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let times = &times;
            scope.spawn(move || {
                let mut n = client;
                let mut line = Line::open(nodes[client % nodes.len()].port);
                while began.elapsed() < life {
                    n += CLIENTS;
                    let title = format!("{round} {n}");
                    let body =
                        json!({"title": title, "content": "x".repeat(400), "type": "manual"});
                    let actor = Some(&*actors[n / CLIENTS % actors.len()]);
                    let (method, path) = ("POST", "/api/observations");
                    let asked =
                        Asked { method, path, token, actor, body: Some(&body), ..Asked::default() };
                    let started = Instant::now();
                    let reply = line.ask(&asked);
                    assert_eq!(reply.status, 201, "{}", reply.body);
                    times.lock().unwrap().push(started.elapsed());
                }
            });
        }
    });
    let took = began.elapsed().as_secs_f64();
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let acknowledged = times.len();
    #[allow(clippy::cast_precision_loss)]
    let per_second = acknowledged as f64 / took;
    Load { acknowledged, per_second, p50: at(50), p99: at(99) }
}

// cluster 2, 12, 19
#[test]
fn everything_acknowledged_under_load_is_there() {
    if !is_installed() {
        return;
    }
    let seconds: Option<u64> =
        std::env::var("CORTEX_CLUSTER_BENCH").ok().and_then(|text| text.parse().ok());
    let life = seconds.map_or(Duration::from_millis(700), Duration::from_secs);
    let server = Server::start();
    let token = init(&server.url());
    let actors: Vec<String> = (0..ACTORS).map(|n| format!("load-{n}")).collect();
    let counts: &[usize] = if seconds.is_some() { &[1, 2, 3] } else { &[2] };
    let mut acknowledged = 0;
    eprintln!("| what | writes/s | p50 ms | p99 ms |\n|---|---|---|---|");
    if seconds.is_some() {
        let plain = server.plain_inserts(CLIENTS, life);
        eprintln!("| plain inserts, {CLIENTS} sessions (pgbench) | {plain:.0} | | |");
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let row = |what: &str, done: &Load| {
        let Load { per_second, p50, p99, .. } = done;
        eprintln!("| {what} | {per_second:.0} | {:.1} | {:.1} |", ms(*p50), ms(*p99));
    };
    if seconds.is_some() {
        let (alone, token) = Node::alone();
        let nodes = [alone];
        for (what, actors) in [("one actor", &actors[..1]), ("many actors", &actors[..])] {
            let done = load(&nodes, &token, actors, life, what);
            row(&format!("without a ledger, {what}, {CLIENTS} clients"), &done);
        }
    }
    for count in counts {
        let nodes: Vec<Node> = (0..*count).map(|_| Node::start(&server.url(), &[])).collect();
        for (what, actors) in [("one actor", &actors[..1]), ("many actors", &actors[..])] {
            let round = format!("{count} {what}");
            let done = load(&nodes, &token, actors, life, &round);
            acknowledged += done.acknowledged;
            row(&format!("{count} nodes, {what}, {CLIENTS} clients"), &done);
        }
    }
    let rows = server.sql_in("cortex", "SELECT actor, seq FROM cortex.body ORDER BY actor, seq");
    let rows: BTreeSet<&str> = rows.lines().collect();
    assert_eq!(rows.len(), acknowledged);
    let gaps = "SELECT count(*) FROM (SELECT max(seq) - count(*) AS gap FROM cortex.journal GROUP BY actor) AS g \
                WHERE gap <> 0";
    assert_eq!(server.sql_in("cortex", gaps).trim(), "0");
}

// cluster 19: a server that has not counted its rows yet may read every body of an actor for the last entry
#[test]
fn a_question_costs_the_database_what_is_new_and_not_what_there_is() {
    const MEMORIES: usize = 150;
    const QUESTIONS: u64 = 60;
    if !is_installed() {
        return;
    }
    let server = Server::start();
    let token = init(&server.url());
    let node = Node::start(&server.url(), &[]);
    for n in 0..MEMORIES {
        assert_eq!(save(&node, &token, None, &format!("memory {n}"), &[]).status, 201);
    }
    for _ in 0..QUESTIONS {
        node.get(&token, "/api/observations?limit=1");
    }
    // The server tells a little later what it did.
    let counted = |what: &str| -> u64 {
        let sql = format!(
            "SELECT coalesce(sum({what}), 0) FROM pg_stat_user_indexes WHERE relname LIKE 'body%'"
        );
        server.sql_in("cortex", &sql).trim().parse().unwrap()
    };
    eventually("it does not tell what it did", || counted("idx_scan") >= QUESTIONS);
    let (looks, rows) = (counted("idx_scan"), counted("idx_tup_read"));
    assert!(rows <= 3 * looks, "{rows} bodies were looked at in {looks} looks");
}
