//! Find: typed questions with a known cost.
//!
//! A find is bounded before it reads (a limit or a budget, a type or a tag, a filter of limited size) and while it
//! reads (a cap on rows examined, reported when hit). It never writes: recording a find that was acted upon is the
//! caller's, with `Query::to_bytes` and `FindAnswer::results`. The answer is a function of the state, the query and
//! `now`.
//!
//! - `query`: what may be asked, canonically encoded.
//! - `predicate`, `field`: filters and the names in them. `filter`, `display`: their text form, its grammar.
//! - `plan`: which index the rows come from.
//! - `rank`: order and cursors.
//!
//! The memories themselves are read through `rows`, as by every other lane.

mod display;
mod field;
mod filter;
#[cfg(test)]
pub(crate) mod fixture;
mod plan;
mod predicate;
mod query;
mod rank;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use crate::rows::{LABELS_MAX, MemoryReader, MemoryRow, Standing, standing};
pub use field::field_names;
pub use filter::{FILTER_BYTES_MAX, parse_time};
pub use plan::FindPlan;
pub use predicate::{FieldValue, Number, Predicate};
pub use query::{NearMemory, ORDER_KEYS_MAX, Order, OrderBy, Query};
pub use rank::Cursor;

pub(crate) use plan::IdMerge;
pub(crate) use query::check_near;

use proof::journal::FoundMemory;
use proof::memory::{Head, MemoryId, Millis, Usage, Version};

use crate::error::Result;
use crate::grants::Gate;
use crate::graph;
use crate::render;
use crate::store::View;
use field::Subject;
use plan::IdMap;
use rank::{Key, Place, Scores};

/// The answer to a find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindAnswer {
    /// In the order asked for.
    pub items: Vec<FoundItem>,
    /// Where the next page begins, if there is more.
    pub next: Option<Cursor>,
    /// Of all items together.
    pub tokens: u64,
    /// Items of this page that did not fit the budget; the next page begins with them.
    pub trimmed: u32,
    pub explain: FindExplanation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundItem {
    pub head: Head,
    /// The version that counts at the moment asked about.
    pub version: Version,
    pub usage: Usage,
    /// Salience, parts per million.
    pub score: u32,
    pub similarity: Option<u32>,
    pub hop: Option<u32>,
    pub text: String,
    pub tokens: u32,
    pub standing: Standing,
    /// At most `LABELS_MAX`.
    pub superseded_by: Vec<MemoryId>,
    /// At most `LABELS_MAX`.
    pub contradicted_by: Vec<MemoryId>,
}

/// How the answer came about. For a delegate, what it may not see is in no number here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindExplanation {
    /// The index the rows came from.
    pub index: String,
    pub rows_examined: u32,
    /// Rows were left unexamined because of the cap; the oldest, unless the order says otherwise.
    pub capped: bool,
    /// Rows that passed every test, on this and earlier pages, as far as rows were examined.
    pub matched: u32,
}

impl FindAnswer {
    /// What a journaled find records.
    pub fn results(&self) -> Vec<FoundMemory> {
        let result = |item: &FoundItem| FoundMemory {
            id: item.head.id,
            version: item.version.n,
            score: item.score,
        };
        self.items.iter().map(result).collect()
    }
}

struct Hit {
    key: Key,
    row: MemoryRow,
    scores: Scores,
}

