//! Admin chat without a model: a small grammar from what people type to typed questions.
//!
//! People write sentences, which [`parse`] reads; programs and the tools of models build a [`AdminQuestion`]
//! themselves. Who answers decides about the texts.
//!
//! What must stay true: a sentence that is not understood changes nothing and is answered with examples; only exact
//! verbs change something.

pub use api::admin::{AdminQuestion, ProcessKind};

/// What can be asked, for people.
pub const EXAMPLES: [&str; 24] = [
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
            "the ",
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
        "status" | "are you ready" | "readiness" | "how are you" => return AdminQuestion::Status,
        "kill switch on" | "stop all models" => return AdminQuestion::KillSwitch { on: true },
        "kill switch off" | "allow models" => return AdminQuestion::KillSwitch { on: false },
        _ => {}
    }
    if has("activity") || has("recent") && (has("memory") || has("memories") || has("changes")) {
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
    if has("bulletin") && has("refresh") {
        return AdminQuestion::RefreshBulletin;
    }
    if has("budget") || has("cost") || has("spent") || has("tokens") {
        return AdminQuestion::Budget;
    }
    AdminQuestion::Unclear { text: text.to_owned() }
}

/// Sentences about what was changed by itself. They come first, because "undo" also begins the name of a run.
fn about_runs(lower: &str, has: &dyn Fn(&str) -> bool) -> Option<AdminQuestion> {
    let last = has("last") || has("latest") || has("previous");
    if lower.starts_with("undo") && last && (has("run") || has("maintenance") || has("changes")) {
        return Some(AdminQuestion::UndoLast);
    }
    let asks = has("what") || has("which") || has("show");
    let away = has("away") && (has("put") || has("was") || has("were"));
    let soon = has("about") || has("soon") || has("next") || has("due") || has("will");
    if asks && (away || has("due")) && soon {
        return Some(AdminQuestion::Due);
    }
    let done = has("did") || has("done") || has("changed") || has("forgotten") || has("pruned");
    let by_itself = has("maintenance") || has("itself") || has("night") || has("mind");
    (asks && ((done && by_itself) || away)).then_some(AdminQuestion::LastRun)
}

/// Questions that are known by a few of their words. Whoever asks for a judgement wants more than a list.
fn in_words(has: &dyn Fn(&str) -> bool) -> Option<AdminQuestion> {
    let any = |words: &[&str]| words.iter().any(|word| has(word));
    if any(&["should", "worry", "think", "recommend", "suggest", "advise", "advice"]) {
        return None;
    }
    if any(&["contradiction", "contradictions", "contradict", "conflicts", "attention"]) {
        return Some(AdminQuestion::Audit);
    }
    if any(&["healthy", "health", "wrong", "ok", "okay"]) {
        return Some(AdminQuestion::Health);
    }
    if (has("how") && has("many")) || any(&["count", "total"]) {
        let counted = any(&["memories", "sessions", "facts", "decisions", "entries", "there"]);
        if counted && !has("tokens") && !has("channels") && !has("workers") {
            return Some(AdminQuestion::Counts);
        }
    }
    if has("projects") {
        return Some(AdminQuestion::Projects);
    }
    if any(&["stuck", "hanging"]) || (has("workers") && any(&["which", "what", "how", "list"])) {
        return Some(AdminQuestion::Workers);
    }
    if has("channels") || has("conversations") {
        return Some(AdminQuestion::Channels);
    }
    if any(&["jobs", "scheduled"]) {
        return Some(AdminQuestion::Jobs);
    }
    if any(&["breaker", "breakers"]) {
        return Some(AdminQuestion::Breakers);
    }
    if any(&["patterns", "repeats"]) {
        return Some(AdminQuestion::Patterns);
    }
    any(&["money", "spend", "spending", "expensive", "dollars"]).then_some(AdminQuestion::Budget)
}

