//! A command says and writes the same, in its own process or run by a daemon that was started somewhere else.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::support::{Home, Ran};

const PINNED: [&str; 6] = ["--now", "2026-03-02T03:04:05Z", "--salt-seed", "7", "--by", "ada"];

/// Those that read or write a file of the caller's, and most that look; those that count as a use come last.
const COMMANDS: &[&[&str]] = &[
    &["export"],
    &["export", "--json"],
    &["export", "-o", "memories.jsonl"],
    &["export", "--format", "markdown", "-o", "notes"],
    &["import", "other.jsonl", "--dry-run"],
    &["import", "nothing.jsonl"],
    &["audit"],
    &["audit", "other.jsonl"],
    &["prove", "1", "--out", "memory.proof"],
    &["journal"],
    &["root"],
    &["verify"],
    &["history", "1"],
    &["entities"],
    &["find", "tag:storage"],
    &["score", "1"],
    &["sessions"],
    &["prompts"],
    &["projects"],
    &["salience"],
    &["actors"],
    &["language"],
    &["scope-list"],
    &["archive", "--stale", "--dry-run"],
    &["budget"],
    &["context", "--project", "web", "--budget", "300"],
    &["similar", "1"],
    &["timeline", "1"],
    &["graph", "1"],
    &["get", "1"],
    &["get", "9"],
    &["search", "which store"],
    &["search", "which store", "--json"],
];

/// Where callers stand; what they write is read from there and removed.
fn all(home: &Home) -> Vec<(String, i32, String)> {
    let folder = home.path().join("caller");
    fs::create_dir(&folder).unwrap();
    let other = r#"{"type":"entity","name":"billing","entityType":"service","observations":["Runs on Postgres"]}"#;
    fs::write(folder.join("other.jsonl"), other).unwrap();
    let mut answers = Vec::new();
    for arguments in COMMANDS {
        let output =
            home.command().current_dir(&folder).args(PINNED).args(*arguments).output().unwrap();
        let ran = Ran {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        };
        // Two homes have two names.
        let said = format!("{}\n--\n{}", ran.out, ran.err);
        let said = said.replace(&home.path().display().to_string(), "HOME");
        answers.push((arguments.join(" "), ran.code, said));
    }
    let proof = fs::read(folder.join("memory.proof")).unwrap();
    answers.push(("the proof".to_owned(), 0, format!("{proof:?}")));
    let exported = fs::read_to_string(folder.join("memories.jsonl")).unwrap();
    answers.push(("the export".to_owned(), 0, exported));
    assert!(folder.join("notes/web").is_dir());
    fs::remove_dir_all(&folder).unwrap();
    answers
}

/// The same memories, to the last byte of the root.
fn filled() -> Home {
    let home = Home::new();
    let one = ["save", "Use redb for the store", "One file per actor, see src/store.rs"];
    for arguments in [
        &[&one[..], &["--type", "decision", "--project", "web", "--tag", "storage"]].concat()[..],
        &["save", "Never acknowledge before fsync", "", "--kind", "rule", "--project", "web"],
        &["relate", "1", "references", "2"],
        &["prompt", "which store?", "--project", "web"],
    ] {
        home.run(&[&PINNED, arguments].concat()).ok();
    }
    home
}

#[test]
fn a_command_says_and_writes_the_same_in_a_daemon() {
    let alone = all(&filled());
    let (home, elsewhere) = (filled(), Home::new());
    let mut command = home.command();
    command.current_dir(elsewhere.path()).args(["serve"]).env("CORTEX_PORT", "0");
    let mut daemon = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = String::new();
    let mut out = BufReader::new(daemon.stdout.take().unwrap());
    out.read_line(&mut said).unwrap();
    out.read_line(&mut said).unwrap();
    assert!(said.contains("serves") && said.contains("/open/"), "{said}");
    let served = all(&home);
    home.run(&["stop"]).ok();
    daemon.wait().unwrap();
    let mut more = String::new();
    out.read_line(&mut more).unwrap();
    assert_eq!(more, "", "the daemon's own output is not the caller's");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nor is its folder");
    for (before, after) in alone.iter().zip(&served) {
        assert_eq!(before, after);
    }
}
