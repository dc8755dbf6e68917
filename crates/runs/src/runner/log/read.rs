//! Reading run logs, also while they are written and after they were torn.
//!
//! A line that is no JSON object is skipped and counted; a last line without its newline is not there yet (or was
//! torn by a crash) and is left alone. A log is looked for under its active name first: the rename goes from there
//! to the other, so whoever looks in this order finds it at any moment.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use api::run::{RunEvent, RunEventKind};

use talents::{Layout, TalentName, UseId};

/// Where a run's log is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunPath {
    pub name: TalentName,
    pub path: PathBuf,
    /// The run goes on, or nobody has ended it yet.
    pub active: bool,
}

/// One event of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// Its place in the log; the request is 0.
    pub seq: u64,
    pub event: RunEvent,
    /// The line as it stands in the file.
    pub text: String,
}

/// A whole log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLog {
    pub events: Vec<RunEvent>,
    /// Bytes after the last newline.
    pub torn_bytes: u64,
    /// LineReader that are no JSON object.
    pub bad_lines: u64,
}

impl RunLog {
    pub fn request(&self) -> Option<&RunEvent> {
        self.events.first().filter(|event| event.kind() == RunEventKind::Request)
    }

    /// The event that ended the run, if it has ended.
    pub fn terminal(&self) -> Option<&RunEvent> {
        self.events.iter().rev().find(|event| event.is_terminal())
    }

    pub fn last(&self, kind: RunEventKind) -> Option<&RunEvent> {
        self.events.iter().rev().find(|event| event.kind() == kind)
    }
}

/// All talents that have a folder of runs.
pub fn talents(layout: &Layout) -> io::Result<Vec<TalentName>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(layout.runs()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir()
            && let Some(name) = entry.file_name().to_str()
            && let Ok(name) = TalentName::parse(name)
        {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

/// All runs of a talent, oldest first; a run that has both names appears twice.
pub fn runs(layout: &Layout, talent: &TalentName) -> io::Result<Vec<(UseId, RunPath)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(layout.runs_of(talent))? {
        let path = entry?.path();
        let Some(stem) = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(".jsonl"))
        else {
            continue;
        };
        let (id, active) = match stem.strip_suffix("_active") {
            Some(id) => (id, true),
            None => (stem, false),
        };
        if let Ok(id) = UseId::parse(id) {
            found.push((id, RunPath { name: talent.clone(), path, active }));
        }
    }
    found.sort_by_key(|(id, run)| (id.as_str().len(), id.clone(), run.active));
    Ok(found)
}

/// The log of a run, whatever talent it is of.
pub fn find(layout: &Layout, run: &UseId) -> io::Result<Option<RunPath>> {
    for name in talents(layout)? {
        let active = layout.active_run(&name, run);
        if active.try_exists()? {
            return Ok(Some(RunPath { name, path: active, active: true }));
        }
        let ended = layout.ended_run(&name, run);
        if ended.try_exists()? {
            return Ok(Some(RunPath { name, path: ended, active: false }));
        }
    }
    Ok(None)
}

/// Reads a whole log.
pub fn read(path: &Path) -> io::Result<RunLog> {
    let mut log = RunLog::default();
    let mut from = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Ok(log);
        }
        if line.last() != Some(&b'\n') {
            log.torn_bytes = line.len() as u64;
            return Ok(log);
        }
        match serde_json::from_slice(&line) {
            Ok(event) => log.events.push(event),
            Err(_) => log.bad_lines += 1,
        }
    }
}

/// A part of a log.
#[derive(Debug, Default)]
pub(crate) struct LogPart {
    pub(crate) lines: Vec<LogLine>,
    /// Where the next part begins, in bytes and in lines.
    pub(crate) offset: u64,
    pub(crate) index: u64,
}

impl LogPart {
    /// Takes back a terminal event: the log has it, but not everything that follows an end is done.
    pub(crate) fn leave_the_end(&mut self) {
        if let Some(end) = self.lines.pop_if(|line| line.event.is_terminal()) {
            self.offset -= end.text.len() as u64 + 1;
            self.index -= 1;
        }
    }
}

/// Reads whole lines from `offset` on, about `bytes_max` of them; a line that is longer comes whole.
pub(crate) fn read_part(
    path: &Path,
    offset: u64,
    index: u64,
    bytes_max: u64,
) -> io::Result<LogPart> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut from = BufReader::new(file);
    let mut part = LogPart { lines: Vec::new(), offset, index };
    let mut line = Vec::new();
    while part.offset - offset < bytes_max {
        line.clear();
        let count = from.read_until(b'\n', &mut line)?;
        if count == 0 || line.last() != Some(&b'\n') {
            break;
        }
        line.pop();
        part.offset += count as u64;
        if let Ok(event) = serde_json::from_slice::<RunEvent>(&line)
            && let Ok(text) = String::from_utf8(line.clone())
        {
            let seq = event.seq().unwrap_or(part.index);
            part.lines.push(LogLine { seq, event, text });
        }
        part.index += 1;
    }
    Ok(part)
}
