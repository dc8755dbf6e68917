//! Services: what should be running, is watched, and is started again when it is not.
//!
//! Each service has a task of its own, so that none can hold up another. Stopping goes in the reverse order of
//! starting, one after the other, each with its grace.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use thiserror::Error;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::instance::{Beat, ServiceWork};
use super::service_task::{ServiceHandle, ServiceState, ServiceTask};
use super::{MachineLoad, SupervisorSettings};
use crate::bus::{BusMessage, Hub, SUPERVISOR_TOPIC, ServiceRequest};
use crate::clock::Timing;

/// Something that should be running.
#[derive(Clone, Debug)]
pub struct SupervisedService {
    pub name: String,
    pub work: ServiceWork,
    /// A service that is not heard for so long is restarted; absent: its exit alone counts.
    pub heartbeat_ms_max: Option<u64>,
}

/// How a service is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceHealth {
    Running,
    /// It ended and is started again soon.
    Waiting,
    /// It ended too often; it is started again when somebody asks for it.
    GivenUp,
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceStatus {
    pub name: String,
    pub health: ServiceHealth,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    pub uptime_seconds: f64,
    pub starts: u64,
    /// Since it last recovered.
    pub crashes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_age_seconds: Option<f64>,
}

#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum SupervisorError {
    #[error("there is no service {0:?}")]
    Unknown(String),
    #[error("there is a service {0:?} already")]
    Taken(String),
    #[error("everything is being stopped")]
    Stopping,
}

impl SupervisorError {
    pub fn code(&self) -> &'static str {
        match self {
            SupervisorError::Unknown(_) => "unknown_service",
            SupervisorError::Taken(_) => "service_taken",
            SupervisorError::Stopping => "stopping",
        }
    }
}

#[derive(Debug, Default)]
struct ServiceHandles {
    list: Vec<(Arc<ServiceHandle>, Option<JoinHandle<()>>)>,
    stopping: bool,
}

#[derive(Debug)]
struct SupervisorInner {
    settings: SupervisorSettings,
    timing: Timing,
    hub: Hub,
    home: PathBuf,
    posts: Mutex<ServiceHandles>,
}

/// Looks after services; all clones are the same.
#[derive(Clone, Debug)]
pub struct Supervisor(Arc<SupervisorInner>);

impl Supervisor {
    /// Serves `supervisor/restart` and `supervisor/heartbeat`, and tells on the bus how services are.
    pub fn start(
        settings: SupervisorSettings,
        timing: Timing,
        hub: Hub,
        home: PathBuf,
    ) -> Supervisor {
        let every = Duration::from_millis(settings.status_ms.max(1));
        let mut requests = hub.serve(SUPERVISOR_TOPIC, &["restart", "heartbeat"]);
        let supervisor = Supervisor(Arc::new(SupervisorInner {
            settings,
            timing,
            hub,
            home,
            posts: Mutex::default(),
        }));
        let weak = Arc::downgrade(&supervisor.0);
        tokio::spawn(async move {
            while let Some(inbound) = requests.next().await {
                let Some(shared) = weak.upgrade() else { break };
                Supervisor(shared).answer(inbound);
            }
        });
        let weak = Arc::downgrade(&supervisor.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(shared) = weak.upgrade() else { break };
                let supervisor = Supervisor(shared);
                let told = BusMessage::new(SUPERVISOR_TOPIC, "status")
                    .with("services", json!(supervisor.status()))
                    .with("vitals", json!(supervisor.machine_load()));
                supervisor.0.hub.publish(told);
            }
        });
        supervisor
    }

    fn answer(&self, inbound: ServiceRequest) {
        let name = inbound.message.text("service").unwrap_or_default();
        let done = match inbound.message.event() {
            "restart" => self.restart(name),
            _ => self.beat(name),
        };
        let answer = match done {
            Ok(()) => json!({"service": name}),
            Err(error) => {
                json!({"state": "rejected", "code": error.code(), "reason": error.to_string()})
            }
        };
        inbound.answer(answer.as_object().cloned().unwrap_or_default());
    }

    fn posts(&self) -> MutexGuard<'_, ServiceHandles> {
        self.0.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, name: &str) -> Result<Arc<ServiceHandle>, SupervisorError> {
        let posts = self.posts();
        posts
            .list
            .iter()
            .find(|(post, _)| post.service.name == name)
            .map(|(post, _)| Arc::clone(post))
            .ok_or_else(|| SupervisorError::Unknown(name.to_owned()))
    }

    /// Starts a service and keeps it running.
    pub fn add(&self, service: SupervisedService) -> Result<(), SupervisorError> {
        let mut posts = self.posts();
        if posts.stopping {
            return Err(SupervisorError::Stopping);
        }
        if posts.list.iter().any(|(post, _)| post.service.name == service.name) {
            return Err(SupervisorError::Taken(service.name));
        }
        let seen = ServiceState {
            health: ServiceHealth::Waiting,
            pid: None,
            since: Instant::now(),
            starts: 0,
            crashes: 0,
            last_end: None,
        };
        let post = Arc::new(ServiceHandle {
            service,
            seen: Mutex::new(seen),
            beat: Beat::new(),
            restart: Notify::new(),
            stop: watch::Sender::new(false),
        });
        let task = ServiceTask {
            settings: self.0.settings.clone(),
            timing: self.0.timing.clone(),
            hub: self.0.hub.clone(),
            post: Arc::clone(&post),
        };
        posts.list.push((post, Some(tokio::spawn(task.run()))));
        Ok(())
    }

    /// Ends a service and starts it again at once; one that was given up gets another chance.
    pub fn restart(&self, name: &str) -> Result<(), SupervisorError> {
        self.post(name)?.restart.notify_one();
        Ok(())
    }

    /// A service was heard.
    pub fn beat(&self, name: &str) -> Result<(), SupervisorError> {
        self.post(name)?.beat.beat();
        Ok(())
    }

    pub fn status(&self) -> Vec<ServiceStatus> {
        self.posts().list.iter().map(|(post, _)| post.status()).collect()
    }

    pub fn machine_load(&self) -> MachineLoad {
        MachineLoad::read(&self.0.home)
    }

    /// Stops all services, the last started first; nothing can be added afterwards.
    pub async fn stop(&self) {
        let count = {
            let mut posts = self.posts();
            posts.stopping = true;
            posts.list.len()
        };
        for index in (0..count).rev() {
            let task = {
                let mut posts = self.posts();
                let (post, task) = &mut posts.list[index];
                post.stop.send_replace(true);
                task.take()
            };
            if let Some(task) = task {
                // A task that panicked has nothing left to stop.
                let _ = task.await;
            }
        }
    }
}
