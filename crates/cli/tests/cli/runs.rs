//! Runs at the command line: asked for, watched, cancelled, ended by a daemon that dies, and what the memory learns of
//! them.
//!
//! The real program, the real daemon, real talent processes; the model is a service on loopback.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::service::{Service, Turn};
use crate::support::{Home, until};

fn talent(home: &Home, name: &str, text: &str) {
    let folder = home.path().join("talent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events of a run, as its log has them.
fn log(home: &Home, run: &str) -> Vec<Value> {
    lines(&home.run(&["talent", "log", run, "--json"]).ok().out)
}

/// A run that has ended has one end, and nothing after it.
#[track_caller]
fn ended_once(home: &Home, run: &str) -> Value {
    let events = log(home, run);
    let ends =
        events.iter().filter(|event| event["event"] == "finish" || event["event"] == "error");
    assert_eq!(ends.count(), 1, "{events:?}");
    let last = events.last().unwrap().clone();
    assert!(last["event"] == "finish" || last["event"] == "error", "{last}");
    home.run(&["talent", "doctor", "--json"]).ok();
    last
}

/// Starts a run whose model never goes on, and waits until it has said something.
fn hanging(home: &Home, more: &[&str]) -> (String, u32) {
    let service = Service::start(&[Turn::Hangs]);
    service.serve(home);
    talent(home, "talker", "Talk.");
    let ran = home.run(&[&["talent", "run", "talker", "Go", "--detach", "--json"], more].concat());
    let run = ran.ok().json()["use_id"].as_str().unwrap().to_owned();
    let pid = follow(home, &run, "start").1;
    (run, pid)
}

#[expect(
    clippy::zombie_processes,
    reason = "the caller gets the process; what stays ends with the test"
)]
/// Follows a run until it has said `event`; gives the process that watches and that of the run.
fn follow(home: &Home, run: &str, event: &str) -> ((Child, BufReader<ChildStdout>), u32) {
    let mut child =
        home.command().args(["talent", "log", run, "--follow", "--json"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut pid = 0;
    loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "no {event} in run {run}");
        let said: Value = serde_json::from_str(&line).unwrap();
        if said["event"] == "spawned" {
            pid = u32::try_from(said["pid"].as_u64().unwrap()).unwrap();
        }
        if said["event"] == event {
            return ((child, out), pid);
        }
    }
}

