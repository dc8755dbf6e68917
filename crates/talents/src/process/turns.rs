//! The loop of a run: ask, use tools, ask again, until there is an answer or a bound is reached.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::chats::Chats;
use super::context::Context;
use super::error::RunError;
use super::events::Events;
use super::handover::{HAND_OVER, Successor};
use super::prepare::Prepared;
use super::relay::EventRelay;
use super::request::TalentRequest;
use super::toolbox::Citations;
use super::{TalentProcess, fallback, schema};
use crate::talent_files::OutputFormat;
use llm::models::ModelChoice;
use llm::providers::{
    ChatMessage, ModelCall, ModelReply, Provider, ProviderError, ProviderEvent, ReasonCode,
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
}

pub(super) struct Loop<'a> {
    pub(super) process: &'a TalentProcess,
    pub(super) request: &'a TalentRequest,
    /// The talent that began; its bounds hold to the end.
    pub(super) prepared: &'a Prepared,
    /// The talent that has taken over from it.
    pub(super) taken_over: Option<Box<Prepared>>,
    pub(super) handovers: u32,
    /// Who takes over when the tools of this turn are done.
    pub(super) next: Option<Successor>,
    pub(super) events: &'a Events,
    provider: Arc<dyn Provider>,
    /// The one that answers: the prepared one, or the fallback.
    pub(super) choice: ModelChoice,
    pub(super) call: ModelCall,
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

pub(super) async fn run(
    process: &TalentProcess,
    request: &TalentRequest,
    prepared: &Prepared,
    events: &Events,
    cited: &Citations,
) -> Result<RunResult, RunError> {
    let mut choice = prepared.choice.clone();
    let provider = match process.providers.open(&choice.provider) {
        Ok(provider) => provider,
        Err(error) => {
            let Some(other) = fallback::of(process, request, prepared, &error) else {
                return Err(RunError::Provider { provider: choice.provider, error });
            };
            fallback::tell(events, &choice, &other, "preflight", &error).await?;
            let opened = process.providers.open(&other.provider);
            let opened =
                opened.map_err(|second| fallback::both(&choice, error, &other, &second))?;
            choice = other;
            opened
        }
    };
    let name = &choice.provider;
    let mut messages = prepared.context.as_ref().map(Context::messages).unwrap_or_default();
    let mut session = None;
    if provider.is_cli() {
        let kept = prepared.chat.as_ref().and_then(|chat| chat.session_id.clone());
        session = request.session_id.clone().or(kept);
    } else if let Some(chat) = &prepared.chat {
        messages.splice(..0, chat.turns.iter().cloned());
    } else if let Some(session) = &request.session_id {
        let why = format!("no conversation {session:?} is known here");
        return Err(RunError::Chat { code: "unknown_session", why });
    }
    let chats = Chats::new(&process.layout);
    if let Some(id) = request.chat_id.as_deref().or(request.session_id.as_deref()) {
        chats.enter(id, name, request.use_id.as_str())?;
    }
    let mut warnings = prepared.warnings.clone();
    // A tool of the command line has its own way of giving work to others.
    let tools: Vec<String> = prepared
        .tools
        .iter()
        .map(|tool| tool.spec.name.clone())
        .filter(|name| name != HAND_OVER)
        .collect();
    let server = match tools.as_slice() {
        [] => None,
        tools => process.toolbox.server(&prepared.scene, tools),
    };
    if provider.is_cli() && !tools.is_empty() && server.is_none() {
        warnings.push(format!(
            "{name} has its own tools; those of the talent are not available with it"
        ));
    }
    for warning in &warnings {
        events.emit("warning", json!({"message": warning})).await?;
    }
    let mut text = prepared.message(request);
    // A conversation may end with a note, which comes from the user's side too.
    if let Some(ChatMessage::User { text: before }) =
        messages.pop_if(|last| matches!(last, ChatMessage::User { .. }))
    {
        text = format!("{before}\n\n{text}");
    }
    messages.push(ChatMessage::User { text });
    let front = &prepared.talent.front;
    let json = prepared.output == Some(OutputFormat::Json);
    let call = ModelCall {
        model: choice.model.clone(),
        system: prepared.system(),
        messages,
        tools: prepared.tools.iter().map(|tool| tool.spec.clone()).collect(),
        schema: front.schema.clone().filter(|_| json),
        json,
        max_output_tokens: request.max_output_tokens.or(front.max_output_tokens),
        thinking_budget: request.thinking_budget.or(front.thinking_budget),
        session,
        write: front.write,
        server,
        whole: Some(process.limit(request)),
    };
    let mut this = Loop {
        process,
        request,
        prepared,
        taken_over: None,
        handovers: 0,
        next: None,
        events,
        provider,
        model: call.model.clone(),
        choice,
        call,
        usage: TokenUsage::default(),
        cost: Some(0.0),
        cited,
        call_ids: BTreeSet::new(),
        tool_calls: 0,
        acted: false,
    };
    let (reply, ended_early) = match this.turns().await {
        Err(RunError::Provider { error, .. }) if !this.acted => {
            this.fall_back(request, error).await?
        }
        ended => ended?,
    };
    warnings.extend(ended_early);
    let (text, schema_validation) = this.shape(reply.text, reply.stop, json, &mut warnings)?;
    Ok(RunResult {
        text,
        usage: this.usage,
        cost: this.cost,
        cited: this.cited.all(),
        choice: this.choice,
        model: this.model,
        session: reply.session,
        schema_validation,
        warnings,
    })
}

