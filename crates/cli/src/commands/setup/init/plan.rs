//! What there is on this machine and what will be done about it, as a newcomer reads it at one glance.
//!
//! What must stay true: everything that will change is named; what is not here takes one line.

use std::path::{Path, PathBuf};

use agents::setup::{AgentState, Surroundings};
use serde::Serialize;

use crate::failure::CommandResult;
use crate::output::{Output, plain};

/// Characters of a name before what is said of it.
const NAME_WIDTH: usize = 15;

/// Agents that delete sessions by themselves, and where they are told when.
const DELETES: [(&str, &str); 2] = [
    ("claude-code", "; it deletes them after 30 days (cleanupPeriodDays), here they stay"),
    ("gemini-cli", "; it deletes them after 30 days (sessionRetention), here they stay"),
];

/// Bytes that are read in a second on two cores of an ordinary machine; `docs/benchmarks.md` has the measurement.
const BYTES_A_SECOND: u64 = 80_000_000;

/// What there is on this machine.
#[derive(Debug, Serialize)]
pub(super) struct InitPlan {
    pub(super) dry_run: bool,
    pub(super) agents: Vec<AgentState>,
    pub(super) histories: Vec<AgentHistory>,
    /// Why nobody can tell what agents wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) histories_problem: Option<String>,
    pub(super) stores: Vec<OtherStore>,
}

#[derive(Debug, Serialize)]
pub(super) struct AgentHistory {
    pub(super) agent: String,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// Where another tool keeps memories.
#[derive(Debug, Serialize)]
pub(super) struct OtherStore {
    pub(super) format: &'static str,
    pub(super) path: PathBuf,
}

impl InitPlan {
    /// Whether there is anything to connect, to read or to import.
    pub(super) fn is_empty(&self) -> bool {
        let is_here = self.agents.iter().any(|state| state.installed);
        let is_known = self.histories_problem.is_none();
        !is_here && is_known && self.histories.is_empty() && self.stores.is_empty()
    }
}

/// What will be done, in as many lines as there are things to do; what is not here takes one.
pub(super) fn show(plan: &InitPlan, user: &Path, out: &mut Output) -> CommandResult {
    let width = NAME_WIDTH;
    let here = |complete: bool| {
        plan.agents.iter().filter(move |state| state.installed && state.complete == complete)
    };
    if here(false).next().is_some() {
        out.line("To connect (tools, hooks and instructions; a copy of each file is kept):")?;
    }
    for state in here(false) {
        let files: Vec<String> = state.files.iter().map(|file| in_short(file, user)).collect();
        out.line(format_args!("  {:<width$} {}", state.agent.name(), files.join(", ")))?;
    }
    let names = |states: Vec<&AgentState>| {
        states.iter().map(|state| state.agent.name()).collect::<Vec<_>>().join(", ")
    };
    let complete: Vec<&AgentState> = here(true).collect();
    if !complete.is_empty() {
        out.line(format_args!("Connected already, to be tried: {}", names(complete)))?;
    }
    let absent: Vec<&AgentState> = plan.agents.iter().filter(|one| !one.installed).collect();
    if absent.len() == plan.agents.len() {
        out.line("No agent that Cortex knows is installed here.")?;
    }
    if !absent.is_empty() {
        out.line(format_args!("Not installed, left alone: {}", names(absent)))?;
    }
    if let Some(problem) = &plan.histories_problem {
        let problem = plain(problem);
        out.line(format_args!("What agents wrote down could not be looked at: {problem}"))?;
    }
    if !plan.histories.is_empty() {
        let bytes = plan.histories.iter().map(|history| history.bytes).sum();
        let time = reading_time(bytes);
        out.line(format_args!(
            "To read in {time}, so that earlier sessions can be searched; they stay on this machine, secrets masked:"
        ))?;
    }
    for history in &plan.histories {
        let (agent, files, size) = (&history.agent, history.files, megabytes(history.bytes));
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        let deleted = DELETES.iter().find(|(name, _)| name == agent);
        let deleted = deleted.map_or("", |(_, when)| *when);
        out.line(format_args!("  {agent:<width$} {files}, {size}{deleted}"))?;
    }
    if !plan.stores.is_empty() {
        out.line("To import from other tools, which keep theirs:")?;
    }
    for store in &plan.stores {
        out.line(format_args!("  {:<width$} {}", store.format, in_short(&store.path, user)))?;
    }
    out.flush()
}

/// A path as people write it, below their home.
fn in_short(path: &Path, user: &Path) -> String {
    let short = match path.strip_prefix(user) {
        Ok(below) => Path::new("~").join(below),
        Err(_) => path.to_owned(),
    };
    plain(&short.display().to_string())
}

fn reading_time(bytes: u64) -> String {
    match bytes / BYTES_A_SECOND {
        0..5 => "a few seconds".to_owned(),
        seconds @ 5..90 => format!("about {seconds} seconds"),
        seconds => format!("about {} minutes, the newest first", seconds.div_ceil(60)),
    }
}

fn megabytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => "less than 1 MB".to_owned(),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Stores of other tools, where those tools keep them by default.
pub(super) fn other_stores(around: &Surroundings) -> Vec<OtherStore> {
    const KNOWN: [(&str, &str); 5] = [
        ("engram", ".engram/engram.db"),
        ("claude-mem", ".claude-mem/claude-mem.db"),
        ("mem0", ".mem0/memories.json"),
        ("server-memory", ".mcp-memory/memory.jsonl"),
        ("markdown", "basic-memory"),
    ];
    let found = KNOWN.into_iter().map(|(format, below)| (format, around.home.join(below)));
    found
        .filter(|(_, path)| path.exists())
        .map(|(format, path)| OtherStore { format, path })
        .collect()
}
