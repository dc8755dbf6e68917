//! Goal: the daemon tends the memory by itself, and everybody finds the bulletin where they look for it.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Daemon, cortex, model, write_config};

/// True if a line begins so and cites this memory.
fn has_line(text: &str, begins: &str, id: u64) -> bool {
    let cites = format!("[#{id}]");
    text.lines().any(|line| {
        line.strip_prefix("- ").is_some_and(|line| line.starts_with(begins))
            && line.ends_with(&cites)
    })
}

// T7, T8: each project has its own bulletin, and it follows a save and a forget
#[test]
fn the_bulletin_of_a_project_follows_what_is_saved_and_forgotten() {
    let home = TempDir::new().unwrap();
    let daemon = Daemon::start(home.path());
    let save = |title: &str, kind: &str, project: &str| {
        let save = json!({"title": title, "content": title, "type": kind, "project": project});
        daemon.post("/api/observations", &save)["id"].as_u64().unwrap()
    };
    let mut known = Vec::new();
    for project in ["shop", "blog", "ledger", "fleet"] {
        for (kind, what) in [("decision", "stores orders"), ("todo", "ships on Monday")] {
            let title = format!("The {project} {what}");
            known.push((project, title.clone(), save(&title, kind, project)));
        }
    }
    let text = |project: &str| {
        let answer = daemon.run(&["bulletin", "--project", project]);
        answer["bulletin"]["text"].as_str().unwrap().to_owned()
    };
    for (project, title, id) in &known {
        assert!(has_line(&text(project), title, *id), "{title}: {}", text(project));
        let other = if *project == "shop" { "blog" } else { "shop" };
        assert!(!text(other).contains(title.as_str()), "{}", text(other));
    }
    let fresh = save("The shop moves to redb", "decision", "shop");
    assert!(has_line(&text("shop"), "The shop moves to redb", fresh), "{}", text("shop"));
    // What is published for everybody follows too, without anybody asking for it.
    daemon.until("/readyz", |ready| ready["warmup"]["state"] == "warm");
    daemon.run(&["forget", &fresh.to_string(), "--reason", "it did not work out"]);
    assert!(!text("shop").contains("moves to redb"), "{}", text("shop"));
    daemon.until("/api/bulletin?published=true", |answer| {
        !answer["bulletin"]["text"].as_str().unwrap_or_default().contains("moves to redb")
    });
}

// mind 3, 27, 33, 40, 41, 45, 48, 49
#[test]
fn the_daemon_warms_up_and_publishes_and_a_restart_serves_at_once() {
    let home = TempDir::new().unwrap();
    let daemon = Daemon::start(home.path());
    assert_eq!(daemon.get("/readyz")["warmup"]["state"], "cold");
    // Before readiness work is counted, and served.
    let id = daemon.save("Use tabs", "decision");
    daemon.post("/api/sessions", &json!({"id": "s1"}));
    let ready = daemon.until("/readyz", |ready| ready["warmup"]["state"] == "warm");
    assert_eq!(ready["warmup"]["ready_for_work"], true);
    let bulletin = daemon.get("/api/bulletin")["bulletin"].clone();
    assert!(has_line(bulletin["text"].as_str().unwrap(), "Use tabs", id), "{bulletin}");
    let (_, metrics) = daemon.raw("GET", "/metrics", "", "");
    for line in [
        "cortex_mind_job_runs_total{actor=\"default\",job=\"bulletin\"} 1",
        "cortex_mind_warmup_state{actor=\"default\",state=\"warm\"} 1",
        "cold_dispatch_total{agent_id=\"default\",process_type=\"channel\"} 1",
        "cortex_budget_tokens_today{actor=\"default\",purpose=\"bulletin\"} 0",
        "cortex_budget_microdollars_today{actor=\"default\",purpose=\"chat\"} 0",
        "cortex_mind_job_paused{actor=\"default\",job=\"maintenance\"} 0",
        "cortex_mind_breaker_open{actor=\"default\",name=\"job:patterns\"} 0",
        "cortex_processes_stopped_total{actor=\"default\",kind=\"killed\"} 0",
        "cortex_bulletin_words{actor=\"default\",audience=\"owner\"} ",
        "cortex_mind_job_last_milliseconds{actor=\"default\",job=\"bulletin\"} ",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    drop(daemon);

    let daemon = Daemon::start(home.path());
    let kept = daemon.get("/api/bulletin?published=true")["bulletin"].clone();
    assert_eq!((&kept["number"], &kept["text"]), (&bulletin["number"], &bulletin["text"]));
    daemon.until("/readyz", |ready| ready["warmup"]["state"] == "warm");
    let again = daemon.get("/api/bulletin")["bulletin"].clone();
    assert_eq!(again["number"], bulletin["number"], "nothing changed, nothing is published");
}

// mind 96, 98; issue 6
#[test]
fn the_mind_is_reached_over_http() {
    let home = TempDir::new().unwrap();
    let daemon = Daemon::start(home.path());
    daemon.save("Use tabs", "decision");
    let jobs = daemon.get("/api/mind/jobs");
    let names: Vec<&str> =
        jobs["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bulletin", "maintenance", "pages", "patterns"]);
    let preview = daemon.post("/api/mind/jobs/maintenance/run", &json!({"dry_run": true}));
    assert_eq!((&preview["dry_run"], &preview["changes"]), (&true.into(), &json!([])));
    let ran = daemon.post("/api/mind/jobs/patterns/run", &json!({}));
    assert_eq!(ran["report"]["ending"], "succeeded", "{ran}");
    assert_eq!(daemon.raw("POST", "/api/mind/jobs/lunch/run", "", "{}").0, 404);
    assert_eq!(daemon.post("/api/mind/jobs/patterns/pause", &json!({}))["paused"], true);
    assert_eq!(daemon.post("/api/mind/jobs/patterns/resume", &json!({}))["paused"], false);
    assert_eq!(daemon.raw("POST", "/api/mind/undo", "", "{\"run\": \"none-1\"}").0, 404);
    assert_eq!(daemon.get("/api/mind/runs")["runs"], json!([]));
    assert_eq!(daemon.raw("GET", "/api/mind/runs/none-1", "", "").0, 404);
    assert_eq!(daemon.get("/api/budget")["tokens_limit"], 0);
    assert_eq!(daemon.post("/api/budget", &json!({"kill_switch": true}))["kill_switch"], true);

    let ask = json!({"agent_id": "default", "message": "show me recent memory activity"});
    let answer = daemon.post("/api/cortex/chat", &ask);
    assert!(answer["response"].as_str().unwrap().contains("Use tabs"), "{answer}");
    let headers = "Accept: text/event-stream\r\n";
    let (status, events) = daemon.raw("POST", "/api/cortex/chat", headers, &ask.to_string());
    assert_eq!(status, 200);
    assert!(
        events.contains("event: delta\ndata: ") && events.contains("event: done\ndata: "),
        "{events}"
    );
    let unknown = json!({"agent_id": "nobody", "message": "status"});
    assert_eq!(daemon.raw("POST", "/api/cortex/chat", "", &unknown.to_string()).0, 404);
    // mind 105: an administrator is not in a conversation. Nothing that was said here became one, or a prompt.
    assert_eq!(daemon.get("/api/channels")["channels"], json!([]));
    assert_eq!(daemon.run(&["prompts"])["prompts"], json!([]));
    // mind 21: the seed's own question.
    let ask = json!({"query": "", "memory_types": ["decision"], "mode": "important", "limit": 10});
    let found = daemon.post("/api/memory_recall", &ask);
    assert_eq!((&found["found"], &found["memories"][0]["title"]), (&1.into(), &"Use tabs".into()));
    let wrong = json!({"mode": "loud"}).to_string();
    assert_eq!(daemon.raw("POST", "/api/memory_recall", "", &wrong).0, 422);
    // The command line is answered by the same mind.
    assert_eq!(daemon.run(&["budget"])["kill_switch"], true);
    assert!(daemon.run(&["mind", "log"])["reports"][0]["run"].is_string());
}

