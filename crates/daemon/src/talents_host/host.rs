//! Talents in the daemon: the bus, the runner and the supervisor, put together and tied to the memory.
//!
//! What must stay true: runs that an earlier daemon left are ended before the first new one; a host that cannot start
//! does not take the memory with them; whatever is started here is ended here, within a grace, before the daemon lets
//! go of the home.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::{Error, ErrorCode, Fault, Result};
use client::place::DaemonPlace;
use jiff::tz::TimeZone;
use runs::bus_server::BusServer;
use runs::runner::{Recovery, Runner, RunnerParts, RunnerSettings, RunnerStatus, TalentProgram};
use serde_json::{Value, json};
use service::config::Config;
use service::{Caller, config};
use talents::Layout;
use talents::bus::{BusMessage, BusSettings, Hub, HubStatus};
use talents::clock::Timing;
use talents::supervisor::{
    Calendar, DaySchedule, ScheduleState, ServiceStatus, ServiceWork, SupervisedService,
    Supervisor, SupervisorSettings,
};

use crate::talents_host::attest::Attester;
use crate::talents_host::days::Days;
use crate::talents_host::facts::CatalogFacts;
use crate::talents_host::runner_handle::RunnerHandle;
use crate::talents_host::triggers::Triggers;
use crate::talents_host::{TalentContext, journal_watch, run_watch, settings};
use host::Host;
use host::confinement::exec_settings;
use host::tool_servers::{ToolServers, ToolSettings};

/// What a stop may take beyond the grace that runs have.
const STOP_MARGIN: Duration = Duration::from_secs(5);
/// The service that does the work of days.
pub(crate) const SCHEDULE: &str = "schedule";

/// The service that starts talents by the clock and by what happens in the memory.
const TRIGGERS: &str = "triggers";

/// How talents are to run.
#[derive(Clone, Debug)]
pub struct TalentsSettings {
    pub bus: BusSettings,
    pub runner: RunnerSettings,
    pub supervisor: SupervisorSettings,
    /// What is started for a run.
    pub program: TalentProgram,
    /// The whole environment of the daemon: which providers have a key here.
    pub environment: BTreeMap<String, String>,
}

impl TalentsSettings {
    /// What the configuration says. Parts that are wrong are refused now, not at midnight.
    pub fn of(
        config: &Config,
        program: TalentProgram,
        environment: BTreeMap<String, String>,
    ) -> Result<TalentsSettings> {
        settings::own(config)?;
        exec_settings(config)?;
        ToolSettings::of(config)?;
        let runner: RunnerSettings = config.section("runner", &[])?;
        let mut supervisor: SupervisorSettings = config.section("supervisor", &[])?;
        if supervisor.zone.is_empty() {
            supervisor.zone.clone_from(&runner.zone);
        }
        let bus = config.section("callosum", &[])?;
        Ok(TalentsSettings { bus, runner, supervisor, program, environment })
    }
}

/// Where talents and settings come from: the files as they are now, so that a changed one needs no new daemon.
#[derive(Clone, Debug)]
pub(super) struct TalentSources {
    pub(super) layout: Layout,
    /// Those that decide about the configuration.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) environment: BTreeMap<String, String>,
    /// What is started for a run.
    pub(super) program: PathBuf,
}

impl TalentSources {
    pub(super) fn context(&self) -> Result<TalentContext> {
        let config = config::load(self.layout.home(), &self.variables)?;
        TalentContext::open(self.layout.home(), &config, self.environment.clone())
    }
}

/// The bus, the runner and the supervisor at work.
#[derive(Debug)]
pub struct TalentsHost {
    hub: Hub,
    runner: Runner,
    supervisor: Supervisor,
    schedule: Arc<DaySchedule>,
    days: Arc<Days>,
    attester: Arc<Attester>,
    /// Lent to the operations for as long as it is held here.
    _runner_handle: Arc<RunnerHandle>,
    recovery: Recovery,
    bus: Mutex<Option<BusServer>>,
    grace: Duration,
}

