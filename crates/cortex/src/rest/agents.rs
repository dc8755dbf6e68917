//! The tools of agents over HTTP, at `/mcp` (Streamable HTTP).
//!
//! The guard of all routes comes first; the protocol's own checks of host and origin are set to the same names, so that
//! neither depends on the other.

use std::sync::Arc;

use kernel::actor::ActorName;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::Http;
use super::input::BODY_BYTES_MAX;
use crate::mcp::Server;
use crate::mcp::backend::Backend;
use crate::mcp::tools::Choice;
use crate::ops::error::Result;
use crate::ops::{Caller, DEFAULT_ACTOR, Ops};

/// Names of this machine for itself.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

pub(super) type Tools = StreamableHttpService<Server, LocalSessionManager>;

pub(super) fn tools(http: &Http, ops: Arc<Ops>) -> Result<Tools> {
    let caller = Caller::new(ActorName::parse(DEFAULT_ACTOR)?, "mcp");
    let server = Server::new(Backend::Local(ops, caller), &Choice::parse("all")?);
    let mut hosts: Vec<String> = HERE.iter().map(|host| (*host).to_owned()).collect();
    hosts.extend(http.hosts.iter().cloned());
    let own = http.address.ip();
    if !own.is_loopback() && !own.is_unspecified() {
        hosts.push(if own.is_ipv6() { format!("[{own}]") } else { own.to_string() });
    }
    let origins: Vec<String> = hosts
        .iter()
        .flat_map(|host| [format!("http://{host}:*"), format!("https://{host}:*")])
        .collect();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(BODY_BYTES_MAX);
    Ok(StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config))
}
