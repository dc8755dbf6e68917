//! How operations have runs started, stopped and told of. The daemon lends it; without a daemon nobody runs talents.

use std::fmt::Debug;
use std::time::Duration;

use api::run::RunRequest;
use api::{DEFAULT_ACTOR, Result};
use kernel::actor::ActorName;
use serde_json::{Map, Value};

/// A run that goes on, as far as conversations care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveRun {
    pub use_id: String,
    pub talent: String,
    /// Whose memory it works with; the home's own if absent.
    pub actor: Option<String>,
    pub channel: Option<String>,
    pub context: Option<String>,
}

impl ActiveRun {
    pub(crate) fn is_of(&self, actor: &ActorName) -> bool {
        self.actor.as_deref().unwrap_or(DEFAULT_ACTOR) == actor.as_str()
    }
}

/// Whoever runs talents, as operations see it. Everything here may block.
pub trait RunControl: Debug + Send + Sync {
    /// Asks for a run; gives its id. A refusal is an error of the caller.
    fn start(&self, request: RunRequest, by: &str) -> Result<String>;

    /// Waits for the end of a run: its result, or why there is none. Gives up after `patience`; the run goes on.
    fn wait(&self, use_id: &str, patience: Duration) -> std::result::Result<String, String>;

    /// Asks a run to stop; false if it is not there any more.
    fn cancel(&self, use_id: &str) -> bool;

    fn live(&self) -> Vec<ActiveRun>;

    /// Puts something on the bus.
    fn tell(&self, tract: &str, event: Map<String, Value>);
}
