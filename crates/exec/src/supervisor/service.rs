//! Services: what should be running, is watched, and is started again when it is not.
//!
//! Theory of operation. One task per service starts it and then waits for one of four things: it ended, it has not been heard
//! for too long, somebody wants it restarted, everything stops. Then the policy says when to start it again, or to give it up.
//! Stopping goes in the reverse order of starting, one after the other, each with its grace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::future::Future;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use serde_json::json;
use thiserror::Error;
use tokio::process::{Child, Command};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::policy::{Next, Policy};
use super::{SupervisorSettings, Vitals};
use crate::callosum::{Hub, Inbound, Message, SUPERVISOR};
use crate::world::World;

/// A service that runs inside the daemon.
pub type Task = Arc<
    dyn Fn(WorkContext) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync,
>;

/// A service that is a program. Its standard input closes when the daemon is gone.
#[derive(Clone, Debug, Default)]
pub struct ServiceCommand {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    pub env: BTreeMap<String, String>,
    /// Where its output is appended; thrown away if not given.
    pub log: Option<PathBuf>,
}

/// What a service does.
#[derive(Clone)]
pub enum Work {
    Command(ServiceCommand),
    Task(Task),
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Work::Command(command) => command.fmt(f),
            Work::Task(_) => f.write_str("Task"),
        }
    }
}

/// Something that should be running.
#[derive(Clone, Debug)]
pub struct Service {
    pub name: String,
    pub work: Work,
    /// A service that is not heard for so long is restarted; absent: its exit alone counts.
    pub heartbeat_ms_max: Option<u64>,
}

/// What a service inside the daemon gets.
#[derive(Clone, Debug)]
pub struct WorkContext {
    pub beat: Beat,
    /// Becomes true when the service should end.
    pub stop: watch::Receiver<bool>,
}

/// Says that a service is alive.
#[derive(Clone, Debug)]
pub struct Beat(Arc<Mutex<Instant>>);

impl Beat {
    fn new() -> Beat {
        Beat(Arc::new(Mutex::new(Instant::now())))
    }

    pub fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a service is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
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
    pub health: Health,
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

#[derive(Clone, Debug)]
struct Seen {
    health: Health,
    pid: Option<u32>,
    since: Instant,
    starts: u64,
    crashes: u32,
    last_end: Option<String>,
}

#[derive(Debug)]
struct Post {
    service: Service,
    seen: Mutex<Seen>,
    beat: Beat,
    restart: Notify,
    stop: watch::Sender<bool>,
}

impl Post {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self) -> ServiceStatus {
        let seen = self.seen();
        let watched = self.service.heartbeat_ms_max.filter(|_| seen.health == Health::Running);
        ServiceStatus {
            name: self.service.name.clone(),
            health: seen.health,
            pid: seen.pid,
            uptime_seconds: match seen.health {
                Health::Running => seen.since.elapsed().as_secs_f64(),
                _ => 0.0,
            },
            starts: seen.starts,
            crashes: seen.crashes,
            last_end: seen.last_end.clone(),
            heartbeat_age_seconds: watched.map(|_| self.beat.last().elapsed().as_secs_f64()),
        }
    }
}

#[derive(Debug, Default)]
struct Posts {
    list: Vec<(Arc<Post>, Option<JoinHandle<()>>)>,
    stopping: bool,
}

#[derive(Debug)]
struct Shared {
    settings: SupervisorSettings,
    world: World,
    hub: Hub,
    home: PathBuf,
    posts: Mutex<Posts>,
}

/// Looks after services; all clones are the same.
#[derive(Clone, Debug)]
pub struct Supervisor(Arc<Shared>);

