//! The task that keeps one service running.
//!
//! Theory of operation. The task starts its service and then waits for one of four things: it ended, it has not
//! been heard for too long, somebody wants it restarted, everything stops. Then the policy says when to start it
//! again, or to give it up.

use std::io;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::SupervisorSettings;
use super::instance::{self, Beat, Instance, ServiceWork, WorkContext};
use super::policy::{Next, Policy};
use super::service::{ServiceHealth, ServiceStatus, SupervisedService};
use crate::bus::{BusMessage, Hub, SUPERVISOR_TOPIC};
use crate::clock::Timing;

#[derive(Clone, Debug)]
pub(super) struct ServiceState {
    pub(super) health: ServiceHealth,
    pub(super) pid: Option<u32>,
    pub(super) since: Instant,
    pub(super) starts: u64,
    pub(super) crashes: u32,
    pub(super) last_end: Option<String>,
}

#[derive(Debug)]
pub(super) struct ServiceHandle {
    pub(super) service: SupervisedService,
    pub(super) seen: Mutex<ServiceState>,
    pub(super) beat: Beat,
    pub(super) restart: Notify,
    pub(super) stop: watch::Sender<bool>,
}

impl ServiceHandle {
    pub(super) fn seen(&self) -> MutexGuard<'_, ServiceState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> ServiceStatus {
        let seen = self.seen();
        let watched =
            self.service.heartbeat_ms_max.filter(|_| seen.health == ServiceHealth::Running);
        ServiceStatus {
            name: self.service.name.clone(),
            health: seen.health,
            pid: seen.pid,
            uptime_seconds: match seen.health {
                ServiceHealth::Running => seen.since.elapsed().as_secs_f64(),
                _ => 0.0,
            },
            starts: seen.starts,
            crashes: seen.crashes,
            last_end: seen.last_end.clone(),
            heartbeat_age_seconds: watched.map(|_| self.beat.last().elapsed().as_secs_f64()),
        }
    }
}

/// Why a service is not running any more.
enum ServiceEnd {
    ByItself { code: Option<i32>, how: String },
    Unheard,
    Restart,
    Stop,
}

pub(super) struct ServiceTask {
    pub(super) settings: SupervisorSettings,
    pub(super) timing: Timing,
    pub(super) hub: Hub,
    pub(super) post: Arc<ServiceHandle>,
}

impl ServiceTask {
    pub(super) async fn run(self) {
        let mut policy = Policy::new(&self.settings);
        let mut stop = self.post.stop.subscribe();
        loop {
            let since = Instant::now();
            let ended = self.once(&mut stop).await;
            let (code, how) = match &ended {
                ServiceEnd::ByItself { code, how } => (*code, how.clone()),
                ServiceEnd::Unheard => (None, "not heard for too long".to_owned()),
                ServiceEnd::Restart => (None, "restart asked for".to_owned()),
                ServiceEnd::Stop => (None, "stopped".to_owned()),
            };
            self.tell("stopped", |message| {
                message.with("exit_code", code).with("how", how.as_str())
            });
            let next = match ended {
                ServiceEnd::Stop => return self.see(ServiceHealth::Stopped, &policy, Some(how)),
                ServiceEnd::Restart => {
                    policy.forgive();
                    Next::StartAfter(Duration::ZERO)
                }
                ServiceEnd::ByItself { .. } | ServiceEnd::Unheard => {
                    policy.ended(since.elapsed(), code, self.timing.jitter.roll())
                }
            };
            let wait = match next {
                Next::StartAfter(wait) => {
                    self.see(ServiceHealth::Waiting, &policy, Some(how));
                    let delay = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    self.tell("restarting", |message| {
                        message.with("delay_ms", delay).with("attempt", policy.crashes())
                    });
                    Some(wait)
                }
                Next::GiveUp => {
                    self.see(ServiceHealth::GivenUp, &policy, Some(how));
                    self.tell("given_up", |message| message.with("crashes", policy.crashes()));
                    None
                }
            };
            let pause = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            let asked = tokio::select! {
                () = pause => false,
                () = self.post.restart.notified() => true,
                _ = stop.wait_for(|stop| *stop) => {
                    return self.see(ServiceHealth::Stopped, &policy, None);
                }
            };
            if asked {
                policy.forgive();
            }
            self.post.seen().crashes = policy.crashes();
        }
    }

    fn see(&self, health: ServiceHealth, policy: &Policy, last_end: Option<String>) {
        let mut seen = self.post.seen();
        seen.health = health;
        seen.pid = None;
        seen.crashes = policy.crashes();
        if last_end.is_some() {
            seen.last_end = last_end;
        }
    }

    fn tell(&self, event: &str, more: impl FnOnce(BusMessage) -> BusMessage) {
        let message = BusMessage::new(SUPERVISOR_TOPIC, event)
            .with("service", self.post.service.name.as_str());
        self.hub.publish(more(message));
    }

    /// Starts the service and waits until it is not running any more.
    async fn once(&self, stop: &mut watch::Receiver<bool>) -> ServiceEnd {
        let mut instance = match self.launch() {
            Ok(instance) => instance,
            Err(error) => {
                return ServiceEnd::ByItself { code: None, how: format!("cannot start: {error}") };
            }
        };
        self.post.beat.beat();
        {
            let mut seen = self.post.seen();
            seen.health = ServiceHealth::Running;
            seen.since = Instant::now();
            seen.starts += 1;
            seen.pid = instance.pid();
        }
        self.tell("started", |message| message.with("pid", instance.pid()));
        let grace = Duration::from_millis(self.settings.stop_grace_ms);
        let ended = tokio::select! {
            (code, how) = instance.ended() => return ServiceEnd::ByItself { code, how },
            () = self.unheard() => ServiceEnd::Unheard,
            () = self.post.restart.notified() => ServiceEnd::Restart,
            _ = stop.wait_for(|stop| *stop) => ServiceEnd::Stop,
        };
        if matches!(ended, ServiceEnd::Unheard) {
            self.tell("stale", |message| message);
        }
        instance.stop(grace).await;
        ended
    }

    /// Ends when the service was not heard for too long.
    async fn unheard(&self) {
        let Some(max) = self.post.service.heartbeat_ms_max.map(Duration::from_millis) else {
            return std::future::pending().await;
        };
        loop {
            let until = self.post.beat.last() + max;
            if Instant::now() >= until {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    fn launch(&self) -> io::Result<Instance> {
        match &self.post.service.work {
            ServiceWork::Task(task) => {
                let (stop, stopped) = watch::channel(false);
                let context = WorkContext { beat: self.post.beat.clone(), stop: stopped };
                Ok(Instance::Task { task: tokio::spawn(task(context)), stop })
            }
            ServiceWork::Command(command) => instance::spawn(command),
        }
    }
}
