//! The model that may write the bulletin: chosen by `[providers]`, asked once per call, with a deadline.
//!
//! Only what the configuration names is asked. A key that happens to be in the environment is no permission to send
//! memories to a service in the background.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use api::{ErrorCode, Fault};
use kernel::memory::Millis;
use llm::models::{ModelQuery, ProviderSettings, Resolver};
use llm::providers::{
    ChatMessage, ConfiguredProviders, Env, HttpLimits, ModelReply, ModelRequest, ProviderError,
    Providers as _, ReasonCode, TokenUsage, cost,
};
use mind::budget::Cost;
use mind::bulletin::ModelPrompt;
use mind::{ModelAnswer, ModelFailure, ModelProvider};
use service::config::Config;
use service::error::{Error, Result};
use talents::Layout;

use crate::confinement::of_daemon;

/// The name under which `[providers.contexts]` decides about the bulletin.
const CONTEXT: &str = "mind.bulletin";
const MILLION: u64 = 1_000_000;

pub(crate) struct MindModel {
    pub provider: ModelProvider,
    model: String,
    providers: ConfiguredProviders,
}

// The environment holds keys.
impl fmt::Debug for MindModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl MindModel {
    /// `None` if the configuration names no provider for the mind.
    pub(crate) fn of(config: &Config, home: &Path) -> Result<Option<MindModel>> {
        let settings: ProviderSettings = config.section("providers", &[])?;
        let of_mind = settings.contexts.keys().any(|key| key.starts_with("mind"));
        if !is_named(config)? && !of_mind {
            return Ok(None);
        }
        let nothing = ModelQuery::default();
        let resolver = Resolver::new(settings.clone(), Vec::new());
        let choice = resolver.resolve(CONTEXT, &nothing, &nothing).map_err(|error| {
            Error::new(ErrorCode::Config, Fault::Caller, format!("the model of {CONTEXT}: {error}"))
        })?;
        if choice.disabled {
            return Ok(None);
        }
        let price = |usage: TokenUsage| {
            let dollars = cost(&choice.model, &usage, &settings.prices).unwrap_or_default();
            micro_dollars(dollars)
        };
        let input = TokenUsage { input_tokens: MILLION, ..TokenUsage::default() };
        let output = TokenUsage { output_tokens: MILLION, ..TokenUsage::default() };
        let provider = ModelProvider {
            name: choice.provider.clone(),
            input_price: price(input),
            output_price: price(output),
        };
        let env: Env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let patience = HttpLimits::default();
        let layout = Layout::new(home);
        let name = &choice.provider;
        let confinement = of_daemon(config, &layout, &settings, name, &env)?;
        let home = home.to_owned();
        let providers = ConfiguredProviders { settings, env, home, patience, seed: 0, confinement };
        Ok(Some(MindModel { provider, model: choice.model, providers }))
    }

    /// One call, over when it is answered or at the deadline.
    pub(crate) fn ask(
        &self,
        prompt: &ModelPrompt,
        now: Millis,
        deadline: Millis,
    ) -> std::result::Result<ModelAnswer, ModelFailure> {
        let whole = u64::try_from(deadline.get().saturating_sub(now.get())).unwrap_or(0).max(1);
        let whole = Duration::from_millis(whole);
        let call = ModelRequest {
            model: self.model.clone(),
            system: prompt.system.clone(),
            messages: vec![ChatMessage::User { text: prompt.user.clone() }],
            max_output_tokens: u32::try_from(prompt.max_output_tokens).ok(),
            whole: Some(whole),
            ..ModelRequest::default()
        };
        let reply = run(self.turn(&call, whole))??;
        let usage = &reply.usage;
        let dollars =
            reply.cost.or_else(|| cost(&self.model, usage, &self.providers.settings.prices));
        let tokens = usage.total_tokens.max(usage.input_tokens + usage.output_tokens);
        let cost = Cost { tokens, micro_dollars: micro_dollars(dollars.unwrap_or_default()) };
        Ok(ModelAnswer { text: reply.text, model: reply.model.unwrap_or(self.model.clone()), cost })
    }

    async fn turn(
        &self,
        call: &ModelRequest,
        whole: Duration,
    ) -> std::result::Result<ModelReply, ModelFailure> {
        let failed = |error: &ProviderError| ModelFailure {
            why: format!("{}: {error}", self.provider.name),
            is_unsent: error.reason == ReasonCode::NetworkUnreachable,
        };
        let provider = self.providers.open(&self.provider.name).map_err(|error| failed(&error))?;
        let (events, mut tracker) = tokio::sync::mpsc::channel(64);
        let turn = async {
            let listen = async { while tracker.recv().await.is_some() {} };
            tokio::join!(provider.turn(call, events), listen).0
        };
        match tokio::time::timeout(whole, turn).await {
            Ok(reply) => reply.map_err(|error| failed(&error)),
            Err(_) => Err(format!("{} did not answer in time", self.provider.name).into()),
        }
    }
}

/// Does the configuration name a model for whatever asks?
pub(crate) fn is_named(config: &Config) -> Result<bool> {
    let settings: ProviderSettings = config.section("providers", &[])?;
    Ok(settings.default.provider.is_some() || settings.default.model.is_some())
}

/// Runs on the runtime of the daemon, or on one of its own.
fn run<T>(work: impl Future<Output = T>) -> std::result::Result<T, String> {
    if let Ok(handle) = tokio::runtime::Handle::try_current() {
        return Ok(handle.block_on(work));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("a runtime: {error}"))?;
    Ok(runtime.block_on(work))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to what a u64 holds"
)]
fn micro_dollars(dollars: f64) -> u64 {
    (dollars * 1e6).ceil().clamp(0.0, 1e15) as u64
}
