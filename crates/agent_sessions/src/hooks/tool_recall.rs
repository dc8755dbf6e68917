//! What is known about a file or a command, told just before an agent changes the one or runs the other.
//!
//! What must stay true: only rules, fixed bugs and decisions that name the file or the command, or whose trigger does,
//! are told, each once per session; ordinary commands are not looked up.

use api::hook::{HookRequest, RECALL_TOKENS_MAX};
use api::render::model::{ToldMemory, may_be_told, recalled};
use kernel::find::Standing;
use kernel::memory::{DecisionStatus, Fields, MemoryType};
use recall::search::{Hit, SearchQuery};

use super::HookSubject;
use service::caller::Caller;
use service::error::Result;
use service::views;

use crate::AgentSessions;

const TOLD_MAX: usize = 3;
const LOOKED_AT: usize = 30;
/// Bytes of a command line that are looked at.
const COMMAND_BYTES_MAX: usize = 2_000;
/// Words of commands that fail and are mended all day, which is how work goes on: what was kept of that by itself is no
/// news before the next time.
const CHECKS: &[&str] = &[
    "test", "tests", "check", "build", "lint", "fmt", "format", "clippy", "vet", "tsc", "pytest",
    "jest", "vitest", "mypy", "ruff", "eslint",
];
/// Programs that say nothing about what is done.
const ORDINARY: &[&str] = &[
    "ls", "cd", "cat", "echo", "pwd", "head", "tail", "grep", "rg", "find", "wc", "which", "true",
    "sed", "awk", "sort", "uniq", "mkdir", "touch", "cp", "mv", "test", "sleep", "date", "env",
    "printf", "tree", "file", "stat", "diff", "export", "set", "source", "sudo", "time", "timeout",
];

/// What the agent is about to touch.
enum ToolTarget {
    /// A path, `/` between its parts.
    File(String),
    /// The line, and the first words of each of its commands, such as `git push`.
    Commands(String, Vec<String>),
}

impl AgentSessions {
    pub(super) fn recall_for_tool(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
    ) -> Result<Option<(String, Vec<u64>)>> {
        let touched = match (&request.file, &request.command) {
            (Some(file), _) => ToolTarget::File(file.replace('\\', "/")),
            (None, Some(line)) => ToolTarget::Commands(line.clone(), commands(line)),
            (None, None) => return Ok(None),
        };
        let Some(words) = touched.words() else { return Ok(None) };
        let (_, reading) = self.service.reading(caller)?;
        let Some(project) = self.service.project(caller, None) else { return Ok(None) };
        let query = SearchQuery {
            project: Some(project),
            types: vec![MemoryType::Constraint, MemoryType::Decision, MemoryType::Fact],
            ..SearchQuery::new(words.clone(), LOOKED_AT)
        };
        let found = recall::search::search(&reading, None, &query, caller.now()?)?;
        let mut about: Vec<&Hit> = found
            .hits
            .iter()
            .filter(|hit| hit.standing == Standing::Current && binds(hit))
            .filter(|hit| touched.is_named_in(hit))
            .filter(|hit| !(touched.is_check() && hit.version.by == mind::proposal::BY))
            .filter(|hit| !self.was_told(subject, hit.id.get()))
            // What this session saved itself, it knows.
            .filter(|hit| {
                subject.session.is_none() || hit.head.session.as_deref() != subject.session
            })
            .collect();
        // Rules before decisions before bugs; among them as relevance has it.
        about.sort_by_key(|hit| match hit.head.memory_type {
            MemoryType::Constraint => 0,
            MemoryType::Decision => 1,
            _ => 2,
        });
        let memories: Vec<ToldMemory> = about
            .into_iter()
            .map(|hit| self.told_memory(hit))
            .filter(|told| may_be_told(told.author, &[&told.title, &told.text]))
            .take(TOLD_MAX)
            .collect();
        Ok(recalled(touched.heading(), &memories, &words, RECALL_TOKENS_MAX))
    }

