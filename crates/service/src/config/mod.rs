//! What can be set: `cortex.toml` in the home, then `CORTEX_*` variables, then flags. Each value knows where it came
//! from.
//!
//! A key that does not exist is refused with the nearest one that does: a setting that is silently ignored is worse
//! than none. `keys` is the one list of them.

pub mod edit;
pub mod http;
mod keys;
mod reference;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::{ErrorCode, Fault};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Settings;
use crate::error::{Error, Result};
use crate::safekeeping::{BackupPlan, SafetyPlan};
use http::HttpServerSettings;

pub use keys::{KEYS, Key, Kind};
pub use reference::reference;

/// Bytes of a configuration file.
const FILE_BYTES_MAX: u64 = 262_144;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueOrigin {
    Default,
    File(PathBuf),
    Variable(String),
}

impl std::fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ValueOrigin::Default => f.write_str("default"),
            ValueOrigin::File(path) => path.display().fmt(f),
            ValueOrigin::Variable(name) => name.fmt(f),
        }
    }
}

/// Every value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    values: BTreeMap<&'static str, (Value, ValueOrigin)>,
    /// Parts with a shape of their own, as they stand in the file. Whoever they are for knows their keys.
    sections: toml::Table,
    path: PathBuf,
}

/// The names of those parts.
/// The port that HTTP listens on if nobody says another.
const DEFAULT_PORT: u16 = 7_438;
const SECTIONS: [&str; 7] =
    ["providers", "runner", "exec", "callosum", "supervisor", "tools", "defaults"];

/// Where the file of a home is.
pub fn path(home: &Path, variables: &BTreeMap<String, String>) -> PathBuf {
    variables.get("CORTEX_CONFIG").map_or_else(|| home.join("cortex.toml"), PathBuf::from)
}

/// What is set for a home. No file is no error.
pub fn load(home: &Path, variables: &BTreeMap<String, String>) -> Result<Config> {
    let path = path(home, variables);
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            let told = api::Error::new(ErrorCode::Config, Fault::Caller, message);
            return Err(match api::error::machine_hint(error.kind()) {
                Some(hint) => told.with_hint(hint).into(),
                None => told.into(),
            });
        }
    };
    Config::parse(&text, &path, variables)
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "the file is too large"));
    }
    Ok(text)
}

