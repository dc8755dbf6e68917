//! What `cortex audit` finds, in a home and in the store of another tool.

use serde_json::{Value, json};

use crate::support::Home;

/// The finding of one problem.
fn finding<'a>(answer: &'a Value, problem: &str) -> &'a Value {
    let all = answer["findings"].as_array().unwrap();
    all.iter().find(|finding| finding["problem"] == problem).unwrap_or(&Value::Null)
}

#[test]
fn what_needs_attention_is_named_with_its_ids() {
    let home = Home::new();
    assert_eq!(home.run(&["audit"]).ok().out, "0 memories looked at\nnothing needs attention\n");
    home.run(&["--actor", "nobody", "audit"]).ends(3);
    let old = ["--now", "2026-01-02T03:04:05Z"];
    let at = |rest: &[&str]| home.save(&[&old, rest].concat());
    let web = ["--project", "web"];
    let first = at(&[&["Use redb for the store", "One file per actor."], &web[..]].concat());
    let copy = at(&["use redb for the  store", "One file per actor.", "--project", "web_"]);
    let one =
        at(&[&["Retries stop after 3 tries", "The client gives up then."], &web[..]].concat());
    let two =
        at(&[&["Retries stop after 5 tries", "The client gives up then."], &web[..]].concat());
    let no =
        at(&[&["Cache keys carry the tenant", "Never leave it out of them."], &web[..]].concat());
    let yes =
        at(&[&["The tenant is no part of a key", "It made caches useless."], &web[..]].concat());
    home.run(&["relate", &yes.to_string(), "contradicts", &no.to_string()]).ok();
    home.run(&["prompt", "Why is the login page slow on Mondays?"]).ok();
    let asked = at(&[&["Asked", "why is the login page  slow on mondays?"], &web[..]].concat());
    let vague = at(&[&["done", ""], &web[..]].concat());
    let past = at(&[
        &["Freeze until the release is out", "No merges.", "--expires", "2026-02-01T00:00:00Z"],
        &web[..],
    ]
    .concat());
    let root = home.root();

    let answer = home.run(&["audit", "--json"]).ok().json();
    assert_eq!((&answer["memories"], &answer["compared"]), (&json!(9), &json!(8)), "{answer}");
    let ids = |problem: &str| finding(&answer, problem)["examples"][0]["ids"].clone();
    assert_eq!(ids("copied"), json!([copy, first]), "{answer}");
    assert_eq!(ids("disagreeing"), json!([two, one]), "{answer}");
    assert_eq!(ids("contradicting"), json!([yes, no]), "{answer}");
    assert_eq!(ids("prompt"), json!([asked]), "{answer}");
    assert_eq!(ids("vague"), json!([vague]), "{answer}");
    assert_eq!(ids("outdated"), json!([past]), "{answer}");
    // What an edge points at is of use; the others were saved long ago, also those behind an entry of today.
    let unused = finding(&answer, "unused");
    assert_eq!(unused["count"], 8, "{answer}");
    assert_eq!(finding(&answer, "projects")["examples"][0]["title"], "web", "{answer}");
    assert_eq!(finding(&answer, "secret"), &Value::Null);
    for found in answer["findings"].as_array().unwrap() {
        assert!(found["remedy"].as_str().unwrap().contains("`cortex "), "{found}");
    }

    // F9: a look that ended goes on before the last it saw.
    let earlier = home.run(&["audit", "--before", &no.to_string(), "--json"]).ok().json();
    assert_eq!((&earlier["memories"], &earlier["next"]), (&json!(4), &Value::Null), "{earlier}");

    let shown = home.run(&["audit", "--limit", "1"]).ok().out;
    assert!(shown.contains("1 are word for word copies of another: `cortex delete ID`"), "{shown}");
    assert!(shown.contains("they name different numbers"), "{shown}");
    assert!(shown.contains("and 7 more with a higher --limit"), "{shown}");
    // Only one project: nothing of the other, and no names of projects.
    let of_web = home.run(&["audit", "--project", "web", "--json"]).ok().json();
    assert_eq!(of_web["memories"], 8);
    assert_eq!(finding(&of_web, "copied"), &Value::Null, "{of_web}");
    assert_eq!(finding(&of_web, "projects"), &Value::Null, "{of_web}");
    assert_eq!(home.root(), root, "looking changes nothing");

    // What is put away needs no attention.
    for id in [copy, vague, past, asked, two, yes] {
        home.run(&["delete", &id.to_string()]).ok();
    }
    for (from, to) in [(first, one), (one, first)] {
        home.run(&["relate", &from.to_string(), "references", &to.to_string()]).ok();
    }
    let tidy = home.run(&["audit"]).ok().out;
    assert!(tidy.ends_with("nothing needs attention\n"), "{tidy}");
}

#[test]
fn a_secret_that_was_kept_is_found_and_not_shown() {
    let home = Home::new();
    std::fs::write(home.path().join("cortex.toml"), "[memory]\nredact_secrets = false\n").unwrap();
    let key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let id =
        home.save(&["Deploy key of staging", &format!("It is {key} for now"), "--project", "web"]);
    let ran = home.run(&["audit", "--json"]).ok();
    assert!(!ran.out.contains(key), "{}", ran.out);
    let found = ran.json();
    let example = &finding(&found, "secret")["examples"][0];
    assert_eq!(
        (&example["ids"], &example["why"]),
        (&json!([id]), &json!("1 github-token")),
        "{found}"
    );
}

#[test]
fn the_store_of_another_tool_is_looked_at_without_a_trace() {
    let home = Home::new();
    let file = home.path().join("memory.jsonl");
    let entity = |name: &str, said: &str| {
        json!({"type": "entity", "name": name, "entityType": "service", "observations": [said]})
            .to_string()
    };
    let secret = "password=Tr0ub4dor&3xyz!";
    let lines = [
        entity("billing", "Runs on Postgres 16 in eu-west-1"),
        entity("billing", "Runs on Postgres 16 in eu-west-1"),
        entity("auth", &format!("Connects with {secret}")),
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let before: Vec<_> = std::fs::read_dir(std::env::temp_dir())
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("cortex-audit-"))
        .collect();
    let ran = home.run(&["audit", "memory.jsonl", "--json"]).ok();
    let answer = ran.json();
    assert_eq!(answer["source"]["format"], "server-memory", "{answer}");
    assert!(answer["memories"].as_u64().unwrap() >= 2, "{answer}");
    assert_eq!(finding(&answer, "secret")["count"], 1, "{answer}");
    assert_eq!(finding(&answer, "unused"), &Value::Null, "{answer}");
    assert!(!home.path().join("actors").exists(), "nothing was stored");
    let after = std::fs::read_dir(std::env::temp_dir())
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("cortex-audit-") && !before.contains(name))
        .count();
    assert_eq!(after, 0, "the scratch folder is gone");
    let shown = home.run(&["audit", "memory.jsonl"]).ok().out;
    assert!(shown.contains("`cortex import` masks them on the way in"), "{shown}");
    home.run(&["audit", "nothing-here.db"]).ends(3);
}