    fn told_memory(&self, hit: &Hit) -> ToldMemory {
        let happened = views::happened(&hit.head, &hit.version, hit.body.as_ref());
        let day = views::revised(&hit.version).unwrap_or(happened).rfc3339();
        ToldMemory {
            id: hit.id.get(),
            kind: hit.head.kind.clone(),
            status: hit
                .body
                .as_ref()
                .and_then(|body| views::status(&body.fields))
                .map(str::to_owned),
            day: day.get(..10).unwrap_or(&day).to_owned(),
            title: hit.body.as_ref().map(|body| body.title.clone()).unwrap_or_default(),
            text: hit.body.as_ref().map(|body| body.content.clone()).unwrap_or_default(),
            by: hit.version.by.clone(),
            author: views::author(&hit.version),
            proposed: self.service.rule_authors().is_proposed(&hit.head, &hit.version),
        }
    }
}

/// Whether a command line has a command that says something about what is done.
pub(super) fn is_telling(line: &str) -> bool {
    !commands(line).is_empty()
}

/// Rules and decisions that nothing replaced, and of facts those about a bug.
fn binds(hit: &Hit) -> bool {
    let is_replaced = hit.body.as_ref().is_some_and(|body| {
        matches!(&body.fields, Fields::Decision(decision) if decision.status == DecisionStatus::Superseded)
    });
    !is_replaced && (hit.head.memory_type != MemoryType::Fact || hit.head.kind.starts_with("bug"))
}

impl ToolTarget {
    fn heading(&self) -> &'static str {
        match self {
            ToolTarget::File(_) => "Known about this file:",
            ToolTarget::Commands(..) => "Known about this command:",
        }
    }

    /// What to search for; nothing if there is nothing to look up.
    fn words(&self) -> Option<String> {
        match self {
            ToolTarget::File(path) => {
                let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
                let name = parts.next()?;
                Some(
                    parts.next().map_or_else(|| name.to_owned(), |above| format!("{above}/{name}")),
                )
            }
            ToolTarget::Commands(_, commands) => (!commands.is_empty()).then(|| commands.join(" ")),
        }
    }

    fn is_check(&self) -> bool {
        let ToolTarget::Commands(_, commands) = self else { return false };
        commands
            .iter()
            .flat_map(|command| command.split([' ', ':']))
            .any(|word| CHECKS.contains(&word))
    }

    fn is_named_in(&self, hit: &Hit) -> bool {
        let Some(body) = &hit.body else { return false };
        let trigger = match &body.fields {
            Fields::Constraint(rule) => rule.trigger.as_deref().unwrap_or_default(),
            _ => "",
        };
        let text = format!("{}\n{}\n{trigger}", body.title, body.content);
        match self {
            ToolTarget::File(path) => names_file(&text, path),
            ToolTarget::Commands(line, commands) => {
                // A bug that was fixed is about one command; a rule may be about all of a kind.
                let is_bug = hit.head.memory_type == MemoryType::Fact;
                commands
                    .iter()
                    .any(|command| names_command(&text, command, is_bug.then_some(line.as_str())))
            }
        }
    }
}

/// Whether a text names a file: by a path that is the end of its path.
fn names_file(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.is_empty() {
        return false;
    }
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    text.split(|c: char| !is_of_path(c))
        .map(|word| word.trim_start_matches("./").trim_end_matches('.'))
        .filter(|word| word.ends_with(name))
        .any(|word| {
            let (long, short) = if word.len() > path.len() { (word, path) } else { (path, word) };
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
}

/// Whether a text has words next to each other, whole.
fn has(text: &str, words: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || "-_".contains(c);
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_none_or(|c| !is_of_word(c));
        let after = text[at + words.len()..].chars().next().is_none_or(|c| !is_of_word(c));
        before && after
    })
}

