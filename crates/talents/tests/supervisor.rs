//! Services that crash, hang and stop, and days that are worked through late.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use llm::providers::BoxFuture;
use talents::Day;
use talents::bus::{BusFilter, BusMessage, BusSettings, Delivery, Hub, Subscription};
use talents::clock::{Clock, Jitter, SystemClock, Timing};
use talents::supervisor::{
    Calendar, DayProblem, DaySchedule, DayWorker, SeenDay, ServiceCommand, ServiceHealth,
    ServiceWork, SupervisedService, Supervisor, SupervisorSettings,
};
use tokio::sync::watch;

#[derive(Debug)]
struct Half;

impl Jitter for Half {
    fn roll(&self) -> f64 {
        0.5
    }
}

/// A clock that a test sets.
#[derive(Debug)]
struct Wall(Mutex<Timestamp>);

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("no panic")
    }
}

fn hub() -> Hub {
    Hub::new(BusSettings::default(), Arc::new(SystemClock))
}

fn supervisor(settings: SupervisorSettings, hub: &Hub) -> Supervisor {
    let world = Timing { clock: Arc::new(SystemClock), jitter: Arc::new(Half) };
    Supervisor::start(settings, world, hub.clone(), std::env::temp_dir())
}

fn shell(name: &str, script: &str) -> SupervisedService {
    SupervisedService {
        name: name.to_owned(),
        work: ServiceWork::Command(ServiceCommand {
            path: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            ..ServiceCommand::default()
        }),
        heartbeat_ms_max: None,
    }
}

async fn until(bus: &mut Subscription, event: &str) -> BusMessage {
    let wait = async {
        loop {
            if let Delivery::Event(heard) = bus.next().await
                && heard.message.event() == event
            {
                return heard.message.clone();
            }
        }
    };
    tokio::time::timeout(Duration::from_hours(1), wait).await.expect("in time")
}

fn health(supervisor: &Supervisor, name: &str) -> ServiceHealth {
    let status = supervisor.status();
    status.iter().find(|status| status.name == name).expect("a service").health
}

// execution R131, R132, 9.18: back-off, crash loop, given up, asked for again
#[tokio::test(start_paused = true)]
async fn a_service_that_only_crashes_is_given_up_until_somebody_asks() {
    let hub = hub();
    let mut bus = hub.subscribe(BusFilter::topic("supervisor"));
    let settings = SupervisorSettings { crashes_max: 3, ..SupervisorSettings::default() };
    let supervisor = supervisor(settings, &hub);
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let task: ServiceWork = ServiceWork::Task(Arc::new(move |_| {
        let call = counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            assert!(call != 1, "a panic is an end like any other");
            Err(format!("crash {call}"))
        })
    }));
    let service =
        SupervisedService { name: "flaky".to_owned(), work: task, heartbeat_ms_max: None };
    supervisor.add(service.clone()).expect("added");
    assert_eq!(supervisor.add(service).expect_err("twice").code(), "service_taken");
    let mut waits = Vec::new();
    for _ in 0..3 {
        let told = until(&mut bus, "restarting").await;
        waits.push(told.get("delay_ms").and_then(serde_json::Value::as_u64).expect("a delay"));
    }
    assert_eq!(waits, [375, 750, 1_500]);
    until(&mut bus, "given_up").await;
    assert_eq!(health(&supervisor, "flaky"), ServiceHealth::GivenUp);
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    let restart = BusMessage::new("supervisor", "restart").with("service", "flaky");
    let patience = Duration::from_secs(5);
    hub.take(restart, "test", patience).await.expect("taken");
    until(&mut bus, "started").await;
    until(&mut bus, "given_up").await;
    assert_eq!(calls.load(Ordering::SeqCst), 8);
    let unknown = BusMessage::new("supervisor", "restart").with("service", "nobody");
    let answer = hub.take(unknown, "test", patience).await.expect("answered");
    assert_eq!(answer["code"], "unknown_service");
    supervisor.stop().await;
}

// A service that is a program knows when its supervisor is gone: its standard input is open until then.
#[tokio::test]
async fn the_input_of_a_program_stays_open() {
    let hub = hub();
    let mut bus = hub.subscribe(BusFilter::topic("supervisor"));
    let supervisor = supervisor(SupervisorSettings::default(), &hub);
    let folder = tempfile::tempdir().expect("a folder");
    let read = folder.path().join("read");
    let script = format!("read line; echo closed > {}", read.display());
    supervisor.add(shell("reader", &script)).expect("added");
    supervisor.add(shell("other", "exit 0")).expect("added");
    // The other has come and gone meanwhile.
    until(&mut bus, "stopped").await;
    assert_eq!(health(&supervisor, "reader"), ServiceHealth::Running);
    assert!(!read.exists());
    supervisor.stop().await;
}

