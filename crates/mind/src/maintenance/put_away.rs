//! What has faded is put away, after it was announced.
//!
//! A memory is due from the day on which its importance falls below the threshold. It is named as due for
//! `announce_days` before, and counts as announced only since the rule that names it holds: a changed setting or a
//! first start puts nothing away that nobody could have read about. What must stay true: the same days give the same
//! answer, however often maintenance runs.

use std::collections::BTreeMap;

use kernel::find::Standing;
use kernel::memory::{
    Constraint, Event, Fields, Goal, GoalStatus, MemoryId, MemoryType, Millis, PinnedVersion,
    Strength,
};
use kernel::salience::Ppm;
use kernel::store::View;
use serde::{Deserialize, Serialize};

use super::{Candidate, MaintenanceState, Planner, decimal};
use crate::error::Result;
use crate::fading::{Fading, kept_because, last_used};
use crate::proposal::{DueMemory, MemoryAction};
use crate::settings::{CortexSettings, PruneScope, days_ms, ppm};

/// Memories that are named as due; nobody reads more. The others are counted.
pub const DUE_MAX: usize = 200;

/// The rule that puts memories away, and the day since which it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RuleInForce {
    scope: PruneScope,
    factor: Ppm,
    threshold: Ppm,
    idle_days: u64,
    min_age_days: u64,
    since: i64,
}

impl RuleInForce {
    /// The rule of these settings; the one before goes on if nothing about it changed.
    pub(super) fn following(
        before: Option<&RuleInForce>,
        settings: &CortexSettings,
        fading: &Fading,
        now: Millis,
    ) -> RuleInForce {
        let fresh = RuleInForce {
            scope: settings.prune_scope,
            factor: ppm(settings.decay_factor),
            threshold: ppm(settings.prune_threshold),
            idle_days: settings.decay_idle_days,
            min_age_days: settings.prune_min_age_days,
            since: fading.day(now),
        };
        match before {
            Some(before) if (RuleInForce { since: before.since, ..fresh.clone() }) == *before => {
                before.clone()
            }
            _ => fresh,
        }
    }
}

/// A memory that fades, with what is known about its end.
struct FadingMemory<'a> {
    candidate: &'a Candidate,
    days_left: i64,
    since: Millis,
}

impl Planner<'_> {
    /// What has faded below the threshold, faintest first, and what is about to.
    pub(super) fn prune(
        &mut self,
        rows: &BTreeMap<MemoryId, Candidate>,
        state: &MaintenanceState,
    ) -> Result<()> {
        let view = self.reading.view();
        let threshold = ppm(self.settings.prune_threshold);
        let mut faint = Vec::new();
        for candidate in rows.values() {
            if let Some(faded) = self.fading_memory(&view, candidate, state)? {
                faint.push(faded);
            }
        }
        faint.sort_by_key(|one| {
            (one.days_left, one.candidate.importance, one.candidate.row.head.id)
        });
        for FadingMemory { candidate, days_left, since } in faint {
            let head = &candidate.row.head;
            if days_left > 0 {
                let reason = format!(
                    "importance {} and falling: {} when saved, not used since {}",
                    decimal(candidate.importance),
                    decimal(head.importance),
                    since.date()
                );
                self.announce(candidate.pinned(), days_left, reason);
                continue;
            }
            let reason = format!(
                "importance {} is below {}: {} when saved, not used since {}",
                decimal(candidate.importance),
                decimal(threshold),
                decimal(head.importance),
                since.date()
            );
            if head.memory_type == MemoryType::Identity
                || head.pinned
                || self.is_binding(&view, candidate)?
            {
                self.suggest(&[head.id], format!("could be forgotten: {reason}"));
            } else {
                self.announce(candidate.pinned(), 0, reason.clone());
                self.propose(MemoryAction::Forget(candidate.pinned()), reason);
            }
        }
        Ok(())
    }

    fn announce(&mut self, one: PinnedVersion, days_left: i64, reason: String) {
        if self.plan.due.len() == DUE_MAX {
            self.plan.due_unsaid += 1;
        } else {
            let (id, version) = (one.id.get(), one.version);
            self.plan.due.push(DueMemory { id, version, days_left, reason });
        }
    }

    /// How long a memory has left, if that is no longer than it is announced before.
    fn fading_memory<'a>(
        &self,
        view: &View<'_>,
        candidate: &'a Candidate,
        state: &MaintenanceState,
    ) -> Result<Option<FadingMemory<'a>>> {
        let row = &candidate.row;
        let captured = self.settings.prune_scope == PruneScope::Captured;
        if row.standing == Standing::Archived
            || self.taken.contains(&row.head.id)
            || (captured && kept_because(row).is_some())
            || state.kept.contains(&row.head.id.get())
        {
            return Ok(None);
        }
        let announce = i64::try_from(self.settings.announce_days).unwrap_or(i64::MAX);
        let (now, fading) = (self.now, &self.fading);
        let since = last_used(&row.version, &row.usage);
        // Pinned and identity memories do not fade, but one that was never important is worth a suggestion.
        if fading.days_left(&row.head, since, now).is_none_or(|left| left > announce) {
            return Ok(None);
        }
        let since = since.max(happening(view, candidate)?.unwrap_or(since));
        let Some(left) = fading.days_left(&row.head, since, now).filter(|left| *left <= announce)
        else {
            return Ok(None);
        };
        let ruled = state.rule.as_ref().map_or(0, |rule| fading.day(now) - rule.since);
        let young = announce - fading.age_days(row.head.created, now);
        let age = self.now.get() - row.head.created.get();
        let is_young = age < days_ms(self.settings.prune_min_age_days);
        let days_left = left.max(announce - ruled).max(young).max(i64::from(is_young));
        Ok(Some(FadingMemory { candidate, days_left, since }))
    }

    fn is_binding(&self, view: &View<'_>, candidate: &Candidate) -> Result<bool> {
        Ok(match view.body(&candidate.row.version)?.map(|body| body.fields) {
            Some(Fields::Constraint(Constraint { strength: Strength::Hard, .. })) => true,
            Some(Fields::Goal(Goal { status: GoalStatus::Active, due: Some(due), .. })) => {
                due > self.now
            }
            _ => false,
        })
    }
}

/// When an event happens, which may be after it was written down.
fn happening(view: &View<'_>, candidate: &Candidate) -> Result<Option<Millis>> {
    if candidate.row.head.memory_type != MemoryType::Event {
        return Ok(None);
    }
    Ok(match view.body(&candidate.row.version)?.map(|body| body.fields) {
        Some(Fields::Event(Event { happened_at, .. })) => happened_at,
        _ => None,
    })
}
