//! What of a session must not be lost when its agent shortens the conversation: files, commands that worked, errors
//! that are open, decisions.
//!
//! What must stay true: everything is quoted from items, the newest first, each thing once; nothing is made up.

use super::{is_success, outcomes, short, signature};
use transcripts::cleaner::cut;
use transcripts::session::{ItemBody, PastItem};

/// Files and errors that are named.
const NAMED_MAX: usize = 12;
/// Commands that are named: enough for those of a long session.
const COMMANDS_MAX: usize = 40;
const DECISIONS_MAX: usize = 8;
/// Bytes of a sentence that is quoted.
const SENTENCE_BYTES_MAX: usize = 200;

/// How people and agents say what holds from now on.
const DECISION_WORDS: [&str; 16] = [
    "decided",
    "we will use",
    "we'll use",
    "let's use",
    "let us use",
    "going with",
    "we chose",
    "instead of",
    "rather than",
    "do not use",
    "don't use",
    "must not",
    "from now on",
    "always ",
    "never ",
    "agreed",
];

/// The facts of a session, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// The last thing that a person asked for.
    pub asked: Option<String>,
    pub files: Vec<String>,
    pub commands: Vec<String>,
    pub errors: Vec<String>,
    pub decisions: Vec<String>,
}

/// The facts in the items of a session, in order.
pub fn facts(items: &[PastItem]) -> SessionFacts {
    let mut found = SessionFacts::default();
    for item in items.iter().rev() {
        match &item.body {
            ItemBody::Edit { path, .. } => add(&mut found.files, path.clone(), NAMED_MAX),
            ItemBody::Prompt { text, .. } => {
                found.asked.get_or_insert_with(|| short(text));
                decisions(text, &mut found.decisions);
            }
            ItemBody::Answer { text, .. } => decisions(text, &mut found.decisions),
            _ => {}
        }
    }
    let ran = outcomes(items);
    for (_, line, output) in ran.iter().rev() {
        if is_success(*output) == Some(true) {
            add(&mut found.commands, short(line), COMMANDS_MAX);
        }
    }
    found.errors = open_errors(&ran);
    found
}

/// Errors of commands that did not go well since.
fn open_errors(ran: &[(&PastItem, &str, Option<&PastItem>)]) -> Vec<String> {
    let mut open = Vec::<(&str, String)>::new();
    for (_, line, output) in ran {
        match is_success(*output) {
            Some(true) => open.retain(|(failed, _)| command_of(failed) != command_of(line)),
            Some(false) => {
                open.retain(|(failed, _)| command_of(failed) != command_of(line));
                let error = output.map(signature::of_item).unwrap_or_default().into_iter().next();
                let told = error.map_or_else(String::new, |error| format!(": {}", error.line));
                open.push((line, format!("{}{told}", short(line))));
            }
            None => {}
        }
    }
    open.into_iter().rev().take(NAMED_MAX).map(|(_, told)| told).collect()
}

/// A command without the folder and the variables that it was run with: what was mended by one of these is the same.
fn command_of(line: &str) -> &str {
    let mut command = line.trim();
    if let Some((folder, rest)) = command.split_once("&&")
        && folder.trim_start().starts_with("cd ")
    {
        command = rest.trim();
    }
    loop {
        let first = command.split_whitespace().next().unwrap_or_default();
        let is_variable = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        // A value in quotation marks may hold spaces: such a line stays as it is.
        if (!is_variable && first != "env") || first.contains(['"', '\'']) {
            return command;
        }
        command = command[first.len()..].trim_start();
    }
}

fn add(list: &mut Vec<String>, one: String, max: usize) {
    if list.len() < max && !list.contains(&one) {
        list.push(one);
    }
}

/// Sentences that say what was decided.
fn decisions(text: &str, found: &mut Vec<String>) {
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['`', '>', '|'])) {
        for sentence in line.split_inclusive(['.', '!', '?']) {
            let lower = sentence.to_lowercase();
            let is_question = sentence.trim_end().ends_with('?');
            if !is_question && DECISION_WORDS.iter().any(|word| lower.contains(word)) {
                add(found, cut(&short(sentence), SENTENCE_BYTES_MAX).to_owned(), DECISIONS_MAX);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(native: Option<&str>, body: ItemBody) -> PastItem {
        let native = native.map(str::to_owned);
        PastItem { turn: 1, at: 1, about: false, native, body }
    }

    fn ran(id: &str, line: &str, exit: i32, said: &str) -> [PastItem; 2] {
        let output = ItemBody::Output {
            head: said.to_owned(),
            tail: String::new(),
            error: exit != 0,
            bytes: 0,
            exit: Some(exit),
        };
        [item(Some(id), ItemBody::Command { line: line.to_owned() }), item(Some(id), output)]
    }

    // past 62
    #[test]
    fn what_worked_what_is_open_and_what_was_decided_is_quoted() {
        let mut items = Vec::new();
        let said = "We will use redb instead of SQLite. Is it fast? Never log tokens.";
        items.push(item(None, ItemBody::Prompt { text: said.to_owned(), bytes: 0 }));
        items.extend(ran("1", "cargo test", 1, "error: no such field `at`"));
        items.extend(ran("2", "cargo fmt", 0, ""));
        items.extend(ran("3", "cargo test", 0, "ok"));
        items.extend(ran("4", "make deploy", 2, "fatal: denied"));
        let facts = facts(&items);
        assert_eq!(facts.commands, ["cargo test", "cargo fmt"]);
        assert_eq!(facts.errors, ["make deploy: fatal: denied"]);
        items.extend(ran("5", "cd ops && VPN=1 make deploy", 0, "done"));
        assert_eq!(super::facts(&items).errors, Vec::<String>::new());
        assert_eq!(facts.decisions, ["We will use redb instead of SQLite.", "Never log tokens."]);
        let many: Vec<PastItem> =
            (0..30).flat_map(|n| ran(&n.to_string(), &format!("step {n}"), 0, "")).collect();
        assert_eq!(super::facts(&many).commands.len(), 30);
    }
}
