//! Deleting, merging projects, what is near a save, and the commands that speak of the program itself.

use serde_json::json;

use crate::support::Home;

// agent-memory 56, 57, 93
#[test]
fn delete_is_soft_unless_told_otherwise() {
    let home = Home::new();
    let id = home.save(&["a plan", "the words xyzzyplugh"]).to_string();
    let gone = home.run(&["delete", &id, "--json"]).ok().json();
    assert_eq!((&gone["hard"], &gone["changed"]), (&json!(false), &json!(true)));
    assert_eq!(gone["root"], home.root());
    home.run(&["search", "plan"]).ok();
    assert_eq!(home.run(&["search", "plan", "--json"]).ok().json()["hits"], json!([]));
    assert_eq!(home.run(&["delete", &id, "--json"]).ends(3).error()["code"], "not_found");
    assert_eq!(
        home.run(&["restore", &id]).ok().out,
        format!("restored cortex://default/Fact/{id}#1\n")
    );
    let unsure = home.run(&["delete", &id, "--hard", "--json"]).ends(2);
    assert_eq!(unsure.error()["code"], "usage");
    assert_eq!(
        home.run(&["delete", "99", "--hard", "--json"]).ends(3).error()["code"],
        "not_found"
    );
    home.run(&["delete", &id, "--hard", "--yes"]).ok();
    for file in ["derived.redb", "ledger/00000000000000000001.log"] {
        let bytes = std::fs::read(home.path().join("actors/default").join(file)).unwrap();
        assert!(!bytes.windows(10).any(|window| window == b"xyzzyplugh"), "{file}");
    }
    home.run(&["restore", &id]).ends(4);
}

#[test]
fn a_prompt_is_erased_by_its_entry() {
    let home = Home::new();
    let kept = home.run(&["prompt", "forget xyzzyplugh", "--json"]).ok().json()["id"].to_string();
    home.run(&["delete", &kept]).ends(3);
    let said =
        home.run(&["erase", &kept, "--reason", "asked to", "--yes", "--until-gone"]).ok().out;
    assert_eq!(said, format!("erased the text of entry {kept}\n"));
    assert_eq!(home.run(&["prompts", "--json"]).ok().json()["prompts"], json!([]));
}

#[test]
fn a_save_names_what_says_nearly_the_same() {
    let home = Home::new();
    let old = home.save(&["Deploys go out on Fridays", "We deploy every Friday afternoon."]);
    home.save(&["The cat sleeps", "Sixteen hours a day."]);
    let new = home.run(&["save", "Deploys go out on Friday", "We deploy each Friday.", "--json"]);
    let new = new.ok().json();
    assert_eq!(new["similar"][0]["id"], old, "{new}");
    assert_eq!(new["similar"].as_array().unwrap().len(), 1, "{new}");
    assert!(new["similar"][0]["nearness"].as_f64().unwrap() > 0.7);
}

// The types of other tools are kinds here, also after --type.
#[test]
fn a_type_of_another_tool_is_taken() {
    let home = Home::new();
    for (word, memory_type) in [
        ("bugfix", "Fact"),
        ("architecture", "Decision"),
        ("session_summary", "Event"),
        ("tool_use", "Event"),
        ("prompt", "Fact"),
        ("infra", "Fact"),
    ] {
        let saved = home.run(&["save", word, "", "--type", word, "--json"]).ok().json();
        assert_eq!((&saved["type"], &saved["memory_type"]), (&json!(word), &json!(memory_type)));
    }
    let found = home.run(&["find", "--type", "bugfix,infra", "--json"]).ok().json();
    assert_eq!(found["items"].as_array().unwrap().len(), 2, "{found}");
    let found = home.run(&["search", "prompt", "--type", "prompt", "--json"]).ok().json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    let line = br#"{"title": "one", "type": "config"}"#;
    assert_eq!(home.piped(&["save", "--lines"], line).ok().json()["type"], "config");
}

