//! `cortex timeline`: what was saved before and after a memory.

use clap::Args;
use kernel::Reading;
use kernel::forms::{self, Form};
use kernel::scope::{Gate, Operation};
use kernel::timeline::{Among, Moment, TimelineQuery};
use serde::Serialize;

use super::failure::Outcome;
use super::open::{Invocation, request_digest};
use super::output::{Output, plain, say};
use super::parse::MemoryRef;

/// Characters shown of neighbours, of the memory itself and of the summary of its session.
const NEIGHBOUR_CHARS: usize = 150;
const FOCUS_CHARS: usize = 500;
const SUMMARY_CHARS: usize = 100;

/// Shows a memory in the middle of what was saved before and after it.
///
/// Neighbours are from its session; without one, from its project; without that, from all memories. Oldest first. The number
/// in brackets is what the full text costs in tokens.
///
/// JSON: {among, session: {id, project, started, ended, summary} or null, before: [{id, uri, type, kind, title, preview,
/// tokens, standing, created}], focus: {…}, after: […], capped}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex timeline 12
  cortex timeline 12 --before 10 --after 0")]
pub(crate) struct TimelineArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// How many before it
    #[arg(long, value_name = "N", default_value_t = 5)]
    before: u32,
    /// How many after it
    #[arg(long, value_name = "N", default_value_t = 5)]
    after: u32,
}

#[derive(Debug, Serialize)]
struct TimelineView {
    among: String,
    session: Option<SessionView>,
    before: Vec<MomentView>,
    focus: MomentView,
    after: Vec<MomentView>,
    capped: bool,
}

#[derive(Debug, Serialize)]
struct SessionView {
    id: String,
    project: Option<String>,
    started: String,
    ended: Option<String>,
    summary: Option<String>,
}

#[derive(Debug, Serialize)]
struct MomentView {
    id: u64,
    uri: String,
    #[serde(rename = "type")]
    memory_type: &'static str,
    kind: String,
    title: Option<String>,
    preview: String,
    /// What the full text costs.
    tokens: u32,
    standing: &'static str,
    created: String,
}

pub(crate) fn run(args: &TimelineArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let cortex = inv.existing()?;
    let id = args.memory.of(inv.actor())?;
    let now = inv.now()?;
    let digest = request_digest(&[b"timeline", format!("{args:?}").as_bytes()]);
    let authority = inv.authority(&cortex, Operation::Find, digest)?;
    if let Some(authority) = &authority {
        cortex.check_sight(authority, Operation::Find, id, now)?;
    }
    let gate = authority.as_ref().map(|authority| authority as &dyn Gate);
    let reading = cortex.read()?;
    let query = TimelineQuery { id, before: args.before, after: args.after };
    let timeline = reading.timeline(gate, &query, now)?;
    // A session's summary may speak of what a grant does not show.
    let session = timeline.session.filter(|_| gate.is_none());
    let session = session.map(|session| session_view(&reading, &session)).transpose()?;
    let moments = |moments: &[Moment], chars| {
        moments.iter().map(|moment| moment_view(&reading, moment, chars)).collect::<Vec<_>>()
    };
    let view = TimelineView {
        among: match timeline.among {
            Among::Session(name) => format!("session {name}"),
            Among::Project(name) => format!("project {name}"),
            Among::Everything => "everything".to_owned(),
        },
        session,
        before: moments(&timeline.before, NEIGHBOUR_CHARS),
        focus: moment_view(&reading, &timeline.focus, FOCUS_CHARS),
        after: moments(&timeline.after, NEIGHBOUR_CHARS),
        capped: timeline.capped,
    };
    if out.is_json() {
        return out.object(&view);
    }
    print(&view, out)?;
    out.flush()?;
    if view.capped {
        say("not every row was looked through; there may be nearer neighbours");
    }
    Ok(())
}

fn print(view: &TimelineView, out: &mut Output) -> Outcome {
    out.line(format_args!("in {}", plain(&view.among)))?;
    if let Some(session) = &view.session {
        let project = session.project.as_deref().map(plain).unwrap_or_default();
        let summary = session.summary.as_deref().map(|s| format!(": {}", plain(s)));
        out.line(format_args!(
            "session {} {project} since {}{}",
            plain(&session.id),
            session.started,
            summary.unwrap_or_default()
        ))?;
    }
    for moment in &view.before {
        line(moment, ' ', out)?;
    }
    line(&view.focus, '>', out)?;
    for moment in &view.after {
        line(moment, ' ', out)?;
    }
    Ok(())
}

fn line(moment: &MomentView, mark: char, out: &mut Output) -> Outcome {
    let title = plain(moment.title.as_deref().unwrap_or("[erased]"));
    let standing = match moment.standing {
        "current" => String::new(),
        other => format!(" ({other})"),
    };
    let (id, name, tokens) = (moment.id, moment.memory_type, moment.tokens);
    out.line(format_args!(
        "{mark}{id:>6}  {} {name:<11} [{tokens}]  {title}{standing}",
        moment.created
    ))?;
    if moment.preview.is_empty() {
        return Ok(());
    }
    out.line(format_args!("         {}", plain(&moment.preview)))
}

fn session_view(reading: &Reading, session: &kernel::memory::Session) -> Outcome<SessionView> {
    let sealed = session.summary_seq.map(|seq| reading.view().sealed(seq)).transpose()?.flatten();
    let summary = sealed.map(|sealed| sealed.open_note()).transpose()?;
    Ok(SessionView {
        id: session.id.clone(),
        project: session.project.clone(),
        started: session.started.rfc3339(),
        ended: session.ended.map(kernel::memory::Millis::rfc3339),
        summary: summary.map(|note| cut(&note.text, SUMMARY_CHARS)),
    })
}

fn moment_view(reading: &Reading, moment: &Moment, chars: usize) -> MomentView {
    let Moment { row, body } = moment;
    let full = forms::render(&row.head, &row.version, body.as_ref(), Form::Full);
    MomentView {
        id: row.head.id.get(),
        uri: reading.uri(&row.head, row.version.n).to_string(),
        memory_type: row.head.memory_type.name(),
        kind: row.head.kind.clone(),
        title: body.as_ref().map(|body| body.title.clone()),
        preview: body.as_ref().map(|body| cut(&body.content, chars)).unwrap_or_default(),
        tokens: forms::tokens(&full),
        standing: row.standing.name(),
        created: row.head.created.rfc3339(),
    }
}

/// The beginning of a text, on one line.
fn cut(text: &str, chars: usize) -> String {
    let line = forms::one_line(text);
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
