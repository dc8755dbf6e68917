//! Which modules of the program may name what lies behind the contract.
//!
//! `cli` is the one crate that may depend on everything, because it starts everything. Inside it the same fence holds
//! as between the crates: a command translates between what people type and an operation of `api`; only the crate
//! `command_line`, and what lists the commands, knows who answers. Commands that are a process of their own rather than
//! a question about a home (a daemon, a supervisor) name what they start, and only that.

use crate::lexer::Kind;
use crate::source::Source;

/// The crate of the program.
const PROGRAM: &str = "cli";

/// The crates behind the contract.
const BEHIND: [&str; 15] = [
    "agent_sessions",
    "cluster",
    "daemon",
    "embed",
    "host",
    "intake",
    "kernel",
    "llm",
    "mind",
    "recall",
    "runs",
    "service",
    "talents",
    "text",
    "transfer",
];

/// The modules that know who answers: files, and folders with a slash.
const WIRING: [&str; 1] = ["lib.rs"];

/// Local commands, and what each starts or looks at besides operations. This list only shrinks.
const LOCAL: [(&str, &[&str]); 6] = [
    ("commands/models/model.rs", &["embed", "kernel", "recall", "service"]),
    ("commands/models/model_check.rs", &["embed", "recall", "service"]),
    ("commands/service/", &["daemon", "runs", "service", "talents"]),
    ("commands/setup/config.rs", &["host", "service"]),
    ("commands/setup/doctor.rs", &["agent_sessions", "embed", "service"]),
    ("commands/setup/doctor/", &["daemon", "host", "runs", "service", "talents"]),
];

/// Where a command of the program names a crate behind the contract that its place does not allow.
pub(crate) fn crossed(sources: &[Source<'_>]) -> Vec<String> {
    let program = sources.iter().filter(|source| source.member == PROGRAM);
    program.flat_map(crossed_in).collect()
}

fn crossed_in(source: &Source<'_>) -> Vec<String> {
    let Some(inside) = source.inside_src() else { return Vec::new() };
    if WIRING.iter().any(|place| lies_in(inside, place)) {
        return Vec::new();
    }
    let allowed = LOCAL.iter().filter(|(place, _)| lies_in(inside, place));
    let allowed: Vec<&str> = allowed.flat_map(|(_, crates)| crates.iter().copied()).collect();
    let tokens = &source.production;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        // `crate::commands::service::…` is a module of the program; a crate's name begins a path.
        let begins = at == 0 || tokens[at - 1].text != "::";
        let goes_on = tokens.get(at + 1).is_some_and(|next| next.text == "::");
        let is_behind = token.kind == Kind::Word && BEHIND.contains(&token.text);
        if begins && goes_on && is_behind && !allowed.contains(&token.text) {
            found.push(format!("{} names {}", source.place(token), token.text));
        }
    }
    found
}

fn lies_in(inside: &str, place: &str) -> bool {
    inside == place || place.ends_with('/') && inside.starts_with(place)
}

/// Rows of the lists that no file needs any more.
fn unused(sources: &[Source<'_>]) -> Vec<String> {
    let names = |place: &str, name: &str| {
        sources.iter().any(|source| {
            let inside = source.inside_src().is_some_and(|inside| lies_in(inside, place));
            let mut pairs = source.production.windows(2);
            source.member == PROGRAM
                && inside
                && pairs.any(|pair| pair[0].text == name && pair[1].text == "::")
        })
    };
    let rows =
        LOCAL.iter().flat_map(|(place, crates)| crates.iter().map(move |name| (place, name)));
    rows.filter(|(place, name)| !names(place, name))
        .map(|(place, name)| format!("{place} no longer names {name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{made_up, repository, sources};

    #[test]
    fn a_command_that_reaches_behind_the_contract_is_found() {
        let files = made_up(&[
            ("crates/cli/src/commands/memories/get.rs", "use kernel::Cortex; use api::read;"),
            ("crates/cli/src/commands/setup/doctor.rs", "use service::Service; use recall::x;"),
            ("crates/cli/src/commands/mind/jobs.rs", "use crate::commands::service::serve;"),
            ("crates/cli/src/lib.rs", "use kernel::Cortex;"),
            ("crates/http/src/lib.rs", "use host::Host;"),
        ]);
        assert_eq!(
            crossed(&sources(&files)),
            [
                "crates/cli/src/commands/memories/get.rs:1 names kernel",
                "crates/cli/src/commands/setup/doctor.rs:1 names recall",
            ]
        );
    }

    #[test]
    fn commands_see_the_contract_and_the_wiring_only() {
        assert_eq!(crossed(repository()), Vec::<String>::new());
    }

    #[test]
    fn no_row_allows_what_nobody_needs() {
        assert_eq!(unused(repository()), Vec::<String>::new());
    }
}
