//! Goal: a delegate learns nothing of what it may not see, whatever it asks.
//! Method: two homes are the same but for the words of hidden memories, which lie beside the visible ones in their
//! sessions and are linked with them. Everything that a delegate is answered must be the same in both.

use serde_json::{Value, json};

use crate::support::Daemon;

const VISIBLE: [&str; 6] = [
    "The cache lives in redb pages",
    "We deploy on Tuesdays after lunch",
    "Retries use jitter and a cap",
    "The parser folds Unicode before stemming",
    "Alice owns the billing service",
    "The zebra crossing demo failed",
];
/// Rare words, words of visible memories, names and files: hidden in one home and not in the other.
const PLANTED: [&str; 8] = [
    "zanzibar",
    "quokka",
    "cache redb",
    "Tuesday jitter",
    "zebra",
    "Alice Cooper",
    "src/secret/file.rs",
    "parser stemming billing",
];
const PLAIN: [&str; 8] = [
    "ordinary",
    "words",
    "without interest",
    "nothing here",
    "empty",
    "Robert Zimmerman",
    "src/other/place.rs",
    "usual boring things",
];
const QUESTIONS: [&str; 12] = [
    "zanzibar",
    "zanzibr",
    "quokka",
    "cache",
    "chache",
    "where+is+the+cache",
    "zebra",
    "who+owns+billing",
    "Alice+Cooper",
    "src/secret/file.rs",
    "%22secret+text%22",
    "what+did+we+decide+about+retries",
];

struct Scene {
    daemon: Daemon,
    who: String,
    ids: Vec<u64>,
}

impl Scene {
    /// `linked`: hidden memories are linked with visible ones, else with each other.
    fn new(hidden: &[&str], linked: bool) -> Scene {
        let daemon = Daemon::start(&[]);
        let post = |path: &str, body: &Value| {
            let answer = daemon.post(path, body);
            assert_eq!(answer.status, 201, "{}", answer.body);
            answer.json()
        };
        post("/api/sessions", &json!({"id": "s", "project": "web", "directory": "/w"}));
        let (mut ids, mut last) = (Vec::new(), json!(null));
        for title in VISIBLE {
            let memory = json!({
                "title": title, "content": format!("{title}. More of it."), "type": "decision", "project": "web",
                "session_id": "s",
            });
            let id = post("/api/observations", &memory)["id"].as_u64().unwrap();
            for (word, relation) in hidden.iter().zip(["relates_to", "references"].iter().cycle()) {
                let memory = json!({
                    "title": format!("hidden {word} {id}"), "content": format!("secret text: {word} {word}"),
                    "type": "decision", "project": "web", "session_id": "s", "tags": ["secret"],
                });
                let other = post("/api/observations", &memory)["id"].clone();
                let to = if linked || last.is_null() { json!(id) } else { last };
                let link =
                    json!({"from_obs_id": other, "to_obs_id": to, "relation_type": relation});
                post("/api/graph/edges", &link);
                last = other;
            }
            ids.push(id);
        }
        let wish = json!({
            "name": "bot", "operations": ["read", "find", "context", "graph", "write"],
            "include": {"projects": ["web"]}, "exclude": {"tags": ["secret"]},
        });
        let token = post("/api/scopes", &wish)["token"].as_str().unwrap().to_owned();
        let who = format!(
            "Host: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        Scene { daemon, who, ids }
    }

    /// What the delegate is answered: status, total and body, without times, which differ between any two homes.
    fn told(&self, method: &str, path: &str, body: &Value) -> String {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = self.daemon.send(method, path, &self.who, &bytes);
        let total = answer.header("x-total-count").unwrap_or_default().to_owned();
        let mut value = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
        without_times(&mut value);
        format!("{} {total} {value}", answer.status)
    }

    fn tool(&self, name: &str, arguments: &Value) -> String {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": name, "arguments": arguments,
        }});
        self.told("POST", "/mcp", &call)
    }
}

fn without_times(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_times),
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !name.ends_with("_at") && !["at", "last_accessed"].contains(&name.as_str())
            });
            fields.values_mut().for_each(without_times);
        }
        _ => {}
    }
}

