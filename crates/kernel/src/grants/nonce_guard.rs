//! Requests already answered. A signed request is good once within the time in which its clock is accepted.
//!
//! Memory only: what the guard forgets must be refused by time instead. It therefore never drops an entry that is still
//! fresh, refuses when full, and does not follow a clock that runs backwards.

use std::collections::{BTreeSet, HashSet};

use proof::Digest;
use proof::memory::Millis;

use super::refused;
use super::request::SignedRequest;
use crate::error::{Error, Result};
use crate::limits::REQUEST_SKEW_MS_MAX;

/// Fresh requests the guard remembers.
pub const NONCE_CAPACITY: usize = 65_536;

type Nonce = (Digest, [u8; 16]);

#[derive(Debug)]
pub struct NonceGuard {
    seen: HashSet<Nonce>,
    by_time: BTreeSet<(Millis, Nonce)>,
    /// Requests signed before this may have been answered and forgotten.
    floor: Millis,
    capacity: usize,
}

impl Default for NonceGuard {
    fn default() -> NonceGuard {
        NonceGuard::not_before(Millis(i64::MIN))
    }
}

impl NonceGuard {
    /// A guard that also refuses what was signed before `started`. A server passes the time it came up, since a guard
    /// before it may have answered such requests.
    pub fn not_before(started: Millis) -> NonceGuard {
        NonceGuard {
            seen: HashSet::new(),
            by_time: BTreeSet::new(),
            floor: started,
            capacity: NONCE_CAPACITY,
        }
    }

    /// Accepts a request the first time. To be called after `authorize`, so that only true requests take up room.
    pub fn check(&mut self, request: &SignedRequest, now: Millis) -> Result<()> {
        let request = request.request();
        self.floor = self.floor.max(Millis(now.get().saturating_sub(REQUEST_SKEW_MS_MAX)));
        while let Some(oldest) = self.by_time.first().filter(|(at, _)| *at < self.floor).copied() {
            self.by_time.remove(&oldest);
            self.seen.remove(&oldest.1);
        }
        if request.at < self.floor {
            return Err(refused("the request is too old to be told from a repetition"));
        }
        let nonce = (request.grant, request.nonce);
        if self.seen.contains(&nonce) {
            return Err(refused("the request was made before"));
        }
        if self.seen.len() >= self.capacity {
            return Err(Error::RateLimited("delegated requests".into()));
        }
        self.seen.insert(nonce);
        self.by_time.insert((request.at, nonce));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Permission;
    use crate::grants::fixture::{NOW, key};
    use crate::grants::request::DelegateRequest;

    fn request(nonce: u8, at: i64) -> SignedRequest {
        let request = DelegateRequest {
            grant: Digest::ZERO,
            operation: Permission::Read,
            digest: Digest::ZERO,
            at: Millis(at),
            nonce: [nonce; 16],
        };
        SignedRequest::sign(request, &key(2))
    }

    fn is_refused(result: &Result<()>, reason: &str) -> bool {
        matches!(result, Err(Error::GrantRefused(text)) if text.contains(reason))
    }

    // kernel 59
    #[test]
    fn a_request_counts_once_in_its_window() {
        let mut guard = NonceGuard::default();
        let now = NOW.get();
        guard.check(&request(1, now), NOW).unwrap();
        guard.check(&request(2, now), NOW).unwrap();
        assert!(is_refused(&guard.check(&request(1, now), NOW), "made before"));
        let last = Millis(now + REQUEST_SKEW_MS_MAX);
        assert!(is_refused(&guard.check(&request(1, now), last), "made before"));
        assert!(is_refused(&guard.check(&request(1, now), Millis(last.get() + 1)), "too old"));
        assert!(guard.seen.is_empty() && guard.by_time.is_empty(), "old requests are dropped");
        assert!(is_refused(&guard.check(&request(1, now), NOW), "too old"), "clock set back");
    }

    #[test]
    fn a_nonce_signed_again_for_another_time_is_still_used() {
        let mut guard = NonceGuard::default();
        guard.check(&request(1, NOW.get()), NOW).unwrap();
        assert!(is_refused(&guard.check(&request(1, NOW.get() + 5), NOW), "made before"));
    }

    #[test]
    fn what_was_signed_before_the_start_is_refused() {
        let mut guard = NonceGuard::not_before(NOW);
        assert!(is_refused(&guard.check(&request(1, NOW.get() - 1), NOW), "too old"));
        guard.check(&request(1, NOW.get()), NOW).unwrap();
    }

    #[test]
    fn a_full_guard_refuses_instead_of_forgetting() {
        let mut guard = NonceGuard { capacity: 2, ..NonceGuard::default() };
        guard.check(&request(1, NOW.get()), NOW).unwrap();
        guard.check(&request(2, NOW.get()), NOW).unwrap();
        assert!(matches!(guard.check(&request(3, NOW.get()), NOW), Err(Error::RateLimited(_))));
        assert!(is_refused(&guard.check(&request(1, NOW.get()), NOW), "made before"));
        let later = Millis(NOW.get() + REQUEST_SKEW_MS_MAX + 1);
        guard.check(&request(3, later.get()), later).unwrap();
    }
}
