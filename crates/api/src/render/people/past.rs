//! The past, for people: what there is, what was read, sessions, turns, hits, what was forgotten.

use std::fmt::Write as _;

use super::super::untrusted::{line, lines};
use super::HitDetail;
use crate::past::{
    PastCheckAnswer, PastForgetAnswer, PastHit, PastItemView, PastReadAnswer, PastSearchAnswer,
    PastSessionView, PastSessionsAnswer, PastShowAnswer, PastStateAnswer, PastTombstonesAnswer,
};

/// Lines of an output that are shown of each end.
const OUTPUT_LINES: usize = 12;
/// Characters of a hit's text on a terminal.
const HIT_CHARS: usize = 400;

const TAKES: &str = "a String takes any text";

/// So many of a thing: `1 session`, `2 sessions`.
pub(super) fn counted(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{ending}")
}

pub fn past_state(answer: &PastStateAnswer) -> String {
    let mut text = String::new();
    if answer.sessions == 0 {
        text.push_str("nothing of the past was read yet; `cortex past read` reads it\n");
    }
    for (name, agent) in answer.agents.iter().filter(|(_, agent)| agent.turns > 0) {
        let newest = agent.newest.as_deref().unwrap_or("no time");
        writeln!(
            text,
            "{name:<12} {:>15}, {:>12}, {:>8}; newest {newest}",
            counted(agent.sessions, "session"),
            counted(agent.turns, "turn"),
            size(agent.bytes)
        )
        .expect(TAKES);
        if agent.children > 0 {
            let children = counted(agent.children, "session");
            writeln!(text, "{:<12} and {children} of sub-agents", "").expect(TAKES);
        }
        if agent.kept_only_here > 0 {
            let kept = counted(agent.kept_only_here, "session");
            writeln!(text, "{:<12} {kept} kept only here", "").expect(TAKES);
        }
    }
    if answer.sessions > 0 {
        let masked: u64 = answer.agents.values().map(|agent| agent.masked).sum();
        writeln!(
            text,
            "{}, {} in {}; {} masked, {} forgotten",
            counted(answer.sessions, "session"),
            counted(answer.turns, "turn"),
            size(answer.bytes),
            counted(masked, "secret"),
            answer.forgotten
        )
        .expect(TAKES);
    }
    for drift in &answer.drift {
        writeln!(
            text,
            "drift: {} {}: {} of {} records in {} files are of unknown types, {} files without a prompt; \
             `cortex past report {}` shows their shapes",
            drift.agent,
            line(drift.version.as_deref().unwrap_or("of unknown version")),
            drift.unknown,
            drift.records,
            drift.files,
            drift.silent_files,
            drift.agent
        )
        .expect(TAKES);
    }
    if !answer.excluded.is_empty() {
        writeln!(text, "not read: {}", line(&answer.excluded.join(", "))).expect(TAKES);
    }
    text
}

/// Bytes in the unit that a person reads best.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

pub fn past_read(answer: &PastReadAnswer) -> String {
    let mut text = String::new();
    let verb = if answer.dry_run { "would be read" } else { "read" };
    for (name, counts) in answer.agents.iter().filter(|_| !answer.dry_run) {
        let masked: u64 = counts.masked.values().sum();
        let unknown: u64 = counts.unknown.values().sum();
        writeln!(
            text,
            "{name:<12} {}, {}: {}, {}{}",
            counted(counts.files, "file"),
            size(counts.bytes),
            counted(counts.prompts, "prompt"),
            counted(counts.items, "item"),
            aside(&[
                (counts.copies, "known before"),
                (masked, "masked"),
                (unknown, "of unknown type"),
                (counts.malformed, "malformed"),
                (counts.too_large, "too long"),
                (counts.forgotten, "forgotten"),
            ])
        )
        .expect(TAKES);
        for problem in &counts.unreadable {
            writeln!(text, "{name:<12} not read: {}", line(problem)).expect(TAKES);
        }
    }
    let (files, bytes) = (answer.changed_files, size(answer.changed_bytes));
    let files = counted(files, "new or changed file");
    writeln!(text, "{files}, {bytes}, {verb}").expect(TAKES);
    for agent in &answer.drift {
        writeln!(text, "drift: {agent} writes records that this version does not know")
            .expect(TAKES);
    }
    let (sessions, turns) = (counted(answer.sessions, "session"), counted(answer.turns, "turn"));
    writeln!(text, "{sessions}, {turns} in all").expect(TAKES);
    text
}

