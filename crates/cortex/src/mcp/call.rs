//! A tool call: arguments into an operation, its answer into text for the model and structured content for programs.

use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::backend::Backend;
use super::tools;
use crate::ops::capture::{CaptureRequest, SuggestRequest};
use crate::ops::change::{
    ArchiveRequest, DeleteRequest, PinRequest, RestoreRequest, UpdateRequest,
};
use crate::ops::context::ContextRequest;
use crate::ops::error::{Error, Result};
use crate::ops::graph::{GraphRequest, RelateRequest};
use crate::ops::prompt::PromptSaveRequest;
use crate::ops::proof::ProveRequest;
use crate::ops::read::{GetAnswer, GetRequest};
use crate::ops::save::{SaveAnswer, SaveRequest, Saved};
use crate::ops::score::ScoreRequest;
use crate::ops::search::{SearchAnswer, SearchRequest};
use crate::ops::session::{SessionEndRequest, SessionStartRequest, SummaryRequest};
use crate::ops::stats::StatsRequest;
use crate::ops::timeline::{TimelineAnswer, TimelineRequest};
use crate::ops::views::Brief;

/// What a tool answers.
#[derive(Clone, Debug)]
pub struct Reply {
    pub text: String,
    pub structured: Value,
}

fn reply(text: String, answer: &impl serde::Serialize) -> Result<Reply> {
    let structured =
        serde_json::to_value(answer).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Reply { text, structured })
}

/// Renames parameters, reads numbers that came as text, refuses what the tool does not know.
fn arguments(name: &str, mut given: Map<String, Value>) -> Result<Map<String, Value>> {
    if name == "mem_save"
        && let Some(text) = given.remove("observation")
    {
        given.entry("content").or_insert(text);
    }
    let known = tools::parameters(name);
    if let Some(unknown) = given.keys().find(|key| !known.contains(&key.as_str())) {
        let shown: String = unknown.chars().take(64).collect();
        let reason = format!("{shown:?} is unknown; {name} takes {}", known.join(", "));
        return Err(Error::invalid("argument", reason));
    }
    let mut read = Map::new();
    for (key, value) in given {
        let number = key == "id" && !name.starts_with("mem_session")
            || matches!(key.as_str(), "limit" | "depth" | "before" | "after")
            || key.ends_with("_id") && key != "session_id";
        let value = match value {
            Value::Null => continue,
            Value::String(text) if number => text
                .trim()
                .trim_start_matches('#')
                .parse::<u64>()
                .map(Value::from)
                .map_err(|_| Error::invalid("argument", format!("{key} must be a number")))?,
            // Some models write whole numbers with a fraction.
            Value::Number(n) if number && n.is_f64() => whole(&key, n.as_f64())?,
            other => other,
        };
        read.insert(key, value);
    }
    Ok(read)
}

fn whole(key: &str, number: Option<f64>) -> Result<Value> {
    match number {
        Some(n) if (0.0..9e15).contains(&n) => {
            // In range; the fraction is what is to be dropped.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Ok(json!(n as u64))
        }
        _ => Err(Error::invalid("argument", format!("{key} must be a number from 0"))),
    }
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Error::invalid("argument", error.to_string()))
}

/// Moves a parameter to the name that the operation has for it.
fn rename(arguments: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = arguments.remove(from) {
        arguments.insert(to.to_owned(), value);
    }
}

fn needed(field: &'static str, text: &str) -> Result<()> {
    if text.trim().is_empty() { Err(Error::invalid(field, "is required")) } else { Ok(()) }
}

