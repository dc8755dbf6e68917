//! `cortex checkpoint` and `verify-checkpoint`: a signed statement of how far the journal was, and its check.

use std::io::Read;
use std::path::PathBuf;

use api::auditor::CheckpointRequest;
use clap::Args;
use serde_json::json;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::wiring::words::check_note;

/// Bytes of a note that are read at most.
const NOTE_BYTES_MAX: u64 = 65_536;

/// Prints a checkpoint: size and roots of the journal, signed with the key of this home.
///
/// The form is that of transparency logs, so that a witness can add its signature. Whoever keeps a checkpoint can later
/// tell whether the journal was rewritten: `cortex verify --since-root` with the root that it names. The key is made at
/// the first checkpoint, in the file checkpoint.key of the home.
///
/// JSON: {note, key, actor, size, root, journal_root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex checkpoint > checkpoint.txt
  cortex checkpoint --key > key.txt
  cortex verify-checkpoint checkpoint.txt --key $(cat key.txt)")]
pub(crate) struct CheckpointArgs {
    /// Print the public key to check with instead
    #[arg(long)]
    key: bool,
}

/// Checks a checkpoint. Needs no home and no store.
///
/// Exit code 0 if the holder of the key signed it, 1 if not.
///
/// JSON: {valid, origin, size, journal_root, root, time}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex verify-checkpoint checkpoint.txt --key $(cat key.txt)")]
pub(crate) struct VerifyCheckpointArgs {
    /// File written by `cortex checkpoint`; - reads standard input
    file: PathBuf,
    /// The key you trust, as `cortex checkpoint --key` prints it
    #[arg(long, value_name = "KEY")]
    key: String,
}

pub(crate) fn sign(args: &CheckpointArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(CheckpointRequest {})?;
    if out.is_json() {
        return out.object(&answer);
    }
    if args.key { out.line(&answer.key) } else { out.text(&answer.note) }
}

pub(crate) fn verify(args: &VerifyCheckpointArgs, out: &mut Output) -> CommandResult {
    let mut note = String::new();
    let read = if args.file.as_os_str() == "-" {
        std::io::stdin().take(NOTE_BYTES_MAX).read_to_string(&mut note)
    } else {
        std::fs::File::open(&args.file)
            .and_then(|file| file.take(NOTE_BYTES_MAX).read_to_string(&mut note))
    };
    read.map_err(|error| Failure::file(&args.file, error))?;
    let checked = check_note(&note, &args.key)?;
    let view = json!({
        "valid": true, "origin": checked.origin, "size": checked.size,
        "journal_root": checked.journal_root.to_string(), "root": checked.root,
        "time": checked.time,
    });
    let said = format!(
        "valid: {} had {} entries and the root {} at {}",
        plain(&checked.origin),
        checked.size,
        plain(&checked.root),
        plain(&checked.time)
    );
    out.either(&view, said)
}
