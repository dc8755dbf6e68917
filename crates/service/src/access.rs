//! How a caller gets at an actor: the owner freely, a delegate as far as its grants go.
//!
//! What must stay true: an operation that knows nothing of delegates refuses them. `cortex`, `existing` and `reading`
//! are for owners; an operation that a grant can allow asks for a [`ActorAccess`] or runs its command with
//! [`Service::change`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{DEFAULT_ACTOR, ErrorCode, Fault, Operation};
use kernel::actor::ActorName;
use kernel::command::{Command, Receipt, Stamp};
use kernel::grants::{Authority, Gate, Permission};
use kernel::memory::{Head, MemoryId, Salt};
use kernel::{Cortex, Digest, Reading, Submission};

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};

/// How long a caller waits for those who hold an actor to which a write failed.
const REOPEN_WAIT: Duration = Duration::from_secs(2);
const REOPEN_STEP: Duration = Duration::from_millis(5);

/// Actors of one home.
pub const ACTORS_MAX: usize = 1_024;

/// An actor as one caller may read it.
#[derive(Debug)]
pub(super) struct ActorAccess {
    pub(super) cortex: Arc<Cortex>,
    pub(super) reading: Reading,
    /// Absent for the owner.
    pub(super) authority: Option<Authority>,
}

impl ActorAccess {
    pub(super) fn gate(&self) -> Option<&dyn Gate> {
        self.authority.as_ref().map(|authority| authority as &dyn Gate)
    }

    /// May whoever asks see this memory?
    pub(super) fn sees(&self, head: &Head) -> bool {
        self.authority.as_ref().is_none_or(|authority| authority.sees(head))
    }

    /// Refuses, and journals, a delegate's question about a memory that its grant does not show.
    pub(super) fn check_sight(
        &self,
        caller: &Caller,
        permission: Permission,
        id: MemoryId,
    ) -> Result<()> {
        match &self.authority {
            Some(authority) => {
                Ok(self.cortex.check_sight(authority, permission, id, caller.now()?)?)
            }
            None => Ok(()),
        }
    }

    /// What the grant allows one answer to show.
    pub(super) fn budget(&self) -> Budget {
        Budget { left: self.authority.as_ref().and_then(|authority| authority.cap_budget(None)) }
    }
}

/// Tokens that one answer may still show; without a bound for the owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left: Option<u32>,
}

impl Budget {
    /// Keeps from the front what fits, by what is shown of each. Returns how many had to go.
    pub(super) fn keep<T>(&mut self, items: &mut Vec<T>, shown: impl Fn(&T) -> u32) -> usize {
        let Some(left) = &mut self.left else { return 0 };
        let all = items.len();
        let mut kept = 0;
        while let Some(rest) = items.get(kept).and_then(|item| left.checked_sub(shown(item))) {
            *left = rest;
            kept += 1;
        }
        items.truncate(kept);
        all - kept
    }
}

impl Service {
    /// The caller's actor, made if it is new.
    pub fn cortex(&self, caller: &Caller) -> Result<Arc<Cortex>> {
        for_owner(caller)?;
        self.check_room(&caller.actor)?;
        self.reached(caller)
    }

    /// A home holds so many actors and no more: a name in a header must not fill a disk.
    fn check_room(&self, actor: &ActorName) -> Result<()> {
        // A shared ledger is not on this disk; who may make actors there is said by tokens.
        if self.home.is_shared() {
            return Ok(());
        }
        let is_there = self.home.if_open(actor).is_some() || self.home.has(actor);
        if is_there || self.actor_count()? < ACTORS_MAX {
            return Ok(());
        }
        let message =
            format!("a home holds at most {ACTORS_MAX} actors, and {actor} would be one more");
        Err(Error::new(ErrorCode::TooMany, Fault::Conflict, message)
            .with_hint("use an actor that is there (`cortex actors`), or another home"))
    }

    /// The actor. One to which a write failed is opened anew when nobody holds it any more, which takes those who do a
    /// moment.
    fn reached(&self, caller: &Caller) -> Result<Arc<Cortex>> {
        let cortex = again_if_copied_anew(|| {
            let cortex = self.open(caller)?;
            if self.home.is_shared() && caller.decided_at.is_none() {
                self.freshen(caller, &cortex)?;
            }
            Ok(cortex)
        })?;
        Ok(cortex)
    }

    fn open(&self, caller: &Caller) -> Result<Arc<Cortex>> {
        let until = Instant::now() + REOPEN_WAIT;
        loop {
            match self.home.actor(&caller.actor, caller.now()?) {
                Err(kernel::Error::Poisoned) if Instant::now() < until => {
                    std::thread::sleep(REOPEN_STEP);
                }
                reached => return Ok(reached?),
            }
        }
    }

    /// The caller's actor, to be read. Only the default one is made by reading: a name typed wrong must not become an
    /// actor.
    pub fn existing(&self, caller: &Caller) -> Result<Arc<Cortex>> {
        for_owner(caller)?;
        self.opened(caller)
    }

    /// The same for whoever asks. What a delegate does with it must pass [`Service::authority`].
    pub fn opened(&self, caller: &Caller) -> Result<Arc<Cortex>> {
        // Said the same way whether that actor is there or not: a delegate must not learn who else has a memory here.
        if let Some(delegate) = &caller.delegate
            && delegate.actor() != caller.actor.as_str()
        {
            return Err(kernel::Error::GrantRefused("it is for another actor".to_owned()).into());
        }
        if caller.actor.as_str() != DEFAULT_ACTOR && !self.home.has(&caller.actor) {
            return Err(Error::missing("actor", &caller.actor));
        }
        self.reached(caller)
    }

