//! The meta row: settings the rows were made with, counters, and the list of runs.
//!
//! It is rewritten with every change, so that it names the journal entry whose state the index shows.

use std::ops::Range;

use kernel::store::View;
use kernel::{Error, Result};

use super::rows::{self, damaged};
use super::score::{FieldWeight, FieldWeights};
use crate::bytes::{RowCursor, push_varint};

/// Of all rows of recall, whoever makes them: raised whenever one is made otherwise. The number comes first in the row,
/// and the row stays where it is, so that every build can tell its own rows from those of others.
const FORMAT: u64 = 7;

/// Numbers above it are no format of any build, but damage.
const FORMAT_MAX: u64 = 127;

/// Changes between two flushes.
pub const FLUSH_DOCS: u32 = 1024;

/// What the rows depend on besides the documents. An index made with other settings must be rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    pub flush_docs: u32,
    pub weights: FieldWeights,
    /// Version of whatever makes the terms.
    pub analyzer: u32,
}

impl Default for IndexSettings {
    fn default() -> IndexSettings {
        IndexSettings { flush_docs: FLUSH_DOCS, weights: FieldWeights::default(), analyzer: 1 }
    }
}

/// An immutable set of postings: what the memtable held at one flush, or several such merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) id: u32,
    pub(super) level: u32,
    /// The flushes it covers, both ends included.
    pub(super) epochs: (u32, u32),
    /// Documents it was made with.
    pub(super) docs: u64,
    /// How many of them are dead by now.
    pub(super) dead: u64,
}

impl Run {
    pub(super) fn live(&self) -> u64 {
        self.docs.saturating_sub(self.dead)
    }
}

/// A merge under way. It advances by a slice with every change; searches see nothing of it until it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MergeJob {
    /// The run that is being made.
    pub(super) run: Run,
    /// Those it is made of: neighbours in the list of runs until it takes their place.
    pub(super) sources: Vec<u32>,
    /// It has taken their place; what is left is to remove their rows.
    pub(super) done: bool,
    /// The next term, and the one to end before.
    pub(super) terms: Range<u32>,
    /// Terms of one slice.
    pub(super) slice: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) settings: IndexSettings,
    /// The journal entry of the last change.
    pub(super) seq: u64,
    /// Live documents.
    pub(super) documents: u64,
    /// Flushes so far.
    pub(super) epoch: u32,
    /// Changes since the last flush.
    pub(super) changes: u32,
    pub(super) next_run: u32,
    pub(super) next_term: u32,
    /// The largest document of all flushes: a later one can only be in the memtable.
    pub(super) flushed: u64,
    pub(super) job: Option<MergeJob>,
    /// By epoch, oldest first.
    pub(super) runs: Vec<Run>,
}

impl Meta {
    pub(super) fn new(settings: IndexSettings) -> Meta {
        Meta {
            settings,
            seq: 0,
            documents: 0,
            epoch: 0,
            changes: 0,
            next_run: 0,
            next_term: 0,
            flushed: 0,
            job: None,
            runs: Vec::new(),
        }
    }

    pub(super) fn read(view: &View<'_>) -> Result<Option<Meta>> {
        match view.get(&rows::meta())? {
            Some(bytes) => Meta::decode(&bytes).map(Some),
            None if view.get(&rows::former_meta())?.is_some() => Err(another_format("1 or 2")),
            None => Ok(None),
        }
    }

