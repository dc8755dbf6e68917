//! Our own export: what leaves comes back equal, once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sources;
use crate::support::Home;

/// A home with something of everything, at many moments.
fn full_home() -> Home {
    let home = Home::new();
    let mut minute = 0;
    let mut at = |arguments: &[&str]| {
        minute += 1;
        let now = format!("2026-01-02T03:{:02}:{:02}.123Z", minute / 60, minute % 60);
        home.run(&[&["--now", &now, "--by", "ada"], arguments].concat()).ok()
    };
    at(&[
        "session",
        "start",
        "s-1",
        "--project",
        "web",
        "--directory",
        "/src/web",
        "--agent",
        "claude",
    ]);
    at(&[
        "save",
        "Use redb",
        "One file\n\n- a\n- b",
        "--type",
        "decision",
        "--project",
        "web",
        "--session",
        "s-1",
        "--tag",
        "storage",
        "--tag",
        "two words",
        "--topic-key",
        "architecture/store",
        "--importance",
        "0.123456",
        "--field",
        "rationale=simple",
        "--field",
        "alternatives=sqlite",
        "--field",
        "alternatives=sled",
    ]);
    at(&[
        "save",
        "Never push on Fridays",
        "",
        "--kind",
        "rule",
        "--field",
        "strength=hard",
        "--pinned",
    ]);
    at(&[
        "save",
        "Ada likes tabs",
        "",
        "--type",
        "preference",
        "--scope",
        "personal",
        "--visibility",
        "private",
        "--field",
        "polarity=prefer",
        "--field",
        "strength=0.75",
        "--confidence",
        "0.5",
    ]);
    at(&[
        "save",
        "Release went out",
        "",
        "--kind",
        "event",
        "--field",
        "happened_at=2025-12-31",
        "--field",
        "outcome=success",
    ]);
    at(&[
        "save",
        "A <b> \"quoted\" — ünïcödé 日本語 ☃\ttab",
        "x",
        "--kind",
        "own-word",
        "--channel",
        "irc",
        "--valid-from",
        "2025-01-01",
        "--valid-until",
        "2027-01-01",
        "--expires",
        "2030-01-01",
    ]);
    at(&["update", "2", "--content", "One file, no threads"]);
    at(&["update", "2", "--title", "Use redb for the store"]);
    at(&[
        "save",
        "Seen often",
        "",
        "--type",
        "pattern",
        "--field",
        "evidence=2",
        "--field",
        "evidence=3",
        "--field",
        "coverage=2",
        "--derived-from",
        "2#2",
    ]);
    at(&["relate", "2", "references", "3", "--weight", "0.25"]);
    at(&["relate", "5", "supersedes", "4"]);
    at(&["prompt", "Please choose a store", "--session", "s-1", "--project", "web"]);
    at(&["update", "3", "--tag", "late"]);
    at(&["save", "To be forgotten", "old"]);
    let last = at(&["find", "--type", "fact", "--limit", "5", "--json"]).out;
    let forgotten = id_of(&last, "To be forgotten");
    at(&["relate", &forgotten, "relates_to", "2"]);
    at(&["forget", &forgotten, "--reason", "no longer true"]);
    at(&["session", "end", "s-1", "--summary", "Chose redb"]);
    home
}

fn id_of(found: &str, title: &str) -> String {
    let hit = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        let items = value["items"].as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        items.iter().find(|item| item["text"] == title).map(|item| item["id"].to_string())
    };
    found.lines().find_map(hit).unwrap_or_else(|| panic!("{title}: {found}"))
}

