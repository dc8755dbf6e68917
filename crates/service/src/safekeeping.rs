//! Keeping memories safe while nobody asks: backups by schedule, and a read of every ledger once a week.
//!
//! A scheduled backup is a folder of its own, named by its moment, beside those before it; files that did not change
//! are links to the same bytes. A read of a ledger compares every byte with its checksum and the hash tree; what came
//! of it lies in the actor's `cache` folder until the next one. What must stay true: a backup has its name only when
//! it is complete; only folders with such names are ever removed; whoever uses an actor is not kept waiting.

use std::path::{Path, PathBuf};

use api::backup::BackupRequest;
use api::health::LedgerCheckView;
use api::upkeep::StoreProblem;
use kernel::actor::ActorName;
use kernel::memory::Millis;

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::parse;

/// How long an actor must have been left alone before its ledger is read.
const IDLE_MS: i64 = 60_000;
/// One that is never left alone is read all the same when it is overdue by this much.
const OVERDUE_MS: i64 = 86_400_000;
/// Backups in one folder that are looked at.
const BACKUPS_MAX: usize = 10_000;
/// The name of a backup that is being made.
const UNFINISHED: &str = "unfinished";
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// What is to be done without being asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SafetyPlan {
    pub backup: Option<BackupPlan>,
    /// Days between two reads of a ledger. 0: never.
    pub check_days: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupPlan {
    pub folder: PathBuf,
    pub every_hours: i64,
    /// How many are kept.
    pub keep: usize,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SafetyReport {
    pub backup: Option<PathBuf>,
    pub checked: Vec<ActorName>,
}

impl Service {
    /// Does what is due. What fails does not keep the rest from being done; the first failure is returned.
    pub fn keep_safe(&self, caller: &Caller, plan: &SafetyPlan) -> Result<SafetyReport> {
        let now = caller.now()?;
        let mut report = SafetyReport::default();
        let mut failure = None;
        if let Some(backup) = &plan.backup {
            match self.back_up_if_due(caller, backup, now) {
                Ok(made) => report.backup = made,
                Err(error) => failure = Some(error),
            }
        }
        if plan.check_days > 0 && !self.home.is_shared() {
            for actor in self.home.actors()? {
                match self.check_if_due(&actor, plan.check_days.saturating_mul(DAY_MS), now) {
                    Ok(true) => report.checked.push(actor),
                    Ok(false) => {}
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
        }
        failure.map_or(Ok(report), Err)
    }

    fn back_up_if_due(
        &self,
        caller: &Caller,
        plan: &BackupPlan,
        now: Millis,
    ) -> Result<Option<PathBuf>> {
        if !plan.folder.is_absolute() {
            return Err(Error::invalid("backup.dir", "must be an absolute path"));
        }
        let made = backups_in(&plan.folder)?;
        // One of a clock that was ahead does not count.
        let last = made.iter().rev().find(|(at, _)| *at <= now);
        let is_due = last.is_none_or(|(at, _)| {
            now.get().saturating_sub(at.get()) >= plan.every_hours.saturating_mul(HOUR_MS)
        });
        if !is_due || self.home.actors()?.is_empty() {
            return Ok(None);
        }
        let unfinished = plan.folder.join(UNFINISHED);
        remove_folder(&unfinished)?;
        let done = self.back_up_beside(caller, &unfinished, last.map(|(_, path)| path.as_path()));
        if let Err(error) = done {
            // What is not complete is worthless, and takes room that is missing perhaps.
            let _ = remove_folder(&unfinished);
            return Err(error);
        }
        let path = plan.folder.join(backup_name(now));
        let renamed = std::fs::rename(&unfinished, &path);
        renamed.map_err(|error| Error::io(path.display(), &error))?;
        let kept = plan.keep.max(1) - 1;
        for (_, old) in made.iter().rev().skip(kept) {
            remove_folder(old)?;
        }
        Ok(Some(path))
    }

    /// Makes a backup that shares its unchanged files with the last one.
    fn back_up_beside(&self, caller: &Caller, folder: &Path, last: Option<&Path>) -> Result<()> {
        for actor in self.home.actors()? {
            let here = folder.join(actor.as_str());
            std::fs::create_dir_all(&here).map_err(|error| Error::io(here.display(), &error))?;
            if let Some(last) = last {
                // Where the file system has no links, everything is copied.
                let _ = link_files(&last.join(actor.as_str()), &here);
            }
        }
        let request = BackupRequest { folder: folder.to_owned(), actor: None };
        self.backup(caller, request).map(drop)
    }

    fn check_if_due(&self, actor: &ActorName, every_ms: i64, now: Millis) -> Result<bool> {
        let since = match self.last_check(actor)? {
            // A moment that has not come yet was of a clock that was ahead.
            Some(check) => parse::time(&check.at).map_or(i64::MAX, |at| {
                now.get().checked_sub(at.get()).filter(|ms| *ms >= 0).unwrap_or(i64::MAX)
            }),
            None => every_ms,
        };
        let is_left_alone = self.home.idle_ms(actor, now).is_none_or(|idle| idle >= IDLE_MS);
        let is_overdue = since.saturating_sub(every_ms) >= OVERDUE_MS;
        if since < every_ms || !(is_left_alone || is_overdue) {
            return Ok(false);
        }
        let cortex = self.home.actor(actor, now)?;
        if cortex.read()?.view().counters()?.size == 0 {
            return Ok(false);
        }
        let check = cortex.check_ledger(&mut |_, _| {})?;
        let problems = check.problems.into_iter();
        let view = LedgerCheckView {
            at: now.rfc3339(),
            entries: check.entries,
            problems: problems
                .map(|note| StoreProblem { place: note.place, reason: note.reason })
                .collect(),
        };
        self.keep_check(actor, &view)?;
        Ok(true)
    }

    /// Keeps what a read of an actor's ledger came to, until the next one.
    pub(crate) fn keep_check(&self, actor: &ActorName, view: &LedgerCheckView) -> Result<()> {
        let path = self.check_file(actor);
        let text = serde_json::to_vec(view).map_err(|error| Error::internal(error.to_string()))?;
        let folder = self.home.actor_folder(actor).join("cache");
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| crate::files::replace_private_file(&path, &text));
        written.map_err(|error| Error::io(path.display(), &error))
    }

    /// What the last read of an actor's ledger came to.
    pub(crate) fn last_check(&self, actor: &ActorName) -> Result<Option<LedgerCheckView>> {
        let path = self.check_file(actor);
        match std::fs::read(&path) {
            // What does not read is made again.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path.display(), &error)),
        }
    }

    /// The last reads of all ledgers.
    pub fn ledger_checks(&self) -> Result<Vec<(String, LedgerCheckView)>> {
        let mut checks = Vec::new();
        for actor in self.home.actors()? {
            if let Some(check) = self.last_check(&actor)? {
                checks.push((actor.to_string(), check));
            }
        }
        Ok(checks)
    }

    fn check_file(&self, actor: &ActorName) -> PathBuf {
        self.home.actor_folder(actor).join("cache").join("ledger-check.json")
    }
}

/// When the newest scheduled backup in a folder was made.
pub fn newest_backup(folder: &Path) -> Result<Option<Millis>> {
    Ok(backups_in(folder)?.last().map(|(at, _)| *at))
}

/// The complete backups in a folder, oldest first.
fn backups_in(folder: &Path) -> Result<Vec<(Millis, PathBuf)>> {
    let failed = |error: std::io::Error| Error::io(folder.display(), &error);
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries.take(BACKUPS_MAX) {
        let entry = entry.map_err(failed)?;
        // A folder with another name is not ours.
        if let Some(at) = entry.file_name().to_str().and_then(moment_of) {
            found.push((at, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// `20261118T045500Z`: times sort as names do, and every file system takes them.
fn backup_name(at: Millis) -> String {
    let text = at.rfc3339();
    let whole = text.split('.').next().unwrap_or_default();
    format!("{}Z", whole.replace(['-', ':'], ""))
}

fn moment_of(name: &str) -> Option<Millis> {
    let part = |range: std::ops::Range<usize>| name.get(range);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0..4)?,
        part(4..6)?,
        part(6..8)?,
        part(9..11)?,
        part(11..13)?,
        part(13..15)?
    );
    let at = parse::time(&text).ok()?;
    (backup_name(at) == name).then_some(at)
}

/// Gives the files of a backup of one actor a second name.
fn link_files(from: &Path, to: &Path) -> std::io::Result<()> {
    let ledger = to.join("ledger");
    std::fs::create_dir_all(&ledger)?;
    for entry in std::fs::read_dir(from.join("ledger"))? {
        let entry = entry?;
        std::fs::hard_link(entry.path(), ledger.join(entry.file_name()))?;
    }
    // Last: with it the files count as those of an earlier backup.
    std::fs::copy(from.join("manifest"), to.join("manifest")).map(drop)
}

fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(folder.display(), &error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_moment_and_nothing_else_is() {
        let at = Millis(1_794_977_700_000);
        assert_eq!(moment_of(&backup_name(at)), Some(at));
        for name in ["unfinished", "20261118", "20261118T045500", "20261399T045500Z", "ärger", ""]
        {
            assert_eq!(moment_of(name), None, "{name}");
        }
    }
}
