//! The help of the whole program: a screen with what is used every day, and all commands in groups.
//!
//! What must stay true: every command stands in one group, and the first screen fits a terminal of 40 lines.

use std::fmt::Write as _;

use clap::Command;

use crate::failure::EXIT_CODES;

/// What is used every day, in our own few words.
const EVERYDAY: [(&str, &str); 17] = [
    ("save", "keep something: a title, and what it says"),
    ("search", "find memories by a question in ordinary words"),
    ("get", "show memories in full"),
    ("list", "the newest memories, by project, kind or tag"),
    ("edit", "change a memory in your editor"),
    ("update", "change its title, text, tags, project …"),
    ("forget", "hide memories; `restore` brings them back"),
    ("restore", "bring back what was forgotten or archived"),
    ("context", "what to know before a task, in your own words"),
    ("timeline", "what was saved before and after a memory"),
    ("chat", "talk with an agent that has this memory"),
    ("open", "the page, in your browser"),
    ("tui", "everything on the whole terminal"),
    ("init", "connect every coding agent here, and take over their past"),
    ("setup", "connect one coding agent"),
    ("status", "is a daemon running, and how is it"),
    ("doctor", "what is right, what is not, and what to do"),
];

/// All commands, by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Keep and find",
        &[
            "save", "search", "get", "list", "edit", "update", "confirm", "history", "similar",
            "find", "context", "timeline", "entities", "graph", "relate", "unrelate", "score",
        ],
    ),
    ("Put away and bring back", &["forget", "restore", "archive", "delete", "erase"]),
    (
        "What agents left",
        &[
            "bulletin", "session", "sessions", "prompt", "prompts", "projects", "past", "fix",
            "how", "blame", "friction", "keep",
        ],
    ),
    ("The mind", &["mind", "page", "budget", "admin", "attest", "salience", "compact", "audit"]),
    (
        "Talents and conversations",
        &["chat", "talent", "think", "facet", "chronicle", "bus", "supervisor"],
    ),
    (
        "Prove and check",
        &[
            "journal",
            "root",
            "snapshot",
            "prove",
            "verify-proof",
            "verify",
            "rebuild",
            "diff",
            "checkpoint",
            "verify-checkpoint",
        ],
    ),
    (
        "Let others in",
        &[
            "scope-grant",
            "scope-list",
            "scope-revoke",
            "scope-keygen",
            "scope-attenuate",
            "scope-token",
        ],
    ),
    ("Bring and take along", &["import", "export", "backup", "salvage"]),
    (
        "Set up and run",
        &[
            "init", "setup", "serve", "status", "stop", "open", "tui", "tour", "doctor", "config",
            "model", "language", "eval", "actors", "stats", "token", "curl", "mcp", "hook",
            "ledger",
        ],
    ),
    ("About the program", &["help", "version", "completions", "man"]),
];

const PUT_AWAY: &str = "\
Four ways to put a memory away:
  forget   it is hidden from every search; `restore` brings it back
  archive  it is out of the way because it is stale; `restore` brings it back
  delete   the same as forget; with --hard the same as erase
  erase    its text is gone for good, in every version; nothing brings it back";

/// Is there a command of this name?
pub(crate) fn is_command(word: &str) -> bool {
    GROUPS.iter().any(|(_, names)| names.contains(&word))
}

/// The first screen.
pub(crate) fn everyday(cli: &Command) -> String {
    let mut text = format!(
        "{}\n\nUsage: cortex [OPTIONS] COMMAND [ARGUMENTS]\n\nCommands:\n",
        cli.get_about().map(ToString::to_string).unwrap_or_default()
    );
    for (name, about) in EVERYDAY {
        writeln!(text, "  {name:<10}{about}").expect("a String takes any text");
    }
    write!(text, "\n{PUT_AWAY}\n\nOptions of every command:\n ").expect("a String takes any text");
    let mut width = 1;
    for option in cli.get_arguments().filter(|option| !option.is_hide_set()) {
        let Some(long) = option.get_long() else { continue };
        let flag = format!(" --{long}");
        if width + flag.len() > 96 {
            text.push_str("\n ");
            width = 1;
        }
        width += flag.len();
        text.push_str(&flag);
    }
    let count = cli.get_subcommands().filter(|command| !command.is_hide_set()).count();
    write!(
        text,
        "\n\n`cortex help all` lists all {count} commands and options; `cortex help COMMAND` tells all about one.",
    )
    .expect("a String takes any text");
    text
}

/// Every command with a line about it, in groups; then the options and exit codes.
pub(crate) fn all(cli: &Command) -> String {
    let mut text = String::from("Usage: cortex [OPTIONS] COMMAND [ARGUMENTS]\n");
    for (title, names) in GROUPS {
        write!(text, "\n{title}:\n").expect("a String takes any text");
        for name in *names {
            let about = cli.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            writeln!(text, "  {name:<18}{about}").expect("a String takes any text");
        }
    }
    text.push_str("\nOptions of every command:\n");
    for option in cli.get_arguments().filter(|option| !option.is_hide_set()) {
        let Some(long) = option.get_long() else { continue };
        let about = option.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(text, "  --{long:<16}{about}").expect("a String takes any text");
    }
    write!(text, "\n{EXIT_CODES}").expect("a String takes any text");
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory as _;

    use super::*;

    // W26
    #[test]
    fn every_command_is_in_one_group() {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            *places.entry(name).or_default() += 1;
        }
        let cli = crate::Cli::command();
        for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
            assert_eq!(places.remove(command.get_name()), Some(1), "{}", command.get_name());
        }
        assert!(places.is_empty(), "{places:?} are no commands");
        for (name, _) in EVERYDAY {
            assert!(cli.find_subcommand(name).is_some(), "{name}");
        }
    }

    // W26
    #[test]
    fn the_first_screen_fits_a_terminal() {
        let mut cli = crate::Cli::command();
        cli.build();
        let text = everyday(&cli);
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
