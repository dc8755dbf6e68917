//! Which rows a find looks at.
//!
//! Everything that must hold on every result and has an index is a possible source: ids named in the filter, what a
//! walk reached, what is near, a topic key, a session, each tag, a project, the types. The smallest is taken: lists
//! have a known length, buckets are counted up to 64 rows and, if none is smaller, up to 1 024. If all are larger, or
//! for a delegate, who must not learn sizes from the choice, the first in the order above is taken. A find that names
//! neither a type nor a tag is refused, however small its other sources are.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use proof::memory::{MemoryId, MemoryType, Scope};

use super::predicate::{FieldValue, Predicate};
use super::query::Query;
use crate::error::{Error, Result};
use crate::keys::{self, Index};
use crate::limits::{NAME_BYTES_MAX, TAG_BYTES_MAX, TOPIC_KEY_BYTES_MAX};
use crate::store::View;

/// Tags whose buckets are compared.
const TAGS_COUNTED_MAX: usize = 8;
/// How far buckets are counted, in turn.
const COUNT_ROUNDS: [usize; 2] = [64, 1_024];
/// Ids read from a bucket at a time: few at first, because many finds stop early.
const CHUNK_MIN: usize = 32;
const CHUNK_MAX: usize = 1_024;

/// Ids with what was said about each.
pub(super) type IdMap = BTreeMap<MemoryId, u32>;

/// The source a find reads from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindPlan {
    name: String,
    source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Ids(Vec<MemoryId>),
    Buckets(Vec<Index>),
}

impl FindPlan {
    /// The chosen index in words.
    pub fn explain(&self) -> &str {
        &self.name
    }

    pub(super) fn choose(
        view: &View<'_>,
        query: &Query,
        types: &[MemoryType],
        lists: &[(&str, &IdMap)],
        counting: bool,
    ) -> Result<FindPlan> {
        let conjuncts = query.filter.as_ref().map(Predicate::conjuncts).unwrap_or_default();
        let tags = tags(&conjuncts);
        let mut plans = Vec::new();
        if let Some(ids) = named_ids(&conjuncts) {
            plans.push(FindPlan { name: "ids".into(), source: Source::Ids(ids) });
        }
        for (name, ids) in lists {
            let source = Source::Ids(ids.keys().copied().collect());
            plans.push(FindPlan { name: (*name).to_owned(), source });
        }
        let mut bucket = |name: String, indexes: Vec<Index>| {
            plans.push(FindPlan { name, source: Source::Buckets(indexes) });
        };
        let project = named_text(&conjuncts, "head.project", NAME_BYTES_MAX);
        if let (Some(key), Some(project)) =
            (named_text(&conjuncts, "head.topic_key", TOPIC_KEY_BYTES_MAX), project)
        {
            let keys = Scope::ALL.iter().map(|s| keys::by_topic_key(Some(project), *s, key));
            bucket(format!("topic key {key}"), keys.collect());
        }
        if let Some(session) = named_text(&conjuncts, "head.session", NAME_BYTES_MAX) {
            bucket(format!("session {session}"), vec![keys::by_session(session)]);
        }
        for tag in tags.iter().take(TAGS_COUNTED_MAX).filter(|tag| tag.len() <= TAG_BYTES_MAX) {
            bucket(format!("tag {tag}"), vec![keys::by_tag(tag)]);
        }
        if let Some(project) = project {
            bucket(format!("project {project}"), vec![keys::by_project(project)]);
        }
        if !types.is_empty() {
            let names: Vec<&str> = types.iter().map(|t| t.name()).collect();
            let keys = types.iter().map(|t| keys::by_type(*t)).collect();
            bucket(format!("type {}", names.join(", ")), keys);
        }
        smallest(view, plans, counting)
    }

    /// The rows in the order of ids.
    pub(super) fn ids<'v>(
        &self,
        view: &'v View<'v>,
        descending: bool,
        after: Option<u64>,
    ) -> IdMerge<'v> {
        match &self.source {
            Source::Ids(ids) => {
                let behind = |id: &&MemoryId| match after {
                    None => true,
                    Some(after) if descending => id.get() < after,
                    Some(after) => id.get() > after,
                };
                let mut ids: VecDeque<MemoryId> = ids.iter().filter(behind).copied().collect();
                if descending {
                    ids.make_contiguous().reverse();
                }
                let list = Bucket { index: None, after, chunk: 0, ready: ids };
                IdMerge { view, descending, buckets: vec![list] }
            }
            Source::Buckets(indexes) => {
                let bucket = |index: &Index| Bucket {
                    index: Some(index.clone()),
                    after,
                    chunk: CHUNK_MIN,
                    ready: VecDeque::new(),
                };
                IdMerge { view, descending, buckets: indexes.iter().map(bucket).collect() }
            }
        }
    }
}

/// Refuses a find that names neither a type nor a tag on every result.
pub(super) fn check_breadth(query: &Query, types: &[MemoryType]) -> Result<()> {
    let conjuncts = query.filter.as_ref().map(Predicate::conjuncts).unwrap_or_default();
    if types.is_empty() && tags(&conjuncts).is_empty() { Err(Error::TooBroad) } else { Ok(()) }
}

