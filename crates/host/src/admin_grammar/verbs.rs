//! Sentences that begin with a verb, and sentences about one memory or one process.
//!
//! What must stay true: only a verb at the beginning of a sentence changes something, and only with all it needs.

use mind::{BULLETIN, PAGES, maintenance, patterns};

use super::{AdminQuestion, ProcessKind, spelling};

/// Jobs that somebody can run, pause and resume by name.
const JOBS: [&str; 4] = [BULLETIN, maintenance::JOB, patterns::JOB, PAGES];

/// What a person may call a memory, before its number.
const CALLED: [&str; 12] = [
    "the ",
    "memory ",
    "memories ",
    "fact ",
    "decision ",
    "rule ",
    "goal ",
    "note ",
    "entry ",
    "number ",
    "no. ",
    "no ",
];

/// Verbs at the beginning of a sentence.
pub(super) fn prefixed(lower: &str, tail: &dyn Fn(&str) -> String) -> Option<AdminQuestion> {
    let after = |starts: &[&str]| -> Option<String> {
        let rest = starts.iter().find_map(|start| lower.strip_prefix(start))?;
        Some(tail(rest)).filter(|rest| !rest.is_empty())
    };
    let job = |starts: &[&str]| {
        let job = after(starts)?;
        let name = job.strip_prefix("the ").unwrap_or(&job);
        let name = name.strip_suffix(" now").unwrap_or(name);
        let name = name.strip_suffix(" job").unwrap_or(name);
        let meant = spelling::nearest(&name.to_lowercase(), JOBS.into_iter()).unwrap_or(name);
        (!name.contains(' ')).then(|| meant.to_owned())
    };
    let numbered = |verbs: &[&str]| verbs.iter().find_map(|verb| only(lower.strip_prefix(verb)?));
    if let Some(run) = after(&["undo run ", "undo the run "]) {
        return (!run.contains(' ')).then_some(AdminQuestion::Undo { run });
    }
    // "Undo that" names no run: names of runs have a number.
    if let Some(run) = after(&["undo "]) {
        let is_named = !run.contains(' ') && run.contains(|c: char| c.is_ascii_digit());
        return is_named.then_some(AdminQuestion::Undo { run });
    }
    if let Some(text) = after(&["remember that ", "remember: ", "remember "]) {
        return Some(AdminQuestion::Remember { text });
    }
    let updates = [
        "update memory ",
        "change memory ",
        "correct memory ",
        "edit memory ",
        "fix memory ",
        "update #",
        "change #",
        "correct #",
        "edit #",
        "fix #",
    ];
    if let Some(rest) = after(&updates) {
        let (id, text) = rest.split_once([':', ' '])?;
        let text = text.trim().trim_start_matches("to ").trim_start_matches(':').trim();
        let id = id.trim().trim_start_matches('#').parse().ok()?;
        return (!text.is_empty()).then(|| AdminQuestion::Update { id, text: text.to_owned() });
    }
    if let Some(id) = numbered(&["keep "]) {
        return Some(AdminQuestion::Keep { id });
    }
    // "Don't put memory 12 away", "never forget memory 12".
    let spare = ["don't ", "don\u{2019}t ", "dont ", "do not ", "never "];
    if spare.iter().any(|start| lower.starts_with(start))
        && ["away", "forget ", "delete "].iter().any(|word| lower.contains(word))
    {
        let last = || lower.trim_end_matches(" away").split(' ').next_back()?.parse().ok();
        return named(lower).or_else(last).map(|id| AdminQuestion::Keep { id });
    }
    if let Some(id) = numbered(&["forget ", "delete ", "remove ", "get rid of "]) {
        return Some(AdminQuestion::Forget { id });
    }
    if let Some(id) = numbered(&["restore ", "bring back ", "undelete ", "recover "]) {
        return Some(AdminQuestion::Restore { id });
    }
    if let Some(rest) = lower.strip_suffix(" back")
        && let Some(id) = rest.strip_prefix("bring ").and_then(only)
    {
        return Some(AdminQuestion::Restore { id });
    }
    let shows = ["show me ", "show ", "open ", "read ", ""];
    if let Some(id) = numbered(&shows) {
        return Some(AdminQuestion::Memory { id });
    }
    let first = lower.split_whitespace().next().unwrap_or_default();
    let asks = [
        "why", "what", "who", "when", "where", "how", "which", "is", "was", "did", "show", "tell",
        "open", "read", "explain", "describe", "history", "memory",
    ];
    let of_another = ["bulletin", "worker ", "branch ", "channel "];
    if asks.contains(&first)
        && !of_another.iter().any(|word| lower.contains(word))
        && let Some(id) = named(lower)
    {
        return Some(AdminQuestion::Memory { id });
    }
    let query = after(&[
        "what do you know about ",
        "what do we know about ",
        "what do i know about ",
        "what do you remember about ",
        "what do you have on ",
        "what do you have about ",
        "what is known about ",
        "is anything known about ",
        "do you know anything about ",
        "do you know about ",
        "do we know anything about ",
        "tell me about ",
        "what have we decided about ",
        "what did we decide about ",
        "which decisions did we make about ",
        "what was decided about ",
        "recall ",
        "search for ",
        "search ",
        "find ",
    ]);
    if let Some(query) = query {
        return Some(AdminQuestion::Recall { query });
    }
    if let Some(job) = job(&["preview ", "dry run ", "dry-run "]) {
        return Some(AdminQuestion::DryRun { job });
    }
    if let Some(job) = job(&["run "]) {
        return Some(AdminQuestion::RunJob { job });
    }
    if let Some(job) = job(&["pause "]) {
        return Some(AdminQuestion::PauseJob { job });
    }
    job(&["resume "]).map(|job| AdminQuestion::ResumeJob { job })
}

