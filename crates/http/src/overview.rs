//! What is going on: context, timeline, counts, projects; and texts that memories are made from.

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Asker, Body, QueryParameters, page};
use crate::{App, Reply};
use api::Error;
use api::audit::{AuditAnswer, AuditRequest, EXAMPLES_MAX};
use api::bundle::{BundleAnswer, BundleRequest};
use api::capture::{CaptureAnswer, CaptureRequest, SuggestAnswer, SuggestRequest};
use api::context::{ContextAnswer, ContextRequest, LIMIT_MAX};
use api::hook::{HookAnswer, HookMoment, HookRequest};
use api::projects::{MergeAnswer, MergeRequest, SeparateAnswer, SeparateRequest};
use api::stats::{
    EntityListAnswer, EntityListRequest, ProjectsAnswer, ProjectsRequest, StatsAnswer, StatsRequest,
};
use api::timeline::{SIDE_MAX, TimelineAnswer, TimelineRequest};

/// What an agent should know when it starts, as Markdown within a budget and as lists.
#[utoipa::path(
    get, path = "/api/context", tag = "overview", operation_id = "get_context",
    params(ContextRequest),
    responses((status = 200, description = "The context", body = ContextAnswer)),
)]
pub(super) async fn context(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<ContextRequest>,
) -> Reply {
    request.limit = page(request.limit, LIMIT_MAX)?;
    app.reply(caller, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BriefingParameters {
    /// When: `session_start`, if absent, `prompt` or `tool`.
    moment: Option<String>,
    /// The agent's program. What is new since it was last here is told at the start.
    agent: Option<String>,
    project: Option<String>,
    /// What a person asks the agent.
    prompt: Option<String>,
    /// The file that the agent is about to change.
    file: Option<String>,
    /// The command that the agent is about to run.
    command: Option<String>,
}

/// What hooks would tell an agent now, word for word: at the start of a session, with a prompt, or before it uses a
/// tool. Looking tells nobody and keeps nothing. For the owner.
#[utoipa::path(
    get, path = "/api/briefing", tag = "overview", operation_id = "get_briefing",
    params(BriefingParameters),
    responses((
        status = 200, description = "The text; without `context` the hook says nothing", body = HookAnswer,
    )),
)]
pub(super) async fn briefing(
    State(app): State<App>,
    Asker(mut caller): Asker,
    QueryParameters(asked): QueryParameters<BriefingParameters>,
) -> Reply {
    let moment = match asked.moment.as_deref() {
        None | Some("session_start") => HookMoment::SessionStart,
        Some("prompt") => HookMoment::Prompt,
        Some("tool") => HookMoment::PreTool,
        Some(_) => {
            return Err(Error::invalid("moment", "must be session_start, prompt or tool").into());
        }
    };
    caller.project = asked.project.or(caller.project);
    let request = HookRequest {
        moment,
        agent: asked.agent.unwrap_or_default(),
        prompt: asked.prompt,
        file: asked.file,
        command: asked.command,
        preview: true,
        ..HookRequest::default()
    };
    app.reply(caller, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BundleParameters {
    /// What the task is about, in words.
    about: Option<String>,
    project: Option<String>,
    /// Tokens at most; 3000 if absent.
    budget: Option<u32>,
}

/// What to know before a task, as one text within a budget of tokens, with what did not fit.
#[utoipa::path(
    get, path = "/api/bundle", tag = "overview", operation_id = "get_bundle",
    params(BundleParameters),
    responses((status = 200, description = "The text, and what is in it", body = BundleAnswer)),
)]
pub(super) async fn bundle(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<BundleParameters>,
) -> Reply {
    let BundleParameters { about, project, budget } = asked;
    app.reply(caller, BundleRequest { about, project, budget, ..BundleRequest::default() }).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TimelineParameters {
    /// The memory in the middle.
    #[param(required, minimum = 1)]
    observation_id: u64,
    /// 5 if absent.
    before: Option<usize>,
    /// 5 if absent.
    after: Option<usize>,
    /// True: looking is not using.
    quiet: bool,
}

/// What was saved before and after a memory, in its session or project.
#[utoipa::path(
    get, path = "/api/timeline", tag = "overview", operation_id = "get_timeline",
    params(TimelineParameters),
    responses((status = 200, description = "Oldest first", body = TimelineAnswer)),
)]
pub(super) async fn timeline(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<TimelineParameters>,
) -> Reply {
    let request = TimelineRequest {
        id: asked.observation_id,
        before: page(asked.before, SIDE_MAX)?,
        after: page(asked.after, SIDE_MAX)?,
        quiet: asked.quiet,
    };
    app.reply(caller, request).await
}

