//! The runner: requests become runs, runs become processes, and everything a process says is on disk and on the bus.
//!
//! `intake` takes requests and answers them; `request` checks them; `queue` decides whose turn it is; one `owner`
//! per run starts and hears the process and writes its `log`; `recovery` ends what a daemon that died left behind;
//! `follow` gives a run from its first event to its last. `parent_watch` is for the process itself.
//!
//! What must stay true: a run that was accepted has a log from that moment, and exactly one terminal event, the
//! last in the log and on the bus; only its owner writes it; never more processes than the limits allow; values of
//! `env` reach the process and no file, and only names that were declared; nothing that a run started outlives it.

mod admission;
mod ending;
mod follow;
mod intake;
pub mod log;
mod owner;
pub mod parent_watch;
mod process;
mod queue;
mod records;
mod recovery;
mod report;
mod request;
mod settings;
mod shared;
mod stderr;
mod wait;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use api::run::{RunReceipt, RunRejection, RunRequest};

pub use follow::{FollowedEvent, RunFollower};
pub use intake::{Runner, RunnerParts};
pub use log::tally::EndedRun;
pub use process::TalentProgram;
pub use recovery::Recovery;
pub use report::{RunSelector, RunnerCounters, RunnerError, RunnerStatus};
pub use settings::RunnerSettings;
pub use wait::WaitOutcome;

use talents::confine::{RunPolicy, VariableRules};
use talents::{TalentName, UseId};

/// The run that a request became, if it became one.
pub fn run_of(receipt: &RunReceipt) -> Option<UseId> {
    receipt.use_id().and_then(|use_id| UseId::parse(use_id).ok())
}

/// What the runner must know of a talent before it starts it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Facts {
    /// How long a run may take if its request does not say.
    pub timeout: Option<Duration>,
    /// Variables for the process, under those of the request; `None` removes one (execution R100-R102).
    pub env: BTreeMap<String, Option<String>>,
    /// Whose limit counts if the request names no provider.
    pub provider: Option<String>,
    /// Which variables there are, and which of them a request may set.
    pub variables: VariableRules,
    /// What the process may reach; without it nothing is said to it.
    pub policy: Option<RunPolicy>,
}

/// Knows the talents.
pub trait TalentFacts: Debug + Send + Sync + 'static {
    /// What is known of a talent for this request; the error says in words why it cannot be run. May read files.
    fn facts(&self, name: &TalentName, request: &RunRequest) -> Result<Facts, String>;

    /// Why a run must not begin although its request is in order: a budget that is used up, say.
    fn refusal(&self, _request: &RunRequest) -> Option<RunRejection> {
        None
    }
}

/// Learns of every run that has ended.
///
/// Called from a thread that may block, after the end is durable and before anybody else hears of it. A daemon that
/// dies in between calls again after its restart: what is done here must be the same when it is done twice for one
/// `use_id`.
pub trait RunObserver: Debug + Send + Sync + 'static {
    fn ended(&self, run: &EndedRun);
}

/// An observer that learns nothing, for homes without a memory.
impl RunObserver for () {
    fn ended(&self, _run: &EndedRun) {}
}

/// The moments of a run at which a daemon may die.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunnerStep {
    LogCreated,
    Accepted,
    BeforeSpawn,
    Spawned,
    PidLogged,
    EventAppended,
    TerminalAppended,
    Observed,
    Indexed,
    Renamed,
    Told,
}

/// Stands beside the runner and sees it pass each step; tests let it die there.
pub trait Probe: Debug + Send + Sync + 'static {
    fn at(&self, step: RunnerStep);
}

impl Probe for () {
    fn at(&self, _step: RunnerStep) {}
}