// execution 9.18: a program that lives but is not heard is restarted
#[tokio::test]
async fn a_program_that_is_not_heard_is_restarted_and_others_go_on() {
    let hub = hub();
    let mut bus = hub.subscribe(BusFilter::topic("supervisor"));
    let settings = SupervisorSettings {
        restart_ms_first: 10,
        stop_grace_ms: 200,
        ..SupervisorSettings::default()
    };
    let supervisor = supervisor(settings, &hub);
    let hangs = SupervisedService {
        heartbeat_ms_max: Some(150),
        ..shell("hangs", "trap '' TERM; while :; do sleep 0.05; done")
    };
    supervisor.add(shell("steady", "sleep 300")).expect("added");
    supervisor.add(hangs).expect("added");
    let stale = until(&mut bus, "stale").await;
    assert_eq!(stale.text("service"), Some("hangs"));
    let again = until(&mut bus, "started").await;
    assert_eq!(again.text("service"), Some("hangs"));
    let status = supervisor.status();
    assert_eq!((status[0].starts, status[1].starts), (1, 2));
    assert!(supervisor.machine_load().disk_available_bytes.is_some_and(|bytes| bytes > 0));
    // Heard often enough, it stays.
    for _ in 0..20 {
        let beat = BusMessage::new("supervisor", "heartbeat").with("service", "hangs");
        hub.take(beat, "test", Duration::from_secs(5)).await.expect("taken");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(supervisor.status()[1].starts, 2);
    supervisor.stop().await;
    assert!(supervisor.status().iter().all(|status| status.health == ServiceHealth::Stopped));
}

// execution 5.7: the last started stops first, and each gets the time to do it
#[tokio::test]
async fn services_stop_in_reverse_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("order");
    let hub = hub();
    let mut bus = hub.subscribe(BusFilter::topic("supervisor"));
    let supervisor = supervisor(SupervisorSettings::default(), &hub);
    for name in ["one", "two", "three"] {
        let script = format!(
            "trap 'sleep 0.1; echo {name} >> {0}; exit 0' TERM; echo up >> {0}; while :; do sleep 0.02; done",
            out.display()
        );
        supervisor.add(shell(name, &script)).expect("added");
        until(&mut bus, "started").await;
    }
    let lines = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    while lines(&out).lines().count() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    supervisor.stop().await;
    let order: Vec<String> = lines(&out).lines().skip(3).map(str::to_owned).collect();
    assert_eq!(order, ["three", "two", "one"]);
    assert_eq!(supervisor.add(shell("late", "true")).expect_err("stopping").code(), "stopping");
}

/// A chronicle whose days lie in a table, and work that fails as often as it is told to.
#[derive(Default)]
struct Chronicle {
    days: Mutex<Vec<(String, String)>>,
    done: Mutex<Vec<String>>,
    failing: AtomicU32,
    readiness: Mutex<String>,
}

impl DayWorker for Chronicle {
    fn look(&self, _since: Day) -> BoxFuture<'_, Result<Vec<SeenDay>, String>> {
        let days = self.days.lock().expect("no panic").clone();
        let seen = |(day, print): (String, String)| SeenDay {
            day: Day::parse(&day).expect("a day"),
            print,
        };
        Box::pin(async move { Ok(days.into_iter().map(seen).collect()) })
    }

    fn work(&self, day: Day, is_over: bool) -> BoxFuture<'_, Result<(), DayProblem>> {
        Box::pin(async move {
            if self.failing.load(Ordering::SeqCst) > 0 {
                self.failing.fetch_sub(1, Ordering::SeqCst);
                return Err("no provider".to_owned().into());
            }
            let mark = if is_over { "" } else { " open" };
            self.done.lock().expect("no panic").push(format!("{day}{mark}"));
            Ok(())
        })
    }

    fn is_done(&self, _day: Day, _is_over: bool) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }

    fn readiness(&self) -> BoxFuture<'_, String> {
        let now = self.readiness.lock().expect("no panic").clone();
        Box::pin(async move { now })
    }
}

struct Days {
    schedule: Arc<DaySchedule>,
    wall: Arc<Wall>,
    chronicle: Arc<Chronicle>,
    hub: Hub,
}

fn days(path: &Path, now: &str) -> Days {
    let wall = Arc::new(Wall(Mutex::new(now.parse().expect("a time"))));
    let chronicle = Arc::new(Chronicle::default());
    let hub = hub();
    let calendar = Calendar {
        zone: TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone"),
        catch_up_days_max: 4,
    };
    let world = Timing { clock: Arc::clone(&wall) as Arc<dyn Clock>, jitter: Arc::new(Half) };
    let worker = Arc::clone(&chronicle) as Arc<dyn DayWorker>;
    let schedule = DaySchedule::open(path.to_owned(), calendar, world, hub.clone(), worker);
    Days { schedule: Arc::new(schedule.expect("a schedule")), wall, chronicle, hub }
}

