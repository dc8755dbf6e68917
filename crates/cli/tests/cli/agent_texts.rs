//! Everything that an agent reads names only what there is: each tool, each command, each flag.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mcp::tools::Choice;

use crate::support::Home;

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
    for path in READ_BY_AGENTS {
        files(&root.join(path), &mut found);
    }
    let of_file = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    let mut texts: Vec<(String, String)> = found.into_iter().map(of_file).collect();
    let all = Choice::parse("all,extra").unwrap();
    texts.extend(mcp::standing_texts(&all).into_iter().map(|text| ("mcp".to_owned(), text)));
    texts
}

/// What stands between backticks and begins with our name. A line break inside belongs to the source.
fn commands(text: &str) -> Vec<String> {
    let flat = text.replace("\\\n", " ");
    let quoted = flat.split('`').skip(1).step_by(2);
    quoted.filter_map(|part| part.strip_prefix("cortex ")).map(str::to_owned).collect()
}

/// The help of every command that was asked for.
struct Manual {
    home: Home,
    known: BTreeMap<Vec<String>, Option<String>>,
}

impl Manual {
    fn new() -> Manual {
        Manual { home: Home::new(), known: BTreeMap::new() }
    }

    /// Nothing for a command that is not there.
    fn help(&mut self, command: &[String]) -> Option<String> {
        let home = &self.home;
        let ask = || {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let ran = home.run(&[&words[..], &["--help"]].concat());
            (ran.code == 0).then_some(ran.out)
        };
        self.known.entry(command.to_vec()).or_insert_with(ask).clone()
    }

    /// What is wrong with a command that a text names.
    fn problem(&mut self, line: &str) -> Option<String> {
        let whole = self.help(&[])?;
        let mut command: Vec<String> = Vec::new();
        let mut help = whole.clone();
        let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let mut words = line.split_whitespace().peekable();
        while help.contains("\nCommands:\n")
            && let Some(word) = words.next_if(|word| is_word(word) && !word.starts_with('-'))
        {
            command.push(word.to_owned());
            match self.help(&command) {
                Some(found) => help = found,
                None => return Some(format!("there is no command {word:?}")),
            }
        }
        for word in words.filter_map(|word| word.strip_prefix("--")) {
            let flag = word.split(['=', ',', ')', '.', ';', ':', ']']).next().unwrap_or_default();
            let flag = format!("--{flag}");
            if !help.contains(&flag) && !whole.contains(&flag) {
                return Some(format!("it has no {flag}"));
            }
        }
        None
    }
}

// serving S26
#[test]
fn every_tool_command_and_flag_that_an_agent_is_told_of_is_there() {
    let mut manual = Manual::new();
    let tools: BTreeSet<&str> = mcp::tools::names().collect();
    let (mut wrong, mut seen) = (Vec::new(), (0, 0));
    for (place, text) in texts() {
        for line in commands(&text) {
            seen.0 += 1;
            wrong.extend(
                manual.problem(&line).map(|why| format!("{place}: `cortex {line}`: {why}")),
            );
        }
        for word in named_tools(&text) {
            seen.1 += 1;
            if !tools.contains(word) {
                wrong.push(format!("{place}: there is no tool {word}"));
            }
        }
    }
    assert!(seen.0 > 20 && seen.1 > 50, "{seen:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names of tools in a text. `mem_` and `mem_session` alone are how some of them begin.
fn named_tools(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(move |c: char| !is_part(c));
    words.filter(|word| word.starts_with("mem_") && !["mem_", "mem_session"].contains(word))
}

// serving S26
#[test]
fn no_profile_is_told_of_a_tool_that_it_does_not_have() {
    let profiles = mcp::tools::PROFILES.into_iter().chain(mcp::tools::names());
    for profile in profiles.chain(["mem_save,mem_search", "agent,extra"]) {
        let choice = Choice::parse(profile).unwrap();
        for text in mcp::standing_texts(&choice) {
            for tool in named_tools(&text) {
                assert!(choice.has(tool), "{profile} is told of {tool}: {text}");
            }
        }
    }
}

#[test]
fn a_command_that_is_not_there_is_noticed() {
    let mut manual = Manual::new();
    for line in ["serch x", "mind jbos", "find --typo constraint"] {
        assert!(manual.problem(line).is_some(), "{line}");
    }
    for line in ["find --type constraint", "mind run maintenance --dry-run", "confirm ID --json"] {
        assert_eq!(manual.problem(line), None);
    }
}
