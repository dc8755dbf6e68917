//! Making runs: a flush turns the memtable into one. Merging them: eight of a level become one of the next; large runs
//! that are mostly dead are joined.
//!
//! A merge goes in slices, one with every change, and is over before the next flush: no write waits for a whole one.
//! The runs it is made of answer until it is done. What dies in them meanwhile is marked dead in the new run too;
//! whether a slice still met its posting makes no difference to what follows.
//!
//! A merge drops dead postings. Each one it drops is added to the term's difference, so that postings plus differences,
//! over all runs, stay the exact live document frequency.

use std::collections::BTreeMap;
use std::ops::Range;

use kernel::Result;
use kernel::store::{KeyRange, View};

use super::block::{self, Posting};
use super::memtable::Memtable;
use super::meta::{MergeJob, Meta, Run};
use super::pending::PendingRows;
use super::posting_rows::{self, PostingWriter};
use super::rows::{self, PAGE_DOCS, damaged};
use crate::bytes::RowCursor;

const FAN_IN: usize = 8;

/// Runs of this level hold 8 * 8 flushes, 64k documents, and do not grow: the longest merge is bounded.
const TOP_LEVEL: u32 = 2;

/// Slices between two flushes: three merges can fall due with one flush, and each makes a run and removes its sources.
const SLICES: u32 = 8;

/// Postings and difference, by term.
type Lists = BTreeMap<u32, (Vec<Posting>, i64)>;

/// Turns the memtable into a run.
fn flush(pending: &mut PendingRows, meta: &mut Meta, memtable: &Memtable) {
    meta.changes = 0;
    if memtable.docs.is_empty() && memtable.buried.is_empty() {
        return;
    }
    // One list of all postings, sorted: a map of lists would allocate one for each of some ten thousand terms.
    let mut postings: Vec<(u32, Posting)> = Vec::new();
    for (doc, terms) in &memtable.docs {
        postings.extend(terms.iter().map(|(term, impact)| (*term, (*doc, *impact))));
        if *doc <= meta.flushed {
            pending.set(rows::in_memtable(*doc), None);
        }
    }
    let mut differences: BTreeMap<u32, i64> = BTreeMap::new();
    for (doc, terms) in &memtable.buried {
        for term in terms.iter() {
            *differences.entry(*term).or_default() -= 1;
        }
        pending.set(rows::buried(*doc), None);
    }
    postings.sort_unstable();
    let (id, epoch) = (meta.next_run, meta.epoch);
    let mut writer = PostingWriter::new(id);
    let mut list: Vec<Posting> = Vec::new();
    for of_term in postings.chunk_by(|a, b| a.0 == b.0) {
        let term = of_term[0].0;
        while let Some(gone) = differences.first_entry().filter(|gone| *gone.key() < term) {
            let (term, difference) = gone.remove_entry();
            writer.list(pending, term, &[], difference);
        }
        list.clear();
        list.extend(of_term.iter().map(|(_, posting)| *posting));
        writer.list(pending, term, &list, differences.remove(&term).unwrap_or(0));
    }
    for (term, difference) in differences {
        writer.list(pending, term, &[], difference);
    }
    writer.close(pending);
    meta.next_run += 1;
    meta.epoch += 1;
    meta.flushed = memtable.docs.last().map_or(meta.flushed, |(doc, _)| meta.flushed.max(*doc));
    let docs = u64::try_from(memtable.docs.len()).unwrap_or(u64::MAX);
    meta.runs.push(Run { id, level: 0, epochs: (epoch, epoch), docs, dead: 0 });
}

