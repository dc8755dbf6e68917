//! `cortex think` as it is used: the real daemon runs real talent processes, a scripted service answers, outputs become
//! memories.

use std::fs;

use serde_json::{Value, json};

use crate::service::{Service, Turn};
use crate::support::Home;

const DAY: &str = "20250109";

/// A home with one note in one segment and only the talents given.
fn home(talents: &[(&str, &str)]) -> Home {
    let home = Home::new();
    let folder = home.path().join("talent");
    fs::create_dir_all(&folder).unwrap();
    for name in ["activity", "facets", "decisions", "followups", "daily_brief", "knowledge"] {
        fs::write(folder.join(format!("{name}.md")), "{\n\"disabled\": true\n}\nOff.").unwrap();
    }
    for (name, text) in talents {
        fs::write(folder.join(format!("{name}.md")), text).unwrap();
    }
    let note =
        "We met about the store and chose one file for each actor, because backups get simple.";
    home.piped(&["chronicle", "add", "--day", DAY, "--at", "12:00"], note.as_bytes()).ok();
    home
}

const SUMMARY: &str = "{\n\"title\": \"Summary\",\n\"schedule\": \"segment\",\n\"priority\": 20,\n\
    \"output\": \"md\",\n\"load\": {\"transcripts\": true}\n}\nSum up.";

fn think(home: &Home, more: &[&str]) -> crate::support::Ran {
    home.run(&[&["think", "--day", DAY, "--json"], more].concat())
}

// execution R113-R117
#[test]
fn a_day_is_worked_through_and_its_outputs_are_found() {
    let home = home(&[("summary", SUMMARY)]);
    Service::start(&[
        Turn::Says("One file per actor."),
        Turn::Says("One file per actor, for backups."),
    ])
    .serve(&home);
    let first = think(&home, &[]).ok();
    let report = first.json();
    let unit = &report["units"][0];
    assert_eq!((&unit["state"], &unit["indexed"]), (&json!("finished"), &json!(true)), "{first:?}");
    assert!(first.err.contains("120000_300, priority 20: 1 to run"), "{}", first.err);
    let path = home.path().join(format!("chronicle/{DAY}/120000_300/summary.md"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "One file per actor.\n");
    let found = |home: &Home, how: &[&str]| {
        home.run(&[&["search", "file per actor", "--json"], how].concat()).ok().json()
    };
    // T17: an output is found where it is asked for, and is no memory
    let outputs = found(&home, &["--outputs"]);
    assert_eq!(
        (&outputs["matches"], &outputs["outputs"][0]["talent"]),
        (&json!(1), &json!("summary"))
    );
    assert_eq!(found(&home, &[])["hits"], json!([]));
    // What is there is left alone.
    let again = think(&home, &[]).ok().json();
    assert_eq!(
        (&again["units"], &again["skipped"][0]["reason"]),
        (&json!([]), &json!("already_complete"))
    );
    think(&home, &["--refresh", "--segment", "120000_300"]).ok();
    let after = found(&home, &["--outputs"]);
    assert_eq!(after["matches"], 1, "{after}");
    assert_eq!(after["outputs"][0]["preview"], "One file per actor, for backups.");
}

// execution R119, R121, R125-R128; section 9, 16
#[test]
fn facets_that_a_talent_finds_are_worked_on_in_the_same_run() {
    let facets = "{\n\"schedule\": \"segment\",\n\"priority\": 90,\n\"output\": \"json\",\n\
        \"load\": {\"transcripts\": true}\n}\nFind facets.";
    let each = "{\n\"schedule\": \"segment\",\n\"priority\": 95,\n\"multi_facet\": true,\n\
        \"output\": \"md\",\n\"load\": {\"transcripts\": true}\n}\nAbout {{ facet }}.";
    let home = home(&[("facets", facets), ("each", each)]);
    home.run(&["facet", "add", "work"]).ok();
    home.run(&["facet", "add", "play"]).ok();
    home.run(&["facet", "mute", "play"]).ok();
    let service = Service::start(&[
        Turn::Says(
            "[{\"facet\": \"work\", \"activity\": \"Met\", \"level\": \"high\"}, {\"facet\": \"play\"}]",
        ),
        Turn::Says("Work was done."),
    ]);
    service.serve(&home);
    let report = think(&home, &[]).ok().json();
    let done: Vec<&Value> =
        report["units"].as_array().unwrap().iter().map(|unit| &unit["facet"]).collect();
    assert_eq!(done, [&Value::Null, &json!("work")], "{report}");
    let path = home.path().join(format!("chronicle/{DAY}/120000_300/work/each.md"));
    assert_eq!(fs::read_to_string(path).unwrap(), "Work was done.\n");
    assert!(service.asked()[1]["messages"].to_string().contains("facet \\\"work\\\" only"));
}

// execution R116; section 9, 15
#[test]
fn what_failed_is_told_and_hides_nothing_else() {
    let broken = "{\n\"schedule\": \"segment\",\n\"priority\": 10,\n\"output\": \"md\",\n\
        \"provider\": \"nobody\",\n\"load\": {\"transcripts\": true}\n}\nX";
    let home = home(&[("summary", SUMMARY), ("broken", broken)]);
    Service::start(&[Turn::Says("One file.")]).serve(&home);
    let ran = think(&home, &[]).ends(1);
    let report = ran.json();
    let states: Vec<(&Value, &Value)> = report["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| (&unit["talent"], &unit["state"]))
        .collect();
    assert_eq!(
        states,
        [(&json!("broken"), &json!("failed")), (&json!("summary"), &json!("finished"))]
    );
    assert_eq!(ran.error()["code"], "think_failed");
    assert!(report["units"][0]["reason"].as_str().unwrap().contains("nobody"), "{report}");
}

// What is wrong with a file is told once, however many groups look at it; and errors say what to do.
#[test]
fn problems_are_told_once_and_errors_say_what_to_do() {
    let home = home(&[("summary", SUMMARY), ("later", &SUMMARY.replace("20", "30"))]);
    let broken = home.path().join(format!("chronicle/{DAY}/120000_300/facets.json"));
    fs::write(&broken, "no JSON").unwrap();
    let planned = home.run(&["think", "--day", DAY, "--dry-run"]).ok();
    assert_eq!(planned.err.matches("facets.json").count(), 1, "{}", planned.err);
    Service::start(&[]).serve(&home);
    let first = home.run(&["think", "--day", DAY]).ok();
    assert_eq!(first.err.matches("facets.json").count(), 1, "{}", first.err);
    let again = home.run(&["think", "--day", DAY]).ok();
    assert!(again.err.contains("--refresh writes them anew"), "{}", again.err);
    let unplanned = home.run(&["think", "--day", DAY, "--talent", "default"]).ends(2);
    assert!(unplanned.err.contains("the talent default has no schedule\n"), "{}", unplanned.err);
    assert!(unplanned.err.contains("`cortex talent run default` runs it"), "{}", unplanned.err);
    let listed = home.run(&["chronicle", "list", DAY]).ok().out;
    assert_eq!(listed, home.run(&["chronicle", "list", "--day", DAY]).ok().out);
    fs::write(home.path().join("call.jsonl"), "no JSON").unwrap();
    let refused = home.run(&["chronicle", "add", "call.jsonl", "--day", DAY]).ends(2);
    assert!(refused.err.contains("--as text takes it as it is"), "{}", refused.err);
}
