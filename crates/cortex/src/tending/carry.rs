//! What a mind wants done, done: reads through a reading, changes through the front door, each answer back as an event.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use kernel::command::{Command, Receipt, Stamp};
use kernel::memory::{Millis, Pinned, Salt};
use kernel::{Cortex, Reading};
use mind::audience::Audience;
use mind::bulletin::{Gathered, gather};
use mind::maintenance::{self, MaintenanceState};
use mind::patterns::{self, Watch};
use mind::proposal::{self, Action, Outcome, Plan, Proposal, carry_out};
use mind::warmup::WarmStep;
use mind::{Effect, Event};

use super::{Tended, lock, prompts};
use crate::daemon::server::log;
use crate::ops::error::{Error, Result};
use crate::ops::{Caller, DEFAULT_ACTOR, Ops};

/// How long a gathering counts while the journal does not grow: time alone makes little difference within it.
const GATHERED_MS: i64 = 6 * 3_600_000;
/// Suggestions that the report of a run names; `cortex mind run maintenance --dry-run` shows all.
const SUGGESTED_MAX: usize = 5;

impl Ops {
    /// The mind of the caller's actor, which must be there.
    pub(crate) fn tended(&self, caller: &Caller) -> Result<Arc<Tended>> {
        crate::ops::door::for_owner(caller)?;
        if let Some(tended) = self.tending().if_there(&caller.actor) {
            return Ok(tended);
        }
        if !self.home().has(&caller.actor) {
            // Only the default one is made by reading.
            self.opened(caller)?;
        }
        let folder = self.home().actor_folder(&caller.actor);
        self.tending().of(&caller.actor, &folder, caller.now()?)
    }

    /// Lets time go on for every mind: what is due is done, on this thread. What goes wrong is said in the log.
    ///
    /// The default actor is tended from the start, others once somebody uses them. An actor that is not there yet is not made.
    pub fn tend(&self, caller: &Caller) -> Result<()> {
        self.tending().serve();
        for actor in self.used_actors(DEFAULT_ACTOR)? {
            if self.tending().is_ending() || !self.home().has(&actor) {
                continue;
            }
            let caller = Caller { actor, by: proposal::BY.to_owned(), ..caller.clone() };
            let outcome = self.tend_one(&caller);
            self.tending().say(&caller.actor, outcome);
        }
        Ok(())
    }

    fn tend_one(&self, caller: &Caller) -> Result<()> {
        let known = self.tending().known()?;
        let tended = self.tended(caller)?;
        {
            let mut part = tended.part();
            if !Arc::ptr_eq(&part.known, &known) {
                part.reconfigure(&known, caller.now()?)?;
            }
        }
        if self.hands_if_there().is_some() {
            self.hands_are_heard(caller)?;
        }
        let effects = tended.handle(Event::Tick, caller)?;
        self.carry(&tended, effects, caller)
    }

    /// No run begins or goes on.
    pub fn end_tending(&self) {
        self.tending().end();
    }

