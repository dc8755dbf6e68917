//! The daemon is killed at each step of a run that waits for an approval, and of one that reads a long record by parts.
//!
//! The real program, the real daemon, real talent processes and a real server of tools; the model is a service on
//! loopback. What must hold each time: one terminal event, a tool that was used at most once, and no answer of the
//! model that was paid for twice.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::service::{Service, Turn};
use crate::support::{Home, until};

/// A server of tools on its standard streams: it echoes and notes each call; with `SLOW` it never answers one.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) say='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
      say="$say"'"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) say='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) echo called >> "$CALLS"
      if [ -n "$SLOW" ]; then continue; fi
      say='{"content":[{"type":"text","text":"again"}]}' ;;
    *'"method":"ping"'*) say='{}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$say"
done
"#;

fn talent(home: &Home, name: &str, text: &str) {
    let folder = home.path().join("talent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

fn kill_daemon(home: &Home) {
    let pid = home.run(&["status", "--json"]).ok().json()["pid"].as_u64().unwrap();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// Brings a daemon back and waits until the run has its one end.
fn ended_once(home: &Home, talent: &str, run: &str) -> Value {
    // Whoever asks for a run starts a daemon; this one finds no talent and does nothing else.
    home.run(&["talent", "run", "nobody", "x"]);
    until("the run has ended", || {
        home.path().join(format!("talents/{talent}/{run}.jsonl")).exists()
    });
    let out = home.run(&["talent", "log", run, "--json"]).ok().out;
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_end = |event: &&Value| event["event"] == "finish" || event["event"] == "error";
    assert_eq!(events.iter().filter(is_end).count(), 1, "{events:?}");
    events.last().unwrap().clone()
}

/// Every request is another one: nothing that was answered is asked again.
fn distinct(asked: &[Value]) -> bool {
    let texts: BTreeSet<String> = asked.iter().map(|body| body["messages"].to_string()).collect();
    texts.len() == asked.len()
}

fn waiting(home: &Home) -> Vec<Value> {
    let listed = home.run(&["talent", "approvals", "--json"]).ok().json();
    listed["approvals"].as_array().unwrap().clone()
}

// T20; issue 19: SIGKILL at each step of an approval
#[test]
fn a_daemon_killed_at_any_step_of_an_approval_leaves_one_end_and_at_most_one_call() {
    for step in ["asked", "approved", "called", "answered"] {
        let home = Home::new();
        let calls = Turn::Calls("own__echo", json!({"say": "tea"}));
        let service = Service::start(&[calls, Turn::Hangs]);
        service.serve(&home);
        fs::write(home.path().join("server.sh"), SERVER).unwrap();
        let noted = home.path().join("calls");
        let config = home.path().join("cortex.toml");
        let slow = if step == "called" { "yes" } else { "" };
        let tools = format!(
            "[tools.servers.own]\ncommand = \"/bin/sh\"\nargs = [{:?}]\napproval = \"ask\"\n\
             env = {{ CALLS = {:?}, SLOW = {slow:?} }}\n",
            home.path().join("server.sh"),
            noted
        );
        fs::write(&config, fs::read_to_string(&config).unwrap() + &tools).unwrap();
        talent(&home, "user", "{\n\"tools\": [\"own__echo\"]\n}\nUse the tool.");
        let ran = home.run(&["talent", "run", "user", "Go", "--detach", "--json"]).ok();
        let run = ran.json()["use_id"].as_str().unwrap().to_owned();
        until("a person is asked", || !waiting(&home).is_empty());
        let call = waiting(&home)[0].clone();
        assert_eq!((&call["tool"], &call["args"]), (&json!("own__echo"), &json!({"say": "tea"})));
        let count = || fs::read_to_string(&noted).unwrap_or_default().lines().count();
        assert_eq!(count(), 0, "nothing is used before a yes");
        if step != "asked" {
            home.run(&["talent", "approve", call["id"].as_str().unwrap()]).ok();
        }
        match step {
            "called" => until("the tool is used", || count() == 1),
            "answered" => until("the model has the answer", || service.asked().len() == 2),
            _ => {}
        }
        kill_daemon(&home);
        let end = ended_once(&home, "user", &run);
        assert_eq!(end["event"], "error", "{step}: {end}");
        let most = usize::from(step != "asked");
        assert!(count() <= most && (step == "approved" || count() == most), "{step}: {}", count());
        assert!(waiting(&home).is_empty(), "{step}: what a dead run asked for is gone");
        assert!(distinct(&service.asked()), "{step}: {:?}", service.asked());
        // The yes of before is for nobody.
        home.run(&["talent", "approve", call["id"].as_str().unwrap(), "--json"]).ends(3);
    }
}

const DAY: &str = "20260109";

/// Seven and a half hours of talk, about a hundred words a minute.
fn transcript() -> String {
    (0..450)
        .map(|minute| {
            let words: Vec<String> =
                (0..20).map(|n| format!("we talked about part {n} of plan {minute},")).collect();
            format!("{:02}:{:02} {}\n\n", 9 + minute / 60, minute % 60, words.join(" "))
        })
        .collect()
}

// T18; issue 19: SIGKILL at each step of map-reduce, in a window of 8,000 tokens
#[test]
fn a_daemon_killed_while_parts_are_read_pays_for_no_part_twice() {
    let home = Home::new();
    talent(
        &home,
        "summary",
        "{\n\"output\": \"md\",\n\"load\": {\"transcripts\": \"required\"}\n}\nSum up the record.",
    );
    let serve = |service: &Service| {
        service.serve(&home);
        let config = home.path().join("cortex.toml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{text}[providers.windows]\ntiny = 8000\n")).unwrap();
    };
    let notes = || Turn::Says("- the plan was talked about");
    let added = home.piped(
        &["chronicle", "add", "--day", DAY, "--at", "09:00", "--json"],
        transcript().as_bytes(),
    );
    let segment = added.ok().json()["segment"].as_str().unwrap().to_owned();
    let ask = |detach: bool| {
        let wait = if detach { "--detach" } else { "--follow" };
        home.run(&["talent", "run", "summary", "--day", DAY, "--segment", &segment, wait, "--json"])
    };
    let mut paid: Vec<Value> = Vec::new();
    // Killed in the first part, in a later one, and in the one after: each time the model hangs there.
    for done in [0_usize, 4, 3] {
        let turns: Vec<Turn> = (0..done).map(|_| notes()).chain([Turn::Hangs]).collect();
        let service = Service::start(&turns);
        serve(&service);
        let run = ask(true).ok().json()["use_id"].as_str().unwrap().to_owned();
        until("the model is at work", || service.asked().len() == done + 1);
        kill_daemon(&home);
        assert_eq!(ended_once(&home, "summary", &run)["event"], "error");
        home.run(&["stop"]).ok();
        // The one that hung was never answered.
        paid.extend(service.asked().into_iter().take(done));
    }
    let service = Service::start(&vec![notes(); 200]);
    serve(&service);
    let out = ask(false).ok().out;
    let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "finish", "{last}");
    let reused = out.lines().filter(|line| line.contains("\"reused\":true")).count();
    assert_eq!(reused, 7, "what was paid for is used: {out}");
    paid.extend(service.asked());
    assert!(distinct(&paid), "{} requests", paid.len());
    assert!(paid.len() > 10, "a record of {} requests", paid.len());
    for request in &paid {
        // Four bytes a token, and room for what comes around it.
        assert!(request["messages"].to_string().len() < 4 * 8_000 + 4_000);
    }
}