// agent-memory 170
#[test]
fn a_question_without_words_shows_the_newest() {
    let home = Home::new();
    let first = home.save(&["one", "the first", "--project", "web"]);
    let second = home.save(&["two", "the second"]);
    for question in ["", "  ", "*", "\"", "(", "..."] {
        let answer = home.run(&["search", question, "--json"]).ok().json();
        let ids: Vec<_> = answer["hits"].as_array().unwrap().iter().map(|h| &h["id"]).collect();
        assert_eq!(ids, [&json!(second), &json!(first)], "{question:?}: {answer}");
        assert_eq!(answer["mode"], "newest");
    }
    let answer = home.run(&["search", "*", "--project", "web", "--limit", "1", "--json"]).ok();
    assert_eq!(answer.json()["hits"][0]["id"], first);
    assert!(home.run(&["search", "*"]).ok().err.contains("no words"));
    // What is shown whole is not called a preview.
    let long = format!("first line\n\n\n\nlast line {}", "x ".repeat(200));
    let [short, long] = [("short", "one\n\n\n\n\n\ntwo"), ("long", long.as_str())]
        .map(|(title, text)| home.save(&[title, text]));
    for question in ["*", "short long line"] {
        let answer = home.run(&["search", question, "--json"]).ok().json();
        for hit in answer["hits"].as_array().unwrap() {
            let id = hit["id"].as_u64().unwrap();
            assert_eq!(hit["cut"].as_bool().unwrap(), id == long, "{question:?}: {hit}");
            assert!(id != short || hit["preview"].as_str().unwrap().contains("one two"), "{hit}");
        }
    }
    assert!(home.run(&["search", "*", "--kind", "none"]).ok().err.is_empty());
}

#[test]
fn merged_projects_are_one_for_every_later_command() {
    let home = Home::new();
    let first = home.save(&["one", "", "--project", "web-app"]);
    let near = home.run(&["save", "two", "", "--project", "WebApp", "--json"]).ok().json();
    assert!(near["project_note"].as_str().unwrap().contains("web-app"), "{near}");
    home.run(&["session", "start", "s-1", "--project", "webapp"]).ok();
    home.run(&["prompt", "what is this?", "--project", "webapp"]).ok();
    let dry =
        home.run(&["projects", "merge", "webapp", "--into", "web-app", "--dry-run", "--json"]);
    assert_eq!(dry.ok().json()["moved"], 1);
    assert_eq!(
        home.run(&["projects", "--json"]).ok().json()["projects"].as_array().unwrap().len(),
        2
    );
    let merged = home.run(&["projects", "merge", "webapp", "--into", "web-app", "--json"]).ok();
    assert_eq!(
        merged.json(),
        json!({
            "to": "web-app", "moved": 1, "aliases": ["webapp"], "dry_run": false, "given_up": ["webapp"],
            "undo": [{"action": "move", "ids": [2], "value": "webapp"}],
        })
    );
    // In another process, by the old name: saved, found and listed under the new one.
    let third = home.run(&["save", "three", "", "--project", "webapp", "--json"]).ok().json();
    assert_eq!((&third["project"], &third["session_id"]), (&json!("web-app"), &json!("s-1")));
    let hits = home.run(&["search", "one", "--project", "WEBAPP", "--json"]).ok().json();
    assert!(hits["hits"].as_array().unwrap().iter().any(|hit| hit["id"] == first), "{hits}");
    for old in ["sessions", "prompts"] {
        let by_both = ["webapp", "web-app"]
            .map(|name| home.run(&[old, "--project", name, "--json"]).ok().json()[old].clone());
        assert_eq!(by_both[0][0]["project"], "web-app", "{by_both:?}");
        assert_eq!(by_both[0], by_both[1]);
    }
    let listed = home.run(&["projects"]).ok().out;
    assert!(listed.contains("3  ") && listed.contains("web-app  (also webapp)"), "{listed}");
    home.run(&["projects", "merge", "web-app", "--into", "webapp"]).ok();
    home.run(&["projects", "separate", "webapp"]).ok();
    home.run(&["projects", "separate", "webapp"]).ends(3);
    let fourth = home.run(&["save", "four", "", "--project", "webapp", "--json"]).ok().json();
    assert_eq!(fourth["project"], "webapp");
    // A table that is damaged stops no save; doctor tells.
    std::fs::write(home.path().join("actors/default/projects.json"), "{").unwrap();
    home.save(&["five", "", "--project", "webapp"]);
    let doctor = home.run(&["doctor", "--json"]).ends(1).json();
    let failed = |check: &str| {
        let checks = doctor["checks"].as_array().unwrap();
        checks.iter().any(|c| c["check"] == check && c["state"] == "fail")
    };
    assert!(failed("projects") && !failed("store"), "{doctor}");
}

