//! The link that makes a browser the owner's, and what a person reads who is not let in.
//!
//! What must stay true: a link works once, and for nobody but the owner where the system tells who asks; nothing here
//! is fetched from anywhere and no script runs.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::input::Name;
use crate::peer::Peer;
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
pub(super) async fn open(
    State(app): State<App>,
    peer: Option<Extension<Arc<Peer>>>,
    Name(link): Name,
    headers: HeaderMap,
) -> Reply {
    let now = SystemEnvironment.now()?;
    // Another user who saw it somewhere does not use it up either.
    let is_owner = peer.is_some_and(|Extension(peer)| peer.may_show_cookies());
    let cookie = if is_owner { app.owner.redeem(&link, now)? } else { None };
    let Some(cookie) = cookie else {
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

/// The look of the few pages that are shown before anybody is let in.
const STYLE: &str = "\
body{font:16px/1.6 system-ui,sans-serif;max-width:34rem;margin:18vh auto 0;padding:0 1.5rem;color:#1c1c24;\
background:#fbfbfc}h1{font-size:1.3rem}a{color:#4f4ad0}pre{padding:.7rem 1rem;border-radius:8px;background:#7773}\
small{display:block;margin-top:3rem;opacity:.75}\
@media(prefers-color-scheme:dark){body{color:#ececf2;background:#101014}a{color:#a5a1ff}}";

/// What a person does who wants to see the page.
const TO_OPEN: &str = "<p>This page shows what your agents remember, so it opens for you alone. In a terminal on this \
                       machine:</p><pre>cortex open</pre>";

/// Why not, and what to do, for a person.
pub(super) fn refusal(problem: &Problem) -> Response {
    let hint = problem.hint().unwrap_or_default();
    let why = format!("<p>{}.</p><p>{}.</p>", sentence(problem.detail()), sentence(hint));
    // Most people who come without a link only want the page.
    let body = if problem.status() == StatusCode::UNAUTHORIZED {
        format!("<h1>Cortex</h1>{TO_OPEN}<small>{why}</small>")
    } else {
        format!("<h1>Cortex</h1>{why}")
    };
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

/// A sentence for a person: it begins with a capital, and what stands between backticks is code.
fn sentence(text: &str) -> String {
    let text = escaped(text);
    let mut parts = text.split('`');
    let mut letters = parts.next().unwrap_or_default().chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let mut shown = first + letters.as_str();
    for (place, part) in parts.enumerate() {
        shown.push_str(if place % 2 == 0 { "<code>" } else { "</code>" });
        shown.push_str(part);
    }
    shown
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_sentences_and_no_markup_of_others() {
        let shown = sentence("this is <b>yours</b> alone: `cortex open` opens it");
        assert_eq!(
            shown,
            "This is &lt;b&gt;yours&lt;/b&gt; alone: <code>cortex open</code> opens it"
        );
        assert_eq!(sentence("`cortex open` opens it"), "<code>cortex open</code> opens it");
        assert_eq!(sentence(""), "");
    }
}
