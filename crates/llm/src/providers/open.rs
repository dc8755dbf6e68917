//! Providers by name, made from the settings and the environment.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::anthropic::Anthropic;
use super::cli::{CliOptions, CliProvider, ToolConfinement};
use super::google::Google;
use super::http::{HttpLimits, HttpProvider, Protocol};
use super::openai::OpenAi;
use super::{Env, Provider, ProviderError, ReasonCode};
use crate::models::{BUILT_IN, EndpointSettings, KeyRef, ProviderKind, ProviderSettings, built_in};

/// A key is a line; what is larger is another file.
const KEY_BYTES_MAX: u64 = 8 * 1024;

/// Gives a provider for a name. Tests put scripted ones here.
pub trait Providers: Send + Sync {
    fn open(&self, name: &str) -> Result<Arc<dyn Provider>, ProviderError>;
}

/// The providers of the settings.
#[derive(Clone, Debug)]
pub struct ConfiguredProviders {
    pub settings: ProviderSettings,
    pub env: Env,
    /// Where key files with relative paths are.
    pub home: PathBuf,
    pub patience: HttpLimits,
    /// What the jitter of pauses starts from.
    pub seed: u64,
    /// How command line tools are held in; without it they are started as they are.
    pub confinement: Option<ToolConfinement>,
}

impl Providers for ConfiguredProviders {
    fn open(&self, name: &str) -> Result<Arc<dyn Provider>, ProviderError> {
        let known = built_in(name);
        let none = EndpointSettings::default();
        let set = self.settings.endpoints.get(name).unwrap_or(&none);
        let fail = |message: String| ProviderError::new(ReasonCode::Unknown, message);
        let kind = set.kind.or(known.map(|known| known.kind)).ok_or_else(|| {
            fail(format!("provider {name:?} needs providers.endpoints.{name}.kind"))
        })?;
        let key = self.key(name, set, known.map_or("", |known| known.key_env))?;
        let mut patience = self.patience;
        if let Some(seconds) = set.first_byte_seconds {
            patience.first_byte = Duration::from_secs(seconds);
        }
        if let Some(seconds) = set.idle_seconds {
            patience.idle = Duration::from_secs(seconds);
        }
        if let Some(attempts) = set.attempts {
            patience.retry.attempts = attempts.max(1);
        }
        if kind.is_cli() {
            let key_env = known.map_or("", |known| known.key_env);
            let options = CliOptions {
                command: set.command.clone(),
                env: self.env.clone(),
                // Beside the chronicle are stores and keys, which are none of the tool's business.
                cwd: self.home.join("chronicle"),
                scratch: self.home.join("run"),
                confinement: self.confinement.clone(),
                key: set.use_key.then_some(key).flatten().map(|key| (key_env.to_owned(), key)),
                first_event: set.first_byte_seconds.map(Duration::from_secs),
                whole: patience.whole,
            };
            return Ok(Arc::new(CliProvider::new(name, kind, options)));
        }
        let same_kind =
            BUILT_IN.iter().find(|known| known.kind == kind).map(|known| known.base_url);
        let base = set.base_url.as_deref().or(known.map(|known| known.base_url)).or(same_kind);
        let base = base.unwrap_or_default();
        if !base.starts_with("https://") && !base.starts_with("http://") {
            return Err(fail(format!(
                "the address of provider {name:?} must begin with https:// or http://"
            )));
        }
        if key.is_none()
            && set.base_url.is_none()
            && known.is_some_and(|known| !known.key_env.is_empty())
        {
            let variable = known.map_or("", |known| known.key_env);
            let message = format!(
                "provider {name:?} has no key: set {variable} or providers.endpoints.{name}.key"
            );
            return Err(ProviderError::new(ReasonCode::KeyInvalid, message));
        }
        let protocol: Box<dyn Protocol> = match kind {
            ProviderKind::Anthropic => Box::new(Anthropic),
            ProviderKind::Google => Box::new(Google),
            _ => Box::new(OpenAi { original: base.contains("//api.openai.com") }),
        };
        Ok(Arc::new(HttpProvider::new(name, base, key, protocol, patience, self.seed)?))
    }
}

impl ConfiguredProviders {
    /// Why a provider could not be asked now; nobody is asked to find out.
    pub fn ready(&self, name: &str) -> Result<(), ProviderError> {
        self.open(name)?.ready()
    }

    fn key(
        &self,
        name: &str,
        set: &EndpointSettings,
        usual: &str,
    ) -> Result<Option<String>, ProviderError> {
        let fail = |message: String| ProviderError::new(ReasonCode::KeyInvalid, message);
        let found = match &set.key {
            Some(KeyRef::Env(variable)) => {
                Some(self.env.get(variable).cloned().ok_or_else(|| {
                    fail(format!(
                        "the key of provider {name:?} is to be in {variable}, which is not set"
                    ))
                })?)
            }
            Some(KeyRef::File(file)) => {
                let path = self.home.join(file);
                let size = fs::metadata(&path).map(|meta| meta.len());
                if size.is_ok_and(|size| size > KEY_BYTES_MAX) {
                    return Err(fail(format!("the key file of provider {name:?} is no key file")));
                }
                let text = fs::read_to_string(&path)
                    .map_err(|error| fail(format!("the key file of provider {name:?}: {error}")))?;
                Some(text)
            }
            // The usual variable holds the key of the usual address, and must not be sent to another one.
            None if set.base_url.is_some() => None,
            None => self.env.get(usual).cloned(),
        };
        Ok(found.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()))
    }
}

/// The services that could be asked now: those whose key is there. The best known come first.
pub fn usable(settings: &ProviderSettings, env: &Env) -> Vec<String> {
    let mut names = Vec::new();
    for known in BUILT_IN.iter().filter(|known| !known.kind.is_cli() && !known.key_env.is_empty()) {
        if env.get(known.key_env).is_some_and(|key| !key.trim().is_empty()) {
            names.push(known.name.to_owned());
        }
    }
    for (name, endpoint) in &settings.endpoints {
        let there = match &endpoint.key {
            Some(KeyRef::Env(variable)) => env.contains_key(variable),
            Some(KeyRef::File(_)) => true,
            None => endpoint.base_url.is_some(),
        };
        if there && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
