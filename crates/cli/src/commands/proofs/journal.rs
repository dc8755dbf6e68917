//! `cortex journal`: what happened, entry by entry.

use std::ops::ControlFlow;

use clap::Args;
use kernel::journal::{Entry, EntryKind};
use kernel::store::{KeyRange, View};
use kernel::{Error, keys};
use serde_json::Value;
use service::activity;

use crate::commands::proofs::entry_view;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Lists the journal, one line per entry, oldest first.
///
/// JSON: one object per line: {seq, kind, at, by, run, idempotency_key, payload}; kind is that of the entry, and what
/// the payload of a write calls type and memory_type is that of the memory
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex journal --from 100 --limit 20
  cortex journal --kind update
  cortex journal --entry 12
  cortex journal --json | jq .kind")]
pub(crate) struct JournalArgs {
    /// First entry
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u64,
    /// Entries to show at most [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Only entries of this kind: write, update, update_head, tombstone, restore, erase, add_edge …
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only entries of this background run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// One entry with everything it carries
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "limit", "kind", "run"])]
    entry: Option<u64>,
}

pub(crate) fn run(args: &JournalArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("read the journal")?;
    let kind = args.kind.as_deref().map(EntryKind::parse).transpose()?;
    let cortex = inv.existing()?;
    let reading = cortex.read()?;
    let view = reading.view();
    if let Some(seq) = args.entry {
        let entry = view.entry(seq)?.ok_or_else(|| Error::not_found("entry", seq))?;
        let shown = entry_view::entry(&entry, &entry.payload()?);
        return if out.is_json() { out.object(&shown) } else { tree(out, &shown, 0) };
    }

    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut show = |entry: &Entry, out: &mut Output| -> CommandResult<bool> {
        if kind.is_some_and(|kind| kind != entry.kind) {
            return Ok(true);
        }
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        line(&view, entry, out)?;
        Ok(left > 0)
    };
    let required = |seq: u64| {
        view.entry(seq)?.ok_or_else(|| Error::corrupt(format!("entry {seq}"), "is missing"))
    };
    if let Some(run) = &args.run {
        for seq in run_entries(&view, run)?.into_iter().filter(|seq| *seq >= args.from) {
            if !show(&required(seq)?, out)? {
                break;
            }
        }
        return Ok(());
    }
    for seq in args.from.max(1)..=view.counters()?.size {
        if !show(&required(seq)?, out)? {
            break;
        }
    }
    Ok(())
}

fn run_entries(view: &View<'_>, run: &str) -> kernel::Result<Vec<u64>> {
    let mut entries = Vec::new();
    view.scan(&KeyRange::prefix(&keys::run_entries(run)), &mut |key, _| {
        entries.extend(keys::trailing_u64(key));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(entries)
}

fn line(view: &View<'_>, entry: &Entry, out: &mut Output) -> CommandResult {
    let payload = entry.payload()?;
    if out.is_json() {
        return out.object(&entry_view::entry(entry, &payload));
    }
    out.line(format_args!(
        "{:>6}  {}  {:<10} {:<15} {}",
        entry.seq,
        entry.at.rfc3339(),
        plain(&entry.by),
        entry.kind.name(),
        activity::summary(view, entry, &payload)?,
    ))
}

/// An object as indented `name: value` lines.
fn tree(out: &mut Output, value: &Value, depth: usize) -> CommandResult {
    let Value::Object(object) = value else { return Ok(()) };
    for (name, value) in object {
        let indent = "  ".repeat(depth);
        match value {
            Value::Object(_) => {
                out.line(format_args!("{indent}{name}:"))?;
                tree(out, value, depth + 1)?;
            }
            Value::String(text) => out.line(format_args!("{indent}{name}: {}", plain(text)))?,
            other => out.line(format_args!("{indent}{name}: {}", plain(&other.to_string())))?,
        }
    }
    Ok(())
}
