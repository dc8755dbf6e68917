//! Who asks, and the clock and chance they bring.
//!
//! Operations never look at the machine themselves: time and random bytes come in with the caller, so that a run can be
//! repeated to the same root.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use kernel::Digest;
use kernel::actor::ActorName;
use kernel::command::Stamp;
use kernel::memory::{Millis, Salt};

use super::door::Delegate;
use super::error::{Error, Fault, Result};

/// The actor that is always there.
pub const DEFAULT_ACTOR: &str = "default";

/// Where the time and random bytes come from.
pub trait World: Send + Sync + fmt::Debug {
    fn now(&self) -> Result<Millis>;
    /// Fills at most 32 bytes.
    fn fill(&self, bytes: &mut [u8]) -> Result<()>;
}

/// The clock and chance of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl World for Machine {
    fn now(&self) -> Result<Millis> {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_millis()).ok())
            .map(Millis)
            .ok_or_else(|| {
                let message = "the clock of this machine stands before 1970";
                Error::new("usage", Fault::Caller, message)
            })
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        getrandom::fill(bytes)
            .map_err(|error| Error::new("io", Fault::Server, format!("random bytes: {error}")))
    }
}

/// A clock that can stand still and chance that can follow from a number, for tests and replays.
#[derive(Debug, Default)]
pub struct Pinned {
    pub now: Option<Millis>,
    pub seed: Option<u64>,
    drawn: AtomicU64,
}

impl Pinned {
    pub fn new(now: Option<Millis>, seed: Option<u64>) -> Pinned {
        Pinned { now, seed, drawn: AtomicU64::new(0) }
    }
}

impl World for Pinned {
    fn now(&self) -> Result<Millis> {
        self.now.map_or_else(|| Machine.now(), Ok)
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        let Some(seed) = self.seed else { return Machine.fill(bytes) };
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        let digest = Digest::of("cortex/cli-seed/1", &[&seed.to_be_bytes(), &drawn.to_be_bytes()]);
        let length = bytes.len();
        bytes.copy_from_slice(&digest.as_bytes()[..length]);
        Ok(())
    }
}

/// Who asks for an operation.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose memory.
    pub actor: ActorName,
    /// Author of changes.
    pub by: String,
    /// The folder the caller works in: says which project is meant when none is named.
    pub cwd: Option<PathBuf>,
    /// The home folder of the person: no project by itself.
    pub person_home: Option<PathBuf>,
    /// May a folder that is no repository name a project?
    pub any_folder: bool,
    /// Makes a retry return the first answer instead of acting again.
    pub idempotency_key: Option<String>,
    pub world: Arc<dyn World>,
    /// Absent for the owner; what is done under a grant is done in its name.
    pub delegate: Option<Arc<Delegate>>,
}

impl Caller {
    pub fn new(actor: ActorName, by: impl Into<String>) -> Caller {
        let world = Arc::new(Machine);
        Caller {
            actor,
            by: by.into(),
            cwd: None,
            person_home: None,
            any_folder: true,
            idempotency_key: None,
            world,
            delegate: None,
        }
    }

    pub fn now(&self) -> Result<Millis> {
        self.world.now()
    }

    pub fn salt(&self) -> Result<Salt> {
        let mut bytes = [0; 16];
        self.world.fill(&mut bytes)?;
        Ok(Salt(bytes))
    }

    /// Who and when, without the idempotency key.
    pub fn plain_stamp(&self) -> Result<Stamp> {
        Ok(Stamp::new(self.now()?, &self.by))
    }

    /// Who and when, with the key: for the one change that is the point of the operation.
    pub fn stamp(&self) -> Result<Stamp> {
        let mut stamp = self.plain_stamp()?;
        stamp.idempotency_key.clone_from(&self.idempotency_key);
        Ok(stamp)
    }
}
