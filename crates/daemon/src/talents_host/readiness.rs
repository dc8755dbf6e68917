//! What could be asked now, without asking it anything: keys, settings, and whether a service takes a connection.
//!
//! What must stay true: no token is spent on it; no key and no address is in what it says beyond the provider's name;
//! it takes a few seconds at most.

use std::time::Duration;

use llm::models::{ModelQuery, built_in};
use talents::talent_files::TalentSchedule;
use tokio::net::TcpStream;

use crate::talents_host::TalentContext;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// One word for each model that a scheduled talent would ask: whether its provider is set up, and whether it is there.
pub(super) async fn of_providers(talents: &TalentContext) -> String {
    let daily = talents.catalog.scheduled(TalentSchedule::Daily);
    let mut chosen: Vec<(String, String)> = talents
        .catalog
        .scheduled(TalentSchedule::Segment)
        .chain(daily)
        .filter_map(|talent| talents.choice(talent, &ModelQuery::default()).ok())
        .map(|choice| (choice.provider, choice.model))
        .collect();
    chosen.sort();
    chosen.dedup();
    let ready = talents.providers();
    let mut told = Vec::new();
    let mut last: Option<(String, bool)> = None;
    for (provider, model) in chosen {
        let problem = ready.iter().find(|one| one.name == provider).is_none_or(|one| !one.ready);
        let up = match &last {
            Some((name, up)) if *name == provider => *up,
            _ => answers(talents, &provider).await,
        };
        told.push(format!("{provider}/{model} {} {}", !problem, up));
        last = Some((provider, up));
    }
    told.join(", ")
}

/// Whether the service takes a connection; a command line tool is always there.
async fn answers(talents: &TalentContext, provider: &str) -> bool {
    let set = talents.resolver.settings().endpoints.get(provider);
    let base = set.and_then(|set| set.base_url.as_deref());
    let base = base.or_else(|| built_in(provider).map(|known| known.base_url)).unwrap_or_default();
    let Some((host, port)) = address(base) else { return true };
    let connecting = TcpStream::connect((host, port));
    tokio::time::timeout(PATIENCE, connecting).await.is_ok_and(|connected| connected.is_ok())
}

/// Host and port of an address.
fn address(base: &str) -> Option<(&str, u16)> {
    let (rest, usual) = match base.strip_prefix("https://") {
        Some(rest) => (rest, 443),
        None => (base.strip_prefix("http://")?, 80),
    };
    let place = rest.split(['/', '?', '#']).next().filter(|place| !place.is_empty())?;
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let port = rest.strip_prefix(':').and_then(|port| port.parse().ok());
        return Some((host, port.unwrap_or(usual)));
    }
    match place.split_once(':') {
        Some((host, port)) => Some((host, port.parse().ok()?)),
        None => Some((place, usual)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for (base, wanted) in [
            ("https://api.example.com/v1", Some(("api.example.com", 443))),
            ("http://127.0.0.1:8080/v1", Some(("127.0.0.1", 8080))),
            ("http://user@host", Some(("host", 80))),
            ("http://[::1]:9", Some(("::1", 9))),
            ("", None),
            ("http://", None),
        ] {
            assert_eq!(address(base), wanted, "{base}");
        }
    }
}