    /// Carries out effects and all that follow from them.
    pub(crate) fn carry(
        &self,
        tended: &Tended,
        effects: Vec<Effect>,
        caller: &Caller,
    ) -> Result<()> {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            if let Effect::Supervise(effect) = effect {
                waiting.extend(self.supervise(tended, effect, caller)?);
            } else if let Some(event) = self.effect(tended, effect, caller)? {
                waiting.extend(tended.handle(event, caller)?);
            }
        }
        Ok(())
    }

    /// Carries out one effect; returns the event that answers it. What fails is an answer too.
    fn effect(&self, tended: &Tended, effect: Effect, caller: &Caller) -> Result<Option<Event>> {
        let said = |error: Error| error.message;
        Ok(match effect {
            Effect::Gather { run, audience } => {
                let outcome = self.gather(tended, &audience, caller).map_err(said);
                Some(Event::Gathered { run, audience, outcome })
            }
            Effect::AskModel { run, prompt, deadline, .. } => {
                let known = Arc::clone(&tended.part().known);
                let now = caller.now()?;
                let outcome = match &known.writer {
                    Some(writer) => writer.ask(&prompt, now, deadline),
                    None => Err("no provider is configured".to_owned()),
                };
                Some(Event::Answered { run, outcome })
            }
            Effect::Publish(bulletin, _) => {
                let mut published = (*tended.published()).clone();
                match bulletin.audience {
                    Audience::Owner => published.owner = Some((*bulletin).into()),
                    Audience::Shared => published.shared = Some((*bulletin).into()),
                }
                tended.published.store(published.into());
                None
            }
            Effect::Warm { pass, step } => {
                let outcome = self.warm(step, caller).map_err(said);
                Some(Event::Warmed { pass, step, outcome })
            }
            Effect::Maintain { run } => {
                let outcome = self.maintain(tended, &run, caller).map_err(said);
                Some(Event::Maintained { run, outcome })
            }
            Effect::FindPatterns { run } => {
                let outcome = self.find_patterns(tended, &run, caller).map_err(said);
                Some(Event::PatternsFound { run, outcome })
            }
            Effect::StopJob { job, run, force } => {
                let what =
                    if force { "was given up" } else { "takes too long and was asked to stop" };
                log(format_args!("{}: {job} {run} {what}", tended.actor));
                lock(&tended.stopped).insert(run);
                None
            }
            Effect::ColdDispatch { agent_id, process_type } => {
                log(format_args!(
                    "warning: dispatched before warm-up was complete: agent_id={agent_id} process_type={}",
                    process_type.name()
                ));
                None
            }
            Effect::Supervise(_) => None,
            Effect::Persist => {
                // A state that cannot be written is no reason to leave work undone.
                self.tending().say(&tended.actor, tended.persist());
                None
            }
        })
    }

    /// The text of an entry was erased: what the mind keeps must not hold it either.
    ///
    /// What people said is read from the journal again, without what was erased.
    pub(crate) fn erase_from_mind(&self, caller: &Caller, id: u64) -> Result<()> {
        let folder = self.home().actor_folder(&caller.actor);
        if !super::is_kept(&folder) && self.tending().if_there(&caller.actor).is_none() {
            return Ok(());
        }
        let Ok(tended) = self.tended(caller) else {
            // It cannot be read as things are set; without it the mind begins anew.
            return super::discard(&folder);
        };
        {
            let mut part = tended.part();
            part.mind.owner.erase(id);
            part.mind.shared.erase(id);
            part.mind.watch = Watch::default();
            part.prompts = 0;
            tended.published.store(super::Published::of(&part.mind).into());
        }
        lock(&tended.gathered).clear();
        super::discard(&folder)?;
        tended.persist()
    }

    fn warm(&self, step: WarmStep, caller: &Caller) -> Result<()> {
        match step {
            WarmStep::Store => {
                let cortex = self.existing(caller)?;
                cortex.root()?;
                // One question brings the index into memory, so that the first one of a person need not.
                let question = recall::search::SearchQuery::new("memory", 1);
                recall::search::search(&cortex.read()?, None, &question, caller.now()?)?;
            }
            WarmStep::Embedder => self.warm_embedder()?,
            WarmStep::Bulletin => {}
        }
        Ok(())
    }

    /// What the bulletin is made of. The journal tells if anything can be new.
    pub(crate) fn gather(
        &self,
        tended: &Tended,
        audience: &Audience,
        caller: &Caller,
    ) -> Result<Gathered> {
        let now = caller.now()?;
        let reading = self.existing(caller)?.read()?;
        let size = reading.view().counters()?.size;
        if let Some((at, gathered)) = lock(&tended.gathered).get(audience)
            && gathered.size == size
            && (0..GATHERED_MS).contains(&now.get().saturating_sub(at.get()))
        {
            return Ok(gathered.clone());
        }
        let settings = tended.part().mind.settings.clone();
        let policy = settings.cortex.decay_policy();
        let gathered = gather(&reading, audience, &settings.bulletin, &policy, now)?;
        lock(&tended.gathered).insert(audience.clone(), (now, gathered.clone()));
        Ok(gathered)
    }

    fn maintain(
        &self,
        tended: &Tended,
        run: &str,
        caller: &Caller,
    ) -> Result<(String, MaintenanceState)> {
        let now = caller.now()?;
        // Accesses that were only noted yet may be what keeps a memory.
        self.flush_actor(&caller.actor, now)?;
        let cortex = self.existing(caller)?;
        let (plan, state) = self.maintenance_plan(tended, &cortex.read()?, now)?;
        let outcome = self.carry_plan(tended, &cortex, &plan, run, caller)?;
        Ok((summary(&plan, &outcome), state))
    }

    /// What maintenance would do: what the mind proposes, and what is stale by its score.
    pub(crate) fn maintenance_plan(
        &self,
        tended: &Tended,
        reading: &Reading,
        now: Millis,
    ) -> Result<(Plan, MaintenanceState)> {
        let (state, settings) = {
            let part = tended.part();
            (part.mind.maintenance.clone(), part.mind.settings.cortex.clone())
        };
        let (mut plan, state) = maintenance::plan(reading, &state, &settings, now)?;
        if self.settings().archive {
            let taken: BTreeSet<u64> =
                plan.proposals.iter().flat_map(|proposal| proposal.action.about()).collect();
            let max = usize::try_from(settings.maintenance_changes_max).unwrap_or(usize::MAX);
            let stale = self.stale(reading, now)?;
            for one in stale.found.iter().filter(|one| !taken.contains(&one.id.get())) {
                if plan.proposals.len() >= max {
                    plan.left += 1;
                    continue;
                }
                let action = Action::Archive(Pinned { id: one.id, version: one.version });
                plan.proposals.push(Proposal { action, reason: one.reason(self.settings()) });
            }
        }
        Ok((plan, state))
    }

    fn find_patterns(&self, tended: &Tended, run: &str, caller: &Caller) -> Result<String> {
        let cortex = self.existing(caller)?;
        let (plan, watch, seen) = self.patterns_plan(tended, &cortex.read()?, caller.now()?)?;
        {
            let mut part = tended.part();
            part.mind.watch = watch;
            part.prompts = seen;
        }
        let outcome = self.carry_plan(tended, &cortex, &plan, run, caller)?;
        Ok(summary(&plan, &outcome))
    }

    /// What repeats, with the prompts that are new; what was watched then, and up to which entry.
    pub(crate) fn patterns_plan(
        &self,
        tended: &Tended,
        reading: &Reading,
        now: Millis,
    ) -> Result<(Plan, Watch, u64)> {
        let (mut mind, seen) = {
            let part = tended.part();
            (part.mind.clone(), part.prompts)
        };
        let is_open = |session: &str| self.is_shared_session(&tended.actor, session);
        let (observations, seen) = prompts::since(&reading.view(), seen, is_open)?;
        for observation in observations {
            mind.handle(Event::Observed(observation), now, &mut |_| 0);
        }
        if !mind.settings.patterns.enabled {
            let plan = Plan { job: patterns::JOB.to_owned(), ..Plan::default() };
            return Ok((plan, mind.watch, seen));
        }
        let found = patterns::detect(&mind.watch, &mind.settings.patterns, now);
        let plan = patterns::propose(reading, &found, now)?;
        Ok((plan, mind.watch, seen))
    }

    /// Submits a plan in the name of a run, step by step, until the run is asked to stop.
    pub(crate) fn carry_plan(
        &self,
        tended: &Tended,
        cortex: &Cortex,
        plan: &Plan,
        run: &str,
        caller: &Caller,
    ) -> Result<Outcome> {
        let mut failed = None;
        let mut salts = || {
            caller.salt().unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Salt::NONE
            })
        };
        let mut door = |stamp: Stamp, command: Command| -> kernel::Result<Receipt> {
            let is_stopped = self.tending().is_ending() || lock(&tended.stopped).contains(run);
            if is_stopped && !matches!(command, Command::MindRun(_)) {
                return Err(kernel::Error::Closed);
            }
            self.submit_plainly(cortex, stamp, command)
        };
        let outcome = carry_out(plan, run, caller.now()?, &mut salts, &mut door);
        for (action, ..) in outcome.iter().flat_map(|outcome| &outcome.done) {
            *lock(&tended.changes).entry(*action).or_default() += 1;
        }
        if lock(&tended.stopped).remove(run) {
            return Err(Error::internal("it was asked to stop"));
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(outcome?),
        }
    }
}