impl Config {
    /// The values of a file's text and of variables, over the defaults.
    pub fn parse(text: &str, path: &Path, variables: &BTreeMap<String, String>) -> Result<Config> {
        let wrong = |reason: String| {
            Error::new(ErrorCode::Config, Fault::Caller, format!("{}: {reason}", path.display()))
        };
        let mut values: BTreeMap<&'static str, (Value, ValueOrigin)> =
            KEYS.iter().map(|key| (key.name, ((key.default)(), ValueOrigin::Default))).collect();
        let mut table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
        let mut sections = toml::Table::new();
        for name in SECTIONS {
            sections.extend(table.remove_entry(name));
        }
        let mut given = Vec::new();
        flatten("", &table, &mut given);
        for (name, value) in given {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                return Err(wrong(format!("unknown key {name:?}{}", suggestion(&name))));
            };
            let value = key.kind.check(&value).map_err(|why| wrong(format!("{name}: {why}")))?;
            values.insert(key.name, (value, ValueOrigin::File(path.to_owned())));
        }
        for (key, variable) in
            KEYS.iter().flat_map(|key| key.variables().into_iter().map(move |v| (key, v)))
        {
            let Some(text) = variables.get(&variable) else { continue };
            let value = key.kind.read(text).map_err(|why| {
                Error::new(ErrorCode::Config, Fault::Caller, format!("{variable}: {why}"))
            })?;
            values.insert(key.name, (value, ValueOrigin::Variable(variable)));
        }
        Ok(Config { values, sections, path: path.to_owned() })
    }

    /// A part with a shape of its own; its defaults if the file does not have it. `within` names a part of the part.
    pub fn section<T: DeserializeOwned + Default>(&self, name: &str, within: &[&str]) -> Result<T> {
        let mut found = self.sections.get(name);
        let mut called = name.to_owned();
        for part in within {
            found = found.and_then(|value| value.get(part));
            called = format!("{called}.{part}");
        }
        let Some(value) = found else { return Ok(T::default()) };
        value.clone().try_into().map_err(|error: toml::de::Error| {
            let message = format!("{}: [{called}] {}", self.path.display(), error.message());
            Error::new(ErrorCode::Config, Fault::Caller, message)
        })
    }

    /// What the file says in those parts, key by key.
    pub fn in_sections(&self) -> Vec<(String, Value)> {
        let mut found = Vec::new();
        flatten("", &self.sections, &mut found);
        // Not a number only where TOML can say nan.
        let plain = |value: toml::Value| serde_json::to_value(value).unwrap_or(Value::Null);
        found.into_iter().map(|(name, value)| (name, plain(value))).collect()
    }

    /// Every key with its value and origin, in the order of the names.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Value, &ValueOrigin)> {
        self.values.iter().map(|(name, (value, origin))| (*name, value, origin))
    }

    /// A whole number; 0 if there is none.
    pub fn number(&self, name: &str) -> u64 {
        self.values.get(name).and_then(|(value, _)| value.as_u64()).unwrap_or_default()
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.values.get(name).and_then(|(value, _)| value.as_bool()).unwrap_or_default()
    }

    /// A text that is set.
    pub fn text(&self, name: &str) -> Option<&str> {
        let text = self.values.get(name).and_then(|(value, _)| value.as_str())?;
        (!text.is_empty()).then_some(text)
    }

    pub fn settings(&self) -> Settings {
        let score = self.values.get("memory.archive_below").and_then(|(v, _)| v.as_f64());
        // Checked to lie between 0 and 5 when it was read.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let below = (score.unwrap_or_default() * 1_000.0).round() as u32;
        Settings {
            dedup_window_ms: i64::try_from(self.number("memory.dedup_minutes"))
                .unwrap_or(0)
                .saturating_mul(60_000),
            archive: self.is_on("memory.archive"),
            stale_after_days: u32::try_from(self.number("memory.archive_after_days"))
                .unwrap_or(u32::MAX),
            archive_below: below,
            redact_secrets: self.is_on("memory.redact_secrets"),
            favoured_speaker: self.text("recall.favoured_speaker").map(str::to_owned),
            speaker_prior: u32::try_from(self.number("recall.speaker_prior")).unwrap_or(0),
            agents_may_rule: self.is_on("trust.agents_may_rule"),
            ranker: self.is_on("recall.ranker"),
        }
    }

    /// What a daemon does to keep memories safe.
    pub fn safety_plan(&self) -> SafetyPlan {
        let number = |name| i64::try_from(self.number(name)).unwrap_or(i64::MAX);
        let backup = self.text("backup.dir").map(|folder| BackupPlan {
            folder: folder.into(),
            every_hours: number("backup.every_hours"),
            keep: usize::try_from(self.number("backup.keep")).unwrap_or(usize::MAX),
        });
        SafetyPlan { backup, check_days: number("ledger.check_days") }
    }

    /// Does a daemon read on as agents write?
    pub fn follows_past(&self) -> bool {
        self.is_on("past.follow")
    }

    /// Does a daemon that an agent started serve HTTP?
    pub fn http_in_background(&self) -> bool {
        self.is_on("http.background")
    }

    /// Where HTTP listens and who is let in: an address that others can reach needs a token.
    pub fn http(&self, variables: &BTreeMap<String, String>) -> Result<HttpServerSettings> {
        let http = self.http_of_node(variables)?;
        http.check_token()?;
        Ok(http)
    }

    /// The same for a node of a cluster, whose tokens are in the ledger. A token of its own comes from a variable or a
    /// file, never from the configuration.
    pub fn http_of_node(&self, variables: &BTreeMap<String, String>) -> Result<HttpServerSettings> {
        let wrong = |message: String| Error::new(ErrorCode::Config, Fault::Caller, message);
        let host = self.text("http.host").unwrap_or("127.0.0.1");
        let ip = if host == "localhost" { "127.0.0.1" } else { host }.parse::<IpAddr>();
        let ip = ip.map_err(|_| wrong(format!("http.host: {host:?} is not an IP address")))?;
        let port = u16::try_from(self.number("http.port"))
            .map_err(|_| wrong("http.port is too large".to_owned()))?;
        let names = self.text("http.allowed_hosts").unwrap_or_default().split(',');
        let hosts = names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        let token = match self.text("http.token_file") {
            Some(file) => {
                let text = read(Path::new(file))
                    .map_err(|error| wrong(format!("http.token_file {file}: {error}")))?;
                Some(text.trim().to_owned())
            }
            None => match self.text("http.token_env") {
                // Others are not looked at, and a token that is silently not there would let everybody in.
                Some(name) if !name.starts_with("CORTEX_") => {
                    return Err(wrong(format!("http.token_env: {name:?} must start with CORTEX_")));
                }
                Some(name) => variables.get(name).cloned(),
                None => None,
            },
        };
        let mut http = HttpServerSettings::new(ip, port, hosts.collect(), token.as_deref())?;
        http.tls = match (self.text("http.tls_cert"), self.text("http.tls_key")) {
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            (None, None) => None,
            _ => return Err(wrong("http.tls_cert and http.tls_key belong together".to_owned())),
        };
        // Whoever sets another port wants that one: then nothing else is listened on.
        let second = u16::try_from(self.number("http.second_port")).ok();
        Ok(http.with_second_port(second.filter(|second| *second > 0 && port == DEFAULT_PORT)))
    }

    /// After how long without a connection a daemon that nobody asked for ends.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.number("daemon.idle_seconds"))
    }
}