pub async fn call(backend: &Backend, name: &str, given: Map<String, Value>) -> Result<Reply> {
    let mut given = arguments(name, given)?;
    match name {
        "mem_save" => {
            let mut request: SaveRequest = read(given)?;
            needed("title", &request.title)?;
            needed("content", &request.content)?;
            request.default_session = true;
            let saved = backend.ask(request).await?;
            reply(saved_text(&saved), &saved)
        }
        "mem_search" => {
            let found = backend.ask(search_request(given)?).await?;
            reply(with_note(found_text(&found), found.note.as_deref().unwrap_or_default()), &found)
        }
        "mem_search_hybrid" => {
            let found = backend.ask(search_request(given)?).await?;
            reply(with_note(hybrid_text(&found), found.note.as_deref().unwrap_or_default()), &found)
        }
        "mem_context" => {
            let answer = backend.ask(read::<ContextRequest>(given)?).await?;
            reply(answer.text.clone(), &answer)
        }
        "mem_session_summary" => {
            let request: SummaryRequest = read(given)?;
            let saved = backend.ask(request).await?;
            let text =
                format!("Session summary saved for project {:?} as #{}", saved.project, saved.id);
            reply(with_note(text, &saved.redacted), &saved)
        }
        "mem_get_observation" => {
            let got = backend.ask(read::<GetRequest>(given)?).await?;
            reply(memory_text(&got), &got)
        }
        "mem_save_prompt" => {
            let mut request: PromptSaveRequest = read(given)?;
            request.default_session = true;
            let saved = backend.ask(request).await?;
            let shown: String = saved.content.chars().take(80).collect();
            reply(
                with_note(format!("Prompt saved: \"{shown}\" as #{}", saved.id), &saved.redacted),
                &saved,
            )
        }
        "mem_update" => {
            let changed = backend.ask(read::<UpdateRequest>(given)?).await?;
            let memory = &changed.memory;
            let text = format!(
                "Memory updated: #{} \"{}\" ({}, scope={}, version {})",
                memory.id, memory.title, memory.kind, memory.scope, memory.version
            );
            reply(with_note(text, &changed.redacted), &changed)
        }
        "mem_suggest_topic_key" => {
            let answer = backend.ask(read::<SuggestRequest>(given)?).await?;
            reply(format!("Suggested topic_key: {}", answer.topic_key), &answer)
        }
        "mem_session_start" => {
            let session = backend.ask(read::<SessionStartRequest>(given)?).await?;
            let text =
                format!("Session \"{}\" started for project \"{}\"", session.id, session.project);
            reply(text, &session)
        }
        "mem_session_end" => {
            let session = backend.ask(read::<SessionEndRequest>(given)?).await?;
            reply(format!("Session \"{}\" completed", session.id), &session)
        }
        "mem_capture_passive" => {
            let answer = backend.ask(read::<CaptureRequest>(given)?).await?;
            let text = format!(
                "Passive capture complete: extracted={} saved={} duplicates={}",
                answer.extracted, answer.saved, answer.duplicates
            );
            reply(text, &answer)
        }
        "mem_relate" => {
            rename(&mut given, "from_id", "from_obs_id");
            rename(&mut given, "to_id", "to_obs_id");
            let answer = backend.ask(read::<RelateRequest>(given)?).await?;
            let edge = &answer.edge;
            let text = format!(
                "Relationship created: observation {} -[{}]-> observation {} (weight: {:.1}, edge ID: {})",
                edge.from_obs_id, edge.relation_type, edge.to_obs_id, edge.weight, edge.id
            );
            reply(text, &answer)
        }
        "mem_graph" => {
            rename(&mut given, "observation_id", "id");
            graph(backend, read(given)?).await
        }
        "mem_score" => {
            rename(&mut given, "observation_id", "id");
            given.remove("recalculate");
            let answer = backend.ask(read::<ScoreRequest>(given)?).await?;
            let text = format!(
                "Observation {} — score: {:.2}, access_count: {}, last_accessed: {}",
                answer.observation_id,
                answer.score,
                answer.access_count,
                answer.last_accessed.as_deref().unwrap_or("never")
            );
            reply(text, &answer)
        }
        _ => admin(backend, name, given).await,
    }
}