impl TalentsHost {
    /// Ends what was left, then takes requests.
    pub async fn start(
        place: &DaemonPlace,
        settings: TalentsSettings,
        variables: BTreeMap<String, String>,
        host: &Arc<Host>,
    ) -> Result<TalentsHost> {
        let failed =
            |code: &str, why: String| Error::new(ErrorCode::named(code), Fault::Server, why);
        let timing = Timing::system();
        let layout = Layout::new(&place.home);
        let hub = Hub::new(settings.bus, Arc::clone(&timing.clock));
        let environment = settings.environment;
        let sources = TalentSources {
            layout: layout.clone(),
            variables,
            environment,
            program: settings.program.path.clone(),
        };
        let attester = Arc::new(Attester::new(Arc::clone(host)));
        let grace = Duration::from_millis(settings.runner.stop_grace_ms) + STOP_MARGIN;
        // Half of the places, so that a person need not wait for the night's work.
        let jobs = (settings.runner.runs_max / 2).max(1);
        let (runner, recovery) = Runner::start(RunnerParts {
            layout: layout.clone(),
            hub: hub.clone(),
            timing: timing.clone(),
            settings: settings.runner,
            program: settings.program,
            facts: Arc::new(CatalogFacts::new(sources.clone(), host)),
            observer: Arc::clone(&attester) as _,
            probe: Arc::new(()),
        })
        .await
        .map_err(|error| failed(error.code(), error.to_string()))?;
        let runner_handle = Arc::new(RunnerHandle::new(runner.clone(), hub.clone()));
        host.lend_runs(Arc::downgrade(&runner_handle) as _);
        host.lend_tools(tool_servers(&sources, &hub)?);
        run_watch::start(&hub, host, &runner);
        journal_watch::start(&hub, host);
        settle(host).await;
        for failure in &recovery.failures {
            tracing::warn!("recovery: {failure}");
        }
        let bus = BusServer::start(hub.clone(), layout.clone(), &place.callosum())
            .await
            .map_err(|error| failed(error.code(), error.to_string()))?;
        let supervisor = Supervisor::start(
            settings.supervisor.clone(),
            timing.clone(),
            hub.clone(),
            place.home.clone(),
        );
        let triggers =
            Triggers::new(sources.clone(), host, hub.clone(), runner.clone(), timing.clone());
        let days = Arc::new(Days::new(sources, host, hub.clone(), runner.clone(), jobs));
        let schedule = schedule(&settings.supervisor, &layout, timing, &hub, &days)?;
        let keeps = Arc::clone(&schedule);
        let service = SupervisedService {
            name: SCHEDULE.to_owned(),
            work: ServiceWork::Task(Arc::new(move |context| {
                let schedule = Arc::clone(&keeps);
                Box::pin(async move {
                    schedule.run(context.stop).await;
                    Ok(())
                })
            })),
            heartbeat_ms_max: None,
        };
        supervisor.add(service).map_err(|error| failed(error.code(), error.to_string()))?;
        let triggers = Arc::new(triggers);
        let service = SupervisedService {
            name: TRIGGERS.to_owned(),
            work: ServiceWork::Task(Arc::new(move |context| {
                let triggers = Arc::clone(&triggers);
                Box::pin(async move {
                    triggers.run(context.stop).await;
                    Ok(())
                })
            })),
            heartbeat_ms_max: None,
        };
        supervisor.add(service).map_err(|error| failed(error.code(), error.to_string()))?;
        let bus = Mutex::new(Some(bus));
        Ok(TalentsHost {
            hub,
            runner,
            supervisor,
            schedule,
            days,
            attester,
            _runner_handle: runner_handle,
            recovery,
            bus,
            grace,
        })
    }

    /// Talents and providers as the files say now.
    pub fn context(&self) -> Result<TalentContext> {
        self.days.context()
    }

    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    pub fn services(&self) -> Vec<ServiceStatus> {
        self.supervisor.status()
    }

    /// True while somebody would miss the daemon: runs, the work of a day, listeners of the bus.
    pub(crate) fn is_busy(&self) -> bool {
        !self.runner.is_idle() || self.days.is_working() || self.bus_clients() > 0
    }

    fn bus_status(&self) -> Value {
        let bus = self.bus.lock().unwrap_or_else(PoisonError::into_inner);
        bus.as_ref().map_or(Value::Null, BusServer::status)
    }

    fn bus_clients(&self) -> usize {
        self.bus_status()["clients"].as_array().map_or(0, Vec::len)
    }

    pub fn counts(&self) -> RunCounts {
        RunCounts {
            runner: self.runner.status(),
            bus: self.hub.status(),
            bus_clients: self.bus_clients(),
            ended: self.attester.ended(),
            attest_failures: self.attester.failures(),
        }
    }

