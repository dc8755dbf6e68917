//! The loop of a run: ask, use tools, ask again, until there is an answer or a bound is reached.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use api::run::{MaxTurnsPayload, ThinkingPayload, UsagePayload};
use serde_json::Value;
use tokio::sync::mpsc;

use super::error::RunError;
use super::events::Events;
use super::first_call::FirstCall;
use super::handover::Successor;
use super::prepare::PreparedRun;
use super::relay::EventRelay;
use super::request::TalentRequest;
use super::room::{ANSWER_TOKENS_MIN, TokenGrant};
use super::toolbox::Citations;
use super::{TalentProcess, fallback, schema};
use llm::models::{ModelChoice, estimate};
use llm::providers::{
    ChatMessage, ModelReply, ModelRequest, Provider, ProviderError, ProviderEvent, ReasonCode,
    StopReason, TokenUsage, cost,
};

const TURNS: u32 = 30;
const EVENTS_WAITING: usize = 64;

const LAST_TURN: &str = "This is your last turn: give your answer now, without using tools.";

/// What a run came to.
pub(super) struct RunResult {
    pub(super) text: String,
    pub(super) usage: TokenUsage,
    pub(super) cost: Option<f64>,
    pub(super) cited: Vec<u64>,
    /// Who answered.
    pub(super) choice: ModelChoice,
    /// The model that really answered, if the provider says.
    pub(super) model: String,
    pub(super) session: Option<String>,
    pub(super) schema_validation: Option<Value>,
    pub(super) warnings: Vec<String>,
    /// Notes on parts of the sources, which nobody needs when the output is written.
    pub(super) kept: Vec<PathBuf>,
}

pub(super) struct TurnLoop<'a> {
    pub(super) process: &'a TalentProcess,
    pub(super) request: &'a TalentRequest,
    /// The talent that began; its bounds hold to the end.
    pub(super) prepared: &'a PreparedRun,
    /// The talent that has taken over from it.
    pub(super) taken_over: Option<Box<PreparedRun>>,
    pub(super) handovers: u32,
    /// Who takes over when the tools of this turn are done.
    pub(super) next: Option<Successor>,
    pub(super) events: &'a Events,
    pub(super) provider: Arc<dyn Provider>,
    /// The one that answers: the prepared one, or the fallback.
    pub(super) choice: ModelChoice,
    pub(super) call: ModelRequest,
    usage: TokenUsage,
    /// A run has a cost only if every turn of it has one.
    cost: Option<f64>,
    pub(super) cited: &'a Citations,
    pub(super) call_ids: BTreeSet<String>,
    pub(super) tool_calls: u32,
    /// A tool was used, by us or by a command line tool: somebody else must not begin anew.
    acted: bool,
    model: String,
}

/// How a request went: its answer, whether anything was done in it, and why and where it was broken off.
type Attended = (Option<Result<ModelReply, ProviderError>>, bool, Option<(String, String, u64)>);

/// What a run works with from its first call to its last.
#[derive(Clone, Copy)]
pub(super) struct RunScene<'a> {
    pub(super) process: &'a TalentProcess,
    pub(super) request: &'a TalentRequest,
    pub(super) prepared: &'a PreparedRun,
    pub(super) events: &'a Events,
    pub(super) cited: &'a Citations,
}

pub(super) async fn run(scene: RunScene<'_>) -> Result<RunResult, RunError> {
    let first = FirstCall::prepare(scene).await?;
    let json = first.call.json;
    let mut warnings = first.warnings.clone();
    let mut turns = TurnLoop::new(scene, first);
    let kept = turns.condense().await?;
    let (mut reply, ended_early) = match turns.turns().await {
        Err(RunError::Provider { error, .. }) if !turns.acted => {
            turns.fall_back(scene.request, error).await?
        }
        ended => ended?,
    };
    warnings.extend(ended_early);
    let (text, schema_validation) = match turns.shape(&reply, json, &mut warnings)? {
        Ok(shaped) => shaped,
        Err(why) => {
            reply = turns.repair(&reply, &why, &mut warnings).await?;
            turns.shape(&reply, json, &mut warnings)?.map_err(|why| {
                let message = format!("the answer is not the JSON that was asked for: {why}");
                let mut error = ProviderError::new(ReasonCode::ResponseInvalid, message);
                error.partial.clone_from(&reply.text);
                RunError::Provider { provider: turns.choice.provider.clone(), error }
            })?
        }
    };
    Ok(RunResult {
        kept,
        text,
        usage: turns.usage,
        cost: turns.cost,
        cited: turns.cited.all(),
        choice: turns.choice,
        model: turns.model,
        session: reply.session,
        schema_validation,
        warnings,
    })
}

impl<'a> TurnLoop<'a> {
    fn new(scene: RunScene<'a>, first: FirstCall) -> TurnLoop<'a> {
        TurnLoop {
            process: scene.process,
            request: scene.request,
            prepared: scene.prepared,
            taken_over: None,
            handovers: 0,
            next: None,
            events: scene.events,
            provider: first.provider,
            model: first.call.model.clone(),
            choice: first.choice,
            call: first.call,
            usage: TokenUsage::default(),
            cost: Some(0.0),
            cited: scene.cited,
            call_ids: BTreeSet::new(),
            tool_calls: 0,
            acted: false,
        }
    }
}

impl TurnLoop<'_> {
    fn provider_error(&self, reason: ReasonCode, message: impl Into<String>) -> RunError {
        let error = ProviderError::new(reason, message);
        RunError::Provider { provider: self.choice.provider.clone(), error }
    }

