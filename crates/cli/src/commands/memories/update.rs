//! `cortex update`: a new version of a memory, or a change of its head.

use api::change::UpdateRequest;
use api::render::people;
use clap::Args;

use crate::commands::memories::detail_args::{HeadArgs, VersionFieldArgs};
use crate::commands::memories::save;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::views;
use crate::wiring::words::MemoryRef;

/// Changes a memory.
///
/// A new title, content, field, confidence or time makes a new version; the old one stays readable. Everything else
/// (tags, project, pinned …) changes the memory itself. An empty text clears a field: --project "".
///
/// With --expect N, or with the version in ID (12#3), the change is refused with exit code 4 unless N is current.
///
/// JSON: as `cortex get`, and {seq, at, changed, replayed, redacted, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex update 12 --content \"Use redb 4\" --expect 1
  cortex update 12 --tag storage,database --pinned true
  cortex update 12 --add-tag reviewed --remove-tag draft
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
    /// Tag that it gets besides those it has; repeat or separate with commas
    #[arg(long = "add-tag", value_name = "TAG", value_delimiter = ',', conflicts_with = "tags")]
    add_tags: Vec<String>,
    /// Tag that it loses; repeat or separate with commas
    #[arg(long = "remove-tag", value_name = "TAG", value_delimiter = ',', conflicts_with = "tags")]
    remove_tags: Vec<String>,
    #[command(flatten)]
    version: VersionFieldArgs,
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

pub(crate) fn run(args: &UpdateArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let content = args.content.as_deref().map(|text| save::content(inv, out, Some(text)));
    let request = UpdateRequest {
        id: args.memory.of(inv.actor())?.get(),
        title: args.title.clone(),
        content: content.transpose()?,
        tags: args.head.given_tags(),
        add_tags: args.add_tags.clone(),
        remove_tags: args.remove_tags.clone(),
        pinned: args.pinned,
        archived: args.archived,
        reason: args.reason.clone(),
        expected_version: args.expect.or(args.memory.version),
        ..details!(UpdateRequest, args.head, args.version)
    };
    let answer = inv.ask_with_key(args.idempotency_key.as_ref(), request)?;
    for note in [&answer.cleaned, &answer.redacted].into_iter().filter(|note| !note.is_empty()) {
        out.say(note);
    }
    views::changed(&answer, inv, out, people::updated)
}
