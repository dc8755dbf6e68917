//! `cortex ledger push` and `pull`: actors move between a home and the ledger, with the same roots on both sides.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::CommandResult;
use crate::output::{Output, ProgressLine, plain};
use crate::wiring::ledger::{self, HomeSettings, MoveWatch, OpenLedger};

pub(super) fn run(
    ledger: &OpenLedger,
    home: (&Path, &HomeSettings, Duration),
    actor: Option<&str>,
    is_push: bool,
    out: &mut Output,
) -> CommandResult {
    let line = Mutex::new(ProgressLine::new(out));
    let told: MoveWatch = Arc::new(move |doing, done, total| {
        // A panic while the line was written is no reason to stop the work that it tells of.
        line.lock().unwrap_or_else(PoisonError::into_inner).at(doing, done, total);
    });
    let moved = if is_push {
        ledger::push(ledger, home, actor, &told)?
    } else {
        ledger::pull(ledger, home, actor, &told)?
    };
    if out.is_json() {
        let view = |moved: &ledger::MovedActor| {
            json!({
                "actor": moved.actor, "entries": moved.entries, "moved": moved.moved,
                "root": moved.root,
            })
        };
        return out.object(&Value::Array(moved.iter().map(view).collect()));
    }
    let (from, to) =
        if is_push { ("this home", ledger.place()) } else { (ledger.place(), "this home") };
    if moved.is_empty() {
        return out.line(format_args!("{} has no actors", plain(from)));
    }
    for one in &moved {
        out.line(format_args!(
            "{}: {} entries in {}, {} of them new; root {}",
            one.actor,
            one.entries,
            plain(to),
            one.moved,
            one.root
        ))?;
    }
    Ok(())
}
