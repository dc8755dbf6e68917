//! Everything that an agent reads names only what there is: each tool, each command, each flag.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use crate::Cli;

/// Files whose texts agents read: hooks, renderings, hints of errors, the skill.
const READ_BY_AGENTS: &[&str] = &[
    "crates/agents/src/hooks",
    "crates/api/src/audit.rs",
    "crates/api/src/error",
    "crates/api/src/render",
    "crates/kernel/src/context/text.rs",
    "crates/mcp/src",
    "crates/service/src",
    "plugin/README.md",
    "plugin/skills",
];

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).unwrap() {
        files(&entry.unwrap().path(), found);
    }
}

fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    READ_BY_AGENTS.iter().for_each(|path| files(&root.join(path), &mut found));
    let of_file = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    let mut texts: Vec<(String, String)> = found.into_iter().map(of_file).collect();
    texts.extend(mcp::standing_texts().into_iter().map(|text| ("mcp".to_owned(), text)));
    texts
}

/// What stands between backticks and begins with our name. A line break inside belongs to the source.
fn commands(text: &str) -> Vec<String> {
    let flat = text.replace("\\\n", " ");
    let quoted = flat.split('`').skip(1).step_by(2);
    quoted.filter_map(|part| part.strip_prefix("cortex ")).map(str::to_owned).collect()
}

/// What is wrong with a command that a text names.
fn problem(cli: &Command, line: &str) -> Option<String> {
    let mut command = cli;
    let mut words = line.split_whitespace().peekable();
    while let Some(next) = words.peek().and_then(|word| command.find_subcommand(word)) {
        command = next;
        words.next();
    }
    let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if command.has_subcommands()
        && let Some(word) = words.peek().filter(|word| is_word(word) && !word.starts_with('-'))
    {
        return Some(format!("there is no command {word:?}"));
    }
    for word in words.filter_map(|word| word.strip_prefix("--")) {
        let flag = word.split(['=', ',', ')', '.', ';', ':', ']']).next().unwrap_or_default();
        let has = |command: &Command| {
            command.get_arguments().any(|argument| argument.get_long() == Some(flag))
        };
        if !has(command) && !has(cli) && !["help", "version"].contains(&flag) {
            return Some(format!("{} has no --{flag}", command.get_name()));
        }
    }
    None
}

// serving S26
#[test]
fn every_tool_command_and_flag_that_an_agent_is_told_of_is_there() {
    let mut cli = Cli::command();
    cli.build();
    let tools: BTreeSet<&str> = mcp::tools::names().collect();
    let (mut wrong, mut seen) = (Vec::new(), (0, 0));
    for (place, text) in texts() {
        for line in commands(&text) {
            seen.0 += 1;
            wrong
                .extend(problem(&cli, &line).map(|why| format!("{place}: `cortex {line}`: {why}")));
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for word in text.split(|c: char| !is_part(c)).filter(|word| word.starts_with("mem_")) {
            seen.1 += 1;
            // `mem_` alone is how they begin.
            if word != "mem_" && !tools.contains(word) && !word.starts_with("mem_session") {
                wrong.push(format!("{place}: there is no tool {word}"));
            }
        }
    }
    assert!(seen.0 > 20 && seen.1 > 60, "{seen:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_that_is_not_there_is_noticed() {
    let mut cli = Cli::command();
    cli.build();
    for line in ["serch x", "mind jbos", "find --typo constraint"] {
        assert!(problem(&cli, line).is_some(), "{line}");
    }
    for line in ["find --type constraint", "mind run maintenance --dry-run", "confirm ID --json"] {
        assert_eq!(problem(&cli, line), None);
    }
}
