//! `memory_recall` as an operation: the four modes that the mind itself asks with, for models and scripts.

use mind::audience::Audience;
use mind::fading::Fading;
use mind::memory_recall::{
    LIMIT_MAX, RecallHit, RecallMode, RecallRequest, SortBy, memory_recall as recall,
};
use service::caller::Caller;
use service::error::{Error, Result};
use service::parse::from_ppm;

use crate::home::Host;

pub(super) use api::mind::{MemoryRecallAnswer, MemoryRecallRequest, RecalledView};

/// Characters of a memory's text that a list gives; the whole is got by its id.
const PREVIEW_CHARS: usize = 300;

const LIMIT_DEFAULT: usize = 10;

impl Host {
    pub fn memory_recall(
        &self,
        caller: &Caller,
        request: MemoryRecallRequest,
    ) -> Result<MemoryRecallAnswer> {
        let fading = {
            let actor_mind = self.actor_mind(caller)?;
            let slot = actor_mind.slot();
            Fading::new(&slot.mind.settings.cortex, &slot.mind.maintenance.days)
        };
        let (_, reading) = self.service.reading(caller)?;
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
        let found = recall(&reading, &audience, &asked, &fading, caller.now()?)?;
        let used: Vec<_> = found.memories.iter().map(RecallHit::id).collect();
        // What stands in a list is shown. Whoever wants one of them whole opens it.
        self.service.note_shown(caller, &used)?;
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
        created_at: head.created.rfc3339(),
        updated_at: head.updated.rfc3339(),
    }
}
