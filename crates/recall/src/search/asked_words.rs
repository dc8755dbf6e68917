//! The words of a question, weighed by how rare they are where it is asked.

use super::context::SearchContext;
use super::retrievers::TERM_WEIGHT;
use crate::error::Result;
use text::index::{TextSearch, idf};

/// What a question asks for, and how much of it no memory has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AskedWords {
    pub(super) terms: u32,
    /// The weights of all terms, as `WordMatch::present` has them.
    pub(super) total: u64,
    /// Of them, those that no memory has.
    pub(super) unknown: u64,
    /// The weight of the rarest term that a memory has.
    pub(super) rarest: u64,
    /// Memories that are indexed.
    pub(super) documents: u64,
}

impl AskedWords {
    pub(super) fn of(context: &SearchContext<'_>, search: &TextSearch<'_>) -> Result<AskedWords> {
        let documents = search.documents();
        let mut asked = AskedWords { documents, ..AskedWords::default() };
        for term in &context.question.terms {
            let df = search.df(term)?;
            let weight = u64::from(TERM_WEIGHT) * idf(documents, df);
            asked.terms = asked.terms.saturating_add(1);
            asked.total = asked.total.saturating_add(weight);
            if df == 0 {
                asked.unknown = asked.unknown.saturating_add(weight);
            } else {
                asked.rarest = asked.rarest.max(weight);
            }
        }
        Ok(asked)
    }
}