/// What is worth a word: the counts that are not zero.
fn aside(counts: &[(u64, &str)]) -> String {
    counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect()
}

pub fn past_sessions(answer: &PastSessionsAnswer) -> String {
    let mut text = String::new();
    for session in &answer.sessions {
        text.push_str(&session_line(session));
    }
    let (shown, left_out) = (answer.sessions.len(), answer.left_out);
    let all = counted(shown as u64 + left_out, "session");
    writeln!(text, "{}", if left_out > 0 { format!("{shown} of {all}") } else { all })
        .expect(TAKES);
    text
}

/// `2026-11-05 09:07`: to the minute is enough to know a turn by.
pub(super) fn when(at: Option<&str>) -> String {
    at.map_or_else(|| "no time".to_owned(), |at| at.get(..16).unwrap_or(at).replace('T', " "))
}

fn session_line(session: &PastSessionView) -> String {
    let at = when(session.updated_at.as_deref());
    let folder = line(session.folder.as_deref().unwrap_or("no folder"));
    let title = session.title.as_deref().map(|title| format!("  {}", line(title)));
    let title = title.unwrap_or_default();
    let only = if session.kept_only_here { "  kept only here" } else { "" };
    let reference = line(&session.reference);
    format!(
        "{at}  {:>9}  {reference}  {folder}{title}{only}\n",
        counted(session.turns.into(), "turn")
    )
}

pub fn past_shown(answer: &PastShowAnswer) -> String {
    let mut text = session_line(&answer.session);
    if answer.left_out > 0 {
        writeln!(text, "({} turns are not shown; --whole shows all)", answer.left_out)
            .expect(TAKES);
    }
    for turn in &answer.turns {
        let at = when(turn.at.as_deref());
        let undone = if turn.undone { "  (taken back)" } else { "" };
        writeln!(text, "\n── {}  {at}{undone}", line(&turn.reference)).expect(TAKES);
        for item in &turn.items {
            text.push_str(&past_item(item));
        }
        for id in &turn.kept {
            writeln!(text, "kept as memory {id}").expect(TAKES);
        }
    }
    text
}

fn past_item(item: &PastItemView) -> String {
    let path = item.path.as_deref().map(line).unwrap_or_default();
    let said = lines(&item.text);
    match item.role.as_str() {
        "command" => format!("$ {said}\n"),
        "read" => format!("read {path}\n"),
        "edit" => {
            let removed = lines(item.removed.as_deref().unwrap_or(""));
            let marked = |mark: char, text: &str| {
                text.lines().map(|line| format!("{mark} {line}\n")).collect::<String>()
            };
            format!("edit {path}\n{}{}", marked('-', &removed), marked('+', &said))
        }
        "output" => {
            let tail = lines(item.tail.as_deref().unwrap_or(""));
            let exit = item.exit.map(|exit| format!(" (exit {exit})")).unwrap_or_default();
            let error = if item.error { "error" } else { "output" };
            format!("{error}{exit}:\n{}{}", ends(&said), ends(&tail))
        }
        "tool" => format!("tool {path} {said}\n"),
        role => format!("{role}: {said}\n"),
    }
}

/// The first and last lines of an output, each moved in.
fn ends(text: &str) -> String {
    let all: Vec<&str> = text.lines().collect();
    let mut shown = String::new();
    for (at, line) in all.iter().enumerate() {
        if at < OUTPUT_LINES || at + OUTPUT_LINES >= all.len() {
            writeln!(shown, "  {line}").expect(TAKES);
        } else if at == OUTPUT_LINES {
            writeln!(shown, "  … {} lines", all.len() - 2 * OUTPUT_LINES).expect(TAKES);
        }
    }
    shown
}

