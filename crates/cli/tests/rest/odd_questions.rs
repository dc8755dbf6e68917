//! No question takes the program down, whichever door it comes through: the command line, HTTP, or a tool of an agent.

use std::fmt::Write as _;
use std::process::Output;

use serde_json::{Value, json};
use testkit::questions::{LARGE, PARTS, odd};

use crate::agents::rpc;
use crate::support::{Answer, Daemon, cortex, problem};

fn daemon() -> Daemon {
    let daemon = Daemon::start(&[]);
    for title in ["the signing key", "ha ha ha", "数据库迁移", "שלום עולם", "🦀 crab", "w/w.rs"]
    {
        daemon.save(title, "manual");
    }
    daemon
}

fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut path, byte| {
        write!(path, "%{byte:02X}").unwrap();
        path
    })
}

/// An answer, or a refusal that says why.
fn is_clear(answer: &Answer, question: &str) {
    let shown: String = question.chars().take(40).collect();
    assert!((200..500).contains(&answer.status), "{shown:?}: {} {}", answer.status, answer.body);
    if answer.status == 200 {
        assert!(answer.json().is_array(), "{shown:?}: {}", answer.body);
    }
}

// recall: 500 adversarial queries give answers or clear errors, never a panic
#[test]
fn odd_questions_over_http_are_answered_or_refused_clearly() {
    let daemon = daemon();
    let (mut found, mut refused) = (0, 0);
    for question in odd() {
        // A larger one does not fit into a line of HTTP; one of them shows that this is said.
        if question.len() < 10_000 {
            let answer = daemon.get(&format!("/api/search?q={}", escaped(&question)));
            is_clear(&answer, &question);
            found += usize::from(answer.status == 200 && answer.body != "[]");
            refused += usize::from(answer.status != 200);
        }
    }
    assert!(found > 100 && refused < 50, "{found} found something, {refused} were refused");
    let long = daemon.get(&format!("/api/search?q={}", escaped(&"word ".repeat(LARGE / 5))));
    assert!((400..500).contains(&long.status), "{}", long.status);
    assert_eq!(daemon.get("/api/search?q=crab").json()[0]["title"], "🦀 crab");
}

#[test]
fn odd_questions_of_agents_are_answered_or_refused_clearly() {
    let daemon = daemon();
    let search = |question: &str| -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "mem_search", "arguments": {"query": question},
        }});
        let answer = rpc(&daemon, "Mcp-Protocol-Version: 2025-11-25\r\n", &call);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["result"].clone()
    };
    let questions = odd();
    // All of the large ones, and every fourth of the others: they are answered by the same code as over HTTP.
    let large = questions.iter().filter(|question| question.len() >= 10_000);
    let others = questions.iter().filter(|question| question.len() < 10_000).step_by(4);
    let mut answered = 0;
    for question in large.chain(others) {
        let result = search(question);
        let said = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(!said.is_empty(), "{result}");
        answered += usize::from(result["isError"] == false);
    }
    assert!(answered > 100, "{answered}");
}

// Arguments end at a NUL byte, so a question with one cannot be asked at a terminal; the other doors get it.
#[test]
fn odd_questions_at_the_terminal_are_answered_or_refused_clearly() {
    let daemon = daemon();
    let search = |question: &str| -> Output {
        let arguments = ["search", "--json", "--limit", "3", "--", question];
        cortex(daemon.home.path(), &[]).args(arguments).output().unwrap()
    };
    let large = ["word ".repeat(LARGE / 5), "\"".repeat(LARGE), "🦀".repeat(LARGE / 4)];
    let mixed =
        [PARTS[20..36].join(" "), "-\"ha ha\" crab* -key".into(), "--json -h --help".into()];
    let parts = PARTS.iter().map(|part| (*part).to_owned());
    for question in parts.chain(large).chain(mixed).filter(|question| !question.contains('\0')) {
        let shown: String = question.chars().take(40).collect();
        let output = search(&question);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "{shown:?}: {said}");
        match output.status.code() {
            Some(0) => {
                let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert!(answer["hits"].is_array(), "{shown:?}: {answer}");
            }
            Some(2) => {
                let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
                assert!(error["error"]["code"].is_string(), "{shown:?}: {error}");
            }
            code => panic!("{shown:?} ended with {code:?}: {said}"),
        }
    }
    // Linux takes no argument of more than 128 KB: a longer one is refused before the program starts.
    let longer = "x".repeat(200_000);
    let started = cortex(daemon.home.path(), &[]).args(["search", &longer]).output();
    assert!(!cfg!(target_os = "linux") || started.is_err());
    assert_eq!(daemon.run(&["search", "crab"])["hits"][0]["title"], "🦀 crab");
}

