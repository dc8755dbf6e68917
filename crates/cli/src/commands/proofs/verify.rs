//! `cortex verify` and `rebuild`: checking everything against the journal, and making everything from it.

use std::time::Instant;

use api::auditor::SinceRootRequest;
use api::upkeep::{PROBLEMS_NAMED_MAX, RebuildAnswer, RebuildRequest, VerifyStoreRequest};
use clap::Args;
use serde::Serialize;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Checks every byte of the store: the journal, the bodies, and all that is derived, against a replay.
///
/// Exit code 0 only if nothing is wrong; 1 with a list of problems otherwise.
///
/// With --since-root it answers another question: was this root, which you kept, ever that of this memory? Then
/// everything it covered is still there, unaltered, and what is here now grew out of it. Exit code 1 if not.
///
/// JSON: {clean, entries, rows, root, problems: [{place, reason}]}; with --since-root {root, size, current_root,
/// current_size}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex verify
  cortex verify --json
  cortex verify --since-root $(cat trusted-root.txt)")]
pub(crate) struct VerifyArgs {
    /// A root that was printed at some time
    #[arg(long, value_name = "HEX")]
    since_root: Option<String>,
}

/// Makes everything derived again from the journal, and checks that the root is the same.
///
/// Also the way out when the store cannot be opened because something derived is damaged.
///
/// JSON: {entries, entries_per_second, root, unchanged}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex rebuild")]
pub(crate) struct RebuildArgs {}

#[derive(Debug, Serialize)]
struct RebuildView {
    entries: u64,
    entries_per_second: u64,
    root: String,
    unchanged: bool,
}

pub(crate) fn verify(args: &VerifyArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    if let Some(root) = &args.since_root {
        let answer = inv.ask_watched(SinceRootRequest { root: root.clone() }, out)?;
        let said = format!(
            "the first {} of {} entries are those of the root {}: nothing was rewritten since",
            answer.size, answer.current_size, answer.root
        );
        return out.either(&answer, said);
    }
    let view = inv.ask_watched(VerifyStoreRequest {}, out)?;
    if out.is_json() {
        out.object(&view)?;
    } else if view.clean {
        let root = view.root.as_deref().unwrap_or("-");
        out.line(format_args!(
            "clean: {} entries replayed, {} rows compared, root {root}",
            view.entries, view.rows,
        ))?;
    } else {
        for problem in &view.problems {
            out.line(format_args!("{}: {}", plain(&problem.place), plain(&problem.reason)))?;
        }
    }
    if view.clean {
        return Ok(());
    }
    let most = if view.problems.len() >= PROBLEMS_NAMED_MAX { " or more" } else { "" };
    let count = view.problems.len();
    let things = if count == 1 { "problem" } else { "problems" };
    let message = format!("the store is not clean: {count}{most} {things}");
    Err(Failure::Check { code: "not_clean", message })
}

pub(crate) fn rebuild(_: &RebuildArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let started = Instant::now();
    let RebuildAnswer { entries, root, unchanged, damage } =
        inv.ask_watched(RebuildRequest {}, out)?;
    let millis = started.elapsed().as_millis().max(1);
    let rate = u64::try_from(u128::from(entries) * 1_000 / millis).unwrap_or(u64::MAX);
    let view = RebuildView { entries, entries_per_second: rate, root, unchanged };
    let root = &view.root;
    match damage {
        None => out.either(
            &view,
            format_args!(
                "rebuilt {entries} entries, {rate} per second; the root is unchanged: {root}"
            ),
        ),
        Some(damage) => out.either(
            &view,
            format_args!(
                "the store could not be opened ({damage}); rebuilt {entries} entries, root {root}"
            ),
        ),
    }
}
