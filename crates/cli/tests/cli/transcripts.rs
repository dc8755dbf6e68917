//! Golden transcripts. Clock and salts are pinned, so ids, times and roots in them are exact.

use crate::support::Home;

#[test]
fn a_life() {
    let home = Home::new();
    let seen = home.transcript(&[
        &["save", "Use redb", "One file per actor", "--type", "decision", "--tag", "storage,db"],
        &["save", "Never push on Fridays", "--kind", "rule", "--field", "strength=hard", ""],
        &["save", "Ship it", "", "--type", "goal", "--field", "due=2026-02-01", "--json"],
        &["root"],
        &["get", "1"],
        &["get", "1", "--form", "short"],
        &["update", "1", "--content", "One file", "--expect", "1"],
        &["update", "1", "--content", "too late", "--expect", "1"],
        &["update", "1", "--pinned", "true", "--project", "web"],
        &["update", "1", "--pinned", "true"],
        &["history", "1"],
        &["get", "1#1"],
        &["relate", "3", "caused_by", "1", "--weight", "0.5"],
        &["graph", "1"],
        &["unrelate", "3", "caused_by", "1"],
        &["forget", "2", "--reason", "outdated"],
        &["get", "2"],
        &["update", "2", "--title", "x"],
        &["restore", "2"],
        &["erase", "2", "--reason", "asked to"],
        &["erase", "2", "--reason", "asked to", "--yes"],
        &["get", "2"],
        &["restore", "2"],
        &["journal"],
        &["journal", "--entry", "1"],
        &["stats"],
        &["verify"],
        &["root"],
    ]);
    insta::assert_snapshot!(seen);
}

#[test]
fn finding() {
    let home = Home::new();
    let seen = home.transcript(&[
        &["find"],
        &["save", "Use redb", "One file per actor", "--type", "decision", "--tag", "storage"],
        &[
            "save",
            "Use SQLite",
            "",
            "--type",
            "decision",
            "--tag",
            "storage",
            "--importance",
            "0.9",
        ],
        &["save", "Login failed", "empty password", "--kind", "bugfix", "--project", "web"],
        &["relate", "1", "supersedes", "2"],
        &["find", "--type", "decision"],
        &["find", "tag:storage", "importance>=0.85"],
        &["find", "--where", "title~\"(?i)login\"", "--form", "full"],
        &["find", "title~(?i)login"],
        &["find", "--limit", "1", "--order", "-created", "--explain"],
        &["find", "--as-of", "2025-01-01"],
        &["find", "colour=red"],
        &["find", "type:"],
        &["find", "--order", "beauty"],
        &["find", "--limit", "0"],
        &["find", "--type", "decision", "--json", "--limit", "1"],
        &["find", "--type", "fact", "--late", "--json"],
        &["context", "--project", "web"],
        &["context", "--budget", "1"],
        &["context", "--budget", "100000", "--explain"],
    ]);
    insta::assert_snapshot!(seen);
}

#[test]
fn the_frame() {
    let home = Home::new();
    let seen = home.transcript(&[
        &["session", "start", "s1", "--project", "web", "--agent", "bot", "--directory", "web"],
        &["session", "start", "s1"],
        &["prompt", "Please fix it", "--session", "s1"],
        &["save", "Fixed", "it", "--session", "s1"],
        &[
            "attest",
            "fix",
            "--outcome",
            "success",
            "--cite",
            "3",
            "--cite",
            "99",
            "--retrieved",
            "3",
        ],
        &["salience"],
        &["compact", "fix", "--step", "2", "--in", "3,99", "--load-bearing", "3"],
        &["session", "end", "s1", "--summary", "all good"],
        &["session", "end", "s1"],
        &["session", "end", "s2"],
        &["snapshot", "--reason", "evening"],
        &["snapshot", "--list"],
        &["journal", "--from", "4", "--limit", "3"],
        &["journal", "--kind", "snapshot", "--json"],
        &["journal", "--kind", "nonsense"],
        &["journal", "--entry", "99"],
        &["actors"],
    ]);
    insta::assert_snapshot!(seen);
}

#[test]
fn proving() {
    let home = Home::new();
    let seen = home.transcript(&[
        &["save", "Use redb", "One file per actor", "--type", "decision"],
        &["save", "Use SQLite", "", "--type", "decision"],
        &["relate", "1", "supersedes", "2"],
        &["snapshot"],
        &["update", "1", "--content", "changed"],
        &["prove", "1", "--out", "now.proof"],
        &["verify-proof", "now.proof"],
        &["prove", "1", "--at-snapshot", "1", "--out", "then.proof"],
        &["verify-proof", "then.proof"],
        &["prove", "77", "--out", "none.proof"],
        &["verify-proof", "none.proof"],
        &["prove", "1", "--edge", "supersedes", "2", "--out", "edge.proof"],
        &["verify-proof", "edge.proof"],
        &["prove", "2", "--edge", "supersedes", "1", "--out", "no-edge.proof"],
        &["verify-proof", "no-edge.proof"],
        &["prove", "--since", "1", "--out", "since.proof"],
        &["verify-proof", "since.proof", "--json"],
        &["prove", "--slice", "decision", "--out", "slice.proof"],
        &["verify-proof", "slice.proof"],
        &["prove", "--since", "9", "--out", "x.proof"],
        &["prove", "--out", "x.proof"],
        &["verify-proof", "missing.proof"],
    ]);
    insta::assert_snapshot!(seen);
}

/// The whole manual: every option of every command is reviewed when it changes.
#[test]
fn the_manual() {
    let home = Home::new();
    let main = home.run(&["--help"]).ok().out;
    assert_eq!(home.run(&["help"]).ok().out.trim_end(), main.trim_end());
    let all = home.run(&["help", "all"]).ok().out;
    let mut manual = format!("{main}\n==== all\n\n{all}");
    let commands = all.split("Options of every command:").next().unwrap().lines();
    let names: Vec<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        let help = home.run(&[name, "--help"]).ok().out;
        // The global options are the same everywhere.
        let own = help.split("Global options:").next().unwrap();
        let examples = help.split("Examples:").nth(1).unwrap_or_default();
        manual.push_str(&format!("\n==== {name}\n\n{own}Examples:{examples}"));
    }
    insta::assert_snapshot!(manual);
}