    pub fn reading(&self, caller: &Caller) -> Result<(Arc<Cortex>, Reading)> {
        let cortex = self.existing(caller)?;
        let reading = cortex.read()?;
        Ok((cortex, reading))
    }

    /// The authority to do one thing, if a delegate asks; `None` for the owner.
    pub fn authority(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        permission: Permission,
        request: Digest,
    ) -> Result<Option<Authority>> {
        let Some(delegate) = &caller.delegate else { return Ok(None) };
        let now = caller.now()?;
        let mut nonce = [0; 16];
        caller.environment.fill(&mut nonce)?;
        let presented = delegate.present(permission, request, now, nonce);
        Ok(Some(cortex.authorize(&presented, permission, request, now)?))
    }

    /// Is the caller a delegate whose grants count, whatever they are for? The owner is fine. Nothing is journaled:
    /// what is then asked is judged for itself.
    pub fn check_delegate(&self, caller: &Caller) -> Result<()> {
        let Some(delegate) = &caller.delegate else { return Ok(()) };
        let cortex = self.opened(caller)?;
        let now = caller.now()?;
        let permission = delegate.any_permission();
        let digest = Digest::of("cortex/ops-check/1", &[]);
        let mut nonce = [0; 16];
        caller.environment.fill(&mut nonce)?;
        let presented = delegate.present(permission, digest, now, nonce);
        let reading = cortex.read()?;
        kernel::grants::authorize(
            &reading.view(),
            cortex.actor(),
            &presented,
            permission,
            digest,
            now,
        )?;
        Ok(())
    }

    /// Lets a caller in to read, for this request.
    pub(super) fn access<R: Operation>(
        &self,
        caller: &Caller,
        permission: Permission,
        request: &R,
    ) -> Result<ActorAccess> {
        let cortex = self.opened(caller)?;
        let authority = match caller.delegate {
            None => None,
            Some(_) => {
                let asked = serde_json::to_vec(request)
                    .map_err(|error| Error::internal(error.to_string()))?;
                let digest =
                    Digest::of("cortex/ops-request/1", &[R::NAME.as_bytes(), &[0], &asked]);
                self.authority(caller, &cortex, permission, digest)?
            }
        };
        let reading = cortex.read()?;
        Ok(ActorAccess { cortex, reading, authority })
    }

    /// Reads again if somebody's write failed meanwhile: what is on disk is not in doubt, and reading it twice changes
    /// nothing.
    pub(super) fn again_if_poisoned<T>(
        &self,
        caller: &Caller,
        read: impl Fn() -> Result<T>,
    ) -> Result<T> {
        let until = Instant::now() + REOPEN_WAIT;
        loop {
            match self.again_if_damaged(caller, &read) {
                Err(error) if error.code() == ErrorCode::Poisoned && Instant::now() < until => {
                    std::thread::sleep(REOPEN_STEP);
                }
                read => return read,
            }
        }
    }

    /// Asks once more if a derived row turned out to be damaged: the actor is opened anew, which makes them again from
    /// the ledger. What is damaged after that is damaged in the ledger.
    pub(super) fn again_if_damaged<T>(
        &self,
        caller: &Caller,
        ask: impl Fn() -> Result<T>,
    ) -> Result<T> {
        match ask() {
            Err(error) if error.code() == ErrorCode::Corrupt => {
                self.distrust(caller, &error);
                ask()
            }
            answer => answer,
        }
    }

    /// Has what is derived made again if an error says that it does not decode.
    pub fn distrust(&self, caller: &Caller, error: &Error) {
        if let Error::Store(error) = error
            && let Some(cortex) = self.home.if_open(&caller.actor)
        {
            cortex.distrust(error);
        }
    }

    /// Runs one command for whoever asks: the owner, or a delegate whose grant allows it.
    pub(super) fn change(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        command: Command,
        permission: Permission,
    ) -> Result<Receipt> {
        let digest = command.request_digest(Salt::NONE);
        let authority = self.authority(caller, cortex, permission, digest)?;
        self.check_limits(cortex, &command)?;
        Ok(cortex.submit(Submission { stamp: caller.stamp()?, command, authority })?)
    }

    /// Runs one command of the owner, or of the program itself.
    pub fn submit(&self, cortex: &Cortex, stamp: Stamp, command: Command) -> Result<Receipt> {
        Ok(self.submit_plainly(cortex, stamp, command)?)
    }

    /// The same with the kernel's own error, for work that goes on after a refusal.
    pub fn submit_plainly(
        &self,
        cortex: &Cortex,
        stamp: Stamp,
        command: Command,
    ) -> kernel::Result<Receipt> {
        self.check_limits(cortex, &command)?;
        cortex.submit(Submission { stamp, command, authority: None })
    }
}

/// Asks once more if the copy of a shared ledger was given up, which opens it anew. Others hold it for a moment only.
fn again_if_copied_anew<T>(ask: impl Fn() -> Result<T>) -> Result<T> {
    match ask() {
        Err(error) if [ErrorCode::Corrupt, ErrorCode::Poisoned].contains(&error.code()) => ask(),
        answer => answer,
    }
}

pub fn for_owner(caller: &Caller) -> Result<()> {
    only_owner(caller, "do this")
}

/// For operations that no grant allows: `what` says what only the owner may do.
pub fn only_owner(caller: &Caller, what: &str) -> Result<()> {
    match caller.delegate {
        None => Ok(()),
        Some(_) => Err(kernel::Error::OutsideGrant(format!("only the owner may {what}")).into()),
    }
}
