//! The link that makes a browser the owner's, and what a person reads who is not let in.
//!
//! What must stay true: a link works once; nothing here is fetched from anywhere and no script runs.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::docs::{STYLE, escaped};
use crate::input::Name;
use crate::problem::Problem;
use crate::{App, Reply};
use api::ErrorCode;
use daemon::server::owner::COOKIE_LIFE;
use service::{Environment as _, SystemEnvironment};

/// Where links lead; what follows is the secret.
pub(super) const LINKS: &str = "/open/";

/// Makes the browser that follows it the owner's, once. `cortex open` gives one.
#[utoipa::path(
    get, path = "/open/{link}", tag = "health", operation_id = "open",
    params(("link" = String, Path)),
    responses(
        (status = 200, description = "A page that leads to `/`", body = String, content_type = "text/html"),
        (status = 303, description = "Leads to `/`"),
    ),
)]
pub(super) async fn open(State(app): State<App>, Name(link): Name, headers: HeaderMap) -> Reply {
    let now = SystemEnvironment.now()?;
    let Some(cookie) = app.owner.redeem(&link, now)? else {
        let problem = Problem::new(
            StatusCode::UNAUTHORIZED,
            ErrorCode::TokenRefused,
            "this link was used before, or is too old",
        )
        .with_hint("`cortex open` opens the page with a new one");
        return if is_for_a_person(&headers) { Ok(refusal(&problem)) } else { Err(problem) };
    };
    let cookie = format!(
        "{}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}",
        app.owner.cookie_name(),
        COOKIE_LIFE.as_secs()
    );
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    // A strict cookie is not sent along a redirect that began on another site, so there our own page leads on.
    let mut response = if matches!(site, None | Some("none" | "same-origin")) {
        (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response()
    } else {
        let on = "<meta http-equiv=\"refresh\" content=\"0;url=/\"><p><a href=\"/\">Go on</a></p>";
        shown(StatusCode::OK, on)
    };
    let cookie =
        HeaderValue::try_from(cookie).map_err(|error| api::Error::internal(error.to_string()))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// Does a browser ask for something to show to a person?
pub(super) fn is_for_a_person(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// Why not, and what to do, for a person.
pub(super) fn refusal(problem: &Problem) -> Response {
    let hint = problem.hint().unwrap_or_default();
    let body =
        format!("<h1>Cortex</h1><p>{}.</p><p>{}.</p>", escaped(problem.detail()), escaped(hint));
    shown(problem.status(), &body)
}

fn shown(status: StatusCode, body: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; \
             form-action 'none'",
        ),
    ];
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>Cortex</title><style>{STYLE}</style>{body}"
    );
    (status, headers, page).into_response()
}
