//! Admin chat without a model: a small grammar from what people type to typed questions.
//!
//! People write sentences, which [`parse`] reads; programs and the tools of models build a [`AdminQuestion`]
//! themselves. Who answers decides about the texts.
//!
//! What must stay true: a sentence that is not understood changes nothing and is answered with examples; only exact
//! verbs change something, so a mistyped word may turn a sentence into a question and never into an order.

mod spelling;
mod verbs;
mod words;

pub use api::admin::{AdminQuestion, ProcessKind};

use verbs::{kill_switch, prefixed, process, project};
use words::{about_runs, in_words};

/// What can be asked, for people.
pub const EXAMPLES: [&str; 30] = [
    "show me recent memory activity",
    "what is running",
    "list channels",
    "why is worker X stuck",
    "stop worker X",
    "what do you know about the release",
    "remember that deploys happen on Mondays",
    "why was memory 12 forgotten",
    "restore memory 12",
    "show jobs",
    "preview maintenance",
    "run maintenance",
    "undo run X",
    "budget",
    "explain the bulletin",
    "status",
    "is the system healthy",
    "how many memories are there",
    "which projects are there",
    "are there contradictions",
    "what is about to be put away",
    "keep memory 12",
    "what was put away last night",
    "undo the last run",
    "which rules are there",
    "which goals of project shop are open",
    "show the bulletin of project shop",
    "did any run fail",
    "what waits for me",
    "which pages are there",
];

/// What is worth asking if a sentence says nothing of what can be asked.
const FIRST: [&str; 5] = [
    "what is running",
    "show me recent memory activity",
    "what do you know about the release",
    "is the system healthy",
    "what is about to be put away",
];
/// Examples that are named to somebody who was not understood.
const NEAREST_MAX: usize = 5;

/// What commands do that nobody can ask for here.
const COMMANDS: [(&[&str], &str); 9] = [
    (&["talent", "talents"], "`cortex talent list` names the talents that there are"),
    (&["backup", "backups"], "`cortex backup FOLDER` copies all memories"),
    (&["export"], "`cortex export` writes memories into a file"),
    (&["import"], "`cortex import FILE` brings memories in"),
    (&["version"], "`cortex --version` tells the version"),
    (&["setup", "connect", "install"], "`cortex init` connects agents"),
    (&["erase", "purge"], "`cortex erase ID` removes a text for good"),
    (&["setting", "settings", "config"], "`cortex config show` shows what is set"),
    (&["cancel"], "`cortex talent cancel RUN` ends a run"),
];

/// Activity shown if nobody says how much.
const ACTIVITY_DEFAULT: usize = 20;
const ACTIVITY_MAX: usize = 200;

pub fn parse(text: &str) -> AdminQuestion {
    let text = without_marks(text);
    let text = &with_whole_words(text);
    let plain = without_thanks(text);
    let first = match read(text) {
        AdminQuestion::Unclear { .. } => read(plain),
        first => first,
    };
    // Orders and what somebody looks for stand as they were written.
    if changes(&first) || matches!(first, AdminQuestion::Recall { .. }) {
        return first;
    }
    match spelling::corrected(&plain.to_lowercase()).map(|better| read(&better)) {
        // What was mistyped may be an order that nobody gave.
        Some(question) if !changes(&question) && !is_unclear(&question) => question,
        _ if is_unclear(&first) => unclear(text),
        _ => first,
    }
}

fn is_unclear(question: &AdminQuestion) -> bool {
    matches!(question, AdminQuestion::Unclear { .. })
}

fn unclear(text: &str) -> AdminQuestion {
    AdminQuestion::Unclear { text: text.to_owned() }
}

/// For whom was not understood: what was meant, if that is an order that nobody should carry out by guessing.
pub fn meant(text: &str) -> Option<String> {
    let plain = without_thanks(without_marks(text)).to_lowercase();
    if ["undo that", "undo it", "undo this", "undo"].contains(&plain.as_str()) {
        return Some("undo the last run".to_owned());
    }
    spelling::corrected(&plain).filter(|better| changes(&read(better)))
}

/// For whom was not understood: the command that does it, and the examples that have most to do with the sentence.
pub fn nearest(text: &str) -> (Option<&'static str>, Vec<&'static str>) {
    let lower = without_marks(text).to_lowercase();
    let lower = spelling::corrected(&lower).unwrap_or(lower);
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3).collect();
    let has = |word: &&str| words.contains(word);
    let command = COMMANDS.iter().find(|(any, _)| any.iter().any(has)).map(|(_, says)| *says);
    let shared = |example: &str| {
        example.split(' ').filter(|word| word.len() > 3 && words.contains(word)).count()
    };
    let mut near: Vec<&str> = EXAMPLES.into_iter().filter(|it| shared(it) > 0).collect();
    near.sort_by_key(|example| std::cmp::Reverse(shared(example)));
    near.extend(FIRST.into_iter().filter(|first| shared(first) == 0));
    near.truncate(NEAREST_MAX);
    (command, near)
}

/// Whether a question is an order.
fn changes(question: &AdminQuestion) -> bool {
    use AdminQuestion as Q;
    matches!(
        question,
        Q::Cancel { .. }
            | Q::Remember { .. }
            | Q::Forget { .. }
            | Q::Restore { .. }
            | Q::RunJob { .. }
            | Q::PauseJob { .. }
            | Q::ResumeJob { .. }
            | Q::Undo { .. }
            | Q::KillSwitch { .. }
            | Q::RefreshBulletin
            | Q::Reset
            | Q::Keep { .. }
            | Q::UndoLast
            | Q::Update { .. }
    )
}

