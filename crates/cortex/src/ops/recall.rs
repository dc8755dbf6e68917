//! The one place where operations meet recall: which hooks an actor is opened with, and how a question is asked.

use std::sync::Arc;

use ::recall::RecallHook;
use ::recall::search::{SearchOutcome, SearchQuery};
use kernel::Reading;
use kernel::memory::{MemoryId, Millis};
use kernel::scope::Gate;

use super::error::Result;

/// What an actor is opened with.
pub fn hooks() -> kernel::HookFactory {
    Arc::new(|| vec![Box::new(RecallHook::new())])
}

/// Answers a question against one state.
pub fn search(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    query: &SearchQuery,
    now: Millis,
) -> Result<SearchOutcome> {
    Ok(::recall::search::search(reading, gate, query, now)?)
}

/// What is near a memory by meaning.
pub fn similar(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    id: MemoryId,
    query: &SearchQuery,
    now: Millis,
) -> Result<SearchOutcome> {
    Ok(::recall::search::similar(reading, gate, id, query, now)?)
}
