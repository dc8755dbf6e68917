//! Who is let in. Asked before every route, also those that do not exist.
//!
//! A page in a browser can reach this machine's ports. It cannot choose the `Host` (a name of its own that it lets
//! point here is refused) and cannot hide its `Origin` (only pages of this machine, or of hosts that were named, are
//! answered).
//!
//! A token says who asks: the one that is set, the owner; a grant, a delegate. A token that is neither is refused also
//! where none is needed: whoever shows one must not get more for showing a bad one.

use api::ErrorCode;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use proof::Digest;

use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::{HttpServerSettings, scoped};
use daemon::Host;
use service::Delegate;

/// Routes that tell nothing but that somebody is there.
const OPEN_ROUTES: [&str; 3] = ["/health", "/healthz", "/readyz"];

#[derive(Debug)]
pub(super) struct Guard {
    hosts: Vec<String>,
    own: IpAddr,
    token: Option<Digest>,
    metrics: Arc<Metrics>,
    ops: Arc<Host>,
}

impl Guard {
    pub(super) fn new(http: &HttpServerSettings, metrics: Arc<Metrics>, ops: Arc<Host>) -> Guard {
        let hosts = http.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Guard { hosts, own: http.address.ip(), token: http.token, metrics, ops }
    }

    /// Lets a request in. Who shows a grant is a delegate.
    fn check(&self, request: &Request) -> Result<Option<Arc<Delegate>>, Problem> {
        let headers = request.headers();
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().and_then(|host| host.to_str().ok());
        let in_address = request.uri().authority().map(axum::http::uri::Authority::as_str);
        let known = |text: &str| host_of(text).is_some_and(|host| self.is_known(&host));
        if named.next().is_some() || !host.is_some_and(known) || !in_address.is_none_or(known) {
            return Err(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                ErrorCode::HostRefused,
                "this host name is not served",
            )
            .with_hint("use 127.0.0.1 or localhost, or add the name to http.allowed_hosts"));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let text = origin.to_str().unwrap_or_default();
            let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
            if !rest.is_some_and(known) {
                return Err(Problem::new(
                    StatusCode::FORBIDDEN,
                    ErrorCode::OriginRefused,
                    "pages of this origin are not answered",
                )
                .with_hint("add its host to http.allowed_hosts if it is yours"));
            }
        }
        if OPEN_ROUTES.contains(&request.uri().path()) {
            return Ok(None);
        }
        let refused = |message: &str| {
            Problem::new(StatusCode::UNAUTHORIZED, ErrorCode::TokenRefused, message)
                .with_hint("send the header Authorization: Bearer TOKEN")
        };
        match (bearer(headers), self.token) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(refused("a token is needed")),
            (Some(given), Some(token)) if service::config::http::token_digest(given) == token => {
                Ok(None)
            }
            (Some(given), _) => match scoped::delegate(given)? {
                Some(delegate) => Ok(Some(delegate)),
                None => Err(refused("this token is not known")),
            },
        }
    }

    async fn let_in(&self, request: &mut Request) -> Result<(), Problem> {
        let Some(delegate) = self.check(request)? else { return Ok(()) };
        let path = request.uri().path().to_owned();
        self.admit(&delegate, &path).await?;
        request.extensions_mut().insert(delegate);
        Ok(())
    }

    /// Is what a delegate shows worth anything? Asked before it gets to any route.
    async fn admit(&self, delegate: &Arc<Delegate>, path: &str) -> Result<(), Problem> {
        if !path.starts_with("/api/") && path != "/mcp" {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                ErrorCode::OutsideGrant,
                "a grant is for memories",
            ));
        }
        let (ops, delegate) = (Arc::clone(&self.ops), Arc::clone(delegate));
        let checked = tokio::task::spawn_blocking(move || {
            let caller = scoped::caller(&delegate)?;
            ops.service.check_delegate(&caller)
        });
        checked
            .await
            .unwrap_or_else(|error| Err(service::Error::internal(error.to_string())))
            .map_err(Problem::from)
    }

    fn is_known(&self, host: &str) -> bool {
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            Ok(ip) if ip.is_loopback() || (ip == self.own && !ip.is_unspecified()) => true,
            _ => host == "localhost" || self.hosts.iter().any(|known| known == host),
        }
    }
}

/// The host of `host`, `host:port` or `[address]:port`, in small letters.
fn host_of(authority: &str) -> Option<String> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => {
            let end = inner.find(']')?;
            (&authority[..end + 2], &inner[end + 1..])
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    if host.is_empty() || !(rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)) {
        return None;
    }
    Some(host.to_ascii_lowercase())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

pub(super) async fn watch(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match guard.let_in(&mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    guard.metrics.count(&method, route, response.status(), started.elapsed());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_with_and_without_ports() {
        for (text, host) in [
            ("localhost", Some("localhost")),
            ("LocalHost:7438", Some("localhost")),
            ("127.0.0.1:80", Some("127.0.0.1")),
            ("[::1]:7438", Some("[::1]")),
            ("[::1]", Some("[::1]")),
            ("", None),
            (":80", None),
            ("localhost:", None),
            ("localhost:x", None),
            ("localhost:80:80", None),
            ("[::1", None),
            ("[::1]evil.example", None),
        ] {
            assert_eq!(host_of(text).as_deref(), host, "{text:?}");
        }
    }

    #[test]
    fn only_this_machine_and_named_hosts_are_known() {
        let here = "127.0.0.1".parse().unwrap();
        let http = HttpServerSettings::new(here, 0, vec!["Notes.example".into()], None).unwrap();
        let settings = service::Settings::default();
        let service = service::Service::new("nowhere", settings, std::time::Duration::ZERO);
        let ops = Host::new(service, std::collections::BTreeMap::new());
        let guard = Guard::new(&http, Arc::new(Metrics::new(Instant::now())), Arc::new(ops));
        for known in ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "notes.example"] {
            assert!(guard.is_known(known), "{known}");
        }
        for other in ["evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "null"] {
            assert!(!guard.is_known(other), "{other}");
        }
    }
}
