//! The providers that are known by name, with their models by tier. State of 2026-11; settings stand before it.

use super::settings::ProviderKind;

#[derive(Clone, Copy, Debug)]
pub struct BuiltInProvider {
    pub name: &'static str,
    pub kind: ProviderKind,
    pub base_url: &'static str,
    /// The variable that usually holds the key; empty: none is needed.
    pub key_env: &'static str,
    /// By tier: pro, flash, lite. Empty: nobody can know which models are there.
    pub models: [&'static str; 3],
}

pub const BUILT_IN: &[BuiltInProvider] = &[
    BuiltInProvider {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        base_url: "https://api.anthropic.com",
        key_env: "ANTHROPIC_API_KEY",
        models: ["claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5"],
    },
    BuiltInProvider {
        name: "openai",
        kind: ProviderKind::Openai,
        base_url: "https://api.openai.com/v1",
        key_env: "OPENAI_API_KEY",
        models: ["gpt-5.5", "gpt-5.4-mini", "gpt-5.4-nano"],
    },
    BuiltInProvider {
        name: "google",
        kind: ProviderKind::Google,
        base_url: "https://generativelanguage.googleapis.com",
        key_env: "GEMINI_API_KEY",
        models: ["gemini-pro-latest", "gemini-flash-latest", "gemini-flash-lite-latest"],
    },
    BuiltInProvider {
        name: "ollama",
        kind: ProviderKind::Openai,
        base_url: "http://127.0.0.1:11434/v1",
        key_env: "",
        models: ["", "", ""],
    },
    BuiltInProvider {
        name: "llamacpp",
        kind: ProviderKind::Openai,
        base_url: "http://127.0.0.1:8080/v1",
        key_env: "",
        models: ["", "", ""],
    },
    BuiltInProvider {
        name: "lmstudio",
        kind: ProviderKind::Openai,
        base_url: "http://127.0.0.1:1234/v1",
        key_env: "",
        models: ["", "", ""],
    },
    BuiltInProvider {
        name: "claude",
        kind: ProviderKind::Claude,
        base_url: "",
        key_env: "ANTHROPIC_API_KEY",
        models: ["opus", "sonnet", "haiku"],
    },
    BuiltInProvider {
        name: "codex",
        kind: ProviderKind::Codex,
        base_url: "",
        key_env: "OPENAI_API_KEY",
        models: ["gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"],
    },
    BuiltInProvider {
        name: "gemini",
        kind: ProviderKind::Gemini,
        base_url: "",
        key_env: "GEMINI_API_KEY",
        models: ["gemini-pro-latest", "gemini-flash-latest", "gemini-flash-lite-latest"],
    },
];

pub fn built_in(name: &str) -> Option<&'static BuiltInProvider> {
    BUILT_IN.iter().find(|known| known.name == name)
}