async fn admin(backend: &Backend, name: &str, mut given: Map<String, Value>) -> Result<Reply> {
    match name {
        "mem_delete" => {
            rename(&mut given, "hard_delete", "hard");
            let answer = backend.ask(read::<DeleteRequest>(given)?).await?;
            let how = if answer.hard { "permanently deleted" } else { "soft-deleted" };
            reply(format!("Memory #{} {how}", answer.id), &answer)
        }
        "mem_stats" => {
            let answer = backend.ask(read::<StatsRequest>(given)?).await?;
            let projects = answer.projects.join(", ");
            let projects = if projects.is_empty() { "none yet".to_owned() } else { projects };
            let text = format!(
                "Memory System Stats:\n- Sessions: {}\n- Observations: {}\n- Prompts: {}\n- Projects: {projects}",
                answer.sessions, answer.observations, answer.prompts
            );
            reply(text, &answer)
        }
        "mem_timeline" => {
            rename(&mut given, "observation_id", "id");
            let answer = backend.ask(read::<TimelineRequest>(given)?).await?;
            reply(timeline_text(&answer), &answer)
        }
        "mem_archive" => {
            rename(&mut given, "observation_id", "id");
            let answer = backend.ask(read::<ArchiveRequest>(given)?).await?;
            reply(format!("Observation {} archived", answer.memory.id), &answer)
        }
        "mem_pin" => {
            let answer = backend.ask(read::<PinRequest>(given)?).await?;
            let how = if answer.memory.pinned { "pinned" } else { "unpinned" };
            reply(format!("Memory #{} {how}", answer.memory.id), &answer)
        }
        "mem_restore" => {
            let answer = backend.ask(read::<RestoreRequest>(given)?).await?;
            reply(format!("Memory #{} restored", answer.memory.id), &answer)
        }
        "mem_prove" => {
            let answer = backend.ask(read::<ProveRequest>(given)?).await?;
            let text = format!(
                "Proof of #{} ({} bytes) for root {} over {} entries; `cortex verify-proof` checks it",
                answer.id, answer.bytes, answer.root, answer.size
            );
            reply(text, &answer)
        }
        other => Err(Error::missing("tool", other)),
    }
}

fn search_request(given: Map<String, Value>) -> Result<SearchRequest> {
    let request: SearchRequest = read(given)?;
    needed("query", &request.query)?;
    Ok(request)
}

fn with_note(text: String, note: &str) -> String {
    if note.is_empty() { text } else { format!("{text}\nNote: {note}") }
}

fn saved_text(saved: &SaveAnswer) -> String {
    let how = match saved.status {
        Saved::Created => "Memory saved",
        Saved::Updated => "Memory updated",
        Saved::Duplicate => "Memory already saved, counted",
        Saved::Replayed => "Memory saved before",
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

fn found_text(found: &SearchAnswer) -> String {
    if found.hits.is_empty() {
        let elsewhere = found.elsewhere.as_deref().map(|text| format!("\n{text}"));
        return format!(
            "No memories found for: \"{}\"{}",
            found.query,
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
        text.push_str("---\nPreviews are 300 characters; mem_get_observation(id) has the rest.");
    }
    text.trim_end().to_owned()
}

fn hybrid_text(found: &SearchAnswer) -> String {
    if found.hits.is_empty() {
        return format!("No results found for \"{}\"", found.query);
    }
    let mut text = format!(
        "Search results for \"{}\" [{}] ({} found):\n",
        found.query,
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

pub(super) fn memory_text(got: &GetAnswer) -> String {
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

fn timeline_text(answer: &TimelineAnswer) -> String {
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

async fn graph(backend: &Backend, request: GraphRequest) -> Result<Reply> {
    let answer = backend.ask(request).await?;
    let (id, depth) = (answer.id, answer.depth);
    if answer.nodes.is_empty() {
        return reply(
            format!("No related observations found for ID {id} (depth: {depth})"),
            &answer,
        );
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
    reply(text.trim_end().to_owned(), &answer)
}
