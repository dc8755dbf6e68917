//! Answers as text for the model: ids in every line, no more words than it takes.
//!
//! What must stay true: a text is made of an answer and nothing else; where a tool does what a hint proposes, the hint
//! names the tool.

use std::fmt::Write as _;

use api::graph::GraphAnswer;
use api::memory::Brief;
use api::read::GetAnswer;
use api::save::{SaveAnswer, SaveStatus};
use api::search::{ArmView, SearchAnswer};
use api::session::SessionView;
use api::timeline::TimelineAnswer;
use api::{CommandHint, Error};

/// Characters of a question that an answer repeats.
const ECHO_CHARS: usize = 200;

pub(super) fn with_note(text: String, note: &str) -> String {
    if note.is_empty() { text } else { format!("{text}\nNote: {note}") }
}

/// What to do about an error, for a model: it has tools, and no command line.
pub(super) fn hint(error: &Error) -> Option<&str> {
    match CommandHint::of(error) {
        Some(CommandHint::ListMemories) => {
            Some("mem_search and mem_context name the ids there are")
        }
        Some(CommandHint::StartSession) => Some("mem_session_start starts one"),
        None => error.hint.as_deref(),
    }
}

pub(super) fn saved(saved: &SaveAnswer) -> String {
    let how = match saved.status {
        SaveStatus::Created => "Memory saved",
        SaveStatus::Updated => "Memory updated",
        SaveStatus::Duplicate => "Memory already saved, counted",
        SaveStatus::Replayed => "Memory saved before",
    };
    let mut text = format!(
        "{how}: \"{}\" ({}) as #{}, version {}",
        saved.title, saved.kind, saved.id, saved.version
    );
    if !saved.suggested_topic_key.is_empty() {
        write!(text, "\nSuggested topic_key: {}", saved.suggested_topic_key)
            .expect("a String takes any text");
    }
    for near in &saved.similar {
        let (id, title, kind) = (near.id, &near.title, &near.kind);
        write!(text, "\nSimilar: #{id} {title} ({kind}, {:.2})", near.nearness)
            .expect("a String takes any text");
    }
    with_note(with_note(text, &saved.redacted), &saved.project_note)
}

/// ` for project "web"`; nothing for what belongs to none.
pub(super) fn for_project(project: &str) -> String {
    if project.is_empty() { String::new() } else { format!(" for project \"{project}\"") }
}

pub(super) fn started(session: &SessionView) -> String {
    let before = match (session.changed, &session.ended_at) {
        (true, _) => "",
        (false, None) => " before",
        (false, Some(_)) => " before and has ended; a new id starts another",
    };
    format!("Session \"{}\" started{}{before}", session.id, for_project(&session.project))
}

/// A question as an answer repeats it: whoever asked knows the rest.
fn echoed(question: &str) -> String {
    match question.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}…", &question[..end]),
        None => question.to_owned(),
    }
}

/// True if memories were found, but none by a word of the question.
fn by_meaning_alone(found: &SearchAnswer) -> bool {
    let worded = |arm: &ArmView| arm.arm == "words" && arm.score > 0.0;
    found.mode != "newest" && !found.hits.iter().flat_map(|hit| &hit.arms).any(worded)
}

pub(super) fn found(found: &SearchAnswer) -> String {
    if found.hits.is_empty() {
        let elsewhere = found.elsewhere.as_deref().map(|text| format!("\n{text}"));
        return format!(
            "No memories found for: \"{}\"{}",
            echoed(&found.query),
            elsewhere.unwrap_or_default()
        );
    }
    let mut text = format!("Found {} memories:\n\n", found.hits.len());
    for (n, hit) in found.hits.iter().enumerate() {
        let mark =
            if hit.standing == "current" { String::new() } else { format!(" ({})", hit.standing) };
        writeln!(text, "[{}] #{} ({}) — {}{mark}", n + 1, hit.id, hit.kind, hit.title)
            .expect("a String takes any text");
        let more = if hit.cut { " [preview]" } else { "" };
        write!(text, "    {}{more}\n    {}", hit.preview, hit.created_at)
            .expect("a String takes any text");
        if !hit.project.is_empty() {
            write!(text, " | project: {}", hit.project).expect("a String takes any text");
        }
        writeln!(text, " | scope: {}", hit.scope).expect("a String takes any text");
        let related = [("superseded by", &hit.superseded_by), ("contradicts", &hit.contradicts)];
        for (relation, others) in related {
            for other in others {
                writeln!(text, "    {relation} #{}: {}", other.id, other.title)
                    .expect("a String takes any text");
            }
        }
        text.push('\n');
    }
    if found.hits.iter().any(|hit| hit.cut) {
        text.push_str("---\nPreviews are 300 characters; mem_get_observation(id) has the rest.\n");
    }
    if by_meaning_alone(found) {
        text.push_str("Note: no memory has a word of the question; these are nearest in meaning.");
    }
    text.trim_end().to_owned()
}

