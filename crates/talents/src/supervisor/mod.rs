//! The supervisor: services that should be running, and work that should happen at midnight.
//!
//! Each service has a task of its own that starts it, watches it and starts it again; no tick looks after all of
//! them, so no service can hold up another. What to do after an exit is a pure decision (`policy`), which days want
//! work another (`ledger`). Talent runs are not services: their life is the runner's business (execution R135).

mod instance;
mod ledger;
mod machine;
mod midnight;
mod parent_watch;
mod policy;
mod schedule;
mod service;
mod service_task;

pub use instance::{Beat, ServiceCommand, ServiceWork, Task, WorkContext};
pub use ledger::{DayRecord, ScheduleState, SeenDay};
pub use midnight::Calendar;
pub use policy::{NOT_READY, Next, Policy};
pub use schedule::{DayProblem, DaySchedule, DayWorker};
pub use service::{ServiceHealth, ServiceStatus, SupervisedService, Supervisor, SupervisorError};

pub use machine::MachineLoad;
pub use parent_watch::end_with_supervisor;

use serde::{Deserialize, Serialize};

/// How services are started again, and how missed days are made up for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SupervisorSettings {
    pub restart_ms_first: u64,
    pub restart_ms_max: u64,
    /// A service that ran for so long has recovered; its crashes are forgotten.
    pub stable_ms: u64,
    /// So many crashes without recovering, and the service is given up until somebody asks for it.
    pub crashes_max: u32,
    /// How long a service that said "not ready yet" (exit code 75) waits; that is no crash.
    pub not_ready_ms: u64,
    /// How long a service may take to stop before it is killed.
    pub stop_grace_ms: u64,
    /// How often the bus tells how services are.
    pub status_ms: u64,
    /// Days that are made up for after the machine was off; older ones are left out, and named.
    pub catch_up_days_max: u32,
    /// The user's time zone; that of the system if empty.
    pub zone: String,
}

impl Default for SupervisorSettings {
    fn default() -> SupervisorSettings {
        SupervisorSettings {
            restart_ms_first: 500,
            restart_ms_max: 60_000,
            stable_ms: 60_000,
            crashes_max: 8,
            not_ready_ms: 15_000,
            stop_grace_ms: 10_000,
            status_ms: 5_000,
            catch_up_days_max: 14,
            zone: String::new(),
        }
    }
}
