//! `cortex history`: all versions of a memory.

use api::history::HistoryRequest;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::wiring::words::MemoryRef;

/// Lists the versions of a memory, oldest first.
///
/// JSON: [{version, uri, title, type, memory_type, project, by, created_at, confidence, source, valid_from,
/// valid_until, expires, seq}]; created_at is when the version was written
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex history 12
  cortex history 12 --json")]
pub(crate) struct HistoryArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
}

pub(crate) fn run(args: &HistoryArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let id = args.memory.of(inv.actor())?.get();
    let versions = inv.ask(HistoryRequest { id })?.versions;
    if out.is_json() {
        return out.object(&versions);
    }
    for version in versions {
        let title = version.title.as_deref().map_or("[erased]".into(), plain);
        out.line(format_args!(
            "#{:<3} {}  {:<12} {title}",
            version.version,
            version.created_at,
            plain(&version.by),
        ))?;
    }
    Ok(())
}