// mind 12, 14: every session starts from what matters, without waiting for it
#[test]
fn agents_find_what_matters_at_the_start_of_a_session_and_the_bulletin_as_a_resource() {
    let home = TempDir::new().unwrap();
    let daemon = Daemon::start(home.path());
    let id = daemon.save("Use tabs", "decision");
    daemon.post("/api/mind/jobs/bulletin/run", &json!({}));
    let mut hook = cortex(home.path())
        .args(["hook", "session-start"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    hook.stdin
        .take()
        .unwrap()
        .write_all(b"{\"session_id\":\"s1\",\"source\":\"startup\"}")
        .unwrap();
    let said: Value = serde_json::from_slice(&hook.wait_with_output().unwrap().stdout).unwrap();
    let text = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains(&format!("\n\nDecisions:\n- #{id} [decision] ")), "{text}");
    assert!(text.contains("Use tabs: About Use tabs.\n\nmem_search answers"), "{text}");
    assert!(text.len() < 8_000, "{}", text.len());

    let headers =
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n";
    let ask = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        daemon.raw("POST", "/mcp", headers, &body.to_string()).1
    };
    assert!(ask("resources/list", json!({})).contains("cortex://bulletin"));
    let read = ask("resources/read", json!({"uri": "cortex://bulletin"}));
    assert!(read.contains("# Memory Bulletin") && read.contains("Use tabs"), "{read}");
}

// mind 2, 5, 13; issue 6: never a call when inputs are unchanged, the ledger names who spent what
#[test]
fn a_model_that_is_configured_writes_the_bulletin_once() {
    let home = TempDir::new().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let url = model(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        "## Decisions\n- The team decided to use tabs. [#1]".to_owned()
    });
    write_config(home.path(), &url, "");
    let daemon = Daemon::start(home.path());
    assert_eq!(daemon.save("Use tabs", "decision"), 1);
    let bulletin = || daemon.get("/api/bulletin?published=true")["bulletin"].clone();
    daemon.until("/api/bulletin?published=true", |answer| {
        answer["bulletin"]["made_by"].as_str().is_some_and(|by| by != "rules")
    });
    let text = bulletin()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("The team decided to use tabs (") && text.contains("[#1]"), "{text}");
    daemon.post("/api/mind/jobs/bulletin/run", &json!({}));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let budget = daemon.run(&["budget"]);
    assert_eq!((&budget["provider"], &budget["tokens"]), (&"near".into(), &320.into()), "{budget}");
    let line = &budget["ledger"][0];
    assert!(
        line["who"].as_str().unwrap().starts_with("bulletin-") && line["model"] == "tiny",
        "{line}"
    );
    assert!((line["dollars"].as_f64().unwrap() - 0.000_34).abs() < 1e-9, "{line}");
    // With the kill switch on, what is new is written by rules.
    daemon.run(&["budget", "--stop"]);
    daemon.save("Ship on Mondays", "decision");
    let made = daemon.run(&["bulletin", "--refresh"])["bulletin"].clone();
    assert_eq!((&made["made_by"], calls.load(Ordering::SeqCst)), (&"rules".into(), 1));
    assert!(made["fallback"].as_str().unwrap().contains("kill switch"), "{made}");
}
