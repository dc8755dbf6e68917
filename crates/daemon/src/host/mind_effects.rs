//! What a mind wants done, done: reads through a reading, changes as commands, each answer back as an event.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use api::DEFAULT_ACTOR;
use kernel::command::{Command, Receipt, Stamp};
use kernel::memory::{Head, Millis, PinnedVersion, Salt};
use kernel::{Cortex, Reading};
use mind::audience::Audience;
use mind::bulletin::{BulletinInput, GatherRequest, ModelUse, gather};
use mind::fading::Fading;
use mind::maintenance::{self, MaintenanceState};
use mind::patterns::PatternLook;
use mind::proposal::{self, DueMemory, MemoryAction, MindPlan, PlanOutcome, Proposal, carry_out};
use mind::settings::PruneScope;
use mind::warmup::WarmStep;
use mind::{MindEffect, MindEvent};
use service::Caller;
use service::error::{Error, Result};

use super::Host;
use crate::mind_host::{ActorMind, PublishedBulletins, files, lock, pages, prompts};

/// How long a gathering counts while the journal does not grow: time alone makes little difference within it.
const GATHERED_MS: i64 = 6 * 3_600_000;
/// How long what is due counts: finding it reads every memory, and it changes by days.
const DUE_MS: i64 = 600_000;
/// The run that a bulletin names which was made because memories changed.
const LIVE: &str = "live";
/// Suggestions that the report of a run names; `cortex mind run maintenance --dry-run` shows all.
const SUGGESTED_MAX: usize = 5;

/// What of the memories a bulletin is about; nothing set: all of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct BulletinScope<'a> {
    pub(crate) concerns: Option<&'a dyn Fn(&Head) -> bool>,
    /// Names of the project that the reader works on.
    pub(crate) projects: &'a [String],
    /// When the reader was last here.
    pub(crate) since: Option<Millis>,
}

impl Host {
    /// The mind of the caller's actor, which must be there.
    pub(crate) fn actor_mind(&self, caller: &Caller) -> Result<Arc<ActorMind>> {
        service::access::for_owner(caller)?;
        if let Some(actor_mind) = self.minds.if_there(&caller.actor) {
            return Ok(actor_mind);
        }
        if !self.service.home().has(&caller.actor) {
            // Only the default one is made by reading.
            self.service.opened(caller)?;
        }
        let folder = self.service.home().actor_folder(&caller.actor);
        self.minds.of(&caller.actor, &folder, caller.now()?)
    }

    /// Lets time go on for every mind: what is due is done, on this thread. What goes wrong is said in the log.
    ///
    /// The mind of the default actor runs from the start, others once somebody uses them. An actor that is not there
    /// yet is not made.
    pub(crate) fn tick_minds(&self, caller: &Caller) -> Result<()> {
        self.minds.serve();
        for actor in self.service.used_actors(DEFAULT_ACTOR)? {
            if self.minds.is_ending()
                || !self.tends(actor.as_str())
                || !self.service.home().has(&actor)
            {
                continue;
            }
            let caller = Caller { actor, by: proposal::BY.to_owned(), ..caller.clone() };
            let outcome = self.tick_mind(&caller);
            self.minds.say(&caller.actor, outcome);
        }
        Ok(())
    }

    fn tick_mind(&self, caller: &Caller) -> Result<()> {
        let config = self.minds.config()?;
        let actor_mind = self.actor_mind(caller)?;
        {
            let mut slot = actor_mind.slot();
            if !Arc::ptr_eq(&slot.config, &config) {
                slot.reconfigure(&config, caller.now()?)?;
            }
        }
        if self.run_control_if_there().is_some() {
            self.runs_are_heard(caller)?;
        }
        let effects = actor_mind.handle(MindEvent::Tick, caller)?;
        self.run_effects(&actor_mind, effects, caller)
    }

    /// No run begins or goes on.
    pub(crate) fn end_minds(&self) {
        self.minds.end();
    }

