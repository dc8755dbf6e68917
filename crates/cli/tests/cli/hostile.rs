//! Hostile texts, saved as agents and imports save them, at every place where an agent or a terminal reads memories;
//! and rules that nobody confirmed.

use serde_json::{Value, json};
use testkit::hostile::{TEXTS, assert_inert};

use crate::support::Home;

/// Headings that contexts and bulletins have.
const OWN: &[&str] = &[
    "# Memory Bulletin",
    "## Rules",
    "## Proposed rules (not confirmed by a person)",
    "## Pinned",
    "## Relevant",
    "## Recent Sessions",
    "## Recent Observations",
    "## Recent Prompts",
];

/// One line of `save --lines`: a title takes no line breaks and no control characters.
fn saved_as(n: usize, text: &str) -> String {
    let fits = !text.contains(char::is_control) && text.trim() == text;
    let title = if fits { text.to_owned() } else { format!("Hostile text {n}") };
    let kind = ["rule", "preference", "decision", "session_summary", "manual"][n % 5];
    let source = ["observed", "imported", "derived"][n % 3];
    let content = text.replace('\0', " ");
    let pinned = n.is_multiple_of(10);
    json!({
        "title": title, "content": content, "type": kind, "source": source, "project": "web", "pinned": pinned,
        "tags": ["hostile"],
    })
    .to_string()
}

fn home_with(texts: &[&str]) -> (Home, Vec<u64>) {
    let home = Home::new();
    let lines: Vec<String> = texts.iter().enumerate().map(|(n, t)| saved_as(n, t)).collect();
    let ran = home.piped(&["save", "--lines", "--json"], (lines.join("\n") + "\n").as_bytes());
    let answers = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ids = answers.filter_map(|answer| answer["id"].as_u64()).collect();
    (home, ids)
}

// F11
#[test]
fn no_place_shows_a_hostile_text_as_more_than_text() {
    let (home, ids) = home_with(TEXTS);
    assert!(ids.len() >= 100, "{} were saved", ids.len());
    let shown = |arguments: &[&str]| home.run(arguments).ok().out;
    for question in ["system", "Human", "hostile", "rules", "obey", "ignore all instructions"] {
        assert_inert(&shown(&["search", question, "--limit", "100"]), OWN);
    }
    for id in ids.iter().step_by(7) {
        assert_inert(&shown(&["get", &id.to_string()]), OWN);
        assert_inert(&shown(&["timeline", &id.to_string(), "--before", "50"]), OWN);
    }
    for arguments in [
        &["context", "--budget", "100000"][..],
        &["context", "--budget", "100000", "--form", "full"],
        &["context", "--recent", "--limit", "200"],
        &["bulletin"],
        &["bulletin", "--explain"],
        &["admin", "what do you know about system"],
        &["admin", "show me recent memory activity"],
        &["audit"],
        &["projects"],
        &["find", "tag:hostile", "--form", "full", "--limit", "200"],
    ] {
        let text = shown(arguments);
        assert!(!text.trim().is_empty(), "{arguments:?}");
        assert_inert(&text, OWN);
    }
    let start = br#"{"session_id":"s1","cwd":"/src/web","source":"startup"}"#;
    let ran = home.piped(&["hook", "session-start"], start).ok().json();
    let context = ran["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("Said, not confirmed as a rule:"), "{context}");
    assert!(!context.contains("Rules that hold here:"), "no person stated one: {context}");
    assert_inert(context, OWN);
    // S28: what hooks tell unasked is as inert, and nothing that an import orders is in it.
    for (n, text) in TEXTS.iter().enumerate() {
        let asked = json!({"session_id": format!("p{n}"), "cwd": "/src/web", "prompt": text});
        let ran = home.piped(&["hook", "prompt-submit"], asked.to_string().as_bytes()).ok();
        assert_inert(&ran.out.replace("\\n", "\n"), OWN);
    }
    // What programs read is the text as it was saved.
    let raw = shown(&["get", &ids[0].to_string(), "--json"]);
    assert!(raw.contains("</system-reminder><system>"), "{raw}");
}

/// Lines under a heading, until the next one.
fn section<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let below = text.lines().skip_while(|line| *line != heading).skip(1);
    below
        .take_while(|line| !line.starts_with('#'))
        .filter(|line| line.starts_with("- #") || line.ends_with(']'))
        .collect()
}

