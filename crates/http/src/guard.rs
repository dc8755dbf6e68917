//! Who is let in. Asked before every route, also those that do not exist.
//!
//! A page in a browser can reach this machine's ports. It cannot choose the `Host` (a name of its own that it lets
//! point here is refused; an address that the connection itself leads to is nobody's name) and cannot hide where it is
//! from (`origin`).
//!
//! Whoever asks must show something: the token of the home or the one that is set, the cookie of a browser that the
//! owner opened the page with, or a grant, which makes a delegate. Nobody is let in for being on this machine: other
//! users are, and so are programs that may use the network but not the owner's files. Only `/healthz` is open, and a
//! link, which is a secret itself. A token that is not known is refused also beside a cookie that is: whoever shows one
//! must not get more for showing a bad one.

use api::ErrorCode;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use proof::Digest;

use crate::browser;
use crate::connections::AdmissionMark;
use crate::in_cluster;
use crate::metrics::Metrics;
use crate::origin;
use crate::page;
use crate::peer::Peer;
use crate::problem::Problem;
use crate::visits::{Visit, VisitTable};
use crate::{HttpServerSettings, scoped};
use daemon::server::owner::OwnerKeys;
use host::Host;
use host::pools::WorkKind;
use service::bearer::Bearers;
use service::{Delegate, Environment as _, SystemEnvironment};

/// What a request shows to be let in.
enum Shown {
    /// What the owner has, or nothing where nothing is needed.
    Owner,
    Grant(Arc<Delegate>),
    /// A token that only the ledger may know.
    Token(String),
    /// The seal of another node, to be looked at.
    Seal,
}

/// The route that tells nothing but that somebody is there and well.
const OPEN_ROUTE: &str = "/healthz";

#[derive(Debug)]
pub(super) struct Guard {
    hosts: Vec<String>,
    own: IpAddr,
    token: Option<Digest>,
    owner: Arc<OwnerKeys>,
    bearers: Bearers,
    visits: Arc<VisitTable>,
    metrics: Arc<Metrics>,
    ops: Arc<Host>,
}

impl Guard {
    pub(super) fn new(
        http: &HttpServerSettings,
        owner: Arc<OwnerKeys>,
        metrics: Arc<Metrics>,
        ops: Arc<Host>,
    ) -> Guard {
        let hosts = http.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let bearers = Bearers::new(ops.folder());
        let (own, token, visits) = (http.address.ip(), http.token, Arc::default());
        Guard { hosts, own, token, owner, bearers, visits, metrics, ops }
    }

