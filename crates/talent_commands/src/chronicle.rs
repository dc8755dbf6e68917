//! `cortex chronicle`: what was recorded, day by day.

use std::io::Read as _;
use std::path::PathBuf;

use api::Error;
use clap::{Args, Subcommand, ValueEnum};
use daemon::talents_host;
use jiff::civil::Time;
use serde_json::{Value, json};
use service::config;
use talents::chronicle::{
    AddContent, Addition, ChronicleEntry, ChronicleEntryKind, ChronicleError, add, days, entries,
    segment_facets, segments,
};
use talents::talent_files::TalentCatalog;
use talents::{Day, Layout, Segment, TalentName};

use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, caller, home_folder};
use command_line::output::{Output, plain, plain_lines};

/// What is added or shown of one file.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Adds notes and transcripts to the days that talents work through, and shows what is there.
///
/// A day is made of segments, each with a start and a length. Talents read what is in them and write beside it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex chronicle add meeting.md --day 20260109 --at 14:00 --seconds 3600
  cortex chronicle add call.jsonl --at 09:30
  pbpaste | cortex chronicle add --as text
  cortex chronicle list 20260109
  cortex chronicle show 20260109 140000_3600")]
pub struct ChronicleArgs {
    #[command(subcommand)]
    step: ChronicleStep,
}

#[derive(Subcommand, Debug)]
enum ChronicleStep {
    Add(AddArgs),
    /// Lists the days, or the segments of one.
    ///
    /// JSON: [{day, segments}], or [{segment, from, to, files, facets}]
    List {
        /// Only this day, YYYYMMDD
        day: Option<String>,
        // The same as an option, as other commands have it.
        #[arg(long = "day", value_name = "DAY", hide = true, conflicts_with = "day")]
        of: Option<String>,
    },
    /// Shows what is in a segment, or what was written about a day.
    ///
    /// JSON: [{kind, talent, facet, path, text}]
    Show {
        /// YYYYMMDD
        day: String,
        /// HHMMSS_SECONDS; without it, what talents wrote about the whole day
        segment: Option<String>,
    },
}

/// Adds a text, Markdown or a transcript to a segment; a file that is there is never written over.
///
/// A transcript has one JSON object per line, with `text`, and `start` (a time of day) and `speaker` if they are known.
/// JSON: {day, segment, path}
#[derive(Args, Debug)]
struct AddArgs {
    /// The file; standard input without one, or as -
    file: Option<PathBuf>,
    /// YYYYMMDD [default: today]
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
    /// When it began, HH:MM or HH:MM:SS [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// How long it went on [default: as long as the transcript, or 300]
    #[arg(long, value_name = "N")]
    seconds: Option<u32>,
    /// What it is [default: by the file's name, else text]
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<Kind>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Text,
    Markdown,
    Transcript,
}

pub fn run(
    args: &ChronicleArgs,
    globals: &GlobalArgs,
    env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let layout = Layout::new(&home);
    match &args.step {
        ChronicleStep::Add(args) => add_file(args, globals, env, &layout, out),
        ChronicleStep::List { day, of } => match day.as_ref().or(of.as_ref()) {
            None => list_days(&layout, out),
            Some(day) => list_segments(&layout, Day::parse(day)?, out),
        },
        ChronicleStep::Show { day, segment } => {
            let segment = segment.as_deref().map(Segment::parse).transpose()?;
            show(&layout, Day::parse(day)?, segment, out)
        }
    }
}

