//! Operations on the sessions of coding agents: what an agent is told without asking, what is kept of its session, and
//! what it wrote down itself.
//!
//! - `hooks`: the one operation that every hook asks. `agent_past`: the [`past`] of a home, asked, read and forgotten.
//! - `labelled_past`: a labelled set read through a past of its own, to measure with.
//! - here: [`AgentSessions`], which has both beside the operations on memories ([`Service`]).
//!
//! What must stay true: a memory is changed only through an operation of [`Service`]; what is kept here beside the
//! memory (the open past, what was told to whom) can be made again, or may be lost.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unused_self,
    reason = "all operations have one shape: a method that takes who asks and a request of its own"
)]

mod agent_past;
mod hooks;
mod labelled_past;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use service::Service;

pub use agent_past::FollowScope;
pub use hooks::{StatedCounts, stated_precision};
pub use labelled_past::LabelledPast;

/// The operations on sessions of agents, over those on the memories of the same home.
#[derive(Debug)]
pub struct AgentSessions {
    service: Arc<Service>,
    /// What coding agents wrote down.
    past: agent_past::PastStore,
    /// What hooks told each session.
    told: Mutex<hooks::ToldLog>,
}

impl AgentSessions {
    pub fn new(service: Arc<Service>) -> AgentSessions {
        let past = agent_past::PastStore::new(service.folder());
        let told = Mutex::new(hooks::ToldLog::new(service.folder()));
        AgentSessions { service, past, told }
    }
}

/// A panic elsewhere leaves data that the journal can correct, so a poisoned lock is no reason to stop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
