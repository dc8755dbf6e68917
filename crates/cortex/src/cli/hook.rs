//! `cortex hook`: what agents run at the events of a session. It never fails and never keeps an agent waiting.
//!
//! Whatever happens (bad input, a busy store, a disk that is full), the agent gets an empty reply in time and exit code 0;
//! the trouble is one line in `logs/hooks.log` of the home.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use kernel::command::{Command, PromptDraft, SessionClose, SessionDraft};
use kernel::context::ContextQuery;

use super::failure::{Failure, Outcome};
use super::open::{Globals, Invocation};
use super::output::{plain, say};
use crate::hooks::{
    EventName, HookMemory, HookReply, HookSession, INPUT_BYTES_MAX, Start, render, respond,
    session_text,
};
use crate::setup::Agent;

/// How long memory may take. An agent waits for a prompt's hook on every prompt.
const PROMPT_LIMIT: Duration = Duration::from_millis(1_500);
const LIMIT: Duration = Duration::from_secs(4);
/// Tokens of context at the start of a session.
const START_TOKENS: u32 = 1_500;
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

pub(crate) fn run(args: &HookArgs, globals: &Globals) {
    let (agent, event) = (args.agent, args.event);
    let (reply, heard) = mpsc::channel();
    let wanted = globals.clone();
    // A thread of its own: if memory hangs, the process ends without it. The store survives that at any moment.
    std::thread::spawn(move || {
        let answer = match input() {
            Ok(input) => match Direct::open(wanted) {
                Ok(memory) => respond(agent, event, &input, &memory),
                Err(failure) => {
                    (render(agent, event, &HookReply::default()), Some(failure.to_string()))
                }
            },
            Err(error) => (
                render(agent, event, &HookReply::default()),
                Some(format!("standard input: {error}")),
            ),
        };
        // Nobody listens any more if it took too long.
        let _too_late = reply.send(answer);
    });
    let limit = if event == EventName::PromptSubmit { PROMPT_LIMIT } else { LIMIT };
    let (bytes, trouble) = heard.recv_timeout(limit).unwrap_or_else(|_| {
        let trouble = format!("memory did not answer within {} ms", limit.as_millis());
        (render(agent, event, &HookReply::default()), Some(trouble))
    });
    // An agent that closed the pipe does not want to know.
    let _unheard = std::io::stdout().write_all(&bytes);
    if let Some(trouble) = trouble {
        let line = format!("{agent} {}: {}", event.name(), plain(&trouble));
        if let Err(error) = log(globals, &line) {
            say(format_args!("{line} (and the log cannot be written: {error})"));
        }
    }
}

fn input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to know.
    std::io::stdin().lock().take(INPUT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn log(globals: &Globals, line: &str) -> std::io::Result<()> {
    let inv = Invocation::new(globals, None)
        .map_err(|failure| std::io::Error::other(failure.to_string()))?;
    let now = inv.now().map(kernel::memory::Millis::rfc3339).unwrap_or_default();
    let folder = inv.folder().join("logs");
    fs::create_dir_all(&folder)?;
    let path = folder.join("hooks.log");
    if fs::metadata(&path).is_ok_and(|about| about.len() > LOG_BYTES_MAX) {
        fs::rename(&path, folder.join("hooks.log.1"))?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{now} {line}\n").as_bytes())
}

/// The memory of this process: the store itself.
struct Direct {
    inv: Invocation,
}

impl Direct {
    fn open(mut globals: Globals) -> Outcome<Direct> {
        // Another process that holds the store for long is no reason to keep an agent waiting.
        globals.wait = Some(1);
        Ok(Direct { inv: Invocation::new(&globals, None)? })
    }
}

impl HookMemory for Direct {
    type Error = Failure;

    fn start(&self, session: &HookSession, start: Start) -> Outcome<Option<String>> {
        let cortex = self.inv.cortex()?;
        let project = session.folder.as_deref().and_then(project_of);
        if let Some(id) = &session.id {
            let draft = SessionDraft {
                session: id.clone(),
                project: project.clone(),
                directory: session.folder.as_ref().map(|folder| folder.display().to_string()),
                agent: Some(session.agent.name().to_owned()),
            };
            match self.inv.change(&cortex, Command::SessionStart(draft), None) {
                // A session that goes on after its end is still worth its context.
                Ok(_) | Err(Failure::Kernel(kernel::Error::SessionEnded(_))) => {}
                Err(failure) => return Err(failure),
            }
        }
        let mut query = ContextQuery::new(self.inv.now()?);
        query.project = project;
        query.session.clone_from(&session.id);
        query.budget_tokens = START_TOKENS;
        let bundle = cortex.context(&query)?;
        let empty =
            bundle.pinned.is_empty() && bundle.relevant.is_empty() && bundle.outcomes.is_empty();
        Ok(Some(session_text(start, (!empty).then_some(bundle.text.as_str()))))
    }

    fn prompt(&self, session: &HookSession, text: &str) -> Outcome<Option<String>> {
        let draft = PromptDraft {
            session: session.id.clone(),
            project: session.folder.as_deref().and_then(project_of),
            text: text.to_owned(),
            salt: self.inv.salt()?,
        };
        let cortex = self.inv.cortex()?;
        self.inv.change(&cortex, Command::Prompt(draft), None)?;
        Ok(None)
    }

    fn before_compaction(&self, _session: &HookSession) -> Outcome<Option<String>> {
        // Everything kept so far is on disk already; the start after the compaction asks for the summary.
        Ok(None)
    }

    fn end(&self, session: &HookSession, _reason: Option<&str>) -> Outcome {
        let Some(id) = &session.id else { return Ok(()) };
        let close = SessionClose { session: id.clone(), summary: None, salt: self.inv.salt()? };
        let cortex = self.inv.cortex()?;
        match self.inv.change(&cortex, Command::SessionEnd(close), None) {
            // Some agents announce the end of sessions whose start they never announced.
            Ok(_) | Err(Failure::Kernel(kernel::Error::NotFound { .. })) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    fn report(&self, _session: &HookSession, event: EventName, _text: &str) -> Outcome {
        Err(Failure::input(format!("learnings of {} are not kept yet", event.name())))
    }
}

/// The project of a folder: the name of the repository around it, or of the folder itself.
fn project_of(folder: &Path) -> Option<String> {
    let root = folder.ancestors().find(|parent| parent.join(".git").exists()).unwrap_or(folder);
    Some(root.file_name()?.to_string_lossy().to_lowercase())
}
