//! `cortex fix`, `how`, `blame`, `friction` and `keep`; `cortex past removed`, `hand-over`, `card` and `report`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use api::past::{
    PastHandOverRequest, PastKeepRequest, PastReportRequest, PastStateRequest, PastWorkAnswer,
    PastWorkKind, PastWorkRequest,
};
use api::render::people;
use clap::Args;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain, plain_lines};

/// Bytes of a log that are read from standard input.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// Bytes of a file whose lines are asked about.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Says what fixed an error before: a step of a session after which it did not come back.
///
/// Numbers, paths and names in the error do not matter. Exit code 3 if nothing is known.
///
/// JSON: {fixes: [{error, steps, sessions, confirmed, refs, at}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex fix 'error: linking with cc failed'
  make test 2>&1 | cortex fix -")]
pub(crate) struct FixArgs {
    /// The error; - or nothing reads a whole log from standard input
    #[arg(value_name = "ERROR")]
    error: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Says how something is done here: commands that went well, newest and of this project first.
///
/// Exit code 3 if nothing is known.
///
/// JSON: {habits: [{line, sessions, succeeded, failed, project, ref, at}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex how run tests
  cortex how deploy staging --project shop")]
pub(crate) struct HowArgs {
    /// Words of the command
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Says why a file is so: the turns that edited it, then those that read it, then those that spoke of it.
///
/// With lines, those that a recorded edit wrote are named with their turn. Exit code 3 if nothing is known.
///
/// JSON: {traces: [{role, path, ref, at, prompt, outcome, lines, undone}], note}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex blame src/cache.rs
  cortex blame src/cache.rs:10-24 --since 2026-09-01")]
pub(crate) struct BlameArgs {
    /// A file, or lines of it: FILE:A-B
    #[arg(value_name = "FILE[:A-B]")]
    file: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Says what goes wrong again and again: the same error in three sessions or more.
///
/// JSON: {friction: [{error, sessions, times, first_at, last_at, refs}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex friction
  cortex friction --project shop --since 2026-09-01")]
pub(crate) struct FrictionArgs {
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Makes a memory of a turn; again: a new version of it.
///
/// JSON: {id, ref, title, digest, updated}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex keep codex:0199c0de#12 --title 'Staging port'
  cortex keep claude-code:5f2a9c#3 --status rejected --why 'too slow on Windows'")]
pub(crate) struct KeepArgs {
    /// AGENT:SESSION#TURN
    #[arg(value_name = "REF")]
    reference: String,
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The kind of the memory [default: decision with --status or --why, else learning]
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// accepted, rejected or superseded
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Keep this instead of what was said
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

/// Prints what edits took out of a file, newest first; nothing is written.
///
/// JSON: {removed: [{path, text, ref, at, cut}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past removed src/cache.rs")]
pub(super) struct RemovedArgs {
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Prints a brief with which another agent can go on, or starts it there.
///
/// JSON: {ref, to, folder, brief, tokens, words}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past hand-over claude-code:5f2a9c --to codex
  cortex past hand-over claude-code:5f2a9c --to codex --run")]
pub(super) struct HandOverArgs {
    /// AGENT:SESSION, or AGENT:SESSION#TURN for what was so up to there
    #[arg(value_name = "REF")]
    reference: String,
    /// claude-code, codex, gemini-cli, opencode or qwen-code
    #[arg(long, value_name = "AGENT")]
    to: String,
    /// Start it, in the folder of the session
    #[arg(long)]
    run: bool,
}

/// Writes a picture of the past: counts by agent, no word of a session.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past card -o past.svg")]
pub(super) struct CardArgs {
    /// The file; without it the picture goes to standard output
    #[arg(short = 'o', long, value_name = "FILE.svg")]
    out: Option<PathBuf>,
}

/// Prints what the records of an agent look like: keys and kinds of values, never a value.
///
/// JSON: {agent, files, shapes: [{shape, records}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past report codex")]
pub(super) struct ReportArgs {
    #[arg(value_name = "AGENT")]
    agent: String,
}

#[derive(Args, Debug)]
struct ScopeArgs {
    /// A project's name or folder [default: the folder where you are]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only what was done after this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

impl ScopeArgs {
    fn request(&self, about: PastWorkKind, text: String) -> PastWorkRequest {
        PastWorkRequest {
            about,
            text,
            project: self.project.clone(),
            since: self.since.clone(),
            limit: Some(self.limit),
            ..PastWorkRequest::default()
        }
    }
}

/// The folder where somebody stands, as a pattern.
fn here(inv: &Invocation) -> String {
    inv.path(Path::new("")).display().to_string().trim_end_matches('/').to_owned()
}

fn show(answer: &PastWorkAnswer, out: &mut Output) -> CommandResult {
    let is_empty = answer.fixes.is_empty()
        && answer.habits.is_empty()
        && answer.traces.is_empty()
        && answer.friction.is_empty()
        && answer.removed.is_empty();
    out.answer(answer, people::past_work)?;
    if !is_empty {
        return Ok(());
    }
    let message = "nothing of the past answers this";
    Err(api::Error::new(api::ErrorCode::NotFound, api::Fault::Missing, message)
        .with_hint(
            "`cortex past read` reads what agents wrote; `cortex search --in past` looks for words",
        )
        .into())
}

pub(crate) fn fix(args: &FixArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let given = args.error.join(" ");
    let text = if given.is_empty() || given == "-" {
        let mut bytes = Vec::new();
        let input = inv.take_input()?;
        input
            .reader
            .take(LOG_BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::Io { what: "standard input".to_owned(), error })?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        given
    };
    show(&inv.ask(args.scope.request(PastWorkKind::Error, text))?, out)
}

pub(crate) fn how(args: &HowArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let mut request = args.scope.request(PastWorkKind::Command, args.words.join(" "));
    request.project.get_or_insert_with(|| here(inv));
    show(&inv.ask(request)?, out)
}

pub(crate) fn blame(args: &BlameArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let (file, lines) = parted(&args.file)?;
    let mut request = args.scope.request(PastWorkKind::File, file.to_owned());
    if let Some((first, last)) = lines {
        let path = inv.path(Path::new(file));
        let size = std::fs::metadata(&path).map_err(|error| Failure::file(&path, error))?.len();
        if size > FILE_BYTES_MAX {
            return Err(Failure::input(format!("{file} has more than {FILE_BYTES_MAX} bytes")));
        }
        let text = std::fs::read(&path).map_err(|error| Failure::file(&path, error))?;
        let text = String::from_utf8_lossy(&text);
        let wanted = text.lines().skip(first as usize - 1).take((last - first) as usize + 1);
        request.content = wanted.map(str::to_owned).collect();
        request.lines = Some((first, last));
    }
    request.former = former_names(&inv.path(Path::new(file)));
    show(&inv.ask(request)?, out)
}

pub(crate) fn friction(args: &FrictionArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    show(&inv.ask(args.scope.request(PastWorkKind::Friction, String::new()))?, out)
}

pub(crate) fn keep(args: &KeepArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastKeepRequest {
        reference: args.reference.clone(),
        title: args.title.clone(),
        kind: args.kind.clone(),
        status: args.status.clone(),
        why: args.why.clone(),
        text: args.text.clone(),
    })?;
    let verb = if answer.updated { "kept again as" } else { "kept as" };
    let line = format!("{verb} memory {}: {}", answer.id, plain(&answer.title));
    out.either(&answer, line)
}

pub(super) fn removed(args: &RemovedArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    show(&inv.ask(args.scope.request(PastWorkKind::Removed, args.file.clone()))?, out)
}

pub(super) fn hand_over(args: &HandOverArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = PastHandOverRequest { reference: args.reference.clone(), to: args.to.clone() };
    let answer = inv.ask(request)?;
    if args.run {
        return super::started(&answer.words, answer.folder.as_deref(), inv);
    }
    out.answer(&answer, |answer| plain_lines(&answer.brief))
}

pub(super) fn card(args: &CardArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let svg = people::past_card(&inv.ask(PastStateRequest::default())?);
    match &args.out {
        None => out.text(svg),
        Some(path) => {
            let path = inv.path(path);
            std::fs::write(&path, svg).map_err(|error| Failure::file(&path, error))?;
            out.say(format_args!("wrote {}", path.display()));
            Ok(())
        }
    }
}

pub(super) fn report(args: &ReportArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request =
        PastReportRequest { agent: args.agent.clone(), variables: inv.variables_of_agents() };
    out.answer(&inv.ask(request)?, people::past_shapes)
}

/// A file, and the lines that are asked about.
fn parted(text: &str) -> CommandResult<(&str, Option<(u32, u32)>)> {
    let Some((file, range)) = text.rsplit_once(':') else { return Ok((text, None)) };
    let wrong = || Failure::input(format!("{text:?}: lines look like FILE:10-24"));
    let is_range = range.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if file.is_empty() || range.is_empty() || !is_range {
        return Ok((text, None));
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((file, Some((first, last)))),
        _ => Err(wrong()),
    }
}

/// Names that a file had before, as git tells them; none where there is no git.
fn former_names(path: &Path) -> Vec<String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let listed = std::process::Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["log", "--follow", "--format=", "--name-only", "-n", "200", "--"])
        .arg(name)
        .stderr(std::process::Stdio::null())
        .output();
    let Ok(listed) = listed else { return Vec::new() };
    let mut names: Vec<String> =
        String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect();
    names.retain(|line| !line.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}
