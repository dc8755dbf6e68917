//! What a daemon that died left behind: logs without an end, and perhaps processes.
//!
//! For each active log the process is found by what the log says of it, and its group is ended; what left the group,
//! or was started before the daemon could write the number down, is found by its variables. A torn last line
//! is cut off. A log without an end gets one, one with an end keeps it. Then it is indexed, renamed and told like any
//! other run.

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use api::run::{RunEvent, RunEventKind};
use serde::Serialize;

use super::log::event::{Secrets, Stamp, info};
use super::log::read::{self, RunPath};
use super::log::tally::Tally;
use super::log::write::RunLogWriter;
use super::process::{self, Identity};
use super::shared::RunnerContext;
use talents::bus::{BusMessage, RUN_TOPIC};
use talents::{Day, TalentName, UseId};

/// How long a killed group may take to be gone.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// What was found and done at the start.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Recovery {
    /// Runs that got their end now.
    pub ended: Vec<String>,
    /// Runs that had their end but not yet their final name.
    pub closed: Vec<String>,
    /// Process groups, and processes that had left theirs, that were still there and are gone now.
    pub killed: u64,
    /// What could not be done, in words.
    pub failures: Vec<String>,
}

pub(super) async fn recover(shared: &Arc<RunnerContext>) -> io::Result<Recovery> {
    let mut recovery = Recovery::default();
    match fs::remove_dir_all(shared.layout.scratches()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            recovery.failures.push(format!("folders of earlier runs: {error}"));
        }
        _ => {}
    }
    for name in read::talents(&shared.layout)? {
        remove_unborn(shared, &name)?;
        for (run, found) in read::runs(&shared.layout, &name)? {
            if !found.active {
                continue;
            }
            if let Err(error) = end(shared, &run, &found, "recovered", &mut recovery).await {
                recovery.failures.push(format!("run {run}: {error}"));
            }
        }
    }
    Ok(recovery)
}

/// Ends a run whose owner is gone though the daemon is not.
pub(super) async fn end_lost(shared: &Arc<RunnerContext>, name: &TalentName, run: &UseId) {
    let path = shared.layout.active_run(name, run);
    let found = RunPath { name: name.clone(), path, active: true };
    let mut recovery = Recovery::default();
    if let Err(error) = end(shared, run, &found, "internal", &mut recovery).await {
        shared.failed("run without an owner", &error);
    }
}

/// Logs that were being made when the daemon died: nobody was told of them.
fn remove_unborn(shared: &RunnerContext, name: &TalentName) -> io::Result<()> {
    for entry in fs::read_dir(shared.layout.runs_of(name))? {
        let entry = entry?;
        let file = entry.file_name();
        let unborn = file.to_str().is_some_and(|file| {
            file.strip_prefix('.')
                .and_then(|file| file.strip_suffix(".new"))
                .is_some_and(|run| UseId::parse(run).is_ok())
        });
        if unborn {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

async fn end(
    shared: &Arc<RunnerContext>,
    run: &UseId,
    found: &RunPath,
    reason: &str,
    recovery: &mut Recovery,
) -> io::Result<()> {
    let log = read::read(&found.path)?;
    let identity = log.last(RunEventKind::Spawned).and_then(Identity::read);
    if let Some(group) = identity.filter(Identity::is_ours).map(|identity| identity.pid) {
        if process::exists(group) {
            recovery.killed += 1;
        }
        if !process::end(group, END_PATIENCE).await? {
            recovery.failures.push(format!("run {run}: process group {group} does not end"));
        }
    }
    let (home, name) = (shared.layout.home().to_owned(), run.to_string());
    let by_run = move || process::end_by_run(&home, &name, END_PATIENCE);
    let left = tokio::task::spawn_blocking(by_run).await.map_err(io::Error::other)?;
    recovery.killed += u64::from(left > 0);
    let whole = fs::metadata(&found.path)?.len() - log.torn_bytes;
    let next = log.events.iter().filter_map(RunEvent::seq).max().map_or(0, |last| last + 1);
    let mut file = RunLogWriter::reopen(&shared.layout, &found.name, run, next, whole)?;
    let mut tally = Tally::new(&found.name, run);
    log.events.iter().for_each(|event| tally.see(event));
    let day = log.request().and_then(|request| request.text("day"));
    let stamp = Stamp {
        use_id: run.clone(),
        name: found.name.clone(),
        day: day.and_then(|day| Day::parse(day).ok()),
        secrets: Secrets::default(),
        event_bytes_max: shared.settings.event_bytes_max,
    };
    let mut told = Vec::new();
    if let Some(terminal) = log.terminal() {
        recovery.closed.push(run.to_string());
        told.push(terminal.clone());
    } else {
        if log.torn_bytes > 0 {
            let text = format!("a line was torn after {} bytes and is left out", log.torn_bytes);
            told.push(file.append(stamp.complete(info(&text), shared.millis()))?);
        }
        let mut event = RunEvent::new(RunEventKind::Error);
        event.set("error", "the daemon ended while the run went on");
        event.set("reason", reason);
        if !tally.cited().is_empty() {
            event.set("cited", tally.cited());
        }
        told.push(file.append(stamp.complete(event, shared.millis()))?);
        recovery.ended.push(run.to_string());
    }
    told.iter().filter(|_| log.terminal().is_none()).for_each(|event| tally.see(event));
    let at_work = Arc::clone(shared);
    let run = run.clone();
    tokio::task::spawn_blocking(move || {
        file.sync()?;
        at_work.settle(&tally, &run, move || file.close());
        Ok::<(), io::Error>(())
    })
    .await
    .map_err(io::Error::other)??;
    for event in told {
        shared.hub.publish(BusMessage::new(RUN_TOPIC, "").and(event.into_fields()));
    }
    Ok(())
}