impl Supervisor {
    /// Serves `supervisor/restart` and `supervisor/heartbeat`, and tells on the bus how services are.
    pub fn start(
        settings: SupervisorSettings,
        world: World,
        hub: Hub,
        home: PathBuf,
    ) -> Supervisor {
        let every = Duration::from_millis(settings.status_ms.max(1));
        let mut requests = hub.serve(SUPERVISOR, &["restart", "heartbeat"]);
        let supervisor =
            Supervisor(Arc::new(Shared { settings, world, hub, home, posts: Mutex::default() }));
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
                let told = Message::new(SUPERVISOR, "status")
                    .with("services", json!(supervisor.status()))
                    .with("vitals", json!(supervisor.vitals()));
                supervisor.0.hub.publish(told);
            }
        });
        supervisor
    }

    fn answer(&self, inbound: Inbound) {
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

    fn posts(&self) -> MutexGuard<'_, Posts> {
        self.0.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, name: &str) -> Result<Arc<Post>, SupervisorError> {
        let posts = self.posts();
        posts
            .list
            .iter()
            .find(|(post, _)| post.service.name == name)
            .map(|(post, _)| Arc::clone(post))
            .ok_or_else(|| SupervisorError::Unknown(name.to_owned()))
    }

    /// Starts a service and keeps it running.
    pub fn add(&self, service: Service) -> Result<(), SupervisorError> {
        let mut posts = self.posts();
        if posts.stopping {
            return Err(SupervisorError::Stopping);
        }
        if posts.list.iter().any(|(post, _)| post.service.name == service.name) {
            return Err(SupervisorError::Taken(service.name));
        }
        let seen = Seen {
            health: Health::Waiting,
            pid: None,
            since: Instant::now(),
            starts: 0,
            crashes: 0,
            last_end: None,
        };
        let post = Arc::new(Post {
            service,
            seen: Mutex::new(seen),
            beat: Beat::new(),
            restart: Notify::new(),
            stop: watch::Sender::new(false),
        });
        let keeper = Keeper {
            settings: self.0.settings.clone(),
            world: self.0.world.clone(),
            hub: self.0.hub.clone(),
            post: Arc::clone(&post),
        };
        posts.list.push((post, Some(tokio::spawn(keeper.run()))));
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

    pub fn vitals(&self) -> Vitals {
        Vitals::read(&self.0.home)
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
                // A keeper that panicked has nothing left to stop.
                let _ = task.await;
            }
        }
    }
}

/// Why a service is not running any more.
enum Ended {
    ByItself { code: Option<i32>, how: String },
    Unheard,
    Restart,
    Stop,
}

struct Keeper {
    settings: SupervisorSettings,
    world: World,
    hub: Hub,
    post: Arc<Post>,
}

impl Keeper {
    async fn run(self) {
        let mut policy = Policy::new(&self.settings);
        let mut stop = self.post.stop.subscribe();
        loop {
            let since = Instant::now();
            let ended = self.once(&mut stop).await;
            let (code, how) = match &ended {
                Ended::ByItself { code, how } => (*code, how.clone()),
                Ended::Unheard => (None, "not heard for too long".to_owned()),
                Ended::Restart => (None, "restart asked for".to_owned()),
                Ended::Stop => (None, "stopped".to_owned()),
            };
            self.tell("stopped", |message| {
                message.with("exit_code", code).with("how", how.as_str())
            });
            let next = match ended {
                Ended::Stop => return self.see(Health::Stopped, &policy, Some(how)),
                Ended::Restart => {
                    policy.forgive();
                    Next::StartAfter(Duration::ZERO)
                }
                Ended::ByItself { .. } | Ended::Unheard => {
                    policy.ended(since.elapsed(), code, self.world.chance.roll())
                }
            };
            let wait = match next {
                Next::StartAfter(wait) => {
                    self.see(Health::Waiting, &policy, Some(how));
                    let delay = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    self.tell("restarting", |message| {
                        message.with("delay_ms", delay).with("attempt", policy.crashes())
                    });
                    Some(wait)
                }
                Next::GiveUp => {
                    self.see(Health::GivenUp, &policy, Some(how));
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
                    return self.see(Health::Stopped, &policy, None);
                }
            };
            if asked {
                policy.forgive();
            }
            self.post.seen().crashes = policy.crashes();
        }
    }

