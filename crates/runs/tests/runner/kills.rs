//! Daemons that are killed at each step of a run, and what the next one finds.
//!
//! The daemon is this test program started again: `the_daemon` does nothing unless a variable tells it where its
//! home is and at which step to kill itself. The kill is SIGKILL, so nothing is cleaned up.

use crate::support::ReceiptRun as _;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use runs::runner::{Probe, Runner, RunnerStep, TalentProgram, parent_watch};
use serde_json::json;
use talents::bus::{BusFilter, Delivery};
use talents::{Layout, UseId};

use crate::support::{PATIENCE, check_log, object, parts, processes_with, quick};

const HOME: &str = "TEST_DAEMON_HOME";
const STEP: &str = "TEST_DAEMON_STEP";
const NTH: &str = "TEST_DAEMON_NTH";
const SCRIPT: &str = "TEST_DAEMON_SCRIPT";
const CHILD: &str = "TEST_DAEMON_CHILD";

/// Kills the process with -9 when it passes a step for the n-th time.
#[derive(Debug)]
struct Killer {
    step: String,
    nth: u64,
    passed: AtomicU64,
}

impl Probe for Killer {
    fn at(&self, step: RunnerStep) {
        if format!("{step:?}") == self.step
            && self.passed.fetch_add(1, Ordering::SeqCst) + 1 == self.nth
        {
            let pid = std::process::id().to_string();
            Command::new("kill").args(["-9", &pid]).status().expect("killed");
            std::thread::sleep(PATIENCE);
        }
    }
}

/// Not a test of its own: the daemon that the tests below start and kill.
#[test]
fn the_daemon() {
    if std::env::var_os(CHILD).is_some() {
        parent_watch::end_with_daemon().expect("held");
        println!("{{\"event\":\"start\"}}");
        // A program of its own, which must go too.
        Command::new("sleep").arg("300").status().expect("slept");
        return;
    }
    let Some(home) = std::env::var_os(HOME) else { return };
    let of = |name: &str| std::env::var(name).expect("told");
    let killer = Killer {
        step: of(STEP),
        nth: of(NTH).parse().expect("a number"),
        passed: AtomicU64::new(0),
    };
    let script = of(SCRIPT);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut parts = parts(Path::new(&home), quick(), Arc::new(killer));
        if script == "child" {
            parts.program = again(&[(CHILD, "1")]);
        }
        let (runner, _) = Runner::start(parts).await.expect("a runner");
        let request = object(json!({"use_id": "1700000000000", "env": {"DO": script}}));
        let run = runner.submit_fields(&request, "test").await.run().expect("a run");
        runner.wait(&[run], PATIENCE).await.expect("readable");
    });
}

