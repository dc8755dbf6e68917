//! Questions that are known by a few of their words.
//!
//! What must stay true: nothing that is known by its words alone changes anything, except to take back what was done by
//! itself.

use super::AdminQuestion;

/// Sentences about what was changed by itself. They come first, because "undo" also begins the name of a run.
pub(super) fn about_runs(lower: &str, has: &dyn Fn(&str) -> bool) -> Option<AdminQuestion> {
    let last = has("last") || has("latest") || has("previous");
    let any = |words: &[&str]| words.iter().any(|word| has(word));
    let undoes = ["undo", "revert", "take back", "roll back"];
    let what = any(&["run", "maintenance", "changes", "change", "did", "changed"]);
    let by_it = has("what") && has("did");
    if undoes.iter().any(|verb| lower.starts_with(verb)) && ((last && what) || by_it) {
        return Some(AdminQuestion::UndoLast);
    }
    let asks = any(&["what", "which", "show", "anything", "something"]);
    let away = has("away") && any(&["put", "went"]);
    let gone = any(&[
        "forgotten",
        "forget",
        "forgot",
        "pruned",
        "prune",
        "disappear",
        "disappeared",
        "cleaned",
        "clean",
    ]);
    let soon = any(&["about", "soon", "next", "due", "will", "going"]);
    // "What do you know about forgotten passwords" is no question about what will be forgotten.
    let is_due = away || has("due") || (gone && any(&["soon", "next", "will", "going"]));
    if asks && is_due && soon && !has("know") {
        return Some(AdminQuestion::Due);
    }
    let done = gone || any(&["did", "done", "changed"]);
    let by_itself = any(&["maintenance", "itself", "night", "overnight", "mind"]);
    let by_you = has("you") && gone && any(&["did", "forgot"]);
    (asks && ((done && by_itself) || by_you || away)).then_some(AdminQuestion::LastRun)
}

/// Questions that are known by a few of their words. Whoever asks for a judgement wants more than a list.
pub(super) fn in_words(has: &dyn Fn(&str) -> bool) -> Option<AdminQuestion> {
    let any = |words: &[&str]| words.iter().any(|word| has(word));
    if any(&["should", "worry", "think", "recommend", "suggest", "advise", "advice"]) {
        return None;
    }
    if any(&["approval", "approvals", "approve"]) || (has("waits") && has("me")) {
        return Some(AdminQuestion::Approvals);
    }
    // "Is maintenance paused", "what does the patterns job do", "which jobs failed".
    let job = any(&["maintenance", "job", "jobs"]);
    if job && any(&["does", "paused", "failed", "failing", "next", "scheduled", "often", "last"]) {
        return Some(AdminQuestion::Jobs);
    }
    let ran = any(&["run", "runs", "ran", "today", "yesterday", "last", "recently"]);
    let failed = any(&["fail", "failed", "fails", "failing", "failures", "errors"]);
    if failed || (ran && any(&["talent", "talents"])) {
        return Some(AdminQuestion::TalentRuns { failed });
    }
    let disagree = ["contradiction", "contradictions", "contradict", "contradicting", "disagree"];
    if any(&disagree) || any(&["conflict", "conflicts", "conflicting", "attention"]) {
        return Some(AdminQuestion::Audit);
    }
    let well = ["right", "fine", "alright", "working", "good", "well"];
    if any(&["healthy", "health", "wrong", "ok", "okay", "broken", "reachable", "problems"])
        || (has("everything") && any(&well))
    {
        return Some(AdminQuestion::Health);
    }
    let stopped = ["work", "worked", "working", "stop", "stopped", "leave", "left"];
    let summary = has("session") && any(&["last", "previous", "latest"]);
    if summary || (any(&["i", "we"]) && any(&stopped) && any(&["last", "where", "off"])) {
        return Some(listing("session_summary"));
    }
    let size = ["big", "large", "size", "full", "space", "room"];
    if any(&size) && any(&["memory", "store", "database", "disk", "cortex", "you"]) {
        return Some(AdminQuestion::Counts);
    }
    if (has("how") && has("many")) || any(&["count", "total"]) {
        let counted =
            any(&["memory", "memories", "sessions", "facts", "decisions", "entries", "there"])
                || any(&["remember", "know", "stored", "saved", "kept"]);
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
    if has("pages") || (has("standing") && has("questions")) {
        return Some(AdminQuestion::Pages);
    }
    if has("sessions") {
        return Some(AdminQuestion::Sessions);
    }
    if any(&["who", "agents", "agent"]) && any(&["talking", "connected", "online", "working"]) {
        return Some(AdminQuestion::Running);
    }
    if (has("you") && any(&["doing", "busy"])) || (has("going") && has("on")) {
        return Some(AdminQuestion::Running);
    }
    if any(&["model", "provider"]) && any(&["which", "what", "used", "use"]) {
        return Some(AdminQuestion::Budget);
    }
    if has("when") && any(&["maintenance", "patterns", "bulletin", "run"]) {
        return Some(AdminQuestion::Jobs);
    }
    let kinds = [
        ("rules", "rule"),
        ("goals", "todo"),
        ("todos", "todo"),
        ("decisions", "decision"),
        ("preferences", "preference"),
        ("bugfixes", "bugfix"),
        ("bugs", "bugfix"),
        ("facts", "fact"),
        ("events", "event"),
        ("identity", "identity"),
    ];
    if let Some((_, kind)) = kinds.iter().find(|(word, _)| has(word)) {
        return Some(listing(kind));
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

fn listing(kind: &str) -> AdminQuestion {
    AdminQuestion::Listing { kind: kind.to_owned(), project: None }
}
