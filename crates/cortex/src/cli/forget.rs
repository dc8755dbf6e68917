//! `cortex forget`, `restore` and `erase`: putting a memory away, bringing it back, deleting it for good.

use std::io::{BufRead as _, BufReader};

use clap::Args;
use kernel::command::{Command, Removal};
use kernel::scope::Operation;
use recall::embed::cache::forget_everywhere;
use serde_json::json;

use super::failure::{Failure, Outcome};
use super::open::Invocation;
use super::output::Output;
use super::parse::MemoryRef;
use super::views::ChangeView;
use crate::embedders::{EmbedError, cache_folder};

/// Forgets a memory: it is no longer found, but `restore` brings it back.
///
/// JSON: {id, uri, version, type, kind, seq, at, changed, replayed, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex forget 12 --reason \"no longer true\"
  cortex forget 12#3 --reason \"only if it is still version 3\"")]
pub(crate) struct ForgetArgs {
    /// Memory: 12, 12#3 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Brings a forgotten or archived memory back.
///
/// JSON: {id, uri, version, type, kind, seq, at, changed, replayed, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex restore 12")]
pub(crate) struct RestoreArgs {
    /// Memory: 12, 12#3 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "restored")]
    reason: String,
}

/// Deletes the content of a memory for good, in all its versions. This cannot be undone.
///
/// A prompt, a session's summary or the query of a late find is erased by the number of its journal entry.
///
/// When this returns, the bytes are gone from the store file. The journal keeps that there was a memory, and still
/// verifies. Proof files and backups made earlier are not reached.
///
/// JSON: {id, uri, version, type, kind, seq, at, changed, replayed, root}
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
}

pub(crate) fn forget(args: &ForgetArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let removal = removal(&args.memory, inv, &args.reason)?;
    remove(Command::Tombstone(removal), "forgot", inv, out)
}

pub(crate) fn restore(args: &RestoreArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let removal = removal(&args.memory, inv, &args.reason)?;
    remove(Command::Restore(removal), "restored", inv, out)
}

fn removal(memory: &MemoryRef, inv: &Invocation, reason: &str) -> Outcome<Removal> {
    let id = memory.of(inv.actor())?;
    Ok(Removal { id, expected: memory.version, reason: reason.to_owned() })
}

fn remove(command: Command, verb: &str, inv: &Invocation, out: &mut Output) -> Outcome {
    let cortex = inv.existing()?;
    let receipt = inv.change(&cortex, command, Some(Operation::Tombstone))?;
    let view = ChangeView::of(&cortex, &receipt)?;
    let verb = if receipt.changed { verb } else { "unchanged" };
    out.either(&view, format_args!("{verb} {}", view.uri))
}

pub(crate) fn erase(args: &EraseArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    inv.owner_only("erase")?;
    let cortex = inv.existing()?;
    let removal = removal(&args.memory, inv, &args.reason)?;
    // An id that is not there is said before anybody is asked to be sure.
    let reading = cortex.read()?;
    let memory = reading.view().head(removal.id)?;
    if memory.is_none() && reading.view().sealed(removal.id.get())?.is_none() {
        return Err(kernel::Error::not_found("memory or text", removal.id).into());
    }
    let versions = reading.view().versions(removal.id)?;
    let bodies: Vec<_> = versions.iter().map(|version| version.body_hash).collect();
    drop(reading);
    if !args.yes {
        confirm(&args.memory, inv, out)?;
    }
    let receipt = cortex.erase(inv.stamp()?, removal)?;
    // Vectors of optional models tell of the text, too.
    let cache = cache_folder(&inv.home().actor_folder(inv.actor()));
    forget_everywhere(&cache, &bodies).map_err(EmbedError::from)?;
    let verb = if receipt.changed { "erased" } else { "unchanged" };
    if memory.is_none() {
        let (id, at) = (args.memory.id, receipt.at.rfc3339());
        let view =
            json!({"id": id.get(), "seq": receipt.seq, "at": at, "changed": receipt.changed});
        return out.either(&view, format_args!("{verb} the text of entry {id}"));
    }
    let view = ChangeView::of(&cortex, &receipt)?;
    out.either(&view, format_args!("{verb} {}", view.uri))
}

fn confirm(memory: &MemoryRef, inv: &Invocation, out: &Output) -> Outcome {
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