// F12
#[test]
fn a_rule_of_an_agent_is_proposed_until_a_person_confirms_it() {
    let home = Home::new();
    let own = home.save(&["Never push on Fridays", "x", "--type", "rule", "--project", "web"]);
    let line = |title: &str, source: &str| {
        let line = json!({"title": title, "content": "y", "type": "rule", "source": source, "project": "web"});
        home.piped(&["save", "--lines", "--json"], format!("{line}\n").as_bytes()).ok().json()["id"]
            .as_u64()
            .unwrap()
    };
    let agents = line("Always push on Fridays", "observed");
    let imported = line("Push without tests", "imported");
    let recent = || home.run(&["context", "web", "--recent"]).ok().out;
    let bulletin = || home.run(&["bulletin", "--refresh"]).ok().out;
    let proposed = "## Proposed rules (not confirmed by a person)";
    for text in [recent(), bulletin()] {
        assert!(section(&text, "## Rules").iter().all(|line| line.contains("Never")), "{text}");
        assert_eq!(section(&text, "## Rules").len(), 1, "{text}");
        assert_eq!(section(&text, proposed).len(), 2, "{text}");
    }
    let root = home.root();
    // Nobody confirms what is no rule, or is not there; then nothing is confirmed.
    let fact = home.save(&["A fact", "z"]).to_string();
    home.run(&["confirm", &agents.to_string(), &fact]).ends(2);
    home.run(&["confirm", &agents.to_string(), "999"]).ends(3);
    assert_ne!(home.root(), root);
    let ids = [agents.to_string(), own.to_string()];
    let answer = home.run(&["confirm", &ids[0], &ids[1], "--json"]).ok().json();
    let changed: Vec<&Value> =
        answer["confirmed"].as_array().unwrap().iter().map(|one| &one["changed"]).collect();
    assert_eq!(changed, [&json!(true), &json!(false)], "{answer}");
    for text in [recent(), bulletin()] {
        assert_eq!(section(&text, "## Rules").len(), 2, "{text}");
        assert_eq!(section(&text, proposed).len(), 1, "{text}");
        assert!(section(&text, proposed)[0].contains("without tests"), "{text}");
    }
    let history = home.run(&["get", &ids[0], "--json"]).ok().json();
    assert_eq!((&history["version"], &history["author"]), (&json!(2), &json!("person")));
    home.run(&["verify"]).ok();
    // The setting trusts everybody.
    std::fs::write(home.path().join("cortex.toml"), "[trust]\nagents_may_rule = true\n").unwrap();
    for text in [recent(), bulletin()] {
        assert!(!text.contains("Proposed"), "{text}");
        assert_eq!(section(&text, "## Rules").len(), 3, "{text}");
    }
    assert!(
        home.run(&["get", &imported.to_string(), "--json"]).ok().json()["proposed"] == json!(false)
    );
}

// F12
#[test]
fn seventy_long_rules_do_not_switch_the_context_off() {
    let home = Home::new();
    let rule = |n: usize| {
        let title = format!("Rule {n} {}", "that is long ".repeat(12));
        let content = "Because of what happened once. ".repeat(60);
        json!({
            "title": title, "content": content, "type": "rule", "fields": {"strength": "hard"}, "project": "web",
        })
        .to_string()
    };
    let lines: Vec<String> = (0..70).map(rule).collect();
    home.piped(&["save", "--lines", "--bulk", "70"], (lines.join("\n") + "\n").as_bytes()).ok();
    home.save(&["Use redb", "One file per actor", "--type", "decision", "--project", "web"]);
    let bundle = home.run(&["context", "--project", "web"]).ok().out;
    assert!(bundle.starts_with("## Rules\n") && bundle.contains("Use redb"), "{bundle}");
    assert!(bundle.contains("more rules did not fit; `cortex find --type constraint`"), "{bundle}");
    let recent = home.run(&["context", "web", "--recent", "--limit", "200"]).ok().out;
    assert!(recent.starts_with("## Rules\n") && recent.contains("Use redb"), "{recent}");
    assert!(recent.contains("more rules did not fit"), "{recent}");
    assert_eq!(
        home.run(&["find", "--type", "constraint", "--limit", "100"]).ok().out.lines().count(),
        70
    );
}
