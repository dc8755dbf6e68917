//! `cortex hook`: what agents run at the events of a session. It never fails and never keeps an agent waiting.
//!
//! Whatever happens (bad input, a busy store, a disk that is full), the agent gets an empty reply in time and exit code
//! 0; the trouble is one line in `logs/hooks.log` of the home.

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use agents::Agent;
use agents::hooks::{
    EventName, HookMemory, HookReply, HookSession, INPUT_BYTES_MAX, Start, reminder, render,
    respond, session_text,
};
use api::author::Author;
use api::bulletin::BulletinRequest;
use api::capture::CaptureRequest;
use api::context::ContextRequest;
use api::prompt::PromptSaveRequest;
use api::session::{SessionEndRequest, SessionGetRequest, SessionStartRequest};
use api::{CallerInfo, Operation};
use clap::Args;
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use client::start::connect_or_start;
use proof::memory::Millis;

use crate::failure::CommandResult;
use crate::invocation::{CommandEnv, GlobalArgs, caller, home_folder};
use crate::output::{Output, plain};
use crate::wiring::words;

/// How long memory may take. An agent waits for a prompt's hook on every prompt.
const PROMPT_LIMIT: Duration = Duration::from_millis(1_500);
const LIMIT: Duration = Duration::from_secs(4);
/// Bytes of context at the start of a session: about 1,500 tokens.
const START_BYTES: usize = 6_000;
/// What is left of them for recent memories, however long the bulletin is.
const CONTEXT_BYTES_MIN: usize = 2_000;
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
    let limit = if event == EventName::PromptSubmit { PROMPT_LIMIT } else { LIMIT };
    let (place, from) = (DaemonPlace::new(&folder), caller.info());
    let (reply, heard) = mpsc::channel();
    let mut input = env.input;
    // A thread of its own: if memory hangs, the process ends without it. What the daemon was told, it finishes.
    std::thread::spawn(move || {
        let nothing = || render(agent, event, &HookReply::default());
        let answer = match read(&mut input) {
            Ok(bytes) => match DaemonMemory::connect(&place, from, limit) {
                Ok(memory) => respond(agent, event, &bytes, &memory),
                Err(error) => (nothing(), Some(error.to_string())),
            },
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

/// The memory that the daemon of the home serves.
struct DaemonMemory {
    client: RefCell<DaemonClient>,
    from: CallerInfo,
}

impl DaemonMemory {
    fn connect(
        place: &DaemonPlace,
        from: CallerInfo,
        limit: Duration,
    ) -> api::Result<DaemonMemory> {
        let mut client = connect_or_start(place)?;
        client.set_limit(limit)?;
        Ok(DaemonMemory { client: RefCell::new(client), from })
    }

    /// Asks from the folder the agent works in, which says what project is meant.
    fn ask<R: Operation>(&self, session: &HookSession, request: R) -> api::Result<R::Answer> {
        let mut from = self.from.clone();
        if let Some(folder) = &session.folder {
            from.cwd = Some(folder.clone());
        }
        self.client.borrow_mut().ask(&from, request)
    }
}

/// True for an error that says it is so already, or never was: hooks come late, twice, or not at all.
fn is_moot(error: &api::Error) -> bool {
    matches!(error.fault, api::Fault::Missing | api::Fault::Conflict)
}

impl HookMemory for DaemonMemory {
    type Error = api::Error;

    fn start(&self, session: &HookSession, start: Start) -> api::Result<Option<String>> {
        let mut project = None;
        if let Some(id) = &session.id {
            let folder = |folder: &PathBuf| folder.display().to_string();
            let request = SessionStartRequest {
                id: id.clone(),
                project: None,
                directory: session.folder.as_ref().map(folder),
                agent: Some(session.agent.name().to_owned()),
            };
            match self.ask(session, request) {
                // A session that goes on after its end is still worth its context.
                Ok(started) => project = Some(started.project).filter(|name| !name.is_empty()),
                Err(error) if is_moot(&error) => {}
                Err(error) => return Err(error),
            }
        }
        // What is published already: a hook never waits for a bulletin to be made.
        // Of other projects an agent hears when it asks.
        let request = BulletinRequest {
            published: true,
            as_prompt: true,
            project: project.clone(),
            ..BulletinRequest::default()
        };
        let bulletin = self.ask(session, request)?.bulletin.filter(|one| !one.cited.is_empty());
        let bulletin = bulletin.map(|one| one.text).unwrap_or_default();
        let left = START_BYTES.saturating_sub(bulletin.len()).max(CONTEXT_BYTES_MIN);
        let request =
            ContextRequest { project, max_bytes: Some(left), ..ContextRequest::default() };
        let known = self.ask(session, request)?;
        let empty = known.pinned.is_empty() && known.memories.is_empty();
        let found = if empty { bulletin } else { format!("{bulletin}\n\n{}", known.text) };
        Ok(Some(session_text(start, Some(found.as_str()))))
    }

    fn prompt(&self, session: &HookSession, text: &str) -> api::Result<Option<String>> {
        let request = PromptSaveRequest {
            content: text.to_owned(),
            session_id: session.id.clone(),
            ..PromptSaveRequest::default()
        };
        let said = self.ask(session, request)?;
        let Some(id) = &session.id else { return Ok(None) };
        let view = self.ask(session, SessionGetRequest { id: id.clone() })?;
        let last = view.last_saved_at.as_deref().map(words::time).transpose()?;
        let now = words::time(&said.created_at)?;
        let started = words::time(&view.started_at)?;
        Ok(reminder(now, started, last))
    }

    fn before_compaction(&self, _session: &HookSession) -> api::Result<Option<String>> {
        // Everything kept so far is on disk already; the start after the compaction asks for the summary.
        Ok(None)
    }

    fn end(&self, session: &HookSession, _reason: Option<&str>) -> api::Result<()> {
        let Some(id) = &session.id else { return Ok(()) };
        let request = SessionEndRequest { id: id.clone(), summary: None };
        match self.ask(session, request) {
            Ok(_) => Ok(()),
            // Some agents announce the end of sessions whose start they never announced.
            Err(error) if is_moot(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn report(&self, session: &HookSession, event: EventName, text: &str) -> api::Result<()> {
        let request = CaptureRequest {
            content: text.to_owned(),
            session_id: session.id.clone(),
            project: None,
            source: Some(event.name().to_owned()),
        };
        self.ask(session, request).map(drop)
    }
}
