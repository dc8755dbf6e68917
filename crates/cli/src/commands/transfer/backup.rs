//! `cortex backup` and `salvage`, and the restore of a backup: copies of whole actors.

use std::path::{Path, PathBuf};

use api::backup::{ActorCopy, BackupRequest, RestoreBackupRequest, SalvageRequest};
use clap::Args;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Things named on a terminal; --json names all.
const NAMED_MAX: usize = 20;

/// Copies everything that is remembered into a folder, while agents go on.
///
/// The folder gets one folder per actor; with --actor only that one is copied. A later backup into the same folder
/// copies what is new, and what was erased since leaves it too. `cortex restore DIR` makes the actors again, as of
/// any moment that the backup covers. What is derived is not copied: it is made again.
///
/// JSON: {actors: [{actor, size, root, copied_bytes}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex backup ~/backups/cortex
  cortex --home ~/restored restore ~/backups/cortex --at 2026-11-14T12:00:00Z")]
pub(crate) struct BackupArgs {
    /// Folder of the backup
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Saves what is sound of a damaged actor into another home.
///
/// The damaged one is only read. Where an entry is lost, a marker stands in its place, so the root is another one.
/// What could not be read is named.
///
/// JSON: {actor, entries, root, lost: [{place, reason}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex salvage ~/cortex-salvaged
  cortex --home ~/cortex-salvaged verify")]
pub(crate) struct SalvageArgs {
    /// Folder of the home that gets the copy
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn backup(args: &BackupArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let actor = inv.other_actor().map(str::to_owned);
    let answer = inv.ask_watched(BackupRequest { folder: path(inv, &args.folder)?, actor }, out)?;
    if out.is_json() {
        return out.object(&answer);
    }
    for backup in &answer.actors {
        out.line(format_args!(
            "{}: {} entries, root {}, {} bytes copied",
            backup.actor, backup.size, backup.root, backup.copied_bytes
        ))?;
    }
    Ok(())
}

/// Makes the actors of a backup again.
pub(crate) fn restore(
    folder: &Path,
    at: Option<&String>,
    inv: &Invocation,
    out: &mut Output,
) -> CommandResult {
    let request = RestoreBackupRequest {
        folder: path(inv, folder)?,
        actor: inv.other_actor().map(str::to_owned),
        at: at.cloned(),
    };
    let answer = inv.ask_watched(request, out)?;
    if out.is_json() {
        return out.object(&answer);
    }
    answer.actors.iter().try_for_each(|copy| show("restored", copy, out))
}

pub(crate) fn salvage(args: &SalvageArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let copy = inv.ask_watched(SalvageRequest { folder: path(inv, &args.folder)? }, out)?;
    if out.is_json() { out.object(&copy) } else { show("salvaged", &copy, out) }
}

fn show(verb: &str, copy: &ActorCopy, out: &mut Output) -> CommandResult {
    let ActorCopy { actor, entries, root, lost, erased_since } = copy;
    out.line(format_args!("{verb} {actor}: {entries} entries, root {root}"))?;
    for problem in lost.iter().take(NAMED_MAX) {
        out.line(format_args!("lost {}: {}", plain(&problem.place), plain(&problem.reason)))?;
    }
    let more = lost.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        out.line(format_args!("and {more} more; --json names all"))?;
    }
    if !erased_since.is_empty() {
        let many = erased_since.len();
        out.line(format_args!(
            "erased after that moment, and here too by entries that follow: {many} memories"
        ))?;
    }
    Ok(())
}

/// The folder as the daemon finds it, too.
fn path(inv: &Invocation, folder: &Path) -> CommandResult<PathBuf> {
    let path = inv.path(folder);
    std::path::absolute(&path).map_err(|error| Failure::file(&path, error))
}
