//! Answers as text for the model: ids in every line, no more words than it takes.

use api::ErrorCode;
use std::fmt::Write as _;

use api::Error;
use api::graph::GraphAnswer;
use api::memory::Brief;
use api::read::GetAnswer;
use api::save::{SaveAnswer, SaveStatus};
use api::search::{ArmView, SearchAnswer};
use api::session::SessionView;
use api::timeline::TimelineAnswer;

/// Characters of a question that an answer repeats.
const ECHO_CHARS: usize = 200;

pub(super) fn with_note(text: String, note: &str) -> String {
    if note.is_empty() { text } else { format!("{text}\nNote: {note}") }
}

/// What to do about an error, for a model: it has tools, and no command line.
pub(super) fn hint(error: &Error) -> Option<&str> {
    match error.hint.as_deref() {
        Some(hint) if error.code == ErrorCode::NotFound && hint.starts_with("`cortex find`") => {
            Some("mem_search and mem_context name the ids there are")
        }
        Some(hint)
            if error.code == ErrorCode::NotFound && hint.starts_with("`cortex session start") =>
        {
            Some("mem_session_start starts one")
        }
        hint => hint,
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
        let _written = write!(text, "\nSuggested topic_key: {}", saved.suggested_topic_key);
    }
    for near in &saved.similar {
        let (id, title, kind) = (near.id, &near.title, &near.kind);
        let _written = write!(text, "\nSimilar: #{id} {title} ({kind}, {:.2})", near.nearness);
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
        let _written =
            writeln!(text, "[{}] #{} ({}) — {}{mark}", n + 1, hit.id, hit.kind, hit.title);
        let more = if hit.cut { " [preview]" } else { "" };
        let _written = write!(text, "    {}{more}\n    {}", hit.preview, hit.created_at);
        if !hit.project.is_empty() {
            let _written = write!(text, " | project: {}", hit.project);
        }
        let _written = writeln!(text, " | scope: {}", hit.scope);
        let related = [("superseded by", &hit.superseded_by), ("contradicts", &hit.contradicts)];
        for (relation, others) in related {
            for other in others {
                let _written = writeln!(text, "    {relation} #{}: {}", other.id, other.title);
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
        let _written = writeln!(
            text,
            "{}. [{}] {} ({}, rank: {:.2})",
            n + 1,
            hit.id,
            hit.title,
            hit.kind,
            hit.rank
        );
        let arms: Vec<String> = hit
            .arms
            .iter()
            .filter(|arm| arm.score > 0.0)
            .map(|arm| format!("{} {:.2}", arm.arm, arm.score))
            .collect();
        let _written = writeln!(text, "   {preview}\n   {}", arms.join(", "));
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
            let _written = writeln!(text, "{name}: {value}");
        }
    }
    if memory.latest > 1 {
        let _written = writeln!(text, "Revisions: {}", memory.latest);
    }
    if memory.duplicates > 0 {
        let _written = writeln!(text, "Duplicates: {}", memory.duplicates);
    }
    for (name, ids) in
        [("Superseded by", &got.superseded_by), ("Contradicted by", &got.contradicted_by)]
    {
        if !ids.is_empty() {
            let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
            let _written = writeln!(text, "{name}: {}", ids.join(", "));
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
        let _written = writeln!(text, "Session: {} ({})", session.id, session.started_at);
    }
    text.push_str("--- Before ---\n");
    answer.before.iter().for_each(|brief| text.push_str(&line(brief)));
    let focus = &answer.focus;
    let _written = writeln!(
        text,
        ">>> #{} [{}] {} <<<\n{}\n{}\n--- After ---",
        focus.id, focus.kind, focus.title, focus.preview, focus.created_at
    );
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
        let _written = writeln!(
            text,
            "- [{}] {} ({}, {} hops{mark}) — {}",
            node.id, node.title, node.kind, node.hop, node.preview
        );
    }
    text.push('\n');
    for edge in &answer.edges {
        let _written = writeln!(
            text,
            "{} -[{} {:.1}]-> {} (edge {})",
            edge.from_obs_id, edge.relation_type, edge.weight, edge.to_obs_id, edge.id
        );
    }
    text.trim_end().to_owned()
}