fn add_file(
    args: &AddArgs,
    globals: &GlobalArgs,
    env: CommandEnv,
    layout: &Layout,
    out: &mut Output,
) -> CommandResult {
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let zone = talents_host::zone(&config::load(layout.home(), &env.variables)?)?;
    let now = talents_host::now(caller.environment.as_ref(), &zone)?;
    let day = match &args.day {
        Some(text) => Day::parse(text)?,
        None => Day::from(now.date()),
    };
    let start = match &args.at {
        Some(text) => text.parse::<Time>().map_err(|_| {
            Failure::input(format!("--at {text:?} is no time of day, like 14:00 or 14:00:30"))
        })?,
        None => now.time(),
    };
    let file = args.file.as_ref().filter(|file| file.as_os_str() != "-");
    let kind = args.kind.unwrap_or_else(|| {
        let ending = file.and_then(|file| file.extension()).unwrap_or_default();
        match ending.to_string_lossy().to_lowercase().as_str() {
            "md" | "markdown" => Kind::Markdown,
            "jsonl" | "ndjson" => Kind::Transcript,
            _ => Kind::Text,
        }
    });
    let mut bytes = Vec::new();
    let named = match file {
        Some(file) => {
            let path = env.cwd.join(file);
            let open = std::fs::File::open(&path).map_err(|error| Failure::file(&path, error))?;
            let read = open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
            read.map_err(|error| Failure::file(&path, error))?;
            file.display().to_string()
        }
        None => {
            if env.input_is_terminal {
                out.say("reading from the terminal; Ctrl-D ends it");
            }
            let read = env.input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
            read.map_err(|error| Failure::Io { what: "standard input".into(), error })?;
            "standard input".to_owned()
        }
    };
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::input(format!("{named} is larger than {FILE_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::input(format!("{named} is not text (UTF-8)")))?;
    let content = match kind {
        Kind::Text => AddContent::Text(text),
        Kind::Markdown => AddContent::Markdown(text),
        Kind::Transcript => AddContent::Transcript(text),
    };
    let is_transcript = matches!(kind, Kind::Transcript);
    let added = add(layout, &Addition { day, start, seconds: args.seconds, content });
    let added = added.map_err(|error| {
        match error {
        ChronicleError::Unreadable { .. } if is_transcript => Error::from(error).with_hint(format!(
            "each line of {named} must be a JSON object with `text`; --as text takes it as it is"
        )),
        error => error.into(),
    }
    })?;
    let (segment, path) = (added.segment.to_string(), added.path.display().to_string());
    let view = json!({"day": day.to_string(), "segment": segment, "path": path});
    out.either(&view, format_args!("added to segment {segment} of {day}: {path}"))
}

fn list_days(layout: &Layout, out: &mut Output) -> CommandResult {
    let mut views = Vec::new();
    for day in days(layout)? {
        let count = segments(layout, day)?.len();
        if out.is_json() {
            views.push(json!({"day": day.to_string(), "segments": count}));
        } else {
            let word = if count == 1 { "segment" } else { "segments" };
            out.line(format_args!("{day}  {count} {word}"))?;
        }
    }
    if out.is_json() { out.object(&Value::Array(views)) } else { Ok(()) }
}

fn list_segments(layout: &Layout, day: Day, out: &mut Output) -> CommandResult {
    let shelf = TalentCatalog::open(&layout.talents());
    let mut views = Vec::new();
    for segment in segments(layout, day)? {
        let files: Vec<String> = files(layout, &shelf, day, Some(segment))?
            .iter()
            .map(|entry| name(layout, entry))
            .collect();
        let (found, problems) = segment_facets(layout, day, segment);
        for problem in problems {
            out.say(format_args!("warning: {}", plain(&problem)));
        }
        let facets: Vec<String> = found.into_iter().map(|activity| activity.facet).collect();
        let (from, to) = (segment.start().strftime("%H:%M"), segment.end().strftime("%H:%M"));
        if out.is_json() {
            views.push(json!({
                "segment": segment.to_string(), "from": from.to_string(), "to": to.to_string(),
                "files": files, "facets": facets,
            }));
        } else {
            let about = if facets.is_empty() {
                String::new()
            } else {
                format!("  [{}]", facets.join(", "))
            };
            out.line(format_args!("{segment}  {from}-{to}  {}{about}", files.join(", ")))?;
        }
    }
    if out.is_json() { out.object(&Value::Array(views)) } else { Ok(()) }
}

fn show(layout: &Layout, day: Day, segment: Option<Segment>, out: &mut Output) -> CommandResult {
    if let Some(segment) = segment
        && !segments(layout, day)?.contains(&segment)
    {
        let (day, segment) = (day.to_string(), segment.to_string());
        return Err(talents::chronicle::ChronicleError::NoSegment { day, segment }.into());
    }
    if !layout.day(day).is_dir() {
        return Err(talents::think::ThinkError::NoDay(day).into());
    }
    let shelf = TalentCatalog::open(&layout.talents());
    let mut views = Vec::new();
    for entry in files(layout, &shelf, day, segment)? {
        let text = read(&entry)?;
        let (kind, talent, facet) = match &entry.kind {
            ChronicleEntryKind::Transcript => ("transcript", None, None),
            ChronicleEntryKind::Percept => ("percept", None, None),
            ChronicleEntryKind::Output { talent, facet } => {
                ("output", Some(talent.to_string()), facet.as_ref().map(ToString::to_string))
            }
        };
        if out.is_json() {
            views.push(json!({
                "kind": kind, "talent": talent, "facet": facet,
                "path": entry.path.display().to_string(), "text": text,
            }));
        } else {
            out.line(format_args!("---- {}", name(layout, &entry)))?;
            out.line(plain_lines(text.trim_end()))?;
        }
    }
    if out.is_json() { out.object(&Value::Array(views)) } else { Ok(()) }
}

fn read(entry: &ChronicleEntry) -> CommandResult<String> {
    let failed = |error| Failure::file(&entry.path, error);
    let mut bytes = Vec::new();
    let open = std::fs::File::open(&entry.path).map_err(failed)?;
    open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let path = entry.path.display();
        return Err(Failure::input(format!("{path} is larger than {FILE_BYTES_MAX} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn files(
    layout: &Layout,
    shelf: &TalentCatalog,
    day: Day,
    segment: Option<Segment>,
) -> CommandResult<Vec<ChronicleEntry>> {
    let is_talent = |name: &TalentName| shelf.all().any(|talent| talent.name == *name);
    Ok(entries(layout, day, segment, &is_talent)?)
}

/// The file below its day.
fn name(layout: &Layout, entry: &ChronicleEntry) -> String {
    let below = entry.path.strip_prefix(layout.chronicle()).unwrap_or(&entry.path);
    let mut parts = below.components();
    // The day and the segment are said already.
    let _ = parts.nth(1);
    plain(&parts.as_path().display().to_string())
}
