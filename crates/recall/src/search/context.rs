//! What stays the same while one question is answered.

use kernel::grants::Gate;
use kernel::memory::Millis;
use kernel::store::View;

use super::fusion::Arm;
use super::{LIMIT_MAX, SearchQuery};
use crate::columns::IndexCache;
use text::analyze::{Analyzer, ParsedQuestion};

/// One question, whoever asks it, and the state that it is asked of.
#[derive(Clone, Copy)]
pub(super) struct SearchContext<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) cache: &'a IndexCache,
    pub(super) gate: Option<&'a dyn Gate>,
    pub(super) query: &'a SearchQuery,
    pub(super) analyzer: &'a Analyzer,
    /// The query's text, parsed. Spelling and phrases may have been changed since.
    pub(super) question: &'a ParsedQuestion,
    pub(super) now: Millis,
}

impl SearchContext<'_> {
    /// Whether an arm has a weight. An arm that does not count does no work.
    pub(super) fn counts(&self, arm: Arm) -> bool {
        self.query.weights.of(arm) > 0
    }

    /// How many hits the answer may have.
    pub(super) fn limit(&self) -> usize {
        self.query.limit.min(LIMIT_MAX)
    }
}
