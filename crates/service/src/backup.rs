//! Copies of actors: backup while others work, restore to a moment, and saving what is sound from a damaged one.
//!
//! A backup is a folder with one folder per actor. What must stay true: an actor that lives here is never overwritten,
//! and what is copied from is only read.

use std::path::{Path, PathBuf};

use api::backup::{
    ActorBackup, ActorCopy, BackupAnswer, BackupRequest, RestoreBackupAnswer, RestoreBackupRequest,
    SalvageRequest,
};
use api::upkeep::StoreProblem;
use api::{ErrorCode, Fault};
use kernel::actor::ActorName;
use kernel::ledger::RestorePoint;
use kernel::memory::MemoryId;
use kernel::{BackupManifest, Cortex, RestoreReport};

use crate::Service;
use crate::access::only_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::parse;

/// Actors that one backup holds.
const ACTORS_MAX: usize = 10_000;

impl Service {
    /// Copies the journals of all actors, or of one, into a folder.
    pub fn backup(&self, caller: &Caller, request: BackupRequest) -> Result<BackupAnswer> {
        only_owner(caller, "make backups")?;
        let folder = absolute(&request.folder)?;
        let mut actors = match &request.actor {
            Some(name) => vec![ActorName::parse(name)?],
            None => self.home.actors()?,
        };
        if actors.is_empty() {
            actors.push(caller.actor.clone());
        }
        let total = actors.len() as u64;
        let mut backups = Vec::with_capacity(actors.len());
        for (done, actor) in (1u64..).zip(actors) {
            let whose = Caller { actor, ..caller.clone() };
            let cortex = self.opened(&whose)?;
            let report = cortex.backup(&folder.join(whose.actor.as_str()))?;
            caller.tell("backed up", done, total);
            backups.push(ActorBackup {
                actor: whose.actor.as_str().to_owned(),
                size: report.manifest.size,
                root: report.manifest.root.to_string(),
                copied_bytes: report.copied_bytes,
            });
        }
        Ok(BackupAnswer { actors: backups })
    }

    /// Makes actors from a backup, as of its end or an earlier moment. None of them may live here.
    pub fn restore_backup(
        &self,
        caller: &Caller,
        request: RestoreBackupRequest,
    ) -> Result<RestoreBackupAnswer> {
        only_owner(caller, "restore backups")?;
        let at = request.at.as_deref().map(moment).transpose()?;
        let mut sources = backups_in(&absolute(&request.folder)?)?;
        if let Some(name) = &request.actor {
            sources.retain(|(actor, _)| actor.as_str() == name);
            if sources.is_empty() {
                return Err(Error::missing("backup of actor", name));
            }
        }
        // Nothing is made before all can be.
        for (actor, _) in &sources {
            if self.home.has(actor) {
                let message = format!("the actor {actor} lives in this home already");
                return Err(Error::new(ErrorCode::Exists, Fault::Conflict, message)
                    .with_hint("restore into an empty home with --home DIR"));
            }
        }
        let total = sources.len() as u64;
        let mut restored = Vec::with_capacity(sources.len());
        for (done, (actor, source)) in (1u64..).zip(sources) {
            let folder = self.home.actor_folder(&actor);
            let options = self.options.clone();
            let (cortex, report) = Cortex::restore_backup(&source, at, &folder, options)?;
            drop(cortex);
            caller.tell("restored", done, total);
            restored.push(copy_view(&actor, report));
        }
        Ok(RestoreBackupAnswer { actors: restored })
    }

    /// Copies everything that is sound of an actor into another home. The damaged one is only read.
    pub fn salvage(&self, caller: &Caller, request: SalvageRequest) -> Result<ActorCopy> {
        only_owner(caller, "salvage an actor")?;
        if !self.home.has(&caller.actor) {
            return Err(Error::missing("actor", &caller.actor));
        }
        let home = absolute(&request.folder)?;
        let target = home.join("actors").join(caller.actor.as_str());
        let source = self.home.actor_folder(&caller.actor);
        let options = self.options.clone();
        let (cortex, report) = Cortex::salvage(&source, &caller.actor, &target, options)?;
        drop(cortex);
        Ok(copy_view(&caller.actor, report))
    }
}

fn copy_view(actor: &ActorName, report: RestoreReport) -> ActorCopy {
    let lost = report.lost.into_iter();
    ActorCopy {
        actor: actor.as_str().to_owned(),
        entries: report.entries,
        root: report.root.to_string(),
        lost: lost.map(|note| StoreProblem { place: note.place, reason: note.reason }).collect(),
        erased_since: report.erased_since.into_iter().map(MemoryId::get).collect(),
    }
}

/// Whoever answers stands in another folder than whoever asks.
fn absolute(folder: &Path) -> Result<PathBuf> {
    if !folder.is_absolute() {
        return Err(Error::invalid("folder", "must be an absolute path"));
    }
    Ok(folder.to_owned())
}

/// A number is that of an entry; anything else is a time.
fn moment(text: &str) -> Result<RestorePoint> {
    match text.parse::<u64>() {
        Ok(seq) => Ok(RestorePoint::Seq(seq)),
        Err(_) => Ok(RestorePoint::Time(parse::time(text)?)),
    }
}

/// The actors that a backup holds, by name, with their folders.
fn backups_in(folder: &Path) -> Result<Vec<(ActorName, PathBuf)>> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::missing("folder", folder.display()),
        _ => Error::io(folder.display(), &error),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)?.take(ACTORS_MAX) {
        let path = entry.map_err(failed)?.path();
        if path.join("manifest").is_file() {
            found.push((BackupManifest::read(&path)?.actor, path));
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(Error::missing("backup in", folder.display()));
    }
    Ok(found)
}
