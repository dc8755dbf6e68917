//! What a mind wants done, done: reads through a reading, changes as commands, each answer back as an event.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use api::DEFAULT_ACTOR;
use mind::audience::Audience;
use mind::bulletin::ModelUse;
use mind::proposal;
use mind::warmup::WarmStep;
use mind::{MindEffect, MindEvent};
use service::Caller;
use service::error::{Error, Result};

use super::Host;
use crate::mind_host::{ActorMind, PublishedBulletins, files, lock, pages};

/// How often it is gathered for one bulletin, if something is erased each time.
const GATHER_TRIES: usize = 8;

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
    pub fn tick_minds(&self, caller: &Caller) -> Result<()> {
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
    pub fn end_minds(&self) {
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
            } else if let MindEffect::Gather { run, audience, model } = effect {
                waiting.extend(self.gather_for_run(actor_mind, (run, audience, model), caller)?);
            } else if let Some(event) = self.effect(actor_mind, effect, caller)? {
                waiting.extend(actor_mind.handle(event, caller)?);
            }
        }
        Ok(())
    }

    /// Gathers for a run of the bulletin and tells the mind. What was read before an erasure may hold the text: then it
    /// is gathered again, and a run between whose tries something is erased each time fails.
    fn gather_for_run(
        &self,
        actor_mind: &ActorMind,
        (run, audience, model): (String, Audience, ModelUse),
        caller: &Caller,
    ) -> Result<Vec<MindEffect>> {
        // A text that nobody reads is worth no call.
        let model = match audience {
            Audience::Shared if !self.has_shared_channel(&caller.actor) => ModelUse::Never,
            _ => model,
        };
        let mut tries = 0..GATHER_TRIES;
        loop {
            let erasures = actor_mind.erasures.load(Ordering::Acquire);
            let outcome = match tries.next() {
                Some(_) => {
                    self.gather(actor_mind, &audience, caller).map_err(|error| error.to_string())
                }
                None => Err("memories were erased meanwhile".to_owned()),
            };
            let failed = outcome.is_err();
            let event = MindEvent::Gathered {
                run: run.clone(),
                audience: audience.clone(),
                model,
                outcome,
            };
            if failed {
                return actor_mind.handle(event, caller);
            }
            if let Some(effects) = actor_mind.handle_unless_erased(event, erasures, caller)? {
                return Ok(effects);
            }
        }
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
            MindEffect::AskModel { run, prompt, deadline, .. } => {
                let config = Arc::clone(&actor_mind.slot().config);
                let now = caller.now()?;
                let outcome = match &config.model {
                    Some(model) => model.ask(&prompt, now, deadline),
                    None => Err("no provider is configured".to_owned().into()),
                };
                Some(MindEvent::Answered { run, outcome })
            }
            MindEffect::Publish(_) => {
                // As the mind holds it now: something may have been erased since it was written.
                let slot = actor_mind.slot();
                actor_mind.published.store(PublishedBulletins::of(&slot.mind).into());
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
            MindEffect::Supervise(_) | MindEffect::Gather { .. } => None,
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
                self.service.warm_saves(caller)?;
            }
            WarmStep::Embedder => self.service.warm_embedder()?,
            WarmStep::Bulletin => {}
        }
        Ok(())
    }
}
