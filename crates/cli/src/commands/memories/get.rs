//! `cortex get`: memories in full.

use api::past::PastShowRequest;
use api::read::{GetAnswer, GetRequest};
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain_lines};
use crate::wiring::words::MemoryRef;

/// Shows memories, each at its current version or at an older one.
///
/// Old versions stay readable after updates and after forgetting. What was erased is gone.
///
/// JSON: {id, title, content, type, project, scope, session_id, topic_key, created_at, updated_at, happened_at, uri,
/// memory_type, version, latest, duplicates, tags, fields, pinned, archived, deleted_at, deleted_reason, erased,
/// accesses, citations, by, author, proposed, confidence, importance, visibility, channel, source, derived_from,
/// valid_from, valid_until, expires, entry, origin, history, superseded_by, contradicted_by, text}; a line for each
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex get 12
  cortex get 12 15 20
  cortex get 12 --version 1 --form short
  cortex get cortex://default/Decision/12#1 --json")]
pub(crate) struct GetArgs {
    /// Memories: 12, 12#3 or a URI
    #[arg(value_name = "ID", required = true, num_args = 1..)]
    pub(crate) memories: Vec<MemoryRef>,
    /// Version to show [default: the current one]
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// short, medium or full
    #[arg(long, default_value = "full")]
    form: String,
}

pub(crate) fn run(args: &GetArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    for (place, memory) in args.memories.iter().enumerate() {
        let got = read(inv, memory, args.version, Some(args.form.clone()))?;
        if out.is_json() {
            out.object(&got)?;
            continue;
        }
        if place > 0 {
            out.line("")?;
        }
        if args.form == "full" {
            out.line(&got.memory.uri)?;
        }
        out.line(plain_lines(got.text.as_deref().unwrap_or_default().trim_end()))?;
        if let Some(from) = kept_from(inv, &got) {
            out.line("")?;
            out.line(plain_lines(&from))?;
        }
    }
    Ok(())
}

/// Which turn of the past a memory was kept from, and whether it is still there.
fn kept_from(inv: &Invocation, got: &GetAnswer) -> Option<String> {
    let turn = got.memory.origin.as_deref()?.strip_prefix("past/")?;
    let request = PastShowRequest { reference: turn.to_owned(), ..PastShowRequest::default() };
    match inv.ask(request) {
        Ok(_) => Some(format!("kept from {turn}; `cortex past show {turn}` shows it")),
        Err(failure) if failure.is_missing() => {
            Some(format!("kept from {turn}, which is not in the past any more"))
        }
        // Who may not ask the past is told nothing of it; the memory itself is what was asked for.
        Err(_) => None,
    }
}

/// Reads a memory, forgotten or not. Somebody at a terminal looks; only agents use.
pub(crate) fn read(
    inv: &Invocation,
    memory: &MemoryRef,
    version: Option<u32>,
    form: Option<String>,
) -> CommandResult<GetAnswer> {
    let id = memory.of(inv.actor())?;
    // A URI must be right in all its parts, unless another version is asked for.
    let uri = memory.uri.as_ref().filter(|_| version.is_none()).map(ToString::to_string);
    let request = GetRequest {
        id: id.get(),
        version: version.or(memory.version),
        include_put_away: true,
        quiet: true,
        uri,
        form,
        ..GetRequest::default()
    };
    inv.ask(request)
}