/// Counts.
#[utoipa::path(
    get, path = "/api/stats", tag = "overview", operation_id = "get_stats",
    responses((status = 200, description = "Counts", body = StatsAnswer)),
)]
pub(super) async fn stats(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, StatsRequest {}).await
}

/// Which memories need attention: copies, contradictions, secrets, what is out of date or was never used. Changes
/// nothing.
#[utoipa::path(
    get, path = "/api/audit", tag = "overview", operation_id = "audit",
    params(AuditRequest),
    responses((status = 200, description = "What was found, the worst first", body = AuditAnswer)),
)]
pub(super) async fn audit(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<AuditRequest>,
) -> Reply {
    request.limit = page(request.limit, EXAMPLES_MAX)?;
    app.reply(caller, request).await
}

/// Projects, latest activity first.
#[utoipa::path(
    get, path = "/api/projects", tag = "overview", operation_id = "list_projects",
    responses((status = 200, description = "Projects", body = ProjectsAnswer)),
)]
pub(super) async fn projects(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, ProjectsRequest {}).await
}

/// What all memories name: files, packages, symbols and the like, the most named first.
#[utoipa::path(
    get, path = "/api/entities", tag = "overview", operation_id = "list_entities",
    params(EntityListRequest),
    responses((status = 200, description = "What is named, and how often", body = EntityListAnswer)),
)]
pub(super) async fn list_entities(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(request): QueryParameters<EntityListRequest>,
) -> Reply {
    app.reply(caller, request).await
}

/// Moves every memory of some projects to another name.
#[utoipa::path(
    post, path = "/api/projects/merge", tag = "overview", operation_id = "merge_projects",
    request_body = MergeRequest,
    responses((status = 200, description = "How many were moved", body = MergeAnswer)),
)]
pub(super) async fn merge_projects(
    State(app): State<App>,
    Asker(caller): Asker,
    body: Body,
) -> Reply {
    let request: MergeRequest = body.read()?;
    app.reply(caller, request).await
}

/// Lets a merged name be a project of its own again. Its memories stay where they are; the answer of the merge says how
/// they go back.
#[utoipa::path(
    post, path = "/api/projects/separate", tag = "overview", operation_id = "separate_project",
    request_body = SeparateRequest,
    responses((status = 200, description = "The name", body = SeparateAnswer)),
)]
pub(super) async fn separate_project(
    State(app): State<App>,
    Asker(caller): Asker,
    body: Body,
) -> Reply {
    let request: SeparateRequest = body.read()?;
    app.reply(caller, request).await
}

/// Saves the learnings that a text lists under a heading like `Key Learnings`.
#[utoipa::path(
    post, path = "/api/observations/passive", tag = "memories", operation_id = "capture_passive",
    request_body = CaptureRequest,
    responses((status = 200, description = "What was saved", body = CaptureAnswer)),
)]
pub(super) async fn capture(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: CaptureRequest = body.read()?;
    app.reply(caller, request).await
}

/// A stable key for a topic: the same words always give the same key.
#[utoipa::path(
    post, path = "/api/topic-keys/suggest", tag = "memories", operation_id = "suggest_topic_key",
    request_body = SuggestRequest,
    responses((status = 200, description = "The key", body = SuggestAnswer)),
)]
pub(super) async fn suggest(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: SuggestRequest = body.read()?;
    app.reply(caller, request).await
}
