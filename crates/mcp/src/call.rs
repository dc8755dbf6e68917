//! A tool call: arguments into an operation, its answer into what a model reads.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::backend::Backend;
use crate::tools;
use api::capture::{CaptureRequest, SuggestRequest};
use api::change::{ArchiveRequest, DeleteRequest, PinRequest, RestoreRequest, UpdateRequest};
use api::context::ContextRequest;
use api::graph::{GraphRequest, RelateRequest};
use api::past::{PastKeepRequest, PastSearchRequest, PastShowRequest, PastWorkRequest};
use api::prompt::PromptSaveRequest;
use api::proof::ProveRequest;
use api::read::GetRequest;
use api::render::model::{self, AnswerForModel, CONTEXT_TOKENS, ModelReader, TOKENS_MIN};
use api::save::SaveRequest;
use api::score::ScoreRequest;
use api::search::SearchRequest;
use api::session::{SessionEndRequest, SessionStartRequest, SummaryRequest};
use api::stats::StatsRequest;
use api::talent_runs::{TalentRunRequest, TalentRunsRequest};
use api::timeline::TimelineRequest;
use api::{Error, Result};

/// Tokens that a text costs beyond itself inside its structure.
const FIELD_TOKENS: usize = 8;

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
            || matches!(
                key.as_str(),
                "limit" | "depth" | "around" | "before" | "after" | "max_tokens"
            )
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
            Value::Number(n) if number && !n.is_u64() => {
                return Err(not_whole(&key, &n.to_string()));
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

/// Takes out of the arguments what they say of the reader.
fn reader(tools: &[&'static str], given: &mut Map<String, Value>) -> Result<ModelReader> {
    let explain = given.remove("explain").and_then(|value| value.as_bool()).unwrap_or_default();
    let max_tokens = match given.remove("max_tokens") {
        None => None,
        Some(value) => {
            let asked = value.as_u64().and_then(|n| usize::try_from(n).ok());
            let asked = asked.filter(|n| *n >= TOKENS_MIN).ok_or_else(|| {
                Error::invalid("max_tokens", format!("must be a number from {TOKENS_MIN}"))
            })?;
            Some(asked)
        }
    };
    Ok(ModelReader { tools: tools.to_vec(), max_tokens, explain })
}

/// Calls a tool by its name, for a model that has these tools.
pub async fn call(
    backend: &Backend,
    tools: &[&'static str],
    name: &str,
    given: Map<String, Value>,
) -> Result<AnswerForModel> {
    let mut given = arguments(name, given)?;
    let reader = &reader(tools, &mut given)?;
    match name {
        "mem_search" => {
            Ok(model::found(&backend.ask(search_request(given, reader)?).await?, reader))
        }
        "mem_search_hybrid" => {
            Ok(model::found_by_rank(&backend.ask(search_request(given, reader)?).await?, reader))
        }
        "mem_context" => {
            let mut request: ContextRequest = read(given)?;
            let room = reader.max_tokens.unwrap_or(CONTEXT_TOKENS);
            request.max_tokens = Some(room.saturating_sub(FIELD_TOKENS));
            request.default_project = true;
            let text = backend.ask(request).await?.text;
            let structured = Map::from_iter([("text".to_owned(), json!(text))]);
            Ok(AnswerForModel { text, structured })
        }
        "mem_get_observation" => {
            Ok(model::memory(&backend.ask(read::<GetRequest>(given)?).await?, reader))
        }
        "mem_suggest_topic_key" => {
            Ok(model::suggested(&backend.ask(read::<SuggestRequest>(given)?).await?))
        }
        "mem_graph" => {
            rename(&mut given, "observation_id", "id");
            Ok(model::walked(&backend.ask(read::<GraphRequest>(given)?).await?, reader))
        }
        "mem_score" => {
            rename(&mut given, "observation_id", "id");
            given.remove("recalculate");
            Ok(model::scored(&backend.ask(read::<ScoreRequest>(given)?).await?, reader))
        }
        "mem_stats" => Ok(model::stats(&backend.ask(read::<StatsRequest>(given)?).await?, reader)),
        "mem_timeline" => {
            rename(&mut given, "observation_id", "id");
            Ok(model::timeline(&backend.ask(read::<TimelineRequest>(given)?).await?, reader))
        }
        "talent_run" => Ok(model::run_done(&backend.ask(read::<TalentRunRequest>(given)?).await?)),
        "talent_runs" => {
            Ok(model::runs_listed(&backend.ask(read::<TalentRunsRequest>(given)?).await?))
        }
        "mem_prove" => Ok(model::proven(&backend.ask(read::<ProveRequest>(given)?).await?, reader)),
        "past_search" => {
            let request: PastSearchRequest = read(given)?;
            needed("query", &request.query)?;
            Ok(model::past_found(&backend.ask(request).await?, reader))
        }
        "past_show" => {
            given.insert("work".to_owned(), json!(true));
            Ok(model::past_shown(&backend.ask(read::<PastShowRequest>(given)?).await?, reader))
        }
        "past_work" => {
            Ok(model::past_worked(&backend.ask(read::<PastWorkRequest>(given)?).await?, reader))
        }
        _ => change(backend, reader, name, given).await,
    }
}

/// The tools that change something.
async fn change(
    backend: &Backend,
    reader: &ModelReader,
    name: &str,
    mut given: Map<String, Value>,
) -> Result<AnswerForModel> {
    let answer = match name {
        "mem_save" => {
            let mut request: SaveRequest = read(given)?;
            needed("title", &request.title)?;
            needed("content", &request.content)?;
            request.default_session = true;
            model::saved(&backend.ask(request).await?)
        }
        "mem_session_summary" => {
            model::summary_saved(&backend.ask(read::<SummaryRequest>(given)?).await?)
        }
        "mem_save_prompt" => {
            let mut request: PromptSaveRequest = read(given)?;
            request.default_session = true;
            model::prompt_saved(&backend.ask(request).await?)
        }
        "mem_update" => model::updated(&backend.ask(read::<UpdateRequest>(given)?).await?),
        "mem_session_start" => {
            let request: SessionStartRequest = read(given)?;
            needed("id", &request.id)?;
            model::session_started(&backend.ask(request).await?)
        }
        "mem_session_end" => {
            let request: SessionEndRequest = read(given)?;
            needed("id", &request.id)?;
            model::session_ended(&backend.ask(request).await?)
        }
        "mem_capture_passive" => {
            model::captured(&backend.ask(read::<CaptureRequest>(given)?).await?)
        }
        "mem_relate" => {
            rename(&mut given, "from_id", "from_obs_id");
            rename(&mut given, "to_id", "to_obs_id");
            model::related(&backend.ask(read::<RelateRequest>(given)?).await?)
        }
        "mem_delete" => {
            rename(&mut given, "hard_delete", "hard");
            model::deleted(&backend.ask(read::<DeleteRequest>(given)?).await?)
        }
        "mem_archive" => {
            rename(&mut given, "observation_id", "id");
            model::archived(&backend.ask(read::<ArchiveRequest>(given)?).await?, reader)
        }
        "mem_keep" => model::past_kept(&backend.ask(read::<PastKeepRequest>(given)?).await?),
        "mem_pin" => model::pinned(&backend.ask(read::<PinRequest>(given)?).await?),
        "mem_restore" => model::restored(&backend.ask(read::<RestoreRequest>(given)?).await?),
        other => return Err(Error::missing("tool", other)),
    };
    Ok(answer)
}

/// A question must be there, but any text is one: a blank asks for the newest.
fn search_request(given: Map<String, Value>, reader: &ModelReader) -> Result<SearchRequest> {
    if !given.contains_key("query") {
        return Err(Error::invalid("query", "is required"));
    }
    let request: SearchRequest = read(given)?;
    Ok(SearchRequest { explain: reader.explain, default_project: true, ..request })
}
