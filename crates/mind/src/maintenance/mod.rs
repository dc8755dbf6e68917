//! Maintenance: what has faded is forgotten, what is over is archived, what says the same becomes one.
//!
//! Importance fades as a function of record, usage and time; nothing is written for it, so running twice changes
//! nothing and running hourly forgets no faster than running weekly. What must stay true: only memories of the same
//! type and scope are joined; identity and pinned memories are only ever suggested; what somebody restored is never
//! proposed again; a memory is in one proposal of a plan at most.

mod alike;
mod join;
mod merge;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use kernel::find::{MemoryReader, MemoryRow, Standing};
use kernel::journal::{EntryKind, Payload};
use kernel::memory::{
    Constraint, Fields, Goal, GoalStatus, MemoryId, MemoryType, Millis, PinnedVersion, Strength,
};
use kernel::salience::{DecayPolicy, Ppm};
use kernel::store::View;
use kernel::{Reading, keys};
use serde::{Deserialize, Serialize};

pub use alike::difference;
pub use undo::{
    MindRunRecord, RUN_ENTRIES_MAX, RunChange, RunLine, content_digest, recent_runs, run_record,
    undo,
};

use crate::error::Result;
use crate::memory_recall::{importance_at, last_used};
use crate::proposal::{MemoryAction, MindPlan, Proposal, Suggestion};
use crate::settings::{CortexSettings, days_ms, ppm};

/// Name of the job.
pub const JOB: &str = "maintenance";
/// Memories one run looks at.
pub const EXAMINED_MAX: usize = 500_000;
/// Suggestions one run makes; nobody reads more.
pub const SUGGESTIONS_MAX: usize = 200;
/// Neighbours of one memory that are compared with it.
const NEIGHBOURS: usize = 10;

/// What maintenance keeps between runs; persistent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaintenanceState {
    /// Memories written up to this entry were compared with all others.
    compared: u64,
    /// The thresholds that those comparisons used.
    thresholds: (Ppm, Ppm),
    /// Journal entries read for `kept`.
    followed: u64,
    /// Memories that somebody restored.
    kept: BTreeSet<u64>,
}

impl MaintenanceState {
    /// Reads what is new in the journal: a memory that was brought back is left alone from then on.
    pub fn follow(&mut self, view: &View<'_>) -> Result<()> {
        let size = view.counters()?.size;
        if self.followed > size {
            *self = MaintenanceState::default();
        }
        for seq in self.followed + 1..=size {
            let Some(entry) = view.entry(seq)? else { continue };
            match entry.kind {
                EntryKind::Restore => {
                    if let Payload::Restore(restore) = entry.payload()? {
                        self.kept.insert(restore.id.get());
                    }
                }
                // A person forgot the memory after somebody had restored it, so it is protected no longer.
                EntryKind::Tombstone if entry.run.is_none() => {
                    if let Payload::Tombstone(tombstone) = entry.payload()? {
                        self.kept.remove(&tombstone.id.get());
                    }
                }
                _ => {}
            }
        }
        self.followed = size;
        Ok(())
    }
}

/// One memory with its faded importance.
struct Candidate {
    row: MemoryRow,
    importance: Ppm,
}

impl Candidate {
    fn pinned(&self) -> PinnedVersion {
        PinnedVersion { id: self.row.head.id, version: self.row.head.version }
    }
}

/// What should be changed now, and the state to keep once the plan was carried out. A dry run drops both.
pub fn plan(
    reading: &Reading,
    state: &MaintenanceState,
    settings: &CortexSettings,
    now: Millis,
) -> Result<(MindPlan, MaintenanceState)> {
    let view = reading.view();
    let mut next = state.clone();
    next.follow(&view)?;
    let policy = settings.decay_policy();
    let (rows, cut) = live(&view, &policy, now)?;
    let mut planner = Planner {
        reading,
        settings,
        now,
        taken: BTreeSet::new(),
        plan: MindPlan {
            job: JOB.to_owned(),
            examined: rows.len(),
            left: cut,
            ..MindPlan::default()
        },
    };
    planner.archive(&rows, &next)?;
    planner.prune(&rows, &next)?;
    planner.finish_merges(&rows);
    planner.join(&rows, &mut next)?;
    let mut plan = planner.plan;
    let max = usize::try_from(settings.maintenance_changes_max).unwrap_or(usize::MAX);
    // Joining comes first: what was found alike is compared only once, what has faded is found again by every run.
    let joins = |proposal: &Proposal| {
        matches!(proposal.action, MemoryAction::Merge { .. } | MemoryAction::Consolidate { .. })
    };
    plan.proposals.sort_by_key(|proposal| !joins(proposal));
    if plan.proposals.len() > max {
        plan.left += plan.proposals.len() - max;
        if plan.proposals[max..].iter().any(joins) {
            next.compared = state.compared;
        }
        plan.proposals.truncate(max);
    }
    Ok((plan, next))
}

