//! The loop of a run: ask, use tools, ask again, until there is an answer or a bound is reached.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::chats::Chats;
use super::context::Context;
use super::error::RunError;
use super::events::Events;
use super::prepare::{Prepared, Tool};
use super::request::Request;
use super::toolbox::{ToolAnswer, ToolError};
use super::{Process, schema};
use crate::providers::{
    Call, Message, Provider, ProviderError, ProviderEvent, ReasonCode, Reply, Stop, Thought,
    ToolCall, ToolResult, Usage, cost,
};
use crate::talents::OutputFormat;

const TURNS: u32 = 30;
const TOOL_CALLS: u32 = 200;
/// One use of a tool.
const TOOL_PATIENCE: Duration = Duration::from_mins(2);
/// What of a tool's answer goes to the model and into the log.
const RESULT_BYTES_MAX: usize = 100_000;
const EVENTS_WAITING: usize = 64;

const LAST_TURN: &str = "This is your last turn: give your answer now, without using tools.";

/// What a run came to.
pub(super) struct Done {
    pub(super) text: String,
    pub(super) usage: Usage,
    pub(super) cost: Option<f64>,
    pub(super) cited: Vec<u64>,
    pub(super) model: String,
    pub(super) session: Option<String>,
    pub(super) schema_validation: Option<Value>,
    pub(super) warnings: Vec<String>,
}

struct Loop<'a> {
    process: &'a Process,
    prepared: &'a Prepared,
    events: &'a Events,
    provider: Arc<dyn Provider>,
    call: Call,
    usage: Usage,
    /// A run has a cost only if every turn of it has one.
    cost: Option<f64>,
    cited: Vec<u64>,
    call_ids: BTreeSet<String>,
    tool_calls: u32,
    model: String,
}

pub(super) async fn run(
    process: &Process,
    request: &Request,
    prepared: &Prepared,
    events: &Events,
) -> Result<Done, RunError> {
    let name = &prepared.choice.provider;
    let failed = |error| RunError::Provider { provider: name.clone(), error };
    let provider = process.providers.open(name).map_err(failed)?;
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
    if provider.is_cli() && !prepared.tools.is_empty() {
        warnings.push(format!(
            "{name} has its own tools; those of the talent are not available with it"
        ));
    }
    for warning in &warnings {
        events.emit("warning", json!({"message": warning})).await?;
    }
    let mut text = prepared.message(request);
    // A conversation may end with a note, which comes from the user's side too.
    if let Some(Message::User { text: before }) =
        messages.pop_if(|last| matches!(last, Message::User { .. }))
    {
        text = format!("{before}\n\n{text}");
    }
    messages.push(Message::User { text });
    let front = &prepared.talent.front;
    let json = prepared.output == Some(OutputFormat::Json);
    let call = Call {
        model: prepared.choice.model.clone(),
        system: prepared.system(),
        messages,
        tools: prepared.tools.iter().map(|tool| tool.spec.clone()).collect(),
        schema: front.schema.clone().filter(|_| json),
        json,
        max_output_tokens: request.max_output_tokens.or(front.max_output_tokens),
        thinking_budget: request.thinking_budget.or(front.thinking_budget),
        session,
        write: front.write,
        whole: Some(process.limit(request)),
    };
    let mut this = Loop {
        process,
        prepared,
        events,
        provider,
        model: call.model.clone(),
        call,
        usage: Usage::default(),
        cost: Some(0.0),
        cited: Vec::new(),
        call_ids: BTreeSet::new(),
        tool_calls: 0,
    };
    let (reply, ended_early) = this.turns().await?;
    warnings.extend(ended_early);
    let (text, schema_validation) = this.shape(reply.text, reply.stop, json, &mut warnings)?;
    Ok(Done {
        text,
        usage: this.usage,
        cost: this.cost,
        cited: this.cited,
        model: this.model,
        session: reply.session,
        schema_validation,
        warnings,
    })
}

