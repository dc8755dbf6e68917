//! The log of what happened to channels, branches and workers: one file per day, lines that only grow.
//!
//! What must stay true: numbers of lines go on over restarts; a line that was torn by a crash spoils no other.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use api::{ErrorCode, Fault};
use kernel::memory::Millis;
use mind::supervision::{ProcessId, ProcessRecord};
use serde::Serialize;
use serde_json::Value;
use service::error::{Error, Result};

use crate::mind_host::lock;

/// The folder in an actor's folder that holds what happened, a file for each day.
const FOLDER: &str = "process-events";
/// Days that are kept.
const DAYS: usize = 60;

/// A line of the log that is no event: what came of a process.
#[derive(Debug, Serialize)]
pub(crate) struct StoredRecord<'a> {
    pub(crate) seq: u64,
    pub(crate) at_unix_ms: i64,
    pub(crate) process: &'a ProcessId,
    #[serde(flatten)]
    pub(crate) record: &'a ProcessRecord,
}

#[derive(Debug)]
struct Open {
    day: String,
    file: fs::File,
    seq: u64,
}

/// The log of events, which only grows.
#[derive(Debug)]
pub(crate) struct EventLog {
    folder: PathBuf,
    open: Mutex<Option<Open>>,
}

impl EventLog {
    pub(crate) fn new(actor: &Path) -> EventLog {
        EventLog { folder: actor.join(FOLDER), open: Mutex::default() }
    }

    /// Adds a line; `line` makes it from its number.
    pub(crate) fn add<T: Serialize>(&self, now: Millis, line: impl FnOnce(u64) -> T) -> Result<()> {
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
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<Value>> {
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