/// Every memory that is not forgotten, and how many were too many.
fn live(
    view: &View<'_>,
    policy: &DecayPolicy,
    now: Millis,
) -> Result<(BTreeMap<MemoryId, Candidate>, usize)> {
    let lens = MemoryReader::new(view, None, None, now)?;
    let (mut rows, mut cut) = (BTreeMap::new(), 0);
    for memory_type in MemoryType::ALL {
        let mut ids = Vec::new();
        view.scan_index(&keys::by_type(memory_type), None, false, &mut |id| {
            ids.push(id);
            Ok(ControlFlow::Continue(()))
        })?;
        for id in ids {
            let Some(row) = lens.row(id)?.filter(|row| !row.standing.is_forgotten()) else {
                continue;
            };
            if rows.len() == EXAMINED_MAX {
                cut += 1;
                continue;
            }
            let importance = importance_at(&row.head, &row.version, &row.usage, now, policy);
            rows.insert(id, Candidate { row, importance });
        }
    }
    Ok((rows, cut))
}

struct Planner<'a> {
    reading: &'a Reading,
    settings: &'a CortexSettings,
    now: Millis,
    /// Memories that are in a proposal already.
    taken: BTreeSet<MemoryId>,
    plan: MindPlan,
}

impl Planner<'_> {
    fn propose(&mut self, action: MemoryAction, reason: String) {
        let about = action.about().into_iter().filter_map(MemoryId::new);
        self.taken.extend(about);
        self.plan.proposals.push(Proposal { action, reason });
    }

    fn suggest(&mut self, about: &[MemoryId], reason: String) {
        let mut about: Vec<u64> = about.iter().map(|id| id.get()).collect();
        about.sort_unstable();
        // A pair of memories is found twice, once from each of them.
        let known = |suggestion: &Suggestion| suggestion.about == about;
        if self.plan.suggestions.len() == SUGGESTIONS_MAX {
            self.plan.unsaid += 1;
        } else if !self.plan.suggestions.iter().any(known) {
            self.plan.suggestions.push(Suggestion { about, reason });
        }
    }

    /// Goals that are done or dropped, and what is past its own date, after a while.
    fn archive(
        &mut self,
        rows: &BTreeMap<MemoryId, Candidate>,
        state: &MaintenanceState,
    ) -> Result<()> {
        let view = self.reading.view();
        let wait = days_ms(self.settings.archive_after_days);
        for (id, candidate) in rows {
            let row = &candidate.row;
            let idle = self.now.get() - last_used(&row.version, &row.usage).get();
            let over = match row.standing {
                Standing::Expired => row.version.expires.map(|at| (at, "expired")),
                Standing::NoLongerValid => row.version.valid_until.map(|at| (at, "was true until")),
                _ => None,
            };
            let reason = match over {
                Some((at, what)) if self.now.get() - at.get() > wait => {
                    format!("{what} {}", at.date())
                }
                None if row.head.memory_type == MemoryType::Goal
                    && row.standing != Standing::Archived
                    && idle > wait =>
                {
                    match view.body(&row.version)?.map(|body| body.fields) {
                        Some(Fields::Goal(Goal { status, .. }))
                            if matches!(status, GoalStatus::Done | GoalStatus::Dropped) =>
                        {
                            let days = idle / kernel::salience::DAY_MS;
                            format!("{} and not used for {days} days", status.name())
                        }
                        _ => continue,
                    }
                }
                _ => continue,
            };
            if row.head.pinned || state.kept.contains(&id.get()) {
                self.suggest(&[*id], format!("could be archived: {reason}"));
            } else {
                self.propose(MemoryAction::Archive(candidate.pinned()), reason);
            }
        }
        Ok(())
    }

    /// What has faded below the threshold, faintest first.
    fn prune(
        &mut self,
        rows: &BTreeMap<MemoryId, Candidate>,
        state: &MaintenanceState,
    ) -> Result<()> {
        let view = self.reading.view();
        let threshold = ppm(self.settings.prune_threshold);
        let min_age = days_ms(self.settings.prune_min_age_days);
        let mut faint: Vec<&Candidate> = rows
            .values()
            .filter(|candidate| candidate.importance < threshold)
            .filter(|candidate| self.now.get() - candidate.row.head.created.get() >= min_age)
            .filter(|candidate| candidate.row.standing != Standing::Archived)
            .filter(|candidate| !self.taken.contains(&candidate.row.head.id))
            .collect();
        faint.sort_by_key(|candidate| (candidate.importance, candidate.row.head.id));
        for candidate in faint {
            let head = &candidate.row.head;
            let used = last_used(&candidate.row.version, &candidate.row.usage);
            let reason = format!(
                "importance {} is below {}: {} when saved, not used since {}",
                decimal(candidate.importance),
                decimal(threshold),
                decimal(head.importance),
                used.date()
            );
            let binding = match view.body(&candidate.row.version)?.map(|body| body.fields) {
                Some(Fields::Constraint(Constraint { strength: Strength::Hard, .. })) => true,
                Some(Fields::Goal(Goal { status: GoalStatus::Active, due: Some(due), .. })) => {
                    due > self.now
                }
                _ => false,
            };
            let identity = head.memory_type == MemoryType::Identity;
            if identity || head.pinned || binding {
                self.suggest(&[head.id], format!("could be forgotten: {reason}"));
            } else if !state.kept.contains(&head.id.get()) {
                self.propose(MemoryAction::Forget(candidate.pinned()), reason);
            }
        }
        Ok(())
    }
}

/// Parts per million with three decimals.
fn decimal(value: Ppm) -> String {
    format!("{}.{:03}", value / 1_000_000, value % 1_000_000 / 1_000)
}
