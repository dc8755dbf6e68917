//! Which variables a run has: a short list of the daemon's own, those of providers, and those that settings declare.
//!
//! What must stay true: a request sets only names that are declared or hold the key of a provider, and never one that
//! decides which code runs or where a connection goes; what the daemon has in its environment beside the list
//! reaches no process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api::run::RunRejection;
use llm::models::{BUILT_IN, KeyRef, ProviderSettings};
use llm::providers::Env;
use llm::providers::cli::CLI_VARIABLES;

use super::ExecSettings;

/// Names that no request and no talent may set, whatever settings say. A star stands for anything.
pub const FORBIDDEN: &[&str] = &[
    // What the loader, the allocator and interpreters run before the program itself.
    "LD_*",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "MALLOC_*",
    "RUST_*",
    "PYTHON*",
    "NODE_*",
    "BUN_*",
    "PERL*",
    "RUBY*",
    "JAVA_*",
    "BASH_*",
    "ENV",
    "IFS",
    "SHELL",
    "GIT_*",
    // Where programs, files and connections are looked for.
    "PATH",
    "HOME",
    "TMPDIR",
    "XDG_*",
    "*_PROXY",
    "SSL_*",
    "OPENSSL_*",
    // Our own: who the run is and what it may reach.
    "CORTEX_*",
];

/// What every run gets of the daemon's environment.
const HANDED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CORTEX_CONFIG",
    "CORTEX_LOG",
];
const HANDED_ON_STARTS: &[&str] = &["LC_"];

/// The rule that forbids a name, if one does. Proxies are written in both cases, so case does not count.
pub fn forbidden(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    FORBIDDEN.iter().copied().find(|rule| match (rule.strip_suffix('*'), rule.strip_prefix('*')) {
        (Some(start), _) => name.starts_with(start),
        (None, Some(end)) => name.ends_with(end),
        (None, None) => name == *rule,
    })
}

/// Whether a text can name a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The variables of the runs of a home.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct VariableRules {
    declared: BTreeSet<String>,
    base: BTreeMap<String, String>,
}

impl fmt::Debug for VariableRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may be keys of services.
        let base: Vec<&String> = self.base.keys().collect();
        f.debug_struct("VariableRules")
            .field("declared", &self.declared)
            .field("base", &base)
            .finish()
    }
}

impl VariableRules {
    /// `environment` is that of the daemon.
    pub fn new(
        settings: &ExecSettings,
        providers: &ProviderSettings,
        environment: &Env,
    ) -> VariableRules {
        let keys = provider_keys(providers);
        let is_handed_on = |name: &str| {
            let starts = HANDED_ON_STARTS.iter().chain(CLI_VARIABLES);
            HANDED_ON.contains(&name)
                || starts.into_iter().any(|start| name.starts_with(start))
                || keys.contains(name)
                || settings.inherit.iter().chain(&settings.env).any(|named| named == name)
        };
        let base = environment.iter().filter(|(name, _)| is_handed_on(name));
        let base = base.map(|(name, value)| (name.clone(), value.clone())).collect();
        let declared = settings.env.iter().cloned().chain(keys.iter().cloned());
        let declared = declared.filter(|name| forbidden(name).is_none()).collect();
        VariableRules { declared, base }
    }

    /// For programs without a daemon's environment: these names may be set, and nothing else is there.
    pub fn only(
        declared: impl IntoIterator<Item = String>,
        base: BTreeMap<String, String>,
    ) -> VariableRules {
        VariableRules { declared: declared.into_iter().collect(), base }
    }

    /// What every run begins with.
    pub fn base(&self) -> &BTreeMap<String, String> {
        &self.base
    }

    /// Refuses a request whose variables are not all declared.
    pub fn check<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), RunRejection> {
        for name in names {
            if self.declared.contains(name) {
                continue;
            }
            let why = match forbidden(name) {
                Some(rule) => format!("a request may never set {rule}"),
                None => "it is not declared".to_owned(),
            };
            let allowed: Vec<&str> = self.declared.iter().map(String::as_str).collect();
            let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
            return Err(RunRejection::new(
                "bad_env",
                format!(
                    "the variable {name} cannot be set for a run: {why}; allowed are: {allowed}; \
                     others are declared in cortex.toml: [exec] env = [\"NAME\"]"
                ),
            ));
        }
        Ok(())
    }
}

