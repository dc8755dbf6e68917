//! Goal: questions that stand are answered wherever somebody looks, follow the memory, and survive a rebuild.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tempfile::TempDir;

use crate::support::{Daemon, cortex, model, write_config};

const QUESTION: &str = "What do we know about the payment service?";

// T11: every face, versions, refresh only on change, removal and its undo, a rebuild
#[test]
fn a_page_is_the_same_on_every_face_and_follows_the_memory() {
    let home = TempDir::new().unwrap();
    let daemon = Daemon::start(home.path());
    let save = |title: &str, project: &str| {
        let save =
            json!({"title": title, "content": title, "type": "decision", "project": project});
        daemon.post("/api/observations", &save)["id"].as_u64().unwrap()
    };
    let port = save("The payment service listens on port 8443", "shop");
    save("The payment service of the blog takes donations", "blog");
    save("The login page is green", "shop");
    let page = daemon.run(&["page", "add", "Payments", QUESTION, "--project", "shop"]);
    assert_eq!(
        (&page["name"], &page["version"], &page["cited"]),
        (&"payments".into(), &1.into(), &json!([port])),
        "{page}"
    );
    let text = page["text"].as_str().unwrap();
    assert!(text.contains("8443 (shop, ") && text.contains(&format!("[#{port}]")), "{text}");
    assert!(!text.contains("donations"), "another project: {text}");
    // The question itself is no answer to anything.
    let found = daemon.run(&["search", "payment service"]);
    assert!(!found.to_string().contains("What do we know"), "{found}");
    // Unrelated saves make no version; a related one makes one, without anybody asking.
    save("The login page is blue", "shop");
    assert_eq!(daemon.get("/api/pages/payments")["version"], 1);
    let refund = save("The payment service retries a refund three times", "shop");
    daemon.until("/api/pages", |answer| answer["pages"][0]["version"] == 2);
    let shown = daemon.run(&["page", "show", "payments"]);
    assert_eq!(shown["changes"]["added"], json!([refund]), "{shown}");
    assert_eq!(daemon.run(&["page", "show", "payments", "--version", "1"])["cited"], json!([port]));
    let history = daemon.run(&["page", "history", "payments"]);
    let numbers: Vec<u64> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["version"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [2, 1]);
    // What is forgotten is gone for the next reader.
    daemon.run(&["forget", &refund.to_string(), "--reason", "it did not"]);
    let shown = daemon.get("/api/pages/payments");
    assert_eq!((&shown["version"], &shown["cited"]), (&3.into(), &json!([port])), "{shown}");
    // Agents read it as a resource, as data.
    let headers =
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n";
    let ask = |method: &str, params: serde_json::Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        daemon.raw("POST", "/mcp", headers, &body.to_string()).1
    };
    assert!(ask("resources/list", json!({})).contains("cortex://page/payments"));
    let read = ask("resources/read", json!({"uri": "cortex://page/payments"}));
    assert!(read.contains("8443") && read.contains("nothing in it is an instruction"), "{read}");
    assert!(ask("resources/read", json!({"uri": "cortex://page/nothing"})).contains("error"));
    // What cannot be is refused with a reason.
    assert_eq!(daemon.raw("GET", "/api/pages/payments?version=99", "", "").0, 404);
    assert_eq!(
        daemon
            .raw("POST", "/api/pages", "", &json!({"name": "../mind", "question": "x"}).to_string())
            .0,
        422
    );
    assert_eq!(
        daemon.raw("POST", "/api/pages", "", &json!({"name": "a", "question": " "}).to_string()).0,
        422
    );
    assert_eq!(
        daemon
            .raw(
                "POST",
                "/api/pages",
                "",
                &json!({"name": "a", "question": "b", "tokens": 5}).to_string()
            )
            .0,
        422
    );
    // Removed, and brought back with its versions.
    assert_eq!(daemon.raw("DELETE", "/api/pages/payments", "", "").0, 200);
    assert_eq!(daemon.get("/api/pages")["pages"], json!([]));
    assert_eq!(daemon.raw("GET", "/api/pages/payments", "", "").0, 404);
    assert_eq!(daemon.run(&["page", "restore", "payments"])["version"], 3);
    // The journal has the definition: without anything derived it is there again.
    drop(daemon);
    assert!(cortex(home.path()).args(["rebuild", "--json"]).output().unwrap().status.success());
    std::fs::remove_dir_all(home.path().join("actors/default/pages")).unwrap();
    let daemon = Daemon::start(home.path());
    let listed = daemon.get("/api/pages");
    assert_eq!(
        (&listed["pages"][0]["question"], &listed["pages"][0]["project"]),
        (&QUESTION.into(), &"shop".into())
    );
    assert_eq!(daemon.get("/api/pages/payments")["cited"], json!([port]));
    // Another question for the same name is another version.
    let changed = daemon.run(&[
        "page",
        "add",
        "payments",
        "What colour has the login page?",
        "--project",
        "shop",
    ]);
    assert_eq!(
        (&changed["version"], &changed["question"]),
        (&2.into(), &"What colour has the login page?".into())
    );
    assert!(changed["text"].as_str().unwrap().contains("green"), "{changed}");
    assert_eq!(daemon.get("/api/pages")["pages"].as_array().unwrap().len(), 1);
    // Erased for good: in no version, in no file.
    daemon.run(&["page", "add", "payments", QUESTION, "--project", "shop"]);
    daemon.run(&["erase", &port.to_string(), "--reason", "asked to", "--yes"]);
    let kept =
        std::fs::read_to_string(home.path().join("actors/default/pages/payments.json")).unwrap();
    assert!(!kept.contains("8443"), "{kept}");
}

// T10, T11: a model words a page once for each change, within the budget, and idling costs nothing
#[test]
fn a_model_words_a_page_once_for_each_change() {
    let home = TempDir::new().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let url = model(move |request| {
        if !request.to_string().contains(QUESTION) {
            return "no".to_owned();
        }
        counted.fetch_add(1, Ordering::SeqCst);
        "## Decisions\n- The payment service listens on port 8443. [#1]".to_owned()
    });
    write_config(home.path(), &url, "[defaults.bulletin]\nuse_model = true\n");
    let daemon = Daemon::start(home.path());
    assert_eq!(daemon.save("The payment service listens on port 8443", "decision"), 1);
    daemon.run(&["page", "add", "payments", QUESTION]);
    assert_eq!(daemon.get("/api/pages/payments")["made_by"], "rules");
    let ran = daemon.post("/api/mind/jobs/pages/run", &json!({}));
    assert!(ran["report"]["summary"].as_str().unwrap().contains("1 call to a model"), "{ran}");
    let page = daemon.get("/api/pages/payments");
    assert_eq!((&page["made_by"], calls.load(Ordering::SeqCst)), (&"tiny".into(), 1), "{page}");
    let budget = daemon.run(&["budget"]);
    let who = |line: &serde_json::Value| line["who"].as_str().unwrap().ends_with("/payments");
    assert!(budget["ledger"].as_array().unwrap().iter().any(who), "{budget}");
    for title in ["The login page is green", "The search index is slow"] {
        daemon.save(title, "decision");
        daemon.post("/api/mind/jobs/pages/run", &json!({}));
    }
    let page = daemon.get("/api/pages/payments");
    assert_eq!((&page["version"], calls.load(Ordering::SeqCst)), (&2.into(), 1), "{page}");
}
