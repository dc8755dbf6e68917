//! `cortex save`: one new memory.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use api::Error;
use api::memory::CONTENT_BYTES_MAX;
use api::render::people;
use api::save::SaveRequest;
use clap::Args;

use crate::commands::memories::detail_args::{HeadArgs, VersionFieldArgs};
use crate::commands::memories::{save_lines, type_word};
use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, Talk};
use crate::views::WithRoot;

/// Silence after which a wait for standard input is explained.
const NOTICE_AFTER: Duration = Duration::from_secs(3);

/// Saves a new memory.
///
/// The content is the second argument, or standard input when it is `-` or a pipe. The type follows from --type, else
/// from the kind (decision, bugfix, rule …), else it is a Fact. When this returns, the memory is on disk.
///
/// With --lines, each line of standard input is a JSON object {title, content, type, memory_type, project, scope,
/// visibility, tags, topic_key, session_id, channel, importance, pinned, confidence, valid_from, valid_until, expires,
/// source, derived_from, fields, participants, happened_at, idempotency_key}, all but title optional. type is your word
/// for what it is (bugfix, rule …), memory_type one of the nine. Each is answered in order by one JSON object on
/// standard output as soon as it is on disk: {line, id, uri, version, type, memory_type, seq, replayed} or {line,
/// error: {code, message}}. A refused line does not stop the rest; the exit code is then 2.
///
/// JSON: {id, uri, title, type, memory_type, version, status, project, scope, session_id, topic_key,
/// suggested_topic_key, entities, redacted, cleaned, similar: [{id, title, type, nearness}], project_note, type_note,
/// seq, at, changed, root}; type_note is there when the type is a word that names none of the nine, cleaned when a
/// title had to be changed
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex save \"Use redb for the store\" \"One file, no threads\" --type decision --tag storage
  cortex save \"Never push on Fridays\" --kind rule --field strength=hard
  cortex save \"Moved\" \"We moved to Lyon\" --participant Ada --happened-at 2023-05-08
  git log -5 | cortex save \"Last five commits\" --kind discovery
  cortex save --lines < memories.ndjson")]
pub(crate) struct SaveArgs {
    /// Title, one line
    #[arg(required_unless_present = "lines")]
    title: Option<String>,
    /// Content, Markdown; - reads standard input
    #[arg(conflicts_with = "lines")]
    content: Option<String>,
    /// Identity, Goal, Preference, Constraint, Decision, Fact, Pattern, Event or ArtifactRef; or a kind, such as
    /// bugfix, that says which
    #[arg(long = "type", value_name = "TYPE")]
    memory_type: Option<String>,
    #[command(flatten)]
    head: HeadArgs,
    #[command(flatten)]
    version: VersionFieldArgs,
    /// Never left out of a context
    #[arg(long)]
    pinned: bool,
    /// Who speaks or takes part; may be repeated. Without a type it is then an Event
    #[arg(long = "participant", value_name = "NAME", conflicts_with = "lines")]
    participants: Vec<String>,
    /// When it happened, if not now: 2026-01-31 or 2026-01-31T10:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "lines")]
    happened_at: Option<String>,
    /// Makes a retry return the first answer instead of saving twice
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Save one memory per line of standard input (NDJSON)
    #[arg(long, conflicts_with = "title")]
    lines: bool,
    /// With --lines: commit this many together, for imports
    #[arg(long, value_name = "N", requires = "lines")]
    bulk: Option<usize>,
}

pub(crate) fn run(args: &SaveArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    if args.lines {
        return save_lines::run(args.bulk, inv, out);
    }
    let content = content(inv, out, args.content.as_deref())?;
    let (memory_type, kind) =
        type_word::of_save(args.memory_type.as_deref(), args.head.kind.as_deref())?;
    let request = SaveRequest {
        title: args.title.clone().unwrap_or_default(),
        content,
        memory_type,
        kind,
        tags: args.head.tags(),
        pinned: args.pinned,
        participants: args.participants.clone(),
        happened_at: args.happened_at.clone(),
        ..details!(SaveRequest, args.head, args.version)
    };
    let saved = inv.ask_with_key(args.idempotency_key.as_ref(), request)?;
    for note in people::beside_save(&saved) {
        out.say(note);
    }
    let answer = WithRoot::of(inv, &saved)?;
    out.answer(&answer, |_| people::saved(&saved))
}

/// Content from the argument, or from standard input if that is asked for or a pipe.
pub(crate) fn content(
    inv: &Invocation,
    out: &Output,
    argument: Option<&str>,
) -> CommandResult<String> {
    match argument {
        Some("-") => read_input(inv),
        Some(text) => Ok(text.to_owned()),
        None if inv.input_is_terminal() => Ok(String::new()),
        None => {
            let done = notice(out.talk().clone());
            let text = read_input(inv);
            done.store(true, Ordering::Relaxed);
            text
        }
    }
}

/// A script that left a pipe open by mistake should learn why nothing happens.
fn notice(talk: Talk) -> Arc<AtomicBool> {
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    std::thread::spawn(move || {
        std::thread::sleep(NOTICE_AFTER);
        if !seen.load(Ordering::Relaxed) {
            talk.say("reading the content from standard input; give \"\" as content for none");
        }
    });
    done
}

fn read_input(inv: &Invocation) -> CommandResult<String> {
    // One byte more than is allowed, so that the kernel can say it is too much.
    let mut bytes = Vec::new();
    inv.take_input()?
        .reader
        .take(CONTENT_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Io { what: "standard input".into(), error })?;
    if bytes.len() > CONTENT_BYTES_MAX {
        return Err(Error::too_large("content", bytes.len(), CONTENT_BYTES_MAX).into());
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid("content", "is not UTF-8"))?;
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}
