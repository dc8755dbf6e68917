//! `cortex hook`: what agents run at the events of a session. It never fails and never keeps an agent waiting.
//!
//! Whatever happens (bad input, a busy store, a disk that is full), the agent gets an empty reply in time and exit code
//! 0; the trouble is one line in `logs/hooks.log` of the home.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use agents::Agent;
use agents::hooks::{
    EventName, Happening, HookEvent, HookReply, INPUT_BYTES_MAX, Start, render, respond,
};
use api::CallerInfo;
use api::author::Author;
use api::hook::{HookAnswer, HookMoment, HookRequest, SessionBeginning};
use clap::Args;
use client::place::DaemonPlace;
use client::start::connect_or_start;
use proof::memory::Millis;

use crate::failure::CommandResult;
use crate::invocation::{CommandEnv, GlobalArgs, caller, home_folder};
use crate::output::{Output, plain};

/// How long memory may take. An agent waits for a prompt's hook on every prompt.
const PROMPT_LIMIT: Duration = Duration::from_millis(1_500);
const LIMIT: Duration = Duration::from_secs(4);
/// A longer log starts anew, and the one before it is kept.
const LOG_BYTES_MAX: u64 = 1 << 20;

/// Answers an event of an agent: reads its JSON on standard input, prints what it should know.
///
/// Agents run this; `cortex setup AGENT` tells them to. It always ends with exit code 0. What went wrong is in
/// logs/hooks.log of the home.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  echo '{\"session_id\":\"s1\",\"cwd\":\"/src/web\",\"source\":\"startup\"}' | cortex hook session-start
  echo '{\"session_id\":\"s1\",\"prompt\":\"Fix the login\"}' | cortex hook prompt-submit --agent codex")]
pub(crate) struct HookArgs {
    /// What happened
    #[arg(value_enum)]
    event: EventName,
    /// Who asks: it decides the shape of the reply
    #[arg(long, value_enum, default_value_t = Agent::ClaudeCode)]
    agent: Agent,
}

pub(crate) fn run(
    args: &HookArgs,
    globals: &GlobalArgs,
    env: CommandEnv,
    out: &Output,
) -> CommandResult {
    let (agent, event) = (args.agent, args.event);
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let mut caller = caller(globals, &env.variables, &env.cwd, None)?;
    caller.author = Author::Agent;
    let now = caller.environment.now();
    let waits = matches!(event, EventName::PromptSubmit | EventName::PreTool);
    let limit = if waits { PROMPT_LIMIT } else { LIMIT };
    let own = |(name, _): &(&String, &String)| name.starts_with("CORTEX_HOOKS_");
    let variables = env.variables.iter().filter(own);
    let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
    let (place, from) = (DaemonPlace::new(&folder), caller.info());
    let (reply, heard) = mpsc::channel();
    let mut input = env.input;
    // A thread of its own: if memory hangs, the process ends without it. What the daemon was told, it finishes.
    std::thread::spawn(move || {
        let nothing = || render(agent, event, &HookReply::default());
        let answer = match read(&mut input) {
            Ok(bytes) => {
                let mut notes = Vec::new();
                let (reply, trouble) = respond(agent, event, &bytes, |heard| {
                    let answer = ask(&place, from, limit, variables, heard)?;
                    notes = answer.notes;
                    Ok::<_, api::Error>(answer.context)
                });
                let noted = (!notes.is_empty()).then(|| notes.join("; "));
                (reply, trouble.or(noted))
            }
            Err(error) => (nothing(), Some(format!("standard input: {error}"))),
        };
        // Nobody listens any more if it took too long.
        let _ = reply.send(answer);
    });
    let (bytes, trouble) = heard.recv_timeout(limit).unwrap_or_else(|_| {
        let trouble = format!("memory did not answer within {} ms", limit.as_millis());
        (render(agent, event, &HookReply::default()), Some(trouble))
    });
    // An agent that closed the pipe does not want to know.
    let _ = std::io::stdout().write_all(&bytes);
    if let Some(trouble) = trouble {
        let line = format!("{agent} {}: {}", event.name(), plain(&trouble));
        if let Err(error) = log(&folder, now.ok(), &line) {
            out.say(format_args!("{line} (and the log cannot be written: {error})"));
        }
    }
    Ok(())
}

fn read(input: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to know.
    input.take(INPUT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn log(home: &Path, now: Option<Millis>, line: &str) -> std::io::Result<()> {
    let now = now.map(Millis::rfc3339).unwrap_or_default();
    let folder = home.join("logs");
    fs::create_dir_all(&folder)?;
    let path = folder.join("hooks.log");
    if fs::metadata(&path).is_ok_and(|about| about.len() > LOG_BYTES_MAX) {
        fs::rename(&path, folder.join("hooks.log.1"))?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{now} {line}\n").as_bytes())
}

/// Asks the daemon, once.
fn ask(
    place: &DaemonPlace,
    mut from: CallerInfo,
    limit: Duration,
    variables: BTreeMap<String, String>,
    event: HookEvent,
) -> api::Result<HookAnswer> {
    // The folder the agent works in says what project is meant.
    if let Some(folder) = &event.session.folder {
        from.cwd = Some(folder.clone());
    }
    let mut client = connect_or_start(place)?;
    client.set_limit(limit)?;
    client.ask(&from, request(event, variables))
}

/// The event in the words of the operation.
fn request(event: HookEvent, variables: BTreeMap<String, String>) -> HookRequest {
    let HookEvent { session, happening } = event;
    let mut request = HookRequest {
        agent: session.agent.name().to_owned(),
        session_id: session.id,
        transcript: session.transcript.map(|path| path.display().to_string()),
        variables,
        ..HookRequest::default()
    };
    request.moment = match happening {
        Happening::SessionStart(start) => {
            request.beginning = match start {
                Start::Fresh => SessionBeginning::Fresh,
                Start::Resumed => SessionBeginning::Resumed,
                Start::Cleared => SessionBeginning::Cleared,
                Start::Compacted => SessionBeginning::Compacted,
            };
            HookMoment::SessionStart
        }
        Happening::PromptSubmit { prompt } => {
            request.prompt = Some(prompt);
            HookMoment::Prompt
        }
        Happening::PreTool { file, command } => {
            (request.file, request.command) = (file, command);
            HookMoment::PreTool
        }
        Happening::PreCompact => HookMoment::PreCompact,
        Happening::SessionEnd { .. } => HookMoment::SessionEnd,
        Happening::SubagentStop { message } => {
            request.message = message;
            HookMoment::SubagentStop
        }
        Happening::Stop { message } => {
            request.message = message;
            HookMoment::Stop
        }
    };
    request
}
