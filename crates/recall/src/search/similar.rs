//! Memories near a given one, by its own vectors.
//!
//! Two memories are as near as their nearest passages. The score is that nearness and nothing else: a copy of a memory
//! is at the top, also when it was replaced.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use kernel::Reading;
use kernel::grants::Gate;
use kernel::memory::{MemoryId, Millis};

use super::context::SearchContext;
use super::corpus::with_corpus;
use super::filter::MemoryFilter;
use super::fusion::{Arm, ArmScore, ONE};
use super::meaning::Meaning;
use super::preview::Previews;
use super::{RankedRow, SearchOutcome, SearchQuery, hit};
use crate::columns::IndexCache;
use crate::embedding;
use crate::error::{Error, Result};
use crate::language;
use crate::segments;

/// The memories nearest to `id`, itself left out. Of the query, filters and limit count; its text and weights do not.
///
/// A memory that may not be seen is answered like one that does not exist.
pub fn similar(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    id: MemoryId,
    query: &SearchQuery,
    now: Millis,
) -> Result<SearchOutcome> {
    let view = reading.view();
    let analyzer = &language::analyzer(&view)?;
    let head = view.head(id)?.filter(|head| gate.is_none_or(|gate| gate.sees(head)));
    let head = head.ok_or_else(|| Error::not_found("memory", id))?;
    if head.erased {
        return Err(Error::Erased(id.get()));
    }
    let version = view.required_version(id, head.version)?;
    let title = view.body(&version)?.map(|body| body.title).unwrap_or_default();
    // Previews show where the other memory uses the words of this title.
    let about = analyzer.question(&title);
    let (question, codes) = (&analyzer.question(""), segments::read_codes(&view, id.get())?);
    let cache = &*reading.shared::<IndexCache>().unwrap_or_default();
    let context = SearchContext { view: &view, cache, gate, query, analyzer, question, now };
    let filter = MemoryFilter::new(&context)?;
    let mut near: BTreeMap<u64, u64> = BTreeMap::new();
    with_corpus(&context, &filter, |corpus| {
        for code in codes {
            let found = Meaning::new(corpus, &code.embedding()).nearest()?;
            for other in found.order.iter().filter(|other| **other != id.get()) {
                let nearest = near.entry(*other).or_default();
                *nearest = found.of(*other).max(*nearest);
            }
        }
        Ok(())
    })?;
    let mut ranked: Vec<(u64, u64)> = near.into_iter().filter(|(_, score)| *score > 0).collect();
    ranked.sort_unstable_by_key(|(other, score)| (Reverse(*score), *other));
    let candidates = ranked.len();
    let mut previews = Previews::new(analyzer, &about, &cache.words);
    let mut hits = Vec::new();
    for (other, score) in ranked {
        if hits.len() == context.limit() {
            break;
        }
        let Some(row) = filter.row(other)? else { continue };
        let score = (score.saturating_mul(ONE) / embedding::ONE.unsigned_abs()).min(ONE);
        let arm = ArmScore { arm: Arm::Meaning, score, rank: hits.len() + 1, weight: 100 };
        let relevance = u16::try_from(score * 1_000 / ONE).unwrap_or(1_000);
        let arms = vec![arm];
        let ranked = RankedRow { row, score, relevance, arms, by_model: false, signals: None };
        hits.push(hit(&filter, &mut previews, ranked)?);
    }
    Ok(SearchOutcome { hits, candidates, ..SearchOutcome::default() })
}