impl super::Part {
    fn reconfigure(&mut self, known: &Arc<super::Known>, now: Millis) -> Result<()> {
        self.mind.reconfigure(known.settings.clone(), now)?;
        self.known = Arc::clone(known);
        self.use_model(true);
        Ok(())
    }

    /// May the model that is configured be asked?
    pub(crate) fn use_model(&mut self, allowed: bool) {
        let writer = self.known.writer.as_ref().filter(|_| allowed);
        self.mind.provider = writer.map(|writer| writer.provider.clone());
    }
}

/// What came of a plan, for the log of jobs.
fn summary(plan: &Plan, outcome: &Outcome) -> String {
    // Writing to a text cannot fail.
    let mut text = outcome.summary();
    for suggestion in plan.suggestions.iter().take(SUGGESTED_MAX) {
        let ids: Vec<String> = suggestion.about.iter().map(|id| format!("#{id}")).collect();
        let _never = write!(text, "; suggested for {}: {}", ids.join(", "), suggestion.reason);
    }
    let unsaid = plan.suggestions.len().saturating_sub(SUGGESTED_MAX) + plan.unsaid;
    if unsaid > 0 {
        let _never = write!(text, "; {unsaid} more suggestions");
    }
    if plan.left > 0 {
        let _never = write!(text, "; {} more wait for the next run", plan.left);
    }
    text
}
