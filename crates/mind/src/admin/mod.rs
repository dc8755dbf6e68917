//! Admin chat without a model: a small grammar from what people type to typed questions.
//!
//! People write sentences, which [`parse`] reads; programs and the tools of models build a [`AdminQuestion`]
//! themselves. Who answers decides about the texts.
//!
//! What must stay true: a sentence that is not understood changes nothing and is answered with examples; only exact
//! verbs change something.

mod verbs;
mod words;

pub use api::admin::{AdminQuestion, ProcessKind};

use verbs::{prefixed, process};
use words::{about_runs, in_words};

/// What can be asked, for people.
pub const EXAMPLES: [&str; 28] = [
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
    "did any run fail",
    "what waits for me",
    "which pages are there",
];

/// Activity shown if nobody says how much.
const ACTIVITY_DEFAULT: usize = 20;
const ACTIVITY_MAX: usize = 200;

pub fn parse(text: &str) -> AdminQuestion {
    let text = text.trim().trim_end_matches(['?', '.', '!']).trim();
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
        "help" | "what can you do" | "" => return AdminQuestion::Help,
        "jobs" => return AdminQuestion::Jobs,
        "runs" | "log" | "history" => return AdminQuestion::Runs,
        "channels" => return AdminQuestion::Channels,
        "workers" => return AdminQuestion::Workers,
        "budget" | "costs" | "spending" => return AdminQuestion::Budget,
        "bulletin" => return AdminQuestion::Bulletin,
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
        "kill switch on" | "stop all models" | "stop models" => {
            return AdminQuestion::KillSwitch { on: true };
        }
        "kill switch off"
        | "allow models"
        | "allow models again"
        | "allow spending"
        | "allow spending again" => return AdminQuestion::KillSwitch { on: false },
        _ => {}
    }
    if lower.starts_with("stop spending") || lower.starts_with("stop all spending") {
        return AdminQuestion::KillSwitch { on: true };
    }
    if lower.contains("may spend again") || lower.starts_with("resume spending") {
        return AdminQuestion::KillSwitch { on: false };
    }
    let happened = has("happened") || has("new") || (has("changed") && has("what"));
    if has("activity")
        || happened
        || has("recent") && (has("memory") || has("memories") || has("changes"))
    {
        let number = lower.split_whitespace().find_map(|word| word.parse().ok());
        let limit = number.unwrap_or(ACTIVITY_DEFAULT).clamp(1, ACTIVITY_MAX);
        return AdminQuestion::RecentActivity { limit };
    }
    if let Some(question) = in_words(&has) {
        return question;
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
    if has("bulletin") {
        // "when was the bulletin written": its own head says it.
        return AdminQuestion::Bulletin;
    }
    if has("budget") || has("cost") || has("spent") || has("tokens") {
        return AdminQuestion::Budget;
    }
    AdminQuestion::Unclear { text: text.to_owned() }
}

fn strip_any<'a>(text: &'a str, starts: &[&str]) -> &'a str {
    starts.iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text)
}