/// Answers a query. A cursor carries the clock of the first page, so `now` counts only without one.
pub fn find(
    view: &View<'_>,
    gate: Option<&dyn Gate>,
    query: &Query,
    now: Millis,
) -> Result<FindAnswer> {
    query.check()?;
    let types = plan::wanted_types(query)?;
    plan::check_breadth(query, &types)?;
    let test = query.filter.as_ref().map(|filter| filter.compile(&types)).transpose()?;
    let place = Place::of(query)?;
    let now = place.as_ref().map_or(now, |place| place.now);
    let memories = MemoryReader::new(view, gate, query.as_of, now)?;

    let near: IdMap = query.near.iter().map(|near| (near.id, near.similarity)).collect();
    let (hops, walk_capped) = walk_hops(&memories, query)?;
    let mut lists = Vec::new();
    if let Some(hops) = &hops {
        lists.push(("walk", hops));
    }
    if !near.is_empty() {
        lists.push(("near", &near));
    }
    let plan = FindPlan::choose(view, query, &types, &lists, gate.is_none())?;

    let order = query.order();
    let by_id = rank::by_id(&order);
    let after = place.as_ref().map(|place| &place.after);
    let seek = after.filter(|_| by_id.is_some()).and_then(Key::leading_id);
    let wanted = query.limit() + 1;
    let needs_body = test.as_ref().is_some_and(predicate::Test::needs_body);
    let mut explain = FindExplanation {
        index: plan.explain().to_owned(),
        rows_examined: 0,
        capped: walk_capped,
        matched: 0,
    };
    let mut read = 0;
    let mut stopped_at = None;
    let mut hits: Vec<Hit> = Vec::new();
    // Without an order to follow, the newest rows come first: a cap then costs the oldest.
    let mut ids = plan.ids(view, by_id.unwrap_or(true), seek);
    while let Some(id) = ids.next()? {
        if read == query.rows_max() {
            explain.capped = true;
            break;
        }
        read += 1;
        stopped_at = Some(id);
        let Some(row) = memories.row(id)? else { continue };
        explain.rows_examined += 1;
        let similarity = near.get(&id).copied();
        let hop = hops.as_ref().and_then(|hops| hops.get(&id).copied());
        let wanted_here = row.standing.is_shown_to(query.include_forgotten, query.include_archived)
            && (query.types.is_empty() || query.types.contains(&row.head.memory_type))
            && (near.is_empty() || similarity.is_some())
            && (hops.is_none() || hop.is_some());
        if !wanted_here {
            continue;
        }
        if let Some(test) = &test {
            let body = if needs_body { memories.body(&row)? } else { None };
            let forgotten = row.standing.is_forgotten();
            let (head, version) = (&row.head, &row.version);
            if !test.holds(&Subject { head, version, body: body.as_ref(), forgotten }) {
                continue;
            }
        }
        explain.matched += 1;
        let scores = Scores { salience: memories.salience(&row, similarity), similarity, hop };
        let key = Key::new(&order, &row, scores);
        if after.is_some_and(|after| key <= *after) {
            continue;
        }
        hits.push(Hit { key, row, scores });
        if by_id.is_some() && hits.len() == wanted {
            break;
        }
        // Only the best can be on the page: what is kept stays within twice the limit.
        if hits.len() >= 2 * wanted + 64 {
            keep_best(&mut hits, wanted);
        }
    }
    keep_best(&mut hits, wanted);
    let more = hits.len() == wanted;
    hits.truncate(query.limit());

    let mut found = FindAnswer { items: Vec::new(), next: None, tokens: 0, trimmed: 0, explain };
    let page = hits.len();
    let mut last = None;
    for Hit { key, row, scores } in hits {
        let item = present(&memories, query, row, scores)?;
        let tokens = found.tokens + u64::from(item.tokens);
        let budget = query.budget_tokens.filter(|budget| *budget > 0);
        if !found.items.is_empty() && budget.is_some_and(|budget| tokens > u64::from(budget)) {
            break;
        }
        found.tokens = tokens;
        found.items.push(item);
        last = Some(key);
    }
    let left = page - found.items.len();
    found.trimmed = u32::try_from(left).unwrap_or(u32::MAX);
    // In the order of ids a find that hit the cap can go on where it stopped.
    let beyond = stopped_at
        .filter(|_| found.explain.capped && !more && left == 0 && read == query.rows_max())
        .and_then(|id| Key::of_id(&order, id));
    let next = beyond.or(last.filter(|_| more || left > 0));
    found.next = next.map(|key| Place::new(query, now, key).to_cursor());
    Ok(found)
}

fn keep_best(hits: &mut Vec<Hit>, wanted: usize) {
    hits.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    hits.truncate(wanted);
}

/// What the query's walk reaches, by distance, and whether it had to stop.
fn walk_hops(memories: &MemoryReader<'_>, query: &Query) -> Result<(Option<IdMap>, bool)> {
    let Some(walk) = &query.from else { return Ok((None, false)) };
    let mut walk = walk.clone();
    walk.include_forgotten |= query.include_forgotten;
    let reached = graph::walk_with(memories, &walk)?;
    let hops: BTreeMap<_, _> = reached.nodes.iter().map(|node| (node.id, node.hop)).collect();
    Ok((Some(hops), reached.capped))
}

fn present(
    memories: &MemoryReader<'_>,
    query: &Query,
    row: MemoryRow,
    scores: Scores,
) -> Result<FoundItem> {
    let body = memories.body(&row)?;
    // A memory that was forgotten only after the moment asked about is not marked as forgotten.
    let mut shown = row.head.clone();
    shown.tombstone = shown.tombstone.filter(|_| row.standing.is_forgotten());
    let text = render::render(&shown, &row.version, body.as_ref(), query.form);
    Ok(FoundItem {
        score: scores.salience,
        similarity: scores.similarity,
        hop: scores.hop,
        tokens: render::tokens(&text),
        text,
        standing: row.standing,
        contradicted_by: memories.contradicted_by(row.head.id)?,
        superseded_by: row.superseded_by,
        usage: row.usage,
        version: row.version,
        head: row.head,
    })
}
