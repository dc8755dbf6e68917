//! How each agent stands: is it there, does it know Cortex, and would what it knows work?

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::agent::Agent;
use crate::setup::files;
use crate::setup::launch::{Launch, Program};
use crate::setup::places::Scope;
use crate::setup::places::{Surroundings, places};
use crate::setup::recipe::{SERVER, targets};
use crate::setup::run::chosen;

#[derive(Debug, Serialize)]
pub struct AgentState {
    pub agent: Agent,
    pub scope: Scope,
    /// Its program is on PATH or its settings folder exists.
    pub installed: bool,
    /// Its list of servers names Cortex.
    pub configured: bool,
    /// Everything else (hooks, plugin) is there too.
    pub complete: bool,
    /// The settings files, whether they exist or not.
    pub files: Vec<PathBuf>,
    /// The program that the settings start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether that program exists. Nothing if Cortex is not configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<bool>,
    /// Why the settings could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl AgentState {
    /// How it stands, in a few words.
    pub fn words(&self) -> String {
        match (self.problem.is_some(), self.configured, self.healthy, self.complete) {
            (true, ..) => "cannot be read".to_owned(),
            (false, true, Some(false), _) => {
                format!("broken: no {}", self.program.as_deref().unwrap_or("program"))
            }
            (false, true, ..) if !self.installed => "set up, but not installed".to_owned(),
            (false, true, _, true) => "ready".to_owned(),
            (false, true, _, false) => "tools only, no hooks".to_owned(),
            (false, false, ..) if self.installed => "installed, not set up".to_owned(),
            (false, false, ..) => "not installed".to_owned(),
        }
    }
}

/// The state of every agent. Project settings are listed where they name Cortex.
pub fn states(at: &Surroundings) -> Vec<AgentState> {
    let mut states = Vec::new();
    for agent in Agent::ALL {
        for scope in [Scope::User, Scope::Project] {
            let state = state(agent, scope, at);
            states.extend(state.filter(|state| scope == Scope::User || state.configured));
        }
    }
    states
}

fn state(agent: Agent, scope: Scope, at: &Surroundings) -> Option<AgentState> {
    let places = places(agent, scope, at)?;
    // Only paths and names are looked at; what would be written does not matter here.
    let launch = Launch {
        program: SERVER.to_owned(),
        globals: Vec::new(),
        tools: String::new(),
        system: at.system,
    };
    let targets = targets(agent, &places, &launch);
    let ours: Vec<&Path> = targets.iter().map(chosen).collect();
    let mut state = AgentState {
        agent,
        scope,
        installed: on_path(agent.program(), at).is_some() || is_used(&places.folder, &ours),
        configured: false,
        complete: true,
        files: Vec::new(),
        program: None,
        healthy: None,
        problem: None,
    };
    for (number, target) in targets.iter().enumerate() {
        let path = chosen(target);
        state.files.push(path.to_owned());
        let text = match files::read(path) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                state.problem = Some(error.to_string());
                continue;
            }
        };
        let settings = match target.content.read(&text) {
            Ok(settings) => settings,
            Err(fault) => {
                state.problem = Some(format!("{}: {fault}", path.display()));
                continue;
            }
        };
        let all = target.content.entries().iter().all(|entry| entry.is_in(&settings));
        state.complete &= all && target.content.is_in(&text).unwrap_or(false);
        if number == 0
            && let Some(server) = target.content.entries().first().and_then(|e| e.found(&settings))
        {
            state.configured = true;
            state.program = program(server);
            let works = state.program.as_deref().is_some_and(|program| is_there(program, at));
            state.healthy = Some(works);
        }
    }
    state.complete &= state.configured;
    Some(state)
}

/// Whether an agent's folder holds anything that set-up did not make: files of ours alone prove nothing. Of a file that
/// was there before, set-up keeps a copy.
fn is_used(folder: &Path, ours: &[&Path]) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_kept = |path: &PathBuf| path.to_string_lossy().ends_with(".before-cortex");
    let is_ours = |path: &PathBuf| ours.contains(&path.as_path()) || holds_ours(path);
    paths.is_empty() || paths.iter().any(|path| is_kept(path) || !is_ours(path))
}

/// Whether a file or folder has anything of ours in it.
fn holds_ours(path: &Path) -> bool {
    path.join("cortex-memory").exists()
        || path.join("cortex.js").exists()
        || path.join("cortex.json").exists()
        || std::fs::read_to_string(path).is_ok_and(|text| text.contains(SERVER))
}

/// The program in a server's entry: `command` (Goose: `cmd`) is a word, or a list of words whose first it is.
fn program(server: &Value) -> Option<String> {
    let command = server.get("command").or_else(|| server.get("cmd"))?;
    let word = command.as_str().or_else(|| command.get(0)?.as_str())?;
    Some(word.to_owned())
}

fn is_there(program: &str, at: &Surroundings) -> bool {
    let path = Path::new(program);
    if path.components().count() > 1 { is_program(path) } else { on_path(program, at).is_some() }
}

impl Program {
    /// The program that runs here. What a shell finds counts only if it is this very one.
    pub fn new(running: PathBuf, at: &Surroundings) -> Program {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let on_path = on_path("cortex", at).filter(|found| real(found) == real(&running));
        Program { running, on_path }
    }
}

/// Where a shell would find a program.
fn on_path(program: &str, at: &Surroundings) -> Option<PathBuf> {
    let name = if cfg!(windows) { format!("{program}.exe") } else { program.to_owned() };
    at.path().into_iter().map(|folder| folder.join(&name)).find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