pub(super) fn hybrid(found: &SearchAnswer) -> String {
    if found.hits.is_empty() {
        return format!("No results found for \"{}\"", echoed(&found.query));
    }
    let mut text = format!(
        "Search results for \"{}\" [{}] ({} found):\n",
        echoed(&found.query),
        found.mode,
        found.hits.len()
    );
    for (n, hit) in found.hits.iter().enumerate() {
        let preview: String = hit.preview.chars().take(120).collect();
        writeln!(
            text,
            "{}. [{}] {} ({}, rank: {:.2})",
            n + 1,
            hit.id,
            hit.title,
            hit.kind,
            hit.rank
        )
        .expect("a String takes any text");
        let arms: Vec<String> = hit
            .arms
            .iter()
            .filter(|arm| arm.score > 0.0)
            .map(|arm| format!("{} {:.2}", arm.arm, arm.score))
            .collect();
        writeln!(text, "   {preview}\n   {}", arms.join(", ")).expect("a String takes any text");
    }
    text.trim_end().to_owned()
}

pub(super) fn memory(got: &GetAnswer) -> String {
    let memory = &got.memory;
    let mut text =
        format!("#{} [{}] {}\n{}\n", memory.id, memory.kind, memory.title, memory.content);
    for (name, value) in [
        ("Session", &memory.session_id),
        ("Project", &memory.project),
        ("Scope", &memory.scope),
        ("Topic", &memory.topic_key),
        ("Created", &memory.created_at),
    ] {
        if !value.is_empty() {
            writeln!(text, "{name}: {value}").expect("a String takes any text");
        }
    }
    if memory.latest > 1 {
        writeln!(text, "Revisions: {}", memory.latest).expect("a String takes any text");
    }
    if memory.duplicates > 0 {
        writeln!(text, "Duplicates: {}", memory.duplicates).expect("a String takes any text");
    }
    for (name, ids) in
        [("Superseded by", &got.superseded_by), ("Contradicted by", &got.contradicted_by)]
    {
        if !ids.is_empty() {
            let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
            writeln!(text, "{name}: {}", ids.join(", ")).expect("a String takes any text");
        }
    }
    text.trim_end().to_owned()
}

pub(super) fn timeline(answer: &TimelineAnswer) -> String {
    let line = |brief: &Brief| {
        format!("#{} [{}] {} — {}\n", brief.id, brief.kind, brief.title, brief.preview)
    };
    let mut text = String::new();
    if let Some(session) = &answer.session {
        writeln!(text, "Session: {} ({})", session.id, session.started_at)
            .expect("a String takes any text");
    }
    text.push_str("--- Before ---\n");
    answer.before.iter().for_each(|brief| text.push_str(&line(brief)));
    let focus = &answer.focus;
    writeln!(
        text,
        ">>> #{} [{}] {} <<<\n{}\n{}\n--- After ---",
        focus.id, focus.kind, focus.title, focus.preview, focus.created_at
    )
    .expect("a String takes any text");
    answer.after.iter().for_each(|brief| text.push_str(&line(brief)));
    text.trim_end().to_owned()
}

/// What a walk found, nearest first, and the edges it went along.
pub(super) fn walked(answer: &GraphAnswer) -> String {
    let (id, depth) = (answer.id, answer.depth);
    if answer.nodes.is_empty() {
        return format!("No related observations found for ID {id} (depth: {depth})");
    }
    let count = answer.nodes.len();
    let mut text =
        format!("Related observations for ID {id} (depth: {depth}, found: {count}):\n\n");
    for node in &answer.nodes {
        let mark = if node.superseded { ", superseded" } else { "" };
        writeln!(
            text,
            "- [{}] {} ({}, {} hops{mark}) — {}",
            node.id, node.title, node.kind, node.hop, node.preview
        )
        .expect("a String takes any text");
    }
    text.push('\n');
    for edge in &answer.edges {
        writeln!(
            text,
            "{} -[{} {:.1}]-> {} (edge {})",
            edge.from_obs_id, edge.relation_type, edge.weight, edge.to_obs_id, edge.id
        )
        .expect("a String takes any text");
    }
    text.trim_end().to_owned()
}