impl Loop<'_> {
    fn provider_error(&self, reason: ReasonCode, message: impl Into<String>) -> RunError {
        let error = ProviderError::new(reason, message);
        RunError::Provider { provider: self.prepared.choice.provider.clone(), error }
    }

    async fn turns(&mut self) -> Result<(Reply, Vec<String>), RunError> {
        let most = self.prepared.talent.front.max_turns.unwrap_or(TURNS);
        let mut warnings = Vec::new();
        for turn in 1..=most {
            let mut reply = self.turn().await?;
            if reply.stop == Stop::Refused {
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
            let calls = std::mem::take(&mut reply.calls);
            self.call.messages.push(Message::Assistant {
                text: reply.text,
                thoughts: reply.thoughts,
                calls: calls.clone(),
            });
            let results = self.use_tools(calls).await?;
            self.call.messages.push(Message::Results { results });
            if turn + 1 == most {
                self.call.messages.push(Message::User { text: LAST_TURN.to_owned() });
            }
        }
        Err(self.provider_error(ReasonCode::NoOutput, "the talent allows no turns"))
    }

    /// Asks once and passes on what is seen meanwhile.
    async fn turn(&mut self) -> Result<Reply, RunError> {
        let (sender, mut seen) = mpsc::channel(EVENTS_WAITING);
        let provider = Arc::clone(&self.provider);
        let (events, model) = (self.events, self.model.clone());
        let passing = async {
            while let Some(event) = seen.recv().await {
                pass_on(events, &model, event).await?;
            }
            Ok::<(), RunError>(())
        };
        let (reply, passed) = tokio::join!(provider.turn(&self.call, sender), passing);
        passed?;
        let reply = reply.map_err(|error| RunError::Provider {
            provider: self.prepared.choice.provider.clone(),
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

    async fn use_tools(&mut self, calls: Vec<ToolCall>) -> Result<Vec<ToolResult>, RunError> {
        let budget = self.prepared.talent.front.tool_budget.unwrap_or(TOOL_CALLS);
        let writes =
            calls.iter().any(|call| self.tool(&call.name).is_some_and(|tool| tool.spec.writes));
        let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
        let mut running: JoinSet<(usize, Result<ToolAnswer, ToolError>)> = JoinSet::new();
        let mut ids = Vec::with_capacity(calls.len());
        for (place, call) in calls.iter().enumerate() {
            let id = self.unique(&call.id, place);
            ids.push(id.clone());
            let start = json!({"tool": call.name, "args": call.args, "call_id": id});
            self.events.emit("tool_start", start).await?;
            self.tool_calls += 1;
            let refused = if self.tool_calls > budget {
                let note = json!({"tool": call.name, "budget": budget, "count": self.tool_calls});
                self.events.emit("tool_budget_exhausted", note).await?;
                Some("the budget of tool calls is used up: answer with what you have".to_owned())
            } else if let Some(bad) = &call.bad_args {
                Some(format!("the arguments are no JSON: {bad}"))
            } else if self.tool(&call.name).is_none() {
                let known: Vec<&str> =
                    self.prepared.tools.iter().map(|tool| tool.spec.name.as_str()).collect();
                Some(format!("there is no tool {:?}; there are {}", call.name, known.join(", ")))
            } else {
                None
            };
            match (refused, self.tool(&call.name).cloned()) {
                (None, Some(tool)) => {
                    let (scene, call) = (self.prepared.scene.clone(), call.clone());
                    running.spawn(async move {
                        let work = tool.from.call(&scene, &call.name, call.args);
                        let answer =
                            tokio::time::timeout(TOOL_PATIENCE, work).await.unwrap_or_else(|_| {
                                let seconds = TOOL_PATIENCE.as_secs();
                                Err(ToolError(format!(
                                    "the tool did not answer within {seconds} s"
                                )))
                            });
                        (place, answer)
                    });
                }
                (refused, _) => {
                    let why = refused.unwrap_or_default();
                    results[place] =
                        Some(self.ended(call, &ids[place], Err(ToolError(why))).await?);
                }
            }
            // What changes something happens in the order it was asked for; what only reads may overlap.
            if writes {
                self.collect(&mut running, &calls, &ids, &mut results).await?;
            }
        }
        self.collect(&mut running, &calls, &ids, &mut results).await?;
        Ok(results.into_iter().flatten().collect())
    }

    async fn collect(
        &mut self,
        running: &mut JoinSet<(usize, Result<ToolAnswer, ToolError>)>,
        calls: &[ToolCall],
        ids: &[String],
        results: &mut [Option<ToolResult>],
    ) -> Result<(), RunError> {
        while let Some(joined) = running.join_next().await {
            match joined {
                Ok((place, answer)) => {
                    results[place] = Some(self.ended(&calls[place], &ids[place], answer).await?);
                }
                // A tool that panics must not leave a call without an end; which one it was is not known any more.
                Err(error) => {
                    let why = format!("a tool broke: {error}");
                    for place in 0..ids.len() {
                        if results[place].is_none() {
                            let answer = Err(ToolError(why.clone()));
                            results[place] =
                                Some(self.ended(&calls[place], &ids[place], answer).await?);
                        }
                    }
                    running.abort_all();
                    while running.join_next().await.is_some() {}
                }
            }
        }
        Ok(())
    }

    async fn ended(
        &mut self,
        call: &ToolCall,
        id: &str,
        answer: Result<ToolAnswer, ToolError>,
    ) -> Result<ToolResult, RunError> {
        let (value, failed) = match answer {
            Ok(answer) => {
                for memory in answer.cited {
                    if !self.cited.contains(&memory) {
                        self.cited.push(memory);
                    }
                }
                (bounded(answer.value), false)
            }
            Err(error) => (json!({"error": error.0}), true),
        };
        let event = json!({"tool": call.name, "args": call.args, "result": value, "call_id": id});
        self.events.emit("tool_end", event).await?;
        Ok(ToolResult { id: call.id.clone(), name: call.name.clone(), value, failed })
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.prepared.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Ids pair events over a whole run; some services begin anew in each turn.
    fn unique(&mut self, id: &str, place: usize) -> String {
        let mut unique = if id.is_empty() { format!("call-{place}") } else { id.to_owned() };
        let base = unique.clone();
        let mut number = 2;
        while !self.call_ids.insert(unique.clone()) {
            unique = format!("{base}-{number}");
            number += 1;
        }
        unique
    }

    /// The answer in the wanted format, and advice on its shape.
    fn shape(
        &self,
        text: String,
        stop: Stop,
        json: bool,
        warnings: &mut Vec<String>,
    ) -> Result<(String, Option<Value>), RunError> {
        if stop == Stop::MaxTokens {
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

async fn pass_on(events: &Events, model: &str, event: ProviderEvent) -> Result<(), RunError> {
    let (name, fields) = match event {
        ProviderEvent::Text(delta) => ("text_delta", json!({"delta": delta, "model": model})),
        ProviderEvent::Thinking(Thought { text, signature, redacted }) => {
            let summary =
                if text.is_empty() && redacted.is_some() { "(hidden)".to_owned() } else { text };
            let signed = signature.is_some().then_some(true);
            ("thinking", json!({"summary": summary, "model": model, "signed": signed}))
        }
        ProviderEvent::ToolStart { tool, args, call_id } => {
            ("tool_start", json!({"tool": tool, "args": args, "call_id": call_id}))
        }
        ProviderEvent::ToolEnd { tool, args, result, call_id } => {
            let result = bounded(result);
            ("tool_end", json!({"tool": tool, "args": args, "result": result, "call_id": call_id}))
        }
        ProviderEvent::Warning { message, stderr } => {
            ("warning", json!({"message": message, "stderr": stderr}))
        }
    };
    Ok(events.emit(name, fields).await?)
}

/// A value that is too large is cut, and says so.
fn bounded(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= RESULT_BYTES_MAX {
        return value;
    }
    let part = &text[..text.floor_char_boundary(RESULT_BYTES_MAX)];
    json!({"truncated": true, "bytes": text.len(), "shown": RESULT_BYTES_MAX, "text": part})
}
