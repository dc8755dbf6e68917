//! `cortex get`: one memory.

use clap::Args;
use kernel::Resolved;
use kernel::forms::{self, Form};
use kernel::scope::Operation;

use super::failure::Outcome;
use super::open::{Invocation, request_digest};
use super::output::{Output, plain_lines};
use super::parse::MemoryRef;
use super::views::MemoryView;

/// Shows one memory, at its current version or at an older one.
///
/// Old versions stay readable after updates and after forgetting. What was erased is gone.
///
/// JSON: {id, uri, version, latest, type, kind, title, content, fields, project, scope, visibility, pinned, archived,
/// forgotten, erased, tags, topic_key, session, channel, importance, confidence, source, derived_from, by, created,
/// updated, valid_from, valid_until, expires, accesses, citations, seq}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex get 12
  cortex get 12 --version 1 --form short
  cortex get cortex://default/Decision/12#1 --json")]
pub(crate) struct GetArgs {
    /// Memory: 12, 12#3 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// Version to show [default: the current one]
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// short, medium or full
    #[arg(long, default_value = "full")]
    form: String,
}

pub(crate) fn run(args: &GetArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let form = Form::parse(&args.form)?;
    let resolved = resolve(inv, &args.memory, args.version)?;
    if out.is_json() {
        return out.object(&MemoryView::from(&resolved));
    }
    let Resolved { uri, head, version, body, .. } = &resolved;
    let text = forms::render(head, version, body.as_ref(), form);
    if form == Form::Full {
        out.line(uri)?;
    }
    out.line(plain_lines(text.trim_end()))
}

/// Reads a memory as the owner or within a grant.
pub(crate) fn resolve(
    inv: &Invocation,
    memory: &MemoryRef,
    version: Option<u32>,
) -> Outcome<Resolved> {
    let cortex = inv.existing()?;
    let id = memory.of(cortex.actor())?;
    let version = version.or(memory.version);
    let digest = request_digest(&[
        b"get",
        &id.get().to_be_bytes(),
        &version.map_or(0, u32::from).to_be_bytes(),
    ]);
    let resolved = match inv.authority(&cortex, Operation::Read, digest)? {
        Some(authority) => cortex.resolve_for(&authority, id, version, inv.now()?)?,
        None => match &memory.uri {
            // A URI must be right in all its parts.
            Some(uri) if version == Some(uri.version) => cortex.resolve(uri)?,
            _ => cortex.read()?.resolve_version(id, version)?,
        },
    };
    Ok(resolved)
}