    /// The run that holds what was put in an epoch.
    pub(super) fn run_of(&mut self, epoch: u32) -> Result<&mut Run> {
        let at = self.runs.partition_point(|run| run.epochs.1 < epoch);
        self.runs
            .get_mut(at)
            .filter(|run| run.epochs.0 <= epoch)
            .ok_or_else(|| damaged("meta", "no run covers the epoch of a document"))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + 12 * self.runs.len());
        let mut push = |n: u64| push_varint(&mut out, n);
        push(FORMAT);
        push(self.settings.analyzer.into());
        push(self.settings.flush_docs.into());
        for field in self.settings.weights.fields {
            push(field.sixteenths.into());
            push(field.reference.into());
        }
        push(self.seq);
        push(self.documents);
        for n in [self.epoch, self.changes, self.next_run, self.next_term] {
            push(n.into());
        }
        push(self.flushed);
        push(u64::try_from(self.runs.len()).unwrap_or(u64::MAX));
        let mut push_run = |run: &Run| {
            for n in [run.id, run.level, run.epochs.0, run.epochs.1] {
                push(n.into());
            }
            push(run.docs);
            push(run.dead);
        };
        self.runs.iter().for_each(&mut push_run);
        if let Some(job) = &self.job {
            push_run(&job.run);
            for n in [u32::from(job.done), job.terms.start, job.terms.end, job.slice] {
                push(n.into());
            }
            for n in &job.sources {
                push((*n).into());
            }
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Meta> {
        match RowCursor::new(bytes).varint() {
            Some(FORMAT) => Meta::parse(bytes).ok_or_else(|| damaged("meta", "does not decode")),
            Some(format @ 1..=FORMAT_MAX) => Err(another_format(format)),
            _ => Err(damaged("meta", "has no format")),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Meta> {
        let mut cursor = RowCursor::new(bytes);
        cursor.varint()?;
        let (analyzer, flush_docs) = (cursor.u32()?, cursor.u32()?);
        let mut weights = FieldWeights::default();
        for field in &mut weights.fields {
            *field = FieldWeight {
                sixteenths: u16::try_from(cursor.varint()?).ok()?,
                reference: u16::try_from(cursor.varint()?).ok()?,
            };
        }
        let mut meta = Meta::new(IndexSettings { flush_docs, weights, analyzer });
        meta.seq = cursor.varint()?;
        meta.documents = cursor.varint()?;
        for n in [&mut meta.epoch, &mut meta.changes, &mut meta.next_run, &mut meta.next_term] {
            *n = cursor.u32()?;
        }
        meta.flushed = cursor.varint()?;
        for _ in 0..cursor.varint()? {
            meta.runs.push(parse_run(&mut cursor)?);
        }
        if !cursor.is_empty() {
            let run = parse_run(&mut cursor)?;
            let done = cursor.u32()? == 1;
            let terms = cursor.u32()?..cursor.u32()?;
            let (slice, mut sources) = (cursor.u32()?, Vec::new());
            while !cursor.is_empty() {
                sources.push(cursor.u32()?);
            }
            meta.job = Some(MergeJob { run, sources, done, terms, slice });
        }
        Some(meta)
    }
}

fn another_format(found: impl std::fmt::Display) -> Error {
    Error::outdated("the index", format!("format {found}, not {FORMAT}"))
}

fn parse_run(cursor: &mut RowCursor<'_>) -> Option<Run> {
    Some(Run {
        id: cursor.u32()?,
        level: cursor.u32()?,
        epochs: (cursor.u32()?, cursor.u32()?),
        docs: cursor.varint()?,
        dead: cursor.varint()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_reads_back_and_cuts_are_noticed() {
        let mut meta = Meta::new(IndexSettings { analyzer: 7, ..IndexSettings::default() });
        (meta.seq, meta.documents, meta.next_term, meta.flushed) = (1 << 40, 9, 300, 1 << 39);
        meta.runs.push(Run { id: 3, level: 1, epochs: (0, 7), docs: 70, dead: 2 });
        meta.runs.push(Run { id: 4, level: 0, epochs: (8, 8), docs: 10, dead: 0 });
        let job = MergeJob {
            run: Run { id: 5, level: 2, epochs: (0, 8), docs: 70, dead: 1 },
            sources: vec![3, 4],
            done: false,
            terms: 20..300,
            slice: 10,
        };
        for job in [None, Some(job)] {
            meta.job = job;
            let bytes = meta.encode();
            assert_eq!(Meta::decode(&bytes).unwrap(), meta);
            // A list of numbers has no end of its own; the last source may be missed, the rest may not.
            assert_ne!(Meta::decode(&bytes[..bytes.len() - 1]).ok(), Some(meta.clone()));
        }
        assert_eq!(meta.run_of(5).unwrap().id, 3);
        assert_eq!(meta.run_of(8).unwrap().id, 4);
        assert!(meta.run_of(9).is_err());
    }
}
