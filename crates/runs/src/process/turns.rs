//! The loop of a run: ask, use tools, ask again, until there is an answer or a bound is reached.

mod attend;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use api::run::{MaxTurnsPayload, ThinkingPayload};
use serde_json::Value;

use super::error::RunError;
use super::events::Events;
use super::first_call::FirstCall;
use super::handover::Successor;
use super::prepare::PreparedRun;
use super::request::TalentRequest;
use super::toolbox::Citations;
use super::{TalentProcess, fallback, schema};
use llm::models::ModelChoice;
use llm::providers::{
    ChatMessage, ModelReply, ModelRequest, Provider, ProviderError, ReasonCode, StopReason,
    TokenUsage,
};

const TURNS: u32 = 30;

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
