//! Setting an agent up and taking it back: plans every file first, then writes.
//!
//! If any file of the agent cannot be read or understood, none is changed.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agent::Agent;
use crate::setup::change::unified;
use crate::setup::files;
use crate::setup::files::{Result, SetupError};
use crate::setup::launch::{Launch, Program};
use crate::setup::places::Scope;
use crate::setup::places::{Places, Surroundings, places};
use crate::setup::plan;
use crate::setup::plan::Trace;
use crate::setup::recipe::{Content, Target, targets};
use crate::setup::record::{FileRecord, Record};

/// How often a file that changes under our hands is planned anew.
const ATTEMPTS_MAX: u32 = 5;

/// Everything that decides what a set-up writes.
#[derive(Debug)]
pub struct SetupJob<'a> {
    pub agent: Agent,
    pub scope: Scope,
    pub surroundings: &'a Surroundings,
    pub program: &'a Program,
    /// Where Cortex keeps its things; the record of set-ups is there.
    pub home: &'a Path,
    /// Options that say whose memory it is, if that is not the default.
    pub globals: Vec<String>,
    pub tools: String,
    /// Look, but change nothing.
    pub dry_run: bool,
}

/// What happened to one file, or would.
#[derive(Debug, Serialize)]
pub struct FileOutcome {
    pub path: PathBuf,
    pub action: Action,
    /// The copy from before, beside the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Created,
    Changed,
    Unchanged,
    Deleted,
}

impl Action {
    pub fn word(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Changed => "changed",
            Action::Unchanged => "unchanged",
            Action::Deleted => "deleted",
        }
    }
}

impl SetupJob<'_> {
    fn places(&self) -> Result<Places> {
        places(self.agent, self.scope, self.surroundings).ok_or(SetupError::NoProject(self.agent))
    }

    fn targets(&self) -> Result<Vec<Target>> {
        let launch = Launch {
            program: self.program.written(self.agent, self.scope),
            globals: self.globals.clone(),
            tools: self.tools.clone(),
            system: self.surroundings.system,
        };
        Ok(targets(self.agent, &self.places()?, &launch))
    }
}

/// The candidate that exists, or the first.
pub(super) fn chosen(target: &Target) -> &Path {
    let exists = target.candidates.iter().find(|path| path.exists() || path.is_symlink());
    exists.unwrap_or(&target.candidates[0])
}

/// Brings the agent's settings to what they should be.
pub fn set_up(job: &SetupJob<'_>) -> Result<Vec<FileOutcome>> {
    let mut record = Record::load(job.home)?;
    let targets = job.targets()?;
    // A first round without writing: a file that cannot be edited must stop the others too.
    for target in &targets {
        let path = chosen(target);
        let trace = record.file(path).map(|file| &file.trace);
        add(&target.content, path, trace)?;
    }
    let mut outcomes = Vec::new();
    for target in &targets {
        let path = chosen(target);
        outcomes.push(attempts(|| set_up_file(job, &target.content, path, &mut record))?);
    }
    Ok(outcomes)
}

fn add(
    content: &Content,
    path: &Path,
    trace: Option<&Trace>,
) -> Result<(Option<String>, Option<plan::Step>)> {
    let current = files::read(path)?;
    let step = plan::adding(content, current.as_deref(), trace)
        .map_err(|fault| SetupError::Broken { path: path.to_owned(), fault })?;
    Ok((current, step))
}

fn set_up_file(
    job: &SetupJob<'_>,
    content: &Content,
    path: &Path,
    record: &mut Record,
) -> Result<FileOutcome> {
    let known = record.file(path).cloned();
    let (current, step) = add(content, path, known.as_ref().map(|file| &file.trace))?;
    let action = match (&step, &current) {
        (None, _) => Action::Unchanged,
        (Some(_), None) => Action::Created,
        (Some(_), Some(_)) => Action::Changed,
    };
    let mut outcome = FileOutcome {
        path: path.to_owned(),
        action,
        copy: known.as_ref().and_then(|file| file.copy.clone()),
        diff: None,
    };
    let Some(step) = step else { return Ok(outcome) };
    if job.dry_run {
        outcome.diff = Some(diff(path, current.as_deref(), Some(&step.text)));
        return Ok(outcome);
    }
    if outcome.copy.is_none() && current.is_some() {
        outcome.copy = Some(files::keep_copy(path)?);
    }
    let folders = match &known {
        Some(file) => file.folders.clone(),
        None => files::missing_folders(path),
    };
    let (agent, scope, copy) = (job.agent, job.scope, outcome.copy.clone());
    // The record first: if the machine stops here, removing still knows what there was.
    record.set(job.home, path, FileRecord { agent, scope, copy, folders, trace: step.trace })?;
    files::write(path, &step.text, current.as_deref())?;
    Ok(outcome)
}

/// Takes everything of ours out of the agent's settings.
pub fn remove(job: &SetupJob<'_>) -> Result<Vec<FileOutcome>> {
    let mut record = Record::load(job.home)?;
    let mut outcomes = Vec::new();
    for target in &job.targets()? {
        // Every candidate: the agent's preference may have changed since.
        for path in &target.candidates {
            if path.exists() || path.is_symlink() || record.file(path).is_some() {
                outcomes.push(attempts(|| remove_file(job, &target.content, path, &mut record))?);
            }
        }
    }
    Ok(outcomes)
}

fn remove_file(
    job: &SetupJob<'_>,
    content: &Content,
    path: &Path,
    record: &mut Record,
) -> Result<FileOutcome> {
    let known = record.file(path).cloned();
    let current = files::read(path)?;
    let next = match &current {
        Some(text) => plan::removing(content, text, known.as_ref().map(|file| &file.trace))
            .map_err(|fault| SetupError::Broken { path: path.to_owned(), fault })?,
        None => None,
    };
    let action = match (&current, &next) {
        (Some(_), None) => Action::Deleted,
        (Some(current), Some(next)) if current != next => Action::Changed,
        _ => Action::Unchanged,
    };
    let mut outcome = FileOutcome { path: path.to_owned(), action, copy: None, diff: None };
    if job.dry_run {
        if action != Action::Unchanged {
            outcome.diff = Some(diff(path, current.as_deref(), next.as_deref()));
        }
        return Ok(outcome);
    }
    match (action, &next) {
        (Action::Deleted, _) => files::delete(path)?,
        (Action::Changed, Some(next)) => files::write(path, next, current.as_deref())?,
        _ => {}
    }
    if let Some(file) = known {
        if let Some(copy) = &file.copy {
            files::delete(copy)?;
        }
        record.forget(job.home, path)?;
    }
    Ok(outcome)
}

fn attempts<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS_MAX {
        match attempt() {
            Err(SetupError::Restless { .. }) => {}
            other => return other,
        }
    }
    attempt()
}

fn diff(path: &Path, old: Option<&str>, new: Option<&str>) -> String {
    unified(&path.display().to_string(), old, new)
}