    /// Carries out effects and all that follow from them.
    pub(crate) fn run_effects(
        &self,
        actor_mind: &ActorMind,
        effects: Vec<MindEffect>,
        caller: &Caller,
    ) -> Result<()> {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            if let MindEffect::Supervise(effect) = effect {
                waiting.extend(self.supervise(actor_mind, effect, caller)?);
            } else if let Some(event) = self.effect(actor_mind, effect, caller)? {
                waiting.extend(actor_mind.handle(event, caller)?);
            }
        }
        Ok(())
    }

    /// Carries out one effect; returns the event that answers it. What fails is an answer too.
    fn effect(
        &self,
        actor_mind: &ActorMind,
        effect: MindEffect,
        caller: &Caller,
    ) -> Result<Option<MindEvent>> {
        let said = |error: Error| error.to_string();
        Ok(match effect {
            MindEffect::Gather { run, audience, model } => {
                // A text that nobody reads is worth no call.
                let model = match audience {
                    Audience::Shared if !self.has_shared_channel(&caller.actor) => ModelUse::Never,
                    _ => model,
                };
                let outcome = self.gather(actor_mind, &audience, caller).map_err(said);
                Some(MindEvent::Gathered { run, audience, model, outcome })
            }
            MindEffect::AskModel { run, prompt, deadline, .. } => {
                let config = Arc::clone(&actor_mind.slot().config);
                let now = caller.now()?;
                let outcome = match &config.model {
                    Some(model) => model.ask(&prompt, now, deadline),
                    None => Err("no provider is configured".to_owned()),
                };
                Some(MindEvent::Answered { run, outcome })
            }
            MindEffect::Publish(bulletin) => {
                actor_mind.publish(*bulletin);
                None
            }
            MindEffect::Warm { pass, step } => {
                let outcome = self.warm(step, caller).map_err(said);
                Some(MindEvent::Warmed { pass, step, outcome })
            }
            MindEffect::Maintain { run } => {
                let outcome = self.maintain(actor_mind, &run, caller).map_err(said);
                Some(MindEvent::Maintained { run, outcome })
            }
            MindEffect::WritePages { run, model } => {
                let outcome = self.write_pages(actor_mind, &run, model, caller).map_err(said);
                Some(MindEvent::PagesWritten { run, outcome })
            }
            MindEffect::FindPatterns { run } => {
                let outcome = self.find_patterns(actor_mind, &run, caller).map_err(said);
                Some(MindEvent::PatternsFound { run, outcome })
            }
            MindEffect::StopJob { job, run, force } => {
                let what =
                    if force { "was given up" } else { "takes too long and was asked to stop" };
                tracing::warn!("{}: {job} {run} {what}", actor_mind.actor);
                lock(&actor_mind.stopped).insert(run);
                None
            }
            MindEffect::ColdDispatch { agent_id, process_type } => {
                tracing::warn!(
                    "dispatched before warm-up was complete: agent_id={agent_id} process_type={}",
                    process_type.name()
                );
                None
            }
            MindEffect::Supervise(_) => None,
            MindEffect::Persist => {
                // A state that cannot be written is no reason to leave work undone.
                self.minds.say(&actor_mind.actor, actor_mind.persist());
                None
            }
        })
    }

    /// The text of an entry was erased: what the mind keeps must not hold it either.
    ///
    /// What people said is read from the journal again, without what was erased.
    pub(crate) fn erase_from_mind(&self, caller: &Caller, id: u64) -> Result<()> {
        let folder = self.service.home().actor_folder(&caller.actor);
        let is_kept = files::is_kept(&folder) || pages::is_kept(&folder);
        if !is_kept && self.minds.if_there(&caller.actor).is_none() {
            return Ok(());
        }
        let Ok(actor_mind) = self.actor_mind(caller) else {
            // It cannot be read as things are set; without it the mind begins anew.
            pages::discard(&folder)?;
            return files::discard(&folder);
        };
        {
            let mut slot = actor_mind.slot();
            slot.mind.erase(id);
            actor_mind.erasures.fetch_add(1, Ordering::AcqRel);
            slot.prompts = 0;
            actor_mind.published.store(PublishedBulletins::of(&slot.mind).into());
        }
        lock(&actor_mind.gathered).clear();
        *lock(&actor_mind.due) = None;
        lock(&actor_mind.of_projects).clear();
        lock(&actor_mind.pages).erase(id)?;
        files::discard(&folder)?;
        actor_mind.persist()
    }

    fn warm(&self, step: WarmStep, caller: &Caller) -> Result<()> {
        match step {
            WarmStep::Store => {
                let cortex = self.service.existing(caller)?;
                cortex.root()?;
                // One question brings the index into memory, so that the first one of a person need not.
                let question = recall::search::SearchQuery::new("memory", 1);
                recall::search::search(&cortex.read()?, None, &question, caller.now()?)?;
            }
            WarmStep::Embedder => self.service.warm_embedder()?,
            WarmStep::Bulletin => {}
        }
        Ok(())
    }

    /// What the bulletin is made of. The journal tells if anything can be new.
    pub(crate) fn gather(
        &self,
        actor_mind: &ActorMind,
        audience: &Audience,
        caller: &Caller,
    ) -> Result<BulletinInput> {
        let now = caller.now()?;
        let reading = self.service.existing(caller)?.read()?;
        let size = reading.view().counters()?.size;
        if let Some((at, gathered)) = lock(&actor_mind.gathered).get(audience)
            && gathered.size == size
            && (0..GATHERED_MS).contains(&now.get().saturating_sub(at.get()))
        {
            return Ok(gathered.clone());
        }
        let gathered =
            self.gather_for(actor_mind, &reading, audience, BulletinScope::default(), now)?;
        lock(&actor_mind.gathered).insert(audience.clone(), (now, gathered.clone()));
        Ok(gathered)
    }

    /// The same for whoever works on a project and was last here at a moment.
    pub(crate) fn gather_for(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        audience: &Audience,
        scope: BulletinScope<'_>,
        now: Millis,
    ) -> Result<BulletinInput> {
        let BulletinScope { concerns, projects, since } = scope;
        let settings = actor_mind.slot().mind.settings.clone();
        let (due, fading) = due_lately(actor_mind, reading, now)?;
        let request = GatherRequest {
            audience,
            concerns,
            projects,
            settings: &settings.bulletin,
            fading: &fading,
            rules: settings.rules,
            due: &due,
            since,
            now,
        };
        Ok(gather(reading, request)?)
    }

    /// What is about to be put away. The days and rules that were read on the way are kept.
    pub(crate) fn due_now(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        now: Millis,
    ) -> Result<(Vec<DueMemory>, usize, MaintenanceState)> {
        let (state, settings) = {
            let slot = actor_mind.slot();
            (slot.mind.maintenance.clone(), slot.mind.settings.cortex.clone())
        };
        let (due, more, next) = maintenance::due(reading, &state, &settings, now)?;
        let mut slot = actor_mind.slot();
        if next.is_ahead_of(&slot.mind.maintenance) {
            slot.mind.maintenance = next.clone();
        }
        Ok((due, more, next))
    }

    /// Publishes what rules say of the memories as they are, if the journal has grown. No model is asked. True if that
    /// is a new bulletin, which is not written down yet.
    pub(crate) fn refresh_bulletin(
        &self,
        actor_mind: &ActorMind,
        audience: &Audience,
        caller: &Caller,
    ) -> Result<bool> {
        let now = caller.now()?;
        let erasures = actor_mind.erasures.load(Ordering::Acquire);
        let gathered = self.gather(actor_mind, audience, caller)?;
        let mut slot = actor_mind.slot();
        // What was read before an erasure may hold the text. The next look gathers again.
        if actor_mind.erasures.load(Ordering::Acquire) != erasures {
            return Ok(false);
        }
        let fresh = slot.mind.refresh(&gathered, LIVE, now);
        let is_new = fresh.is_some();
        if let Some(bulletin) = fresh {
            actor_mind.publish(*bulletin);
        }
        actor_mind.said(audience, gathered.size);
        Ok(is_new)
    }

    /// Brings the bulletins of every mind in use up to date with its journal. Costs one look where nothing changed.
    pub(crate) fn follow_changes(&self, caller: &Caller) -> Result<()> {
        for actor_mind in self.minds.all() {
            let Some(cortex) = self.service.home().if_open(&actor_mind.actor) else { continue };
            if self.minds.is_ending() {
                break;
            }
            let size = cortex.read()?.view().counters()?.size;
            let caller = Caller {
                actor: actor_mind.actor.clone(),
                by: proposal::BY.to_owned(),
                ..caller.clone()
            };
            for audience in [Audience::Owner, Audience::Shared] {
                // The first bulletin is a matter of warm-up.
                let there = actor_mind.published().get(&audience).is_some();
                if there && actor_mind.said_until(&audience) != Some(size) {
                    let outcome = self.refresh_bulletin(&actor_mind, &audience, &caller);
                    self.minds.say(&actor_mind.actor, outcome.map(drop));
                }
            }
            let outcome = self.follow_pages(&actor_mind, &caller);
            self.minds.say(&actor_mind.actor, outcome);
        }
        Ok(())
    }

    fn maintain(
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

    fn find_patterns(&self, actor_mind: &ActorMind, run: &str, caller: &Caller) -> Result<String> {
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
/// What was about to be put away when it was last looked at, and how importance fades now.
fn due_lately(
    actor_mind: &ActorMind,
    reading: &Reading,
    now: Millis,
) -> Result<(Vec<DueMemory>, Fading)> {
    let (mut state, settings) = {
        let slot = actor_mind.slot();
        (slot.mind.maintenance.clone(), slot.mind.settings.cortex.clone())
    };
    let fading = state.follow(&reading.view(), &settings, now)?;
    let known = lock(&actor_mind.due).clone();
    let due = match known {
        Some((at, by, due))
            if by == settings && (0..DUE_MS).contains(&now.get().saturating_sub(at.get())) =>
        {
            due
        }
        _ => {
            let due = maintenance::due_by(reading, &state, &settings, fading.clone(), now)?.0;
            *lock(&actor_mind.due) = Some((now, settings, due.clone()));
            due
        }
    };
    let mut slot = actor_mind.slot();
    if state.is_ahead_of(&slot.mind.maintenance) {
        slot.mind.maintenance = state;
    }
    Ok((due, fading))
}

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
