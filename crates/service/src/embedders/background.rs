//! Vectors made in the background: a save never waits for a model, and a change of models needs nobody's help.
//!
//! The daemon calls `run` every now and then. What is new since the last call is embedded on one core, window by
//! window; an actor that was not looked at since the model was chosen is looked at as a whole. What must stay true: at
//! most one filling at a time, no actor is kept open by it, and whoever ends the process waits for one window at most.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use embed::EmbeddingCache;
use kernel::Cortex;
use kernel::actor::ActorName;
use kernel::home::Home;
use kernel::memory::Millis;

use crate::embedders::EmbedError;
use crate::embedders::active::OpenEmbedder;
use crate::embedders::fill::{FillPlan, fill};

/// Texts embedded at once: under a second of work for MiniLM.
const WINDOW_TEXTS: usize = 16;
/// An actor whose filling failed is left alone for so long.
const RETRY: Duration = Duration::from_mins(1);

/// How far the vectors of an actor are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FillState {
    /// Vectors are being made.
    pub working: bool,
    /// Why the last attempt ended early.
    pub failure: Option<String>,
}

#[derive(Debug)]
struct ActorProgress {
    model: String,
    /// Kept open: reading its index takes time.
    cache: Option<EmbeddingCache>,
    /// The last entry of the journal that was looked at; `None` before the first time.
    upto: Option<u64>,
    working: bool,
    failed: Option<(String, Instant)>,
}

#[derive(Debug, Default)]
pub struct Background {
    ending: AtomicBool,
    turn: Mutex<()>,
    /// Why there is no embedder, as it was last said.
    said: Mutex<Option<String>>,
    actors: Mutex<BTreeMap<ActorName, ActorProgress>>,
}

impl Background {
    /// No window is begun any more.
    pub fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    /// Held by whoever makes vectors.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self, actor: &ActorName) -> FillState {
        let actors = self.actors();
        actors.get(actor).map_or_else(FillState::default, |progress| FillState {
            working: progress.working,
            failure: progress.failed.as_ref().map(|(why, _)| why.clone()),
        })
    }

    /// True if this was not said last time: what goes wrong every two seconds is said once.
    pub fn is_news(&self, failure: Option<&EmbedError>) -> bool {
        let failure = failure.map(ToString::to_string);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let news = failure.is_some() && *said != failure;
        *said = failure;
        news
    }

    fn actors(&self) -> MutexGuard<'_, BTreeMap<ActorName, ActorProgress>> {
        self.actors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Embeds what is new in every actor. Returns how many memories that were; nothing if somebody else is at it.
    pub fn run(&self, home: &Home, ready: &OpenEmbedder, now: Millis) -> Result<u64, EmbedError> {
        let Ok(_turn) = self.turn.try_lock() else { return Ok(0) };
        let mut embedded = 0;
        // Of a shared ledger, those that this node serves have files here.
        for actor in home.actors_here()? {
            if self.ending.load(Ordering::SeqCst) {
                break;
            }
            let Some(since) = self.begin(&actor, home, ready)? else { continue };
            let outcome = self.fill(&actor, home, ready, since, now);
            let mut actors = self.actors();
            if let Some(progress) = actors.get_mut(&actor) {
                progress.working = false;
                progress.failed = None;
                if let Err(error) = &outcome {
                    progress.failed = Some((error.to_string(), Instant::now()));
                }
            }
            drop(actors);
            embedded += outcome?;
        }
        Ok(embedded)
    }

    /// From which entry on an actor is to be looked at; `None` if nothing is new.
    fn begin(
        &self,
        actor: &ActorName,
        home: &Home,
        ready: &OpenEmbedder,
    ) -> Result<Option<u64>, EmbedError> {
        let model = ready.chosen.model();
        let newest = match home.if_open(actor) {
            Some(cortex) => Some(cortex.read()?.view().counters()?.size),
            None => None,
        };
        let mut actors = self.actors();
        let mut known = actors.get_mut(actor).filter(|progress| progress.model == model);
        if let (None, Some(progress)) = (newest, &mut known) {
            // Files of actors that nobody uses are not kept open.
            progress.cache = None;
        }
        let since = match known {
            // What nobody has open does not change.
            Some(progress)
                if progress.upto.is_some() && (newest.is_none() || newest == progress.upto) =>
            {
                return Ok(None);
            }
            Some(progress) => {
                if progress.failed.as_ref().is_some_and(|(_, at)| at.elapsed() < RETRY) {
                    return Ok(None);
                }
                progress.working = true;
                progress.upto.unwrap_or(0)
            }
            None => {
                let (cache, upto, failed) = (None, None, None);
                let model = model.to_owned();
                let progress = ActorProgress { model, cache, upto, working: true, failed };
                actors.insert(actor.clone(), progress);
                0
            }
        };
        Ok(Some(since))
    }

    fn fill(
        &self,
        actor: &ActorName,
        home: &Home,
        ready: &OpenEmbedder,
        since: u64,
        now: Millis,
    ) -> Result<u64, EmbedError> {
        let kept = self.actors().get_mut(actor).and_then(|progress| progress.cache.take());
        let mut cache = match kept {
            Some(cache) => cache,
            None => ready.chosen.cache(&home.actor_folder(actor))?,
        };
        let go_on = || !self.ending.load(Ordering::SeqCst);
        let plan = FillPlan { since, texts: WINDOW_TEXTS, cores: 1, go_on: &go_on };
        let open = || -> Result<Arc<Cortex>, EmbedError> { Ok(home.actor(actor, now)?) };
        let outcome = fill(&open, &ready.chosen, &mut cache, &plan, &mut |_, _| {});
        if let Some(progress) = self.actors().get_mut(actor) {
            progress.cache = Some(cache);
            if let Ok(report) = &outcome {
                progress.upto = report.upto.or(progress.upto);
            }
        }
        Ok(outcome?.embedded)
    }
}
