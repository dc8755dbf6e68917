//! `cortex verify` and `rebuild`: checking everything against the journal, and making everything from it.

use std::sync::mpsc::channel;
use std::time::Instant;

use api::ErrorCode;
use clap::Args;
use kernel::Cortex;
use serde::Serialize;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, ProgressLine, plain};

/// Checks every byte of the store: the journal, the bodies, and all that is derived, against a replay.
///
/// Exit code 0 only if nothing is wrong; 1 with a list of problems otherwise.
///
/// JSON: {clean, entries, rows, root, problems: [{place, reason}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex verify
  cortex verify --json")]
pub(crate) struct VerifyArgs {}

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
struct VerifyView {
    clean: bool,
    entries: u64,
    /// Derived rows compared.
    rows: u64,
    root: Option<String>,
    problems: Vec<ProblemView>,
}

#[derive(Debug, Serialize)]
struct ProblemView {
    place: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct RebuildView {
    entries: u64,
    entries_per_second: u64,
    root: String,
    unchanged: bool,
}

pub(crate) fn verify(_: &VerifyArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("verify the store")?;
    let cortex = inv.existing()?;
    let scratch = inv.home().actor_folder(inv.actor()).join("cache").join("verify");
    // A check that was killed leaves its scratch store behind; the actor's lock says that nobody uses it.
    match std::fs::remove_dir_all(&scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::file(&scratch, error));
        }
        _ => {}
    }
    let mut progress = ProgressLine::new(out, "checked");
    let report = cortex.verify(&scratch, &mut |done, total| progress.at(done, total))?;
    let view = VerifyView {
        clean: report.is_clean(),
        entries: report.entries,
        rows: report.rows,
        root: report.root.map(|root| root.to_string()),
        problems: report
            .problems
            .into_iter()
            .map(|problem| ProblemView { place: problem.place, reason: problem.reason })
            .collect(),
    };
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
    let most = if view.problems.len() >= kernel::PROBLEMS_MAX { " or more" } else { "" };
    let message = format!("the store is not clean: {}{most} problems", view.problems.len());
    Err(Failure::Check { code: "not_clean", message })
}

pub(crate) fn rebuild(_: &RebuildArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("rebuild the store")?;
    let cortex = match inv.existing() {
        Err(Failure::Operation(damage)) if damage.code == ErrorCode::Corrupt => {
            return repair(&damage, inv, out);
        }
        other => other?,
    };
    let before = cortex.root()?;
    let started = Instant::now();
    // The rebuild runs on the pen's thread; its progress comes back here to be shown.
    let (sender, received) = channel();
    let mut progress = ProgressLine::new(out, "rebuilt");
    let shown = std::thread::spawn(move || {
        for (done, total) in received {
            progress.at(done, total);
        }
    });
    let entries = cortex.rebuild(Box::new(move |done, total| {
        // Progress is not worth failing for.
        let _ = sender.send((done, total));
    }));
    // Only progress is shown there; what went wrong with it is no error of the rebuild.
    let _ = shown.join();
    let entries = entries?;
    let millis = started.elapsed().as_millis().max(1);
    let after = cortex.root()?;
    let rate = u64::try_from(u128::from(entries) * 1_000 / millis).unwrap_or(u64::MAX);
    let view = RebuildView {
        entries,
        entries_per_second: rate,
        root: after.to_string(),
        unchanged: before == after,
    };
    if before != after {
        out.object(&view)?;
        return Err(kernel::Error::RootMismatch { expected: before, found: after }.into());
    }
    out.either(
        &view,
        format_args!(
            "rebuilt {entries} entries, {rate} per second; the root is unchanged: {after}"
        ),
    )
}

/// A store that cannot be opened has no root to compare with; what the journal gives is what there is.
fn repair(damage: &api::Error, inv: &Invocation, out: &mut Output) -> CommandResult {
    let started = Instant::now();
    let folder = inv.home().actor_folder(inv.actor());
    let mut progress = ProgressLine::new(out, "rebuilt");
    let shown = &mut |done, total| progress.at(done, total);
    let options = inv.options().clone();
    let (cortex, entries) = Cortex::rebuild_in(&folder, inv.actor(), options, shown)?;
    let millis = started.elapsed().as_millis().max(1);
    let rate = u64::try_from(u128::from(entries) * 1_000 / millis).unwrap_or(u64::MAX);
    let root = cortex.root()?.to_string();
    let view = RebuildView { entries, entries_per_second: rate, root, unchanged: false };
    out.either(
        &view,
        format_args!(
            "the store could not be opened ({damage}); rebuilt {entries} entries, root {}",
            view.root
        ),
    )
}