fn without_marks(text: &str) -> &str {
    text.trim().trim_end_matches(['?', '.', '!', ' '])
}

/// "what's" is "what is", and so is "whats".
fn with_whole_words(text: &str) -> String {
    for word in ["what", "who", "where", "how", "when", "which"] {
        for end in ["'s ", "\u{2019}s ", "s "] {
            let begins = text.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word));
            if let Some(rest) = text.get(word.len()..).and_then(|rest| rest.strip_prefix(end))
                && begins
            {
                return format!("{word} is {rest}");
            }
        }
    }
    text.to_owned()
}

/// Without what is said to be polite, and without "now".
fn without_thanks(text: &str) -> &str {
    let mut text = text;
    let ends = [
        "please",
        "pls",
        "plz",
        "thanks",
        "thank you",
        "thx",
        "for me",
        "for now",
        "right now",
        "now",
    ];
    while let Some(shorter) = ends.iter().find_map(|end| {
        let cut = text.len().checked_sub(end.len())?;
        let said = text.get(cut..)?.eq_ignore_ascii_case(end);
        let before = text.get(..cut)?;
        let rest = before.trim_end_matches([',', ' ']);
        (said && before.len() > rest.len() && !rest.is_empty()).then_some(rest)
    }) {
        text = shorter;
    }
    text
}

/// One reading, of the words as they stand.
fn read(text: &str) -> AdminQuestion {
    let lower = text.to_lowercase();
    let lower = strip_any(&lower, &["please ", "can you ", "could you ", "cortex, "]);
    // Ids and texts keep their case: they are cut from the end of what was written.
    let tail = |rest: &str| -> String {
        let from = text.len().checked_sub(rest.len()).filter(|at| text.is_char_boundary(*at));
        from.map_or(rest, |at| &text[at..]).trim().trim_matches(['"', '\'']).to_owned()
    };
    let has = |word: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|w| w == word);
    let plain = strip_any(
        lower,
        &[
            "show me the ",
            "show me ",
            "show the ",
            "show ",
            "list all ",
            "list the ",
            "list ",
            "what are the ",
            "what are my ",
            "the ",
            "my ",
        ],
    );
    if let Some(question) =
        about_runs(lower, &has).or_else(|| prefixed(lower, &tail)).or_else(|| process(lower, &tail))
    {
        return question;
    }
    match plain {
        "help" | "what can you do" | "what can i ask" | "hi" | "hello" | "" => {
            return AdminQuestion::Help;
        }
        "jobs" => return AdminQuestion::Jobs,
        "runs" | "log" | "history" => return AdminQuestion::Runs,
        "channels" => return AdminQuestion::Channels,
        "workers" => return AdminQuestion::Workers,
        "budget" | "costs" | "spending" => return AdminQuestion::Budget,
        "bulletin" | "briefing" | "brief me" | "catch me up" | "what matters now" => {
            return AdminQuestion::Bulletin { project: None };
        }
        "patterns" => return AdminQuestion::Patterns,
        "breakers" | "circuit breakers" => return AdminQuestion::Breakers,
        "reset" | "reset breakers" | "close breakers" | "close the breakers" => {
            return AdminQuestion::Reset;
        }
        "projects" => return AdminQuestion::Projects,
        "counts" | "statistics" | "stats" => return AdminQuestion::Counts,
        "health" => return AdminQuestion::Health,
        "sessions" => return AdminQuestion::Sessions,
        "approvals" => return AdminQuestion::Approvals,
        "pages" => return AdminQuestion::Pages,
        "status" | "who are you" | "are you ready" | "readiness" | "how are you" => {
            return AdminQuestion::Status;
        }
        "kill switch on" => return AdminQuestion::KillSwitch { on: true },
        "kill switch off" => return AdminQuestion::KillSwitch { on: false },
        _ => {}
    }
    if let Some(on) = kill_switch(lower) {
        return AdminQuestion::KillSwitch { on };
    }
    let happened = has("happened") || has("new") || (has("changed") && has("what"));
    if has("activity")
        || happened
        || has("recent") && (has("memory") || has("memories"))
        || (has("recent") || has("last") || has("latest")) && has("changes")
    {
        let number = lower.split_whitespace().find_map(|word| word.parse().ok());
        let limit = number.unwrap_or(ACTIVITY_DEFAULT).clamp(1, ACTIVITY_MAX);
        return AdminQuestion::RecentActivity { limit };
    }
    if let Some(question) = in_words(&has) {
        return match question {
            AdminQuestion::Listing { kind, .. } => {
                AdminQuestion::Listing { kind, project: project(lower, &tail) }
            }
            other => other,
        };
    }
    let spent = has("budget") || has("cost") || has("costs") || has("spent") || has("tokens");
    if spent {
        return AdminQuestion::Budget;
    }
    if has("running") || has("processes") {
        return AdminQuestion::Running;
    }
    if has("bulletin") && (has("explain") || has("why")) {
        return AdminQuestion::ExplainBulletin;
    }
    if lower.starts_with("refresh") && has("bulletin") {
        return AdminQuestion::RefreshBulletin;
    }
    if has("bulletin") || has("briefing") {
        // "when was the bulletin written": its own head says it.
        return AdminQuestion::Bulletin { project: project(lower, &tail) };
    }
    unclear(text)
}

fn strip_any<'a>(text: &'a str, starts: &[&str]) -> &'a str {
    starts.iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text)
}
