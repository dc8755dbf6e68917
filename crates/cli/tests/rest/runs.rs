//! Talents over HTTP: runs asked for, watched as server-sent events, cancelled; and what the daemon counts.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Daemon, problem};

/// Makes a home whose one model is a service that accepts and never answers.
fn hanging(daemon: &Daemon) -> TcpListener {
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "[providers]\ndefault = {{ provider = \"local\", tier = 2 }}\n[providers.models.local]\n\"1\" = \"tiny\"\n\
         [providers.endpoints.local]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\n\
         [exec]\nenv = [\"MY_KEY\"]\n",
        service.local_addr().unwrap()
    );
    std::fs::write(daemon.home.path().join("cortex.toml"), text).unwrap();
    service
}

/// A stream of events that is read as it comes.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(daemon: &Daemon, path: &str, headers: &str) -> Events {
        let mut stream = TcpStream::connect(daemon.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{}{headers}\r\n",
            daemon.owner()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut events = Events(BufReader::new(stream));
        let mut line = String::new();
        events.0.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        events
    }

    /// The next event with its id; `None` at the end of the stream.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(found) = line.strip_prefix("id: ") {
                found.clone_into(&mut id);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(data).unwrap()));
            }
            // The last piece of a stream that has ended.
            if line == "0" {
                return None;
            }
        }
    }

    fn until(&mut self, event: &str) -> (String, Value) {
        loop {
            let next = self.next().unwrap_or_else(|| panic!("no {event}"));
            if next.1["event"] == event {
                return next;
            }
        }
    }
}

// execution R6, R8, 9.3, 9.4, 9.11
#[test]
fn runs_are_asked_for_watched_and_cancelled() {
    let daemon = Daemon::start(&[]);
    let _service = hanging(&daemon);
    let mut bus = Events::open(&daemon, "/api/events?tract=cortex", "");
    let body = json!({"name": "default", "prompt": "Hello", "env": {"MY_KEY": "a-secret-value"}});
    let taken = daemon.post("/api/runs", &body);
    assert_eq!(taken.status, 202, "{}", taken.body);
    let run = taken.json()["use_id"].as_str().unwrap().to_owned();
    assert_eq!(taken.header("location"), Some(format!("/api/runs/{run}").as_str()));
    let (first, request) = bus.until("request");
    assert_eq!((&request["use_id"], &request["env"]), (&json!(run), &json!(["MY_KEY"])));
    let mut own = Events::open(&daemon, &format!("/api/runs/{run}/events"), "");
    own.until("start");
    let shown = daemon.get(&format!("/api/runs/{run}")).json();
    assert_eq!((&shown["state"], &shown["name"]), (&json!("running"), &json!("default")));
    let listed = daemon.get("/api/runs?scope=live").json();
    assert_eq!(listed["live"][0]["use_id"], run);
    assert!(daemon.get("/metrics").body.contains("\ncortex_runs_active 1\n"));
    let delete = |path: &str| daemon.send("DELETE", path, "Host: localhost\r\n", b"");
    assert_eq!(delete(&format!("/api/runs/{run}")).status, 202);
    assert_eq!(bus.until("error").1["reason"], "cancelled");
    // The stream of a run ends with the run.
    assert_eq!(own.until("error").1["reason"], "cancelled");
    assert!(own.next().is_none());
    // Who comes back gets what it missed.
    let back = format!("Last-Event-ID: {first}\r\n");
    let mut again = Events::open(&daemon, &format!("/api/events?use_id={run}"), &back);
    assert!(again.next().unwrap().1["event"] != "gap");
    assert_eq!(again.until("error").1["reason"], "cancelled");
    let mut late = Events::open(&daemon, "/api/events", "Last-Event-ID: 1-1\r\n");
    assert_eq!(late.next().unwrap().1["event"], "gap");
    let shown = daemon.get(&format!("/api/runs/{run}")).json();
    assert_eq!((&shown["state"], &shown["reason"]), (&json!("error"), &json!("cancelled")));
    let events = daemon.get(&format!("/api/runs/{run}/events?after=0&limit=2"));
    assert_eq!(events.json().as_array().unwrap().len(), 2);
    assert_eq!(events.json()[0]["seq"], 1);
    let listed = daemon.get("/api/runs?status=error&name=default");
    assert_eq!(listed.header("x-total-count"), Some("1"));
    assert!(!listed.body.contains("a-secret-value"));
    let metrics = daemon.get("/metrics").body;
    assert!(metrics.contains("cortex_runs_ended_total{outcome=\"cancelled\"} 1"), "{metrics}");
    problem(&delete(&format!("/api/runs/{run}")), 409, "run_ended");
    problem(&delete("/api/runs/12"), 404, "no_such_run");
    problem(&delete("/api/runs/x"), 400, "bad_name");
    problem(&daemon.get("/api/runs/12/events"), 404, "no_such_run");
    problem(&daemon.post("/api/runs", &json!({"name": "nobody"})), 404, "unknown_talent");
    problem(&daemon.post("/api/runs", &json!({"tools": []})), 422, "protected_key");
    problem(&daemon.get("/api/runs?status=odd"), 422, "invalid");
}