fn strip_any<'a>(text: &'a str, starts: &[&str]) -> &'a str {
    starts.iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text)
}

/// Verbs at the beginning of a sentence.
fn prefixed(lower: &str, tail: &dyn Fn(&str) -> String) -> Option<AdminQuestion> {
    let after = |starts: &[&str]| -> Option<String> {
        let rest = starts.iter().find_map(|start| lower.strip_prefix(start))?;
        Some(tail(rest)).filter(|rest| !rest.is_empty())
    };
    let job = |starts: &[&str]| after(starts).filter(|job| !job.contains(' '));
    let number = |starts: &[&str]| after(starts)?.trim_start_matches('#').parse::<u64>().ok();
    if let Some(run) = after(&["undo run ", "undo the run ", "undo "]) {
        return (!run.contains(' ')).then_some(AdminQuestion::Undo { run });
    }
    if let Some(text) = after(&["remember that ", "remember: ", "remember "]) {
        return Some(AdminQuestion::Remember { text });
    }
    if let Some(rest) = after(&["update memory ", "change memory ", "correct memory "]) {
        let (id, text) = rest.split_once([':', ' '])?;
        let text = text.trim().trim_start_matches("to ").trim_start_matches(':').trim();
        let id = id.trim().trim_start_matches('#').parse().ok()?;
        return (!text.is_empty()).then(|| AdminQuestion::Update { id, text: text.to_owned() });
    }
    if let Some(id) = number(&["keep memory ", "keep #", "keep "]) {
        return Some(AdminQuestion::Keep { id });
    }
    if let Some(id) = number(&["delete memory ", "delete #", "remove memory "]) {
        return Some(AdminQuestion::Forget { id });
    }
    if let Some(id) = number(&["forget memory ", "forget #"]) {
        return Some(AdminQuestion::Forget { id });
    }
    if let Some(id) = number(&["restore memory ", "restore #"]) {
        return Some(AdminQuestion::Restore { id });
    }
    if let Some(rest) = after(&[
        "why was memory ",
        "why is memory ",
        "history of memory ",
        "show memory ",
        "memory ",
    ]) && let Some(id) =
        rest.split_whitespace().next().and_then(|id| id.trim_start_matches('#').parse().ok())
    {
        return Some(AdminQuestion::Memory { id });
    }
    let query = after(&["what do you know about ", "recall ", "search for ", "search ", "find "]);
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

/// Sentences about one channel, branch or worker.
fn process(lower: &str, tail: &dyn Fn(&str) -> String) -> Option<AdminQuestion> {
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

#[cfg(test)]
mod tests {
    use super::*;

    // mind 98, 101-104
    #[test]
    fn people_are_understood_without_a_model() {
        let worker = |id: &str| AdminQuestion::Inspect { kind: ProcessKind::Worker, id: id.into() };
        for (text, question) in [
            ("show me recent memory activity", AdminQuestion::RecentActivity { limit: 20 }),
            ("Show me the last 5 recent changes", AdminQuestion::RecentActivity { limit: 5 }),
            ("What is running?", AdminQuestion::Running),
            ("list channels", AdminQuestion::Channels),
            ("why is worker Build-7 stuck?", worker("Build-7")),
            ("inspect worker w1", worker("w1")),
            (
                "stop worker w1",
                AdminQuestion::Cancel { kind: ProcessKind::Worker, id: "w1".into() },
            ),
            ("what do you know about Rust?", AdminQuestion::Recall { query: "Rust".into() }),
            (
                "Remember that Ada likes tea.",
                AdminQuestion::Remember { text: "Ada likes tea".into() },
            ),
            ("why was memory #12 forgotten?", AdminQuestion::Memory { id: 12 }),
            ("restore memory 12", AdminQuestion::Restore { id: 12 }),
            ("undo run maintenance-1-2", AdminQuestion::Undo { run: "maintenance-1-2".into() }),
            ("run maintenance", AdminQuestion::RunJob { job: "maintenance".into() }),
            ("preview maintenance", AdminQuestion::DryRun { job: "maintenance".into() }),
            ("pause bulletin", AdminQuestion::PauseJob { job: "bulletin".into() }),
            ("show me the jobs", AdminQuestion::Jobs),
            ("how many tokens were spent today?", AdminQuestion::Budget),
            ("stop all models", AdminQuestion::KillSwitch { on: true }),
            ("explain the bulletin", AdminQuestion::ExplainBulletin),
            ("are you ready?", AdminQuestion::Status),
            ("help", AdminQuestion::Help),
        ] {
            assert_eq!(parse(text), question, "{text}");
        }
        for example in EXAMPLES {
            assert!(!matches!(parse(example), AdminQuestion::Unclear { .. }), "{example}");
        }
    }

    // T22: what operators ask, in their words
    #[test]
    fn the_questions_of_operators_are_understood() {
        use AdminQuestion as Q;
        let memory = |id| Q::Memory { id };
        let questions: [(&str, Q); 36] = [
            ("list channels", Q::Channels),
            ("which channels are open?", Q::Channels),
            ("show me the conversations", Q::Channels),
            ("show memory 12", memory(12)),
            ("why was memory 12 forgotten?", memory(12)),
            ("history of memory #12", memory(12)),
            ("how much did we spend today?", Q::Budget),
            ("how many tokens were spent today", Q::Budget),
            ("how much money is left", Q::Budget),
            ("how many memories are there?", Q::Counts),
            ("count the memories", Q::Counts),
            ("statistics", Q::Counts),
            ("which workers are stuck?", Q::Workers),
            ("is anything stuck?", Q::Workers),
            ("list workers", Q::Workers),
            ("what did maintenance do?", Q::LastRun),
            ("what was put away last night?", Q::LastRun),
            ("what was forgotten by itself?", Q::LastRun),
            ("what is about to be put away?", Q::Due),
            ("what will be put away next?", Q::Due),
            ("keep memory 12", Q::Keep { id: 12 }),
            ("undo the last run", Q::UndoLast),
            ("undo the last maintenance", Q::UndoLast),
            ("is the system healthy?", Q::Health),
            ("is everything ok?", Q::Health),
            ("which projects are there?", Q::Projects),
            ("list projects", Q::Projects),
            ("are there contradictions?", Q::Audit),
            ("what needs attention?", Q::Audit),
            (
                "update memory 12: deploys happen on Tuesdays",
                Q::Update { id: 12, text: "deploys happen on Tuesdays".into() },
            ),
            ("delete memory 12", Q::Forget { id: 12 }),
            ("restore memory 12", Q::Restore { id: 12 }),
            ("which jobs are scheduled?", Q::Jobs),
            ("which breakers are open?", Q::Breakers),
            ("reset", Q::Reset),
            ("what patterns were found?", Q::Patterns),
        ];
        for (text, question) in questions {
            assert_eq!(parse(text), question, "{text}");
        }
    }

    #[test]
    fn questions_for_a_judgement_are_left_to_a_model() {
        for text in [
            "which of my habits should worry me",
            "which projects should I work on next?",
            "what do you think of these patterns?",
        ] {
            assert!(matches!(parse(text), AdminQuestion::Unclear { .. }), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_changes_nothing() {
        for text in [
            "undo everything now",
            "run for your life",
            "forget about it",
            "İİİ worker",
            "stop the music",
        ] {
            let question = parse(text);
            assert!(
                matches!(
                    question,
                    AdminQuestion::Unclear { .. }
                        | AdminQuestion::Inspect { .. }
                        | AdminQuestion::Recall { .. }
                ),
                "{text}: {question:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed(text in ".{0,80}") {
            let _ = parse(&text);
            let _ = parse(&format!("why is worker {text} stuck"));
            let _ = parse(&format!("REMEMBER THAT {text}"));
        }
    }
}