    fn see(&self, health: Health, policy: &Policy, last_end: Option<String>) {
        let mut seen = self.post.seen();
        seen.health = health;
        seen.pid = None;
        seen.crashes = policy.crashes();
        if last_end.is_some() {
            seen.last_end = last_end;
        }
    }

    fn tell(&self, event: &str, more: impl FnOnce(Message) -> Message) {
        let message =
            Message::new(SUPERVISOR, event).with("service", self.post.service.name.as_str());
        self.hub.publish(more(message));
    }

    /// Starts the service and waits until it is not running any more.
    async fn once(&self, stop: &mut watch::Receiver<bool>) -> Ended {
        let mut instance = match self.launch() {
            Ok(instance) => instance,
            Err(error) => {
                return Ended::ByItself { code: None, how: format!("cannot start: {error}") };
            }
        };
        self.post.beat.beat();
        {
            let mut seen = self.post.seen();
            seen.health = Health::Running;
            seen.since = Instant::now();
            seen.starts += 1;
            seen.pid = instance.pid();
        }
        self.tell("started", |message| message.with("pid", instance.pid()));
        let grace = Duration::from_millis(self.settings.stop_grace_ms);
        let ended = tokio::select! {
            (code, how) = instance.ended() => return Ended::ByItself { code, how },
            () = self.unheard() => Ended::Unheard,
            () = self.post.restart.notified() => Ended::Restart,
            _ = stop.wait_for(|stop| *stop) => Ended::Stop,
        };
        if matches!(ended, Ended::Unheard) {
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
            Work::Task(task) => {
                let (stop, stopped) = watch::channel(false);
                let context = WorkContext { beat: self.post.beat.clone(), stop: stopped };
                Ok(Instance::Task { task: tokio::spawn(task(context)), stop })
            }
            Work::Command(command) => spawn(command).map(Instance::Process),
        }
    }
}

fn spawn(command: &ServiceCommand) -> io::Result<Child> {
    let (out, err) = match &command.log {
        None => (Stdio::null(), Stdio::null()),
        Some(path) => {
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
            (file.try_clone()?.into(), file.into())
        }
    };
    Command::new(&command.path)
        .args(&command.args)
        .envs(&command.env)
        .stdin(Stdio::piped())
        .stdout(out)
        .stderr(err)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

enum Instance {
    Process(Child),
    Task { task: JoinHandle<Result<(), String>>, stop: watch::Sender<bool> },
}

impl Instance {
    fn pid(&self) -> Option<u32> {
        match self {
            Instance::Process(child) => child.id(),
            Instance::Task { .. } => None,
        }
    }

    async fn ended(&mut self) -> (Option<i32>, String) {
        match self {
            Instance::Process(child) => {
                let group = group(child);
                let status = child.wait().await;
                // What it left behind goes with it.
                signal(group, Signal::KILL);
                match status {
                    Ok(status) => (status.code(), status.to_string()),
                    Err(error) => (None, error.to_string()),
                }
            }
            Instance::Task { task, .. } => match task.await {
                Ok(Ok(())) => (Some(0), "ended".to_owned()),
                Ok(Err(why)) => (None, why),
                Err(lost) => (None, lost.to_string()),
            },
        }
    }

    /// Asks it to end, and after `grace` ends it.
    async fn stop(&mut self, grace: Duration) {
        match self {
            Instance::Process(child) => {
                let group = group(child);
                signal(group, Signal::TERM);
                if tokio::time::timeout(grace, child.wait()).await.is_err() {
                    signal(group, Signal::KILL);
                    // Killed: the kernel decides how long that takes, and whether it fails is of no use to know.
                    let _ = tokio::time::timeout(grace, child.wait()).await;
                }
                signal(group, Signal::KILL);
            }
            Instance::Task { task, stop } => {
                stop.send_replace(true);
                if tokio::time::timeout(grace, &mut *task).await.is_err() {
                    task.abort();
                }
            }
        }
    }
}

fn group(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()?).ok()?)
}

/// A group that is gone needs no signal.
fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        let _ = kill_process_group(group, signal);
    }
}
