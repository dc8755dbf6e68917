//! The past of a home: what coding agents wrote down, behind the operations.
//!
//! - here: the one open store, who may use it, and its errors. `tombstones`: what must stay forgotten, in the journal.
//! - `exclusion`: what is not read. `reading`: what is new, in steps. `questions`: state, sessions, turns, search.
//! - `forgetting`: forget, restore, check, rebuild. `work`: fixes, habits, traces. `keeping`: turns that become
//!   memories, and work that is handed over. `serving`: what hooks and the chronicle ask. `views`: answers in the
//!   words of `api`.
//!
//! What must stay true: only the owner is answered; the store is opened when it is first needed, and a question alone
//! never makes one; nothing is shown before what was to be forgotten is gone; whoever asks waits for one step of a
//! reading and no longer.

mod exclusion;
mod forgetting;
mod keeping;
mod questions;
mod reading;
mod serving;
mod tombstones;
mod views;
mod work;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use api::{DEFAULT_ACTOR, ErrorCode, Fault};
use kernel::actor::ActorName;
use past::Past;
use transcripts::session::PastAgent;

use crate::AgentSessions;
use service::access::only_owner;
use service::caller::Caller;
use service::error::{Error, Result};
use service::wording::is_every_project;
use tombstones::JournalTombstones;

pub use reading::FollowScope;
pub(crate) use serving::ToolIntent;

/// The folder of the past in a home.
const FOLDER: &str = "past";
/// A home that has this was read before.
const CATALOG: &str = "catalog.log";
const SEGMENTS: &str = "segments";

/// The past, if it is open.
pub(crate) struct PastStore {
    folder: PathBuf,
    open: RwLock<Option<Past>>,
}

impl fmt::Debug for PastStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PastStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl PastStore {
    pub(crate) fn new(home: &Path) -> PastStore {
        PastStore { folder: home.join(FOLDER), open: RwLock::default() }
    }

    /// Whether anything was ever read.
    fn is_there(&self) -> bool {
        self.folder.join(CATALOG).exists() || self.folder.join(SEGMENTS).exists()
    }
}

/// An error of the past as an operation tells it.
pub(crate) fn refused(error: past::Error) -> Error {
    let (fault, hint) = match &error {
        past::Error::Reference { .. } | past::Error::Invalid { .. } => (Fault::Caller, None),
        past::Error::Unknown { .. } => {
            (Fault::Missing, Some("`cortex past sessions` lists what there is"))
        }
        past::Error::Ambiguous { .. } => (Fault::Conflict, None),
        past::Error::NoResume { .. } => {
            (Fault::Conflict, Some("`cortex past show REF` shows what was said"))
        }
        past::Error::Busy { .. } => (Fault::Busy, None),
        past::Error::Damage { .. } => {
            (Fault::Server, Some("`cortex past verify` lists the damage"))
        }
        past::Error::File { error, .. } => (Fault::Server, api::error::machine_hint(error.kind())),
        past::Error::Source { .. } | past::Error::Tombstone(_) => (Fault::Server, None),
    };
    let told = Error::new(ErrorCode::named(error.code()), fault, error.to_string());
    match hint {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

impl AgentSessions {
    /// The owner in the memory that the past belongs to, whatever memory was named.
    fn past_owner(&self, caller: &Caller) -> Result<Caller> {
        only_owner(caller, "use the past")?;
        Ok(Caller { actor: ActorName::parse(DEFAULT_ACTOR)?, ..caller.clone() })
    }

    /// Asks the past. `None`: nothing was ever read.
    fn ask_past<T>(
        &self,
        caller: &Caller,
        ask: impl FnOnce(&Past) -> past::Result<T>,
    ) -> Result<Option<T>> {
        let owner = self.past_owner(caller)?;
        if !self.past.is_there() {
            return Ok(None);
        }
        loop {
            {
                let open = self.past.open.read().unwrap_or_else(PoisonError::into_inner);
                if let Some(past) = open.as_ref() {
                    return ask(past).map(Some).map_err(refused);
                }
            }
            self.change_past(&owner, |_, _| Ok(()))?;
        }
    }

    /// Changes the past, which is opened, and made if it is not there.
    fn change_past<T>(
        &self,
        owner: &Caller,
        change: impl FnOnce(&mut Past, &mut JournalTombstones<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut tombstones = JournalTombstones::load(&self.service, owner)?;
        let mut open = self.past.open.write().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            let cortex = self.service.existing(owner)?;
            let language = recall::language::language(&cortex.read()?)?;
            let mut past = Past::open(&self.past.folder, language).map_err(refused)?;
            // What a process before began to forget is not shown to anybody.
            past.recover(&tombstones).map_err(refused)?;
            *open = Some(past);
        }
        let past = open.as_mut().expect("it was opened just now");
        change(past, &mut tombstones)
    }

    /// Whether anything of the past was ever read.
    pub fn has_past(&self) -> bool {
        self.past.is_there()
    }
}

/// The agent of this name.
fn agent_named(name: &str) -> Result<PastAgent> {
    PastAgent::parse(name).ok_or_else(|| {
        let names: Vec<&str> = PastAgent::ALL.iter().map(|agent| agent.name()).collect();
        Error::invalid("agent", format!("{name:?} is none of {}", names.join(", ")))
    })
}

/// The folders that a project's name stands for: those that are called so; none in particular for every project.
fn folders_of(project: &str) -> Option<String> {
    (!is_every_project(project)).then(|| format!("**/{}", project.trim_matches('/')))
}