impl Loop<'_> {
    fn provider_error(&self, reason: ReasonCode, message: impl Into<String>) -> RunError {
        let error = ProviderError::new(reason, message);
        RunError::Provider { provider: self.choice.provider.clone(), error }
    }

    /// Begins anew with the fallback, if there is one for this failure: nothing has been done yet, so nothing is done twice.
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
                self.events.emit("max_turns_exhausted", json!({"max_turns": most})).await?;
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
                let thought = json!({"summary": reply.text, "model": self.model});
                self.events.emit("thinking", thought).await?;
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

    /// Asks once and passes on what is seen meanwhile.
    async fn turn(&mut self) -> Result<ModelReply, RunError> {
        let (sender, mut seen) = mpsc::channel(EVENTS_WAITING);
        let provider = Arc::clone(&self.provider);
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
            let mut acted = false;
            while let Some(event) = seen.recv().await {
                acted |= matches!(event, ProviderEvent::ToolStart { .. });
                shown.pass_on(event).await?;
            }
            Ok::<bool, RunError>(acted)
        };
        let (reply, passed) = tokio::join!(provider.turn(&self.call, sender), passing);
        self.acted |= passed?;
        let reply = reply.map_err(|error| RunError::Provider {
            provider: self.choice.provider.clone(),
            error,
        })?;
        self.usage.add(&reply.usage);
        let prices = &self.process.resolver.settings().prices;
        let answered = reply.model.as_deref().unwrap_or(&self.call.model);
        let turn_cost = reply
            .cost
            .or_else(|| cost(answered, &reply.usage, prices))
            .or_else(|| cost(&self.call.model, &reply.usage, prices));
        self.cost = self.cost.zip(turn_cost).map(|(sum, turn)| sum + turn);
        if let Some(model) = &reply.model {
            self.model.clone_from(model);
        }
        Ok(reply)
    }

    /// The answer in the wanted format, and advice on its shape.
    fn shape(
        &self,
        text: String,
        stop: StopReason,
        json: bool,
        warnings: &mut Vec<String>,
    ) -> Result<(String, Option<Value>), RunError> {
        if stop == StopReason::MaxTokens {
            if json {
                let message = "the JSON is cut off at the limit of output tokens";
                return Err(self.provider_error(ReasonCode::ResponseInvalid, message));
            }
            warnings.push("the answer is cut off at the limit of output tokens".into());
        }
        if !json {
            return Ok((text, None));
        }
        match schema::extract(&text) {
            Ok(value) => {
                let advice = self
                    .prepared
                    .talent
                    .front
                    .schema
                    .as_ref()
                    .map(|schema| schema::validate(schema, &value));
                Ok((format!("{value:#}"), advice))
            }
            Err(why) => {
                warnings.push(format!("the answer is no JSON: {why}"));
                Ok((text, Some(schema::invalid(&why))))
            }
        }
    }
}
