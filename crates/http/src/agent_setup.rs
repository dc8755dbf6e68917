//! The coding agents of this machine: how each stands, and connecting and disconnecting one, for the person whose home
//! it is.
//!
//! What must stay true: only a person changes the settings of an agent; a dry run says to the byte what would change
//! and changes nothing; what was connected here is disconnected here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agents::Agent;
use agents::setup::{
    AgentState, Program, Scope, SetupError, SetupJob, Surroundings, System, advice, listed_tools,
    remove, set_up, states,
};
use api::{Error, ErrorCode, Fault};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use daemon::server::OwnProcess;
use host::pools::WorkKind;
use serde::{Deserialize, Serialize};
use service::Caller;
use service::access::for_owner;
use utoipa::ToSchema;

use crate::input::{Asker, Body};
use crate::problem::Problem;
use crate::{App, Reply};

/// The tools that agents get.
const TOOLS: &str = "core";

/// Where agents keep their settings, and what they are told to start.
#[derive(Clone, Debug)]
pub(super) struct AgentPlaces(Arc<Option<(Surroundings, Program)>>);

impl AgentPlaces {
    /// Of the person who started the process; of nobody if that has no home folder.
    pub(super) fn of(process: OwnProcess) -> AgentPlaces {
        let OwnProcess { program, environment } = process;
        let Some(home) = environment.get("HOME").filter(|home| !home.is_empty()) else {
            return AgentPlaces(Arc::new(None));
        };
        let home = PathBuf::from(home);
        let mut variables = environment;
        // Keys of others are none of its business.
        variables.retain(|name, _| Surroundings::reads(name));
        let (system, project) = (System::current(), home.clone());
        let surroundings = Surroundings { system, home, project, variables };
        let program = Program::new(program, &surroundings);
        AgentPlaces(Arc::new(Some((surroundings, program))))
    }

    fn get(&self) -> Result<&(Surroundings, Program), Problem> {
        self.0.as_ref().as_ref().ok_or_else(|| {
            let message = "the daemon was started without a home folder";
            Problem::from(Error::new(ErrorCode::Settings, Fault::Missing, message))
                .with_hint("start it with HOME, or use `cortex setup`")
        })
    }
}

/// How an agent of this machine stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentView {
    agent: String,
    /// The name that its makers gave it.
    title: String,
    /// In a few words: `ready`, `installed, not set up`, `not installed` …
    state: String,
    /// Its program or its folder is there.
    installed: bool,
    /// Its settings name Cortex.
    configured: bool,
    /// Tools, hooks and all else that it gets are there.
    complete: bool,
    /// The settings files, whether they exist or not.
    files: Vec<String>,
    /// Why the settings could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// What is to be done with an agent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AgentChange {
    /// Only say what would change.
    dry_run: bool,
    /// Take back what was written into its settings.
    remove: bool,
}

/// What became of it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentChangeOutcome {
    agent: String,
    dry_run: bool,
    files: Vec<AgentFileView>,
    /// What a person has to do besides.
    notes: Vec<String>,
    /// Tools that the server listed when it was started as the agent will start it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    /// Why it listed none.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// One file of an agent's settings.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentFileView {
    path: String,
    /// `created`, `changed`, `deleted` or `unchanged`.
    action: String,
    /// Where its text from before is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<String>,
    /// What would change, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// The coding agents that Cortex knows, and how each stands on this machine. For the owner.
#[utoipa::path(
    get, path = "/api/agents", tag = "agents", operation_id = "list_agents",
    responses((status = 200, description = "All of them, installed or not", body = [AgentView])),
)]
pub(super) async fn list(State(app): State<App>, Asker(caller): Asker) -> Reply {
    for_owner(&caller)?;
    let places = app.agents.clone();
    let found = app
        .run(WorkKind::Read, move |_| {
            let (surroundings, _) = places.get()?;
            let states = states(surroundings).into_iter();
            Ok(states.filter(|state| state.scope == Scope::User).map(view).collect::<Vec<_>>())
        })
        .await?;
    crate::listed(&found, 0, found.len())
}

