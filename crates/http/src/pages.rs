//! Pages over HTTP: questions that stand, and what the memory answers.

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Asker, Body, Name, QueryParameters};
use crate::{App, Reply};
use api::pages::{
    PageAddRequest, PageHistoryAnswer, PageHistoryRequest, PageListAnswer, PageListRequest,
    PageRemoveRequest, PageRestoreRequest, PageShowRequest, PageView,
};

/// All pages, by name, without their texts.
#[utoipa::path(
    get, path = "/api/pages", tag = "mind", operation_id = "list_pages",
    responses((status = 200, description = "The pages", body = PageListAnswer)),
)]
pub(super) async fn list(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, PageListRequest {}).await
}

/// Adds a page, or gives the one of that name another question, project or length.
#[utoipa::path(
    post, path = "/api/pages", tag = "mind", operation_id = "add_page",
    request_body = PageAddRequest,
    responses((status = 200, description = "What it says", body = PageView)),
)]
pub(super) async fn add(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: PageAddRequest = body.read()?;
    app.reply(caller, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ShowParameters {
    /// An earlier version; the current one if absent.
    version: Option<u64>,
}

/// What a page says now, or said in an earlier version.
#[utoipa::path(
    get, path = "/api/pages/{name}", tag = "mind", operation_id = "get_page",
    params(("name" = String, Path, description = "The name of a page"), ShowParameters),
    responses((status = 200, description = "The page", body = PageView)),
)]
pub(super) async fn show(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(name): Name,
    QueryParameters(ShowParameters { version }): QueryParameters<ShowParameters>,
) -> Reply {
    app.reply(caller, PageShowRequest { name, version, ..PageShowRequest::default() }).await
}

/// The versions of a page, newest first, without their texts.
#[utoipa::path(
    get, path = "/api/pages/{name}/history", tag = "mind", operation_id = "list_page_versions",
    params(("name" = String, Path, description = "The name of a page")),
    responses((status = 200, description = "Newest first", body = PageHistoryAnswer)),
)]
pub(super) async fn history(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(name): Name,
) -> Reply {
    app.reply(caller, PageHistoryRequest { name }).await
}

/// Removes a page. It can be brought back.
#[utoipa::path(
    delete, path = "/api/pages/{name}", tag = "mind", operation_id = "remove_page",
    params(("name" = String, Path, description = "The name of a page")),
    responses((status = 200, description = "What it said", body = PageView)),
)]
pub(super) async fn remove(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(name): Name,
) -> Reply {
    app.reply(caller, PageRemoveRequest { name }).await
}

/// Brings back a page that was removed, with its versions.
#[utoipa::path(
    post, path = "/api/pages/{name}/restore", tag = "mind", operation_id = "restore_page",
    params(("name" = String, Path, description = "The name of a page")),
    responses((status = 200, description = "What it says", body = PageView)),
)]
pub(super) async fn restore(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(name): Name,
) -> Reply {
    app.reply(caller, PageRestoreRequest { name }).await
}
