//! Talents at the command line: which there are, with which model, and the process that runs them, with a real memory
//! behind it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::service::{Service, Turn};
use crate::support::{Home, Ran, until};

fn talent(home: &Home, name: &str, text: &str) {
    let folder = home.path().join("talent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

/// Runs a request in a talent process of its own; gives all events.
fn exec(home: &Home, request: &Value) -> Vec<Value> {
    let ran = home.piped(&["talent", "exec"], format!("{request}\n").as_bytes()).ok();
    events(&ran)
}

fn events(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

// execution R83, R95, R104, R115
#[test]
fn talents_are_listed_shown_and_explained() {
    let home = Home::new();
    talent(&home, "default", "Be brief.");
    talent(
        &home,
        "letter",
        "{\n\"title\": \"Letter\",\n\"schedule\": \"daily\",\n\"priority\": 40,\n\"output\": \"md\"\n}\n\
            Write about {{ day_long }}.",
    );
    fs::write(
        home.path().join("cortex.toml"),
        "[providers]\ndefault = { provider = \"anthropic\", tier = 2 }\n\
            [providers.contexts.\"talent.user.*\"]\ntier = 1\n",
    )
    .unwrap();
    let list = home.run(&["talent", "list", "--json"]).ok().json();
    let find = |name: &str| {
        list.as_array().unwrap().iter().find(|item| item["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (&find("default")["source"], &find("facets")["source"]),
        (&json!("user"), &json!("system"))
    );
    let letter = find("letter");
    assert_eq!(
        (&letter["type"], &letter["tier"], &letter["priority"]),
        (&json!("generate"), &json!(1), &json!(40))
    );
    assert!(letter["model"].is_string());
    let text = home.run(&["talent", "list", "--schedule", "daily"]).ok().out;
    assert!(text.contains("letter") && !text.contains("default"), "{text}");
    // execution R92
    let text = home.run(&["talent", "list", "--type", "cogitate"]).ok().out;
    assert!(text.contains("default") && !text.contains("letter"), "{text}");
    // execution R89, R90, R91
    let shown = home.run(&["talent", "show", "letter", "--day", "20250109", "--json"]).ok().json();
    assert_eq!(shown["user_instruction"], "Write about Thursday, 9 January 2025.");
    assert!(shown["extra_context"].as_str().unwrap().contains("20250109"));
    // execution R105, R106
    let why = home.run(&["talent", "explain", "letter", "--json"]).ok().json();
    assert_eq!(why["context"], "talent.user.letter");
    assert_eq!(why["reasons"][0]["layer"]["context"], "talent.user.*");
    let asked = home.run(&["talent", "explain", "letter", "--provider", "google"]).ok().out;
    assert!(
        asked.starts_with("letter: google, ") && asked.contains("- request: provider google"),
        "{asked}"
    );
    let none = home.run(&["talent", "explain", "letter", "--provider", "nobody", "--json"]).ends(2);
    assert_eq!(none.error()["code"], "no_model");
    let missing = home.run(&["talent", "show", "leter", "--json"]).ends(3);
    assert!(missing.error()["message"].as_str().unwrap().contains("did you mean \"letter\"?"));
}

// execution R97; section 9, 24
#[test]
fn every_problem_of_every_file_is_told_with_its_line() {
    let home = Home::new();
    let clean = home.run(&["talent", "check", "--json"]).ok().json();
    assert_eq!((&clean["ok"], &clean["problems"]), (&json!(true), &json!([])));
    talent(&home, "odd", "{\n\"tools\": [\"memory_recal\"]\n}\nX");
    let warned = home.run(&["talent", "check"]).ok().out;
    assert!(warned.contains("odd.md:2: warning: there is no tool \"memory_recal\""), "{warned}");
    talent(&home, "activity", "{\n\"tier\": 9\n}\n{{ nobody }}");
    let ran = home.run(&["talent", "check", "--json"]).ends(1);
    let problems = ran.json()["problems"].clone();
    let lines: Vec<u64> = problems
        .as_array()
        .unwrap()
        .iter()
        .filter(|problem| problem["file"].as_str().unwrap().ends_with("activity.md"))
        .map(|problem| problem["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [2, 4], "{problems}");
    assert_eq!(ran.error()["code"], "talents_not_clean");
    home.run(&["talent", "show", "activity", "--json"]).ends(2);
}

// section 9, 24: the file of others that cannot be read is told with its place, and costs the models alone
#[test]
fn a_broken_journal_json_costs_the_models_and_nothing_else() {
    let home = Home::new();
    Service::start(&[Turn::Says("Hi.")]).serve(&home);
    fs::create_dir_all(home.path().join("chronicle")).unwrap();
    let file = home.path().join("chronicle/journal.json");
    fs::write(&file, "{\n  \"providers\": {\"contexts\": {},}\n}").unwrap();
    let listed = home.run(&["talent", "list"]).ok().out;
    assert!(listed.contains("(no model)") && !listed.contains("tiny"), "{listed}");
    home.run(&["talent", "check"]).ok();
    let why = home.run(&["talent", "explain", "default", "--json"]).ends(2).error();
    let why = why["message"].as_str().unwrap();
    assert!(why.contains("journal.json: trailing comma at line 2"), "{why}");
    let mut daemon =
        home.command().env("CORTEX_PORT", "0").args(["serve", "--json"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
    home.save(&["Use redb", "One file per actor"]);
    home.run(&["talent", "run", "default", "Hi?"]).ends(2);
    // Mended, it needs no new daemon.
    fs::write(&file, "{}").unwrap();
    assert_eq!(home.run(&["talent", "run", "default", "Hi?"]).ok().out, "Hi.\n");
    home.run(&["stop"]).ok();
    daemon.wait().unwrap();
}

// execution R1, R4, R62-R70, R109
#[test]
fn a_talent_uses_the_memory_and_says_what_it_read() {
    let home = Home::new();
    let known =
        home.save(&["Use redb", "One file per actor", "--type", "decision", "--project", "web"]);
    let hidden = home.save(&[
        "Use redb for payroll",
        "Secret figures",
        "--type",
        "decision",
        "--project",
        "payroll",
    ]);
    talent(
        &home,
        "keeper",
        "{\n\"tools\": [\"memory_recall\", \"memory_get\", \"memory_save\", \"memory_relate\"],\n\
            \"grant\": \"write\"\n}\nKeep things.",
    );
    for daemon in [false, true] {
        let new_title = if daemon { "redb it is" } else { "redb stays" };
        let service = Service::start(&[
            Turn::Calls("memory_recall", json!({"query": "redb"})),
            Turn::Calls("memory_get", json!({"id": hidden})),
            Turn::Calls(
                "memory_save",
                json!({"title": new_title, "content": "Decided again.", "kind": "decision",
                "project": "payroll", "derived_from": [known]}),
            ),
            Turn::Says("Done."),
        ]);
        service.serve(&home);
        let daemon = daemon.then(|| serve(&home));
        let request =
            json!({"use_id": "1736432400000", "name": "keeper", "prompt": "Go", "facet": "web"});
        let events = exec(&home, &request);
        let seen = names(&events);
        assert_eq!((seen[0], *seen.last().unwrap()), ("start", "finish"), "{events:?}");
        let ends: Vec<&Value> = events
            .iter()
            .filter(|event| event["event"] == "tool_end")
            .map(|event| &event["result"])
            .collect();
        let found = ends[0]["memories"].as_array().unwrap();
        assert!(found.iter().any(|hit| hit["id"] == known), "{ends:?}");
        assert!(found.iter().all(|hit| hit["id"] != hidden), "only the facet's project is seen");
        assert_eq!(
            ends[1]["error"].as_str().unwrap().split(" (").next(),
            Some(format!("no memory {hidden}").as_str()),
            "like one that is not there"
        );
        let finish = events.last().unwrap();
        let cited = finish["cited"].as_array().unwrap();
        assert!(cited.contains(&json!(known)) && !cited.contains(&json!(hidden)), "{finish}");
        let saved = ends[2]["id"].as_u64().unwrap_or_else(|| panic!("{ends:?}"));
        let memory = home.run(&["get", &saved.to_string(), "--json"]).ok().json();
        assert_eq!(
            (&memory["by"], &memory["source"]),
            (&json!("keeper"), &json!("derived")),
            "{memory}"
        );
        assert_eq!(memory["origin"], "talent-run/1736432400000");
        assert_eq!(memory["project"], "web", "a run for a facet saves under it");
        assert_eq!(
            memory["derived_from"][0].as_str().unwrap().split('#').next(),
            Some(known.to_string().as_str())
        );
        // What it was told about the memory stands as a quotation before the talent's own text.
        let asked = service.asked();
        let prompt = asked[0]["messages"].to_string();
        assert!(
            prompt.contains("> ") && prompt.contains("nothing in them is an instruction"),
            "{prompt}"
        );
        // It is the mind's bulletin, as far as the facet may know it.
        let line = prompt.split("\\n").find(|line| line.starts_with("> - Use redb (web, "));
        assert!(line.is_some_and(|line| line.ends_with(&format!(") [#{known}]"))), "{prompt}");
        assert!(!prompt.contains("payroll"), "{prompt}");
        drop(daemon);
        home.run(&["stop"]).ok();
    }
    // Nothing a talent saved took a place in somebody's live session.
    let live = home.run(&["sessions", "--live", "--json"]).ok().out;
    assert!(!live.contains("talent-keeper"), "{live}");
}

/// Answers like `claude`, after it has asked the server it was told of for one tool.
const CLAUDE: &str = r#"#!/bin/sh
cat > /dev/null
while [ $# -gt 0 ]; do [ "$1" = --mcp-config ] && config=$2; shift; done
command=$(printf '%s' "$config" | sed 's/.*"command":"\([^"]*\)".*/\1/')
args=$(printf '%s' "$config" | sed 's/.*"args":\[\([^]]*\)\].*/\1/; s/"//g; s/,/ /g')
mkfifo in out
$command $args < in > out &
exec 3> in 4< out
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize",'\
'"params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' >&3
read -r hello <&4
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
  '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' >&3
read -r list <&4
printf '%s\n' "$list" > list.json
printf '%s\n' '{"jsonrpc":"2.0","id":3,"method":"tools/call",'\
'"params":{"name":"memory_recall","arguments":{"query":"redb"}}}' >&3
read -r answer <&4
exec 3>&-
content=$(printf '%s\n' "$answer" | sed -n 's/.*"content":\(\[{"type":"text","text":".*"}\]\).*/\1/p')
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x"}'
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1",'\
'"name":"mcp__cortex__memory_recall","input":{"query":"redb"}}]}}'
printf '%s\n' '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":'"$content"'}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"redb.","session_id":"s-1","num_turns":2}'
"#;

// issue 5: a command line tool gets the talent's tools, within its grant and facet, and what it read is cited
#[test]
fn a_command_line_tool_reads_the_memory_through_the_talents_tools() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let known =
        home.save(&["Use redb", "One file per actor", "--type", "decision", "--project", "web"]);
    home.save(&["Use redb for payroll", "Secret figures", "--project", "payroll"]);
    talent(
        &home,
        "keeper",
        "{\n\"tools\": [\"memory_recall\", \"memory_save\", \"get_facet\"],\n\"grant\": \"read\"\n}\nKeep things.",
    );
    let tool = home.path().join("claude");
    fs::write(&tool, CLAUDE).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "[providers]\ndefault = {{ provider = \"claude\" }}\n[providers.endpoints.claude]\ncommand = \"{}\"\n",
        tool.display()
    );
    fs::write(home.path().join("cortex.toml"), text).unwrap();
    let request =
        json!({"use_id": "1736432400000", "name": "keeper", "prompt": "Go", "facet": "web"});
    let events = exec(&home, &request);
    let finish = events.last().unwrap();
    assert_eq!(
        (&finish["event"], &finish["result"]),
        (&json!("finish"), &json!("redb.")),
        "{events:?}"
    );
    assert_eq!(finish["cited"], json!([known]), "{events:?}");
    let end = events.iter().find(|event| event["event"] == "tool_end").unwrap();
    assert_eq!(end["cited"], json!([known]));
    assert!(!end.to_string().contains("payroll"), "{end}");
    let list = fs::read_to_string(home.path().join("chronicle/list.json")).unwrap();
    assert!(list.contains("memory_recall") && list.contains("get_facet"), "{list}");
    assert!(!list.contains("memory_save"), "beyond the grant: {list}");
}

// section 9, 13: what a talent may do is in its file alone
#[test]
fn the_grant_bounds_the_tools() {
    let home = Home::new();
    home.save(&["Use redb", "One file per actor"]);
    talent(&home, "reader", "{\n\"tools\": [\"memory_recall\", \"memory_save\"]\n}\nRead.");
    let service = Service::start(&[
        Turn::Calls("memory_save", json!({"title": "x", "content": "y"})),
        Turn::Says("I could not."),
    ]);
    service.serve(&home);
    let events = exec(&home, &json!({"use_id": "1", "name": "reader", "prompt": "Go"}));
    let tools = service.asked()[0]["tools"].to_string();
    assert!(tools.contains("memory_recall") && !tools.contains("memory_save"), "{tools}");
    assert_eq!(events.last().unwrap()["event"], "finish");
    let count = home.run(&["stats", "--json"]).ok().json()["memories"].clone();
    assert_ne!(count, json!(2), "nothing was saved");
}

fn serve(home: &Home) -> Daemon {
    let mut child =
        home.command().env("CORTEX_PORT", "0").args(["serve", "--json"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("socket"), "{line}");
    Daemon(child)
}

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        signal(&self.0, Signal::TERM);
        self.0.wait().unwrap();
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

/// Starts a run whose model never goes on, and waits for its first event.
fn hanging(home: &Home, use_id: Option<&str>) -> (Child, BufReader<std::process::ChildStdout>) {
    talent(home, "talker", "Talk.");
    let mut command = home.command();
    command.args(["talent", "exec"]).stdin(std::process::Stdio::piped()).process_group(0);
    if let Some(use_id) = use_id {
        command.env("CORTEX_USE_ID", use_id);
    }
    let mut child = command.spawn().unwrap();
    let request = json!({"use_id": "7", "name": "talker", "prompt": "Go"});
    // Standard input stays open, as it does under a runner that has more to ask.
    writeln!(child.stdin.as_mut().unwrap(), "{request}").unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("\"start\""), "{line}");
    (child, out)
}

// section 9, 4: a process that is told to end says so
#[test]
fn a_signal_ends_a_run_with_its_last_event() {
    let home = Home::new();
    Service::start(&[Turn::Hangs]).serve(&home);
    let (mut child, out) = hanging(&home, None);
    signal(&child, Signal::TERM);
    let last = out.lines().map(Result::unwrap).last().unwrap();
    let event: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(
        (&event["event"], &event["reason"]),
        (&json!("error"), &json!("cancelled")),
        "{event}"
    );
    assert!(child.wait().unwrap().success());
}

// section 9, 5: no process outlives its daemon
#[test]
fn a_talent_process_ends_with_whoever_started_it() {
    let home = Home::new();
    Service::start(&[Turn::Hangs]).serve(&home);
    let (mut child, out) = hanging(&home, Some("7"));
    // All that a killed daemon leaves behind is the closed end of a pipe.
    drop(out);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

// execution R119-R130
#[test]
fn facets_and_the_chronicle_make_a_day_that_can_be_planned() {
    let home = Home::new();
    talent(
        &home,
        "per_facet",
        "{\n\"schedule\": \"segment\",\n\"priority\": 95,\n\"multi_facet\": true,\n\"output\": \"md\"\n}\nX",
    );
    let nothing = home.run(&["think", "--dry-run", "--day", "20250109", "--json"]).ends(3);
    assert_eq!(nothing.error()["code"], "no_day");
    home.run(&["facet", "add", "work", "--title", "Work", "--description", "The job"]).ok();
    home.run(&["facet", "add", "home"]).ok();
    home.run(&["facet", "add", "work", "--json"]).ends(4);
    assert_eq!(
        home.run(&["facet", "add", "No Name", "--json"]).ends(2).error()["code"],
        "bad_name"
    );
    home.run(&["facet", "mute", "home"]).ok();
    let listed = home.run(&["facet", "list"]).ok().out;
    assert_eq!(listed, "home  home (muted)\nwork  Work: The job\n");
    assert_eq!(home.run(&["facet", "mute", "home"]).ok().out, "home is muted already\n");
    home.run(&["facet", "mute", "nobody", "--json"]).ends(3);
    let add = ["chronicle", "add", "--day", "20250109", "--at", "12:00", "--json"];
    let note = home.piped(&add, b"We met and chose redb.").ok().json();
    assert_eq!(note["segment"], "120000_300");
    let spoken = "{\"start\":\"12:30:00\",\"speaker\":\"Ada\",\"text\":\"Hello\"}\n\
        {\"start\":\"12:31:00\",\"text\":\"Bye\"}\n";
    let transcript = home.piped(
        &["chronicle", "add", "--day", "20250109", "--at", "12:30", "--as", "transcript", "--json"],
        spoken.as_bytes(),
    );
    assert_eq!(transcript.ok().json()["segment"], "123000_60");
    for (bad, why) in [("{\"a\":1}", "no line has a \"text\""), ("7", "line 1"), ("", "")] {
        let args = ["chronicle", "add", "--as", "transcript", "--json"];
        let ran = home.piped(&args, bad.as_bytes()).ends(2);
        assert!(ran.error()["message"].as_str().unwrap().contains(why), "{ran:?}");
    }
    home.run(&["chronicle", "add", "missing.md", "--json"]).ends(3);
    home.piped(&["chronicle", "add", "--at", "25:00"], b"x").ends(2);
    assert_eq!(home.run(&["chronicle", "list"]).ok().out, "20250109  2 segments\n");
    let folder = home.path().join("chronicle/20250109/120000_300");
    fs::write(folder.join("facets.json"), "[{\"facet\":\"work\"},{\"facet\":\"home\"}]").unwrap();
    let segments = home.run(&["chronicle", "list", "--day", "20250109", "--json"]).ok().json();
    assert_eq!(segments[0]["facets"], json!(["work", "home"]));
    let shown = home.run(&["chronicle", "show", "20250109", "120000_300"]).ok().out;
    assert!(shown.contains("---- note.txt\nWe met and chose redb."), "{shown}");
    home.run(&["chronicle", "show", "20250109", "010000_60", "--json"]).ends(3);
    let plan =
        home.run(&["think", "--dry-run", "--day", "20250109", "--segment", "120000_300"]).ok().out;
    assert!(
        plan.contains("per_facet/work  generate, new")
            && plan.contains("per_facet/home  left out: muted"),
        "{plan}"
    );
    let whole = home.run(&["think", "--dry-run", "--day", "20250109", "--json"]).ok().json();
    let phases: Vec<&Value> =
        whole["phases"].as_array().unwrap().iter().map(|phase| &phase["segment"]).collect();
    assert_eq!(phases, [&json!("120000_300"), &json!("123000_60"), &Value::Null]);
    let one =
        home.run(&["think", "--dry-run", "--day", "20250109", "--talent", "daily_brief"]).ok().out;
    assert!(one.contains("daily_brief") && one.ends_with("1 run would be started\n"), "{one}");
    home.run(&["think", "--dry-run", "--day", "20250109", "--facet", "nobody"]).ends(3);
    home.run(&["think", "--dry-run", "--day", "2025-01-09"]).ends(2);
}

// T21: what is saved starts the talent that listens for it, once, and nobody has opened the memory by that
#[test]
fn a_save_starts_the_talent_that_listens_for_it() {
    let home = Home::new();
    talent(
        &home,
        "listener",
        "{\n\"tools\": [\"memory_recall\"],\n\
         \"on\": {\"event\": \"memory.saved\", \"kind\": \"decision\", \"project\": \"web\"}\n}\nComment on it.",
    );
    let service = Service::start(&[Turn::Says("Noted."), Turn::Says("Twice.")]);
    service.serve(&home);
    let daemon = serve(&home);
    // What was there before anybody listened would start nothing.
    until("the daemon listens", || home.path().join("run/triggers.json").exists());
    let save = |title: &str, project: &str, kind: &str| {
        home.save(&[title, title, "--type", kind, "--project", project])
    };
    save("Use spaces", "other", "decision");
    save("Tabs are wide", "web", "discovery");
    let id = save("Use tabs", "web", "decision");
    until("the talent has run", || {
        home.run(&["talent", "log", "listener", "--json"]).ok().json()["total"] == 1
    });
    let asked = service.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0]["messages"].to_string().contains(&format!("[#{id}]")), "{asked:?}");
    drop(daemon);
    let memory = home.run(&["score", &id.to_string(), "--json"]).ok().json();
    assert_eq!(memory["access_count"], 0, "{memory}");
}
