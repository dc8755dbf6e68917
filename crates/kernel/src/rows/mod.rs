//! One memory as a read sees it: the version that counts at the moment, where it stands, what it is worth.
//!
//! Every lane loads memories through a `MemoryReader`, so the gate and the moment are applied in one place. What the
//! gate does not see leaves no trace in a row: not as a superseding memory, not in a count.

mod standing;

use std::ops::ControlFlow;

use proof::journal::Weights;
use proof::memory::{Body, Head, MemoryId, Millis, Relation, Usage, Version};

use crate::error::{Error, Result};
use crate::grants::Gate;
use crate::keys;
use crate::salience::{self, Signals};
use crate::store::{KeyRange, View};

use standing::begins;
pub use standing::{Standing, standing};

/// Superseding or contradicting memories named with one memory.
pub const LABELS_MAX: usize = 8;
/// Edges read to find them.
const LABEL_EDGES_MAX: usize = 64;

/// A view, who looks, and at which moment.
pub struct MemoryReader<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) gate: Option<&'a dyn Gate>,
    /// The past (or future) moment asked about; the present if absent.
    pub(crate) as_of: Option<Millis>,
    pub(crate) now: Millis,
    weights: Weights,
}

impl std::fmt::Debug for MemoryReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (as_of, now) = (self.as_of, self.now);
        f.debug_struct("MemoryReader")
            .field("as_of", &as_of)
            .field("now", &now)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
pub struct MemoryRow {
    pub head: Head,
    pub version: Version,
    /// Without edges that the gate hides.
    pub usage: Usage,
    pub standing: Standing,
    pub superseded_by: Vec<MemoryId>,
}

impl<'a> MemoryReader<'a> {
    pub fn new(
        view: &'a View<'a>,
        gate: Option<&'a dyn Gate>,
        as_of: Option<Millis>,
        now: Millis,
    ) -> Result<MemoryReader<'a>> {
        Ok(MemoryReader { view, gate, as_of, now, weights: view.weights()? })
    }

    pub fn sees(&self, head: &Head) -> bool {
        self.gate.is_none_or(|gate| gate.sees(head))
    }

    /// `None`: no such memory, none that may be seen, or none yet at that moment.
    pub fn row(&self, id: MemoryId) -> Result<Option<MemoryRow>> {
        match self.view.head(id)? {
            Some(head) => self.row_of(head),
            None => Ok(None),
        }
    }

    /// The row of a head that was read already.
    pub fn row_of(&self, head: Head) -> Result<Option<MemoryRow>> {
        if !self.sees(&head) || self.as_of.is_some_and(|t| t < head.created) {
            return Ok(None);
        }
        let id = head.id;
        let moment = self.moment(&head);
        let version = self.version_at(&head, moment)?;
        let mut usage = self.view.usage(id)?;
        // The count is of the present: at another moment, what is forgotten by now may have superseded this.
        let may_be = usage.superseded > 0 || self.as_of.is_some() && usage.edges_in > 0;
        let superseded_by =
            if may_be { self.labels(id, Relation::Supersedes, false)? } else { Vec::new() };
        usage.superseded = u32::try_from(superseded_by.len()).unwrap_or(u32::MAX);
        if self.gate.is_some() {
            (usage.edges_in, usage.edges_out, usage.contradicted) = (0, 0, 0);
        }
        let standing = standing(&head, &version, &usage, moment);
        Ok(Some(MemoryRow { head, version, usage, standing, superseded_by }))
    }

    /// The present is never before what has already happened to a memory, whatever the clock says.
    fn moment(&self, head: &Head) -> Millis {
        let forgotten = head.tombstone.as_ref().map_or(head.updated, |tombstone| tombstone.at);
        self.as_of.unwrap_or_else(|| self.now.max(head.created).max(head.updated).max(forgotten))
    }

    /// The highest version that was written and had begun by `moment`.
    ///
    /// If that one has ended since, the memory has ended: an older version without an end of its own must not come
    /// back.
    fn version_at(&self, head: &Head, moment: Millis) -> Result<Version> {
        let mut not_begun = None;
        for n in (1..=head.version).rev() {
            let version = self.view.version(head.id, n)?.ok_or_else(|| {
                Error::corrupt(format!("version {}#{n}", head.id), "its head is stored, it is not")
            })?;
            if version.created <= moment {
                if begins(&version) <= moment {
                    return Ok(version);
                }
                not_begun.get_or_insert(version);
            }
        }
        match not_begun {
            Some(version) => Ok(version),
            None => self.view.required_version(head.id, head.version),
        }
    }

    pub fn body(&self, row: &MemoryRow) -> Result<Option<Body>> {
        if row.head.erased { Ok(None) } else { self.view.body(&row.version) }
    }

    /// Worth now, in parts per million. What is forgotten is worth nothing.
    pub(crate) fn salience(&self, row: &MemoryRow, similarity: Option<u32>) -> u32 {
        if row.standing.is_forgotten() {
            return 0;
        }
        let used = row.usage.last_access.unwrap_or(row.version.created).max(row.version.created);
        let signals = Signals {
            last_used: used.get(),
            accesses: row.usage.accesses,
            citations: row.usage.citations,
            importance: row.head.importance,
            similarity,
            pinned: row.head.pinned,
        };
        salience::salience(&signals, self.now.get(), &self.weights)
    }

    /// Memories that contradict this one, whichever of the two said so.
    pub fn contradicted_by(&self, id: MemoryId) -> Result<Vec<MemoryId>> {
        let mut found = self.labels(id, Relation::Contradicts, false)?;
        found.extend(self.labels(id, Relation::Contradicts, true)?);
        found.sort_unstable();
        found.dedup();
        found.truncate(LABELS_MAX);
        Ok(found)
    }

    /// Far ends of edges of one relation that are there, seen and not forgotten at the moment.
    fn labels(&self, id: MemoryId, relation: Relation, out: bool) -> Result<Vec<MemoryId>> {
        let mut prefix = if out { keys::edges_out(id) } else { keys::edges_in(id) };
        prefix.push(relation.code());
        let mut ends = Vec::new();
        self.view.scan(&KeyRange::prefix(&prefix), &mut |key, _| {
            ends.extend(keys::trailing_id(key));
            let full = ends.len() == LABEL_EDGES_MAX;
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let mut found = Vec::new();
        for end in ends {
            let (src, dst) = if out { (id, end) } else { (end, id) };
            let later = match self.as_of {
                Some(t) => self.view.edge(src, relation, dst)?.is_none_or(|edge| edge.at > t),
                None => false,
            };
            if !later && self.is_live(end)? {
                found.push(end);
            }
            if found.len() == LABELS_MAX {
                break;
            }
        }
        Ok(found)
    }

    fn is_live(&self, id: MemoryId) -> Result<bool> {
        Ok(self.view.head(id)?.is_some_and(|head| {
            let moment = self.moment(&head);
            let forgotten = head.tombstone.as_ref().is_some_and(|t| t.at <= moment);
            self.sees(&head) && !head.erased && !forgotten
        }))
    }
}
