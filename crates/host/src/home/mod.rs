//! Everything that answers operations of a home, in the daemon or in the process of one command.
//!
//! - here: the parts of a home: the service, the minds, the channels, and whoever runs talents.
//! - `mind_effects`: each effect of a mind against the store. `mind_bulletins`: what its bulletins are gathered from.
//!   `mind_plans`: what its jobs would change, and do. `processes`: what happens to channels, branches and workers, and
//!   what supervision does about it.
//! - `noted`: which operations tell somebody of memories, for `feed`.
//! - `following`: what coding agents write, read as they write it. `safekeeping`: backups and reads of ledgers that are
//!   due.
//! - `channels`: the channels of an actor. `channel_effects`: each effect of a channel. `run_ends`: what the end of a
//!   run means for its channel and for the budget.

mod channel_effects;
mod channels;
mod following;
mod mind_bulletins;
mod mind_effects;
mod mind_plans;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod mind_tests;
mod noted;
mod processes;
mod run_ends;
mod safekeeping;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use agent_sessions::AgentSessions;
use api::{DEFAULT_ACTOR, ErrorCode, Fault};
use cluster::Node;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use service::Service;
use service::error::{Error, Result};
use talents::bus::Hub;

pub(crate) use mind_bulletins::BulletinScope;

use crate::channels::Channels;
use crate::feed::MemoryFeed;
use crate::mind_host::MindHost;
use crate::outputs::OutputIndex;
use crate::pools::WorkPools;
use crate::run_control::RunControl;
use crate::tool_servers::ToolServers;

pub use processes::process_of;

/// The operations of a home, with the minds and conversations that belong to them.
#[derive(Debug)]
pub struct Host {
    pub service: Arc<Service>,
    /// The operations on sessions of agents.
    pub agents: AgentSessions,
    pub(crate) minds: MindHost,
    pub(crate) channels: Channels,
    /// Places for work that blocks.
    pub pools: WorkPools,
    /// Lent by the daemon, for as long as talents can run.
    runs: Mutex<Option<Weak<dyn RunControl>>>,
    following: following::Following,
    /// Lent by the daemon: the servers whose tools talents may use.
    tools: Mutex<Option<Arc<ToolServers>>>,
    /// What talents wrote.
    pub(crate) outputs: OutputIndex,
    pub(crate) feed: MemoryFeed,
    /// Of a cluster: this node.
    node: OnceLock<Arc<Node>>,
    safekeeping: safekeeping::Safekeeping,
}

impl Host {
    /// `variables` decide about the configuration of the minds.
    pub fn new(service: Service, variables: BTreeMap<String, String>) -> Host {
        let following = following::Following::new(variables.clone());
        let safekeeping = safekeeping::Safekeeping::new(variables.clone());
        let minds = MindHost::new(service.folder(), variables);
        let outputs = OutputIndex::new(service.folder());
        let service = Arc::new(service);
        Host {
            agents: AgentSessions::new(Arc::clone(&service)),
            service,
            minds,
            channels: Channels::default(),
            pools: WorkPools::default(),
            runs: Mutex::default(),
            following,
            tools: Mutex::default(),
            outputs,
            feed: MemoryFeed::default(),
            node: OnceLock::new(),
            safekeeping,
        }
    }

    /// What has to happen every now and then: accesses journaled, idle actors closed, and the minds of closed actors
    /// written down and released.
    pub fn tidy(&self, now: Millis) -> Result<()> {
        self.service.tidy(now)?;
        let used = self.service.used_actors(DEFAULT_ACTOR)?;
        let home = self.service.home();
        self.minds.release(|actor| used.contains(actor) || home.if_open(actor).is_some());
        Ok(())
    }

    /// From now on this host is a node of a cluster.
    pub fn join(&self, node: Arc<Node>) {
        // A host joins once, when its daemon begins to serve.
        let _ = self.node.set(node);
    }

    /// The node of a cluster that this is, if it is one.
    pub fn node(&self) -> Option<&Arc<Node>> {
        self.node.get()
    }

    /// True if the mind of this actor is at work here: in a cluster, each has one node.
    pub(crate) fn tends(&self, actor: &str) -> bool {
        // A copy that nobody uses is not made for its mind.
        let is_open =
            || self.service.home().open_actors().iter().any(|open| open.as_str() == actor);
        self.node().is_none_or(|node| node.is_here(actor) && is_open())
    }

    pub fn folder(&self) -> &Path {
        self.service.folder()
    }

    /// From now on runs are started and stopped through `runs`, for as long as it is there.
    pub fn lend_runs(&self, runs: Weak<dyn RunControl>) {
        *self.runs() = Some(runs);
    }

    /// From now on talents may use these servers' tools; nothing takes them back.
    pub fn lend_tools(&self, tools: Option<Arc<ToolServers>>) {
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = tools;
    }

    /// From now on what happens to memories is told on this bus.
    pub fn lend_hub(&self, hub: &Hub) {
        self.feed.lend_hub(hub);
    }

    /// A talent wrote this file of the home: it is found from now on.
    pub fn index_output(&self, path: &str) -> std::io::Result<()> {
        self.outputs.put(path)
    }

    /// The actors whose minds were used in this process.
    pub fn minded_actors(&self) -> Vec<ActorName> {
        self.minds.all().iter().map(|mind| mind.actor.clone()).collect()
    }

    pub(crate) fn tool_servers(&self) -> Option<Arc<ToolServers>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn run_control_if_there(&self) -> Option<Arc<dyn RunControl>> {
        self.runs().as_ref().and_then(Weak::upgrade)
    }

    pub(crate) fn run_control(&self) -> Result<Arc<dyn RunControl>> {
        self.run_control_if_there().ok_or_else(|| {
            let message = "no daemon is there to run talents";
            Error::new(ErrorCode::NotServed, Fault::Server, message)
                .with_hint("`cortex serve` starts one; `cortex status` says why talents cannot run")
        })
    }

    fn runs(&self) -> MutexGuard<'_, Option<Weak<dyn RunControl>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
