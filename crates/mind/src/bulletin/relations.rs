//! Lines that belong together: what replaced what, what contradicts what, what says almost the same.
//!
//! What must stay true: a forgotten memory, or one that the reader may not see, is not named.

use std::collections::BTreeSet;

use api::render::untrusted;
use kernel::grants::Gate;
use kernel::limits::EDGES_PER_MEMORY_MAX;
use kernel::memory::{MemoryId, Relation};
use kernel::render::one_line;
use kernel::store::View;

use super::input::InputItem;
use super::phrase::within;
use crate::error::Result;
use crate::memory_recall::RecallHit;
use crate::turning_words::is_negation;

/// Words of what was replaced.
const REPLACED_WORDS: usize = 12;
/// Memories that one line stands for.
const ALIKE_MAX: usize = 5;
/// Words a line must have to count as almost the same as another.
const ALIKE_WORDS_MIN: usize = 4;

/// Says what a memory replaced: another memory, or what it said itself before.
pub(super) fn replaced(
    view: &View<'_>,
    sight: &dyn Gate,
    memory: &RecallHit,
    item: &mut InputItem,
) -> Result<()> {
    let id = memory.id();
    let mut before = None;
    // Behind a gate a row counts no relations; here each end is looked at before it is named.
    if view.usage(id)?.edges_out > 0 {
        for edge in view.edges_out(id, EDGES_PER_MEMORY_MAX as usize)? {
            if !matches!(edge.relation, Relation::Supersedes | Relation::Updates) {
                continue;
            }
            let Some(head) = view.head(edge.dst)? else { continue };
            if head.tombstone.is_some() || head.erased || !sight.sees(&head) {
                continue;
            }
            let version = view.required_version(head.id, head.version)?;
            before = view.body(&version)?.map(|body| (body.title, Some(head.id)));
        }
    }
    if before.is_none() && memory.version.n > 1 {
        let version = view.required_version(id, memory.version.n - 1)?;
        let body = view.body(&version)?;
        before = body.filter(|body| body.title != memory.body.title).map(|body| (body.title, None));
    }
    let Some((title, old)) = before else { return Ok(()) };
    let title = within(&one_line(&title), REPLACED_WORDS);
    let said = format!("{}, since {} instead of \u{201c}{title}\u{201d}", item.text, item.date);
    item.text = untrusted::line(&said);
    item.also.extend(old.map(MemoryId::get));
    Ok(())
}

/// True if a line says almost the same as one before, which then stands for both.
pub(super) fn join_alike(items: &mut [InputItem], item: &InputItem) -> bool {
    let words = words_of(&item.text);
    if words.len() < ALIKE_WORDS_MIN || !item.also.is_empty() {
        return false;
    }
    let alike = items.iter_mut().find(|known| {
        let theirs = words_of(&known.text);
        let shared = words.intersection(&theirs).count();
        let all = words.union(&theirs).count();
        let differ = words.symmetric_difference(&theirs);
        // A number or a negation makes another statement of the same words.
        let mut telling =
            differ.filter(|word| word.chars().any(|c| c.is_ascii_digit()) || is_negation(word));
        known.project == item.project && 5 * shared >= 4 * all && telling.next().is_none()
    });
    let Some(known) = alike else { return false };
    if known.also.len() + 1 < ALIKE_MAX {
        known.also.push(item.id);
        known.note = Some(format!("{} alike", known.also.len() + 1));
    }
    true
}

/// The words of a line, folded.
pub(super) fn words_of(text: &str) -> BTreeSet<String> {
    text::analyze::fold(text)
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A memory that contradicts one before it stands right behind it, and says so.
pub(super) fn put_contradictions_together(
    view: &View<'_>,
    items: &mut Vec<InputItem>,
) -> Result<()> {
    let mut at = 0;
    while at < items.len() {
        let Some(id) = MemoryId::new(items[at].id) else {
            at += 1;
            continue;
        };
        let known: Vec<u64> = items[at + 1..].iter().map(|item| item.id).collect();
        let mut against = Vec::new();
        if !known.is_empty() && view.usage(id)?.contradicted > 0 {
            for other in known {
                let Some(other_id) = MemoryId::new(other) else { continue };
                let there = view.edge(id, Relation::Contradicts, other_id)?.is_some()
                    || view.edge(other_id, Relation::Contradicts, id)?.is_some();
                if there {
                    against.push(other);
                }
            }
        }
        for (place, other) in (at + 1..).zip(&against) {
            let Some(from) = items.iter().position(|item| item.id == *other) else { continue };
            let mut item = items.remove(from);
            item.note = Some(format!("contradicts #{id}"));
            items.insert(place, item);
        }
        at += 1 + against.len();
    }
    Ok(())
}