impl Days {
    fn run(&self) -> watch::Sender<bool> {
        let (stop, stopped) = watch::channel(false);
        let schedule = Arc::clone(&self.schedule);
        tokio::spawn(async move { schedule.run(stopped).await });
        stop
    }

    fn set(&self, now: &str) {
        *self.wall.0.lock().expect("no panic") = now.parse().expect("a time");
        self.schedule.look();
    }

    /// Something lies there, or something else.
    fn put(&self, day: &str, print: &str) {
        let mut days = self.chronicle.days.lock().expect("no panic");
        days.retain(|(known, _)| known != day);
        days.push((day.to_owned(), print.to_owned()));
        days.sort();
        drop(days);
        self.schedule.look();
    }

    async fn has_done(&self, days: &[&str]) {
        let wait = async {
            while *self.chronicle.done.lock().expect("no panic") != days {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let patience = Duration::from_hours(24);
        let waited = tokio::time::timeout(patience, wait).await;
        assert!(waited.is_ok(), "{:?} is not {days:?}", self.chronicle.done);
    }
}

// T14, T16, execution R94, R134, 5.5, 5.6, 9.18: segments by day, midnight, sleep, downtime, late data
#[tokio::test(start_paused = true)]
async fn days_are_worked_on_as_they_come_and_again_when_late_data_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run").join("schedule.json");
    let first = days(&path, "2026-03-27T12:00:00Z");
    let stop = first.run();
    first.put("20260320", "before the home was there");
    // A home that is new begins with the day before.
    first.put("20260326", "yesterday");
    first.put("20260327", "a");
    first.has_done(&["20260326", "20260327 open"]).await;
    // 23:30 in Berlin, then 00:10.
    first.set("2026-03-27T22:30:00Z");
    tokio::time::sleep(Duration::from_mins(2)).await;
    first.set("2026-03-27T23:10:00Z");
    first.has_done(&["20260326", "20260327 open", "20260327"]).await;
    first.put("20260327", "late");
    first.has_done(&["20260326", "20260327 open", "20260327", "20260327"]).await;
    stop.send_replace(true);
    drop(first);

    // Off for two weeks: what is over for more than four days is named and left out.
    let second = days(&path, "2026-04-13T10:00:00Z");
    let mut bus = second.hub.subscribe(BusFilter::topic("supervisor"));
    for day in ["20260327", "20260402", "20260409", "20260412"] {
        second.put(day, if day == "20260327" { "late" } else { "x" });
    }
    let stop = second.run();
    second.has_done(&["20260409", "20260412"]).await;
    assert_eq!(until(&mut bus, "left_out").await.text("day"), Some("20260402"));
    stop.send_replace(true);
}

// T15: ten hours without a provider cost nobody a day
#[tokio::test(start_paused = true)]
async fn a_day_that_fails_is_tried_until_it_is_done_and_at_once_when_something_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("schedule.json");
    std::fs::write(&path, r#"{"done": "20260326", "at": 1}"#).expect("written");
    let days = days(&path, "2026-03-28T12:00:00Z");
    assert_eq!(days.schedule.state().since.as_deref(), Some("20260327"), "of an earlier version");
    days.chronicle.failing.store(1_000, Ordering::SeqCst);
    days.put("20260327", "a");
    let _stop = days.run();
    for hour in 13..22 {
        days.set(&format!("2026-03-28T{hour}:00:00Z"));
        tokio::time::sleep(Duration::from_mins(2)).await;
    }
    let state = days.schedule.state();
    let (day, waits) = state.waiting().next().expect("a day that waits");
    assert_eq!((day, waits.error.as_deref()), ("20260327", Some("no provider")));
    assert!(waits.attempts > 5, "{waits:?}");
    let on_disk: talents::supervisor::ScheduleState =
        serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    assert_eq!(on_disk, state);
    // Back: no hour is waited for.
    days.chronicle.failing.store(0, Ordering::SeqCst);
    *days.chronicle.readiness.lock().expect("no panic") = "up".to_owned();
    days.schedule.look();
    days.has_done(&["20260327"]).await;
    assert_eq!(days.schedule.state().waiting().count(), 0);

    // A file that cannot be read is kept aside, and nothing is done twice or guessed.
    std::fs::write(&path, "{").expect("written");
    let again = self::days(&path, "2026-03-31T12:00:00Z");
    assert_eq!(again.schedule.state().since.as_deref(), Some("20260331"));
    assert!(folder.path().join("schedule.json.unreadable").exists());
}
