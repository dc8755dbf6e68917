//! The minds of a home: one per actor, and what it published for everybody to read. Their effects are in `host`.
//!
//! - here: which minds there are, and what is published. `files`: what is kept of them over a restart.
//! - `model`: the model that may write the bulletin. `event_log`: what happened to channels, branches and workers.
//! - `prompts`: what people said, from the journal. `pages`: what pages said. `settings`: what is set, and noticing
//!   when that changes.
//!
//! What must stay true: a reader of a bulletin takes no lock that a writer holds; no lock is held while an effect runs;
//! a change to a memory is a command like any client's; an actor that nobody uses is not opened.

mod event_log;
pub(crate) mod files;
mod model;
pub(crate) mod pages;
pub(crate) mod prompts;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use mind::audience::Audience;
use mind::bulletin::{Bulletin, BulletinInput};
use mind::proposal::DueMemory;
use mind::settings::CortexSettings;
use mind::{Mind, MindEffect, MindEvent};
use service::error::Result;
use service::{Caller, Environment};

use event_log::EventLog;
use files::PersistedMind;
use pages::PageShelf;

pub(crate) use event_log::StoredRecord;
pub(crate) use settings::MindConfig;
pub use settings::{by_preset, read as read_settings};

/// Actors whose last trouble is remembered.
const TROUBLE_MAX: usize = 256;

/// What conversations read.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublishedBulletins {
    pub owner: Option<Arc<Bulletin>>,
    pub shared: Option<Arc<Bulletin>>,
}

impl PublishedBulletins {
    pub(crate) fn of(mind: &Mind) -> PublishedBulletins {
        let current = |audience| mind.bulletin(&audience).cloned().map(Arc::new);
        PublishedBulletins { owner: current(Audience::Owner), shared: current(Audience::Shared) }
    }

    pub(crate) fn get(&self, audience: &Audience) -> Option<Arc<Bulletin>> {
        match audience {
            Audience::Owner => self.owner.clone(),
            Audience::Shared => self.shared.clone(),
        }
    }
}

/// A mind with what it was configured with.
#[derive(Debug)]
pub(crate) struct MindSlot {
    pub mind: Mind,
    /// Journal entries whose prompts were looked at.
    pub(crate) prompts: u64,
    pub(crate) config: Arc<MindConfig>,
}

impl MindSlot {
    /// Takes over what is set now.
    pub(crate) fn reconfigure(&mut self, config: &Arc<MindConfig>, now: Millis) -> Result<()> {
        let provider = config.model.as_ref().map(|model| model.provider.clone());
        self.mind.reconfigure(config.settings.clone(), provider, now)?;
        self.config = Arc::clone(config);
        Ok(())
    }
}

/// What was gathered last, for as long as the journal does not grow.
type GatheredInputs = BTreeMap<Audience, (Millis, BulletinInput)>;

/// What was about to be put away, when that was found, and by which settings.
type FoundDue = (Millis, CortexSettings, Vec<DueMemory>);

/// Bulletins of projects by audience and name, with when they were made.
type ProjectBulletins = BTreeMap<(Audience, String), (Millis, Arc<Bulletin>)>;

/// Bulletins of projects that are kept at the same time.
pub(crate) const PROJECT_BULLETINS_MAX: usize = 64;

/// One actor's mind.
#[derive(Debug)]
pub(crate) struct ActorMind {
    pub actor: ActorName,
    folder: PathBuf,
    slot: Mutex<MindSlot>,
    pub(crate) published: ArcSwap<PublishedBulletins>,
    /// Runs that were asked to stop.
    pub(crate) stopped: Mutex<BTreeSet<String>>,
    pub(crate) gathered: Mutex<GatheredInputs>,
    pub(crate) due: Mutex<Option<FoundDue>>,
    /// How often something was erased: what was gathered before must not be kept after. Counted while the mind is held.
    pub(crate) erasures: AtomicU64,
    /// Journal entries that the published bulletins know of.
    said: Mutex<BTreeMap<Audience, u64>>,
    /// Bulletins of projects, for as long as the journal does not grow.
    pub(crate) of_projects: Mutex<ProjectBulletins>,
    /// What the pages of the actor said.
    pub(crate) pages: Mutex<PageShelf>,
    /// Changes that jobs made in this process, by their names.
    pub(crate) changes: Mutex<BTreeMap<&'static str, u64>>,
    /// What happened to channels, branches and workers.
    pub(crate) events: EventLog,
    /// Held while the file is written, so that an older state never replaces a newer one.
    pub(crate) writing: Mutex<()>,
}

