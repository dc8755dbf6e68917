//! Meaning by an optional model: the question as the model is asked it, and its scores on the scale of the built-in
//! model.
//!
//! Not every memory has a vector of the model: a new one waits for it, and after a change of models most do. Cosines of
//! two models are not comparable, so for each question the model's scores are moved to where the built-in model puts
//! the same memories, lowest to lowest and highest to highest. Who has no vector keeps its score and is neither lifted
//! nor sunk.

use kernel::Reading;
use kernel::grants::Gate;
use kernel::memory::Millis;

use super::context::SearchContext;
use super::corpus::Corpus;
use super::filter::MemoryFilter;
use super::ranking::Ranking;
use super::retrievers::{TAKEN, speakers_found};
use super::{SearchQuery, check};
use crate::columns::IndexCache;
use crate::embedding::Embedding;
use crate::error::Result;
use crate::language;
use crate::model_codes::ModelCodes;

/// The question as an optional model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelQuestion {
    pub model: String,
    pub vector: Embedding,
}

/// What to ask an optional model for: the question without the names of who speaks, which every turn of theirs
/// resembles, and without what must not be there. Small words stay: a model that reads sentences wants them.
pub fn question_text(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    query: &SearchQuery,
    now: Millis,
) -> Result<String> {
    check(query)?;
    let view = reading.view();
    let analyzer = &language::analyzer(&view)?;
    let question = &analyzer.question(&query.text);
    let cache = &*reading.shared::<IndexCache>().unwrap_or_default();
    let context = SearchContext { view: &view, cache, gate, query, analyzer, question, now };
    let names = speakers_found(&context, &MemoryFilter::new(&context)?)?;
    let kept = query.text.split_whitespace().filter(|chunk| {
        let excluded = chunk.strip_prefix('-').is_some_and(|c| c.starts_with(char::is_alphabetic));
        let word = analyzer.folded(chunk.trim_matches(|c: char| !c.is_alphanumeric()));
        !excluded && !names.contains(&word)
    });
    Ok(kept.collect::<Vec<_>>().join(" "))
}

/// The meaning arm by the query's model.
pub(super) struct ByModel<'a> {
    codes: &'a ModelCodes,
    question: &'a Embedding,
    corpus: &'a Corpus<'a>,
    scale: Scale,
}

impl<'a> ByModel<'a> {
    /// `None` if the query brings no vector of a model whose codes are in memory.
    pub(super) fn new(corpus: &'a Corpus<'a>) -> Option<ByModel<'a>> {
        let (codes, question) = (corpus.model?, &corpus.context.query.model.as_ref()?.vector);
        let fits = question.dims() == codes.dims() && !question.is_zero();
        fits.then(|| ByModel { codes, question, corpus, scale: Scale::default() })
    }

    /// The memories that the model finds nearest, best first.
    pub(super) fn nearest(&self) -> Vec<u64> {
        let admits = |doc| self.knows(doc) && self.corpus.admits(doc);
        self.codes.top_k(self.question, TAKEN, &admits).iter().map(|hit| hit.doc).collect()
    }

    /// Whether the model has a vector of the memory as it is. Vectors are of the present text, so of a memory that had
    /// another text at the moment asked about there is none.
    fn knows(&self, id: u64) -> bool {
        let meta = self.corpus.docs.get(id).filter(|_| self.corpus.former.get(id).is_none());
        meta.is_some_and(|meta| self.codes.are_of(id, meta.versions))
    }

    fn raw(&self, id: u64) -> Option<i64> {
        self.knows(id).then(|| self.codes.score(self.question, id)).flatten()
    }

    /// Learns the scale from memories that both models know.
    pub(super) fn fit(
        &mut self,
        ids: impl Iterator<Item = u64>,
        built_in: impl Fn(u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        let mut scale = Scale::default();
        for id in ids {
            if let (Some(raw), Some(known)) = (self.raw(id), built_in(id)?) {
                scale.add(raw, i64::try_from(known).unwrap_or(i64::MAX));
            }
        }
        self.scale = scale;
        Ok(())
    }

    /// On the built-in model's scale; `None` if there is no vector of the memory as it is now.
    pub(super) fn score(&self, id: u64) -> Option<u64> {
        self.raw(id).map(|raw| u64::try_from(self.scale.place(raw)).unwrap_or(0))
    }
}

/// From one model's scores to another's.
#[derive(Clone, Copy, Debug, Default)]
struct Scale {
    /// Lowest and highest of either; `None` until something is known.
    ends: Option<[(i64, i64); 2]>,
}

impl Scale {
    fn add(&mut self, from: i64, to: i64) {
        let wider = |(low, high): (i64, i64), value: i64| (low.min(value), high.max(value));
        let [of, onto] = self.ends.unwrap_or([(from, from), (to, to)]);
        self.ends = Some([wider(of, from), wider(onto, to)]);
    }

    fn place(&self, score: i64) -> i64 {
        let Some([of, onto]) = self.ends else { return score };
        // Scores are at most `embedding::ONE`, so no product comes near the limits.
        let wide = |a: i64, b: i64| i128::from(a) - i128::from(b);
        let moved = wide(score, of.0).saturating_mul(wide(onto.1, onto.0));
        match moved.checked_div(wide(of.1, of.0)) {
            Some(above) => i64::try_from(i128::from(onto.0) + above).unwrap_or(0),
            None => onto.1,
        }
    }
}

/// Both models' nearest by one score, best first.
pub(super) fn merged(
    built_in: Ranking,
    model: Vec<u64>,
    score: impl Fn(u64) -> Result<u64>,
) -> Result<Ranking> {
    let mut ids = [built_in.order, model].concat();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.push((id, score(id)?));
    }
    found.sort_by_key(|(id, score)| (std::cmp::Reverse(*score), *id));
    found.truncate(TAKEN);
    Ok(Ranking::new(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_meet_ends_and_the_order_stays() {
        let mut scale = Scale::default();
        assert_eq!(scale.place(7), 7);
        scale.add(-10, 400);
        assert_eq!((scale.place(-10), scale.place(5)), (400, 400));
        scale.add(90, 100);
        assert_eq!([-10, 40, 90].map(|score| scale.place(score)), [100, 250, 400]);
        assert!(scale.place(100) > 400 && scale.place(-20) < 100);
        // The widest there is: opposite vectors in both models.
        let mut widest = Scale::default();
        widest.add(i64::MIN / 4, i64::MIN / 4);
        widest.add(i64::MAX / 4, i64::MAX / 4);
        assert_eq!(widest.place(i64::MAX / 4), i64::MAX / 4);
    }
}