/// Connects an agent to this home, or disconnects it. Its settings are merged, never replaced; a dry run shows what
/// would change. A server is started as the agent will start it, to see that its tools answer. For the owner.
#[utoipa::path(
    post, path = "/api/agents/{agent}", tag = "agents", operation_id = "set_up_agent",
    params(("agent" = String, Path, description = "The agent")),
    request_body = AgentChange,
    responses(
        (status = 200, description = "What was changed, or would be", body = AgentChangeOutcome),
        (status = 404, description = "No agent of this name is known"),
        (status = 409, description = "Its settings cannot be read, so nothing was changed"),
    ),
)]
pub(super) async fn change(
    State(app): State<App>,
    Asker(caller): Asker,
    axum::extract::Path(name): axum::extract::Path<String>,
    body: Body,
) -> Reply {
    by_person(&caller)?;
    let agent: Agent = name.parse().map_err(|error: agents::UnknownAgent| {
        Problem::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, error.to_string())
    })?;
    let wanted: AgentChange = body.read()?;
    let places = app.agents.clone();
    let outcome = app
        .run(WorkKind::Command, move |host| {
            let (surroundings, program) = places.get()?;
            changed(agent, &wanted, surroundings, program, host.folder())
        })
        .await?;
    Ok(Json(outcome).into_response())
}

fn changed(
    agent: Agent,
    wanted: &AgentChange,
    surroundings: &Surroundings,
    program: &Program,
    folder: &Path,
) -> Result<AgentChangeOutcome, Problem> {
    let home = std::path::absolute(folder)
        .map_err(|error| Error::new(ErrorCode::Io, Fault::Server, error.to_string()))?;
    let job = SetupJob {
        agent,
        scope: Scope::User,
        surroundings,
        program,
        home: &home,
        globals: surroundings.options(&home, None),
        tools: TOOLS.to_owned(),
        dry_run: wanted.dry_run,
    };
    let done = if wanted.remove { remove(&job) } else { set_up(&job) };
    let files = done.map_err(|error| refused(&error))?;
    let is_set_up = !wanted.remove && !wanted.dry_run;
    let tried = is_set_up.then(|| listed_tools(&program.running, &home, &surroundings.home, TOOLS));
    let notes = if is_set_up { advice(agent) } else { &[] };
    Ok(AgentChangeOutcome {
        agent: agent.name().to_owned(),
        dry_run: wanted.dry_run,
        files: files
            .into_iter()
            .map(|file| AgentFileView {
                path: file.path.display().to_string(),
                action: file.action.word().to_owned(),
                copy: file.copy.map(|copy| copy.display().to_string()),
                diff: file.diff,
            })
            .collect(),
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        tools: tried.as_ref().and_then(|tried| tried.as_ref().ok().copied()),
        problem: tried.and_then(Result::err),
    })
}

fn by_person(caller: &Caller) -> Result<(), Problem> {
    for_owner(caller)?;
    if caller.author.is_person() {
        return Ok(());
    }
    let message = "the settings of agents are changed by a person";
    Err(Error::new(ErrorCode::PersonNeeded, Fault::Forbidden, message).into())
}

fn view(state: AgentState) -> AgentView {
    AgentView {
        agent: state.agent.name().to_owned(),
        title: state.agent.title().to_owned(),
        state: state.words(),
        installed: state.installed,
        configured: state.configured,
        complete: state.complete,
        files: state.files.iter().map(|path| path.display().to_string()).collect(),
        problem: state.problem,
    }
}

fn refused(error: &SetupError) -> Problem {
    let (status, hint) = match error {
        SetupError::Io { .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "see that the file can be written")
        }
        SetupError::TooLarge { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "edit it by hand"),
        _ => (StatusCode::CONFLICT, "mend the file, or edit it by hand, and try again"),
    };
    Problem::new(status, ErrorCode::named(error.code()), error.to_string()).with_hint(hint)
}
