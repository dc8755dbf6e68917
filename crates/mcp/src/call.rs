//! A tool call: arguments into an operation, its answer into text for the model and structured content for programs.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::backend::Backend;
use crate::{text, tools};
use api::capture::{CaptureRequest, SuggestRequest};
use api::change::{ArchiveRequest, DeleteRequest, PinRequest, RestoreRequest, UpdateRequest};
use api::context::ContextRequest;
use api::graph::{GraphRequest, RelateRequest};
use api::prompt::PromptSaveRequest;
use api::proof::ProveRequest;
use api::read::GetRequest;
use api::save::SaveRequest;
use api::score::ScoreRequest;
use api::search::SearchRequest;
use api::session::{SessionEndRequest, SessionStartRequest, SummaryRequest};
use api::stats::StatsRequest;
use api::timeline::TimelineRequest;
use api::{Error, Result};

/// What a tool answers.
#[derive(Clone, Debug)]
pub(super) struct Reply {
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
            Value::String(text) if number => {
                let text = text.trim().trim_start_matches('#');
                text.parse::<u64>().map(Value::from).map_err(|_| not_whole(&key, text))?
            }
            // Some models write whole numbers with a fraction: 2.0 is 2. Of 1.5 nobody knows which was meant.
            Value::Number(n) if number && n.is_f64() => {
                whole(n.as_f64()).ok_or_else(|| not_whole(&key, &n.to_string()))?
            }
            other => other,
        };
        read.insert(key, value);
    }
    Ok(read)
}

fn not_whole(key: &str, given: &str) -> Error {
    let shown: String = given.chars().take(64).collect();
    Error::invalid("argument", format!("{key} must be a whole number from 0, not {shown}"))
}

fn whole(number: Option<f64>) -> Option<Value> {
    let number = number.filter(|n| (0.0..9e15).contains(n) && n.fract() == 0.0)?;
    // A whole number in range.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some(json!(number as u64))
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

pub(super) async fn call(
    backend: &Backend,
    name: &str,
    given: Map<String, Value>,
) -> Result<Reply> {
    let mut given = arguments(name, given)?;
    match name {
        "mem_save" => {
            let mut request: SaveRequest = read(given)?;
            needed("title", &request.title)?;
            needed("content", &request.content)?;
            request.default_session = true;
            let saved = backend.ask(request).await?;
            reply(text::saved(&saved), &saved)
        }
        "mem_search" => {
            let found = backend.ask(search_request(given)?).await?;
            reply(
                text::with_note(text::found(&found), found.note.as_deref().unwrap_or_default()),
                &found,
            )
        }
        "mem_search_hybrid" => {
            let found = backend.ask(search_request(given)?).await?;
            reply(
                text::with_note(text::hybrid(&found), found.note.as_deref().unwrap_or_default()),
                &found,
            )
        }
        "mem_context" => {
            let answer = backend.ask(read::<ContextRequest>(given)?).await?;
            reply(answer.text.clone(), &answer)
        }
        "mem_session_summary" => {
            let request: SummaryRequest = read(given)?;
            let saved = backend.ask(request).await?;
            let text = format!(
                "Session summary saved{} as #{}",
                text::for_project(&saved.project),
                saved.id
            );
            reply(text::with_note(text, &saved.redacted), &saved)
        }
        "mem_get_observation" => {
            let got = backend.ask(read::<GetRequest>(given)?).await?;
            reply(text::memory(&got), &got)
        }
        "mem_save_prompt" => {
            let mut request: PromptSaveRequest = read(given)?;
            request.default_session = true;
            let saved = backend.ask(request).await?;
            let shown: String = saved.content.chars().take(80).collect();
            reply(
                text::with_note(
                    format!("Prompt saved: \"{shown}\" as #{}", saved.id),
                    &saved.redacted,
                ),
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
            reply(text::with_note(text, &changed.redacted), &changed)
        }
        "mem_suggest_topic_key" => {
            let answer = backend.ask(read::<SuggestRequest>(given)?).await?;
            reply(format!("Suggested topic_key: {}", answer.topic_key), &answer)
        }
        "mem_session_start" => {
            let request: SessionStartRequest = read(given)?;
            needed("id", &request.id)?;
            let session = backend.ask(request).await?;
            reply(text::started(&session), &session)
        }
        "mem_session_end" => {
            let request: SessionEndRequest = read(given)?;
            needed("id", &request.id)?;
            let session = backend.ask(request).await?;
            let before = if session.changed { "" } else { " before" };
            reply(format!("Session \"{}\" completed{before}", session.id), &session)
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
            let answer = backend.ask(read::<GraphRequest>(given)?).await?;
            reply(text::walked(&answer), &answer)
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
            reply(text::timeline(&answer), &answer)
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
            let of = if answer.exists { "of" } else { "that there is no" };
            let text = format!(
                "Proof {of} #{} ({} bytes) for root {} over {} entries; `cortex verify-proof` checks it",
                answer.id, answer.bytes, answer.root, answer.size
            );
            reply(text, &answer)
        }
        other => Err(Error::missing("tool", other)),
    }
}

/// A question must be there, but any text is one: a blank asks for the newest.
fn search_request(given: Map<String, Value>) -> Result<SearchRequest> {
    if !given.contains_key("query") {
        return Err(Error::invalid("query", "is required"));
    }
    read(given)
}
