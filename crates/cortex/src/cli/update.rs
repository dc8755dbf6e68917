//! `cortex update`: a new version of a memory, or a change of its head.

use clap::Args;
use kernel::command::{Command, HeadRevision, Revision};
use kernel::journal::HeadPatch;
use kernel::scope::Operation;
use kernel::{Error, Resolved};

use super::details::{HeadArgs, VersionArgs};
use super::failure::{Failure, Outcome};
use super::fields;
use super::get;
use super::open::Invocation;
use super::output::Output;
use super::parse::MemoryRef;
use super::save;
use super::views::ChangeView;

/// How often a change is made again on top of somebody else's when no version was expected.
const RACES_MAX: u32 = 8;

/// Changes a memory.
///
/// A new title, content, field, confidence or time makes a new version; the old one stays readable. Everything else
/// (tags, project, pinned …) changes the memory itself. An empty text clears a field: --project "".
///
/// With --expect N, or with the version in ID (12#3), the change is refused with exit code 4 unless N is current.
///
/// JSON: {id, uri, version, type, kind, seq, at, changed, replayed, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex update 12 --content \"Use redb 4\" --expect 1
  cortex update 12 --tag storage,database --pinned true
  cortex update 7 --field status=done")]
pub(crate) struct UpdateArgs {
    /// Memory: 12, 12#3 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// New title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// New content; - reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,
    /// The version you have read
    #[arg(long, value_name = "N")]
    expect: Option<u32>,
    #[command(flatten)]
    head: HeadArgs,
    #[command(flatten)]
    version: VersionArgs,
    /// true or false
    #[arg(long, value_name = "FLAG")]
    pinned: Option<bool>,
    /// true or false: put away, but not forgotten
    #[arg(long, value_name = "FLAG")]
    archived: Option<bool>,
    /// Why, for changes of the memory itself
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Makes a retry return the first answer instead of changing twice
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(crate) fn run(args: &UpdateArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let mut patch = args.head.patch()?;
    patch.pinned = args.pinned;
    patch.archived = args.archived;
    let content = args.content.as_deref().map(|text| save::content(inv, out, Some(text)));
    let content = content.transpose()?.map(|text| inv.ops().screened(&text));
    let expected = args.expect.or(args.memory.version);
    let new_version = args.title.is_some() || content.is_some() || args.version.is_given();
    if !new_version && patch.is_empty() {
        return Err(Error::NoOp.into());
    }

    let cortex = inv.existing()?;
    let id = args.memory.of(cortex.actor())?;
    let mut races = 0;
    let receipt = loop {
        let command = if new_version {
            let current =
                get::resolve(inv, &MemoryRef { version: None, ..args.memory.clone() }, None)?;
            let revision =
                revise(args, inv, &current, content.as_deref(), patch.clone(), expected)?;
            Command::Update(Box::new(revision))
        } else {
            let (patch, reason) = (patch.clone(), args.reason.clone());
            Command::UpdateHead(HeadRevision { id, expected, patch, reason })
        };
        let mut stamp = inv.stamp()?;
        stamp.idempotency_key.clone_from(&args.idempotency_key);
        match inv.change_stamped(&cortex, stamp, command, Some(Operation::Update)) {
            // Somebody else was faster, and the caller did not say which version it must be.
            Err(Failure::Kernel(Error::VersionConflict { .. }))
                if expected.is_none() && races < RACES_MAX =>
            {
                races += 1;
            }
            outcome => break outcome?,
        }
    };
    let view = ChangeView::of(&cortex, &receipt)?;
    let verb = if receipt.changed { "updated" } else { "unchanged" };
    out.either(&view, format_args!("{verb} {}", view.uri))
}

/// The next version: the current one with what is given put over it.
fn revise(
    args: &UpdateArgs,
    inv: &Invocation,
    current: &Resolved,
    content: Option<&str>,
    patch: HeadPatch,
    expected: Option<u32>,
) -> Outcome<Revision> {
    let Some(mut body) = current.body.clone() else {
        return Err(Error::Erased(current.head.id.get()).into());
    };
    if let Some(title) = &args.title {
        body.title = inv.ops().screened(title);
    }
    if let Some(content) = content {
        content.clone_into(&mut body.content);
    }
    fields::set_all(&mut body.fields, &args.version.fields)?;
    // What is built on the version read must not be laid over a newer one.
    let expected = expected.or(Some(current.version.n));
    let mut revision = Revision::new(current.head.id, expected, body, inv.salt()?);
    revision.confidence = current.version.confidence;
    revision.valid_from = current.version.valid_from;
    revision.valid_until = current.version.valid_until;
    revision.expires = current.version.expires;
    revision.patch = patch;
    args.version.revise(&mut revision)?;
    Ok(revision)
}
