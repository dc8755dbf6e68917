//! The one place where operations meet recall: how words become terms, and which hooks an actor is opened with.

use std::sync::Arc;

use ::recall::RecallHook;
use ::recall::analyze::{Analyzer, Language};
use ::recall::search::{Answer, Query};
use kernel::Reading;
use kernel::memory::{MemoryId, Millis};
use kernel::scope::Gate;

use super::error::Result;

/// How words become terms. Saves and searches must agree.
pub fn analyzer() -> Analyzer {
    Analyzer::new(Language::English)
}

/// What an actor is opened with.
pub fn hooks() -> kernel::HookFactory {
    Arc::new(|| vec![Box::new(RecallHook::new(analyzer()))])
}

/// Answers a question against one state.
pub fn search(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    query: &Query,
    now: Millis,
) -> Result<Answer> {
    Ok(::recall::search::search(reading, gate, &analyzer(), query, now)?)
}

/// What is near a memory by meaning.
pub fn similar(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    id: MemoryId,
    query: &Query,
    now: Millis,
) -> Result<Answer> {
    Ok(::recall::search::similar(reading, gate, &analyzer(), id, query, now)?)
}