/// A panic elsewhere leaves a state that the next event corrects.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ActorMind {
    fn open(
        actor: &ActorName,
        folder: &Path,
        config: Arc<MindConfig>,
        now: Millis,
    ) -> Result<ActorMind> {
        let kept = files::load(folder)?;
        let (prompts, state) = kept.map(|kept| (kept.prompts, kept.mind)).unwrap_or_default();
        let provider = config.model.as_ref().map(|model| model.provider.clone());
        let mind = Mind::new(actor.as_str(), config.settings.clone(), provider, state, now);
        Ok(ActorMind {
            actor: actor.clone(),
            folder: folder.to_owned(),
            published: ArcSwap::from_pointee(PublishedBulletins::of(&mind)),
            slot: Mutex::new(MindSlot { mind, prompts, config }),
            stopped: Mutex::default(),
            gathered: Mutex::default(),
            due: Mutex::default(),
            erasures: AtomicU64::default(),
            said: Mutex::default(),
            of_projects: Mutex::default(),
            pages: Mutex::new(PageShelf::new(folder)),
            changes: Mutex::default(),
            events: EventLog::new(folder),
            writing: Mutex::default(),
        })
    }

    /// The mind, for as long as it takes to ask it something. Nothing that waits may be done meanwhile.
    pub(crate) fn slot(&self) -> MutexGuard<'_, MindSlot> {
        lock(&self.slot)
    }

    /// Does a job or a process of this mind run?
    fn is_busy(&self) -> bool {
        let slot = self.slot();
        let runs = slot.mind.jobs.states().values().any(|state| state.running.is_some());
        runs || slot.mind.supervisor.all().next().is_some()
    }

    /// Changes that jobs made in this process.
    pub(crate) fn changes(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.changes).clone()
    }

    /// Puts a bulletin where its readers find it.
    pub(crate) fn publish(&self, bulletin: Bulletin) {
        let mut published = (*self.published()).clone();
        match bulletin.audience {
            Audience::Owner => published.owner = Some(bulletin.into()),
            Audience::Shared => published.shared = Some(bulletin.into()),
        }
        self.published.store(published.into());
    }

    /// The published bulletin of an audience says what there is to say up to this entry.
    pub(crate) fn said(&self, audience: &Audience, size: u64) {
        lock(&self.said).insert(audience.clone(), size);
    }

    pub(crate) fn said_until(&self, audience: &Audience) -> Option<u64> {
        lock(&self.said).get(audience).copied()
    }

    /// What is published now. Never waits.
    pub(crate) fn published(&self) -> Arc<PublishedBulletins> {
        self.published.load_full()
    }

    /// Tells the mind what happened.
    pub(crate) fn handle(&self, event: MindEvent, caller: &Caller) -> Result<Vec<MindEffect>> {
        let now = caller.now()?;
        Ok(self.slot().mind.handle(event, now, &mut chance(caller.environment.as_ref())))
    }

    /// The same for what was read when so many erasures had been; `None` if there were more since.
    pub(crate) fn handle_unless_erased(
        &self,
        event: MindEvent,
        erasures: u64,
        caller: &Caller,
    ) -> Result<Option<Vec<MindEffect>>> {
        let now = caller.now()?;
        let mut slot = self.slot();
        if self.erasures.load(Ordering::Acquire) != erasures {
            return Ok(None);
        }
        Ok(Some(slot.mind.handle(event, now, &mut chance(caller.environment.as_ref()))))
    }

    /// Writes down what is to survive.
    pub(crate) fn persist(&self) -> Result<()> {
        let _guard = lock(&self.writing);
        let persisted = {
            let slot = self.slot();
            PersistedMind::new(slot.prompts, slot.mind.state())
        };
        files::store(&self.folder, &persisted)
    }
}

/// A number up to the one given, by the caller's chance; none if there is none.
fn chance(environment: &dyn Environment) -> impl FnMut(u64) -> u64 + '_ {
    move |most| {
        let mut bytes = [0; 8];
        match environment.fill(&mut bytes) {
            Ok(()) => u64::from_le_bytes(bytes) % most.saturating_add(1).max(1),
            Err(_) => 0,
        }
    }
}

/// The minds of a home.
#[derive(Debug)]
pub(crate) struct MindHost {
    home: PathBuf,
    variables: BTreeMap<String, String>,
    minds: ArcSwap<BTreeMap<ActorName, Arc<ActorMind>>>,
    /// Held while a mind is made, so that there is one of each.
    making: Mutex<()>,
    config: Mutex<Option<(settings::Look, Arc<MindConfig>)>>,
    ending: AtomicBool,
    /// A daemon runs the minds of this home: bulletins are made again by themselves.
    served: AtomicBool,
    /// What went wrong last with each mind, so that it is said once.
    trouble: Mutex<BTreeMap<ActorName, String>>,
}

impl MindHost {
    /// `variables` decide about the configuration.
    pub(crate) fn new(home: &Path, variables: BTreeMap<String, String>) -> MindHost {
        MindHost {
            home: home.to_owned(),
            variables,
            minds: ArcSwap::default(),
            making: Mutex::default(),
            config: Mutex::default(),
            ending: AtomicBool::new(false),
            served: AtomicBool::new(false),
            trouble: Mutex::default(),
        }
    }

    /// The mind of an actor, if it was used before in this process. Never waits.
    pub(crate) fn if_there(&self, actor: &ActorName) -> Option<Arc<ActorMind>> {
        self.minds.load().get(actor).cloned()
    }

