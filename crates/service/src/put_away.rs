//! What was put away by itself, in searches: named where it would have been found, shown on request.
//!
//! What must stay true: what somebody forgot on purpose is neither counted nor shown; a store where nothing is put away
//! pays one look at its counters.

use kernel::Reading;
use kernel::find::Standing;
use kernel::grants::Gate;
use kernel::memory::{MemoryId, Millis, Relation};
use mind::proposal::BY;
use recall::search::{Hit, HitOrder, SearchOutcome, SearchQuery};

use crate::error::Result;

/// Ids of memories that would be among the hits if they had not been put away.
pub(super) fn matches(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    query: &SearchQuery,
    now: Millis,
) -> Result<Vec<u64>> {
    let counters = reading.view().counters()?;
    if counters.archived + counters.tombstoned == 0 {
        return Ok(Vec::new());
    }
    // Which ones are there matters, not in which order.
    let query = SearchQuery { order: HitOrder::Weights, ..query.clone() };
    let found = search(reading, gate, &query, now)?;
    let away = found.hits.iter().filter(|hit| is_hidden(hit, &query));
    Ok(away.map(|hit| hit.id.get()).collect())
}

/// A search that also finds what was put away.
pub(super) fn search(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    query: &SearchQuery,
    now: Millis,
) -> Result<SearchOutcome> {
    let wide = SearchQuery { include_archived: true, include_forgotten: true, ..query.clone() };
    let mut found = recall::search::search(reading, gate, &wide, now)?;
    let mut kept = Vec::new();
    for hit in found.hits {
        if !is_hidden(&hit, query) || hit.head.archived || is_put_away(reading, &hit)? {
            kept.push(hit);
        }
    }
    found.hits = kept;
    Ok(found)
}

/// True if the question alone would not have shown it.
fn is_hidden(hit: &Hit, query: &SearchQuery) -> bool {
    let forgotten = hit.head.tombstone.is_some() && !query.include_forgotten;
    let archived = hit.standing == Standing::Archived && !query.include_archived;
    forgotten || archived
}

/// True if maintenance forgot it and nothing stands for it: what was joined is said by what it became.
fn is_put_away(reading: &Reading, hit: &Hit) -> Result<bool> {
    let by_mind = hit.head.tombstone.as_ref().is_some_and(|gone| gone.by == BY);
    if !by_mind || hit.usage.superseded > 0 {
        return Ok(false);
    }
    let view = reading.view();
    let id: MemoryId = hit.id;
    let out = view.edges_out(id, kernel::limits::EDGES_PER_MEMORY_MAX as usize)?;
    Ok(!out.iter().any(|edge| edge.relation == Relation::Updates))
}