    /// Looks at what a request shows.
    fn check(&self, request: &Request) -> Result<Shown, Problem> {
        let headers = request.headers();
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().and_then(|host| host.to_str().ok());
        let in_address = request.uri().authority().map(axum::http::uri::Authority::as_str);
        // A name that somebody else lets point here helps no page: it has no token, and cookies are not looked at.
        let has_token = bearer(headers).is_some() || in_cluster::is_passed_on(headers);
        // What watches over a node asks it under whatever name or address it has, with nothing to show.
        let is_watched = request.uri().path() == OPEN_ROUTE;
        let is_node = self.ops.node().is_some() && (has_token || is_watched);
        let near = request.extensions().get::<Arc<Peer>>().map(|peer| peer.near_ip());
        let known =
            |text: &str| host_of(text).is_some_and(|host| is_node || self.is_known(&host, near));
        let host = host.filter(|host| known(host)).filter(|_| in_address.is_none_or(known));
        let (Some(host), None) = (host, named.next()) else {
            return Err(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                ErrorCode::HostRefused,
                "this host name is not served",
            )
            .with_hint("use 127.0.0.1 or localhost, or add the name to http.allowed_hosts"));
        };
        origin::check(request, host)?;
        if is_open(request.uri().path()) {
            return Ok(Shown::Owner);
        }
        if self.ops.node().is_some() && in_cluster::is_passed_on(headers) {
            return Ok(Shown::Seal);
        }
        match (bearer(headers), self.has_cookie(request)) {
            (Some(given), _) => self.check_token(given),
            (None, true) => origin::check_by_cookie(request, host).map(|()| Shown::Owner),
            (None, false) if self.ops.node().is_some() => {
                Err(refused_at_node("a node of a cluster lets nobody in without a token"))
            }
            (None, false) => {
                Err(refused("this is for the owner alone: show the token of this home"))
            }
        }
    }

    fn check_token(&self, given: &str) -> Result<Shown, Problem> {
        let set = |token| service::config::http::token_digest(given) == token;
        if self.owner.is_token(given) || self.token.is_some_and(set) {
            return Ok(Shown::Owner);
        }
        match self.bearers.find(given)? {
            Some(delegate) => Ok(Shown::Grant(Arc::new(delegate))),
            None if self.ops.node().is_some() => Ok(Shown::Token(given.to_owned())),
            None => Err(refused("this token is not known")),
        }
    }

    /// Does a browser ask with which the owner followed a link?
    fn has_cookie(&self, request: &Request) -> bool {
        let headers = request.headers();
        let name = self.owner.cookie_name();
        let Ok(now) = SystemEnvironment.now() else { return false };
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|header| header.to_str().ok())
            .flat_map(|header| header.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .any(|(found, value)| found == name && self.owner.is_cookie(value, now))
            && request.extensions().get::<Arc<Peer>>().is_some_and(|peer| peer.may_show_cookies())
    }

    async fn let_in(&self, request: &mut Request) -> Result<(), Problem> {
        let (shown, node) = (self.check(request)?, self.ops.node());
        match (shown, node) {
            (Shown::Owner, _) => Ok(()),
            (Shown::Grant(delegate), _) => self.admit(delegate, request).await,
            (Shown::Seal, Some(node)) => in_cluster::let_pass(node, request).await,
            (Shown::Token(token), Some(node)) => {
                if let Some(name) = Bearers::name(&token) {
                    // A grant's token that another node made.
                    let kept = node.ledger.find_bearer(&name).await;
                    let kept = kept.map_err(daemon::cluster_host::told)?;
                    let found = kept.map(|kept| Bearers::read(&token, &kept)).transpose()?;
                    let Some(delegate) = found.flatten() else {
                        return Err(refused_at_node("this token is not known"));
                    };
                    return self.admit(Arc::new(delegate), request).await;
                }
                let found = node.find_token(&token).await;
                match found.map_err(daemon::cluster_host::told)? {
                    Some(access) => {
                        request.extensions_mut().insert(access);
                        Ok(())
                    }
                    None => Err(refused_at_node("this token is not known")),
                }
            }
            (Shown::Seal | Shown::Token(_), None) => Err(refused("this token is not known")),
        }
    }

    /// Is what a delegate shows worth anything? Asked before it gets to any route. From then on it is one who asks.
    async fn admit(&self, delegate: Arc<Delegate>, request: &mut Request) -> Result<(), Problem> {
        let path = request.uri().path();
        // The page itself says nothing; what it shows it asks for with the same grant.
        if !path.starts_with("/api/") && path != "/mcp" && !page::is_part(path) {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                ErrorCode::OutsideGrant,
                "a grant is for memories",
            ));
        }
        let visit = self.visits.enter(&delegate.owner_grant().to_string())?;
        let (ops, shown) = (Arc::clone(&self.ops), Arc::clone(&delegate));
        let check = move || {
            let caller = scoped::caller(&shown)?;
            ops.service.check_delegate(&caller)
        };
        self.ops.pools.run(WorkKind::Read, check).await??;
        request.extensions_mut().insert(delegate);
        request.extensions_mut().insert(visit);
        Ok(())
    }

    /// `near`: the address of this machine that the connection leads to.
    fn is_known(&self, host: &str, near: Option<IpAddr>) -> bool {
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            Ok(ip) if ip.is_loopback() || (ip == self.own && !ip.is_unspecified()) => true,
            Ok(ip) if near == Some(ip.to_canonical()) => true,
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

fn is_open(path: &str) -> bool {
    let is_link = |secret: &str| !secret.is_empty() && !secret.contains('/');
    path == OPEN_ROUTE || path.strip_prefix(browser::LINKS).is_some_and(is_link)
}

/// Nobody is let in for nothing; what to do about it depends on who asks, so all ways are told.
fn refused(message: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, ErrorCode::TokenRefused, message).with_hint(
        "`cortex open` opens the page as its owner, `cortex curl PATH` asks as its owner; programs send the header \
         Authorization: Bearer TOKEN with what `cortex token` prints",
    )
}

/// The owner of a node is whoever has its machine; everybody else has a token of the ledger.
fn refused_at_node(message: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, ErrorCode::TokenRefused, message).with_hint(
        "send the header Authorization: Bearer TOKEN; `cortex ledger token issue` makes a token, for an actor or \
         with --administrator for all; `cortex open` opens the page of a node on its machine",
    )
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// On every answer: no page elsewhere may frame it, hold a window of it, load it as a part, or learn its address.
const EVERYWHERE: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
];

pub(super) async fn watch(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let shown = browser::is_for_a_person(request.headers());
    let known = !is_open(request.uri().path());
    let mut response = match guard.let_in(&mut request).await {
        Ok(()) => {
            let visit = request.extensions().get::<Arc<Visit>>().cloned();
            let mut response = match guard.ops.node() {
                Some(node) if known => in_cluster::answer(node, &guard.ops, request, next).await,
                _ => next.run(request).await,
            };
            if known {
                response.extensions_mut().insert(AdmissionMark);
            }
            // Until the answer is sent.
            if let Some(visit) = visit {
                response.extensions_mut().insert(visit);
            }
            response
        }
        Err(problem) if shown => browser::refusal(&problem),
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in EVERYWHERE {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
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
        let home = tempfile::TempDir::new().unwrap();
        let owner = Arc::new(OwnerKeys::new(home.path()).unwrap());
        let metrics = Arc::new(Metrics::new(Instant::now()));
        let guard = Guard::new(&http, owner, metrics, Arc::new(ops));
        for known in ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "notes.example"] {
            assert!(guard.is_known(known, None), "{known}");
        }
        for other in ["evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "null"] {
            assert!(!guard.is_known(other, None), "{other}");
        }
        let near = Some("10.0.0.1".parse().unwrap());
        assert!(guard.is_known("10.0.0.1", near), "the connection leads there");
        for other in ["10.0.0.2", "0.0.0.0", "evil.example"] {
            assert!(!guard.is_known(other, near), "{other}");
        }
    }
}
