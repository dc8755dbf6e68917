//! Where the memories of a bundle come from: a bounded number of rows for each tier, each memory in one tier.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use proof::memory::{MemoryId, MemoryType};

use super::{ContextQuery, Section, Tier, rule};
use crate::error::Result;
use crate::find::IdMerge;
use crate::keys::{self, Index};
use crate::limits::ROWS_EXAMINED_MAX;
use crate::rows::{MemoryReader, MemoryRow, Standing};
use crate::salience::PINNED_FLOOR;

/// Rows that one step of gathering examines. What comes foremost is exempt: none of it may be missed.
const STEP_ROWS_MAX: u32 = 1_000;
/// Behind hard constraints, identities, goals and what is pinned.
const PROPOSED_GROUP: u8 = 4;

pub(super) struct Candidate {
    pub(super) tier: Tier,
    pub(super) row: MemoryRow,
    pub(super) score: u32,
    pub(super) section: Section,
    /// Ascending: better first inside the tier.
    pub(super) rank: (u8, Reverse<u32>, i128),
}

impl Candidate {
    pub(super) fn is_rule(&self) -> bool {
        self.section == Section::Rules
    }
}

pub(super) struct Gather<'a> {
    memories: &'a MemoryReader<'a>,
    query: &'a ContextQuery,
    near: BTreeMap<MemoryId, u32>,
    pub(super) rows: u32,
    pub(super) capped: bool,
    /// Memories that a tier has claimed.
    taken: BTreeSet<MemoryId>,
    /// By tier.
    pub(super) found: [Vec<Candidate>; 3],
    pub(super) dropped: usize,
}

impl<'a> Gather<'a> {
    pub(super) fn new(memories: &'a MemoryReader<'a>, query: &'a ContextQuery) -> Gather<'a> {
        Gather {
            memories,
            query,
            near: query.near.iter().map(|near| (near.id, near.similarity)).collect(),
            rows: 0,
            capped: false,
            taken: BTreeSet::new(),
            found: [Vec::new(), Vec::new(), Vec::new()],
            dropped: 0,
        }
    }

    /// Visits rows that may be shown, newest first, until `visit` has enough or `max` rows were examined.
    fn each(
        &mut self,
        indexes: Vec<Index>,
        max: u32,
        mut visit: impl FnMut(&mut Self, MemoryRow) -> Result<bool>,
    ) -> Result<()> {
        let mut ids = IdMerge::newest(self.memories.view, indexes);
        let mut rows = 0;
        while let Some(id) = ids.next()? {
            if rows == max {
                self.capped = true;
                break;
            }
            rows += 1;
            if let Some(row) = self.shown(id)?
                && !visit(self, row)?
            {
                break;
            }
        }
        Ok(())
    }

    fn shown(&mut self, id: MemoryId) -> Result<Option<MemoryRow>> {
        let Some(head) = self.memories.view.head(id)? else { return Ok(None) };
        // Rows a delegate cannot see are not counted, so that their number stays unknown.
        self.rows += u32::from(self.memories.sees(&head));
        if !self.query.concerns(&head) || self.taken.contains(&id) {
            return Ok(None);
        }
        Ok(self.memories.row_of(head)?.filter(|row| row.standing.is_shown()))
    }

    fn take(&mut self, tier: Tier, row: MemoryRow, group: u8) {
        let id = row.head.id;
        self.taken.insert(id);
        let superseded = row.standing == Standing::Superseded;
        let mut score = self.memories.salience(&row, self.near.get(&id).copied());
        let proposed = self.query.rules.is_proposed(&row.head, &row.version);
        let is_rule = tier == Tier::Pinned && group == 0 && !proposed;
        let section = match tier {
            _ if proposed => Section::Proposed,
            _ if is_rule => Section::Rules,
            tier => Section::Tier(tier),
        };
        // What somebody else would have as a rule comes after all that is pinned.
        let group = if tier == Tier::Pinned && proposed { PROPOSED_GROUP } else { group };
        let rank = match tier {
            Tier::Outcomes => (0, Reverse(0), -i128::from(id.get())),
            // What is superseded comes after all that is not, but a rule stays one until it is taken back.
            _ => {
                let last = if superseded && !is_rule { 100 } else { 0 };
                (group + last, Reverse(score), id.get().into())
            }
        };
        if tier == Tier::Pinned {
            score = score.max(PINNED_FLOOR);
        }
        let found = &mut self.found[tier as usize];
        found.push(Candidate { tier, row, score, section, rank });
        let max = self.query.candidates_max();
        if tier == Tier::Relevant && found.len() >= 2 * max {
            found.sort_by_key(|candidate| candidate.rank);
            self.dropped += found.len() - max;
            found.truncate(max);
        }
    }

    pub(super) fn pinned(&mut self) -> Result<()> {
        self.each(vec![keys::foremost()], ROWS_EXAMINED_MAX, |gather, row| {
            let body = gather.memories.body(&row)?;
            // Hard constraints come first, then identities, then goals, then the rest.
            let group = match rule(body.as_ref()) {
                Some(MemoryType::Constraint) => 0,
                _ if row.head.memory_type == MemoryType::Identity => 1,
                Some(_) => 2,
                None if row.head.pinned => 3,
                None => return Ok(true),
            };
            gather.take(Tier::Pinned, row, group);
            Ok(true)
        })
    }

    /// The limit counts what passed every filter.
    pub(super) fn outcomes(&mut self) -> Result<()> {
        let mut left = self.query.outcomes_limit;
        if left == 0 {
            return Ok(());
        }
        self.each(vec![keys::by_type(MemoryType::Event)], STEP_ROWS_MAX, |gather, row| {
            gather.take(Tier::Outcomes, row, 0);
            left -= 1;
            Ok(left > 0)
        })
    }

    pub(super) fn relevant(&mut self) -> Result<()> {
        let query = self.query;
        let pinned_is_first = query.tiers.contains(&Tier::Pinned);
        let sort = |gather: &mut Self, row: MemoryRow, group: u8| {
            if row.head.pinned && pinned_is_first {
                gather.take(Tier::Pinned, row, 3);
            } else if query.types.is_empty() || query.types.contains(&row.head.memory_type) {
                gather.take(Tier::Relevant, row, group);
            }
        };
        let near: Vec<MemoryId> = self.near.keys().copied().collect();
        for id in near {
            if let Some(row) = self.shown(id)? {
                sort(self, row, 0);
            }
        }
        let mut focus: Vec<Index> = query.tags.iter().map(|tag| keys::by_tag(tag)).collect();
        focus.extend(query.session.as_ref().map(|session| keys::by_session(session)));
        let mut around: Vec<Index> = Vec::new();
        around.extend(query.project.as_ref().map(|project| keys::by_project(project)));
        if focus.is_empty() && around.is_empty() && query.near.is_empty() {
            // The query names nothing to go by, so the newest memories of every type are taken.
            around.extend(MemoryType::ALL.map(keys::by_type));
        }
        let mut manners: Vec<Index> = Vec::new();
        if query.project.is_some() {
            manners.extend([MemoryType::Preference, MemoryType::Constraint].map(keys::by_type));
        }
        for (group, indexes) in [(0, focus), (1, around), (2, manners)] {
            self.each(indexes, STEP_ROWS_MAX, |gather, row| {
                sort(gather, row, group);
                Ok(true)
            })?;
        }
        Ok(())
    }
}
