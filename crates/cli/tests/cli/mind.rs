//! The mind at the command line, without a daemon: bulletin, jobs, undo, budget, admin chat.

use serde_json::Value;

use crate::support::Home;

const THEN: &str = "2026-01-02T03:04:05Z";
const LATER: &str = "2026-09-02T03:04:05Z";

fn at(home: &Home, now: &str, words: &[&str]) -> Value {
    home.run(&[&["--now", now, "--json"], words].concat()).ok().json()
}

fn save(home: &Home, title: &str, kind: &str) -> u64 {
    let words = ["save", title, &format!("About {title}."), "--kind", kind, "--project", "web"];
    at(home, THEN, &words)["id"].as_u64().unwrap()
}

// mind 1, 6, 8, 10: the bulletin covers what matters, every line is cited, and it is there without a daemon
#[test]
fn the_bulletin_is_made_when_nobody_else_makes_it() {
    let home = Home::new();
    let decision = save(&home, "Use tabs", "decision");
    let first = at(&home, THEN, &["bulletin"])["bulletin"].clone();
    assert_eq!((&first["number"], &first["made_by"]), (&1.into(), &"rules".into()));
    let text = first["text"].as_str().unwrap();
    assert!(text.starts_with("# Memory Bulletin\nGenerated: 2026-01-02 03:04:05 UTC"), "{text}");
    assert!(text.contains("Use tabs") && text.contains(&format!("[#{decision}]")), "{text}");
    let lines = text.lines().filter(|line| line.starts_with("- "));
    assert!(lines.clone().count() > 0 && lines.clone().all(|line| line.ends_with(']')), "{text}");
    // Nothing new: the same one, also for the next process.
    assert_eq!(at(&home, THEN, &["bulletin"])["bulletin"], first);
    assert_eq!(at(&home, THEN, &["bulletin", "--refresh"])["bulletin"]["number"], 1);

    let preference = save(&home, "Short answers", "preference");
    let second = at(&home, THEN, &["bulletin", "--explain"])["bulletin"].clone();
    assert_eq!(
        (&second["number"], &second["changes"]["added"][0]),
        (&2.into(), &preference.into())
    );
    let titles: Vec<&str> = second["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["title"].as_str().unwrap())
        .collect();
    assert!(titles.contains(&"Use tabs") && titles.contains(&"Short answers"), "{titles:?}");
    let history = at(&home, THEN, &["bulletin", "--history"]);
    assert_eq!((&history["total"], &history["bulletins"][1]["number"]), (&2.into(), &1.into()));
    let words = ["--now", THEN, "bulletin", "--explain"];
    assert!(home.run(&words).ok().out.contains("made by     rules"));
}

// Section 11, point 15: what is private is never in the shared bulletin
#[test]
fn the_shared_bulletin_leaves_out_what_is_private() {
    let home = Home::new();
    save(&home, "Use tabs", "decision");
    let words =
        ["save", "Looking for a job", "Quietly.", "--kind", "decision", "--visibility", "private"];
    at(&home, THEN, &words);
    let text = |who: &str| {
        let bulletin = at(&home, THEN, &["bulletin", "--audience", who]);
        bulletin["bulletin"]["text"].as_str().unwrap().to_owned()
    };
    assert!(text("owner").contains("Looking for a job"));
    assert!(!text("shared").contains("Looking for a job") && text("shared").contains("Use tabs"));
}

// mind 62-64, 78; issue 6: dry run, reasons in the journal, undo
#[test]
fn maintenance_is_previewed_run_shown_and_undone() {
    let home = Home::new();
    let dry = ["mind", "run", "maintenance", "--dry-run"];
    let faded = save(&home, "Lunch was late", "discovery");
    let identity = save(&home, "Ada maintains the parser", "identity");
    // What was saved on purpose is put away only where the settings say so.
    assert_eq!(at(&home, LATER, &dry)["changes"], serde_json::json!([]));
    std::fs::write(home.path().join("cortex.toml"), "[mind]\npreset = \"seed\"\n").unwrap();
    let root = home.root();
    let preview = at(&home, LATER, &dry);
    let about = |changes: &Value| -> Vec<u64> {
        let changes = changes.as_array().unwrap().iter();
        changes
            .flat_map(|c| c["about"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()))
            .collect()
    };
    assert_eq!(about(&preview["changes"]), [faded], "{preview}");
    assert!(preview["text"].as_str().unwrap().contains("not used since 2026-01-02"), "{preview}");
    assert_eq!(home.root(), root, "a dry run changes nothing");

    let ran = at(&home, LATER, &["mind", "run", "maintenance"]);
    let run = ran["report"]["run"].as_str().unwrap().to_owned();
    assert_eq!(ran["report"]["ending"], "succeeded");
    assert_eq!(about(&ran["changes"]), [faded]);
    assert!(home.run(&["get", &faded.to_string()]).ok().out.contains("[forgotten]"));
    home.run(&["get", &identity.to_string()]).ok();
    let log = at(&home, LATER, &["mind", "log"]);
    assert_eq!(
        (&log["runs"][0]["run"], &log["runs"][0]["undone"]),
        (&run.as_str().into(), &false.into())
    );
    let shown = at(&home, LATER, &["mind", "show", &run]);
    assert!(shown["changes"][0]["reason"].as_str().unwrap().contains("below 0.100"), "{shown}");

    let preview = at(&home, LATER, &["mind", "undo", &run, "--dry-run"]);
    assert_eq!(about(&preview["changes"]), [faded]);
    assert!(home.run(&["get", &faded.to_string()]).ok().out.contains("[forgotten]"));
    let undone = at(&home, LATER, &["mind", "undo", &run]);
    assert_eq!(about(&undone["changes"]), [faded]);
    assert_eq!(
        home.run(&["get", &faded.to_string(), "--json"]).ok().json()["title"],
        "Lunch was late"
    );
    assert_eq!(at(&home, LATER, &["mind", "log"])["runs"][1]["undone"], true);
    home.run(&["mind", "undo", &run]).ends(4);
    home.run(&["mind", "undo", "maintenance-1-1"]).ends(3);
    // What was brought back is left alone from now on.
    assert_eq!(about(&at(&home, LATER, &["mind", "run", "maintenance"])["changes"]), [0_u64; 0]);
    assert!(home.run(&["verify", "--json"]).ok().json()["clean"].as_bool().unwrap());
}

#[test]
fn a_paused_job_stays_paused_and_the_switch_stays_thrown() {
    let home = Home::new();
    save(&home, "Use tabs", "decision");
    home.run(&["mind", "pause", "patterns"]).ok();
    let paused = || {
        let jobs = home.run(&["mind", "jobs", "--json"]).ok().json();
        let jobs = jobs["jobs"].as_array().unwrap().clone();
        assert_eq!(jobs.len(), 4);
        jobs.iter().find(|job| job["name"] == "patterns").unwrap()["paused"].as_bool().unwrap()
    };
    assert!(paused());
    home.run(&["mind", "resume", "patterns"]).ok();
    assert!(!paused());
    home.run(&["mind", "run", "nothing"]).ends(3);
    home.run(&["mind", "run", "nothing", "--dry-run"]).ends(3);
    // Without a provider nothing may be spent.
    let budget = home.run(&["budget", "--json"]).ok().json();
    assert_eq!((&budget["tokens_limit"], &budget["kill_switch"]), (&0.into(), &false.into()));
    home.run(&["budget", "--stop"]).ok();
    assert_eq!(home.run(&["budget", "--json"]).ok().json()["kill_switch"], true);
    home.run(&["budget", "--allow"]).ok();
    assert_eq!(home.run(&["budget", "--json"]).ok().json()["kill_switch"], false);
}

// mind 89, 91, 94, 95: what is asked again and again becomes an ordinary memory
#[test]
fn questions_that_repeat_become_an_observation() {
    let home = Home::new();
    save(&home, "Use tabs", "decision");
    for day in 3..8 {
        let now = format!("2026-01-0{day}T10:00:00Z");
        let text = format!("How do I write async Rust, part {day}?");
        home.run(&["--now", &now, "prompt", &text]).ok();
    }
    let now = "2026-01-08T10:00:00Z";
    let preview = at(&home, now, &["mind", "run", "patterns", "--dry-run"]);
    assert!(!preview["changes"].as_array().unwrap().is_empty(), "{preview}");
    at(&home, now, &["mind", "run", "patterns"]);
    let found = at(&home, now, &["search", "rust questions"]);
    assert!(found.to_string().to_lowercase().contains("rust"), "{found}");
    // Found again, it is the same memory.
    let again = at(&home, now, &["mind", "run", "patterns"]);
    assert!(again["changes"].as_array().unwrap().is_empty(), "{again}");
}

// T22: what operators ask is understood without a model, and answered as a person would say it
#[test]
fn the_questions_of_operators_are_answered_in_plain_words() {
    const QUESTIONS: [&str; 36] = [
        "what channels are there?",
        "show me memory 1",
        "what did we spend today?",
        "how many memories are there?",
        "are any workers stuck?",
        "what did maintenance do?",
        "is the system healthy?",
        "which projects are there?",
        "are there contradictions?",
        "update memory 1: Use tabs in every file",
        "delete memory 2",
        "why was memory 2 forgotten?",
        "what was put away last night?",
        "restore memory 2",
        "what is about to be put away?",
        "keep memory 2",
        "show me recent memory activity",
        "what is running?",
        "what do you know about tabs?",
        "remember that the standup is at ten",
        "when does the next maintenance run?",
        "run maintenance now",
        "undo the last run",
        "show the bulletin",
        "which jobs are there?",
        "pause patterns",
        "resume patterns",
        "how much budget is left?",
        "stop all spending",
        "allow spending again",
        "which sessions were there?",
        "how big is the store?",
        "what are my rules?",
        "which goals are open?",
        "which pages are there?",
        "what happened today?",
    ];
    let home = Home::new();
    save(&home, "Use tabs", "decision");
    save(&home, "Use tabs in all files", "decision");
    save(&home, "Never deploy on a Friday", "rule");
    for question in QUESTIONS {
        let answer = home.run(&["admin", "--json", question]).ok().json();
        let said = answer["response"].as_str().unwrap();
        assert_ne!(answer["asked"]["ask"], "unclear", "{question}: {said}");
        assert!(!said.trim().is_empty(), "{question}");
        for odd in ["tombstone", "add_edge", "update_head", " 1 changes", "1 versions", "0.000000"]
        {
            assert!(!said.contains(odd), "{question}: {said}");
        }
    }
    let rules = home.run(&["admin", "what are my rules?"]).ok().out;
    assert!(rules.contains("Never deploy on a Friday"), "{rules}");
}

// T22: mistyped, about one project, or no question about Cortex at all
#[test]
fn who_types_in_a_hurry_is_answered_too() {
    let home = Home::new();
    let save = |title: &str, kind: &str, project: &str| {
        home.run(&["save", title, title, "--type", kind, "--project", project]).ok();
    };
    save("Orders are kept in PostgreSQL", "decision", "shop");
    save("Never deploy on a Friday", "rule", "shop");
    save("Posts are reviewed by two people", "constraint", "blog");
    let ask = |words: &str| home.run(&["admin", "--json", words]).ok().json();
    let said = |words: &str| ask(words)["response"].as_str().unwrap().to_owned();
    let all = said("wich rules are there");
    assert!(all.contains("on a Friday") && all.contains("two people"), "{all}");
    let of_shop = said("what are the rules of shop");
    assert!(of_shop.contains("on a Friday") && !of_shop.contains("two people"), "{of_shop}");
    assert!(!said("show the bulletin of project blog").contains("PostgreSQL"));
    // "Today" is no project.
    assert!(said("decisions for today").contains("PostgreSQL"));
    let root = home.root();
    let answer = ask("where are orders kept");
    assert_eq!(answer["asked"]["ask"], "unclear");
    assert!(answer["response"].as_str().unwrap().contains("kept in PostgreSQL"), "{answer}");
    let back = said("forgte memory 1");
    assert!(back.contains("Did you mean \"forget memory 1\"?"), "{back}");
    assert!(said("how do i make a backup of the moon").contains("`cortex backup"));
    let lost = said("qwertz");
    assert!(lost.contains("nothing was changed") && lost.lines().count() < 8, "{lost}");
    assert_eq!(home.root(), root);
    let activity = said("shwo recent activty");
    assert!(activity.contains("saved #1 \"Orders are kept in PostgreSQL\""), "{activity}");
    assert!(!activity.contains("grants"), "{activity}");
}

// mind 98, 99, 100, 101, 104
#[test]
fn an_administrator_is_answered_in_words() {
    let home = Home::new();
    let id = save(&home, "Use tabs", "decision");
    let ask = |words: &str| home.run(&["admin", "--json", words]).ok().json();
    let activity = ask("show me recent memory activity");
    assert_eq!(activity["asked"]["ask"], "recent_activity");
    assert!(activity["response"].as_str().unwrap().contains("Use tabs"), "{activity}");
    assert!(ask("what do you know about tabs")["response"].as_str().unwrap().contains("Use tabs"));
    let saved = ask("remember that deploys happen on Mondays");
    assert!(saved["data"]["id"].as_u64().unwrap() > id, "{saved}");
    assert!(ask("what is running")["response"].as_str().unwrap().contains("Nothing is running"));
    assert!(ask("bulletin")["response"].as_str().unwrap().contains("deploys happen on Mondays"));
    assert!(
        ask(&format!("why was memory {id} forgotten"))["response"]
            .as_str()
            .unwrap()
            .contains("is current")
    );
    ask(&format!("forget memory {id}"));
    assert!(
        ask(&format!("memory {id}"))["response"]
            .as_str()
            .unwrap()
            .contains("asked for in the admin chat")
    );
    ask(&format!("restore memory {id}"));
    assert!(
        ask("preview maintenance")["response"].as_str().unwrap().contains("0 changes proposed")
    );
    assert_eq!(ask("budget")["data"]["tokens_limit"], 0);
    // What is not understood changes nothing.
    let root = home.root();
    assert!(
        ask("make me a sandwich")["response"].as_str().unwrap().contains("nothing was changed")
    );
    assert_eq!(home.root(), root);
    home.run(&["admin", "why is worker w1 stuck"]).ends(3);
    let talk = home.piped(&["admin"], b"status\nundo run nothing-1\nhelp\n").ok();
    assert!(talk.out.contains("maintenance") && talk.err.contains("nothing-1"), "{talk:?}");
}

// Erased text is gone from all that is kept, also from what was written about it
#[test]
fn what_is_erased_is_erased_from_the_bulletins_too() {
    let home = Home::new();
    let id = save(&home, "Zanzibar plans", "decision");
    home.run(&["--now", THEN, "prompt", "No, actually I meant Zanzibar, as I said."]).ok();
    at(&home, THEN, &["bulletin"]);
    at(&home, THEN, &["mind", "run", "patterns"]);
    save(&home, "Use tabs", "decision");
    at(&home, THEN, &["bulletin"]);
    let kept = || std::fs::read_to_string(home.path().join("actors/default/mind.json")).unwrap();
    assert!(kept().contains("Zanzibar"));
    home.run(&["erase", &id.to_string(), "--reason", "x", "--yes"]).ok();
    home.run(&["erase", &(id + 1).to_string(), "--reason", "x", "--yes"]).ok();
    assert!(!kept().contains("Zanzibar") && !kept().contains("zanzibar"), "{}", kept());
    let text = at(&home, THEN, &["bulletin"]).to_string();
    assert!(text.contains("Use tabs") && !text.contains("Zanzibar"), "{text}");
}

// mind 115-118, 124, 128
#[test]
fn settings_of_the_mind_are_checked_and_count() {
    let home = Home::new();
    save(&home, "Use tabs", "decision");
    let write = |text: &str| std::fs::write(home.path().join("cortex.toml"), text).unwrap();
    write(
        "[defaults.cortex]\nmaintenance_interval_hours = 168\n[defaults.warmup]\nrefresh_secs = 7200\n",
    );
    home.run(&["config", "check"]).ok();
    let jobs = home.run(&["mind", "jobs", "--json"]).ok().json();
    assert_eq!(
        (&jobs["jobs"][0]["every_seconds"], &jobs["jobs"][1]["every_seconds"]),
        (&7_200.into(), &604_800.into())
    );
    for (text, said) in [
        ("[defaults.cortex]\ndecay_factor = 1.5\n", "defaults.cortex.decay_factor: is 1.5"),
        ("[defaults.cortex]\ndecay = 0.9\n", "unknown field `decay`"),
        ("[defaults.wamrup]\nenabled = true\n", "[defaults] has no \"wamrup\""),
    ] {
        write(text);
        for words in [&["config", "check"][..], &["bulletin"]] {
            let ran = home.run(words).ends(2);
            assert!(ran.err.contains(said), "{ran:?}");
        }
        // The memory itself does not depend on it.
        home.run(&["search", "tabs"]).ok();
    }
}

/// `INSTA_UPDATE=always` writes the file anew.
#[test]
fn the_reference_of_the_configuration_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let made = Home::new().run(&["config", "reference"]).ok().out;
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept == made, "docs/configuration.md: `cortex config reference` says otherwise");
    assert!(made.contains("| aggressive |") && made.contains("`[defaults.budget]`"));
}