fn process(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

fn daemon(home: &Home) -> u32 {
    let pid = home.run(&["status", "--json"]).ok().json()["pid"].as_u64().unwrap();
    u32::try_from(pid).unwrap()
}

// execution R1-R13, R57-R60; issue 5: a run that names what it relied on is attested
#[test]
fn a_run_is_shown_logged_and_attested() {
    let home = Home::new();
    let known = home.save(&["Use redb", "One file per actor", "--type", "decision"]);
    talent(&home, "keeper", "{\n\"tools\": [\"memory_recall\"]\n}\nKeep things.");
    let service = Service::start(&[
        Turn::Calls("memory_recall", json!({"query": "redb"})),
        Turn::Says("We use redb."),
        Turn::Calls("memory_recall", json!({"query": "redb"})),
        Turn::Says("We use redb [#1]."),
    ]);
    service.serve(&home);
    let secret = "correct-horse-battery";
    let ran =
        home.run(&["talent", "run", "keeper", "What?", "--env", &format!("MY_KEY={secret}")]).ok();
    assert_eq!(ran.out, "We use redb.\n");
    assert!(ran.err.contains("tool memory_recall"), "{}", ran.err);
    let listed = home.run(&["talent", "log", "--json"]).ok().json();
    assert_eq!((&listed["total"], &listed["runs"][0]["name"]), (&json!(1), &json!("keeper")));
    assert_eq!(listed["runs"][0]["status"], "completed");
    let run = listed["runs"][0]["use_id"].as_str().unwrap().to_owned();
    let last = ended_once(&home, &run);
    assert_eq!(last["cited"], json!([known]));
    // T13: the answer names no memory, so nothing is known about what was of use, and nothing is journaled.
    let lessons = || home.run(&["salience", "--json"]).ok().json()["lessons"].clone();
    assert_eq!(lessons(), json!([]));
    home.run(&["talent", "run", "keeper", "And why?"]).ok();
    let lesson = lessons()[0].clone();
    assert!(lesson["intent"].as_str().unwrap().starts_with("talent/keeper/"), "{lesson}");
    assert_eq!((&lesson["outcome"], &lesson["cited"]), (&json!("success"), &json!(1)));
    // execution 9.8: the value reached the process and nothing else
    let found = std::process::Command::new("grep")
        .args(["-rl", secret, home.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    let missing = home.run(&["talent", "run", "keper", "x", "--json"]).ends(3);
    assert_eq!(missing.error()["code"], "unknown_talent");
    let refused = home.run(&["talent", "run", "keeper", "x", "--output", "pdf", "--json"]).ends(2);
    assert_eq!(refused.error()["code"], "bad_value");
    // The same words in text.
    let text = home.run(&["talent", "log", "keeper"]).ok().out;
    assert!(text.contains(&run) && text.contains("finished"), "{text}");
    assert!(home.run(&["talent", "log", &run]).ok().out.contains("We use redb."));
    home.run(&["talent", "log", "12", "--json"]).ends(3);
}

// execution R15, R110, R112, R135: agents and generators are processes of the daemon, and none of them is a service
#[test]
fn runs_are_processes_of_the_daemon_and_no_services() {
    let home = Home::new();
    let note =
        b"We met about the store and chose one file for each actor, because backups get simple.";
    home.piped(&["chronicle", "add", "--day", "20250109", "--at", "12:00"], note).ok();
    Service::start(&[Turn::Says("One file.")]).serve(&home);
    let segment = ["--day", "20250109", "--segment", "120000_300"];
    home.run(&[&["talent", "run", "activity"], &segment[..]].concat()).ok();
    let generated = home.run(&["talent", "log", "activity", "--json"]).ok().json();
    let events = log(&home, generated["runs"][0]["use_id"].as_str().unwrap());
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["request", "spawned", "start"], "{names:?}");
    let (run, pid) = hanging(&home, &[]);
    assert_ne!(events[1]["pid"], pid, "each run is a process of its own");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let parent = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap();
    assert_eq!(parent, daemon(&home).to_string());
    let said = log(&home, &run);
    assert!(said.iter().any(|event| event["event"] == "start" && event["model"] == "tiny"));
    // The supervisor knows its services and leaves runs alone.
    let status = home.run(&["supervisor", "status", "--json"]).ok().json();
    let services: Vec<&Value> =
        status["services"].as_array().unwrap().iter().map(|service| &service["name"]).collect();
    assert_eq!(services, ["schedule", "triggers"]);
    home.run(&["supervisor", "restart", "schedule"]).ok();
    assert!(test_kill_process(process(pid)).is_ok());
    home.run(&["talent", "cancel", &run]).ok();
    until("the run has ended", || home.path().join(format!("talents/talker/{run}.jsonl")).exists());
    assert_eq!(ended_once(&home, &run)["reason"], "cancelled");
    let again = home.run(&["talent", "cancel", &run]).ends(3);
    assert!(again.err.contains(&format!("run {run} has ended already")), "{again:?}");
}

// T19: pieces of an answer go to the bus, whole messages to the log
#[test]
fn a_log_is_at_most_twice_as_long_as_the_answer() {
    let home = Home::new();
    talent(&home, "talker", "Talk.");
    Service::start(&[Turn::Pieces(12_000)]).serve(&home);
    let ran = home.run(&["talent", "run", "talker", "Go", "--follow", "--json"]).ok();
    let heard = lines(&ran.out);
    let last = heard.last().unwrap();
    let (run, answer) = (last["use_id"].as_str().unwrap(), last["result"].as_str().unwrap());
    assert_eq!(answer.trim().split(' ').count(), 12_000);
    let log = home.path().join(format!("talents/talker/{run}.jsonl"));
    let bytes = fs::metadata(log).unwrap().len();
    assert!(bytes <= 2 * answer.len() as u64, "{bytes} bytes for {} of answer", answer.len());
}

// execution R65: on the bus, in the log and at the terminal
#[test]
fn a_run_that_is_handed_over_says_who_goes_on() {
    let home = Home::new();
    talent(&home, "desk", "{\n\"tools\": [\"hand_over\"]\n}\nSend each to the right one.");
    talent(&home, "expert", "You know about tea.");
    let to = json!({"talent": "expert", "prompt": "Which tea?"});
    Service::start(&[Turn::Calls("hand_over", to), Turn::Says("Green.")]).serve(&home);
    let ran = home.run(&["talent", "run", "desk", "Tea?"]).ok();
    assert_eq!(ran.out, "Green.\n");
    assert!(ran.err.contains("expert goes on"), "{}", ran.err);
    let listed = home.run(&["talent", "log", "desk", "--json"]).ok().json();
    let events = log(&home, listed["runs"][0]["use_id"].as_str().unwrap());
    let told = events.iter().find(|event| event["event"] == "talent_updated").unwrap();
    assert_eq!((&told["agent"], &told["name"]), (&json!("expert"), &json!("desk")));
    assert!(told["ts"].is_u64() && told["use_id"].is_string());
    home.run(&["talent", "check"]).ok();
}

// issue 5: a run that fails or is ended teaches about what it had read, too
#[test]
fn runs_that_do_not_finish_are_attested_with_what_they_read() {
    let home = Home::new();
    let known = home.save(&["Use redb", "One file per actor", "--type", "decision"]);
    talent(&home, "keeper", "{\n\"tools\": [\"memory_recall\"]\n}\nKeep things.");
    let reads = || Turn::Calls("memory_recall", json!({"query": "redb"}));
    let lessons = || home.run(&["salience", "--json"]).ok().json()["lessons"].clone();
    Service::start(&[reads(), Turn::Refuses(401)]).serve(&home);
    home.run(&["talent", "run", "keeper", "What?", "--json"]).ends(1);
    let run = |place: usize| {
        let listed = home.run(&["talent", "log", "--json"]).ok().json();
        listed["runs"][place]["use_id"].as_str().unwrap().to_owned()
    };
    let failed = run(0);
    let end = ended_once(&home, &failed);
    assert_eq!(end["reason"], "provider_key_invalid");
    assert_eq!(end["cited"], json!([known]));
    // T13: a provider that refuses says nothing about a memory.
    assert_eq!(lessons(), json!([]));

    // The process dies in the middle: the runner knows what its tools gave.
    Service::start(&[reads(), Turn::Hangs]).serve(&home);
    let ran = home.run(&["talent", "run", "keeper", "Go", "--detach", "--json"]).ok();
    let died = ran.json()["use_id"].as_str().unwrap().to_owned();
    // What it says after that is on the bus alone.
    let ((mut watcher, out), pid) = follow(&home, &died, "tool_end");
    kill_process(process(pid), Signal::KILL).unwrap();
    drop(out);
    watcher.wait().unwrap();
    until("the run has ended", || {
        home.path().join(format!("talents/keeper/{died}.jsonl")).exists()
    });
    let end = ended_once(&home, &died);
    assert_eq!((&end["reason"], &end["cited"]), (&json!("no_finish"), &json!([known])));
    assert_eq!(lessons(), json!([]));
}

// issue 5: SIGKILL of the daemon: after restart one terminal event, no orphan process, no ghost file; execution 9.12
#[test]
fn a_daemon_that_is_killed_leaves_one_end_and_no_process() {
    let home = Home::new();
    let (run, pid) = hanging(&home, &[]);
    let ((mut watcher, out), _) = follow(&home, &run, "start");
    kill_process(process(daemon(&home)), Signal::KILL).unwrap();
    // Whoever watches brings the daemon back, which ends the run and tells how.
    let rest: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    watcher.wait().unwrap();
    assert_eq!(rest.last().unwrap()["reason"], "recovered", "{rest:?}");
    assert_eq!(ended_once(&home, &run)["reason"], "recovered");
    until("the process of the run is gone", || test_kill_process(process(pid)).is_err());
    assert!(home.path().join(format!("talents/talker/{run}.jsonl")).exists());
    assert!(!home.path().join(format!("talents/talker/{run}_active.jsonl")).exists());
    // T13: it named no memory, so there is nothing to learn from it.
    let journal = home.run(&["journal", "--json"]).ok().out;
    assert!(!journal.contains(&format!("talent/talker/{run}")), "{journal}");
}

// execution 9.11
#[test]
fn an_interrupt_cancels_the_run() {
    let home = Home::new();
    Service::start(&[Turn::Hangs]).serve(&home);
    talent(&home, "talker", "Talk.");
    let mut child = home
        .command()
        .args(["talent", "run", "talker", "Go", "--follow", "--json"])
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"start\"") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0);
    }
    kill_process(process(child.id()), Signal::INT).unwrap();
    let rest: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let last = rest.last().unwrap();
    assert_eq!((&last["event"], &last["reason"]), (&json!("error"), &json!("cancelled")));
    let run = last["use_id"].as_str().unwrap();
    assert_eq!(ended_once(&home, run)["reason"], "cancelled");
    home.run(&["talent", "cancel", run, "--json"]).ends(3);
}

