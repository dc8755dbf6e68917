//! Making runs: a flush turns the tail into one. Merging them: eight of a level become one of the next; large runs that are mostly dead are joined.
//!
//! A merge drops dead postings. Each one it drops is added to the term's difference, so that postings plus differences, over
//! all runs, stay the exact live document frequency.

use std::collections::BTreeMap;
use std::ops::Range;

use kernel::error::Result;
use kernel::store::{KeyRange, View};

use super::block::{self, Posting};
use super::bytes::Cursor;
use super::meta::{Meta, Run};
use super::pending::Pending;
use super::rows::{self, PAGE_DOCS, damaged};
use super::slab::{self, Writer};
use super::tail::Tail;

const FAN_IN: usize = 8;

/// Runs of this level hold 8 * 8 flushes, 64k documents, and do not grow: the longest merge is bounded.
const TOP_LEVEL: u32 = 2;

/// Terms whose postings are in memory at a time.
const TERMS_AT_ONCE: u32 = 4096;

/// Postings and difference, by term.
type Lists = BTreeMap<u32, (Vec<Posting>, i64)>;

/// Turns the tail into a run.
pub(super) fn flush(pending: &mut Pending, meta: &mut Meta, tail: &Tail) {
    meta.changes = 0;
    if tail.docs.is_empty() && tail.buried.is_empty() {
        return;
    }
    let mut lists = Lists::new();
    for (doc, terms) in &tail.docs {
        for (term, impact) in terms.iter() {
            lists.entry(*term).or_default().0.push((*doc, *impact));
        }
        pending.set(rows::in_tail(*doc), None);
    }
    for (doc, terms) in &tail.buried {
        for term in terms.iter() {
            lists.entry(*term).or_default().1 -= 1;
        }
        pending.set(rows::buried(*doc), None);
    }
    let (id, epoch) = (meta.next_run, meta.epoch);
    let mut writer = Writer::new(id);
    for (term, (postings, difference)) in &lists {
        writer.list(pending, *term, postings, *difference);
    }
    writer.close(pending);
    meta.next_run += 1;
    meta.epoch += 1;
    let docs = u64::try_from(tail.docs.len()).unwrap_or(u64::MAX);
    meta.runs.push(Run { id, level: 0, epochs: (epoch, epoch), docs, dead: 0 });
}

/// The runs to merge next, as a range of the list. Runs in it are neighbours, so that epochs stay ranges.
pub(super) fn due(meta: &Meta) -> Option<Range<usize>> {
    let runs = &meta.runs;
    let start = runs.len().checked_sub(FAN_IN);
    if let Some(start) = start
        && runs[start].level < TOP_LEVEL
        && runs[start..].iter().all(|run| run.level == runs[start].level)
    {
        return Some(start..runs.len());
    }
    let mostly_dead = |pair: &[Run]| {
        let docs = pair[0].docs + pair[1].docs;
        let live = pair[0].live() + pair[1].live();
        pair.iter().all(|run| run.level == TOP_LEVEL) && 2 * live <= docs
    };
    let at = runs.windows(2).position(mostly_dead)?;
    Some(at..at + 2)
}

/// Replaces the runs of a range by one.
pub(super) fn merge(
    view: &View<'_>,
    pending: &mut Pending,
    meta: &mut Meta,
    range: Range<usize>,
) -> Result<()> {
    let merged: Vec<Run> = meta.runs[range.clone()].to_vec();
    let [oldest, .., newest] = merged.as_slice() else { return Ok(()) };
    let run = Run {
        id: meta.next_run,
        level: (oldest.level + 1).min(TOP_LEVEL),
        epochs: (oldest.epochs.0, newest.epochs.1),
        docs: merged.iter().map(Run::live).sum(),
        dead: 0,
    };
    let mut graves = Vec::with_capacity(merged.len());
    for old in &merged {
        graves.push(bury_run(view, pending, old)?);
    }
    let mut writer = Writer::new(run.id);
    let mut term = 0;
    while term < meta.next_term {
        let end = term.saturating_add(TERMS_AT_ONCE);
        let mut lists = Lists::new();
        for (old, dead) in merged.iter().zip(&graves) {
            gather(view, pending, old.id, &(term..end), dead, &mut lists)?;
        }
        for (term, (postings, difference)) in &mut lists {
            // Runs overlap where documents were updated. A document is alive in one of them at most.
            postings.sort_unstable();
            writer.list(pending, *term, postings, *difference);
        }
        term = end;
    }
    writer.close(pending);
    for old in &merged {
        for (key, _) in pending.rows(view, &KeyRange::prefix(&rows::run(old.id)))? {
            pending.set(key, None);
        }
    }
    meta.next_run += 1;
    meta.runs.splice(range, [run]);
    Ok(())
}

type Graves = BTreeMap<u64, Vec<u8>>;

/// Takes the pages of the dead of a run out of the store.
fn bury_run(view: &View<'_>, pending: &mut Pending, run: &Run) -> Result<Graves> {
    let mut pages = Graves::new();
    for (key, page) in pending.rows(view, &KeyRange::prefix(&rows::dead_of(run.id)))? {
        pages.insert(rows::trailing_doc(&key)?, page);
        pending.set(key, None);
    }
    Ok(pages)
}

/// Adds what a run says of some terms to `lists`.
fn gather(
    view: &View<'_>,
    pending: &Pending,
    run: u32,
    terms: &Range<u32>,
    dead: &Graves,
    lists: &mut Lists,
) -> Result<()> {
    let mut read = Vec::new();
    let alive = |(doc, _): &Posting| {
        !dead.get(&(doc / PAGE_DOCS)).is_some_and(|page| rows::is_dead(page, *doc))
    };
    slab::read_pending(view, pending, run, terms, &mut |term, first, value| {
        let (postings, difference) = lists.entry(term).or_default();
        if first == 0 {
            *difference += Cursor::new(value)
                .signed()
                .ok_or_else(|| damaged("difference", "does not decode"))?;
            return Ok(());
        }
        read.clear();
        block::decode(first, value, &mut read)?;
        let before = postings.len();
        postings.extend(read.iter().copied().filter(alive));
        let dropped = read.len() - (postings.len() - before);
        *difference += i64::try_from(dropped).unwrap_or(i64::MAX);
        Ok(())
    })
}
