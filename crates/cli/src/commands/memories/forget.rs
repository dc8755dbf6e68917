//! `cortex delete`, `forget`, `erase` and `restore`: putting a memory away, deleting it for good, bringing it back.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use api::change::{DeleteRequest, RestoreRequest};
use api::health::HealthRequest;
use api::render::people;
use clap::Args;

use crate::commands::transfer::backup;
use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::Output;
use crate::views;
use crate::wiring::words::MemoryRef;

/// How often it is asked whether copies in the index are gone.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Deletes a memory: it is no longer found, but `restore` brings it back; with --hard it is gone for good.
///
/// The same as `forget`, and with --hard as `erase`, for which a reason must be given.
///
/// JSON: {id, hard, uri, seq, at, changed, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex delete 12
  cortex delete 12 --hard --yes")]
pub(crate) struct DeleteArgs {
    /// Memory: 12, 12#3 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// Delete the content for good, in all its versions
    #[arg(long)]
    hard: bool,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With --hard: do not ask
    #[arg(long, requires = "hard")]
    yes: bool,
}

/// Forgets memories: they are no longer found, but `restore` brings them back.
///
/// JSON: {id, hard, uri, seq, at, changed, root}; a line for each
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex forget 12
  cortex forget 12 15 20 --reason \"tried out\"
  cortex forget 12#3 --reason \"only if it is still version 3\"")]
pub(crate) struct ForgetArgs {
    /// Memories: 12, 12#3 or a URI
    #[arg(value_name = "ID", required = true, num_args = 1..)]
    pub(crate) memories: Vec<MemoryRef>,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "forgotten")]
    reason: String,
}

/// Brings forgotten or archived memories back, or the actors of a backup.
///
/// With a folder it makes the actors of a backup again, in a home that does not have them; with --actor only that one.
/// --at stops at an earlier moment: a time, or the number of the last entry; what was erased since stays erased.
///
/// JSON: as `cortex get`, and {seq, at, changed, replayed, redacted, root}; with a folder {actors: [{actor, entries,
/// root, lost: [{place, reason}], erased_since: [id]}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex restore 12
  cortex restore 12 15 20
  cortex --home ~/restored restore ~/backups/cortex
  cortex --home ~/restored restore ~/backups/cortex --at 2026-11-14T12:00:00Z")]
pub(crate) struct RestoreArgs {
    /// Memories: 12, 12#3 or a URI; or the folder of a backup
    #[arg(value_name = "ID|DIR", required = true, num_args = 1..)]
    what: Vec<RestoreSource>,
    /// Why, for a memory
    #[arg(long, value_name = "TEXT", default_value = "restored")]
    reason: String,
    /// For a backup: the time or number of the last entry [default: all]
    #[arg(long, value_name = "TIME|SEQ", conflicts_with = "reason")]
    at: Option<String>,
}

/// What is brought back.
#[derive(Clone, Debug)]
enum RestoreSource {
    Memory(MemoryRef),
    Backup(PathBuf),
}

impl std::str::FromStr for RestoreSource {
    type Err = <MemoryRef as std::str::FromStr>::Err;

    /// What begins like a memory is one, so that a number typed wrong is no folder.
    fn from_str(text: &str) -> Result<RestoreSource, Self::Err> {
        let is_memory = text.starts_with("cortex:")
            || text.is_empty()
            || text.bytes().all(|b| b.is_ascii_digit() || b == b'#' || b == b'-');
        if is_memory || text.contains('#') && !text.contains('/') {
            return text.parse().map(RestoreSource::Memory);
        }
        Ok(RestoreSource::Backup(text.into()))
    }
}

impl RestoreArgs {
    /// The memory that is brought back, if it is one.
    pub(crate) fn memory(&self) -> Option<&MemoryRef> {
        match self.what.first()? {
            RestoreSource::Memory(memory) => Some(memory),
            RestoreSource::Backup(_) => None,
        }
    }
}

