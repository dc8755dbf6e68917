//! Where the ledger is and how this daemon takes part, from flags, variables and the configuration file.
//!
//! What must stay true: a password comes from a variable, a file or the command line, never from the configuration
//! file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use api::{Error, ErrorCode, Fault, Result};
use cluster::checkpoints::{CheckpointPlace, VARIABLES};
use cluster::ledger::LedgerHandle;
use cluster::{LedgerSettings, PostgresLedger};
use service::config::{Config, ValueOrigin};
use service::{ActorLimits, Service};

use crate::cluster_host::{ClusterOptions, told};

/// Where the ledger is: as the command line says, else as settings do. `None`: nowhere.
pub fn settings(
    config: &Config,
    flag: Option<&str>,
    variables: &BTreeMap<String, String>,
) -> Result<Option<LedgerSettings>> {
    let wrong = |message: String| Error::new(ErrorCode::Config, Fault::Caller, message);
    let Some(url) = flag.or_else(|| config.text("ledger.url")) else { return Ok(None) };
    let origin =
        config.all().find(|(name, _, _)| *name == "ledger.url").map(|(_, _, origin)| origin);
    if flag.is_none()
        && matches!(origin, Some(ValueOrigin::File(_)))
        && cluster::settings::has_password(url)
    {
        return Err(wrong("ledger.url in the configuration file holds a password".to_owned())
            .with_hint("take it out, and name a file with ledger.password_file, or set CORTEX_LEDGER_PASSWORD"));
    }
    let password = match config.text("ledger.password_file") {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| wrong(format!("ledger.password_file {file}: {error}")))?;
            Some(text.trim_end_matches(['\n', '\r']).to_owned())
        }
        None => match config.text("ledger.password_env") {
            // Others are not looked at, and a password that is silently not there is hard to find.
            Some(name) if !name.starts_with("CORTEX_") => {
                return Err(wrong(format!(
                    "ledger.password_env: {name:?} must start with CORTEX_"
                )));
            }
            Some(name) => variables.get(name).cloned(),
            None => None,
        },
    };
    let mut found = LedgerSettings::parse(url, password.as_deref()).map_err(told)?;
    found.connections = usize::try_from(config.number("ledger.connections")).unwrap_or(usize::MAX);
    found.checkpoints = config.text("ledger.checkpoints").map(checkpoint_place).transpose()?;
    Ok(Some(found))
}

/// Where checkpoints are. What a bucket asks for is in variables of this process, under the names of its own tools.
fn checkpoint_place(text: &str) -> Result<CheckpointPlace> {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| VARIABLES.iter().any(|beginning| name.starts_with(beginning)))
        .collect();
    let wrong = |message: String| Error::new(ErrorCode::Config, Fault::Caller, message);
    let place = CheckpointPlace::parse(text, &variables)
        .map_err(|error| wrong(format!("ledger.checkpoints: {error}")))?;
    match &place {
        CheckpointPlace::Folder(folder) if !folder.is_dir() => {
            Err(wrong(format!("ledger.checkpoints: {} is no folder", folder.display()))
                .with_hint("make it, or mount it; all nodes must see the same one"))
        }
        _ => Ok(place),
    }
}

/// How a daemon of this home takes part in a cluster. `None`: it does not.
pub fn options(
    config: &Config,
    flag: Option<&str>,
    variables: &BTreeMap<String, String>,
) -> Result<Option<ClusterOptions>> {
    let Some(ledger) = settings(config, flag, variables)? else { return Ok(None) };
    let text = |name: &str| config.text(name).map(str::to_owned);
    Ok(Some(ClusterOptions {
        ledger,
        name: text("ledger.node"),
        advertise: text("ledger.advertise"),
        authority: text("ledger.ca_file").map(PathBuf::from),
        cache_bytes: config.number("ledger.cache_bytes"),
        checkpoint_entries: config.number("ledger.checkpoint_entries"),
        limits: limits(config),
    }))
}

fn limits(config: &Config) -> ActorLimits {
    let number = |name: &str| config.number(name);
    ActorLimits {
        writes_per_second: u32::try_from(number("ledger.writes_per_second")).unwrap_or(u32::MAX),
        bytes: number("ledger.actor_bytes"),
        memories: number("ledger.actor_memories"),
        open_actors: usize::try_from(number("ledger.open_actors")).unwrap_or(usize::MAX),
    }
}

/// Operations on the ledger that settings name, if they name one.
pub fn sharing(
    service: Service,
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<Service> {
    let Some(found) = settings(config, None, variables)? else { return Ok(service) };
    let ledger = PostgresLedger::new(found, "command").map_err(told)?;
    Ok(service.sharing(Arc::new(LedgerHandle(ledger)), limits(config)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn config(text: &str, variables: &[(&str, &str)]) -> (Config, BTreeMap<String, String>) {
        let variables: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        (Config::parse(text, std::path::Path::new("cortex.toml"), &variables).unwrap(), variables)
    }

    // cluster 1: without it nothing changes
    #[test]
    fn without_an_address_there_is_no_ledger() {
        let (config, variables) = config("", &[]);
        assert!(settings(&config, None, &variables).unwrap().is_none());
        assert!(options(&config, None, &variables).unwrap().is_none());
    }

    #[test]
    fn a_password_is_not_kept_in_the_file() {
        let (with, none) = config("[ledger]\nurl = \"postgres://a:hush@db/x\"\n", &[]);
        let refused = settings(&with, None, &none).unwrap_err();
        assert!(refused.message.contains("holds a password") && !refused.message.contains("hush"));
        let (config, variables) = config(
            "[ledger]\nurl = \"postgres://a@db/x\"\n",
            &[("CORTEX_LEDGER_URL", "postgres://a:hush@db/y")],
        );
        let found = settings(&config, None, &variables).unwrap().unwrap();
        assert_eq!(found.place(), "db:5432/y", "a variable may hold one, and wins");
        let flag = settings(&config, Some("postgres://b@other/z"), &variables).unwrap().unwrap();
        assert_eq!(flag.place(), "other:5432/z");
    }
}
