//! Room: whether a request fits into the model's window and into what may still be spent, asked before each request
//! and while an answer is written.
//!
//! What must stay true: nothing is sent that is estimated to be larger than the window; nothing is sent that nobody
//! granted; an answer that grows beyond what was granted asks again, and is broken off when the answer is no. So a
//! limit is passed by no more than one estimate is wrong.

use llm::models::{beginning, estimate, window};
use llm::providers::{ChatMessage, ModelRequest, TokenUsage, ToolResult, cost};
use serde_json::json;

use super::error::RunError;
use super::toolbox::Spending;
use super::turns::TurnLoop;

/// What an answer is taken to need if nobody bounded it.
pub(super) const ANSWER_TOKENS: u64 = 4_096;
/// With less room for an answer than this a model is not asked.
pub(super) const ANSWER_TOKENS_MIN: u64 = 128;
/// What a message takes beside its text.
const MESSAGE_TOKENS: u64 = 8;
/// What saying that a result was cut takes.
const CUT_TOKENS: u64 = 40;
/// What the window keeps free, because an estimate is one.
const MARGIN_PERCENT: u64 = 4;

/// How many tokens a request is at most, as far as letters tell.
pub(super) fn request_tokens(call: &ModelRequest) -> u64 {
    let said: u64 = call.messages.iter().map(message_tokens).sum();
    let tools: u64 = call
        .tools
        .iter()
        .map(|tool| {
            let schema = estimate(&tool.schema.to_string());
            estimate(&tool.name) + estimate(&tool.description) + schema + MESSAGE_TOKENS
        })
        .sum();
    let schema = call.schema.as_ref().map_or(0, |schema| estimate(&schema.to_string()));
    estimate(&call.system) + said + tools + schema + MESSAGE_TOKENS
}

fn message_tokens(message: &ChatMessage) -> u64 {
    let inside = match message {
        ChatMessage::User { text } => estimate(text),
        ChatMessage::Assistant { text, thoughts, calls } => {
            let thoughts: u64 = thoughts.iter().map(|thought| estimate(&thought.text)).sum();
            let calls: u64 = calls
                .iter()
                .map(|call| estimate(&call.name) + estimate(&call.args.to_string()))
                .sum();
            estimate(text) + thoughts + calls
        }
        ChatMessage::Results { results } => {
            results.iter().map(|result| estimate(&result.value.to_string()) + MESSAGE_TOKENS).sum()
        }
    };
    inside + MESSAGE_TOKENS
}

/// What was granted for one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenGrant {
    /// Of the request itself.
    pub(super) asked: u64,
    /// Of the answer.
    pub(super) answer: u64,
}

impl TurnLoop<'_> {
    /// Tokens that fit into one request and its answer.
    pub(super) fn window(&self) -> u64 {
        let whole = window(&self.call.model, &self.process.resolver.settings().windows);
        whole - whole * MARGIN_PERCENT / 100
    }

    /// What an answer is to have of the window.
    pub(super) fn answer_room(&self) -> u64 {
        let wanted = self.call.max_output_tokens.map_or(ANSWER_TOKENS, u64::from);
        wanted.min(self.window() / 3).max(ANSWER_TOKENS_MIN)
    }

    /// Makes the request fit, and has it granted.
    pub(super) async fn make_room(&mut self) -> Result<TokenGrant, RunError> {
        let (mut asked, mut answer) = (request_tokens(&self.call), self.answer_room());
        // A command line tool keeps its own conversation within its own window.
        if !self.provider.is_cli() {
            let window = self.window();
            if asked + answer > window && self.shorten(window - answer.min(window)).await? {
                asked = request_tokens(&self.call);
            }
            if asked + ANSWER_TOKENS_MIN > window {
                return Err(RunError::Window { model: self.call.model.clone(), asked, window });
            }
            answer = answer.min(window - asked);
            if let Some(most) = &mut self.call.max_output_tokens {
                *most = (*most).min(u32::try_from(window - asked).unwrap_or(u32::MAX));
            }
        }
        let granted = self.ask_for(asked, answer).await?;
        if granted < answer
            && let Some(most) = &mut self.call.max_output_tokens
        {
            *most = (*most).min(u32::try_from(granted).unwrap_or(u32::MAX));
        }
        Ok(TokenGrant { asked, answer: granted })
    }

    /// Has a request and so much of an answer granted; gives what of the answer was.
    pub(super) async fn ask_for(&self, asked: u64, answer: u64) -> Result<u64, RunError> {
        let before = self.spent_tokens();
        let price = |output_tokens: u64| {
            let usage = TokenUsage { input_tokens: asked, output_tokens, ..TokenUsage::default() };
            let prices = &self.process.resolver.settings().prices;
            let dollars = cost(&self.call.model, &usage, prices).unwrap_or(0.0);
            dollars + self.spent_dollars()
        };
        let want = Spending {
            tokens: before + asked + answer,
            tokens_min: before + asked + answer.min(ANSWER_TOKENS_MIN),
            dollars: price(answer),
        };
        let scene = &self.current().scene;
        match self.process.toolbox.may_spend(scene, want).await {
            Ok(granted) => Ok(granted.saturating_sub(before + asked).min(answer)),
            Err(why) => Err(RunError::Budget { why, partial: String::new() }),
        }
    }

    /// Takes the oldest results of tools, then the oldest turns, out of what is said again with each request.
    async fn shorten(&mut self, fits: u64) -> Result<bool, RunError> {
        let mut left_out = 0;
        let last = self.call.messages.len().saturating_sub(1);
        for place in 0..last {
            if request_tokens(&self.call) <= fits {
                break;
            }
            if let ChatMessage::Results { results } = &mut self.call.messages[place] {
                for ToolResult { value, .. } in results {
                    *value = json!({"left_out": "this result had no room any more; ask again if you need it"});
                    left_out += 1;
                }
            }
        }
        // What was said in a conversation before this run, in pairs, so that roles still alternate.
        while request_tokens(&self.call) > fits
            && self.call.messages.len() > 2
            && matches!(
                self.call.messages[..2],
                [ChatMessage::User { .. }, ChatMessage::Assistant { ref calls, .. }] if calls.is_empty()
            )
        {
            self.call.messages.drain(..2);
            left_out += 2;
        }
        // What the last tools gave, each to its share.
        let over = request_tokens(&self.call).saturating_sub(fits);
        if over > 0
            && let Some(ChatMessage::Results { results }) = self.call.messages.last_mut()
        {
            let all: u64 = results.iter().map(|result| estimate(&result.value.to_string())).sum();
            for ToolResult { value, .. } in results {
                let text = value.to_string();
                let share = estimate(&text).saturating_mul(all.saturating_sub(over)) / all.max(1);
                let part = beginning(&text, share.saturating_sub(CUT_TOKENS));
                *value = json!({"truncated": true, "bytes": text.len(), "text": part});
                left_out += 1;
            }
        }
        if left_out > 0 {
            let told = format!("{left_out} older messages and results had no room in the window");
            self.events.warn(&told).await?;
        }
        Ok(left_out > 0)
    }
}
