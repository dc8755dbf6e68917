//! Random faults for as long as it is told, a history of everything, and a table at the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::history::{Done, Event, acknowledgements, longest_silence, problems};
use super::node::{Asked, Node, Reply, ask, init};
use super::postgres::{Psql, Server, is_installed};
use super::proxy::Proxy;

/// Set by `make test-cluster`; without it the run is short and has no standby.
const MINUTES: &str = "CORTEX_CLUSTER_MINUTES";
const SHORT: Duration = Duration::from_secs(12);
const ACTORS: usize = 6;
const CLIENTS: usize = 8;
/// Memories that one read shows at most.
const LISTED: usize = 50;
/// Between two plain inserts.
const PROBE_PAUSE: Duration = Duration::from_millis(200);
/// How long a client tries to get one write acknowledged.
const TRIES: usize = 40;

/// Numbers that follow from a seed, so that a run can be made again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

#[derive(Debug, Default)]
struct Counts {
    writes: AtomicU64,
    reads: AtomicU64,
    busy: AtomicU64,
    cut: AtomicU64,
}

struct Recorder {
    events: Mutex<Vec<Event>>,
    counts: Counts,
    over: AtomicBool,
    ports: Vec<u16>,
    token: String,
}

impl Recorder {
    fn note(&self, actor: &str, began: Instant, done: Done) {
        let event = Event { actor: actor.to_owned(), began, ended: Instant::now(), done };
        self.events.lock().unwrap().push(event);
    }

    /// Writes once: the same key at any node until one acknowledges it.
    fn write(&self, actor: &str, name: &str, chance: &mut Chance) {
        let body =
            json!({"title": name, "content": format!("content of {name}"), "type": "manual"});
        let began = Instant::now();
        let headers = [("Idempotency-Key", name)];
        for _ in 0..TRIES {
            let port = self.ports[usize::try_from(chance.below(self.ports.len() as u64)).unwrap()];
            let (method, path) = ("POST", "/api/observations");
            let asked = Asked {
                method,
                path,
                token: &self.token,
                actor: Some(actor),
                headers: &headers,
                body: Some(&body),
                ..Asked::default()
            };
            match ask(port, &asked) {
                Ok(Reply { status: 200 | 201, body, .. }) => {
                    let id = body["id"].as_u64().unwrap();
                    self.counts.writes.fetch_add(1, Ordering::Relaxed);
                    return self.note(actor, began, Done::Wrote { name: name.to_owned(), id });
                }
                Ok(Reply { status: 503 | 429, .. }) => {
                    self.counts.busy.fetch_add(1, Ordering::Relaxed);
                }
                Ok(other) => panic!("{name}: {} {}", other.status, other.body),
                Err(_) => {
                    self.counts.cut.fetch_add(1, Ordering::Relaxed);
                }
            }
            std::thread::sleep(Duration::from_millis(50 + chance.below(200)));
        }
        self.note(actor, began, Done::MayHaveWritten { name: name.to_owned() });
    }

    fn read(&self, actor: &str, port: u16) {
        let began = Instant::now();
        let path = format!("/api/observations?limit={LISTED}");
        let asked =
            Asked { path: &path, token: &self.token, actor: Some(actor), ..Asked::default() };
        // Who is not answered has seen nothing.
        let Ok(reply) = ask(port, &asked) else { return };
        if reply.status != 200 {
            return;
        }
        self.counts.reads.fetch_add(1, Ordering::Relaxed);
        self.note(actor, began, Done::Read { seen: listed(&reply) });
    }

    fn live(&self, client: usize, seed: u64) {
        let mut chance = Chance(seed + client as u64 * 7_919 + 1);
        let mut n = 0;
        while !self.over.load(Ordering::Relaxed) {
            let actor = format!("actor-{}", chance.below(ACTORS as u64));
            if chance.below(3) == 0 {
                let port =
                    self.ports[usize::try_from(chance.below(self.ports.len() as u64)).unwrap()];
                self.read(&actor, port);
            } else {
                n += 1;
                self.write(&actor, &format!("c{client}-{n}"), &mut chance);
            }
            std::thread::sleep(Duration::from_millis(chance.below(20)));
        }
    }
}

fn listed(reply: &Reply) -> BTreeMap<u64, String> {
    let list = reply.body.as_array().unwrap();
    list.iter()
        .map(|one| (one["id"].as_u64().unwrap(), one["title"].as_str().unwrap().to_owned()))
        .collect()
}

