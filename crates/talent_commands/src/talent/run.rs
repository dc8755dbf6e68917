//! `cortex talent run`: asks the daemon for a run, shows what it does, prints what came of it.

use std::collections::BTreeMap;
use std::io::Read as _;

use ::llm::models::{BUILT_IN, KeyRef, ProviderSettings};
use ::talents::Layout;
use ::talents::bus::{BusConnection, BusFilter};
use api::run::{
    OutputFormat, RunEnvironment, RunEvent, RunEventKind, RunRequest, RunRequestError, RunTier,
};
use clap::Args;
use client::place::DaemonPlace;
use client::start::connect_or_start;
use daemon::talents_host::settings;
use serde_json::{Number, json};
use service::config;

use crate::bus::{Ending, Interrupt, follow, place, runtime};
use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, caller};
use command_line::output::{Output, plain, plain_lines};
use command_line::process;

/// Bytes of a prompt that is read from standard input.
const PROMPT_BYTES_MAX: u64 = 512 * 1024;

/// Runs a talent and prints its result.
///
/// The daemon runs it, in a process of its own; it is started if it is not there. What the run does is shown on
/// standard error, its result is printed. Ctrl-C cancels it; a second one leaves it alone. Keys of services that are
/// set here go with the request, and are kept nowhere. Exit code 1 if the run fails.
///
/// JSON: the event that ended the run; with --follow every event, one per line; with --detach {state, use_id, position}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent run default 'What did I decide about the cache?'
  git diff | cortex talent run default - --tier lite
  cortex talent run daily_brief --day 20260109 --refresh
  cortex talent run default 'Go on' --chat plans --detach")]
pub(super) struct RunArgs {
    /// Name of the talent
    name: String,
    /// What it is asked; `-` reads standard input
    prompt: Option<String>,
    /// Project context
    #[arg(long, value_name = "NAME")]
    facet: Option<String>,
    /// YYYYMMDD
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
    /// HHMMSS_SECONDS
    #[arg(long, value_name = "KEY")]
    segment: Option<String>,
    /// Segments that follow each other, HHMMSS_SECONDS,…
    #[arg(long, value_name = "KEYS", value_delimiter = ',', conflicts_with = "segment")]
    span: Vec<String>,
    /// Provider, instead of the one that the settings choose
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Model, instead of the one that the settings choose
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// pro, flash or lite
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    /// Write an output: md or json
    #[arg(long, value_name = "FORMAT")]
    output: Option<String>,
    /// Where to write it, inside the chronicle, instead of the usual place
    #[arg(long, value_name = "PATH")]
    output_path: Option<String>,
    /// Write the output anew although it is there
    #[arg(long)]
    refresh: bool,
    /// Tokens of the answer at most
    #[arg(long, value_name = "N")]
    max_output_tokens: Option<u32>,
    /// Tokens of thinking at most, where the provider has such a limit
    #[arg(long, value_name = "N")]
    thinking_budget: Option<u32>,
    /// Go on with this session of the provider
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    chat: Option<String>,
    /// Variable for the process; its value is kept nowhere; repeat for more
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Seconds it may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Print the id and do not wait
    #[arg(long, conflicts_with = "follow")]
    detach: bool,
    /// Show the text while it is written, and every event with --json
    #[arg(long)]
    follow: bool,
}

pub(super) fn run(
    args: &RunArgs,
    globals: &GlobalArgs,
    mut env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, &env)?;
    let config = config::load(&place.home, &env.variables)?;
    let providers = settings::providers(&Layout::new(&place.home), &config)?;
    let actor = caller(globals, &env.variables, &env.cwd, None)?.actor;
    let mut request = request(args, &providers, &mut env)?;
    request.actor = host::channels::actor_key(&actor);
    // Held to the end: a daemon that nobody is connected to ends by itself.
    let _daemon_guard = connect_or_start(&place)?;
    runtime()?.block_on(work(args, &place, request, out))
}

async fn work(
    args: &RunArgs,
    place: &DaemonPlace,
    request: RunRequest,
    out: &mut Output,
) -> CommandResult {
    let mut line = BusConnection::connect(&place.callosum(), "cli", &BusFilter::none()).await?;
    let taken = line.request_run(request).await?;
    let run = taken.use_id;
    if args.detach {
        let state = if taken.position.is_some() { "queued" } else { "accepted" };
        let view = json!({"state": state, "use_id": run.as_str(), "position": taken.position});
        return out.either(&view, &run);
    }
    match taken.position {
        Some(position) => out.say(format_args!("run {run} waits, at place {position}")),
        None => out.say(format_args!("run {run}")),
    }
    let mut wrote = false;
    let ending = follow(place, line, &run, Interrupt::Cancels, out, |event, out| {
        if out.is_json() {
            if args.follow {
                out.object(event)?;
                out.flush()?;
            }
        } else if args.follow && event.kind() == RunEventKind::TextDelta {
            let text = ["text", "delta", "content"].iter().find_map(|key| event.text(key));
            out.text(plain_lines(text.unwrap_or_default()))?;
            out.flush()?;
            wrote = true;
        } else if let Some(told) = daemon::talents_host::event_summary::summary(event) {
            out.say(format_args!("  {told}"));
        }
        Ok(())
    })
    .await?;
    match ending {
        Ending::Left => Err(Failure::Check {
            code: "left",
            message: format!("run {run} goes on; `cortex talent log {run} --follow` shows it"),
        }),
        Ending::Ended(event) => finish(args, &event, wrote, out),
    }
}

