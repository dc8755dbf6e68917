//! Channels, branches and workers, as the mind sees them: what happened is logged and told, and what supervision wants is done.
//!
//! What must stay true: every event is in the log before it is on the bus; what came of a process is in the log before anybody is
//! told of it; a process that cannot be stopped is said to be so.

use api::ErrorCode;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use api::admin::ProcessKind;
use api::run::RunRequest;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use mind::supervision::{
    ProcessEvent, ProcessId, ProcessLogEntry, ProcessRecord, SupervisionEffect,
};
use mind::{MindEffect, MindEvent};
use serde::Serialize;
use serde_json::Value;

use crate::channels::{TRACT, TURN, actor_of, context_of, part_of};
use crate::host::Host;
use crate::mind_host::{Tended, lock};
use crate::run_control::RunControl;
use api::Fault;
use service::Caller;
use service::error::{Error, Result};

/// The folder in an actor's folder that holds what happened, a file for each day.
const FOLDER: &str = "process-events";
/// Days that are kept.
const DAYS: usize = 60;

/// A line of the log that is no event: what came of a process.
#[derive(Debug, Serialize)]
struct Stored<'a> {
    seq: u64,
    at_unix_ms: i64,
    process: &'a ProcessId,
    #[serde(flatten)]
    record: &'a ProcessRecord,
}

#[derive(Debug)]
struct Open {
    day: String,
    file: fs::File,
    seq: u64,
}

/// The log of events, which only grows.
#[derive(Debug)]
pub(super) struct EventLog {
    folder: PathBuf,
    open: Mutex<Option<Open>>,
}

impl EventLog {
    pub(super) fn new(actor: &Path) -> EventLog {
        EventLog { folder: actor.join(FOLDER), open: Mutex::default() }
    }

    /// Adds a line; `line` makes it from its number.
    fn add<T: Serialize>(&self, now: Millis, line: impl FnOnce(u64) -> T) -> Result<()> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", self.folder.display()))
        };
        let mut open = lock(&self.open);
        let day = now.date();
        if open.as_ref().is_none_or(|open| open.day != day) {
            let seq = match &*open {
                Some(open) => open.seq,
                None => self.last_seq().map_err(failed)?,
            };
            *open = Some(Open { file: self.begin(&day).map_err(failed)?, day, seq });
        }
        let Some(open) = open.as_mut() else { return Err(Error::internal("a log that is closed")) };
        let mut bytes = serde_json::to_vec(&line(open.seq + 1))
            .map_err(|error| Error::internal(error.to_string()))?;
        bytes.push(b'\n');
        open.file.write_all(&bytes).map_err(failed)?;
        open.seq += 1;
        Ok(())
    }

    fn days(&self) -> std::io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut days = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<Vec<_>>>()?;
        days.retain(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
        days.sort();
        Ok(days)
    }

    /// The number of the last line; numbers go on over restarts. A line that was torn by a crash has none.
    fn last_seq(&self) -> std::io::Result<u64> {
        for path in self.days()?.into_iter().rev() {
            let lines = BufReader::new(fs::File::open(path)?).lines();
            let seq = lines
                .filter_map(|line| serde_json::from_str::<Value>(&line.ok()?).ok()?["seq"].as_u64())
                .max();
            if let Some(seq) = seq {
                return Ok(seq);
            }
        }
        Ok(0)
    }

    fn begin(&self, day: &str) -> std::io::Result<fs::File> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let days = self.days()?;
        for old in days.iter().take(days.len().saturating_sub(DAYS)) {
            fs::remove_file(old)?;
        }
        let path = self.folder.join(format!("{day}.jsonl"));
        let torn =
            fs::read(&path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
        let mut options = fs::OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(path)?;
        if torn {
            file.write_all(b"\n")?;
        }
        Ok(file)
    }

    /// The newest events, oldest first.
    pub(super) fn newest(&self, limit: usize) -> Result<Vec<Value>> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", self.folder.display()))
        };
        let mut newest = Vec::new();
        for path in self.days().map_err(failed)?.into_iter().rev() {
            if newest.len() >= limit {
                break;
            }
            let lines = BufReader::new(fs::File::open(path).map_err(failed)?).lines();
            let lines: Vec<Value> =
                lines.filter_map(|line| serde_json::from_str(&line.ok()?).ok()).collect();
            newest.extend(lines.into_iter().rev().take(limit - newest.len()));
        }
        newest.reverse();
        Ok(newest)
    }
}