/// The runs to merge next, as a range of the list. Runs in it are neighbours, so that epochs stay ranges.
fn due(meta: &Meta) -> Option<Range<usize>> {
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

/// Begins the merge that is due, if there is one.
fn begin(meta: &mut Meta) {
    let Some(range) = due(meta) else { return };
    let merged = &meta.runs[range];
    let [oldest, .., newest] = merged else { return };
    let run = Run {
        id: meta.next_run,
        level: (oldest.level + 1).min(TOP_LEVEL),
        epochs: (oldest.epochs.0, newest.epochs.1),
        docs: merged.iter().map(Run::live).sum(),
        dead: 0,
    };
    let slice = meta.next_term.div_ceil((meta.settings.flush_docs / SLICES).max(1)).max(1);
    let sources = merged.iter().map(|run| run.id).collect();
    meta.job = Some(MergeJob { run, sources, done: false, terms: 0..meta.next_term, slice });
    meta.next_run += 1;
}

/// Does the next slice of the merge under way, if there is one.
pub(super) fn advance(view: &View<'_>, pending: &mut PendingRows, meta: &mut Meta) -> Result<()> {
    let Some(job) = &mut meta.job else { return Ok(()) };
    let start = job.terms.start;
    let end = start.saturating_add(job.slice).min(job.terms.end);
    if job.done {
        for source in &job.sources {
            let (from, to) = (rows::term_in_run(*source, start), rows::term_in_run(*source, end));
            let range = KeyRange { from, to: Some(to), reverse: false };
            for (key, _) in pending.rows(view, &range)? {
                pending.set(key, None);
            }
        }
    } else {
        let mut lists = Lists::new();
        for source in &job.sources {
            let dead = dead_bitmaps(view, pending, *source)?;
            gather(view, pending, *source, &(start..end), &dead, &mut lists)?;
        }
        let mut writer = PostingWriter::new(job.run.id);
        for (term, (postings, difference)) in &mut lists {
            // Runs overlap where documents were updated. A document is alive in one of them at most.
            postings.sort_unstable();
            writer.list(pending, *term, postings, *difference);
        }
        writer.close(pending);
    }
    job.terms.start = end;
    if end < job.terms.end {
        return Ok(());
    }
    if job.done {
        meta.job = None;
        begin(meta);
        return Ok(());
    }
    job.done = true;
    job.terms.start = 0;
    let (run, sources) = (job.run, job.sources.clone());
    for source in &sources {
        for (key, _) in pending.rows(view, &KeyRange::prefix(&rows::dead_of(*source)))? {
            pending.set(key, None);
        }
    }
    let at = meta.runs.iter().position(|run| sources.first() == Some(&run.id));
    let at = at.ok_or_else(|| damaged("meta", "the runs of a merge are not there"))?;
    meta.runs.splice(at..at + sources.len(), [run]);
    Ok(())
}

/// Flushes the memtable. Whatever was due before is finished first: runs of a level stay neighbours.
pub(super) fn flush_and_begin(
    view: &View<'_>,
    pending: &mut PendingRows,
    meta: &mut Meta,
    memtable: &Memtable,
) -> Result<()> {
    while meta.job.is_some() {
        advance(view, pending, meta)?;
    }
    flush(pending, meta, memtable);
    begin(meta);
    Ok(())
}

/// Notes a death in a run that is being merged.
pub(super) fn bury(
    view: &View<'_>,
    pending: &mut PendingRows,
    meta: &mut Meta,
    epoch: u32,
    doc: u64,
) -> Result<()> {
    let Some(job) = meta.job.as_mut().filter(|job| !job.done) else { return Ok(()) };
    if (job.run.epochs.0..=job.run.epochs.1).contains(&epoch) {
        job.run.dead += 1;
        let key = rows::dead(job.run.id, doc / PAGE_DOCS);
        let page = rows::mark_dead(pending.get(view, &key)?, doc)?;
        pending.set(key, Some(page));
    }
    Ok(())
}

type DeadBitmaps = BTreeMap<u64, Vec<u8>>;

/// The pages of the dead of a run.
fn dead_bitmaps(view: &View<'_>, pending: &PendingRows, run: u32) -> Result<DeadBitmaps> {
    let mut pages = DeadBitmaps::new();
    for (key, page) in pending.rows(view, &KeyRange::prefix(&rows::dead_of(run)))? {
        pages.insert(rows::trailing_doc(&key)?, page);
    }
    Ok(pages)
}

/// Adds what a run says of some terms to `lists`.
fn gather(
    view: &View<'_>,
    pending: &PendingRows,
    run: u32,
    terms: &Range<u32>,
    dead: &DeadBitmaps,
    lists: &mut Lists,
) -> Result<()> {
    let mut read = Vec::new();
    let alive = |(doc, _): &Posting| {
        !dead.get(&(doc / PAGE_DOCS)).is_some_and(|page| rows::is_dead(page, *doc))
    };
    posting_rows::read_pending(view, pending, run, terms, &mut |term, first, value| {
        let (postings, difference) = lists.entry(term).or_default();
        if first == 0 {
            *difference += RowCursor::new(value)
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
