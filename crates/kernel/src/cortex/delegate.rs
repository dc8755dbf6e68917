//! What a delegate may do: every lane again, behind a grant.
//!
//! A request is authorised once, its use is journaled before the answer when the grant counts uses, and every read
//! passes the gate. Reaching outside is journaled and answered the same way whether the memory exists or not, so that a
//! refusal tells nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use proof::Digest;
use proof::ProofFile;
use proof::journal::GrantUse;
use proof::memory::{MemoryId, Millis};

use super::{Cortex, ResolvedMemory};
use crate::command::{Command, Stamp, Touches, Violation};
use crate::context::{Bundle, ContextQuery};
use crate::error::{Error, Result};
use crate::find::{FindAnswer, Query};
use crate::grants::{Authority, Gate, NonceGuard, Permission, Presentation, authorize};
use crate::graph::{Walk, WalkAnswer};
use crate::limits::VIOLATION_BURST;
use crate::prove::prove_slice;
use crate::writer::Submission;

/// Window in which a grant may have `VIOLATION_BURST` violations before it is refused altogether.
const VIOLATION_WINDOW_MS: i64 = 1_000;
/// A grant's violations are journaled at most once in this time; the others are counted, and the next entry tells.
const VIOLATION_ENTRY_MS: i64 = 60_000;
/// Grants whose violations are counted at once.
const VIOLATION_GRANTS_MAX: usize = 1_024;

/// What delegates did lately, in memory: requests that may not come twice, violations that must not fill the journal.
#[derive(Debug, Default)]
pub(super) struct Delegates {
    nonces: Mutex<NonceGuard>,
    violations: Mutex<BTreeMap<Digest, ViolationCount>>,
    /// Held while a counted use is judged and journaled: two requests at once cannot share the last use.
    counting: Mutex<()>,
}

/// The violations of one grant.
#[derive(Debug)]
struct ViolationCount {
    /// When the window began, and how many there were in it.
    since: Millis,
    count: u32,
    /// When the last entry was journaled, and how many came after it.
    journaled: Option<Millis>,
    untold: u64,
}

/// What becomes of a violation.
enum ViolationFate {
    /// It is journaled, with how many before it were not.
    Journal { untold: u64 },
    /// It is counted.
    Count,
    /// There are too many at once.
    Refuse,
}

fn within(since: Millis, now: Millis, window: i64) -> bool {
    now.get().saturating_sub(since.get()) < window
}

impl Delegates {
    /// Refuses a grant that has too many violations for now.
    pub(super) fn check_patience(&self, grant: Digest, now: Millis) -> Result<()> {
        let counted = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = counted.get(&grant).is_some_and(|one| {
            one.count >= VIOLATION_BURST && within(one.since, now, VIOLATION_WINDOW_MS)
        });
        if spent { Err(Error::RateLimited(format!("grant {grant}"))) } else { Ok(()) }
    }

    /// Counts a violation, and says what becomes of it.
    fn count(&self, grant: Digest, now: Millis) -> ViolationFate {
        let mut counted = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= VIOLATION_GRANTS_MAX && !counted.contains_key(&grant) {
            counted.retain(|_, one| within(one.since, now, VIOLATION_ENTRY_MS));
            if counted.len() >= VIOLATION_GRANTS_MAX {
                return ViolationFate::Refuse;
            }
        }
        let fresh = ViolationCount { since: now, count: 0, journaled: None, untold: 0 };
        let one = counted.entry(grant).or_insert(fresh);
        if !within(one.since, now, VIOLATION_WINDOW_MS) {
            (one.since, one.count) = (now, 0);
        }
        one.count = one.count.saturating_add(1);
        if one.journaled.is_none_or(|last| !within(last, now, VIOLATION_ENTRY_MS)) {
            one.journaled = Some(now);
            return ViolationFate::Journal { untold: std::mem::take(&mut one.untold) };
        }
        one.untold = one.untold.saturating_add(1);
        if one.count > VIOLATION_BURST { ViolationFate::Refuse } else { ViolationFate::Count }
    }
}

impl Cortex {
    /// Decides whether a delegate's request may go on, and counts its use if the grant counts uses.
    pub fn authorize(
        &self,
        presented: &Presentation,
        operation: Permission,
        request_digest: Digest,
        now: Millis,
    ) -> Result<Authority> {
        let counts = presented.chain.iter().any(|link| link.grant().use_limit.is_some());
        let counting = || self.delegates.counting.lock().unwrap_or_else(PoisonError::into_inner);
        // The guard is held to the end: two requests at once cannot share the last use.
        let _counting_guard = counts.then(counting);
        let reading = self.read()?;
        let view = reading.view();
        let authority = authorize(&view, self.actor(), presented, operation, request_digest, now)?;
        let mut nonces = self.delegates.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.check(&presented.request, now)?;
        drop(nonces);
        if authority.counts_uses {
            // The writer checks the owner's limit again.
            let grants = vec![GrantUse { grant: authority.root_grant, uses: 1 }];
            let touches = Touches { grants, ..Touches::default() };
            let stamp = Stamp::new(now, &authority.audience_name);
            self.command(stamp, Command::Touch(touches))?;
        }
        Ok(authority)
    }