    /// Everything a person may want to know about them.
    pub fn status(&self) -> Value {
        let counts = self.counts();
        let bus = self.bus.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = bus.as_ref().map(|bus| bus.path().display().to_string());
        drop(bus);
        json!({
            "callosum": socket,
            "listeners": counts.bus_clients,
            "dropped": counts.bus.dropped,
            "running": counts.runner.running,
            "queued": counts.runner.queued,
            "counters": counts.runner.counters,
            "last_failure": counts.runner.last_failure,
            "ended": counts.ended.iter().copied().collect::<BTreeMap<_, _>>(),
            "attest_failures": counts.attest_failures,
            "recovered": self.recovery,
            "services": self.services(),
            "schedule": schedule_view(&self.schedule.state()),
            "working_on": self.days.day(),
            "next_midnight": self.schedule.next_midnight().to_string(),
            "vitals": self.supervisor.machine_load(),
        })
    }

    /// Ends everything, the newest first: no more work by itself, then the runs, then the bus that tells their ends.
    pub async fn stop(&self) {
        let stopping = async {
            self.supervisor.stop().await;
            let left = self.runner.shutdown().await;
            if left > 0 {
                tracing::warn!("{left} runs did not end; the next daemon ends them");
            }
            let bus = self.bus.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(bus) = bus
                && let Err(error) = bus.stop().await
            {
                tracing::warn!("the bus: {error}");
            }
        };
        if tokio::time::timeout(self.grace, stopping).await.is_err() {
            tracing::warn!("talents did not stop in time; the next daemon ends what is left");
        }
    }
}

/// How far the days are, and which of them wait for another try.
fn schedule_view(state: &ScheduleState) -> Value {
    let waiting: BTreeMap<&str, Value> = state
        .waiting()
        .map(|(day, record)| {
            let (attempts, error, next_at) = (record.attempts, &record.error, record.next_at);
            // One that rests is not tried again by the clock.
            let next_at = (!record.rests).then_some(next_at);
            (day, json!({"attempts": attempts, "error": error, "next_at": next_at}))
        })
        .collect();
    json!({
        "since": state.since,
        "done": state.done_until(),
        "waiting": waiting,
        "left_out": state.left_out,
    })
}

/// The servers whose tools talents may use; nothing if none is set up.
fn tool_servers(sources: &TalentSources, hub: &Hub) -> Result<Option<Arc<ToolServers>>> {
    let config = config::load(sources.layout.home(), &sources.variables)?;
    let settings = ToolSettings::of(&config)?;
    if settings.servers.is_empty() {
        return Ok(None);
    }
    let hub = hub.clone();
    let tell = Box::new(move |fields| {
        hub.publish(BusMessage::new("approvals", "").and(fields));
    });
    let (environment, folder) = (sources.environment.clone(), sources.layout.approvals());
    let runtime = tokio::runtime::Handle::current();
    let servers = ToolServers::open(settings, environment, &folder, runtime, tell);
    servers.map(|servers| Some(Arc::new(servers))).map_err(|error| {
        Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", folder.display()))
    })
}

/// Conversations that wait for runs of an earlier daemon wait no longer.
async fn settle(host: &Arc<Host>) {
    let host = Arc::clone(host);
    let work = tokio::task::spawn_blocking(move || {
        for actor in host.service.home().actors_here().map_err(service::Error::from)? {
            host.settle_channels(&Caller::new(actor, mind::proposal::BY))?;
        }
        Ok::<(), Error>(())
    });
    match work.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("channels: {} ({})", error.message, error.code),
        Err(error) => tracing::warn!("channels: {error}"),
    }
}

/// What there is to count.
#[derive(Debug)]
pub struct RunCounts {
    pub runner: RunnerStatus,
    pub bus: HubStatus,
    pub bus_clients: usize,
    /// Runs that ended since the daemon started, by how they ended.
    pub ended: [(&'static str, u64); 4],
    /// Ends that the memory did not learn of.
    pub attest_failures: u64,
}

fn schedule(
    settings: &SupervisorSettings,
    layout: &Layout,
    timing: Timing,
    hub: &Hub,
    days: &Arc<Days>,
) -> Result<Arc<DaySchedule>> {
    let zone = if settings.zone.is_empty() {
        TimeZone::system()
    } else {
        TimeZone::get(&settings.zone).map_err(|_| {
            let why = format!("the time zone {:?} is not known", settings.zone);
            Error::new(ErrorCode::UnknownZone, Fault::Caller, why)
        })?
    };
    let calendar = Calendar { zone, catch_up_days_max: settings.catch_up_days_max };
    let worker = Arc::clone(days) as _;
    let schedule = DaySchedule::open(layout.schedule(), calendar, timing, hub.clone(), worker);
    schedule.map(Arc::new).map_err(|error| {
        let why = format!("{}: {error}", layout.schedule().display());
        Error::new(ErrorCode::Schedule, Fault::Server, why)
    })
}
