//! Markdown: folders for Obsidian out, folders of notes in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Home;

fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

fn home() -> Home {
    let home = Home::new();
    home.save(&[
        "Use redb: one file",
        "It *works*.",
        "--type",
        "decision",
        "--project",
        "web",
        "--tag",
        "two words",
    ]);
    home.save(&["../../etc/passwd", "escape", "--project", "../.."]);
    home.save(&["--project", "CON", "--", "---\"quoted\": [[x]]", "text"]);
    home.save(&["--", "No project", "---\nnot: front\n---"]);
    home.run(&["relate", "1", "supersedes", "4"]).ok();
    home
}

// agent-memory 10-12: exported Markdown/Obsidian
#[test]
fn a_folder_for_obsidian_has_front_matter_links_and_safe_names() {
    let home = home();
    let report = home.run(&["export", "--format", "markdown", "-o", "vault", "--json"]).ok().json();
    assert_eq!(
        (&report["memories"], &report["edges"], &report["written"]),
        (&json!(4), &json!(1), &json!(4))
    );
    let files = tree(&home.path().join("vault"));
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            ".cortex-export",
            "no project/No project (4).md",
            "no project/etc passwd (2).md",
            "project con/--- quoted x (3).md",
            "web/Use redb one file (1).md",
        ]
    );
    let note = &files["web/Use redb one file (1).md"];
    assert!(note.starts_with("---\ntitle: \"Use redb: one file\"\ntype: \"Decision\"\n"), "{note}");
    assert!(note.contains("\ntags: [\"two-words\"]\n"), "{note}");
    assert!(note.contains("\n# Use redb: one file\n\nIt *works*.\n"), "{note}");
    assert!(note.ends_with("\n## Relations\n\n- supersedes [[No project (4)]]\n"), "{note}");
}

#[test]
fn a_second_export_brings_the_folder_up_to_date_and_leaves_what_is_yours() {
    let home = home();
    let vault = home.path().join("vault");
    let export =
        || home.run(&["export", "--format", "markdown", "-o", "vault", "--json"]).ok().json();
    export();
    let first = tree(&vault);
    let again = export();
    assert_eq!((&again["written"], &again["unchanged"]), (&json!(0), &json!(4)));
    assert_eq!(tree(&vault), first);

    let mine = vault.join("web/My own note.md");
    fs::write(&mine, "mine").unwrap();
    let edited = vault.join("no project/No project (4).md");
    fs::write(&edited, "edited by hand").unwrap();
    home.run(&["update", "1", "--content", "It works well."]).ok();
    home.run(&["forget", "2", "--reason", "x"]).ok();
    home.run(&["forget", "4", "--reason", "x"]).ok();
    let third = export();
    assert_eq!(
        (&third["written"], &third["removed"], &third["kept"]),
        (&json!(1), &json!(1), &json!(1)),
        "{third}"
    );
    assert_eq!(third["kept_files"], json!(["no project/No project (4).md"]));
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(fs::read_to_string(&edited).unwrap(), "edited by hand");
    assert!(!vault.join("project/etc passwd (2).md").exists());
}

#[test]
fn a_folder_of_others_is_refused() {
    let home = home();
    let folder = home.path().join("mine");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("note.md"), "mine").unwrap();
    let ran = home.run(&["export", "--format", "markdown", "-o", "mine", "--json"]).ends(4);
    assert!(ran.error()["message"].as_str().unwrap().contains("not empty"), "{ran:?}");
    assert_eq!(tree(&folder).len(), 1);
    home.run(&["export", "--format", "markdown"]).ends(2);
}