    pub fn resolve_for(
        &self,
        authority: &Authority,
        id: MemoryId,
        version: Option<u32>,
        now: Millis,
    ) -> Result<ResolvedMemory> {
        let reading = self.read()?;
        match reading.view().head(id)? {
            Some(head) if authority.operation == Permission::Read && authority.sees(&head) => {
                reading.resolve_version(id, version)
            }
            _ => Err(self.outside(authority, Permission::Read.name(), Some(id), now)),
        }
    }

    pub fn find_for(
        &self,
        authority: &Authority,
        query: &Query,
        now: Millis,
    ) -> Result<FindAnswer> {
        self.check_lane(authority, Permission::Find, now)?;
        let mut query = query.clone();
        query.budget_tokens = authority.cap_budget(query.budget_tokens);
        self.read()?.find(Some(authority), &query, now)
    }

    pub fn context_for(&self, authority: &Authority, query: &ContextQuery) -> Result<Bundle> {
        self.check_lane(authority, Permission::Context, query.now)?;
        let mut query = query.clone();
        let most = authority.cap_budget(Some(query.budget_tokens));
        query.budget_tokens = most.unwrap_or(query.budget_tokens);
        self.read()?.context(Some(authority), &query)
    }

    pub fn walk_for(&self, authority: &Authority, walk: &Walk, now: Millis) -> Result<WalkAnswer> {
        self.check_lane(authority, Permission::Graph, now)?;
        let reading = self.read()?;
        match reading.view().head(walk.from)? {
            Some(head) if authority.sees(&head) => reading.walk(Some(authority), walk, now),
            _ => Err(self.outside(authority, Permission::Graph.name(), Some(walk.from), now)),
        }
    }

    /// Refuses, and journals, a delegate's question about a memory that its grant does not show.
    pub fn check_sight(
        &self,
        authority: &Authority,
        operation: Permission,
        id: MemoryId,
        now: Millis,
    ) -> Result<()> {
        self.check_lane(authority, operation, now)?;
        match self.read()?.view().head(id)? {
            Some(head) if authority.sees(&head) => Ok(()),
            _ => Err(self.outside(authority, operation.name(), Some(id), now)),
        }
    }

    /// The delegate's slice as of the snapshot its grant is pinned to: a file it can check with the root in its grant
    /// alone. For the types that the grant names the list is complete.
    pub fn prove_slice_for(&self, authority: &Authority, now: Millis) -> Result<ProofFile> {
        self.check_lane(authority, Permission::Prove, now)?;
        let reading = self.read()?;
        let view = reading.view();
        let pinned = view.snapshot_number_of(authority.root)?;
        let pinned = pinned.ok_or_else(|| Error::not_found("snapshot", authority.root))?;
        let types = authority.named_types();
        prove_slice(&view, self.actor(), &types, Some(authority), Some(pinned))
    }

    fn check_lane(&self, authority: &Authority, operation: Permission, now: Millis) -> Result<()> {
        if authority.operation == operation {
            Ok(())
        } else {
            Err(self.outside(authority, operation.name(), None, now))
        }
    }

    /// Journals a violation, or counts it, and makes the one error that all of them get.
    pub(super) fn outside(
        &self,
        authority: &Authority,
        operation: &str,
        memory: Option<MemoryId>,
        now: Millis,
    ) -> Error {
        let refused = Error::OutsideGrant(format!("{operation} is not allowed there"));
        let untold = match self.delegates.count(authority.grant, now) {
            ViolationFate::Journal { untold } => untold,
            ViolationFate::Count => return refused,
            ViolationFate::Refuse => {
                return Error::RateLimited(format!("grant {}", authority.grant));
            }
        };
        let reason = match untold {
            0 => "outside the grant".to_owned(),
            more => format!("outside the grant; {more} more since the entry before"),
        };
        let violation =
            Violation { grant: authority.grant, operation: operation.to_owned(), memory, reason };
        let stamp = Stamp::new(now, &authority.audience_name);
        let command = Command::ScopeViolation(violation);
        match self.submit(Submission { stamp, command, authority: None }) {
            Ok(_) => refused,
            // The failure to journal the violation is worse news than the violation itself.
            Err(error) => error,
        }
    }
}
