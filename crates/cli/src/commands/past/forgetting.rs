//! `cortex past forget`, `restore`, `forgotten`, `exclude`, `verify` and `rebuild`.

use api::past::{
    PastCheckRequest, PastExcludeRequest, PastForgetRequest, PastRebuildRequest,
    PastRestoreRequest, PastTombstonesRequest,
};
use api::render::people;
use clap::Args;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Forgets sessions or turns for good: they are in no byte of the past, and do not come back by reading anew.
///
/// A tombstone in the journal, without any text, keeps them away; copies in forks go, too. `past restore` lifts it and
/// reads again what the agent still has. Files of agents are not touched.
///
/// JSON: {sessions, turns, memories, memories_forgotten, dry_run}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past forget codex:0199c0de#12 --reason 'a password'
  cortex past forget --project secret-client --reason 'contract ended' --dry-run
  cortex past forget --before 2026-01-01 --reason old")]
pub(super) struct ForgetArgs {
    /// AGENT:SESSION or AGENT:SESSION#TURN
    #[arg(value_name = "REF")]
    references: Vec<String>,
    /// Every session of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Every session in this folder or below; * and ** stand for any
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// Every session of the project of this name
    #[arg(long, value_name = "NAME", conflicts_with = "folder")]
    project: Option<String>,
    /// Every session whose last record is older
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Why; it is journaled
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    reason: Option<String>,
    /// Only say what would be forgotten
    #[arg(long)]
    dry_run: bool,
    /// Forget the memories that were made of it, too
    #[arg(long)]
    with_memories: bool,
}

/// Lets something that was forgotten be read again, and reads it if the agent still has it.
///
/// JSON: {ref, lifted, is_back}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past restore codex:0199c0de#12")]
pub(super) struct RestoreArgs {
    /// AGENT:SESSION or AGENT:SESSION#TURN, as it was forgotten, in full
    #[arg(value_name = "REF")]
    reference: String,
}

/// Keeps folders and agents out of the past, and removes what was read of them.
///
/// Without a pattern it lists them. Temporary folders, the home of Cortex, and folders with a file `.cortex-no-past` in
/// them or above are never read.
///
/// JSON: {excluded, sessions, dry_run}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past exclude
  cortex past exclude '/home/me/clients/**'
  cortex past exclude gemini-cli --dry-run
  cortex past exclude '/home/me/clients/**' --remove")]
pub(super) struct ExcludeArgs {
    /// A folder (* and ** stand for any), or the name of an agent
    #[arg(value_name = "GLOB")]
    pattern: Option<String>,
    /// Read it again from now on
    #[arg(long, requires = "pattern")]
    remove: bool,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Makes catalogue and index again from what is kept; no source is needed.
///
/// JSON: {sessions, turns, masked}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past rebuild
  cortex past rebuild --mask")]
pub(super) struct RebuildArgs {
    /// Look for secrets again, with the rules of this version
    #[arg(long)]
    mask: bool,
}

pub(super) fn forget(args: &ForgetArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastForgetRequest {
        refs: args.references.clone(),
        agent: args.agent.clone(),
        folder: args
            .folder
            .clone()
            .or_else(|| args.project.as_ref().map(|name| format!("**/{name}"))),
        before: args.before.clone(),
        reason: args.reason.clone().unwrap_or_default(),
        dry_run: args.dry_run,
        with_memories: args.with_memories,
    })?;
    out.answer(&answer, people::past_forgotten)
}

pub(super) fn restore(args: &RestoreArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastRestoreRequest { reference: args.reference.clone() })?;
    let reference = plain(&answer.reference);
    let line = match (answer.lifted, answer.is_back) {
        // Nobody knows the names behind tombstones, so the beginning of one finds nothing.
        (false, _) => {
            let message = format!("nothing was forgotten under the name {reference:?}");
            let hint = "name it in full, as it was forgotten: AGENT:SESSION or AGENT:SESSION#TURN";
            let error = api::Error::new(api::ErrorCode::NotFound, api::Fault::Missing, message);
            return Err(error.with_hint(hint).into());
        }
        (true, true) => format!("{reference} is back"),
        (true, false) => {
            format!("{reference} may be read again, but its source does not hold it any more")
        }
    };
    out.either(&answer, line)
}

pub(super) fn forgotten(inv: &Invocation, out: &mut Output) -> CommandResult {
    out.answer(&inv.ask(PastTombstonesRequest::default())?, people::past_tombstones)
}

pub(super) fn exclude(args: &ExcludeArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastExcludeRequest {
        add: args.pattern.clone().filter(|_| !args.remove),
        remove: args.pattern.clone().filter(|_| args.remove),
        dry_run: args.dry_run,
    })?;
    if out.is_json() {
        return out.object(&answer);
    }
    for word in &answer.excluded {
        out.line(plain(word))?;
    }
    if answer.excluded.is_empty() {
        out.say("nothing is excluded but temporary folders and the home of Cortex");
    }
    let verb = if answer.dry_run { "would be removed" } else { "removed from the past" };
    match answer.sessions.len() {
        0 => {}
        1 => out.say(format_args!("1 session {verb}")),
        count => out.say(format_args!("{count} sessions {verb}")),
    }
    Ok(())
}

pub(super) fn verify(inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastCheckRequest::default())?;
    out.answer(&answer, people::past_checked)?;
    if answer.sound {
        return Ok(());
    }
    let message = "files of the past are not what their names say".to_owned();
    Err(Failure::Check { code: "past_damaged", message })
}

pub(super) fn rebuild(args: &RebuildArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastRebuildRequest { mask: args.mask })?;
    let line = format!(
        "made again: {} sessions, {} turns; {} secrets masked now",
        answer.sessions, answer.turns, answer.masked
    );
    out.either(&answer, line)
}
