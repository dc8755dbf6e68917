//! Operations: what may be asked of a home, as plain requests and answers in the user's words.
//!
//! Every interface translates into these and nothing else. One file per group; each operation is a method of
//! [`Service`] that takes who asks and a request of [`api`], and returns an answer or an [`Error`]. Everything is sync:
//! an async caller runs it on a thread that may block.
//!
//! - [`caller`]: who asks; `delegate`: whoever acts under grants. [`access`]: how a caller gets at an actor, the owner
//!   freely, a delegate as far as its grants go.
//! - `normalized_save`: a save in the kernel's words, after the crate `intake` has seen to its texts.
//! - [`config`]: what can be set, and where each value came from.
//! - [`embedders`]: the models one may choose besides the built-in one; `optional_model`: where searches meet them.
//! - `journal_tail`: a view of the newest journal entries: the dedup window and the live sessions.
//!
//! What must stay true: a change is a command that the kernel admits; what is kept beside the kernel
//! (`journal_tail`, pending uses) is a view of the journal or may be lost.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unused_self,
    reason = "all operations have one shape: a method that takes who asks and a request of its own"
)]

pub mod access;
pub mod activity;
mod archive;
pub mod asked_before;
pub mod attenuate;
pub mod attest;
mod audit;
pub mod auditor;
mod backup;
pub mod bearer;
mod bundle;
pub mod caller;
mod capture;
mod change;
mod change_many;
mod compact;
pub mod config;
mod confirm;
mod context;
mod counts;
mod default_session;
mod delegate;
mod details;
mod elsewhere;
pub mod embedders;
pub mod error;
pub mod fields;
pub mod files;
mod find;
pub mod grant_file;
mod grants;
mod graph;
mod health;
mod history;
mod journal;
pub mod journal_tail;
mod learned;
mod near;
mod nearness;
mod newest;
pub mod normalized_save;
mod optional_model;
pub mod parse;
mod project_table;
mod projects;
mod prompt;
mod proof;
mod put_away;
mod read;
pub mod renewal;
pub mod safekeeping;
mod save;
mod save_many;
mod score;
mod search;
mod session;
mod shared_actor;
pub mod shared_words;
mod stats;
mod timeline;
mod upkeep;
mod usage;
pub mod views;
pub mod wording;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::save::SaveRequest;
use api::{ErrorCode, Fault};
use kernel::actor::ActorName;
use kernel::context::RuleAuthors;
use kernel::home::{Home, HomeLimits};
use kernel::memory::Millis;
use kernel::{Digest, Options, Reading, RenewalWatch};

use embedders::active::ActiveEmbedder;
use journal_tail::JournalTail;
use shared_actor::WriteAllowance;
use usage::PendingUses;

pub use caller::{Caller, Environment, FixedEnvironment, SystemEnvironment};
pub use delegate::Delegate;
pub use error::{Error, Result};
pub use shared_actor::ActorLimits;

/// Locks that saves of the same thing share, so that two of them never both find it missing.
const STRIPES: usize = 64;

/// How long a process that was told to end waits until copies of what was erased are gone from its indexes.
const SCRUB_PATIENCE: Duration = Duration::from_secs(1);

/// What can be set about operations.
#[expect(clippy::struct_excessive_bools, reason = "settings that do not depend on each other")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The same memory saved again within this time is counted, not stored.
    pub dedup_window_ms: i64,
    /// Archive by itself what is old and unimportant.
    pub archive: bool,
    /// How old, in days.
    pub stale_after_days: u32,
    /// Below which score, in thousandths.
    pub archive_below: u32,
    /// Mask what looks like a credential.
    pub redact_secrets: bool,
    /// Whom a search hears first, and how much, in hundredths of being named in the question.
    pub favoured_speaker: Option<String>,
    pub speaker_prior: u32,
    /// Rules and preferences of agents and imports bind without a person's word.
    pub agents_may_rule: bool,
    /// Order hits by the learned ranker.
    pub ranker: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            dedup_window_ms: 15 * 60_000,
            archive: true,
            stale_after_days: 90,
            archive_below: 100,
            redact_secrets: true,
            favoured_speaker: None,
            speaker_prior: 50,
            agents_may_rule: false,
            ranker: true,
        }
    }
}

impl Settings {
    /// Whose rules bind.
    pub fn rule_authors(&self) -> RuleAuthors {
        if self.agents_may_rule { RuleAuthors::Anyone } else { RuleAuthors::Persons }
    }
}

/// The operations of one home.
#[derive(Debug)]
pub struct Service {
    folder: PathBuf,
    home: Home,
    options: Options,
    settings: Settings,
    /// Of actors whose truth is in a shared ledger.
    limits: ActorLimits,
    states: Mutex<BTreeMap<ActorName, Arc<ActorState>>>,
    /// `None`: only the built-in model is ever used.
    embedders: Option<ActiveEmbedder>,
}

/// What is kept in memory about an actor. All of it follows from the journal, or may be lost.
#[derive(Debug)]
struct ActorState {
    tail: Mutex<JournalTail>,
    pending: Mutex<PendingUses>,
    saves: Vec<Mutex<()>>,
    writes: WriteAllowance,
}

impl ActorState {
    fn new() -> ActorState {
        let saves = (0..STRIPES).map(|_| Mutex::default()).collect();
        let writes = WriteAllowance::default();
        ActorState { tail: Mutex::default(), pending: Mutex::default(), saves, writes }
    }

