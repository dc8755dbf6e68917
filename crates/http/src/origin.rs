//! Where a request comes from: only pages of our own origin are answered, and only they may write by a cookie.
//!
//! A browser says with `Origin` and `Sec-Fetch-Site` where a request was made. A page of another port of this machine
//! is another origin and is refused like one of another site, although browsers send it our cookies. What must stay
//! true: a request that changes something and shows a cookie proves that our own page made it; a type of body that any
//! page can send without asking first is never taken.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};

use crate::problem::Problem;
use api::ErrorCode;

const SITE: &str = "sec-fetch-site";
const MODE: &str = "sec-fetch-mode";
const DEST: &str = "sec-fetch-dest";

/// Types of bodies that a page of any site can make a browser send without asking first.
const FORMS: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// The route that has a list of types of its own, without any of these.
const TAKES_FILES: &str = "/api/import";

/// Refuses what a page of another origin made. `host` is what the request calls us.
pub(super) fn check(request: &Request, host: &str) -> Result<(), Problem> {
    let headers = request.headers();
    for origin in headers.get_all(header::ORIGIN) {
        if !origin.to_str().is_ok_and(|origin| is_own(origin, host)) {
            return Err(refused("pages of this origin are not answered"));
        }
    }
    // A navigation shows our page to the person, not to the page that it came from.
    let is_navigation = request.method() == Method::GET
        && text(headers, MODE) == Some("navigate")
        && text(headers, DEST).is_none_or(|dest| dest == "document");
    match text(headers, SITE) {
        None | Some("same-origin" | "none") => {}
        Some(_) if is_navigation => {}
        Some(_) => return Err(refused("pages of other origins are not answered")),
    }
    let is_form = FORMS.contains(&essence(headers).as_str());
    if is_form && is_write(request.method()) && request.uri().path() != TAKES_FILES {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorCode::NotJson,
            "forms and plain text are not taken; the body must be JSON",
        )
        .with_hint("send the header Content-Type: application/json"));
    }
    Ok(())
}

/// A request that changes something, let in by a cookie, which a browser sends by itself, must say that it is ours.
pub(super) fn check_by_cookie(request: &Request, host: &str) -> Result<(), Problem> {
    let headers = request.headers();
    let by_origin = text(headers, "origin").is_some_and(|origin| is_own(origin, host));
    let is_ours = by_origin || text(headers, SITE) == Some("same-origin");
    if is_write(request.method()) && !is_ours {
        return Err(refused("a cookie alone changes nothing: the request must come from our page"));
    }
    Ok(())
}

fn refused(message: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, ErrorCode::OriginRefused, message).with_hint(
        "only the page that this daemon serves itself is answered; programs send no Origin",
    )
}

fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Is this origin where we are ourselves? The same name and port as the request calls us, under either scheme: what
/// stands between may end TLS.
fn is_own(origin: &str, host: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

fn text<'r>(headers: &'r HeaderMap, name: &str) -> Option<&'r str> {
    // A text that is not plain is none that a browser sends; it counts as a site that is not ours.
    headers.get(name).map(|value| value.to_str().unwrap_or("cross-site"))
}

fn essence(headers: &HeaderMap) -> String {
    let all = text(headers, "content-type").unwrap_or_default();
    all.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let mut request = Request::builder().method(method).uri("/api/observations");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(axum::body::Body::empty()).unwrap()
    }

    const HOST: &str = "localhost:7438";

    // F5
    #[test]
    fn only_our_own_origin_is_answered() {
        for (method, headers, taken) in [
            ("GET", &[][..], true),
            ("POST", &[("origin", "http://localhost:7438")], true),
            ("POST", &[("origin", "https://LOCALHOST:7438")], true),
            ("POST", &[("origin", "http://localhost:3000")], false),
            ("GET", &[("origin", "http://localhost")], false),
            ("GET", &[("origin", "http://127.0.0.1:7438")], false),
            ("GET", &[("origin", "null")], false),
            ("POST", &[("sec-fetch-site", "same-origin")], true),
            ("POST", &[("sec-fetch-site", "none")], true),
            ("POST", &[("sec-fetch-site", "same-site")], false),
            ("GET", &[("sec-fetch-site", "cross-site")], false),
            ("GET", &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")], false),
            ("GET", &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "navigate")], true),
            ("POST", &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "navigate")], false),
        ] {
            let outcome = check(&request(method, headers), HOST);
            assert_eq!(outcome.is_ok(), taken, "{method} {headers:?}");
        }
        let framed = [
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "iframe"),
        ];
        assert!(check(&request("GET", &framed), HOST).is_err(), "a frame in a page of others");
    }

    // F5
    #[test]
    fn forms_are_not_taken_and_a_cookie_alone_writes_nothing() {
        for form in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
        {
            assert!(check(&request("POST", &[("content-type", form)]), HOST).is_err(), "{form}");
        }
        assert!(check(&request("POST", &[("content-type", "application/json")]), HOST).is_ok());
        let write = |method, headers: &[(&str, &str)]| {
            check_by_cookie(&request(method, headers), HOST).is_ok()
        };
        assert!(!write("POST", &[]) && !write("DELETE", &[("sec-fetch-site", "none")]));
        assert!(write("GET", &[]) && write("POST", &[("sec-fetch-site", "same-origin")]));
        assert!(write("POST", &[("origin", "http://localhost:7438")]));
    }
}