    /// All minds that were used in this process.
    pub(crate) fn all(&self) -> Vec<Arc<ActorMind>> {
        self.minds.load().values().cloned().collect()
    }

    /// The mind of an actor whose folder is `folder`.
    pub(crate) fn of(
        &self,
        actor: &ActorName,
        folder: &Path,
        now: Millis,
    ) -> Result<Arc<ActorMind>> {
        if let Some(actor_mind) = self.if_there(actor) {
            return Ok(actor_mind);
        }
        let config = self.config()?;
        let _guard = lock(&self.making);
        if let Some(actor_mind) = self.if_there(actor) {
            return Ok(actor_mind);
        }
        let actor_mind = Arc::new(ActorMind::open(actor, folder, config, now)?);
        let mut minds = BTreeMap::clone(&self.minds.load());
        minds.insert(actor.clone(), Arc::clone(&actor_mind));
        self.minds.store(Arc::new(minds));
        Ok(actor_mind)
    }

    /// What is set now. Read again only if the file changed.
    pub(crate) fn config(&self) -> Result<Arc<MindConfig>> {
        let path = service::config::path(&self.home, &self.variables);
        let look = settings::look(&path);
        let mut config = lock(&self.config);
        match &*config {
            Some((seen, config)) if *seen == look => Ok(Arc::clone(config)),
            _ => {
                let fresh = Arc::new(MindConfig::load(&self.home, &self.variables)?);
                *config = Some((look, Arc::clone(&fresh)));
                Ok(fresh)
            }
        }
    }

    /// No run begins or goes on.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    pub(crate) fn is_served(&self) -> bool {
        self.served.load(Ordering::SeqCst)
    }

    /// Says what went wrong with an actor's mind, once for as long as it stays the same.
    pub(crate) fn say(&self, actor: &ActorName, outcome: Result<()>) {
        if let Some(said) = self.news(actor, outcome) {
            tracing::warn!("the mind of {actor}: {said}");
        }
    }

    /// What is to be said about an outcome: nothing if it went well or failed as it did the last time.
    fn news(&self, actor: &ActorName, outcome: Result<()>) -> Option<String> {
        let mut trouble = lock(&self.trouble);
        let Err(error) = outcome else {
            trouble.remove(actor);
            return None;
        };
        let said = format!("{error} ({})", error.code());
        if trouble.get(actor) == Some(&said) {
            return None;
        }
        // Names come from callers, so their number is bounded; what is dropped here is said once more.
        if trouble.len() >= TROUBLE_MAX {
            trouble.pop_first();
        }
        trouble.insert(actor.clone(), said.clone());
        Some(said)
    }

    /// Lets go of the minds of actors that nobody uses. What they keep is written down; they are opened again when
    /// needed.
    ///
    /// A mind stays if somebody works with it at this moment, if a job or a process of it runs, or if it cannot be
    /// written.
    pub(crate) fn release(&self, is_used: impl Fn(&ActorName) -> bool) {
        let _guard = lock(&self.making);
        let minds = BTreeMap::clone(&self.minds.load());
        let (used, idle): (BTreeMap<_, _>, BTreeMap<_, _>) = minds
            .into_iter()
            .partition(|(actor, actor_mind)| is_used(actor) || actor_mind.is_busy());
        if idle.is_empty() {
            return;
        }
        // From here on nobody finds the idle ones, and whoever wants to open one waits for `making`. A reader that
        // holds the map of before may still take one out of it: then all of them stay until the next time.
        let before = self.minds.swap(Arc::new(used.clone()));
        let is_read = Arc::strong_count(&before) > 1;
        drop(before);
        let mut kept = used;
        for (actor, actor_mind) in idle {
            let is_held = is_read || Arc::strong_count(&actor_mind) > 1;
            if is_held || actor_mind.is_busy() || actor_mind.persist().is_err() {
                kept.insert(actor, actor_mind);
            }
        }
        self.minds.store(Arc::new(kept));
    }

    pub(crate) fn serve(&self) {
        self.served.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // house 6.4: a healthy actor used to reset what was said about the failing one
    #[test]
    fn trouble_is_said_once_per_actor() {
        let home = tempfile::TempDir::new().unwrap();
        let tending = MindHost::new(home.path(), BTreeMap::new());
        let actor = |name: &str| ActorName::parse(name).unwrap();
        let failed = |why: &str| Err(service::Error::internal(why));
        assert!(tending.news(&actor("ada"), failed("no disk")).is_some());
        for _ in 0..3 {
            assert_eq!(tending.news(&actor("eve"), Ok(())), None);
            assert_eq!(tending.news(&actor("ada"), failed("no disk")), None);
        }
        assert!(tending.news(&actor("ada"), failed("no memory")).is_some());
        assert_eq!(tending.news(&actor("ada"), Ok(())), None);
        assert!(tending.news(&actor("ada"), failed("no memory")).is_some(), "it came back");
        for number in 0..1_000 {
            tending.news(&actor(&format!("guest-{number}")), failed("no disk"));
        }
        assert!(lock(&tending.trouble).len() <= TROUBLE_MAX);
    }
}