#[test]
fn what_agents_see_at_the_start_can_be_seen_here() {
    let home = Home::new();
    home.save(&["Use redb", "One file", "--project", "web", "--kind", "decision"]);
    let recent = home.run(&["context", "web", "--recent"]).ok().out;
    assert!(recent.contains("## Recent Observations"), "{recent}");
    let line = recent.lines().find(|line| line.starts_with("- #1 [decision] ")).unwrap();
    assert!(line.ends_with(" Use redb: One file"), "{recent}");
    home.run(&["context", "--recent", "--budget", "10"]).ends(2);
    home.run(&["context", "--scope", "personal"]).ends(2);
}

#[test]
fn the_doctor_says_what_is_right_and_what_to_do() {
    let home = Home::new();
    let run = |home: &Home, code: i32| {
        let mut command = home.command();
        let output = command.args(["doctor", "--json"]).env("HOME", home.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(view["ok"], code == 0);
        view["checks"].as_array().unwrap().clone()
    };
    let state = |checks: &[serde_json::Value], check: &str| {
        let found = checks.iter().find(|c| c["check"] == check);
        found.map(|c| c["state"].as_str().unwrap().to_owned())
    };
    // It makes no home.
    let empty = Home::new();
    let nowhere = empty.path().join("nowhere");
    let ran = empty.run(&["--home", nowhere.to_str().unwrap(), "doctor", "--json"]).ok().json();
    assert_eq!(state(ran["checks"].as_array().unwrap(), "home").as_deref(), Some("warn"));
    assert!(!nowhere.exists());
    home.save(&["a title", "some content to be damaged"]);
    let checks = run(&home, 0);
    for check in ["program", "settings", "home", "daemon", "store", "model"] {
        assert_eq!(state(&checks, check).as_deref(), Some("ok"), "{check} {checks:?}");
    }
    std::fs::write(home.path().join("cortex.toml"), "[memory]\ndedup_minute = 3\n").unwrap();
    let checks = run(&home, 1);
    assert_eq!(state(&checks, "settings").as_deref(), Some("fail"), "{checks:?}");
    std::fs::remove_file(home.path().join("cortex.toml")).unwrap();
    let store = home.path().join("actors/default/ledger/00000000000000000001.log");
    let mut bytes = std::fs::read(&store).unwrap();
    let word = b"content to be damaged";
    let place = bytes.windows(word.len()).position(|window| window == word).unwrap();
    bytes[place] ^= 0x20;
    std::fs::write(&store, &bytes).unwrap();
    let checks = run(&home, 1);
    assert_eq!(state(&checks, "store").as_deref(), Some("fail"), "{checks:?}");
    let broken = checks.iter().find(|c| c["check"] == "store").unwrap();
    assert!(broken["remedy"].as_str().unwrap().contains("cortex verify"), "{broken}");
}

// issue 5; execution 9.21, 9.24
#[test]
fn the_doctor_looks_at_the_hands() {
    let home = Home::new();
    home.save(&["a title", "some content"]);
    let checks = |code: i32| {
        let mut command = home.command();
        command.args(["doctor", "--json"]).env("HOME", home.path());
        command.env_remove("ANTHROPIC_API_KEY");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        view["checks"].as_array().unwrap().clone()
    };
    let says = |checks: &[serde_json::Value], check: &str, state: &str| -> String {
        let found = checks.iter().filter(|c| c["check"] == check && c["state"] == state);
        found.map(|c| c["says"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
    };
    let sound = checks(0);
    for check in ["runs", "talents", "providers", "schedule"] {
        assert!(!says(&sound, check, "ok").is_empty(), "{check}: {sound:?}");
    }
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "cortex.toml",
        "[providers]\ndefault = { provider = \"anthropic\" }\nfallback = { provider = \"mine\" }\n\
         [providers.endpoints.mine]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\n\
         [providers.endpoints.tool]\nkind = \"codex\"\ncommand = \"/nowhere/codex\"\n",
    );
    write("chronicle/journal.json", r#"{"providers": {"cogitate": {"tier": 1}}}"#);
    write("talents/default/1700000000000_active.jsonl", "{\"event\":\"request\"}\n");
    write(
        "run/schedule.json",
        r#"{"since": "20200101", "days": {"20200101": {"attempts": 2, "error": "it rained"}}}"#,
    );
    write("chronicle/20200102/120000_300/notes.md", "We met.");
    let warned = checks(0);
    assert!(says(&warned, "runs", "warn").contains("orphan_active"), "{warned:?}");
    let providers = says(&warned, "providers", "warn");
    assert!(providers.contains("provider \"anthropic\" has no key: set ANTHROPIC_API_KEY"));
    assert!(providers.contains("/nowhere/codex is not installed"), "{providers}");
    assert!(providers.contains("providers.cogitate is not used"), "{providers}");
    assert_eq!(says(&warned, "providers", "ok"), "mine can be asked");
    let schedule = says(&warned, "schedule", "warn");
    assert!(schedule.contains("it rained") && schedule.contains("20200102 waits"), "{schedule}");
    // A file that cannot be read disables what it decides, with its place; nothing is said to be well that is not.
    write("chronicle/journal.json", "{\"providers\": {");
    let torn = checks(1);
    assert!(says(&torn, "providers", "fail").contains("journal.json: EOF"), "{torn:?}");
    assert_eq!(says(&torn, "providers", "ok"), "");
    write("chronicle/journal.json", r#"{"providers": {"cogitate": {"tier": 1}}}"#);
    // The same run twice, a talent nobody can read.
    write("talents/default/1700000000000.jsonl", "{\"event\":\"request\"}\n");
    write("talent/odd.md", "{\n\"tier\": 9\n}\nX");
    let failed = checks(1);
    assert!(says(&failed, "runs", "fail").contains("ghost_active"), "{failed:?}");
    assert!(says(&failed, "talents", "fail").contains("odd.md:2"), "{failed:?}");
}

#[test]
fn the_program_tells_its_version_completes_itself_and_has_a_manual() {
    let home = Home::new();
    let version = home.run(&["version", "--json"]).ok().json();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["analyzer"].is_u64() && version["model"].is_string(), "{version}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.run(&["completions", shell]).ok().out;
        assert!(script.contains("verify-proof") && script.contains("idempotency-key"), "{shell}");
    }
    home.run(&["completions", "tcsh"]).ends(2);
    let page = home.run(&["man", "save"]).ok().out;
    assert!(page.starts_with(".ie") || page.contains(".TH cortex-save 1"), "{page}");
    home.run(&["man", "frobnicate"]).ends(2);
    let written = home.run(&["man", "--out", "pages", "--json"]).ok().json();
    let pages = std::fs::read_dir(home.path().join("pages")).unwrap().count() as u64;
    assert_eq!(written["pages"], pages);
    assert!(home.path().join("pages/cortex-save.1").exists());
    assert!(home.path().join("pages/cortex.1").exists());
}

/// What somebody types, and the two lines that answer it.
const MISTAKES: [(&[&str], &str, &str); 9] = [
    (
        &["serch", "cache"],
        "no command \"serch\"; did you mean `search` or `serve`?",
        "`cortex help` lists the commands",
    ),
    (
        &["save"],
        "<TITLE> is missing",
        "cortex save <TITLE> [CONTENT]; `cortex help save` has examples",
    ),
    (
        &["save", "a", "--tpye", "fact"],
        "no option --tpye here; did you mean --type?",
        "`cortex help save` shows how it is used",
    ),
    (
        &["save", "two", "words", "more"],
        "\"more\" is one word too many; put quotes around a text of several words",
        "`cortex help save` shows how it is used",
    ),
    (&["list", "--kind"], "--kind <WORD> needs a value", "`cortex help list` shows how it is used"),
    (&["get"], "<ID>... is missing", "cortex get <ID>...; `cortex help get` has examples"),
    (
        &["past", "shwo"],
        "no command \"shwo\"; did you mean `show`?",
        "`cortex help past` shows how it is used",
    ),
    (
        &["search", "x", "--limit", "many"],
        "invalid value 'many' for '--limit <LIMIT>': give a whole number from 0",
        "`cortex help search` shows how it is used",
    ),
    (
        &["search", "x", "--in", "pst"],
        "--in <PLACE>: \"pst\" is not one of memory, past, all; did you mean past?",
        "`cortex help search` shows how it is used",
    ),
];

// web 4: a mistake is answered shortly, with what to do
#[test]
fn what_is_typed_wrong_is_answered_in_two_lines() {
    let home = Home::new();
    for (arguments, message, hint) in MISTAKES {
        let ran = home.run(arguments).ends(2);
        assert_eq!(ran.err, format!("error: {message}\nhint: {hint}\n"), "{arguments:?}");
        let ran = home.run(&[&["--json"], arguments].concat()).ends(2);
        assert_eq!(ran.error()["message"], message);
        assert_eq!(ran.error()["hint"], hint);
    }
    // A command with commands of its own lists them.
    let ran = home.run(&["mind"]).ends(2);
    assert!(ran.err.contains("jobs") && !ran.err.contains("JSON:"), "{}", ran.err);
}
