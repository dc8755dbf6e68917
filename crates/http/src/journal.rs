//! What happened and who was told: the journal, counts over time, tellings, actors; settings of the home; and one
//! change of many memories.

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Asker, Body, Id, QueryParameters, page};
use crate::{App, Reply};
use api::activity::{ACTIVITY_MAX, ActivityAnswer, ActivityRequest};
use api::change_many::{ChangeManyAnswer, ChangeManyRequest};
use api::counts::{CountsAnswer, CountsRequest, TAGS_MAX, TagListAnswer, TagListRequest};
use api::journal::{
    JOURNAL_PAGE_MAX, JournalAnswer, JournalEntry, JournalEntryRequest, JournalRequest,
};
use api::settings::{SetSettingAnswer, SetSettingRequest, SettingsAnswer, SettingsRequest};
use api::stats::{ActorListAnswer, ActorListRequest};
use api::telling::{TELLINGS_PAGE_MAX, TellingsAnswer, TellingsRequest};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct JournalParameters {
    /// The first entry of the page; 1 if absent.
    #[param(minimum = 1)]
    from: Option<u64>,
    /// 1 to 256; 256 if absent.
    #[param(minimum = 1, maximum = 256)]
    limit: Option<usize>,
    /// Only entries of this kind: write, update …
    kind: Option<String>,
    /// Only entries of this background run.
    run: Option<String>,
}

/// The journal in pages, oldest first; each entry with a line for people. For the owner.
#[utoipa::path(
    get, path = "/api/journal", tag = "journal", operation_id = "list_journal",
    params(JournalParameters),
    responses((status = 200, description = "A page, and where the next begins", body = JournalAnswer)),
)]
pub(super) async fn journal(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<JournalParameters>,
) -> Reply {
    let limit = page(asked.limit, JOURNAL_PAGE_MAX as usize)?;
    let request = JournalRequest {
        from: asked.from.unwrap_or(1),
        limit: limit.and_then(|limit| u32::try_from(limit).ok()),
        kind: asked.kind,
        run: asked.run,
        summaries: true,
    };
    app.reply(caller, request).await
}

/// One entry of the journal with all it carries. For the owner.
#[utoipa::path(
    get, path = "/api/journal/{seq}", tag = "journal", operation_id = "get_journal_entry",
    params(("seq" = u64, Path, minimum = 1)),
    responses((status = 200, description = "The entry", body = JournalEntry)),
)]
pub(super) async fn entry(State(app): State<App>, Asker(caller): Asker, Id(seq): Id) -> Reply {
    app.reply(caller, JournalEntryRequest { seq }).await
}

/// The newest entries of the journal, one line each, newest first. For the owner.
#[utoipa::path(
    get, path = "/api/activity", tag = "journal", operation_id = "list_activity",
    params(ActivityRequest),
    responses((status = 200, description = "What happened", body = ActivityAnswer)),
)]
pub(super) async fn activity(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<ActivityRequest>,
) -> Reply {
    request.limit = page(request.limit, ACTIVITY_MAX)?;
    app.reply(caller, request).await
}

/// Which memories went to which agent, on which question, newest first. Kept while the daemon runs. For the owner.
#[utoipa::path(
    get, path = "/api/tellings", tag = "journal", operation_id = "list_tellings",
    params(TellingsRequest),
    responses((status = 200, description = "What was told to whom", body = TellingsAnswer)),
)]
pub(super) async fn tellings(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<TellingsRequest>,
) -> Reply {
    request.limit = page(request.limit, TELLINGS_PAGE_MAX)?;
    app.reply(caller, request).await
}

/// Memories in sight by the day on which they were saved, and who saved what on the last day.
#[utoipa::path(
    get, path = "/api/counts", tag = "overview", operation_id = "get_counts",
    params(CountsRequest),
    responses((status = 200, description = "Every day of the span, oldest first", body = CountsAnswer)),
)]
pub(super) async fn counts(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(request): QueryParameters<CountsRequest>,
) -> Reply {
    app.reply(caller, request).await
}

/// Tags of memories in sight, the most used first.
#[utoipa::path(
    get, path = "/api/tags", tag = "overview", operation_id = "list_tags",
    params(TagListRequest),
    responses((status = 200, description = "Tags, and how often", body = TagListAnswer)),
)]
pub(super) async fn tags(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<TagListRequest>,
) -> Reply {
    request.limit = page(request.limit, TAGS_MAX)?;
    app.reply(caller, request).await
}

/// Whose memory the home holds. For the owner.
#[utoipa::path(
    get, path = "/api/actors", tag = "overview", operation_id = "list_actors",
    responses((status = 200, description = "Actors", body = ActorListAnswer)),
)]
pub(super) async fn actors(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, ActorListRequest {}).await
}

/// One change of up to 1000 memories. The answer holds the requests that take it back. For the owner.
#[utoipa::path(
    post, path = "/api/observations/bulk", tag = "memories", operation_id = "change_many",
    request_body = ChangeManyRequest,
    responses((status = 200, description = "What was changed, and the way back", body = ChangeManyAnswer)),
)]
pub(super) async fn change_many(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: ChangeManyRequest = body.read()?;
    app.reply(caller, request).await
}

/// Everything that can be set, with its value and where that came from. For the owner.
#[utoipa::path(
    get, path = "/api/settings", tag = "system", operation_id = "list_settings",
    responses((status = 200, description = "Settings", body = SettingsAnswer)),
)]
pub(super) async fn settings(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, SettingsRequest {}).await
}

/// Sets one value in the file of the home, or takes it out. For the owner.
#[utoipa::path(
    put, path = "/api/settings", tag = "system", operation_id = "set_setting",
    request_body = SetSettingRequest,
    responses((status = 200, description = "As it is now, and what it was", body = SetSettingAnswer)),
)]
pub(super) async fn set_setting(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: SetSettingRequest = body.read()?;
    app.reply(caller, request).await
}
