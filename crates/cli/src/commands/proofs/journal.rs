//! `cortex journal`: what happened, entry by entry.

use api::auditor::RawJournalRequest;
use api::journal::{JournalEntry, JournalEntryRequest, JournalRequest};
use clap::Args;
use serde_json::Value;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Lists the journal, one line per entry, oldest first.
///
/// JSON: one object per line: {seq, kind, at, by, run, idempotency_key, payload}; kind is that of the entry, and what
/// the payload of a write calls type and memory_type is that of the memory. With --raw {seq, bytes}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex journal --from 100 --limit 20
  cortex journal --kind update
  cortex journal --entry 12
  cortex journal --json | jq .kind
  cortex journal --raw | tools/verifier/cortex_verify.py journal - --root $(cortex root --json | jq -r .journal_root)")]
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
    /// Entries as they are hashed: a line each, its number and its bytes in base64
    #[arg(long, conflicts_with_all = ["kind", "run", "entry"])]
    raw: bool,
}

pub(crate) fn run(args: &JournalArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    if let Some(seq) = args.entry {
        let entry = inv.ask(JournalEntryRequest { seq })?;
        if out.is_json() {
            return out.object(&entry);
        }
        let shown = serde_json::to_value(&entry).map_err(|error| Failure::output(error.into()))?;
        return tree(out, &shown, 0);
    }
    if args.raw {
        return raw(args, inv, out);
    }
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut from = args.from;
    // Entries that are written while these are shown are not waited for.
    let mut end = None;
    loop {
        let page = inv.ask(JournalRequest {
            from,
            limit: Some(u32::try_from(left).unwrap_or(u32::MAX)),
            kind: args.kind.clone(),
            run: args.run.clone(),
            summaries: !out.is_json(),
        })?;
        let last = *end.get_or_insert(page.size);
        for entry in page.entries.iter().filter(|entry| entry.seq <= last) {
            left -= 1;
            line(entry, out)?;
        }
        match page.next {
            Some(next) if left > 0 && next <= last => from = next,
            _ => return Ok(()),
        }
    }
}

/// Entries as they are, enough for an outsider to compute the root of the journal.
fn raw(args: &JournalArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut next = Some(args.from);
    let mut end = None;
    while let Some(from) = next.filter(|from| left > 0 && end.is_none_or(|end| *from <= end)) {
        let limit = Some(u32::try_from(left).unwrap_or(u32::MAX));
        let page = inv.ask(RawJournalRequest { from, limit })?;
        let last = *end.get_or_insert(page.size);
        for entry in page.entries.iter().filter(|entry| entry.seq <= last) {
            left -= 1;
            out.either(entry, format_args!("{} {}", entry.seq, entry.bytes))?;
        }
        next = page.next;
    }
    Ok(())
}

fn line(entry: &JournalEntry, out: &mut Output) -> CommandResult {
    if out.is_json() {
        return out.object(entry);
    }
    out.line(format_args!(
        "{:>6}  {}  {:<10} {:<15} {}",
        entry.seq,
        entry.at,
        plain(&entry.by),
        entry.kind,
        entry.summary,
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