/// Everything an actor has, asked page by page.
fn everything(node: &Node, token: &str, actor: &str) -> BTreeMap<u64, String> {
    let mut all = BTreeMap::new();
    loop {
        let path = format!("/api/observations?limit=100&offset={}", all.len());
        let asked = Asked { path: &path, token, actor: Some(actor), ..Asked::default() };
        let reply = node.ask(&asked).unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        let page = listed(&reply);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// Size and root of a node's own copy: a request that names a size is not passed on.
fn root_of(node: &Node, token: &str, actor: &str) -> String {
    let size = everything(node, token, actor).keys().next_back().copied().unwrap_or(0).to_string();
    let headers = [("X-Cortex-At-Least", &*size)];
    let path = "/api/root";
    let asked = Asked { path, token, actor: Some(actor), headers: &headers, ..Asked::default() };
    let reply = node.ask(&asked).unwrap();
    format!("{} {}", reply.body["size"], reply.body["root"])
}

// cluster 3, 4, 5, 6, 7, 9, 18
#[test]
fn random_faults() {
    if !is_installed() {
        return;
    }
    let minutes: Option<u64> = std::env::var(MINUTES).ok().and_then(|text| text.parse().ok());
    let life = minutes.map_or(SHORT, |minutes| Duration::from_secs(minutes * 60));
    let seed = std::env::var("CORTEX_CLUSTER_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_261_118);
    let mut primary = Server::start();
    let mut standby = minutes.map(|_| primary.standby());
    let proxy = Proxy::start(primary.port);
    let token = init(&primary.url());
    let count = if minutes.is_some() { 3 } else { 2 };
    let mut nodes: Vec<Node> = (0..count).map(|_| Node::start(&proxy.url(), &[])).collect();
    let ports = nodes.iter().map(|node| node.port).collect();
    let (events, counts) = (Mutex::default(), Counts::default());
    let recorder = Arc::new(Recorder {
        events,
        counts,
        over: AtomicBool::new(false),
        ports,
        token: token.clone(),
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let recorder = Arc::clone(&recorder);
            std::thread::spawn(move || recorder.live(client, seed))
        })
        .collect();
    let (began, mut chance) = (Instant::now(), Chance(seed));
    // What the servers themselves acknowledge meanwhile tells what of a silence is theirs.
    primary.sql("CREATE TABLE probe (n int)");
    let probe = {
        let (recorder, proxy, server) = (Arc::clone(&recorder), proxy.clone(), Psql::found());
        std::thread::spawn(move || {
            let mut done = Vec::new();
            while !recorder.over.load(Ordering::Relaxed) {
                if server.insert_at(proxy.target()) {
                    done.push(Instant::now());
                }
                std::thread::sleep(PROBE_PAUSE);
            }
            done
        })
    };
    let mut faults = BTreeMap::<&str, u64>::new();
    let mut times = Vec::new();
    while began.elapsed() < life {
        let pause =
            if minutes.is_some() { 1_000 + chance.below(3_000) } else { 500 + chance.below(1_000) };
        std::thread::sleep(Duration::from_millis(pause));
        let node = usize::try_from(chance.below(nodes.len() as u64)).unwrap();
        let fault_began = Instant::now();
        let fault = match chance.below(if minutes.is_some() { 12 } else { 7 }) {
            0..=2 => {
                nodes[node].kill();
                std::thread::sleep(Duration::from_millis(chance.below(2_000)));
                nodes[node].resume();
                "node killed -9"
            }
            3 => {
                nodes[node].signal("STOP");
                let most = if minutes.is_some() { 8_000 } else { 1_500 };
                std::thread::sleep(Duration::from_millis(500 + chance.below(most)));
                nodes[node].signal("CONT");
                "node stopped and continued"
            }
            4 | 5 => {
                for _ in 0..5 {
                    proxy.cut_after(i64::try_from(chance.below(600)).unwrap());
                    std::thread::sleep(Duration::from_millis(50));
                }
                "connection cut at a byte"
            }
            6 => {
                proxy.cut_all();
                "every connection cut"
            }
            7..=9 => {
                primary.kill();
                std::thread::sleep(Duration::from_millis(chance.below(2_000)));
                primary.resume();
                "primary killed -9, started again"
            }
            _ => match standby.take() {
                None => continue,
                Some(next) => {
                    primary.kill();
                    next.promote();
                    proxy.point_at(next.port);
                    // The new primary gets a standby of its own.
                    standby = Some(next.standby());
                    primary = next;
                    "primary killed -9, standby promoted"
                }
            },
        };
        *faults.entry(fault).or_default() += 1;
        times.push((fault_began, fault));
    }
    proxy.cut_after(-1);
    recorder.over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().unwrap();
    }
    let events = recorder.events.lock().unwrap();
    let mut found = Vec::new();
    for n in 0..ACTORS {
        let actor = format!("actor-{n}");
        // What was read is journaled now and then, so the size may change between two questions.
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let roots: Vec<String> =
                nodes.iter().map(|node| root_of(node, &token, &actor)).collect();
            if roots.iter().all(|root| *root == roots[0]) {
                break;
            }
            if Instant::now() > until {
                found.push(format!("{actor}: roots differ: {roots:?}"));
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        found.extend(problems(&actor, &events, &everything(&nodes[0], &token, &actor)));
    }
    let Counts { writes, reads, busy, cut } = &recorder.counts;
    let number = |count: &AtomicU64| count.load(Ordering::Relaxed);
    eprintln!(
        "seed {seed}, {} s, {count} nodes, {ACTORS} actors, {CLIENTS} clients",
        began.elapsed().as_secs()
    );
    eprintln!("| what | how often |\n|---|---|");
    for (fault, times) in &faults {
        eprintln!("| {fault} | {times} |");
    }
    eprintln!("| connections cut inside an answer of the database | {} |", proxy.cuts());
    eprintln!(
        "| writes acknowledged | {} |\n| reads checked | {} |",
        number(writes),
        number(reads)
    );
    eprintln!("| told to try again | {} |\n| no answer | {} |", number(busy), number(cut));
    let own = longest_silence(acknowledgements(&events));
    let plain = longest_silence(probe.join().unwrap());
    let ms = |silence: Option<(Instant, Duration)>| silence.map_or(0, |(_, time)| time.as_millis());
    eprintln!("| longest time without an acknowledged write | {} ms |", ms(own));
    eprintln!("| the same for inserts by psql, without nodes | {} ms |", ms(plain));
    if let Some((from, time)) = own {
        let within = times.iter().filter(|(at, _)| *at + PROBE_PAUSE >= from && *at < from + time);
        let within: Vec<&str> = within.map(|(_, fault)| *fault).collect();
        eprintln!("| faults within that time | {} |", within.join(", "));
    }
    eprintln!("| lost, doubled, reordered, outdated, roots that differ | {} |", found.len());
    assert!(found.is_empty(), "{found:#?}");
    assert!(number(writes) > 0 && number(reads) > 0);
}
