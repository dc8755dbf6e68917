//! Who asks, and the clock and chance they bring.
//!
//! Operations never look at the machine themselves: time and random bytes come in with the caller, so that a run can be
//! repeated to the same root.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use api::author::Author;
use api::caller::KEY_BYTES_MAX;
use api::{CallerInfo, ErrorCode, Fault};
use kernel::Digest;
use kernel::actor::ActorName;
use kernel::command::Stamp;
use kernel::memory::{Millis, Salt};

use crate::delegate::Delegate;
use crate::error::{Error, Result};

/// Where the time and random bytes come from.
pub trait Environment: Send + Sync + fmt::Debug {
    fn now(&self) -> Result<Millis>;
    /// Fills at most 32 bytes.
    fn fill(&self, bytes: &mut [u8]) -> Result<()>;
}

/// The clock and chance of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now(&self) -> Result<Millis> {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_millis()).ok())
            .map(Millis)
            .ok_or_else(|| {
                let message = "the clock of this machine stands before 1970";
                Error::new(ErrorCode::Usage, Fault::Caller, message)
            })
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        getrandom::fill(bytes).map_err(|error| {
            Error::new(ErrorCode::Io, Fault::Server, format!("random bytes: {error}"))
        })
    }
}

/// A clock that can stand still and chance that can follow from a number, for tests and replays.
#[derive(Debug, Default)]
pub struct FixedEnvironment {
    pub now: Option<Millis>,
    pub seed: Option<u64>,
    drawn: AtomicU64,
}

impl FixedEnvironment {
    pub fn new(now: Option<Millis>, seed: Option<u64>) -> FixedEnvironment {
        FixedEnvironment { now, seed, drawn: AtomicU64::new(0) }
    }
}

impl Environment for FixedEnvironment {
    fn now(&self) -> Result<Millis> {
        self.now.map_or_else(|| SystemEnvironment.now(), Ok)
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        let Some(seed) = self.seed else { return SystemEnvironment.fill(bytes) };
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        let digest = Digest::of("cortex/cli-seed/1", &[&seed.to_be_bytes(), &drawn.to_be_bytes()]);
        let length = bytes.len();
        bytes.copy_from_slice(&digest.as_bytes()[..length]);
        Ok(())
    }
}

/// Told how far a long operation is: what is being done, how much is done, and how much there is.
#[derive(Clone)]
pub struct OperationWatch(Arc<dyn Fn(&'static str, u64, u64) + Send + Sync>);

impl OperationWatch {
    pub fn new(told: impl Fn(&'static str, u64, u64) + Send + Sync + 'static) -> OperationWatch {
        OperationWatch(Arc::new(told))
    }
}

impl fmt::Debug for OperationWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperationWatch")
    }
}

/// Who asks for an operation.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose memory.
    pub actor: ActorName,
    /// Author of changes.
    pub by: String,
    /// Through whose door they came.
    pub author: Author,
    /// The folder the caller works in: says which project is meant when none is named.
    pub cwd: Option<PathBuf>,
    /// The home folder of the person: no project by itself.
    pub person_home: Option<PathBuf>,
    /// The project they work in, where no folder says so.
    pub project: Option<String>,
    /// Makes a retry return the first answer instead of acting again.
    pub idempotency_key: Option<String>,
    /// Of a shared ledger: satisfied with a copy of at least so many entries. Absent: with all there are.
    pub at_least: Option<u64>,
    /// Of a shared ledger: the size of the copy by which a change is decided, without a look at what others wrote.
    pub decided_at: Option<u64>,
    pub environment: Arc<dyn Environment>,
    /// Absent for the owner; what is done under a grant is done in its name.
    pub delegate: Option<Arc<Delegate>>,
    /// The run that changes belong to, by which they are listed and undone.
    pub run: Option<String>,
    /// Who wants to know how far a long operation is. Absent over a wire, which carries answers only.
    pub watch: Option<OperationWatch>,
}