#[test]
fn notes_of_basic_memory_and_obsidian_arrive() {
    let home = Home::new();
    let vault = home.path().join("vault");
    let write = |name: &str, text: &[u8]| {
        let path = vault.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("design/Store.md", b"---\ntitle: Store design\ntype: decision\npermalink: design/store\ntags:\n- storage\n\
        created: 2026-02-03T10:00:00Z\nmodified: 2026-02-04T10:00:00Z\n---\n\n# Store design\n\n\
        - [decision] Use redb #engine (measured)\n- supersedes [[Old Store]]\n- part_of [[Index]] (see)\n");
    write("Old Store.md", b"---\ndate: 2025-01-01\n---\nWe used files.\n");
    write("index.md", b"# Index\n\nAll about [[design/store]], [[Nowhere]].\n");
    write(".obsidian/app.md", b"not a note");
    write("bad.md", b"\xff\xfe");
    write("empty.md", b"");
    write("picture.png", b"x");
    let report = home.run(&["import", "vault", "--project", "notes", "--json"]).ok().json();
    assert_eq!(report["format"], "markdown");
    assert_eq!(report["memories"]["new"], 4, "{report:#}");
    assert_eq!(report["edges"]["new"], 3, "{report:#}");
    let skipped = report["skipped"]["rows"].to_string();
    assert!(skipped.contains("bad.md") && skipped.contains("nowhere"), "{skipped}");
    let out = home.run(&["export"]).ok().out;
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let design = lines.iter().find(|l| l["versions"][0]["title"] == "Store design").unwrap();
    assert_eq!(design["created"], "2026-02-03T10:00:00.000Z");
    assert_eq!(design["updated"], "2026-02-04T10:00:00.000Z");
    assert_eq!(design["kind"], "decision");
    assert_eq!(design["tags"], json!(["decision", "engine", "storage"]));
    assert_eq!(design["origin"], "markdown:vault/design/store");
    assert!(
        design["versions"][0]["content"].as_str().unwrap().starts_with("- [decision] Use redb")
    );
    let root = home.root();
    let again = home.run(&["import", "vault", "--project", "notes", "--json"]).ok().json();
    assert_eq!(again["memories"], json!({"new": 0, "changed": 0, "unchanged": 4}));
    assert_eq!(home.root(), root);
}

/// Notes that we wrote know where they are from.
#[test]
fn our_own_notes_add_nothing_at_home_and_arrive_elsewhere() {
    let home = home();
    home.run(&["export", "--format", "markdown", "-o", "vault"]).ok();
    let root = home.root();
    let report = home.run(&["import", "vault", "--json"]).ok().json();
    assert_eq!(report["memories"], json!({"new": 0, "changed": 0, "unchanged": 4}), "{report}");
    assert_eq!(home.root(), root);
    let other = Home::new();
    let vault = home.path().join("vault");
    let report = other.run(&["import", vault.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(
        (&report["memories"]["new"], &report["edges"]["new"]),
        (&json!(4), &json!(1)),
        "{report}"
    );
}

// serving S33: what came from another tool comes back unchanged too, and fields that were edited count as words do.
#[test]
fn a_note_of_an_imported_memory_is_the_memory_with_its_fields() {
    let home = Home::new();
    let graph = "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"likes redb\"]}\n";
    fs::write(home.path().join("graph.jsonl"), graph).unwrap();
    home.run(&["import", "graph.jsonl", "--from", "server-memory"]).ok();
    home.run(&["save", "Ship it", "Before the fair.", "--kind", "todo"]).ok();
    let export = || home.run(&["export", "--format", "markdown", "-o", "vault"]).ok();
    let import = || home.run(&["import", "vault", "--json"]).ok().json();
    export();
    assert_eq!(import()["memories"], json!({"new": 0, "changed": 0, "unchanged": 2}));
    // Changed here, and exported again: the copy is what is here.
    home.run(&["update", "1", "--content", "likes redb and ships"]).ok();
    export();
    assert_eq!(import()["memories"], json!({"new": 0, "changed": 0, "unchanged": 2}));
    let notes: Vec<_> = walk(&home.path().join("vault"));
    let goal = notes.iter().find(|note| note.to_string_lossy().contains("Ship it")).unwrap();
    let text = fs::read_to_string(goal).unwrap();
    assert!(text.contains("field_status: \"active\""), "{text}");
    fs::write(goal, text.replace("field_status: \"active\"", "field_status: \"done\"")).unwrap();
    assert_eq!(import()["memories"]["changed"], 1);
    let got = home.run(&["get", "2", "--json"]).ok().json();
    assert_eq!(got["fields"]["status"], "done", "{got}");
    let other = Home::new();
    let vault = home.path().join("vault");
    other.run(&["import", vault.to_str().unwrap()]).ok();
    let all: String =
        ["1", "2"].iter().map(|id| other.run(&["get", id, "--json"]).ok().out).collect();
    assert!(all.contains("\"status\":\"done\"") && all.contains("\"subject\":\"Ada\""), "{all}");
}

/// Every file below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

// serving S33
#[test]
fn a_note_that_was_edited_comes_back_as_a_new_version() {
    let home = home();
    home.run(&["export", "--format", "markdown", "-o", "vault"]).ok();
    let note = home.path().join("vault/web/Use redb one file (1).md");
    let text = fs::read_to_string(&note).unwrap();
    fs::write(&note, text.replace("It *works*.", "It *works*, also after kill -9.")).unwrap();
    let import = || home.run(&["import", "vault", "--json"]).ok().json();
    let report = import();
    assert_eq!(report["memories"], json!({"new": 0, "changed": 1, "unchanged": 3}), "{report}");
    let got = home.run(&["get", "1", "--json"]).ok().json();
    assert_eq!(
        (&got["version"], &got["content"]),
        (&json!(2), &json!("It *works*, also after kill -9.")),
        "{got}"
    );
    let before = home.run(&["get", "1#1", "--json"]).ok().json();
    assert_eq!(before["content"], "It *works*.");
    // Once is enough; and a note of before, which somebody kept, takes nothing back.
    assert_eq!(import()["memories"]["changed"], 0);
    fs::write(&note, text).unwrap();
    assert_eq!(import()["memories"]["changed"], 0);
    assert_eq!(home.run(&["get", "1", "--json"]).ok().json()["version"], 2);
}
