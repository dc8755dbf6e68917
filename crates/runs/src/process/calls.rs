//! The tools of a turn: each call begun, bounded in number, time and size, and ended; what it read is kept.

use std::time::{Duration, Instant};

use api::run::{ToolBudgetPayload, ToolEndPayload, ToolStartPayload};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::error::RunError;
use super::handover::HAND_OVER;
use super::prepare::Tool;
use super::relay::millis;
use super::toolbox::{BETWEEN, Blame, ToolAnswer, ToolError};
use super::turns::TurnLoop;
use llm::models::estimate;
use llm::providers::{ToolCall, ToolResult};

const TOOL_CALLS: u32 = 200;
/// One use of a tool.
pub(super) const TOOL_PATIENCE: Duration = Duration::from_mins(2);
/// One use of a tool of others, with the person who may be asked.
const OTHERS_PATIENCE: Duration = Duration::from_hours(2);
/// What of a tool's answer goes to the model and into the log.
const RESULT_BYTES_MAX: usize = 100_000;

/// What a call came to: which one, how long it took, what it gave.
type AnsweredCall = (usize, Duration, Result<ToolAnswer, ToolError>);

impl TurnLoop<'_> {
    pub(super) async fn use_tools(
        &mut self,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolResult>, RunError> {
        let budget = self.prepared.talent.front.tool_budget.unwrap_or(TOOL_CALLS);
        let writes =
            calls.iter().any(|call| self.tool(&call.name).is_some_and(|tool| tool.spec.writes));
        let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
        let mut running: JoinSet<AnsweredCall> = JoinSet::new();
        let mut ids = Vec::with_capacity(calls.len());
        for (place, call) in calls.iter().enumerate() {
            let id = self.unique(&call.id, place);
            ids.push(id.clone());
            let start = ToolStartPayload {
                tool: Some(call.name.clone()),
                args: Some(call.args.clone()),
                call_id: Some(id),
            };
            self.events.emit(start).await?;
            self.tool_calls += 1;
            let refused = if self.tool_calls > budget {
                let note = ToolBudgetPayload {
                    tool: Some(call.name.clone()),
                    budget: Some(budget),
                    count: Some(self.tool_calls),
                };
                self.events.emit(note).await?;
                Some("the budget of tool calls is used up: answer with what you have".to_owned())
            } else if let Some(bad) = &call.bad_args {
                Some(format!("the arguments are no JSON: {bad}"))
            } else if self.tool(&call.name).is_none() {
                let known: Vec<&str> =
                    self.current().tools.iter().map(|tool| tool.spec.name.as_str()).collect();
                Some(format!("there is no tool {:?}; there are {}", call.name, known.join(", ")))
            } else {
                None
            };
            let refused = match refused {
                Some(why) => Some(ToolError::new(why)),
                None => {
                    let toolbox = &self.process.toolbox;
                    let why = toolbox.left_alone(&self.current().scene, &call.name).await;
                    why.map(|why| ToolError { why, blame: Blame::Past })
                }
            };
            match (refused, self.tool(&call.name).cloned()) {
                (None, Some(_)) if call.name == HAND_OVER => {
                    let asked = Instant::now();
                    let answer = match self.successor(&call.args).await {
                        Ok(successor) => {
                            let name = successor.prepared.talent.name.to_string();
                            self.next = Some(successor);
                            Ok(ToolAnswer { value: json!({"takes_over": name}), cited: Vec::new() })
                        }
                        Err(error) => Err(error),
                    };
                    results[place] =
                        Some(self.ended(call, &ids[place], asked.elapsed(), answer).await?);
                }
                (None, Some(tool)) => {
                    let (scene, call) = (self.current().scene.clone(), call.clone());
                    running.spawn(async move {
                        let asked = Instant::now();
                        let work = tool.from.call(&scene, &call.name, call.args);
                        // A tool of others may wait for a person; how long is set where that person is asked.
                        let others = call.name.contains(BETWEEN);
                        let patience = if others { OTHERS_PATIENCE } else { TOOL_PATIENCE };
                        let answer =
                            tokio::time::timeout(patience, work).await.unwrap_or_else(|_| {
                                let seconds = patience.as_secs();
                                Err(ToolError::broken(format!(
                                    "the tool did not answer within {seconds} s"
                                )))
                            });
                        (place, asked.elapsed(), answer)
                    });
                }
                (refused, _) => {
                    let answer = Err(refused.unwrap_or_else(|| ToolError::new("")));
                    results[place] =
                        Some(self.ended(call, &ids[place], Duration::ZERO, answer).await?);
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
        running: &mut JoinSet<AnsweredCall>,
        calls: &[ToolCall],
        ids: &[String],
        results: &mut [Option<ToolResult>],
    ) -> Result<(), RunError> {
        while let Some(joined) = running.join_next().await {
            match joined {
                Ok((place, took, answer)) => {
                    results[place] =
                        Some(self.ended(&calls[place], &ids[place], took, answer).await?);
                }
                // A tool that panics must not leave a call without an end; which one it was is not known any more.
                Err(error) => {
                    let why = format!("a tool broke: {error}");
                    for place in 0..ids.len() {
                        if results[place].is_none() {
                            let (call, id) = (&calls[place], &ids[place]);
                            let answer = Err(ToolError::broken(why.clone()));
                            results[place] =
                                Some(self.ended(call, id, Duration::ZERO, answer).await?);
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
        took: Duration,
        answer: Result<ToolAnswer, ToolError>,
    ) -> Result<ToolResult, RunError> {
        let blame = answer.as_ref().err().map(|error| error.blame.as_str());
        let (value, cited, failed) = match answer {
            Ok(answer) => (bounded(answer.value), answer.cited, false),
            Err(error) => (json!({"error": error.why}), Vec::new(), true),
        };
        self.cited.add(&cited);
        // Told with the call, so that the log knows it also if this process does not live to say it at the end.
        let cited = (!cited.is_empty()).then_some(cited);
        let end = ToolEndPayload {
            tool: Some(call.name.clone()),
            args: Some(call.args.clone()),
            result: Some(value.clone()),
            call_id: Some(id.to_owned()),
            cited,
            blame: blame.map(str::to_owned),
            duration_ms: Some(millis(took)),
            tokens: Some(estimate(&value.to_string())),
        };
        self.events.emit(end).await?;
        Ok(ToolResult { id: call.id.clone(), name: call.name.clone(), value, failed })
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.current().tools.iter().find(|tool| tool.spec.name == name)
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
}

/// A value that is too large is cut, and says so.
pub(super) fn bounded(value: Value) -> Value {
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
