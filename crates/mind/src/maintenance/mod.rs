//! Maintenance: what has faded is forgotten, what is over is archived, what says the same becomes one.
//!
//! Importance fades as a function of record, usage and days; nothing is written for it, so running twice changes
//! nothing and running hourly forgets no faster than running weekly. What must stay true: only memories of the same
//! type and scope are joined; identity and pinned memories are only ever suggested, and so is what somebody chose to
//! keep unless the settings say otherwise; what somebody restored is never proposed again; a memory is in one proposal
//! of a plan at most.

mod alike;
mod join;
mod merge;
mod put_away;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use kernel::find::{MemoryReader, MemoryRow, Standing};
use kernel::journal::{EntryKind, Payload};
use kernel::memory::{Fields, Goal, GoalStatus, MemoryId, MemoryType, Millis, PinnedVersion};
use kernel::salience::Ppm;
use kernel::store::View;
use kernel::{Reading, keys};
use serde::{Deserialize, Serialize};

pub use alike::difference;
pub use put_away::DUE_MAX;
pub use undo::{
    MindRunRecord, RUN_ENTRIES_MAX, RunChange, RunLine, content_digest, recent_runs, run_record,
    undo,
};

use crate::active_days::ActiveDays;
use crate::error::Result;
use crate::fading::{CAPTURED_KINDS, Fading, kept_because, last_used};
use crate::proposal::{DueMemory, MemoryAction, MindPlan, Proposal, Suggestion};
use crate::settings::{CortexSettings, PruneScope, days_ms};
use put_away::RuleInForce;

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
    /// The days that memories age by.
    #[serde(default)]
    pub days: ActiveDays,
    /// What is put away, and since when that holds.
    #[serde(default)]
    rule: Option<RuleInForce>,
}

impl MaintenanceState {
    /// Reads what is new in the journal: a memory that was brought back is left alone from then on.
    pub fn follow(
        &mut self,
        view: &View<'_>,
        settings: &CortexSettings,
        now: Millis,
    ) -> Result<Fading> {
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
        self.days.follow(view)?;
        let fading = Fading::new(settings, &self.days);
        self.rule = Some(RuleInForce::following(self.rule.as_ref(), settings, &fading, now));
        Ok(fading)
    }

    /// True if this state has read more of the journal than another.
    pub fn is_ahead_of(&self, other: &MaintenanceState) -> bool {
        self.followed > other.followed || (self.rule.is_some() && other.rule.is_none())
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

/// What is about to be put away, the next first, and how many more there are.
pub fn due(
    reading: &Reading,
    state: &MaintenanceState,
    settings: &CortexSettings,
    now: Millis,
) -> Result<(Vec<DueMemory>, usize, MaintenanceState)> {
    let mut next = state.clone();
    let fading = next.follow(&reading.view(), settings, now)?;
    let (due, unsaid) = due_by(reading, &next, settings, fading, now)?;
    Ok((due, unsaid, next))
}

/// The same, with a state that has followed the journal.
pub fn due_by(
    reading: &Reading,
    state: &MaintenanceState,
    settings: &CortexSettings,
    fading: Fading,
    now: Millis,
) -> Result<(Vec<DueMemory>, usize)> {
    let view = reading.view();
    let rows = match settings.prune_scope {
        PruneScope::Captured => unchosen(&view, &fading, now)?,
        PruneScope::All => live(&view, &fading, now)?.0,
    };
    let (taken, plan) = (BTreeSet::new(), MindPlan::default());
    let mut planner = Planner { reading, settings, fading, now, taken, plan };
    planner.prune(&rows, state)?;
    Ok((planner.plan.due, planner.plan.due_unsaid))
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
    let fading = next.follow(&view, settings, now)?;
    let (rows, cut) = live(&view, &fading, now)?;
    let mut planner = Planner {
        reading,
        settings,
        fading,
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
    fading: &Fading,
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
            let importance = fading.importance(&row.head, &row.version, &row.usage, now);
            rows.insert(id, Candidate { row, importance });
        }
    }
    Ok((rows, cut))
}

/// Memories that nobody chose to keep: those of captured kinds, and of types that are generated.
fn unchosen(
    view: &View<'_>,
    fading: &Fading,
    now: Millis,
) -> Result<BTreeMap<MemoryId, Candidate>> {
    let lens = MemoryReader::new(view, None, None, now)?;
    let mut rows = BTreeMap::new();
    for memory_type in MemoryType::ALL {
        let mut ids = Vec::new();
        view.scan_index(&keys::by_type(memory_type), None, false, &mut |id| {
            ids.push(id);
            Ok(ControlFlow::Continue(()))
        })?;
        for id in ids.into_iter().take(EXAMINED_MAX) {
            let head = view.required_head(id)?;
            let generated = matches!(memory_type, MemoryType::Pattern | MemoryType::ArtifactRef);
            if !generated && !CAPTURED_KINDS.contains(&head.kind.as_str()) {
                continue;
            }
            if let Some(row) = lens.row(id)?.filter(|row| row.standing.is_shown()) {
                let importance = fading.importance(&row.head, &row.version, &row.usage, now);
                rows.insert(id, Candidate { row, importance });
            }
        }
    }
    Ok(rows)
}

struct Planner<'a> {
    reading: &'a Reading,
    settings: &'a CortexSettings,
    fading: Fading,
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
            // What is past its own date is out of sight already; to archive it hides nothing.
            let chosen = over.is_none()
                && self.settings.prune_scope == PruneScope::Captured
                && kept_because(row).is_some();
            if chosen || row.head.pinned || state.kept.contains(&id.get()) {
                self.suggest(&[*id], format!("could be archived: {reason}"));
            } else {
                self.propose(MemoryAction::Archive(candidate.pinned()), reason);
            }
        }
        Ok(())
    }
}

/// Parts per million with three decimals.
fn decimal(value: Ppm) -> String {
    format!("{}.{:03}", value / 1_000_000, value % 1_000_000 / 1_000)
}
