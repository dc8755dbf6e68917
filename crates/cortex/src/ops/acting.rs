//! What operations can have done by the hands: runs started, runs stopped, events told. The daemon lends its hands; without a
//! daemon there are none.

use std::fmt::Debug;
use std::sync::{Arc, Weak};
use std::time::Duration;

use api::run::RunRequest;
use kernel::actor::ActorName;
use serde_json::{Map, Value};

use super::Ops;
use super::caller::DEFAULT_ACTOR;
use super::error::{Error, Fault, Result};

/// A run that goes on, as far as conversations care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiveRun {
    pub(crate) use_id: String,
    pub(crate) talent: String,
    /// Whose memory it works with; the home's own if absent.
    pub(crate) actor: Option<String>,
    pub(crate) channel: Option<String>,
    pub(crate) context: Option<String>,
}

impl LiveRun {
    pub(crate) fn is_of(&self, actor: &ActorName) -> bool {
        self.actor.as_deref().unwrap_or(DEFAULT_ACTOR) == actor.as_str()
    }
}

/// The hands, from where the memory stands. Everything here may block.
pub(crate) trait Acting: Debug + Send + Sync {
    /// Asks for a run; gives its id. A refusal is an error of the caller.
    fn start(&self, request: RunRequest, by: &str) -> Result<String>;

    /// Waits for the end of a run: its result, or why there is none. Gives up after `patience`; the run goes on.
    fn wait(&self, use_id: &str, patience: Duration) -> std::result::Result<String, String>;

    /// Asks a run to stop; false if it is not there any more.
    fn cancel(&self, use_id: &str) -> bool;

    fn live(&self) -> Vec<LiveRun>;

    /// Puts something on the bus.
    fn tell(&self, tract: &str, event: Map<String, Value>);
}

impl Ops {
    /// From now on these hands are used, for as long as they are there.
    pub(crate) fn lend_hands(&self, hands: Weak<dyn Acting>) {
        *super::lock(&self.hands) = Some(hands);
    }

    pub(crate) fn hands_if_there(&self) -> Option<Arc<dyn Acting>> {
        super::lock(&self.hands).as_ref().and_then(Weak::upgrade)
    }

    pub(crate) fn hands(&self) -> Result<Arc<dyn Acting>> {
        self.hands_if_there().ok_or_else(|| {
            Error::new("not_served", Fault::Server, "no daemon is there to run talents")
                .with_hint("`cortex serve` starts one; `cortex status` says why talents cannot run")
        })
    }
}
