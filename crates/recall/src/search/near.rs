//! What says nearly the same as a memory that was just written, at a cost that does not grow with the store.
//!
//! Others that share rare words with it are found by the text index, a fixed number of them; only those are compared by
//! their vectors. What must stay true: the nearness of two memories is that of `similar`; a copy that shares no rare
//! word is missed, and nothing else is.

use std::cell::Cell;
use std::cmp::Reverse;

use kernel::Reading;
use kernel::memory::{Head, MemoryId};

use super::fusion::ONE;
use crate::columns::IndexCache;
use crate::embedding;
use crate::error::Result;
use crate::segments;
use crate::vectors::Codes;
use text::index::TextSearch;

/// Memories that are compared.
const COMPARED_MAX: usize = 24;
/// Heads that are read to find them.
const HEADS_MAX: usize = 192;

/// The memories that say nearly what `id` says, nearest first, with how near they are in parts per million. Only those
/// of `project` are looked at, if one is named; forgotten and archived ones never are.
pub fn near(reading: &Reading, id: MemoryId, project: Option<&str>) -> Result<Vec<(Head, u64)>> {
    let view = reading.view();
    let codes = segments::read_codes(&view, id.get())?;
    let Some(first) = codes.first() else { return Ok(Vec::new()) };
    let dims = first.embedding().dims();
    let cache = &*reading.shared::<IndexCache>().unwrap_or_default();
    let left = Cell::new(HEADS_MAX);
    let wanted = |head: &Head| {
        let gone = head.erased || head.archived || head.tombstone.is_some();
        !gone && project.is_none_or(|project| head.project.as_deref() == Some(project))
    };
    let admitted = |doc: u64| {
        if doc == id.get() || left.get() == 0 {
            return false;
        }
        left.set(left.get() - 1);
        // A head that cannot be read is no reason to fail a hint.
        let head = MemoryId::new(doc).and_then(|doc| view.head(doc).ok().flatten());
        head.is_some_and(|head| wanted(&head))
    };
    let sharing = TextSearch::new(&view, &cache.memtable)?.sharing_words(
        id.get(),
        COMPARED_MAX,
        &admitted,
    )?;
    let mut found = Vec::new();
    for (doc, _) in sharing {
        let mut other = Codes::new(dims);
        other.set(doc, &segments::read_codes(&view, doc)?);
        let scores = codes.iter().filter_map(|code| other.score(&code.embedding(), doc));
        let nearest = u64::try_from(scores.max().unwrap_or(0)).unwrap_or(0);
        let nearness = (nearest.saturating_mul(ONE) / embedding::ONE.unsigned_abs()).min(ONE);
        let head = MemoryId::new(doc).map(|doc| view.head(doc)).transpose()?.flatten();
        found.extend(head.filter(|_| nearness > 0).map(|head| (head, nearness)));
    }
    found.sort_by_key(|(head, nearness)| (Reverse(*nearness), head.id));
    Ok(found)
}