fn finish(args: &RunArgs, event: &RunEvent, wrote: bool, out: &mut Output) -> CommandResult {
    let text = |key: &str| event.text(key).unwrap_or_default();
    if out.is_json() && !args.follow {
        out.object(event)?;
    }
    if event.kind() != RunEventKind::Finish {
        let reason = match text("reason") {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        let message = format!("the run failed: {}{reason}", plain(text("error")));
        return Err(Failure::Check { code: "run_failed", message });
    }
    if out.is_json() {
        return Ok(());
    }
    if wrote {
        out.line("")?;
    } else if !text("result").is_empty() {
        out.line(plain_lines(text("result").trim_end()))?;
    }
    if !text("skipped").is_empty() {
        out.say(format_args!("nothing was done: {}", plain(skipped(text("skipped")))));
    }
    if !text("output_path").is_empty() {
        out.say(format_args!("written to {}", plain(text("output_path"))));
    }
    Ok(())
}

/// Why nothing was done, in words.
pub(super) fn skipped(reason: &str) -> &str {
    match reason {
        "no_input" => "there is too little to read",
        "disabled" => "the talent is disabled",
        other => other,
    }
}

fn request(
    args: &RunArgs,
    providers: &ProviderSettings,
    env: &mut CommandEnv,
) -> CommandResult<RunRequest> {
    let mut variables = keys(providers, &process::own_environment());
    for given in &args.env {
        let (name, value) = given
            .split_once('=')
            .ok_or_else(|| Failure::input(format!("--env {given:?} is not NAME=VALUE")))?;
        variables.insert(name.to_owned(), value.to_owned());
    }
    Ok(RunRequest {
        name: Some(args.name.clone()),
        prompt: prompt(args, env)?,
        facet: args.facet.clone(),
        day: args.day.clone(),
        segment: args.segment.clone(),
        span: (!args.span.is_empty()).then(|| args.span.clone()),
        provider: args.provider.clone(),
        model: args.model.clone(),
        tier: choice("tier", args.tier.as_deref(), RunTier::parse, "1, 2, 3, pro, flash or lite")?,
        output: choice("output", args.output.as_deref(), OutputFormat::parse, "md or json")?,
        output_path: args.output_path.clone(),
        max_output_tokens: args.max_output_tokens.map(Into::into),
        thinking_budget: args.thinking_budget.map(Into::into),
        refresh: args.refresh.then_some(true),
        session_id: args.session.clone(),
        chat_id: args.chat.clone(),
        timeout_seconds: args.timeout.and_then(Number::from_f64),
        env: (!variables.is_empty()).then(|| RunEnvironment::of(variables)),
        ..RunRequest::default()
    })
}

/// A word that stands for one of a few values.
fn choice<T>(
    key: &'static str,
    given: Option<&str>,
    parse: impl Fn(&str) -> Option<T>,
    rule: &str,
) -> CommandResult<Option<T>> {
    let Some(word) = given else { return Ok(None) };
    match parse(word) {
        Some(value) => Ok(Some(value)),
        None => Err(api::Error::from(RunRequestError::bad_value(key, rule)).into()),
    }
}

/// Keys of services that are set here: the daemon has the environment of whoever started it.
pub(crate) fn keys(
    providers: &ProviderSettings,
    environment: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let named = providers.endpoints.values().filter_map(|endpoint| match &endpoint.key {
        Some(KeyRef::Env(name)) => Some(name.as_str()),
        _ => None,
    });
    let usual = BUILT_IN.iter().map(|known| known.key_env).filter(|name| !name.is_empty());
    named
        .chain(usual)
        .filter_map(|name| Some((name.to_owned(), environment.get(name)?.clone())))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

fn prompt(args: &RunArgs, env: &mut CommandEnv) -> CommandResult<Option<String>> {
    if args.prompt.as_deref() != Some("-") {
        return Ok(args.prompt.clone());
    }
    let mut text = String::new();
    let mut input = (&mut env.input).take(PROMPT_BYTES_MAX + 1);
    input
        .read_to_string(&mut text)
        .map_err(|error| Failure::Io { what: "standard input".to_owned(), error })?;
    if text.len() as u64 > PROMPT_BYTES_MAX {
        return Err(Failure::input(format!("the prompt has more than {PROMPT_BYTES_MAX} bytes")));
    }
    Ok(Some(text))
}
