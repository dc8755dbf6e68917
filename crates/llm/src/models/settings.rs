//! The `[providers]` part of the settings. Keys of services are never in it, only where they are found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ModelTier;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// What holds where nothing else says otherwise.
    pub default: DefaultRule,
    /// Who is asked when the chosen provider is overloaded, out of reach or without a valid key. Nobody if absent.
    pub fallback: DefaultRule,
    /// By context: exact, or with `*` and `?`. The seed's key.
    pub contexts: BTreeMap<String, ContextRule>,
    /// Provider -> tier -> model.
    pub models: BTreeMap<String, BTreeMap<String, String>>,
    /// Where providers are. A name that is not built in needs a kind.
    pub endpoints: BTreeMap<String, EndpointSettings>,
    /// Model -> what it costs; stands before the table in the binary.
    pub prices: BTreeMap<String, PriceSettings>,
    /// Model -> how many tokens it takes in and gives out together; stands before the table in the binary.
    pub windows: BTreeMap<String, u64>,
}

impl ProviderSettings {
    /// Every provider that is named somewhere.
    pub fn named(&self) -> BTreeSet<String> {
        let of_contexts = self.contexts.values().filter_map(|rule| rule.provider.as_ref());
        let one = self.default.provider.iter().chain(&self.fallback.provider);
        one.chain(of_contexts).chain(self.endpoints.keys()).cloned().collect()
    }
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct DefaultRule {
    pub provider: Option<String>,
    pub tier: Option<ModelTier>,
    pub model: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextRule {
    pub provider: Option<String>,
    pub tier: Option<ModelTier>,
    pub model: Option<String>,
    /// Switches the talent off without touching its file.
    pub disabled: Option<bool>,
}

/// Which protocol a provider speaks.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    Anthropic,
    /// Chat completions; also Ollama, llama.cpp, LM Studio and others.
    Openai,
    Google,
    /// The command line tools.
    Claude,
    Codex,
    Gemini,
}

impl ProviderKind {
    pub fn is_cli(self) -> bool {
        matches!(self, ProviderKind::Claude | ProviderKind::Codex | ProviderKind::Gemini)
    }
}

/// Where the key of a service is found.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyRef {
    /// The name of a variable of the environment.
    Env(String),
    /// A file that holds nothing else.
    File(PathBuf),
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndpointSettings {
    pub kind: Option<ProviderKind>,
    pub base_url: Option<String>,
    pub key: Option<KeyRef>,
    /// The executable of a command line tool.
    pub command: Option<PathBuf>,
    /// Let a command line tool use the service's key instead of its own login.
    pub use_key: bool,
    pub first_byte_seconds: Option<u64>,
    pub idle_seconds: Option<u64>,
    pub attempts: Option<u32>,
}

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSettings {
    pub input: f64,
    pub output: f64,
    pub cached: Option<f64>,
    pub cache_write: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_read_as_written_in_the_manual() {
        let settings: ProviderSettings = toml::from_str(
            r#"
            default = { provider = "ollama", tier = "lite" }
            [contexts."talent.system.default"]
            tier = 1
            [contexts."talent.*"]
            tier = 2
            [models.ollama]
            "1" = "big"
            [endpoints.ollama]
            base_url = "http://127.0.0.1:11434/v1"
            key = { env = "OLLAMA_KEY" }
            [endpoints.mine]
            kind = "openai"
            key = { file = "secrets/mine" }
            [prices.big]
            input = 1.5
            output = 3
            "#,
        )
        .unwrap();
        assert_eq!(settings.default.tier, Some(ModelTier::Lite));
        assert_eq!(settings.endpoints["mine"].kind, Some(ProviderKind::Openai));
        assert_eq!(settings.endpoints["ollama"].key, Some(KeyRef::Env("OLLAMA_KEY".into())));
        // execution R107: the seed's own example is JSON
        let seed: ProviderSettings = serde_json::from_str(
            r#"{"contexts": {"talent.system.default": {"tier": 1}, "talent.*": {"tier": 2}}}"#,
        )
        .unwrap();
        assert_eq!(seed.contexts["talent.*"].tier, Some(ModelTier::Flash));
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        assert!(toml::from_str::<ProviderSettings>("defalt = {}").is_err());
        assert!(toml::from_str::<ProviderSettings>("default = { tier = 4 }").is_err());
        assert!(toml::from_str::<ProviderSettings>("[endpoints.a]\nkey = \"sk-123\"").is_err());
    }
}