/// The number that is all that follows a verb: "12", "#12", "memory number 12".
fn only(rest: &str) -> Option<u64> {
    let mut rest = rest.trim();
    while let Some(after) = CALLED.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after.trim_start();
    }
    rest.strip_prefix('#').unwrap_or(rest).parse().ok()
}

/// Whether models are to be stopped or allowed again.
pub(super) fn kill_switch(lower: &str) -> Option<bool> {
    let words: Vec<&str> = lower.split(' ').collect();
    let is = |word: &str| words.contains(&word);
    let what = is("model") || is("models") || is("spending") || is("spend");
    let begins = |verbs: &[&str]| verbs.contains(&words[0]);
    let turns = begins(&["turn", "switch"]);
    if !what || words.len() > 7 {
        return None;
    }
    match () {
        () if begins(&["stop", "disable", "forbid"]) || (turns && is("off")) => Some(true),
        () if begins(&["allow", "enable", "resume"]) || (turns && is("on")) => Some(false),
        () if lower.starts_with("you may spend again") => Some(false),
        () => None,
    }
}

/// The project that a sentence names: "of project shop", "in shop". Whoever answers knows whether there is one.
pub(super) fn project(lower: &str, tail: &dyn Fn(&str) -> String) -> Option<String> {
    let words = [" project ", " of ", " for ", " in ", " to "];
    let rest = words.iter().find_map(|word| Some(lower.split_once(word)?.1))?;
    let rest = rest.trim_start_matches("the ").trim_start_matches("project ");
    let rest = rest.strip_suffix(" project").unwrap_or(rest);
    let name = rest.strip_suffix(" open").unwrap_or(rest);
    let name = name.strip_suffix(" are").unwrap_or(name);
    // The name keeps its case: it is cut from what was written.
    let said = tail(rest);
    said.get(..name.len()).filter(|_| !name.is_empty() && !name.contains(' ')).map(str::to_owned)
}

/// The memory that a sentence names: `memory 12`, `#12`, `number 12`.
fn named(lower: &str) -> Option<u64> {
    let words: Vec<&str> = lower.split(|c: char| c.is_whitespace() || c == ',').collect();
    let number =
        |word: &str| word.trim_start_matches('#').trim_end_matches([':', '.']).parse().ok();
    words.iter().enumerate().find_map(|(at, word)| match *word {
        "memory" | "number" => number(words.get(at + 1)?),
        _ => word.starts_with('#').then(|| number(word))?,
    })
}

/// Sentences about one channel, branch or worker.
pub(super) fn process(lower: &str, tail: &dyn Fn(&str) -> String) -> Option<AdminQuestion> {
    let kinds = [
        ("worker ", ProcessKind::Worker),
        ("branch ", ProcessKind::Branch),
        ("channel ", ProcessKind::Channel),
    ];
    let (at, word, kind) =
        kinds.iter().find_map(|(word, kind)| lower.find(word).map(|at| (at, word, *kind)))?;
    let rest = tail(&lower[at + word.len()..]);
    let id = rest.split_whitespace().next()?.trim_matches(['"', '\'', '?', '.']).to_owned();
    let verb = lower[..at].trim();
    let one_of = |verbs: &[&str]| verbs.contains(&verb);
    if one_of(&["stop", "cancel", "kill", "stop the", "cancel the"]) {
        return Some(AdminQuestion::Cancel { kind, id });
    }
    let asks = one_of(&[
        "why is",
        "why is the",
        "inspect",
        "show",
        "show me",
        "how is",
        "what is",
        "what about",
        "",
    ]);
    asks.then_some(AdminQuestion::Inspect { kind, id })
}
