//! One request and its answer: asked within what was granted, told as it comes, broken off at the budget, and paid for.

use std::collections::HashMap;
use std::sync::Arc;

use api::run::UsagePayload;
use llm::models::estimate;
use llm::providers::{
    ModelReply, Provider, ProviderError, ProviderEvent, ReasonCode, TokenUsage, cost,
};
use tokio::sync::mpsc;

use super::TurnLoop;
use crate::process::error::RunError;
use crate::process::relay::EventRelay;
use crate::process::room::{ANSWER_TOKENS_MIN, TokenGrant};

const EVENTS_WAITING: usize = 64;

/// How a request went: its answer, whether anything was done in it, and why and where it was broken off.
type Attended = (Option<Result<ModelReply, ProviderError>>, bool, Option<(String, String, u64)>);

impl TurnLoop<'_> {
    /// Asks once and passes on what is seen meanwhile. An answer that grows beyond what was granted is broken off
    /// unless more is granted.
    pub(in crate::process) async fn turn(&mut self) -> Result<ModelReply, RunError> {
        let granted = self.make_room().await?;
        let (sender, mut seen) = mpsc::channel(EVENTS_WAITING);
        let provider = Arc::clone(&self.provider);
        let (reply, acted, broken_off) = self.attend(&provider, granted, sender, &mut seen).await?;
        self.acted |= acted;
        if let Some((why, partial, answer)) = broken_off {
            let usage = TokenUsage {
                input_tokens: granted.asked,
                output_tokens: answer,
                total_tokens: granted.asked + answer,
                requests: 1,
                ..TokenUsage::default()
            };
            // Nobody says what a request took that was broken off: it is estimated, and said to be.
            self.used(&usage, None, None, true).await?;
            return Err(RunError::Budget {
                why: format!("{why}; the answer was broken off"),
                partial,
            });
        }
        let Some(reply) = reply else {
            return Err(self.provider_error(ReasonCode::NoOutput, "the model gave no answer"));
        };
        let reply = reply.map_err(|error| RunError::Provider {
            provider: self.choice.provider.clone(),
            error,
        })?;
        self.used(&reply.usage, reply.cost, reply.model.as_deref(), false).await?;
        if let Some(model) = &reply.model {
            self.model.clone_from(model);
        }
        Ok(reply)
    }

    /// Hears a provider until it has answered, or until its answer is broken off.
    async fn attend(
        &self,
        provider: &Arc<dyn Provider>,
        granted: TokenGrant,
        sender: mpsc::Sender<ProviderEvent>,
        seen: &mut mpsc::Receiver<ProviderEvent>,
    ) -> Result<Attended, RunError> {
        let (model, talent) = (self.model.clone(), self.current().talent.name.clone());
        let mut shown = EventRelay {
            events: self.events,
            model: &model,
            talent: talent.as_str(),
            server: self.call.server.as_ref(),
            cited: self.cited,
            begun: HashMap::new(),
        };
        let passing = async {
            let (mut acted, mut text, mut answer, mut room) =
                (false, String::new(), 0, granted.answer);
            while let Some(event) = seen.recv().await {
                acted |= matches!(event, ProviderEvent::ToolStart { .. });
                if let ProviderEvent::Text(delta) = &event {
                    text.push_str(delta);
                    answer += estimate(delta);
                }
                if let ProviderEvent::Thinking(thought) = &event {
                    answer += estimate(&thought.text);
                }
                shown.pass_on(event).await?;
                if answer > room {
                    let wanted = answer + room.max(ANSWER_TOKENS_MIN);
                    match self.ask_for(granted.asked, wanted).await {
                        Ok(more) if more > answer => room = more,
                        Ok(_) => {
                            let why = "today's budget is used up".to_owned();
                            return Ok((acted, Some((why, text, answer))));
                        }
                        Err(RunError::Budget { why, .. }) => {
                            return Ok((acted, Some((why, text, answer))));
                        }
                        Err(other) => return Err(other),
                    }
                }
            }
            Ok::<_, RunError>((acted, None))
        };
        tokio::pin!(passing);
        let asking = provider.turn(&self.call, sender);
        tokio::pin!(asking);
        let (mut reply, mut passed) = (None, None);
        while reply.is_none() || passed.is_none() {
            tokio::select! {
                answered = &mut asking, if reply.is_none() => reply = Some(answered),
                seen = &mut passing, if passed.is_none() => {
                    let seen = seen?;
                    let broken_off = seen.1.is_some();
                    passed = Some(seen);
                    // The request is dropped, and with it the connection: nothing more is written.
                    if broken_off {
                        break;
                    }
                }
            }
        }
        let (acted, broken_off) = passed.unwrap_or_default();
        Ok((reply, acted, broken_off))
    }

    /// Adds up what a request took, and tells it, so that a run that is killed has still paid for it.
    async fn used(
        &mut self,
        usage: &TokenUsage,
        said: Option<f64>,
        answered: Option<&str>,
        estimated: bool,
    ) -> Result<(), RunError> {
        self.usage.add(usage);
        let prices = &self.process.resolver.settings().prices;
        let answered = answered.unwrap_or(&self.call.model);
        let turn_cost = said
            .or_else(|| cost(answered, usage, prices))
            .or_else(|| cost(&self.call.model, usage, prices));
        self.cost = self.cost.zip(turn_cost).map(|(sum, turn)| sum + turn);
        let told = UsagePayload {
            provider: Some(self.choice.provider.clone()),
            model: Some(answered.to_owned()),
            usage: serde_json::to_value(usage).ok(),
            cost: Some(turn_cost),
            estimated: estimated.then_some(true),
        };
        self.events.emit(told).await?;
        Ok(())
    }
}