/// Deletes the content of a memory for good, in all its versions. This cannot be undone.
///
/// A prompt, a session's summary or the query of a late find is erased by the number of its journal entry.
///
/// When this returns, the content is gone from the ledger and nothing finds it. Copies in the index are removed in the
/// background; `cortex doctor` tells until they are, and --until-gone waits for it. The journal keeps that there was
/// a memory, and still verifies. The next backup into a folder removes it there; proof files and other backups made
/// earlier are not reached.
///
/// JSON: {id, hard, uri, seq, at, changed, pending, root}; pending, if it is there: copies in the index still go
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex erase 12 --reason \"asked to by the person it is about\" --yes")]
pub(crate) struct EraseArgs {
    /// Memory: 12, 12#3 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Return when copies in the index are gone, too
    #[arg(long)]
    until_gone: bool,
}

pub(crate) fn delete(args: &DeleteArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let reason = args.reason.clone();
    remove(&args.memory, reason, args.hard.then_some(args.yes), inv, out)
}

pub(crate) fn forget(args: &ForgetArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    for memory in &args.memories {
        remove(memory, Some(args.reason.clone()), None, inv, out)?;
    }
    Ok(())
}

pub(crate) fn erase(args: &EraseArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    remove(&args.memory, Some(args.reason.clone()), Some(args.yes), inv, out)?;
    if args.until_gone { copies_gone(inv) } else { Ok(()) }
}

/// Waits until copies of what was erased are gone from the index.
fn copies_gone(inv: &Invocation) -> CommandResult {
    loop {
        let health = inv.ask(HealthRequest {})?;
        let own = health.actors.into_iter().find(|found| found.actor == inv.actor().as_str());
        match own.and_then(|found| found.scrub) {
            None => return Ok(()),
            Some(reason) if reason.is_empty() => std::thread::sleep(LOOK_EVERY),
            Some(reason) => {
                let message =
                    format!("the content is gone, copies of it in the index are not: {reason}");
                return Err(Failure::Check { code: "not_scrubbed", message });
            }
        }
    }
}

/// Forgets, or erases if `erase` is there; it says whether somebody is sure already.
fn remove(
    memory: &MemoryRef,
    reason: Option<String>,
    erase: Option<bool>,
    inv: &Invocation,
    out: &mut Output,
) -> CommandResult {
    let request = DeleteRequest {
        id: memory.of(inv.actor())?.get(),
        hard: erase.is_some(),
        reason,
        expected_version: memory.version,
        dry_run: false,
    };
    if erase == Some(false) {
        // An id that is not there is said before anybody is asked to be sure.
        inv.ask(DeleteRequest { dry_run: true, ..request.clone() })?;
        confirm(memory, inv, out)?;
    }
    let answer = inv.ask(request)?;
    views::changed(&answer, inv, out, people::deleted)
}

pub(crate) fn restore(args: &RestoreArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let mut memories = Vec::new();
    for what in &args.what {
        match what {
            RestoreSource::Memory(_) if args.at.is_some() => {
                return Err(Failure::input("--at goes with the folder of a backup"));
            }
            RestoreSource::Memory(memory) => memories.push(memory),
            RestoreSource::Backup(folder) if args.what.len() == 1 => {
                return backup::restore(folder, args.at.as_ref(), inv, out);
            }
            RestoreSource::Backup(_) => {
                return Err(Failure::input("name memories, or the folder of one backup"));
            }
        }
    }
    for memory in memories {
        restore_one(args, memory, inv, out)?;
    }
    Ok(())
}

fn restore_one(
    args: &RestoreArgs,
    memory: &MemoryRef,
    inv: &Invocation,
    out: &mut Output,
) -> CommandResult {
    let request = RestoreRequest {
        id: memory.of(inv.actor())?.get(),
        reason: Some(args.reason.clone()),
        expected_version: memory.version,
    };
    let answer = inv.ask(request)?;
    views::changed(&answer, inv, out, people::restored)
}

fn confirm(memory: &MemoryRef, inv: &Invocation, out: &Output) -> CommandResult {
    if !inv.input_is_terminal() {
        return Err(Failure::input("erasing cannot be undone; repeat with --yes if you are sure"));
    }
    out.talk().write(format_args!(
        "Erase memory {} for good? This cannot be undone. Type yes to go on: ",
        memory.id
    ));
    let mut answer = String::new();
    BufReader::new(inv.take_input()?.reader)
        .read_line(&mut answer)
        .map_err(|error| Failure::Io { what: "standard input".into(), error })?;
    if answer.trim() == "yes" { Ok(()) } else { Err(Failure::input("nothing was erased")) }
}