fn tags<'q>(conjuncts: &[&'q Predicate]) -> Vec<&'q String> {
    let tag = |part: &&'q Predicate| match part {
        Predicate::HasTag(tag) => Some(tag),
        _ => None,
    };
    conjuncts.iter().filter_map(tag).collect()
}

/// The types that results can have: those asked for, narrowed by what the filter says of the type.
pub(super) fn wanted_types(query: &Query) -> Result<Vec<MemoryType>> {
    let mut wanted = query.types.clone();
    for part in query.filter.as_ref().map(Predicate::conjuncts).unwrap_or_default() {
        let values = match part {
            Predicate::Eq(name, value) if name == "head.type" => std::slice::from_ref(value),
            Predicate::In(name, values) if name == "head.type" && !values.is_empty() => values,
            _ => continue,
        };
        let mut named = Vec::new();
        for value in values {
            if let FieldValue::Text(text) = value {
                named.push(MemoryType::parse(text)?);
            }
        }
        // Types that exclude each other leave nothing to find; the filter itself will say so row by row.
        let both: Vec<MemoryType> = wanted.iter().filter(|t| named.contains(t)).copied().collect();
        wanted = if wanted.is_empty() || both.is_empty() { named } else { both };
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(wanted)
}

fn named_text<'q>(conjuncts: &[&'q Predicate], field: &str, max: usize) -> Option<&'q str> {
    conjuncts.iter().find_map(|part| match part {
        Predicate::Eq(name, FieldValue::Text(text)) if name == field && text.len() <= max => {
            Some(text.as_str())
        }
        _ => None,
    })
}

fn named_ids(conjuncts: &[&Predicate]) -> Option<Vec<MemoryId>> {
    let values = conjuncts.iter().find_map(|part| match part {
        Predicate::Eq(name, value) if name == "head.id" => Some(std::slice::from_ref(value)),
        Predicate::In(name, values) if name == "head.id" => Some(values.as_slice()),
        _ => None,
    })?;
    let id = |value: &FieldValue| match value {
        FieldValue::Number(number) => u64::try_from(number.get()).ok().and_then(MemoryId::new),
        _ => None,
    };
    let mut ids: Vec<MemoryId> = values.iter().filter_map(id).collect();
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

fn smallest(view: &View<'_>, mut plans: Vec<FindPlan>, counting: bool) -> Result<FindPlan> {
    let mut best = 0;
    if counting && plans.len() > 1 {
        for max in COUNT_ROUNDS {
            let counts: Result<Vec<usize>> =
                plans.iter().map(|plan| count(view, plan, max)).collect();
            let smallest = counts?.into_iter().enumerate().min_by_key(|(i, count)| (*count, *i));
            if let Some((i, count)) = smallest
                && count < max
            {
                best = i;
                break;
            }
        }
    }
    Ok(plans.swap_remove(best))
}

/// Rows of a source, counted no further than `max`.
fn count(view: &View<'_>, plan: &FindPlan, max: usize) -> Result<usize> {
    let indexes = match &plan.source {
        Source::Ids(ids) => return Ok(ids.len().min(max)),
        Source::Buckets(indexes) => indexes,
    };
    let mut rows = 0;
    for index in indexes {
        if rows < max {
            view.scan_index(index, None, true, &mut |_| {
                rows += 1;
                Ok(if rows < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            })?;
        }
    }
    Ok(rows)
}

/// Ids of several buckets merged in order, each once, read as they are needed.
pub(crate) struct IdMerge<'v> {
    view: &'v View<'v>,
    descending: bool,
    buckets: Vec<Bucket>,
}

struct Bucket {
    /// `None` once everything was read.
    index: Option<Index>,
    /// Everything up to here was read.
    after: Option<u64>,
    chunk: usize,
    ready: VecDeque<MemoryId>,
}

impl<'v> IdMerge<'v> {
    /// The ids of some indexes, newest first.
    pub(crate) fn newest(view: &'v View<'v>, indexes: Vec<Index>) -> IdMerge<'v> {
        let plan = FindPlan { name: String::new(), source: Source::Buckets(indexes) };
        plan.ids(view, true, None)
    }

    pub(crate) fn next(&mut self) -> Result<Option<MemoryId>> {
        for bucket in &mut self.buckets {
            bucket.fill(self.view, self.descending)?;
        }
        let fronts = self.buckets.iter().filter_map(|bucket| bucket.ready.front().copied());
        let Some(next) = (if self.descending { fronts.max() } else { fronts.min() }) else {
            return Ok(None);
        };
        for bucket in &mut self.buckets {
            while bucket.ready.front() == Some(&next) {
                bucket.ready.pop_front();
            }
        }
        Ok(Some(next))
    }
}

impl Bucket {
    fn fill(&mut self, view: &View<'_>, descending: bool) -> Result<()> {
        let Some(index) = self.index.as_ref().filter(|_| self.ready.is_empty()) else {
            return Ok(());
        };
        let (ready, chunk) = (&mut self.ready, self.chunk);
        view.scan_index(index, self.after, descending, &mut |id| {
            ready.push_back(id);
            Ok(if ready.len() < chunk { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        if self.ready.len() < self.chunk {
            self.index = None;
        }
        self.after = self.ready.back().map(|id| id.get()).or(self.after);
        self.chunk = (self.chunk * 4).min(CHUNK_MAX);
        Ok(())
    }
}