// execution 9.4, 9.11
#[test]
fn runs_are_cancelled_by_name_and_end_with_the_daemon() {
    let home = Home::new();
    let (run, _) = hanging(&home, &[]);
    let cancelled = home.run(&["talent", "cancel", "--name", "talker", "--json"]).ok().json();
    assert_eq!(cancelled["cancelled"], json!([run]));
    until("the run has ended", || home.run(&["talent", "log", "--json"]).ok().json()["total"] == 1);
    assert_eq!(ended_once(&home, &run)["reason"], "cancelled");
    let (run, pid) = hanging(&home, &[]);
    home.run(&["stop"]).ok();
    assert_eq!(ended_once(&home, &run)["reason"], "shutdown");
    assert!(test_kill_process(process(pid)).is_err());
    until("the bus is gone", || !home.path().join("run/callosum.sock").exists());
    let none = home.run(&["talent", "cancel", &run, "--json"]).ends(3);
    assert_eq!(none.error()["code"], "no_bus");
}

#[test]
fn a_daemon_with_a_run_is_not_idle() {
    let home = Home::new();
    fs::write(home.path().join("cortex.toml"), "").unwrap();
    Service::start(&[Turn::Hangs]).serve(&home);
    talent(&home, "talker", "Talk.");
    let started = home
        .command()
        .env("CORTEX_DAEMON_IDLE_SECONDS", "1")
        .args(["talent", "run", "talker", "Go", "--detach", "--timeout", "4"])
        .output()
        .unwrap();
    let run = String::from_utf8(started.stdout).unwrap().trim().to_owned();
    until("the run has ended", || home.path().join(format!("talents/talker/{run}.jsonl")).exists());
    // Asking it would keep it awake.
    until("the daemon has ended by itself", || !home.path().join("run/cortex.sock").exists());
    let last = ended_once(&home, &run);
    assert_eq!(last["reason"], "timeout", "{last}");
}

