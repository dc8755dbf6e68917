//! Actors whose truth is in a ledger that nodes share: how fresh a copy must be, and how much one actor may write.
//!
//! What must stay true: without a word from the caller, an operation sees everything that was acknowledged anywhere
//! before it began. A caller that names a journal size is satisfied with a copy of at least that size, and never gets
//! an older one. A limit refuses what is new and never what is taken away.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use api::{ErrorCode, Fault};
use kernel::Cortex;
use kernel::command::Command;
use kernel::home::{Home, HomeLimits};
use kernel::ledger::{CopyPurpose, SharedLedgers, SharedSource};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::{Service, lock};

/// Where a home keeps its copies: apart from actors of its own, so that no copy is ever taken for the truth.
const FOLDER: &str = "ledger-cache";
/// How long a caller waits for a journal of the size it wants.
const WANTED_WAIT: Duration = Duration::from_secs(2);
const WANTED_STEP: Duration = Duration::from_millis(20);

/// How long a change is decided again because other nodes wrote meanwhile.
const DECISION_WAIT: Duration = Duration::from_secs(3);

/// Whether a change may stand beside what another node wrote after it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionRule {
    /// A memory more is true whatever there is.
    MayBeOld,
    /// What evolves under a name must not begin twice.
    MustHold,
}

/// What one actor may do; 0: as much as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActorLimits {
    pub writes_per_second: u32,
    /// Of its files on a node.
    pub bytes: u64,
    pub memories: u64,
    /// Actors open at once on this node.
    pub open_actors: usize,
}

/// Writes that an actor may still make. It gets new ones as time goes on, at most a second's worth.
#[derive(Debug, Default)]
pub(crate) struct WriteAllowance {
    /// When it was last looked at, and thousandths of a write that were left.
    state: Mutex<Option<(Instant, u64)>>,
}

impl WriteAllowance {
    /// Takes one write. False if there is none.
    fn take(&self, per_second: u32, now: Instant) -> bool {
        let most = u64::from(per_second) * 1_000;
        let mut state = lock(&self.state);
        let left = match *state {
            None => most,
            Some((at, left)) => {
                let micros = now.saturating_duration_since(at).as_micros();
                let gained = micros.saturating_mul(u128::from(per_second)) / 1_000;
                most.min(left.saturating_add(u64::try_from(gained).unwrap_or(u64::MAX)))
            }
        };
        let is_left = left >= 1_000;
        *state = Some((now, if is_left { left - 1_000 } else { left }));
        is_left
    }
}

impl Service {
    /// Operations on the actors of a ledger that nodes share. This home keeps copies of them.
    #[must_use]
    pub fn sharing(mut self, ledgers: Arc<dyn SharedLedgers>, limits: ActorLimits) -> Service {
        self.options.shared = Some(SharedSource { ledgers, purpose: CopyPurpose::Cache });
        self.limits = limits;
        self.home = self.opened_home();
        self
    }

    pub(crate) fn opened_home(&self) -> Home {
        if self.options.shared.is_none() {
            return Home::new(&self.folder, self.options.clone(), HomeLimits::default());
        }
        let usual = HomeLimits::default();
        let open_max =
            if self.limits.open_actors == 0 { usual.open_max } else { self.limits.open_actors };
        let limits = HomeLimits { open_max, ..usual };
        Home::new(self.folder.join(FOLDER), self.options.clone(), limits)
    }

    /// Brings a copy up to what the caller wants to see.
    pub(crate) fn freshen(&self, caller: &Caller, cortex: &Cortex) -> Result<()> {
        let Some(wanted) = caller.at_least else {
            cortex.catch_up()?;
            return Ok(());
        };
        if cortex.read()?.view().counters()?.size >= wanted {
            return Ok(());
        }
        let until = Instant::now() + WANTED_WAIT;
        loop {
            let size = cortex.catch_up()?;
            if size >= wanted {
                return Ok(());
            }
            if Instant::now() >= until {
                let message = format!("the journal has {size} entries, and {wanted} are wanted");
                return Err(Error::new(ErrorCode::Behind, Fault::Busy, message)
                    .with_hint("try again in a moment, or ask without X-Cortex-At-Least"));
            }
            std::thread::sleep(WANTED_STEP);
        }
    }

