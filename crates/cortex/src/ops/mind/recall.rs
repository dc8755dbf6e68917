//! `memory_recall` as an operation: the four modes that the mind itself asks with, for models and scripts.

use mind::audience::Audience;
use mind::memory_recall::{
    LIMIT_MAX, RecallHit, RecallMode, RecallRequest, SortBy, memory_recall as recall,
};
use serde::{Deserialize, Serialize};

use super::super::Ops;
use super::super::caller::Caller;
use super::super::error::{Error, Result};
use super::super::parse::from_ppm;

/// Characters of a memory's text that a list gives; the whole is got by its id.
const PREVIEW_CHARS: usize = 300;
const LIMIT_DEFAULT: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryRecallRequest {
    /// May be empty, but for `hybrid`.
    pub query: String,
    /// Types or kinds: identity, goal, observation …
    pub memory_types: Vec<String>,
    /// recent, important, typed or hybrid. If absent: hybrid with a query, else typed with types, else recent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// recent, importance or most_accessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<String>,
    /// 1 to 50; 10 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// For a place that others read: nothing private is even looked at.
    pub shared: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MemoryRecallAnswer {
    pub memories: Vec<RecalledView>,
    /// How many there were to choose from.
    pub found: usize,
    /// Older ones were not looked at.
    pub capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RecalledView {
    pub id: u64,
    pub title: String,
    pub preview: String,
    /// True if the preview is not the whole.
    pub cut: bool,
    pub kind: String,
    pub memory_type: String,
    pub project: String,
    pub topic_key: String,
    /// Faded to now.
    pub importance: f64,
    pub relevance: f64,
    pub standing: String,
    pub updated_at: String,
}

impl Ops {
    pub fn memory_recall(
        &self,
        caller: &Caller,
        request: MemoryRecallRequest,
    ) -> Result<MemoryRecallAnswer> {
        let policy = self.tended(caller)?.part().mind.settings.cortex.decay_policy();
        let (_, reading) = self.reading(caller)?;
        let audience = if request.shared { Audience::Shared } else { Audience::Owner };
        let mode = match request.mode.as_deref() {
            None if !request.query.trim().is_empty() => RecallMode::Hybrid,
            None if request.memory_types.is_empty() => RecallMode::Recent,
            None => RecallMode::Typed,
            Some(name) => word("mode", name, "recent, important, typed or hybrid")?,
        };
        let sort = request.sort_by.as_deref();
        let sort_by: Option<SortBy> = sort
            .map(|name| word("sort_by", name, "recent, importance or most_accessed"))
            .transpose()?;
        let asked = RecallRequest {
            query: request.query,
            memory_types: request.memory_types,
            mode,
            sort_by,
            limit: request.limit.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX),
        };
        let found = recall(&reading, &audience, &asked, &policy, caller.now()?)?;
        let used: Vec<_> = found.memories.iter().map(RecallHit::id).collect();
        self.note_accesses(caller, &used)?;
        Ok(MemoryRecallAnswer {
            memories: found.memories.iter().map(view).collect(),
            found: found.found,
            capped: found.capped,
        })
    }
}

/// A word of a closed list.
fn word<T: serde::de::DeserializeOwned>(key: &'static str, name: &str, known: &str) -> Result<T> {
    serde_json::from_value(name.into())
        .map_err(|_| Error::invalid(key, format!("{name:?} is not {known}")))
}

fn view(memory: &RecallHit) -> RecalledView {
    let (head, body) = (&memory.head, &memory.body);
    let end = body.content.char_indices().nth(PREVIEW_CHARS).map(|(end, _)| end);
    RecalledView {
        id: head.id.get(),
        title: body.title.clone(),
        preview: body.content[..end.unwrap_or(body.content.len())].to_owned(),
        cut: end.is_some(),
        kind: head.kind.clone(),
        memory_type: head.memory_type.name().to_owned(),
        project: head.project.clone().unwrap_or_default(),
        topic_key: head.topic_key.clone().unwrap_or_default(),
        importance: from_ppm(memory.importance),
        relevance: from_ppm(u32::try_from(memory.relevance).unwrap_or(u32::MAX)),
        standing: memory.standing.name().to_owned(),
        updated_at: head.updated.rfc3339(),
    }
}
