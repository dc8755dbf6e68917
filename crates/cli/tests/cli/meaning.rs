//! Goal: searches use the chosen model, a daemon fills its vectors in, and a model that fails never fails a search or a
//! save. Method: the real program, a real daemon, a real service on a socket, a tiny model with made-up weights.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Home;
use crate::tiny_model;

fn installed() -> Home {
    let home = Home::new();
    tiny_model::write(&home.path().join("tiny"));
    home.run(&["model", "install", "minilm", "--from", "tiny", "--any-weights"]).ok();
    home
}

fn search(home: &Home, question: &str) -> Value {
    home.run(&["search", question, "--explain", "--json"]).ok().json()
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap()).collect()
}

/// What the meaning arm says of a memory.
fn meaning_arm(answer: &Value, id: u64) -> &Value {
    let hit = answer["hits"].as_array().unwrap().iter().find(|hit| hit["id"] == id).unwrap();
    hit["arms"].as_array().unwrap().iter().find(|arm| arm["arm"] == "meaning").unwrap()
}

/// A service that gives each text a vector by its meaning, and counts requests.
struct Service {
    url: String,
    asked: Arc<AtomicUsize>,
}

fn service() -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            for line in head.to_lowercase().lines() {
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let body: Value = serde_json::from_slice(&body).unwrap();
            let rows: Vec<Value> = body["input"]
                .as_array()
                .unwrap()
                .iter()
                .enumerate()
                .map(|(n, text)| json!({"index": n, "embedding": meaning(text.as_str().unwrap())}))
                .collect();
            let body = json!({"data": rows}).to_string();
            let size = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    Service { url, asked }
}

/// Colours are alike, animals are alike; nothing else is.
fn meaning(text: &str) -> [f32; 4] {
    let has = |words: &[&str]| words.iter().any(|word| text.to_lowercase().contains(word));
    match (has(&["crimson", "azure", "hue"]), has(&["otter", "heron", "beast"])) {
        (true, false) => [1.0, 0.1, 0.0, 0.0],
        (false, true) => [0.0, 0.1, 1.0, 0.0],
        _ => [0.0, 1.0, 0.0, 0.2],
    }
}

fn choose(home: &Home, url: &str) {
    home.run(&["model", "use", "http", "--base-url", url, "--name", "m", "--dims", "4"]).ok();
}

const TEXTS: [&str; 4] = ["crimson", "otter", "the lease ends in May", "bolts and nuts"];

#[test]
fn a_search_is_judged_by_the_chosen_model() {
    let home = installed();
    for text in TEXTS {
        home.save(&[text]);
    }
    let before = search(&home, "which hue");
    assert!(before.get("model").is_none() && before.get("note").is_none(), "{before}");
    let service = service();
    choose(&home, &service.url);
    // Chosen, but no memory has a vector: the built-in model goes on.
    let empty = search(&home, "which hue");
    assert_eq!((&empty["by_model"], ids(&empty)), (&json!(0), ids(&before)));
    home.run(&["model", "embed"]).ok();
    for (question, wanted) in [("which hue", 1), ("which beast", 2)] {
        let answer = search(&home, question);
        assert_eq!(ids(&answer)[0], wanted, "{answer}");
        assert_eq!(answer["by_model"], 4);
        let arm = meaning_arm(&answer, wanted);
        assert_eq!((&arm["rank"], &arm["by"]), (&json!(1), &answer["model"]));
    }
    let text = home.run(&["search", "which hue", "--explain"]).ok();
    assert!(text.out.contains("meaning of 4 by http/"), "{}", text.out);
    assert!(text.err.is_empty(), "{}", text.err);

    // A memory saved since then has no vector; the others keep theirs.
    let asked = service.asked.load(Ordering::SeqCst);
    home.save(&["azure sky"]);
    assert_eq!(service.asked.load(Ordering::SeqCst), asked, "a save asks no model");
    let half = search(&home, "which hue");
    assert_eq!((&half["by_model"], ids(&half)[0]), (&json!(4), 1));
    assert!(ids(&half).contains(&5));

    // Another model, another cache; and back.
    home.run(&["model", "use", "minilm"]).ok();
    let other = search(&home, "which hue");
    assert_eq!(other["by_model"], 0);
    assert!(other["model"].as_str().unwrap().starts_with("minilm/"));
    home.run(&["model", "embed"]).ok();
    assert_eq!(search(&home, "which hue")["by_model"], 5);
    home.run(&["erase", "1", "--reason", "asked to", "--yes"]).ok();
    choose(&home, &service.url);
    let erased = search(&home, "which hue");
    assert!(!ids(&erased).contains(&1));
    assert_eq!(erased["by_model"], 3);
    home.run(&["model", "use", "static"]).ok();
    assert!(search(&home, "which hue").get("model").is_none());
}