    /// Makes a change: first as the copy here says, and if that may have been too old, again by all there is.
    ///
    /// An append counts only behind the last entry of all, so a change that succeeds was decided by everything written
    /// before; the look that a question needs would cost every write a second way to the database. What the copy
    /// refuses says nothing: another node may have written what it asks for.
    pub(crate) fn by_copy_first<T>(
        &self,
        caller: &Caller,
        rule: DecisionRule,
        change: impl Fn(&Caller) -> Result<T>,
    ) -> Result<T> {
        if !self.home.is_shared() {
            return change(caller);
        }
        let open = self.home.if_open(&caller.actor).filter(|_| caller.at_least.is_none());
        if let Some(cortex) = open.filter(|cortex| !cortex.is_poisoned())
            && let Ok(size) = journal_size(&cortex)
        {
            drop(cortex);
            match change(&Caller { decided_at: Some(size), ..caller.clone() }) {
                Err(error) if is_of_state(&error) => {}
                answer => return answer,
            }
        }
        match rule {
            DecisionRule::MayBeOld => change(caller),
            DecisionRule::MustHold => self.by_all_there_is(caller, change),
        }
    }

    /// Decides by all there is, and again for as long as another node writes in between.
    fn by_all_there_is<T>(
        &self,
        caller: &Caller,
        change: impl Fn(&Caller) -> Result<T>,
    ) -> Result<T> {
        let until = Instant::now() + DECISION_WAIT;
        loop {
            let size = journal_size(&*self.cortex(caller)?)?;
            match change(&Caller { decided_at: Some(size), ..caller.clone() }) {
                Err(error) if error.code() == ErrorCode::Overtaken && Instant::now() < until => {}
                answer => return answer,
            }
        }
    }

    /// Refuses what is more than the actor may do.
    pub(crate) fn check_limits(&self, cortex: &Cortex, command: &Command) -> kernel::Result<()> {
        let ActorLimits { writes_per_second, bytes, memories, .. } = self.limits;
        if writes_per_second > 0 {
            let state = self.state(cortex.actor());
            if !state.writes.take(writes_per_second, Instant::now()) {
                let message =
                    format!("{} may write {writes_per_second} times a second", cortex.actor());
                return Err(kernel::Error::RateLimited(message));
            }
        }
        if !matches!(command, Command::Write(_)) {
            return Ok(());
        }
        let full = |what: &'static str, max: u64| {
            let max = usize::try_from(max).unwrap_or(usize::MAX);
            kernel::Error::TooMany { field: what, count: max.saturating_add(1), max }
        };
        if memories > 0 && cortex.read()?.view().counters()?.live() >= memories {
            return Err(full("memories of this actor", memories));
        }
        if bytes > 0 && cortex.size_bytes()? >= bytes {
            return Err(full("bytes of this actor", bytes));
        }
        Ok(())
    }
}

fn journal_size(cortex: &Cortex) -> Result<u64> {
    Ok(cortex.read()?.view().counters()?.size)
}

/// True of what another state might have allowed. Not of a ledger that is away or does not say what became of it.
fn is_of_state(error: &Error) -> bool {
    error.code() == ErrorCode::Overtaken || !matches!(error.fault(), Fault::Busy | Fault::Server)
}

#[cfg(test)]
mod tests {
    use super::*;

    // cluster, section 4: no tenant starves another
    #[test]
    fn an_allowance_is_a_second_of_writes_and_comes_back() {
        let (allowance, start) = (WriteAllowance::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert!((0..5).all(|_| allowance.take(5, start)));
        assert!(!allowance.take(5, start) && !allowance.take(5, at(100)));
        assert!(allowance.take(5, at(250)) && !allowance.take(5, at(260)));
        let after_long = (0..10).filter(|_| allowance.take(5, at(60_000))).count();
        assert_eq!(after_long, 5, "what was not used for long is not saved up");
    }
}
