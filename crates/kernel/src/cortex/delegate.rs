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

/// Window in which `VIOLATION_BURST` violations of one grant are journaled.
const VIOLATION_WINDOW_MS: i64 = 1_000;
/// Grants whose violations are counted at once.
const VIOLATION_GRANTS_MAX: usize = 1_024;

/// What delegates did lately, in memory: requests that may not come twice, violations that must not fill the journal.
#[derive(Debug, Default)]
pub(super) struct Delegates {
    nonces: Mutex<NonceGuard>,
    violations: Mutex<BTreeMap<Digest, (Millis, u32)>>,
    /// Held while a counted use is judged and journaled: two requests at once cannot share the last use.
    counting: Mutex<()>,
}

impl Delegates {
    /// Refuses a grant whose violations have filled its share of the journal for now.
    pub(super) fn check_patience(&self, grant: Digest, now: Millis) -> Result<()> {
        let counted = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = counted.get(&grant).is_some_and(|(since, count)| {
            *count >= VIOLATION_BURST && now.get().saturating_sub(since.get()) < VIOLATION_WINDOW_MS
        });
        if spent { Err(Error::RateLimited(format!("grant {grant}"))) } else { Ok(()) }
    }

    /// Counts a violation. True if it may still be journaled.
    fn may_journal(&self, grant: Digest, now: Millis) -> bool {
        let mut counted = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        counted.retain(|_, (since, _)| now.get().saturating_sub(since.get()) < VIOLATION_WINDOW_MS);
        if counted.len() >= VIOLATION_GRANTS_MAX && !counted.contains_key(&grant) {
            return false;
        }
        let (_, count) = counted.entry(grant).or_insert((now, 0));
        *count = count.saturating_add(1);
        *count <= VIOLATION_BURST
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
            let touches = Touches { accesses: Vec::new(), grants };
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

    /// Journals a violation and makes the one error that all of them get.
    pub(super) fn outside(
        &self,
        authority: &Authority,
        operation: &str,
        memory: Option<MemoryId>,
        now: Millis,
    ) -> Error {
        let refused = Error::OutsideGrant(format!("{operation} is not allowed there"));
        if !self.delegates.may_journal(authority.grant, now) {
            return Error::RateLimited(format!("grant {}", authority.grant));
        }
        let violation = Violation {
            grant: authority.grant,
            operation: operation.to_owned(),
            memory,
            reason: "outside the grant".to_owned(),
        };
        let stamp = Stamp::new(now, &authority.audience_name);
        let command = Command::ScopeViolation(violation);
        match self.submit(Submission { stamp, command, authority: None }) {
            Ok(_) => refused,
            // The failure to journal the violation is worse news than the violation itself.
            Err(error) => error,
        }
    }
}