    /// Begins anew with the fallback, if there is one for this failure: nothing has been done yet, so nothing is
    /// done twice.
    async fn fall_back(
        &mut self,
        request: &TalentRequest,
        error: ProviderError,
    ) -> Result<(ModelReply, Vec<String>), RunError> {
        let first = self.choice.clone();
        // One that stepped in already is not replaced again.
        let is_first = first.provider == self.prepared.choice.provider;
        let other = fallback::of(self.process, request, self.prepared, &error);
        let Some(other) = other.filter(|_| is_first) else {
            return Err(RunError::Provider { provider: first.provider, error });
        };
        fallback::tell(self.events, &first, &other, "on_failure", &error).await?;
        match self.process.providers.open(&other.provider) {
            Ok(provider) => self.provider = provider,
            Err(second) => return Err(fallback::both(&first, error, &other, &second)),
        }
        self.call.model.clone_from(&other.model);
        self.model.clone_from(&other.model);
        self.choice = other.clone();
        match self.turns().await {
            Err(RunError::Provider { error: second, .. }) => {
                Err(fallback::both(&first, error, &other, &second))
            }
            ended => ended,
        }
    }

    async fn turns(&mut self) -> Result<(ModelReply, Vec<String>), RunError> {
        let most = self.prepared.talent.front.max_turns.unwrap_or(TURNS);
        let mut warnings = Vec::new();
        for turn in 1..=most {
            let mut reply = self.turn().await?;
            if reply.stop == StopReason::Refused {
                return Err(
                    self.provider_error(ReasonCode::ResponseInvalid, "the model would not answer")
                );
            }
            if reply.calls.is_empty() {
                if reply.text.trim().is_empty() {
                    return Err(
                        self.provider_error(ReasonCode::NoOutput, "the model gave no answer")
                    );
                }
                return Ok((reply, warnings));
            }
            if turn == most {
                self.events.emit(MaxTurnsPayload { max_turns: Some(most) }).await?;
                if reply.text.trim().is_empty() {
                    let message = format!("no answer within {most} turns");
                    return Err(self.provider_error(ReasonCode::NoOutput, message));
                }
                warnings.push(format!("the run was ended after {most} turns"));
                reply.calls.clear();
                return Ok((reply, warnings));
            }
            if !reply.text.trim().is_empty() {
                // Text before a tool is used is no result.
                let thought = ThinkingPayload {
                    summary: Some(reply.text.clone()),
                    model: Some(self.model.clone()),
                    signed: None,
                };
                self.events.emit(thought).await?;
            }
            self.acted = true;
            let calls = std::mem::take(&mut reply.calls);
            self.call.messages.push(ChatMessage::Assistant {
                text: reply.text,
                thoughts: reply.thoughts,
                calls: calls.clone(),
            });
            let results = self.use_tools(calls).await?;
            if let Some(successor) = self.next.take() {
                self.hand_over(successor).await?;
                continue;
            }
            self.call.messages.push(ChatMessage::Results { results });
            if turn + 1 == most {
                self.call.messages.push(ChatMessage::User { text: LAST_TURN.to_owned() });
            }
        }
        Err(self.provider_error(ReasonCode::NoOutput, "the talent allows no turns"))
    }

    /// Tokens of all requests so far.
    pub(super) fn spent_tokens(&self) -> u64 {
        self.usage.total_tokens.max(self.usage.input_tokens + self.usage.output_tokens)
    }

    /// What all requests so far cost, as far as anybody knows.
    pub(super) fn spent_dollars(&self) -> f64 {
        self.cost.unwrap_or(0.0)
    }

    /// Asks once more for JSON that can be used.
    async fn repair(
        &mut self,
        reply: &ModelReply,
        why: &str,
        warnings: &mut Vec<String>,
    ) -> Result<ModelReply, RunError> {
        let told = format!("the answer was not the JSON that was asked for ({why}); asked again");
        self.events.warn(&told).await?;
        warnings.push(told);
        self.call.messages.push(ChatMessage::Assistant {
            text: reply.text.clone(),
            thoughts: Vec::new(),
            calls: Vec::new(),
        });
        let text = format!(
            "That cannot be used: {why}. Answer again, with the whole JSON in the shape that was asked for, and \
             nothing else."
        );
        self.call.messages.push(ChatMessage::User { text });
        self.call.tools.clear();
        if reply.session.is_some() {
            self.call.session.clone_from(&reply.session);
        }
        self.turn().await
    }

    /// Asks once and passes on what is seen meanwhile. An answer that grows beyond what was granted is broken off
    /// unless more is granted.
    pub(super) async fn turn(&mut self) -> Result<ModelReply, RunError> {
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
                        Ok(_) => return Ok((acted, Some(("the budget".to_owned(), text, answer)))),
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

    /// The answer in the wanted format and what was found about its shape, or why it does not have it.
    fn shape(
        &self,
        reply: &ModelReply,
        json: bool,
        warnings: &mut Vec<String>,
    ) -> Result<Result<(String, Option<Value>), String>, RunError> {
        let text = reply.text.clone();
        if reply.stop == StopReason::MaxTokens {
            if json {
                let message = "the JSON is cut off at the limit of output tokens";
                return Err(self.provider_error(ReasonCode::ResponseInvalid, message));
            }
            warnings.push("the answer is cut off at the limit of output tokens".into());
        }
        if !json {
            return Ok(Ok((text, None)));
        }
        let value = match schema::extract(&text) {
            Ok(value) => value,
            Err(why) => return Ok(Err(format!("it is no JSON: {why}"))),
        };
        let found = self.prepared.talent.front.schema.as_ref();
        let found = found.map(|schema| schema::validate(schema, &value));
        if let Some(found) = found.as_ref().filter(|found| found["valid"] == false) {
            return Ok(Err(schema::wording(found)));
        }
        Ok(Ok((format!("{value:#}"), found)))
    }
}