    /// Held while something that must be there once is looked for and made.
    fn alone(&self, digest: &Digest) -> MutexGuard<'_, ()> {
        let place = usize::from(digest.as_bytes()[0]) % STRIPES;
        lock(&self.saves[place])
    }
}

/// What an actor is opened with: the journal hook that keeps recall's rows.
pub fn hooks() -> kernel::HookFactory {
    Arc::new(|| vec![Box::new(recall::RecallHook::new())])
}

/// A panic elsewhere leaves data that the journal can correct, so a poisoned lock is no reason to stop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// Operations on the home in `folder`; nothing is opened yet. `wait`: for another process that has an actor open.
    pub fn new(folder: impl Into<PathBuf>, settings: Settings, wait: Duration) -> Service {
        let folder = folder.into();
        let ledger_key = Arc::new(|| {
            let mut key = [0; 16];
            // Without chance the key is known to everybody, which costs a guard against forged frames and nothing else.
            let _ = getrandom::fill(&mut key);
            key
        });
        let scratch = std::env::temp_dir().join(format!("cortex-{}", std::process::id()));
        let read_only_scratch = Some(scratch);
        let options =
            Options { wait, hooks: hooks(), ledger_key, read_only_scratch, ..Options::default() };
        let home = Home::new(&folder, options.clone(), HomeLimits::default());
        let states = Mutex::default();
        let limits = ActorLimits::default();
        Service { folder, home, options, settings, limits, states, embedders: None }
    }

    /// Operations that use the embedder which the home's configuration chooses, and notice when it chooses another.
    /// `variables` decide about the configuration, `environment` holds the keys of services.
    #[must_use]
    pub fn with_embedder(
        mut self,
        variables: BTreeMap<String, String>,
        environment: BTreeMap<String, String>,
    ) -> Service {
        self.embedders = Some(ActiveEmbedder::new(&self.folder, variables, environment));
        self
    }

    /// Operations that say when an actor is made again before it opens; see [`renewal::told`].
    #[must_use]
    pub fn telling(mut self, renewing: RenewalWatch) -> Service {
        self.options.renewing = renewing;
        self.home = self.opened_home();
        self
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// How many actors the home holds.
    pub fn actor_count(&self) -> Result<usize> {
        Ok(self.home.actors()?.len())
    }

    /// How many of them are open.
    pub fn open_count(&self) -> usize {
        self.home.open_count()
    }

    /// How actors are opened.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Actors that were used in this process, and the one that always is.
    pub fn used_actors(&self, always: &str) -> Result<Vec<ActorName>> {
        let mut actors: Vec<ActorName> = lock(&self.states).keys().cloned().collect();
        let always = ActorName::parse(always)?;
        if !actors.contains(&always) {
            actors.push(always);
        }
        Ok(actors)
    }

    /// Loads the embedder, so that the first question need not.
    pub fn warm_embedder(&self) -> Result<()> {
        recall::embedding::StaticEmbedder::shared();
        match self.embedders.as_ref().map(ActiveEmbedder::ready) {
            Some(Err(error)) => {
                Err(Error::new(ErrorCode::named(error.code()), Fault::Server, error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Does what a save does before it writes, so that the first one need not: patterns of secrets are made ready, and
    /// what was saved lately is looked at, with which it is compared. Nothing is kept.
    pub fn warm_saves(&self, caller: &Caller) -> Result<()> {
        let (title, content) = ("warm-up".to_owned(), "a text as any other".to_owned());
        self.draft(caller, &SaveRequest { title, content, ..SaveRequest::default() })?;
        let (_cortex, reading) = self.reading(caller)?;
        self.with_tail(&self.state(&caller.actor), &reading, caller.now()?, |_| ())
    }

    fn state(&self, actor: &ActorName) -> Arc<ActorState> {
        let mut states = lock(&self.states);
        Arc::clone(states.entry(actor.clone()).or_insert_with(|| Arc::new(ActorState::new())))
    }

    /// Looks at what the journal holds that was not looked at yet, and lets `use_it` use it.
    fn with_tail<T>(
        &self,
        state: &ActorState,
        reading: &Reading,
        now: Millis,
        use_it: impl FnOnce(&JournalTail) -> T,
    ) -> Result<T> {
        let mut tail = lock(&state.tail);
        tail.catch_up(reading, now, self.settings.dedup_window_ms)?;
        Ok(use_it(&tail))
    }

    /// Journals every access that was noted so far.
    pub fn flush(&self, now: Millis) -> Result<()> {
        let actors: Vec<ActorName> = lock(&self.states).keys().cloned().collect();
        actors.iter().try_for_each(|actor| self.flush_actor(actor, now))
    }

    /// What has to happen every now and then: accesses journaled, idle actors closed. Returns how many were closed.
    pub fn tidy(&self, now: Millis) -> Result<usize> {
        self.flush(now)?;
        let closed = self.home.close_idle(now);
        if closed > 0 {
            // What is kept about an actor costs memory and can be had again.
            lock(&self.states).retain(|_, state| Arc::strong_count(state) > 1);
        }
        Ok(closed)
    }

    /// Writes down what is pending and closes every actor.
    pub fn close(&self, now: Millis) -> Result<()> {
        let flushed = self.flush(now);
        self.home.close_all();
        flushed
    }

    /// The same for a process that was told to end: copies of what was erased that are not gone from an index soon are
    /// left to whoever opens the actor next.
    pub fn close_soon(&self, now: Millis) -> Result<()> {
        let flushed = self.flush(now);
        self.home.close_all_soon(SCRUB_PATIENCE);
        flushed
    }
}
