//! Following what coding agents write: files that changed lately every few seconds, all folders every minute.
//!
//! What must stay true: nothing is followed before a person asked for the past once; one round at a time; no question
//! waits longer than one step of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use agent_sessions::FollowScope;
use api::DEFAULT_ACTOR;
use kernel::actor::ActorName;
use service::Caller;

use super::Host;

/// Every so many rounds all folders are looked at.
const ROUNDS_OF_ALL: u32 = 12;
/// Who reads, in the log.
const BY: &str = "past";

/// Where this process looks for what agents write.
#[derive(Debug)]
pub(crate) struct Following {
    variables: BTreeMap<String, String>,
    round: AtomicU32,
    under_way: Mutex<()>,
}

impl Following {
    pub(crate) fn new(variables: BTreeMap<String, String>) -> Following {
        Following { variables, round: AtomicU32::new(0), under_way: Mutex::new(()) }
    }
}

impl Host {
    /// The home of the person whose daemon this is, and the variables that say where agents keep their files.
    pub fn past_surroundings(&self) -> (Option<PathBuf>, &BTreeMap<String, String>) {
        let variables = &self.following.variables;
        (variables.get("HOME").map(PathBuf::from), variables)
    }

    /// The variables that decide about the configuration.
    pub(crate) fn variables(&self) -> &BTreeMap<String, String> {
        &self.following.variables
    }

    /// One round. A person whose home nobody knows has no agents here.
    pub fn follow_past(&self) -> service::Result<()> {
        let Some(home) = self.following.variables.get("HOME").map(PathBuf::from) else {
            return Ok(());
        };
        let Ok(_alone) = self.following.under_way.try_lock() else { return Ok(()) };
        let round = self.following.round.fetch_add(1, Ordering::Relaxed);
        let scope =
            if round.is_multiple_of(ROUNDS_OF_ALL) { FollowScope::All } else { FollowScope::Hot };
        let mut caller = Caller::new(ActorName::parse(DEFAULT_ACTOR)?, BY);
        caller.person_home = Some(home);
        self.agents.past_follow(&caller, &self.following.variables, scope)
    }
}