#[test]
fn talents_and_services_are_shown() {
    let daemon = Daemon::start(&[]);
    let talents = daemon.get("/api/talents").json();
    let names: Vec<&str> =
        talents["talents"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.contains(&"default") && names.contains(&"facets"), "{names:?}");
    assert_eq!(talents["problems"], json!([]));
    assert!(talents["providers"].is_array(), "{talents}");
    let ready = daemon.get("/readyz").json();
    assert_eq!(ready["services"]["schedule"], "running");
    // Streams do not keep the daemon.
    let mut open = Events::open(&daemon, "/api/events", "");
    daemon.run(&["stop"]);
    while open.next().is_some() {}
}

// The doors of other routes: a page elsewhere hears nothing, a token is needed where one is set.
#[test]
fn events_are_guarded() {
    let token = "a-token-of-some-length";
    let daemon = Daemon::start(&[("CORTEX_HTTP_TOKEN", token)]);
    let bare =
        |method: &str, path: &str| daemon.send_bare(method, path, "Host: localhost\r\n", b"");
    problem(&bare("GET", "/api/events"), 401, "token_refused");
    problem(&bare("POST", "/api/runs"), 401, "token_refused");
    let foreign = "Host: localhost\r\nOrigin: http://evil.example\r\n";
    problem(&daemon.send("GET", "/api/events", foreign, b""), 403, "origin_refused");
    let set = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
    assert_eq!(daemon.send("GET", "/api/runs", &set, b"").status, 200);
    drop(Events::open(&daemon, "/api/events", ""));
}

// web W12
#[test]
fn a_talent_is_read_checked_written_and_taken_out() {
    let daemon = Daemon::start(&[]);
    let put = |body: &Value| daemon.with("PUT", "/api/talents/default", body);
    let built_in = daemon.get("/api/talents/default").json();
    assert_eq!((&built_in["source"], &built_in["is_built_in"]), (&json!("system"), &json!(true)));
    let wrong = json!({"text": "{\n  \"tier\": 99\n}\nDo it."});
    let checked = put(&wrong).json();
    assert_eq!((&checked["saved"], &checked["problems"][0]["line"]), (&json!(false), &json!(2)));
    assert_eq!(put(&json!({"text": "Be brief.", "dry_run": true})).json()["saved"], false);
    assert_eq!(daemon.get("/api/talents/default").json(), built_in);
    assert_eq!(put(&json!({"text": "Be brief."})).json(), json!({"saved": true, "problems": []}));
    problem(&put(&json!({"text": "Be kind."})), 409, "version_conflict");
    let own = daemon.get("/api/talents/default").json();
    assert_eq!((&own["source"], &own["text"]), (&json!("user"), &json!("Be brief.")));
    assert_eq!(put(&json!({"before": "Be brief."})).json()["saved"], true);
    assert_eq!(daemon.get("/api/talents/default").json(), built_in);
    problem(&daemon.get("/api/talents/nobody"), 404, "unknown_talent");
    problem(&daemon.get("/api/talents/..%2Fsecret"), 400, "bad_name");
}