/// The variables that hold keys of providers.
fn provider_keys(providers: &ProviderSettings) -> BTreeSet<String> {
    let named = providers.endpoints.values().filter_map(|endpoint| match &endpoint.key {
        Some(KeyRef::Env(name)) => Some(name.as_str()),
        _ => None,
    });
    let usual = BUILT_IN.iter().map(|known| known.key_env).filter(|name| !name.is_empty());
    named.chain(usual).filter(|name| is_name(name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(names: &[&str]) -> Env {
        names.iter().map(|name| ((*name).to_owned(), format!("value of {name}"))).collect()
    }

    // F4: each name of the list, and what looks like it
    #[test]
    fn what_decides_which_code_runs_is_forbidden() {
        let named = [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "PATH",
            "HOME",
            "HTTP_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "no_proxy",
            "SSL_CERT_FILE",
            "RUST_LOG",
            "RUST_BACKTRACE",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "NODE_EXTRA_CA_CERTS",
            "GLIBC_TUNABLES",
            "GCONV_PATH",
            "MALLOC_CHECK_",
            "BUN_OPTIONS",
            "PERL5LIB",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "BASH_ENV",
            "ENV",
            "IFS",
            "SHELL",
            "GIT_SSH_COMMAND",
            "TMPDIR",
            "XDG_CONFIG_HOME",
            "OPENSSL_CONF",
            "CORTEX_CONFINE",
            "CORTEX_HOME",
            "Path",
        ];
        for name in named {
            assert!(forbidden(name).is_some(), "{name}");
        }
        for rule in FORBIDDEN {
            let example = rule.replace('*', "X");
            assert_eq!(forbidden(&example), Some(*rule), "{example} is held by its own rule");
        }
        for name in
            ["MY_KEY", "ANTHROPIC_API_KEY", "PATHS", "HOMEPAGE", "ENVIRONMENT", "PROXY", "LANG"]
        {
            assert_eq!(forbidden(name), None, "{name}");
        }
    }

    // F4: a request may set what is declared, and the refusal says what that is and how to add to it
    #[test]
    fn a_request_sets_only_what_is_declared() {
        let settings = ExecSettings { env: vec!["MY_KEY".to_owned()], ..ExecSettings::default() };
        let providers: ProviderSettings =
            toml::from_str("[endpoints.mine]\nkind = \"openai\"\nkey = { env = \"MINE\" }")
                .expect("settings");
        let rules = VariableRules::new(&settings, &providers, &Env::new());
        let check = |name: &str| rules.check([&name.to_owned()]).map_err(|refused| refused.reason);
        for name in ["MY_KEY", "MINE", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        let said = check("LD_PRELOAD").expect_err("refused");
        for part in ["LD_PRELOAD", "never set LD_*", "MY_KEY", "[exec] env = [\"NAME\"]"] {
            assert!(said.contains(part), "{said}");
        }
        let said = check("OTHER").expect_err("refused");
        assert!(said.contains("OTHER cannot be set for a run: it is not declared"), "{said}");
        for name in ["ANTHROPIC_BASE_URL", "HTTPS_PROXY", "CLAUDE_CONFIG_DIR", "my_key"] {
            assert!(check(name).is_err(), "{name}");
        }
    }

    // F4: a key's name in the settings does not make a forbidden variable a key
    #[test]
    fn a_provider_cannot_declare_what_is_forbidden() {
        let providers: ProviderSettings =
            toml::from_str("[endpoints.mine]\nkind = \"openai\"\nkey = { env = \"LD_PRELOAD\" }")
                .expect("settings");
        let rules = VariableRules::new(&ExecSettings::default(), &providers, &Env::new());
        assert!(rules.check([&"LD_PRELOAD".to_owned()]).is_err());
    }

    // F4: the child does not have the daemon's environment
    #[test]
    fn runs_begin_with_a_short_list() {
        let daemon = env(&[
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "TZ",
            "TMPDIR",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CONFIG_DIR",
            "MINE",
            "DECLARED",
            "HTTPS_PROXY",
            "LD_PRELOAD",
            "AWS_SECRET_ACCESS_KEY",
            "CORTEX_HTTP_TOKEN",
            "RUST_LOG",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
        ]);
        let settings = ExecSettings {
            env: vec!["DECLARED".to_owned()],
            inherit: vec!["HTTPS_PROXY".to_owned()],
            ..ExecSettings::default()
        };
        let providers: ProviderSettings =
            toml::from_str("[endpoints.mine]\nkind = \"openai\"\nkey = { env = \"MINE\" }")
                .expect("settings");
        let rules = VariableRules::new(&settings, &providers, &daemon);
        let names: Vec<&str> = rules.base().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "ANTHROPIC_API_KEY",
                "CLAUDE_CONFIG_DIR",
                "DECLARED",
                "HOME",
                "HTTPS_PROXY",
                "LANG",
                "LC_ALL",
                "MINE",
                "PATH",
                "TMPDIR",
                "TZ"
            ]
        );
        assert!(!format!("{rules:?}").contains("value of"), "no value is shown");
    }
}
