//! One agent's connection: its settings are written, and the server is started as the agent will start it.

use std::path::Path;

use agents::Agent;
use agents::setup::{AgentState, FileOutcome, Scope, SetupJob, Surroundings, listed_tools, set_up};
use serde::Serialize;

use super::super::agent_setup::program;
use super::TOOLS;

/// What came of connecting one agent.
#[derive(Debug, Serialize)]
pub(super) struct ConnectionTry {
    pub(super) agent: Agent,
    pub(super) files: Vec<FileOutcome>,
    /// Tools that the server listed when it was started as the agent will start it.
    pub(super) tools: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// Sets one agent up and starts the server as the agent will.
pub(super) fn connect(state: &AgentState, around: &Surroundings, home: &Path) -> ConnectionTry {
    let failed = |problem: String| ConnectionTry {
        agent: state.agent,
        files: Vec::new(),
        tools: 0,
        problem: Some(problem),
    };
    let program = match program(around) {
        Ok(program) => program,
        Err(failure) => return failed(failure.to_string()),
    };
    let job = SetupJob {
        agent: state.agent,
        scope: Scope::User,
        surroundings: around,
        program: &program,
        home,
        globals: around.options(home, None),
        tools: TOOLS.to_owned(),
        dry_run: false,
    };
    let files = match set_up(&job) {
        Ok(files) => files,
        Err(error) => return failed(error.to_string()),
    };
    let (tools, problem) = match listed_tools(&program.running, home, &around.project, TOOLS) {
        Ok(tools) => (tools, None),
        Err(problem) => (0, Some(problem)),
    };
    ConnectionTry { agent: state.agent, files, tools, problem }
}