/// A value as people may see it: without the password of an address.
pub fn shown(name: &str, value: &Value) -> Value {
    let hidden = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        let (user, place) = rest.rsplit_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{place}"))
    };
    match value.as_str().filter(|_| name == "ledger.url").and_then(hidden) {
        Some(text) => Value::String(text),
        None => value.clone(),
    }
}

fn flatten(prefix: &str, table: &toml::Table, found: &mut Vec<(String, toml::Value)>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Table(inner) => flatten(&name, inner, found),
            other => found.push((name, other.clone())),
        }
    }
}

/// The key that was probably meant.
fn suggestion(name: &str) -> String {
    let near = |key: &&Key| strsim::damerau_levenshtein(key.name, name);
    match KEYS.iter().min_by_key(near) {
        Some(key) if near(&key) <= key.name.len() / 3 => format!("; did you mean {:?}?", key.name),
        _ => "; `cortex config show` lists the keys".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, variables: &[(&str, &str)]) -> Result<Config> {
        let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Config::parse(text, Path::new("cortex.toml"), &variables)
    }

    // mind 97: the port of the seed answers too, on this machine only, unless another port was asked for
    #[test]
    fn the_seeds_port_answers_by_default() {
        let none = BTreeMap::new();
        let http = parse("", &[]).unwrap().http(&none).unwrap();
        assert_eq!(http.address.to_string(), "127.0.0.1:7438");
        assert_eq!(http.second().unwrap().address.to_string(), "127.0.0.1:5738");
        let other = parse("[http]\nport = 9000\n", &[]).unwrap().http(&none).unwrap();
        assert!(other.second().is_none());
    }

    // agent-memory 113
    #[test]
    fn values_know_where_they_came_from() {
        let config = parse(
            "[memory]\ndedup_minutes = 5\narchive = false\n[embedder]\nmodel = \"static\"\n",
            &[("CORTEX_MEMORY_ARCHIVE_BELOW", "0.25")],
        )
        .unwrap();
        let settings = config.settings();
        assert_eq!((settings.dedup_window_ms, settings.archive), (300_000, false));
        assert_eq!((settings.archive_below, settings.stale_after_days), (250, 90));
        let origin = |name: &str| {
            config.all().find(|(found, _, _)| *found == name).map(|(_, _, o)| o.to_string())
        };
        assert_eq!(origin("memory.dedup_minutes").unwrap(), "cortex.toml");
        assert_eq!(origin("memory.archive_below").unwrap(), "CORTEX_MEMORY_ARCHIVE_BELOW");
        assert_eq!(origin("daemon.idle_seconds").unwrap(), "default");
        assert_eq!(parse("", &[]).unwrap().settings(), Settings::default());
        // agent-memory 152: both names of the port count, and the documented one wins.
        let port = |variables: &[(&str, &str)]| {
            let config = parse("", variables).unwrap();
            config.all().find(|(name, _, _)| *name == "http.port").map(|(_, port, _)| port.clone())
        };
        assert_eq!(port(&[("CORTEX_HTTP_PORT", "1")]), Some(1.into()));
        assert_eq!(port(&[("CORTEX_HTTP_PORT", "1"), ("CORTEX_PORT", "2")]), Some(2.into()));
    }

    #[test]
    fn parts_with_a_shape_of_their_own_are_read_by_whom_they_are_for() {
        #[derive(Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Limits {
            runs: u32,
        }
        let config = parse("[runner]\nruns = 8\n[defaults.warmup]\nruns = 2\n", &[]).unwrap();
        assert_eq!(config.section::<Limits>("runner", &[]).unwrap().runs, 8);
        assert_eq!(config.section::<Limits>("defaults", &["warmup"]).unwrap().runs, 2);
        assert_eq!(config.section::<Limits>("callosum", &[]).unwrap(), Limits::default());
        assert_eq!(config.in_sections().len(), 2);
        let config = parse("[runner]\nrusn = 8\n", &[]).unwrap();
        let error = config.section::<Limits>("runner", &[]).unwrap_err();
        assert!(
            error.to_string().contains("[runner] unknown field `rusn`"),
            "{}",
            error.to_string()
        );
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_a_suggestion() {
        for (text, said) in [
            ("[memory]\ndedup_minuts = 5\n", "did you mean \"memory.dedup_minutes\"?"),
            ("[unheard]\nof = 1\n", "`cortex config show` lists the keys"),
            ("[memory]\ndedup_minutes = \"soon\"\n", "memory.dedup_minutes: expected a number"),
            ("[memory]\narchive_below = 7.0\n", "between 0 and 5"),
            ("[memory\n", "cortex.toml:"),
        ] {
            let error = parse(text, &[]).unwrap_err();
            assert!(error.to_string().contains(said), "{}", error.to_string());
        }
        let error = parse("", &[("CORTEX_MEMORY_ARCHIVE", "perhaps")]).unwrap_err();
        assert!(error.to_string().contains("CORTEX_MEMORY_ARCHIVE: expected true or false"));
    }
}
