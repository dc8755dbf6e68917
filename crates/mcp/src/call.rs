//! A tool call: arguments into an operation, its answer into text for the model and structured content for programs.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::backend::Backend;
use crate::tools;
use api::capture::{CaptureRequest, SuggestRequest};
use api::change::{ArchiveRequest, DeleteRequest, PinRequest, RestoreRequest, UpdateRequest};
use api::context::{ContextAnswer, ContextRequest};
use api::graph::{GraphRequest, RelateRequest};
use api::prompt::PromptSaveRequest;
use api::proof::ProveRequest;
use api::read::GetRequest;
use api::render::{model, untrusted};
use api::save::SaveRequest;
use api::score::ScoreRequest;
use api::search::SearchRequest;
use api::session::{SessionEndRequest, SessionStartRequest, SummaryRequest};
use api::stats::StatsRequest;
use api::timeline::TimelineRequest;
use api::{Error, Result};

/// What a tool answers.
#[derive(Clone, Debug)]
pub struct Reply {
    pub text: String,
    pub structured: Value,
}

/// The rendering for a model, and the answer itself. Clients show the model the structure rather than the text, so what
/// it holds is made as harmless as the text is.
fn reply<A: serde::Serialize>(render: impl Fn(&A) -> String, answer: &A) -> Result<Reply> {
    let mut structured =
        serde_json::to_value(answer).map_err(|error| Error::internal(error.to_string()))?;
    untrusted::value(&mut structured);
    Ok(Reply { text: render(answer), structured })
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

/// Calls a tool by its name.
pub async fn call(backend: &Backend, name: &str, given: Map<String, Value>) -> Result<Reply> {
    let mut given = arguments(name, given)?;
    match name {
        "mem_save" => {
            let mut request: SaveRequest = read(given)?;
            needed("title", &request.title)?;
            needed("content", &request.content)?;
            request.default_session = true;
            reply(model::saved, &backend.ask(request).await?)
        }
        "mem_search" => reply(model::found, &backend.ask(search_request(given)?).await?),
        "mem_search_hybrid" => {
            reply(model::found_by_arms, &backend.ask(search_request(given)?).await?)
        }
        "mem_context" => {
            let answer = backend.ask(read::<ContextRequest>(given)?).await?;
            let text = answer.text.clone();
            let mut reply = reply(|answer: &ContextAnswer| answer.text.clone(), &answer)?;
            // The text was put together from what is harmless; its headings are ours.
            reply.structured["text"] = Value::String(text);
            Ok(reply)
        }
        "mem_session_summary" => {
            reply(model::summary_saved, &backend.ask(read::<SummaryRequest>(given)?).await?)
        }
        "mem_get_observation" => {
            reply(model::memory, &backend.ask(read::<GetRequest>(given)?).await?)
        }
        "mem_save_prompt" => {
            let mut request: PromptSaveRequest = read(given)?;
            request.default_session = true;
            reply(model::prompt_saved, &backend.ask(request).await?)
        }
        "mem_update" => reply(model::updated, &backend.ask(read::<UpdateRequest>(given)?).await?),
        "mem_suggest_topic_key" => {
            reply(model::suggested, &backend.ask(read::<SuggestRequest>(given)?).await?)
        }
        "mem_session_start" => {
            let request: SessionStartRequest = read(given)?;
            needed("id", &request.id)?;
            reply(model::session_started, &backend.ask(request).await?)
        }
        "mem_session_end" => {
            let request: SessionEndRequest = read(given)?;
            needed("id", &request.id)?;
            reply(model::session_ended, &backend.ask(request).await?)
        }
        "mem_capture_passive" => {
            reply(model::captured, &backend.ask(read::<CaptureRequest>(given)?).await?)
        }
        "mem_relate" => {
            rename(&mut given, "from_id", "from_obs_id");
            rename(&mut given, "to_id", "to_obs_id");
            reply(model::related, &backend.ask(read::<RelateRequest>(given)?).await?)
        }
        "mem_graph" => {
            rename(&mut given, "observation_id", "id");
            reply(model::walked, &backend.ask(read::<GraphRequest>(given)?).await?)
        }
        "mem_score" => {
            rename(&mut given, "observation_id", "id");
            given.remove("recalculate");
            reply(model::scored, &backend.ask(read::<ScoreRequest>(given)?).await?)
        }
        _ => admin(backend, name, given).await,
    }
}

async fn admin(backend: &Backend, name: &str, mut given: Map<String, Value>) -> Result<Reply> {
    match name {
        "mem_delete" => {
            rename(&mut given, "hard_delete", "hard");
            reply(model::deleted, &backend.ask(read::<DeleteRequest>(given)?).await?)
        }
        "mem_stats" => reply(model::stats, &backend.ask(read::<StatsRequest>(given)?).await?),
        "mem_timeline" => {
            rename(&mut given, "observation_id", "id");
            reply(model::timeline, &backend.ask(read::<TimelineRequest>(given)?).await?)
        }
        "mem_archive" => {
            rename(&mut given, "observation_id", "id");
            reply(model::archived, &backend.ask(read::<ArchiveRequest>(given)?).await?)
        }
        "mem_pin" => reply(model::pinned, &backend.ask(read::<PinRequest>(given)?).await?),
        "mem_restore" => {
            reply(model::restored, &backend.ask(read::<RestoreRequest>(given)?).await?)
        }
        "mem_prove" => reply(model::proven, &backend.ask(read::<ProveRequest>(given)?).await?),
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
