//! The question as the built-in model sees it: without the names of who speaks, which every turn of theirs resembles.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::context::SearchContext;
use super::fusion::Arm;
use crate::embedding::{DIMS, Embedder, Embedding, MaxSim, StaticEmbedder, UNKNOWN};
use crate::error::Result;
use text::analyze::{Analyzer, ParsedQuestion};
use text::index::{TextSearch, idf};

/// Words of a question that look for their match one by one, the rarest. Each costs a similarity to every token of the
/// model: a question of a hundred kilobytes would take gigabytes.
const INTERACTION_TOKENS: usize = 128;
/// Pairs of neighbouring tokens that are looked for.
const PAIRS_MAX: usize = 128;

pub(super) struct DenseQuestion {
    /// The zero vector if meaning does not count.
    pub(super) vector: Embedding,
    /// Tokens with their weights, the rarest first.
    tokens: Vec<(u32, u32)>,
    /// Neighbouring tokens of the question, without what lies between them that says nothing.
    pub(super) pairs: BTreeSet<(u16, u16)>,
}

impl DenseQuestion {
    /// `speakers` are the names to leave out; they are asked for only if an arm that counts looks at the question.
    pub(super) fn new(
        context: &SearchContext<'_>,
        search: &TextSearch<'_>,
        speakers: impl FnOnce() -> Result<BTreeSet<String>>,
    ) -> Result<DenseQuestion> {
        let zero = Embedding::zero(DIMS);
        if !context.counts(Arm::Meaning) && !context.counts(Arm::Interaction) {
            return Ok(DenseQuestion { vector: zero, tokens: Vec::new(), pairs: BTreeSet::new() });
        }
        let documents = search.documents();
        let df = |stem: &str| search.df(stem);
        let asked = (context.question, context.analyzer);
        let dense = DenseQuestion::of(asked, documents, &df, &speakers()?)?;
        let vector = if context.counts(Arm::Meaning) { dense.vector } else { zero };
        Ok(DenseQuestion { vector, ..dense })
    }

    /// The same for texts of which a caller knows how many there are, and in how many a stem stands.
    pub(super) fn of(
        (question, analyzer): (&ParsedQuestion, &Analyzer),
        documents: u64,
        df: &dyn Fn(&str) -> Result<u64>,
        speakers: &BTreeSet<String>,
    ) -> Result<DenseQuestion> {
        let surface = question.surface.iter().map(String::as_str);
        let words: Vec<&str> = surface.filter(|word| !speakers.contains(*word)).collect();
        let vector = StaticEmbedder::shared().embed(&words.join(" "));
        let (pairs, tokens) = (pairs(&words), tokens(analyzer, documents, df, &words)?);
        Ok(DenseQuestion { vector, tokens, pairs })
    }

    pub(super) fn interaction(&self) -> MaxSim<'static> {
        MaxSim::new(StaticEmbedder::shared().table(), &self.tokens)
    }
}

/// Which tokens of the question follow each other. A text that has both side by side means the same thing by them.
fn pairs(words: &[&str]) -> BTreeSet<(u16, u16)> {
    let table = StaticEmbedder::shared().table();
    let ids: Vec<u16> = words
        .iter()
        .flat_map(|word| table.token_ids(word))
        .filter_map(|id| u16::try_from(id).ok().filter(|_| id != UNKNOWN))
        .collect();
    ids.windows(2).map(|pair| (pair[0], pair[1])).take(PAIRS_MAX).collect()
}

/// The tokens of the rarest words; each weighs as much as the rarest stem of its word.
fn tokens(
    analyzer: &Analyzer,
    documents: u64,
    df: &dyn Fn(&str) -> Result<u64>,
    words: &[&str],
) -> Result<Vec<(u32, u32)>> {
    let table = StaticEmbedder::shared().table();
    let documents = documents.max(1);
    let mut tokens = Vec::new();
    for word in words {
        let mut rarest = documents;
        let mut stems = Vec::new();
        analyzer.terms(word, &mut |term, _| stems.push(term.to_owned()));
        for stem in stems {
            rarest = rarest.min(df(&stem)?.max(1));
        }
        let weight = u32::try_from(idf(documents, rarest)).unwrap_or(u32::MAX).max(1);
        tokens.extend(table.token_ids(word).into_iter().map(|id| (id, weight)));
    }
    tokens.sort_by_key(|(_, weight)| Reverse(*weight));
    tokens.truncate(INTERACTION_TOKENS);
    Ok(tokens)
}
