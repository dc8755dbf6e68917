//! `memory_recall`: the one way in which the mind, admin chat and models ask the memory.
//!
//! Four modes: `recent`, `important`, `typed` and `hybrid`. Forgotten, expired and hidden memories are left out
//! before anything is ranked. Importance is the faded one, computed for `now`. What must stay true: the answer is a
//! function of (state, request, audience, now); ties go to the newer memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use kernel::Reading;
use kernel::find::{MemoryReader, MemoryRow, Standing};
use kernel::grants::Gate;
use kernel::journal::Weights;
use kernel::keys;
use kernel::memory::{Body, Head, MemoryId, MemoryType, Millis, Usage, Version};
use kernel::salience::{Ppm, Signals, salience};
use kernel::store::View;
use recall::search;
use serde::{Deserialize, Serialize};

use crate::error::{MindError, Result};
use crate::fading::Fading;

/// Memories one request may return.
pub const LIMIT_MAX: usize = 50;
/// Memories one request looks at per type, newest first; what is pinned or binds is looked at besides, however old.
pub const EXAMINED_MAX: usize = 1_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecallMode {
    Recent,
    Important,
    Typed,
    #[default]
    Hybrid,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortBy {
    #[default]
    Recent,
    Importance,
    MostAccessed,
}

/// The input object, as a model or a script writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallRequest {
    /// Words to search for. Only `hybrid` needs them.
    pub query: String,
    /// Types or kinds: `identity`, `goal`, `observation` …
    pub memory_types: Vec<String>,
    pub mode: RecallMode,
    pub sort_by: Option<SortBy>,
    pub limit: usize,
}

impl Default for RecallRequest {
    fn default() -> RecallRequest {
        let (query, memory_types) = (String::new(), Vec::new());
        RecallRequest { query, memory_types, mode: RecallMode::Hybrid, sort_by: None, limit: 10 }
    }
}

impl RecallRequest {
    pub fn typed(memory_type: MemoryType, sort_by: SortBy, limit: usize) -> RecallRequest {
        RecallRequest {
            memory_types: vec![memory_type.name().to_ascii_lowercase()],
            mode: RecallMode::Typed,
            sort_by: Some(sort_by),
            limit,
            ..RecallRequest::default()
        }
    }
}

/// A memory as the mind sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallHit {
    pub head: Head,
    pub version: Version,
    pub usage: Usage,
    pub body: Body,
    pub standing: Standing,
    /// Importance, faded to `now`.
    pub importance: Ppm,
    /// Parts per million: of the search, or of the place in the list.
    pub relevance: u64,
}