fn lines(home: &Home) -> Vec<Value> {
    let out = home.run(&["export", "--all"]).ok().out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An export with ids replaced by the order of memories, and without what names the store.
fn plain(lines: &[Value]) -> Vec<Value> {
    let ids: Vec<u64> = lines
        .iter()
        .filter(|l| l["record"] == "memory")
        .map(|l| l["id"].as_u64().unwrap())
        .collect();
    let places: BTreeMap<u64, usize> = ids.into_iter().enumerate().map(|(n, id)| (id, n)).collect();
    let place = |id: &Value| json!(format!("memory {}", places[&id.as_u64().unwrap()]));
    let reference = |text: &Value| {
        let (id, version) = text.as_str().unwrap().split_once('#').unwrap();
        json!(format!("{}#{version}", places[&id.parse::<u64>().unwrap()]))
    };
    let mut lines = lines.to_vec();
    for line in &mut lines {
        for key in ["exported_at", "store", "origin"] {
            line.as_object_mut().unwrap().remove(key);
        }
        match line["record"].as_str().unwrap() {
            "memory" => {
                line["id"] = place(&line["id"]);
                for version in line["versions"].as_array_mut().unwrap() {
                    for text in version["derived_from"].as_array_mut().unwrap() {
                        *text = reference(text);
                    }
                    if let Some(evidence) = version["fields"].get_mut("evidence") {
                        for id in evidence.as_array_mut().unwrap() {
                            *id = place(id);
                        }
                    }
                }
            }
            "edge" => {
                line["from"] = place(&line["from"]);
                line["to"] = place(&line["to"]);
            }
            "prompt" => drop(line.as_object_mut().unwrap().remove("id")),
            _ => {}
        }
    }
    lines
}

#[test]
fn an_export_imported_into_an_empty_home_is_equal() {
    let home = full_home();
    let before = lines(&home);
    home.run(&["export", "--all", "-o", "all.jsonl"]).ok();
    let other = Home::new();
    let file = home.path().join("all.jsonl");
    let report = other.run(&["import", file.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(report["format"], "cortex");
    assert_eq!(report["skipped"]["total"], 0, "{report:#}");
    assert_eq!(report["references_left_out"], 0);
    let after = lines(&other);
    let (before, after) = (plain(&before), plain(&after));
    for (one, two) in before.iter().zip(&after) {
        assert_eq!(one, two);
    }
    assert_eq!(before.len(), after.len());
    other.run(&["verify"]).ok();

    // Again: nothing. And back home: nothing either, each knows its own.
    let root = other.root();
    let again = other.run(&["import", file.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(again["memories"]["new"], 0, "{again}");
    assert_eq!((other.root(), &again["skipped"]["total"]), (root, &json!(0)));
    let root = home.root();
    let native = home.run(&["import", "all.jsonl", "--json"]).ok().json();
    assert_eq!(native["memories"]["new"], 0, "{native}");
    assert_eq!(home.root(), root);
    other.run(&["export", "--all", "-o", "back.jsonl"]).ok();
    let back = other.path().join("back.jsonl");
    let returned = home.run(&["import", back.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(returned["memories"]["new"], 0, "{returned}");
    assert_eq!(home.root(), root);
}

#[test]
fn what_changed_since_the_last_export_arrives_with_the_next() {
    let home = full_home();
    let other = Home::new();
    let file = home.path().join("all.jsonl");
    let carry = || {
        home.run(&["export", "--all", "-o", "all.jsonl"]).ok();
        other.run(&["import", file.to_str().unwrap(), "--json"]).ok().json()
    };
    carry();
    home.run(&["update", "2", "--content", "third version"]).ok();
    home.run(&["update", "3", "--tag", "later"]).ok();
    home.run(&["forget", "4", "--reason", "over"]).ok();
    home.save(&["A new one"]);
    let report = carry();
    assert_eq!(report["memories"]["new"], 1, "{report}");
    assert_eq!((&report["versions"], &report["forgotten"]), (&json!(1), &json!(1)), "{report}");
    let memories = lines(&other);
    let stored = memories.iter().find(|m| m["versions"][0]["title"] == "Use redb").unwrap();
    assert_eq!(stored["versions"][3]["content"], "third version");
    let rule =
        memories.iter().find(|m| m["versions"][0]["title"] == "Never push on Fridays").unwrap();
    assert_eq!(rule["tags"], json!(["later"]));
}

#[test]
fn a_selection_is_whole_in_itself() {
    let home = full_home();
    let out = home.run(&["export", "--project", "web"]).ok().out;
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["cortex_export"], 1);
    assert_eq!(lines[0]["project"], "web");
    let count = |record: &str| lines.iter().filter(|line| line["record"] == record).count();
    // The edge leads to a memory of no project.
    assert_eq!((count("memory"), count("edge"), count("session"), count("prompt")), (1, 0, 1, 1));
    assert_eq!(
        lines.last().unwrap(),
        &json!({"record": "end", "memories": 1, "edges": 0, "sessions": 1, "prompts": 1})
    );
    // Forgotten ones only when asked for.
    let titles = |out: &str| out.matches("To be forgotten").count();
    assert_eq!(titles(&home.run(&["export"]).ok().out), 0);
    assert_eq!(titles(&home.run(&["export", "--all"]).ok().out), 1);
    // Erased ones never.
    home.run(&["erase", "2", "--yes", "--reason", "private"]).ok();
    assert!(!home.run(&["export", "--all"]).ok().out.contains("Use redb"));
}

#[test]
fn a_damaged_export_gives_what_is_left_of_it() {
    let home = full_home();
    let out = home.run(&["export", "--all"]).ok().out;
    let mut damaged: Vec<String> = out.lines().map(str::to_owned).collect();
    let whole = damaged.len();
    damaged.pop();
    damaged.insert(3, "{\"record\":\"memory\"".into());
    damaged
        .insert(3, "{\"record\":\"memory\",\"id\":99,\"type\":\"Belief\",\"versions\":[]}".into());
    let edge = r#"{"record":"edge","from":1,"relation":"x","to":2,"weight":7,"by":"a","at":""}"#;
    damaged.insert(3, edge.into());
    std::fs::write(home.path().join("damaged.jsonl"), damaged.join("\n")).unwrap();
    let other = Home::new();
    let file = home.path().join("damaged.jsonl");
    // serving S34: what is there is kept, and that it is not all is no success.
    let report = other.run(&["import", file.to_str().unwrap(), "--json"]).ends(2).json();
    assert_eq!(report["skipped"]["total"], 4, "{report:#}");
    assert!(report["incomplete"].is_string(), "{report:#}");
    assert!(report["skipped"]["rows"].to_string().contains("cut off"));
    assert_eq!(lines(&other).len(), whole);
    // A format of the future is refused before anything is written.
    let header =
        r#"{"record":"header","cortex_export":2,"actor":"a","store":"s","exported_at":""}"#;
    std::fs::write(&file, format!("{header}\n")).unwrap();
    Home::new().run(&["import", file.to_str().unwrap()]).ends(2);
}

#[test]
fn a_file_of_others_is_never_overwritten() {
    let home = full_home();
    std::fs::write(home.path().join("mine.txt"), "mine").unwrap();
    let ran = home.run(&["export", "-o", "mine.txt", "--json"]).ends(4);
    assert!(ran.error()["message"].as_str().unwrap().contains("no export of ours"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(home.path().join("mine.txt")).unwrap(), "mine");
    home.run(&["export", "-o", "memories.jsonl"]).ok();
    home.run(&["export", "-o", "memories.jsonl"]).ok();
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().filter_map(Result::ok).collect();
    assert!(
        !left.iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".part")),
        "{left:?}"
    );
    home.run(&["export", "-o", "no/such/folder/x.jsonl"]).ends(3);
}

/// The import of another tool travels on: its origin stays what it was.
#[test]
fn an_origin_survives_a_move() {
    let home = Home::new();
    let (path, _running) = sources::engram(home.path());
    home.run(&["import", path.to_str().unwrap()]).ok();
    home.run(&["export", "--all", "-o", "all.jsonl"]).ok();
    let other = Home::new();
    let file = home.path().join("all.jsonl");
    other.run(&["import", file.to_str().unwrap()]).ok();
    // The tool itself adds nothing there any more.
    let report = other.run(&["import", path.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(report["memories"], json!({"new": 0, "changed": 0, "unchanged": 6}), "{report}");
}

/// Versions that do not fit on one line go on lines of their own.
#[test]
fn many_large_versions_come_back_in_order() {
    let home = Home::new();
    // White space is text too, and quick to index.
    let content = |n: u32| format!("version {n} {} end", " ".repeat(1_000_000));
    home.piped(&["save", "Large", "-"], content(1).as_bytes()).ok();
    for n in 2..=6 {
        home.piped(&["update", "1", "--content", "-"], content(n).as_bytes()).ok();
    }
    home.run(&["forget", "1", "--reason", "large"]).ok();
    home.run(&["export", "--all", "-o", "large.jsonl"]).ok();
    let text = std::fs::read_to_string(home.path().join("large.jsonl")).unwrap();
    assert!(text.lines().any(|line| line.starts_with("{\"record\":\"versions\"")));
    let other = Home::new();
    let file = home.path().join("large.jsonl");
    let report = other.run(&["import", file.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(
        (&report["versions"], &report["skipped"]["total"]),
        (&json!(5), &json!(0)),
        "{report}"
    );
    let gathered = |home: &Home| -> Vec<Value> {
        let of = |line: &Value| line["versions"].as_array().cloned().unwrap_or_default();
        lines(home).iter().flat_map(of).map(|version| version["content"].clone()).collect()
    };
    assert_eq!(gathered(&other), gathered(&home));
    assert_eq!(gathered(&other).len(), 6);
}