impl Host {
    /// Something happened to a process. What goes wrong is said in the log: it is no reason to hold up the process.
    pub fn observe(&self, caller: &Caller, event: ProcessEvent) {
        let outcome = self.tended(caller).and_then(|tended| {
            // A conversation that is known begins only once.
            if let ProcessEvent::ChannelStarted { channel_id, .. } = &event
                && tended.part().mind.supervisor.get(&ProcessId::channel(channel_id)).is_some()
            {
                return Ok(());
            }
            self.emit(&tended, &event, caller)?;
            let effects = tended.handle(MindEvent::Process(event), caller)?;
            self.carry(&tended, effects, caller)
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// A process moves: nothing is logged.
    pub fn progressed(&self, caller: &Caller, process: &ProcessId) {
        let outcome = self.tended(caller).and_then(|tended| {
            let now = caller.now()?;
            tended.part().mind.supervisor.progressed(process, now);
            Ok(())
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// A branch or worker ended. What came of it is stored, then told.
    pub fn process_ended(&self, caller: &Caller, process: &ProcessId, result: &str) {
        let outcome = self.tended(caller).and_then(|tended| {
            let ended = tended.part().mind.supervisor.ended(process, result, true);
            // One that nobody registered, because the daemon started in the middle of it, is nobody's.
            let effects =
                ended.unwrap_or_default().into_iter().map(MindEffect::Supervise).collect();
            self.carry(&tended, effects, caller)
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// The bus is heard, and what is heard is up to date.
    pub fn hands_are_heard(&self, caller: &Caller) -> Result<()> {
        let now = caller.now()?;
        self.tended(caller)?.part().mind.supervisor.heartbeat(now);
        Ok(())
    }

    /// Events were missed: only who runs now is still supervised.
    pub fn hands_were_missed(&self, caller: &Caller, running: &[ProcessId]) {
        let outcome = self.tended(caller).and_then(|tended| {
            let now = caller.now()?;
            let mut part = tended.part();
            part.mind.supervisor.lagged();
            part.mind.supervisor.resynced(running, now);
            Ok(())
        });
        self.minds.say(&caller.actor, outcome);
    }

    /// The newest of what happened to processes, oldest first.
    pub fn process_events(&self, caller: &Caller, limit: usize) -> Result<Vec<Value>> {
        self.tended(caller)?.events.newest(limit)
    }

    /// Logged, then told.
    fn emit(&self, tended: &Tended, event: &ProcessEvent, caller: &Caller) -> Result<()> {
        let now = caller.now()?;
        tended.events.add(now, |seq| ProcessLogEntry {
            seq,
            at_unix_ms: now.get(),
            event: event.clone(),
        })?;
        if let Some(hands) = self.run_control_if_there()
            && let Ok(Value::Object(mut fields)) = serde_json::to_value(event)
        {
            fields.insert("agent_id".to_owned(), tended.actor.as_str().into());
            hands.tell(TRACT, fields);
        }
        Ok(())
    }

    /// What supervision wants, done. Gives what follows.
    pub(super) fn supervise(
        &self,
        tended: &Tended,
        effect: SupervisionEffect,
        caller: &Caller,
    ) -> Result<Vec<MindEffect>> {
        match effect {
            SupervisionEffect::Warn { process, running_secs, why } => {
                tracing::warn!(
                    "warning: {process} appears stuck ({why}), running_time_secs={running_secs}"
                );
            }
            SupervisionEffect::Store { process, record } => {
                let now = caller.now()?;
                let at_unix_ms = now.get();
                tended.events.add(now, |seq| Stored {
                    seq,
                    at_unix_ms,
                    process: &process,
                    record: &record,
                })?;
                let told = tended.part().mind.supervisor.stored(&process);
                return Ok(told.into_iter().map(MindEffect::Supervise).collect());
            }
            SupervisionEffect::Cancel(process) => {
                if let Err(error) = self.stop_process(&tended.actor, &process) {
                    tracing::warn!("{process} was not stopped: {}", error.to_string());
                    // It may have ended meanwhile; then there is nobody to tell.
                    let _gone =
                        tended.part().mind.supervisor.cancel_failed(&process, &error.to_string());
                }
            }
            SupervisionEffect::Kill(process) => match self.stop_process(&tended.actor, &process) {
                // The runner ends the whole process group by force when its own grace is over.
                Ok(()) => tracing::warn!("{process} did not stop; its process group is ended"),
                Err(error) => {
                    // There is no run of it any more, so no end will come.
                    let why = error.to_string();
                    let ended = tended.part().mind.supervisor.ended(&process, &why, true);
                    let ended = ended.unwrap_or_default();
                    return Ok(ended.into_iter().map(MindEffect::Supervise).collect());
                }
            },
            SupervisionEffect::Emit(event) => self.emit(tended, &event, caller)?,
            SupervisionEffect::Stale { why } => {
                let error =
                    Error::new(ErrorCode::Stale, Fault::Server, format!("nobody is judged: {why}"));
                self.minds.say(&tended.actor, Err(error));
            }
        }
        Ok(Vec::new())
    }

    fn stop_process(&self, actor: &ActorName, process: &ProcessId) -> Result<()> {
        let hands = self.run_control()?;
        let run = run_of(hands.as_ref(), actor, process);
        match run.filter(|run| hands.cancel(run)) {
            Some(_) => Ok(()),
            None => Err(Error::missing("run", process)),
        }
    }
}

/// The run that a process is, if it goes on.
fn run_of(hands: &dyn RunControl, actor: &ActorName, process: &ProcessId) -> Option<String> {
    let id = Some(process.id.as_str());
    let context = context_of(actor, &process.id);
    let mut live = hands.live().into_iter().filter(|run| run.is_of(actor));
    let run = live.find(|run| match process.kind {
        ProcessKind::Worker => run.use_id == process.id,
        ProcessKind::Branch => run.context.as_ref() == Some(&context),
        ProcessKind::Channel => run.talent == TURN && run.channel.as_deref() == id,
    });
    run.map(|run| run.use_id)
}

/// What a run is to the mind; a compaction is nobody.
pub fn process_of(request: &RunRequest, use_id: &str) -> Option<ProcessId> {
    let RunRequest { name, channel, context, .. } = request;
    match (name.as_deref(), channel.as_deref(), context.as_deref()) {
        (Some(crate::channels::COMPACTION), Some(_), Some(_)) => None,
        (Some(TURN), Some(channel), Some(_)) => Some(ProcessId::channel(channel)),
        (_, Some(_), Some(context)) => {
            let actor = actor_of(request).ok()?;
            Some(ProcessId::branch(part_of(&actor, context)))
        }
        _ => Some(ProcessId::worker(use_id)),
    }
}