/// This program again, as `the_daemon`.
fn again(env: &[(&str, &str)]) -> TalentProgram {
    TalentProgram {
        path: std::env::current_exe().expect("this program"),
        args: ["--exact", "kills::the_daemon", "--nocapture"].map(Into::into).into(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        folder: None,
    }
}

/// Runs a daemon until it kills itself.
fn die_at(home: &Path, step: &str, nth: u64, script: &str) {
    let program = again(&[]);
    let mut daemon = Command::new(&program.path)
        .args(&program.args)
        .env(HOME, home)
        .env(STEP, step)
        .env(NTH, nth.to_string())
        .env(SCRIPT, script)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a daemon");
    let status = daemon.wait().expect("an exit");
    let mut said = String::new();
    if status.signal() != Some(9) {
        daemon.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    }
    assert_eq!(status.signal(), Some(9), "{step}: {said}");
}

// execution 9.5, 9.12: "SIGKILL of the daemon at each step of a run: after restart one terminal event, no orphan,
// no ghost"
#[test]
fn a_daemon_killed_at_any_step_leaves_one_end_and_nothing_else() {
    let goes_on = "say start; (sleep 300) & while :; do sleep 0.1; done";
    let ends = "say start; finish";
    let steps = [
        ("LogCreated", 1, ends),
        ("Accepted", 1, goes_on),
        ("BeforeSpawn", 1, goes_on),
        ("Spawned", 1, goes_on),
        ("PidLogged", 1, goes_on),
        ("EventAppended", 1, goes_on),
        ("EventAppended", 2, goes_on),
        ("TerminalAppended", 1, ends),
        ("Observed", 1, ends),
        ("Indexed", 1, ends),
        ("Renamed", 1, ends),
        ("Told", 1, ends),
    ];
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for (step, nth, script) in steps {
        let folder = tempfile::tempdir().expect("a folder");
        die_at(folder.path(), step, nth, script);
        runtime.block_on(recovered(folder.path(), step));
    }
}

async fn recovered(home: &Path, step: &str) {
    let layout = Layout::new(home);
    let run = UseId::parse("1700000000000").expect("an id");
    let parts = parts(home, quick(), Arc::new(()));
    let mut bus = parts.hub.subscribe(BusFilter::topic("cortex"));
    let (runner, recovery) = Runner::start(parts).await.expect("a runner");
    assert!(recovery.failures.is_empty(), "{step}: {recovery:?}");
    let log = check_log(&layout, &run);
    let mut told = 0;
    while let Some(Delivery::Event(event)) = bus.try_next() {
        told += usize::from(event.message.ends_run());
    }
    let was_closed = matches!(step, "Renamed" | "Told");
    assert_eq!(told, usize::from(!was_closed), "{step}");
    if !matches!(step, "TerminalAppended" | "Observed" | "Indexed" | "Renamed" | "Told") {
        assert_eq!(log.events.last().expect("an end")["reason"], "recovered", "{step}");
    }
    let mark = format!("CORTEX_HOME={}", home.display());
    assert!(processes_with(&mark).is_empty(), "{step}: {:?}", processes_with(&mark));
    assert!(runner.row(&run).is_some(), "{step}");
    let findings = runner.doctor().await.expect("readable");
    assert!(findings.is_empty(), "{step}: {findings:?}");
    let left: Vec<_> = std::fs::read_dir(layout.runs().join("default"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left.len(), 1, "{step}: {left:?}");
    // A second restart finds nothing to do.
    drop(runner);
    let again = super::support::parts(home, quick(), Arc::new(()));
    let (_, recovery) = Runner::start(again).await.expect("a runner");
    assert_eq!(recovery, runs::runner::Recovery::default(), "{step}");
}

// execution 9.12: a torn last line is left out, and whoever has the old number now is not touched
#[tokio::test]
async fn a_torn_log_of_a_process_whose_number_is_anothers_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("talents/default");
    std::fs::create_dir_all(&runs).expect("a folder");
    let bystander = tokio::process::Command::new("sleep")
        .arg("300")
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .expect("a process");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
    let spawned = json!({
        "event": "spawned", "use_id": "5", "ts": 5, "seq": 1, "pid": bystander.id(),
        "pgid": bystander.id(), "started": 1, "boot": boot.trim(),
    });
    let log = format!(
        "{{\"event\":\"request\",\"use_id\":\"5\",\"ts\":5,\"seq\":0,\"name\":\"default\"}}\n{spawned}\n\
         {{\"event\":\"fin"
    );
    std::fs::write(runs.join("5_active.jsonl"), log).expect("written");
    std::fs::write(runs.join(".6.new"), "{\"event\":").expect("written");
    let (_runner, recovery) =
        Runner::start(parts(folder.path(), quick(), Arc::new(()))).await.expect("a runner");
    assert_eq!((recovery.ended.len(), recovery.killed), (1, 0));
    let log = check_log(&Layout::new(folder.path()), &UseId::parse("5").expect("an id"));
    assert_eq!(log.events.len(), 4);
    assert!(!runs.join(".6.new").exists());
    let alive = std::fs::read_to_string(format!("/proc/{}/stat", bystander.id().expect("a pid")));
    assert!(alive.expect("still there").contains("(sleep)"));
}

// Parent death: without any restart, the process and what it started are gone with the daemon.
#[test]
fn a_talent_process_does_not_outlive_its_daemon() {
    let folder = tempfile::tempdir().expect("a folder");
    // The event that the child prints once it holds on is the second that is appended.
    die_at(folder.path(), "EventAppended", 3, "child");
    let mark = format!("CORTEX_HOME={}", folder.path().display());
    let until = Instant::now() + PATIENCE;
    while !processes_with(&mark).is_empty() {
        assert!(Instant::now() < until, "{:?}", processes_with(&mark));
        std::thread::sleep(Duration::from_millis(10));
    }
}