/// Whether a text names a command: its words next to each other. Where the text has it between backticks and `ran` is
/// given, that was run with all words that stand there. A program alone, as `make` or `go`, is also a word of a
/// language: it is named between backticks only.
fn names_command(text: &str, command: &str, ran: Option<&str>) -> bool {
    let mut quoted =
        text.split('`').skip(1).step_by(2).filter(|code| has(code, command)).peekable();
    if quoted.peek().is_none() {
        return command.contains(' ') && has(text, command);
    }
    let Some(ran) = ran else { return true };
    quoted.any(|code| {
        code.split_whitespace().all(|word| ran.split_whitespace().any(|other| other == word))
    })
}

/// The first two words of each command of a line that is not ordinary; of one that has no second word, the first.
fn commands(line: &str) -> Vec<String> {
    let line = &line[..line.floor_char_boundary(COMMAND_BYTES_MAX)];
    let mut found = Vec::new();
    for part in line.split(['|', ';', '&', '\n', '(', ')']) {
        let mut words = part
            .split_whitespace()
            .skip_while(|word| word.contains('=') || ["sudo", "time", "env"].contains(word));
        let Some(first) = words.next() else { continue };
        let first = first.rsplit('/').next().unwrap_or(first);
        if ORDINARY.contains(&first) || !first.starts_with(|c: char| c.is_alphanumeric()) {
            continue;
        }
        let second = words.find(|word| !word.starts_with('-'));
        let second = second
            .filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)));
        let command = match second {
            Some(second) => format!("{first} {second}"),
            None => first.to_owned(),
        };
        if !found.contains(&command) {
            found.push(command);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    // S10
    #[test]
    fn commands_are_known_by_their_first_words() {
        assert_eq!(commands("cd web && FOO=1 sudo git push --force origin"), ["git push"]);
        assert_eq!(commands("cargo -q test | tail -5; npm run build"), ["cargo test", "npm run"]);
        assert_eq!(commands("ls -la; cat a.txt"), Vec::<String>::new());
        assert_eq!(commands("/usr/bin/make"), ["make"]);
    }

    #[test]
    fn a_file_is_named_by_the_end_of_its_path() {
        let path = "/code/shop/src/cache.rs";
        for text in
            ["see src/cache.rs.", "`cache.rs`", "/code/shop/src/cache.rs:12", "./src/cache.rs"]
        {
            assert!(names_file(text, path), "{text}");
        }
        for text in ["lib/cache.rs", "mycache.rs", "src/cache.rs.bak", "the cache"] {
            assert!(!names_file(text, path), "{text}");
        }
    }

    #[test]
    fn a_bug_is_about_the_command_that_it_names_and_a_program_alone_is_not_a_word() {
        let bug = "Fixed: `cargo test vat` failed";
        assert!(names_command(bug, "cargo test", Some("cargo test vat -q")));
        assert!(!names_command(bug, "cargo test", Some("cargo test checkout")));
        assert!(!names_command(bug, "cargo test", Some("cargo test")));
        assert!(names_command("never run cargo test here", "cargo test", None));
        assert!(names_command("`git push --force` is forbidden", "git push", None));
        assert!(names_command("`make` needs the VPN", "make", None));
        assert!(!names_command("we make it faster, and go on", "make", None));
    }

    #[test]
    fn checks_are_commands_that_are_run_all_day() {
        let is_check =
            |line: &str| ToolTarget::Commands(line.to_owned(), commands(line)).is_check();
        assert!(
            is_check("cargo test -p web") && is_check("pnpm run:lint") && is_check("pytest -q")
        );
        assert!(!is_check("terraform apply plan.out") && !is_check("make deploy"));
        assert!(!ToolTarget::File("src/test.rs".into()).is_check());
    }

    #[test]
    fn words_are_whole() {
        assert!(has("never `git push` to main", "git push"));
        assert!(!has("git pushes", "git push"));
    }
}