#[test]
fn a_model_that_cannot_be_asked_is_done_without_and_that_is_said() {
    let home = Home::new();
    for text in TEXTS {
        home.save(&[text]);
    }
    let before = search(&home, "which hue");
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    choose(&home, &format!("http://{gone}/v1"));
    let answer = search(&home, "which hue");
    assert_eq!(answer["hits"], before["hits"]);
    let note = answer["note"].as_str().unwrap();
    assert!(note.contains("built-in model alone") && note.contains("did not answer"), "{note}");
    let text = home.run(&["search", "which hue"]).ok();
    assert!(text.err.contains("built-in model alone"), "{}", text.err);

    // One that accepts and never answers costs two seconds, not more.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    choose(&home, &format!("http://{}/v1", silent.local_addr().unwrap()));
    let started = Instant::now();
    let answer = search(&home, "which hue");
    assert!(answer["note"].as_str().unwrap().contains("within 2 s"), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(answer["hits"], before["hits"]);

    // One that is not installed, and a setting nobody understands.
    for model in ["minilm", "word2vec"] {
        std::fs::write(
            home.path().join("cortex.toml"),
            format!("[embedder]\nmodel = \"{model}\"\n"),
        )
        .unwrap();
        let answer = search(&home, "which hue");
        assert_eq!(answer["hits"], before["hits"]);
        assert!(answer["note"].is_string(), "{answer}");
    }
}

/// A daemon, ended when dropped.
struct Daemon<'a>(&'a Home, Child);

impl<'a> Daemon<'a> {
    fn start(home: &'a Home) -> Daemon<'a> {
        let mut child = home.command().arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("serves"), "{line}");
        Daemon(home, child)
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        self.0.run(&["stop"]);
        self.1.wait().unwrap();
    }
}

/// Asks for the status until it says what is wanted.
fn status_until(home: &Home, wanted: &dyn Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let status = home.run(&["model", "status", "--json"]).ok().json();
        if wanted(&status) {
            return status;
        }
        assert!(started.elapsed() < Duration::from_mins(1), "{status}");
    }
}

/// Asks until so many hits are judged by the model: a search goes on with the vectors it has while newer ones are put
/// in their place.
fn judged_until(home: &Home, hits: u64) {
    let started = Instant::now();
    loop {
        let answer = search(home, "crimson");
        if answer["by_model"] == hits {
            return;
        }
        assert!(started.elapsed() < Duration::from_mins(1), "{answer}");
    }
}

#[test]
fn a_daemon_makes_vectors_in_the_background() {
    let home = installed();
    for text in TEXTS {
        home.save(&[text]);
    }
    let daemon = Daemon::start(&home);
    // The daemon notices what is chosen while it runs.
    home.run(&["model", "use", "minilm"]).ok();
    let all =
        |n: u64| move |status: &Value| status["with_vector"] == n && status["chosen"] == "minilm";
    status_until(&home, &all(4));
    judged_until(&home, 4);
    home.save(&["azure sky"]);
    home.run(&["update", "2", "--title", "a heron"]).ok();
    status_until(&home, &all(5));
    judged_until(&home, 5);

    // Another model: all again, while searches go on.
    let service = service();
    choose(&home, &service.url);
    let status = status_until(&home, &|status| status["with_vector"] == 5);
    assert_eq!((&status["chosen"], &status["failure"]), (&json!("http"), &Value::Null));
    let answer = search(&home, "which beast");
    assert_eq!(meaning_arm(&answer, 2)["rank"], 1, "the new text counts: {answer}");

    // A service that is away is said in the status, and searches and saves do without it.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    choose(&home, &format!("http://{gone}/v1"));
    home.save(&["saved meanwhile"]);
    let answer = search(&home, "saved meanwhile");
    assert_eq!(ids(&answer)[0], 7, "{answer}");
    assert!(answer["note"].is_string());
    let status = status_until(&home, &|status| status["failure"].is_string());
    assert!(status["failure"].as_str().unwrap().contains("did not answer"), "{status}");
    drop(daemon);
}