pub fn past_found(answer: &PastSearchAnswer, detail: HitDetail) -> String {
    let mut text = String::new();
    for hit in &answer.past {
        text.push_str(&past_hit(hit));
        if detail == HitDetail::Explained && !hit.arms.is_empty() {
            let arms = hit.arms.iter();
            let arms = arms.map(|arm| {
                let (name, rank, score) = (line(&arm.arm), arm.rank, arm.score);
                format!("{name} rank {rank} ({score} of 1000)")
            });
            writeln!(text, "    {}", arms.collect::<Vec<_>>().join(", ")).expect(TAKES);
        }
    }
    if answer.past.is_empty() {
        text.push_str("nothing of the past answers this\n");
    }
    text
}

fn past_hit(hit: &PastHit) -> String {
    let at = when(hit.at.as_deref());
    let mut text = format!("{}  {at}", line(&hit.reference));
    for note in [&hit.project, &hit.title, &hit.changed_since, &hit.rejected].into_iter().flatten()
    {
        write!(text, "  {}", line(note)).expect(TAKES);
    }
    if hit.standing != "current" {
        write!(text, "  ({})", line(&hit.standing)).expect(TAKES);
    }
    text.push('\n');
    if let Some(prompt) = hit.prompt.as_deref().filter(|_| hit.role != "prompt") {
        let first: String = line(prompt).chars().take(160).collect();
        writeln!(text, "    asked: {first}").expect(TAKES);
    }
    let shown: String = line(&hit.preview).chars().take(HIT_CHARS).collect();
    writeln!(text, "    {}: {shown}", hit.role).expect(TAKES);
    if let Some(answered) = &hit.answered {
        let shown: String = line(answered).chars().take(HIT_CHARS).collect();
        writeln!(text, "    answered: {shown}").expect(TAKES);
    }
    if let Some(resume) = &hit.resume {
        writeln!(text, "    {}", line(resume)).expect(TAKES);
    }
    text
}

pub fn past_forgotten(answer: &PastForgetAnswer) -> String {
    let mut text = String::new();
    for name in answer.sessions.iter().chain(&answer.turns) {
        writeln!(text, "{}", line(name)).expect(TAKES);
    }
    let verb = if answer.dry_run { "would be forgotten" } else { "forgotten for good" };
    let (sessions, turns) = (answer.sessions.len(), answer.turns.len());
    let counts = [(sessions as u64, "session"), (turns as u64, "turn")];
    let named: Vec<String> = counts
        .into_iter()
        .filter(|(count, thing)| *count > 0 || (*thing == "turn" && sessions == 0))
        .map(|(count, thing)| counted(count, thing))
        .collect();
    writeln!(text, "{} {verb}", named.join(" and ")).expect(TAKES);
    if !answer.memories.is_empty() {
        let ids: Vec<String> = answer.memories.iter().map(u64::to_string).collect();
        let stay = if answer.memories_forgotten { "were forgotten, too" } else { "stay" };
        writeln!(text, "memories made of it {stay}: {}", ids.join(", ")).expect(TAKES);
    }
    text
}

pub fn past_tombstones(answer: &PastTombstonesAnswer) -> String {
    let mut text = String::new();
    for tombstone in &answer.tombstones {
        let (by, reason) = (line(&tombstone.by), line(&tombstone.reason));
        writeln!(text, "{:>6}  {}  by {by}: {reason}", tombstone.seq, tombstone.at).expect(TAKES);
    }
    let note = match answer.tombstones.len() as u64 {
        0 => "nothing was forgotten".to_owned(),
        count => format!("{}; nobody can tell what was forgotten", counted(count, "tombstone")),
    };
    writeln!(text, "{note}").expect(TAKES);
    text
}

pub fn past_checked(answer: &PastCheckAnswer) -> String {
    let mut text = String::new();
    for (what, names) in [
        ("damaged", &answer.damaged),
        ("missing", &answer.missing),
        ("not referenced", &answer.unreferenced),
    ] {
        for name in names {
            writeln!(text, "{what}: {}", line(name)).expect(TAKES);
        }
    }
    let verdict = if answer.sound { "all are what their names say" } else { "not all are sound" };
    let (segments, files) = (counted(answer.segments, "segment"), counted(answer.parts, "file"));
    writeln!(text, "{segments}, {files} of the index; {verdict}").expect(TAKES);
    text
}
