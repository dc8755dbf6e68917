//! What maintenance and patterns would change, and its submission in the name of a run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kernel::command::{Command, Receipt, Stamp};
use kernel::memory::{Millis, PinnedVersion, Salt};
use kernel::{Cortex, Reading};
use mind::maintenance::{self, MaintenanceState};
use mind::patterns::PatternLook;
use mind::proposal::{MemoryAction, MindPlan, PlanOutcome, Proposal, carry_out};
use mind::settings::PruneScope;
use service::Caller;
use service::error::{Error, Result};

use super::Host;
use crate::mind_host::{ActorMind, lock, prompts};

/// Suggestions that the report of a run names; `cortex mind run maintenance --dry-run` shows all.
const SUGGESTED_MAX: usize = 5;

impl Host {
    pub(super) fn maintain(
        &self,
        actor_mind: &ActorMind,
        run: &str,
        caller: &Caller,
    ) -> Result<(String, MaintenanceState)> {
        let now = caller.now()?;
        // Accesses that were only noted yet may be what keeps a memory.
        self.service.flush_actor(&caller.actor, now)?;
        let cortex = self.service.existing(caller)?;
        let (plan, state) = self.maintenance_plan(actor_mind, &cortex.read()?, now)?;
        let outcome = self.run_plan(actor_mind, &cortex, &plan, run, caller)?;
        Ok((summary(&plan, &outcome), state))
    }

    /// What maintenance would do: what the mind proposes, and, if all may be put away, what is stale by its score.
    pub(crate) fn maintenance_plan(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        now: Millis,
    ) -> Result<(MindPlan, MaintenanceState)> {
        let (state, settings) = {
            let slot = actor_mind.slot();
            (slot.mind.maintenance.clone(), slot.mind.settings.cortex.clone())
        };
        let (mut plan, state) = maintenance::plan(reading, &state, &settings, now)?;
        // What somebody chose to keep is not stale, whatever its score.
        if self.service.settings().archive && settings.prune_scope == PruneScope::All {
            let taken: BTreeSet<u64> =
                plan.proposals.iter().flat_map(|proposal| proposal.action.about()).collect();
            let max = usize::try_from(settings.maintenance_changes_max).unwrap_or(usize::MAX);
            let stale = self.service.stale(reading, now)?;
            for one in stale.found.iter().filter(|one| !taken.contains(&one.id.get())) {
                if plan.proposals.len() >= max {
                    plan.left += 1;
                    continue;
                }
                let action =
                    MemoryAction::Archive(PinnedVersion { id: one.id, version: one.version });
                plan.proposals
                    .push(Proposal { action, reason: one.reason(self.service.settings()) });
            }
        }
        Ok((plan, state))
    }

    pub(super) fn find_patterns(
        &self,
        actor_mind: &ActorMind,
        run: &str,
        caller: &Caller,
    ) -> Result<String> {
        let cortex = self.service.existing(caller)?;
        let (plan, look, seen) = self.patterns_plan(actor_mind, &cortex.read()?, caller.now()?)?;
        {
            let mut slot = actor_mind.slot();
            if !slot.mind.apply_patterns(look) {
                // The plan may hold what was erased meanwhile. A run that failed is tried again soon.
                return Err(Error::internal("what was watched changed meanwhile"));
            }
            slot.prompts = seen;
        }
        let outcome = self.run_plan(actor_mind, &cortex, &plan, run, caller)?;
        Ok(summary(&plan, &outcome))
    }

    /// What repeats, with the prompts that are new; the look that found it, and up to which entry it saw.
    pub(crate) fn patterns_plan(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        now: Millis,
    ) -> Result<(MindPlan, PatternLook, u64)> {
        let language = recall::language::language(reading)?;
        let (mut look, seen) = {
            let slot = actor_mind.slot();
            (slot.mind.patterns_input(language), slot.prompts)
        };
        let is_open = |session: &str| self.is_shared_session(&actor_mind.actor, session);
        let (observations, seen) = prompts::since(&reading.view(), seen, is_open)?;
        for observation in &observations {
            look.observe(observation);
        }
        let plan = look.plan(reading, now)?;
        Ok((plan, look, seen))
    }

    /// Submits a plan in the name of a run, step by step, until the run is asked to stop.
    pub(crate) fn run_plan(
        &self,
        actor_mind: &ActorMind,
        cortex: &Cortex,
        plan: &MindPlan,
        run: &str,
        caller: &Caller,
    ) -> Result<PlanOutcome> {
        let mut failed = None;
        let mut salts = || {
            caller.salt().unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Salt::NONE
            })
        };
        let mut submit = |stamp: Stamp, command: Command| -> kernel::Result<Receipt> {
            let is_stopped = self.minds.is_ending() || lock(&actor_mind.stopped).contains(run);
            if is_stopped && !matches!(command, Command::MindRun(_)) {
                return Err(kernel::Error::Closed);
            }
            self.service.submit_plainly(cortex, stamp, command)
        };
        let outcome = carry_out(plan, run, caller.now()?, &mut salts, &mut submit);
        for (action, ..) in outcome.iter().flat_map(|outcome| &outcome.done) {
            *lock(&actor_mind.changes).entry(*action).or_default() += 1;
        }
        if lock(&actor_mind.stopped).remove(run) {
            return Err(Error::internal("it was asked to stop"));
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(outcome?),
        }
    }
}

/// What came of a plan, for the log of jobs.
fn summary(plan: &MindPlan, outcome: &PlanOutcome) -> String {
    let mut text = outcome.summary();
    for suggestion in plan.suggestions.iter().take(SUGGESTED_MAX) {
        let ids: Vec<String> = suggestion.about.iter().map(|id| format!("#{id}")).collect();
        // Writing to a text cannot fail.
        let _ = write!(text, "; suggested for {}: {}", ids.join(", "), suggestion.reason);
    }
    let unsaid = plan.suggestions.len().saturating_sub(SUGGESTED_MAX) + plan.unsaid;
    if unsaid > 0 {
        // Writing to a text cannot fail.
        let _ = write!(text, "; {unsaid} more suggestions");
    }
    if plan.left > 0 {
        // Writing to a text cannot fail.
        let _ = write!(text, "; {} more wait for the next run", plan.left);
    }
    text
}
