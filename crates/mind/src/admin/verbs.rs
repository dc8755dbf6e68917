//! Sentences that begin with a verb, and sentences about one memory or one process.
//!
//! What must stay true: only a verb at the beginning of a sentence changes something, and only with all it needs.

use super::{AdminQuestion, ProcessKind};

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
        (!name.contains(' ')).then(|| name.to_owned())
    };
    let number = |starts: &[&str]| after(starts)?.trim_start_matches('#').parse::<u64>().ok();
    if let Some(run) = after(&["undo run ", "undo the run ", "undo "]) {
        return (!run.contains(' ')).then_some(AdminQuestion::Undo { run });
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
    if let Some(id) = number(&["keep memory ", "keep #", "keep "]) {
        return Some(AdminQuestion::Keep { id });
    }
    // "Don't put memory 12 away", "never forget memory 12".
    let spare = ["don't ", "don\u{2019}t ", "do not ", "never "];
    if spare.iter().any(|start| lower.starts_with(start))
        && ["away", "forget ", "delete "].iter().any(|word| lower.contains(word))
    {
        return named(lower).map(|id| AdminQuestion::Keep { id });
    }
    let forgets = [
        "forget memory ",
        "forget #",
        "delete memory ",
        "delete #",
        "remove memory ",
        "remove #",
        "get rid of memory ",
        "get rid of #",
    ];
    if let Some(id) = number(&forgets) {
        return Some(AdminQuestion::Forget { id });
    }
    let restores = [
        "restore memory ",
        "restore #",
        "bring back memory ",
        "bring back #",
        "undelete memory ",
        "recover memory ",
    ];
    if let Some(id) = number(&restores) {
        return Some(AdminQuestion::Restore { id });
    }
    if let Some(rest) = lower.strip_suffix(" back")
        && let Some(id) = ["bring memory ", "bring #"].iter().find_map(|v| rest.strip_prefix(v))
    {
        return id.trim_start_matches('#').parse().ok().map(|id| AdminQuestion::Restore { id });
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