// execution 9.1-9.3, R7
#[test]
fn the_bus_is_heard_and_spoken_to() {
    let home = Home::new();
    assert_eq!(home.run(&["bus", "status", "--json"]).ends(3).error()["code"], "no_bus");
    let (run, _) = hanging(&home, &[]);
    let mut child = home.command().args(["bus", "listen", "--tract", "notes"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    until("the listener is there", || {
        home.run(&["bus", "status"]).ok().out.contains("client listen")
    });
    home.run(&["bus", "send", "other", "thing"]).ok();
    home.run(&["bus", "send", "notes", "added", "title=Standup", "count=3"]).ok();
    home.piped(&["bus", "send", "-"], b"{\"tract\":\"notes\",\"event\":\"gone\"}").ok();
    let mut heard = Vec::new();
    for _ in 0..2 {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        heard.push(serde_json::from_str::<Value>(&line).unwrap());
    }
    assert_eq!((&heard[0]["title"], &heard[0]["count"]), (&json!("Standup"), &json!(3)));
    assert_eq!(heard[1]["event"], "gone");
    kill_process(process(child.id()), Signal::TERM).unwrap();
    child.wait().unwrap();
    let forged = home.run(&["bus", "send", "cortex", "finish", "use_id=1", "--json"]).ends(4);
    assert_eq!(forged.error()["code"], "reserved");
    home.run(&["bus", "send", "[1]"]).ends(2);
    home.run(&["talent", "cancel", &run]).ok();
    until("the run has ended", || home.run(&["talent", "log", "--json"]).ok().json()["total"] == 1);
    let replayed = home.run(&["bus", "listen", "--use-id", &run, "--replay"]).ok().out;
    let events: Vec<Value> = lines(&replayed);
    assert_eq!(events.first().unwrap()["event"], "request");
    assert_eq!(events.last().unwrap()["reason"], "cancelled");
}

/// A home that was away since the day before yesterday, with something in yesterday's chronicle.
fn missed_a_day(home: &Home) -> (String, String) {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |back: i64| {
        today.checked_sub(jiff::Span::new().days(back)).unwrap().strftime("%Y%m%d").to_string()
    };
    let (before, yesterday) = (day(2), day(1));
    home.piped(
        &["chronicle", "add", "--day", &yesterday, "--at", "12:00"],
        b"We chose redb for the store, because it is one file for each actor and needs no threads.",
    )
    .ok();
    fs::create_dir_all(home.path().join("run")).unwrap();
    let state = json!({"done": before, "at": 1});
    fs::write(home.path().join("run/schedule.json"), state.to_string()).unwrap();
    (before, yesterday)
}

fn days_done(home: &Home, day: &str) {
    home.run(&["talent", "run", "nobody", "x"]);
    until("the day is worked through", || {
        let status = home.run(&["supervisor", "status", "--json"]).ok().json();
        status["schedule"]["done"] == day
    });
}

// execution R94, R116-R121, R131-R134, 9.18
#[test]
fn a_day_that_was_missed_is_worked_through() {
    let home = Home::new();
    let (_, yesterday) = missed_a_day(&home);
    // The activity of the segment, then its facets, which are JSON; the talents of the day come after them.
    let service = Service::start(&[Turn::Says("We chose redb."), Turn::Says("[]")]);
    service.serve(&home);
    let config = home.path().join("cortex.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n[runner]\nzone = \"UTC\"\n")).unwrap();
    talent(
        &home,
        "letter",
        "{\n\"title\": \"Letter\",\n\"schedule\": \"daily\",\n\"priority\": 5,\n\"output\": \"md\"\n}\nWrite.",
    );
    days_done(&home, &yesterday);
    let output = home.path().join(format!("chronicle/{yesterday}/talents/letter.md"));
    let log = home.run(&["talent", "log"]).ok().out;
    assert!(output.exists(), "{log}");
    assert_eq!(fs::read_to_string(output).unwrap().trim(), "nothing more");
    // T17: an output is found where it is asked for, and is no memory
    let found = home.run(&["search", "nothing more", "--outputs", "--json"]).ok().json();
    let mut outputs = found["outputs"].as_array().unwrap().iter();
    assert!(outputs.any(|output| output["talent"] == "letter"), "{found}");
    let asked = service.asked().len();
    assert!(asked > 0);
    let status = home.run(&["supervisor", "status"]).ok().out;
    assert!(status.contains("schedule") && status.contains("running"), "{status}");
    home.run(&["supervisor", "restart", "schedule"]).ok();
    let unknown = home.run(&["supervisor", "restart", "nobody", "--json"]).ends(3);
    assert_eq!(unknown.error()["code"], "unknown_service");
    // A daemon that starts again does not do it again.
    home.run(&["stop"]).ok();
    days_done(&home, &yesterday);
    assert_eq!(service.asked().len(), asked);
}

// law 6: no provider, no call
#[test]
fn without_a_provider_the_night_does_nothing() {
    let home = Home::new();
    let (_, yesterday) = missed_a_day(&home);
    fs::write(home.path().join("cortex.toml"), "[runner]\nzone = \"UTC\"\n").unwrap();
    days_done(&home, &yesterday);
    assert_eq!(home.run(&["talent", "log", "--json"]).ok().json()["total"], 0);
    // The day has a brief all the same.
    let brief = home.path().join(format!("chronicle/{yesterday}/talents/daily_brief.md"));
    assert!(fs::read_to_string(brief).unwrap().contains("Written by rules"));
}