impl Caller {
    pub fn new(actor: ActorName, by: impl Into<String>) -> Caller {
        let environment = Arc::new(SystemEnvironment);
        Caller {
            actor,
            by: by.into(),
            author: Author::Person,
            cwd: None,
            person_home: None,
            project: None,
            idempotency_key: None,
            at_least: None,
            decided_at: None,
            environment,
            delegate: None,
            run: None,
            watch: None,
        }
    }

    /// Tells whoever watches how far the operation is.
    pub fn tell(&self, doing: &'static str, done: u64, total: u64) {
        if let Some(OperationWatch(told)) = &self.watch {
            told(doing, done, total);
        }
    }

    /// The caller that a wire tells of. Grants in files are read and used.
    pub fn from_info(info: &CallerInfo) -> Result<Caller> {
        let mut caller = Caller::new(ActorName::parse(&info.actor)?, &info.by);
        caller.author = info.author;
        caller.cwd.clone_from(&info.cwd);
        caller.person_home.clone_from(&info.person_home);
        caller.project.clone_from(&info.project);
        caller.idempotency_key.clone_from(&info.idempotency_key);
        if let Some(now) = info.now {
            caller.environment = Arc::new(FixedEnvironment::new(Some(Millis(now)), None));
        }
        if let Some(files) = &info.grant {
            caller.act_as(crate::grant_file::load(files.clone())?.1);
        }
        Ok(caller)
    }

    /// The same as a wire tells it. The clock stays behind: whoever answers has one.
    pub fn info(&self) -> CallerInfo {
        CallerInfo {
            actor: self.actor.as_str().to_owned(),
            by: self.by.clone(),
            author: self.author,
            cwd: self.cwd.clone(),
            person_home: self.person_home.clone(),
            project: self.project.clone(),
            idempotency_key: self.idempotency_key.clone(),
            now: None,
            grant: self.delegate.as_ref().and_then(|delegate| delegate.files().cloned()),
        }
    }

    /// From now on this caller is a delegate: what it does is done in the name of its grant. Grants are for agents.
    pub fn act_as(&mut self, delegate: Delegate) {
        delegate.name().clone_into(&mut self.by);
        self.author = Author::Agent;
        self.delegate = Some(Arc::new(delegate));
    }

    pub fn now(&self) -> Result<Millis> {
        self.environment.now()
    }

    pub fn salt(&self) -> Result<Salt> {
        let mut bytes = [0; 16];
        self.environment.fill(&mut bytes)?;
        Ok(Salt(bytes))
    }

    /// Who and when, without the idempotency key.
    pub fn plain_stamp(&self) -> Result<Stamp> {
        let (run, decided_at) = (self.run.clone(), self.decided_at);
        Ok(Stamp { run, decided_at, ..Stamp::new(self.now()?, &self.by) })
    }

    /// A key for retries as the journal keeps it: that of a delegate is in a space of its own.
    pub(crate) fn journaled_key(&self, key: Option<&str>) -> Option<String> {
        let key = key?;
        Some(
            self.delegate.as_ref().map_or_else(|| key.to_owned(), |delegate| delegate.own_key(key)),
        )
    }

    /// Whoever asks, for one of several changes that one request makes: a key stands for one change.
    pub(crate) fn for_part(&self, part: usize) -> Caller {
        let key = self.idempotency_key.as_ref().map(|key| {
            let own = format!("{key}/{part}");
            // A key may be as long as keys may be; one that is longer is refused as it is.
            if own.len() <= KEY_BYTES_MAX || key.len() > KEY_BYTES_MAX {
                return own;
            }
            let part = part.to_string();
            Digest::of("cortex/retry-key-part/1", &[key.as_bytes(), part.as_bytes()]).to_string()
        });
        Caller { idempotency_key: key, ..self.clone() }
    }

    /// Who and when, with the key: for the one change that is the point of the operation.
    pub fn stamp(&self) -> Result<Stamp> {
        let mut stamp = self.plain_stamp()?;
        stamp.idempotency_key = self.journaled_key(self.idempotency_key.as_deref());
        Ok(stamp)
    }
}
