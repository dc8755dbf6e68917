//! How much delegates may ask at once: of one grant, and of all together.
//!
//! A grant lets somebody else's program in, which may be wrong or hostile. What must stay true: whatever delegates do,
//! most connections and most places for work are left to the owner; a request counts until its answer is sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::ErrorCode;
use axum::http::StatusCode;

use crate::problem::Problem;

/// Requests at once under one grant.
const GRANT_MAX: usize = 12;
/// Requests at once under all grants.
const GRANTS_MAX: usize = 24;

/// The requests of delegates that go on, by grant.
#[derive(Debug, Default)]
pub(super) struct VisitTable {
    open: Mutex<BTreeMap<String, usize>>,
}

/// A request of a delegate, for as long as it goes on.
#[derive(Debug)]
pub(super) struct Visit {
    grant: String,
    table: Arc<VisitTable>,
}

impl VisitTable {
    fn open(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one more request of a grant in. Nobody waits here: who waits holds a connection.
    pub(super) fn enter(self: &Arc<VisitTable>, grant: &str) -> Result<Arc<Visit>, Problem> {
        let mut open = self.open();
        let all: usize = open.values().sum();
        let of_grant = open.get(grant).copied().unwrap_or_default();
        if of_grant >= GRANT_MAX || all >= GRANTS_MAX {
            return Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                ErrorCode::TooManyCalls,
                format!("a grant is used for at most {GRANT_MAX} requests at once, all together for {GRANTS_MAX}"),
            )
            .with_hint("try again in a moment"));
        }
        *open.entry(grant.to_owned()).or_default() += 1;
        Ok(Arc::new(Visit { grant: grant.to_owned(), table: Arc::clone(self) }))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut open = self.table.open();
        if let Some(count) = open.get_mut(&self.grant) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.grant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F9
    #[test]
    fn one_grant_and_all_together_have_a_bound() {
        let table = Arc::new(VisitTable::default());
        let mut held: Vec<_> = (0..GRANT_MAX).map(|_| table.enter("a").unwrap()).collect();
        assert_eq!(table.enter("a").unwrap_err().status(), StatusCode::SERVICE_UNAVAILABLE);
        held.extend((GRANT_MAX..GRANTS_MAX).map(|_| table.enter("b").unwrap()));
        assert!(table.enter("c").is_err(), "all places of delegates are taken");
        held.clear();
        assert!(table.open().is_empty());
        assert!(table.enter("c").is_ok());
    }
}
