//! The `[tools]` part of the settings: which servers there are, and how far each is trusted. Keys are never in it, only
//! where they are found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use api::{Error, ErrorCode, Fault, Result};
use llm::models::KeyRef;
use serde::{Deserialize, Serialize};
use service::config::Config;

use super::BETWEEN;

/// Servers of a home.
const SERVERS_MAX: usize = 32;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    pub servers: BTreeMap<String, ServerSettings>,
    /// How long a call waits for a person; then it is not made.
    pub(crate) approval_seconds: u64,
}

impl Default for ToolSettings {
    fn default() -> ToolSettings {
        ToolSettings { servers: BTreeMap::new(), approval_seconds: 600 }
    }
}

/// Who says that a tool is used.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ApprovalMode {
    /// Nobody: its tools are not used.
    Never,
    /// A person, each time.
    #[default]
    Ask,
    /// The talent's file alone.
    Auto,
}

/// One server: a program that speaks on its standard streams, or an address.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    pub(crate) command: Option<PathBuf>,
    pub(crate) args: Vec<String>,
    /// Variables of the program, beside PATH, HOME and the locale: a value, or where a key is found.
    pub(crate) env: BTreeMap<String, EnvValue>,
    pub(crate) url: Option<String>,
    /// Sent as a bearer token.
    pub(crate) key: Option<KeyRef>,
    pub(crate) approval: ApprovalMode,
    /// Only these of its tools.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) timeout_seconds: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum EnvValue {
    Plain(String),
    Key(KeyRef),
}

impl ServerSettings {
    /// How long one answer may take.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.unwrap_or(60).clamp(1, 3_600))
    }
}

impl ToolSettings {
    pub fn of(config: &Config) -> Result<ToolSettings> {
        let settings: Option<ToolSettings> = config.section("tools", &[])?;
        let settings = settings.unwrap_or_default();
        let wrong = |why: String| Error::new(ErrorCode::Config, Fault::Caller, why);
        if settings.servers.len() > SERVERS_MAX {
            return Err(wrong(format!("tools.servers: {SERVERS_MAX} are the most")));
        }
        for (name, server) in &settings.servers {
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
            if name.is_empty()
                || name.len() > 32
                || name.contains(BETWEEN)
                || !name.chars().all(plain)
            {
                let rule = "a name of a server is small letters, digits, - and single _";
                return Err(wrong(format!("tools.servers.{name}: {rule}")));
            }
            if server.command.is_some() == server.url.is_some() {
                let rule = "needs either command or url";
                return Err(wrong(format!("tools.servers.{name} {rule}")));
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Result<ToolSettings> {
        ToolSettings::of(&Config::parse(text, Path::new("cortex.toml"), &BTreeMap::default())?)
    }

    // T20
    #[test]
    fn servers_are_read_and_what_makes_no_sense_is_refused() {
        let good = read(
            "[tools.servers.files]\ncommand = \"npx\"\nargs = [\"x\"]\n\
             env = { A = \"1\", KEY = { env = \"MY_KEY\" } }\n\
             [tools.servers.web]\nurl = \"http://127.0.0.1:1/mcp\"\napproval = \"auto\"\ntools = [\"get\"]",
        )
        .unwrap();
        assert_eq!(
            good.servers["files"].approval,
            ApprovalMode::Ask,
            "asks unless it is told not to"
        );
        assert_eq!(good.servers["web"].approval, ApprovalMode::Auto);
        assert_eq!(read("").unwrap(), ToolSettings::default());
        for bad in [
            "[tools.servers.x]\n",
            "[tools.servers.x]\ncommand = \"a\"\nurl = \"b\"",
            "[tools.servers.a__b]\ncommand = \"a\"",
            "[tools.servers.x]\ncommand = \"a\"\napproval = \"maybe\"",
            "[tools.servers.x]\ncommand = \"a\"\nkye = 1",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