impl RecallHit {
    pub fn id(&self) -> MemoryId {
        self.head.id
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallAnswer {
    pub memories: Vec<RecallHit>,
    /// How many there were to choose from.
    pub found: usize,
    /// Older memories were not looked at.
    pub capped: bool,
}

/// The types that words stand for; a kind stands for its type.
pub(crate) fn types_of(words: &[String]) -> Result<Vec<MemoryType>> {
    let mut types = Vec::new();
    for word in words {
        let known = keys_of(word).ok_or_else(|| {
            let names: Vec<String> =
                MemoryType::ALL.iter().map(|t| t.name().to_ascii_lowercase()).collect();
            let reason = format!("{word:?} is not one of {}", names.join(", "));
            MindError::question("memory_types", reason)
        })?;
        if !types.contains(&known) {
            types.push(known);
        }
    }
    Ok(types)
}

fn keys_of(word: &str) -> Option<MemoryType> {
    let word = word.trim().to_ascii_lowercase();
    let by_kind = kernel::memory::KINDS.iter().find(|(kind, _)| *kind == word).map(|(_, t)| *t);
    MemoryType::parse(&word).ok().or(by_kind)
}

/// The memories that lists are made of, by type, newest first. A list reads each of them, so they are bounded.
#[derive(Debug, Default)]
pub struct ListCandidates {
    by_type: BTreeMap<MemoryType, BTreeSet<Reverse<MemoryId>>>,
    /// Types of which older memories were not looked at.
    capped: BTreeSet<MemoryType>,
}

impl ListCandidates {
    /// The newest of some types, the newest of some projects, and what is pinned or binds.
    pub fn newest(
        view: &View<'_>,
        types: &[MemoryType],
        projects: &[String],
    ) -> Result<ListCandidates> {
        let mut candidates = ListCandidates::default();
        for memory_type in types {
            let (ids, capped) = newest(view, &keys::by_type(*memory_type))?;
            candidates.by_type.insert(*memory_type, ids.into_iter().map(Reverse).collect());
            if capped {
                candidates.capped.insert(*memory_type);
            }
        }
        // Where every memory of the types was looked at, these would add nothing.
        if !candidates.capped.is_empty() {
            let projects = projects.iter().map(|project| keys::by_project(project));
            for index in projects.chain([keys::foremost()]) {
                for id in newest(view, &index)?.0 {
                    let memory_type = view.required_head(id)?.memory_type;
                    if let Some(ids) = candidates.by_type.get_mut(&memory_type) {
                        ids.insert(Reverse(id));
                    }
                }
            }
        }
        Ok(candidates)
    }

    fn of(&self, memory_type: MemoryType) -> impl Iterator<Item = MemoryId> + '_ {
        self.by_type.get(&memory_type).into_iter().flatten().map(|Reverse(id)| *id)
    }
}

/// The newest ids of an index, and whether there are more.
fn newest(view: &View<'_>, index: &keys::Index) -> Result<(Vec<MemoryId>, bool)> {
    let (mut ids, mut capped) = (Vec::new(), false);
    view.scan_index(index, None, true, &mut |id| {
        capped = ids.len() == EXAMINED_MAX;
        if capped {
            return Ok(ControlFlow::Break(()));
        }
        ids.push(id);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((ids, capped))
}

/// Answers a request against one state.
pub fn memory_recall(
    reading: &Reading,
    gate: &dyn Gate,
    request: &RecallRequest,
    fading: &Fading,
    now: Millis,
) -> Result<RecallAnswer> {
    let types = types_of(&request.memory_types)?;
    if request.mode == RecallMode::Hybrid {
        return recall_among(reading, gate, request, &ListCandidates::default(), fading, now);
    }
    let all = if types.is_empty() { &MemoryType::ALL[..] } else { &types };
    let among = ListCandidates::newest(&reading.view(), all, &[])?;
    recall_among(reading, gate, request, &among, fading, now)
}

/// The same, with the memories that lists are made of already at hand.
pub fn recall_among(
    reading: &Reading,
    gate: &dyn Gate,
    request: &RecallRequest,
    among: &ListCandidates,
    fading: &Fading,
    now: Millis,
) -> Result<RecallAnswer> {
    let types = types_of(&request.memory_types)?;
    if request.limit == 0 || request.limit > LIMIT_MAX {
        return Err(MindError::question("limit", format!("must be from 1 to {LIMIT_MAX}")));
    }
    let lister = Lister { reading, gate, among, fading, now };
    match request.mode {
        RecallMode::Hybrid if request.query.trim().is_empty() => {
            Err(MindError::question("query", "hybrid recall needs a query; others do not"))
        }
        RecallMode::Hybrid => hybrid(reading, gate, request, types, fading, now),
        RecallMode::Typed if types.is_empty() => {
            Err(MindError::question("memory_types", "typed recall needs at least one"))
        }
        RecallMode::Typed => {
            lister.listed(&types, request.sort_by.unwrap_or_default(), request.limit)
        }
        RecallMode::Recent => {
            lister.listed(&types, request.sort_by.unwrap_or(SortBy::Recent), request.limit)
        }
        RecallMode::Important => {
            lister.listed(&types, request.sort_by.unwrap_or(SortBy::Importance), request.limit)
        }
    }
}

fn hybrid(
    reading: &Reading,
    gate: &dyn Gate,
    request: &RecallRequest,
    types: Vec<MemoryType>,
    fading: &Fading,
    now: Millis,
) -> Result<RecallAnswer> {
    let query =
        search::SearchQuery { types, ..search::SearchQuery::new(&request.query, request.limit) };
    let answer = search::search(reading, Some(gate), &query, now)?;
    let found = answer.candidates;
    let memories = answer.hits.into_iter().filter_map(|hit| {
        Some(RecallHit {
            importance: fading.importance(&hit.head, &hit.version, &hit.usage, now),
            body: hit.body?,
            head: hit.head,
            version: hit.version,
            usage: hit.usage,
            standing: hit.standing,
            relevance: hit.score,
        })
    });
    Ok(RecallAnswer { memories: memories.collect(), found, capped: false })
}

/// What a list is made with.
struct Lister<'a> {
    reading: &'a Reading,
    gate: &'a dyn Gate,
    among: &'a ListCandidates,
    fading: &'a Fading,
    now: Millis,
}

impl Lister<'_> {
    fn listed(&self, types: &[MemoryType], sort: SortBy, limit: usize) -> Result<RecallAnswer> {
        let Lister { reading, gate, among, fading, now } = *self;
        let view = reading.view();
        let lens = MemoryReader::new(&view, Some(gate), None, now)?;
        let types = if types.is_empty() { &MemoryType::ALL[..] } else { types };
        let capped = types.iter().any(|memory_type| among.capped.contains(memory_type));
        let mut rows = Vec::new();
        for memory_type in types {
            let mut shown = 0;
            for id in among.of(*memory_type) {
                let Some(row) = lens.row(id)?.filter(|row| row.standing.is_shown()) else {
                    continue;
                };
                rows.push(row);
                shown += 1;
                // Ids are in the order of writing: the newest are all that a list by time can show.
                if sort == SortBy::Recent && shown == limit {
                    break;
                }
            }
        }
        let found = rows.len();
        let faded = |row: &MemoryRow| fading.importance(&row.head, &row.version, &row.usage, now);
        let mut ranked: Vec<(MemoryRow, Ppm)> = rows
            .into_iter()
            .map(|row| {
                let importance = faded(&row);
                (row, importance)
            })
            .collect();
        // An actor whose use has taught something has weights of its own: they say what is important to it.
        let learned = Some(view.weights()?).filter(|weights| *weights != Weights::cold());
        let important = |row: &MemoryRow, faded: Ppm| match &learned {
            None => faded,
            Some(weights) => {
                salience(&Signals::of(&row.head, &row.usage, None), now.get(), weights)
            }
        };
        ranked.sort_by_key(|(row, importance)| {
            let replaced = row.standing == Standing::Superseded;
            let key = match sort {
                SortBy::Recent => 0,
                SortBy::Importance => u64::from(important(row, *importance)),
                SortBy::MostAccessed => row.usage.accesses,
            };
            (replaced, Reverse(key), Reverse(row.head.id))
        });
        ranked.truncate(limit);
        let total = ranked.len().max(1) as u64;
        let mut memories = Vec::new();
        for (place, (row, importance)) in (0u64..).zip(ranked) {
            let Some(body) = lens.body(&row)? else { continue };
            let relevance = 1_000_000 - place * 1_000_000 / total;
            let MemoryRow { head, version, usage, standing, .. } = row;
            memories.push(RecallHit {
                head,
                version,
                usage,
                body,
                standing,
                importance,
                relevance,
            });
        }
        Ok(RecallAnswer { memories, found, capped })
    }
}