/// Two things that an agent learned.
const LEARNED: &str = "## Key Learnings:\n1. hash the password after the check, never before it\n\
                       2. a lock is held for one question, not for a whole run\n";

// F9: what may be in no store is found in none, and no caller takes an actor down by asking for it
#[test]
fn a_name_longer_than_any_is_refused_or_not_found() {
    let daemon = daemon();
    let names = ["x".repeat(256), "x".repeat(5_000), "\u{e9}".repeat(200), "a\nb".repeat(100)];
    for name in &names {
        let escaped = escaped(name);
        for path in [
            format!("/api/observations?session_id={escaped}"),
            format!("/api/observations?tag={escaped}"),
            format!("/api/observations?project={escaped}"),
            format!("/api/search?q=crab&session_id={escaped}"),
            format!("/api/search?q=crab&tag={escaped}"),
            format!("/api/prompts?session_id={escaped}"),
            format!("/api/journal?run={escaped}"),
        ] {
            let answer = daemon.get(&path);
            assert!((200..500).contains(&answer.status), "{path}: {}", answer.body);
        }
        problem(&daemon.get(&format!("/api/sessions/{escaped}")), 404, "not_found");
        problem(&daemon.get(&format!("/api/mind/runs/{escaped}")), 404, "unknown_run");
        let learned = json!({"content": LEARNED});
        for (path, text) in [
            ("/api/observations", json!({"title": "t", "content": "c"})),
            ("/api/observations/passive", learned.clone()),
            ("/api/prompts", learned),
        ] {
            let mut body = text.clone();
            body["session_id"] = json!(name);
            let answer = daemon.post(path, &body);
            assert!((400..500).contains(&answer.status), "{path}: {}", answer.body);
            if name.contains(|c: char| !c.is_ascii_graphic()) {
                continue;
            }
            let headers = format!(
                "Host: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: {name}\r\n"
            );
            let answer = daemon.send("POST", path, &headers, text.to_string().as_bytes());
            problem(&answer, 413, "too_large");
        }
        let end = format!("/api/sessions/{escaped}/end");
        problem(&daemon.post(&end, &json!({})), 404, "not_found");
        problem(&daemon.post("/api/mind/undo", &json!({"run": name})), 404, "unknown_run");
    }
    daemon.save("every actor answers on", "manual");
}

// A key as long as a key may be stands for several changes, too.
#[test]
fn the_longest_key_makes_a_retry_of_several_changes_one() {
    let daemon = Daemon::start(&[]);
    let body = json!({"content": LEARNED});
    let key = "k".repeat(128);
    let headers =
        format!("Host: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n");
    let ask =
        || daemon.send("POST", "/api/observations/passive", &headers, body.to_string().as_bytes());
    let (first, again) = (ask(), ask());
    assert_eq!((first.status, &first.json()["saved"]), (200, &json!(2)), "{}", first.body);
    assert_eq!(again.status, 200, "{}", again.body);
    assert_eq!(daemon.get("/api/stats").json()["observations"], 2);
}

#[test]
fn a_file_of_the_past_that_is_not_there_is_a_mistake_of_who_asks() {
    let daemon = Daemon::start(&[]);
    for path in ["", "/nowhere/at/all.jsonl", "/"] {
        problem(&daemon.post("/api/past/read", &json!({"path": path})), 400, "invalid");
    }
    assert_eq!(daemon.post("/api/past/read", &json!({"dry_run": true})).status, 200);
}