// F6: the planted-word test
#[test]
fn hidden_words_change_nothing_that_a_delegate_is_answered() {
    let (planted, plain) = (Scene::new(&PLANTED, true), Scene::new(&PLAIN, false));
    assert_eq!(planted.ids, plain.ids);
    let mut asked = 0;
    let mut same = |what: &str, ask: &dyn Fn(&Scene) -> String| {
        let (left, right) = (ask(&planted), ask(&plain));
        assert_eq!(left, right, "{what}");
        asked += 1;
        left
    };
    let mut paths: Vec<String> = Vec::new();
    for question in QUESTIONS {
        paths.push(format!("/api/search?q={question}"));
        paths.push(format!("/api/search?q={question}&limit=2&as_of=2035-01-01"));
        paths.push(format!("/api/search?q={question}&tag=secret"));
    }
    for path in
        ["context", "entities", "observations", "tags", "counts", "stats", "projects", "export"]
    {
        paths.push(format!("/api/{path}"));
    }
    for id in &planted.ids {
        for path in ["", "/similar", "/entities"] {
            paths.push(format!("/api/observations/{id}{path}"));
        }
        paths.push(format!("/api/graph/{id}?depth=3"));
        paths.push(format!("/api/scores/{id}"));
        paths.push(format!("/api/timeline?observation_id={id}"));
    }
    for path in &paths {
        let told = same(path, &|scene| scene.told("GET", path, &Value::Null));
        assert!(!told.contains("Cooper") && !told.contains("secret text"), "{path}: {told}");
    }
    let found = same("a search", &|scene| scene.told("GET", "/api/search?q=cache", &Value::Null));
    assert!(found.contains("The cache lives"), "{found}");
    for name in
        ["mem_search", "mem_search_hybrid", "mem_context", "mem_stats", "mem_suggest_topic_key"]
    {
        for question in ["zanzibar", "chache", "who owns the billing service"] {
            let arguments = json!({"query": question, "title": question, "explain": true});
            same(name, &|scene| scene.tool(name, &arguments));
        }
    }
    assert!(asked > 90, "{asked}");
}

// F6: what a save tells of similar memories, topics and repetitions. In homes where nobody read anything: that memories
// were read is journaled in batches, so how many entries there are, which ids count, depends on when.
#[test]
fn hidden_words_change_nothing_that_a_delegates_save_is_answered() {
    let (planted, plain) = (Scene::new(&PLANTED, true), Scene::new(&PLAIN, false));
    for (title, key) in [("hidden zanzibar 2", ""), ("quokka", "auth/design"), ("The cache", "")] {
        let memory = json!({
            "title": title, "content": "secret text: zanzibar zanzibar", "project": "web", "type": "decision",
            "topic_key": key,
        });
        let told = |scene: &Scene| scene.told("POST", "/api/observations", &memory);
        assert_eq!(told(&planted), told(&plain), "{title}");
    }
}

// F6: keys for retries are the delegate's own: the owner's tell it nothing, and its own are in nobody's way
#[test]
fn a_delegate_meets_no_key_of_others() {
    let scene = Scene::new(&["zanzibar"], true);
    let save = |who: &str, title: &str, key: &str| {
        let body = json!({"title": title, "content": "x", "project": "web", "type": "decision"});
        let headers = format!("{who}Idempotency-Key: {key}\r\n");
        scene.daemon.send("POST", "/api/observations", &headers, body.to_string().as_bytes())
    };
    let owner = "Host: localhost\r\nContent-Type: application/json\r\n";
    let first = save(owner, "Of the owner", "a key").json()["id"].clone();
    for title in ["Of the owner", "Of the delegate"] {
        let key = format!("a{}key", if title == "Of the owner" { " " } else { "nother " });
        let made = save(&scene.who, title, &key);
        assert_eq!((made.status, &made.json()["by"]), (201, &json!("bot")), "{}", made.body);
        assert_ne!(made.json()["id"], first);
    }
    let again = save(&scene.who, "Of the delegate", "another key");
    assert_eq!(again.json()["status"], "replayed", "{}", again.body);
    assert_eq!(save(&scene.who, "Something else", "another key").status, 409);
    // The same key of the owner stands for nothing yet.
    let own = save(owner, "Of the owner too", "another key");
    assert_eq!(own.json()["status"], "created", "{}", own.body);
    // F12: who wrote it is marked in what a delegate finds.
    let hits = scene.daemon.send("GET", "/api/search?q=delegate", &scene.who, b"").json();
    let hit = hits.as_array().unwrap().iter().find(|hit| hit["title"] == "Of the delegate");
    let hit = hit.unwrap_or_else(|| panic!("{hits}"));
    assert_eq!((&hit["by"], &hit["author"]), (&json!("bot"), &json!("agent")), "{hit}");
}
