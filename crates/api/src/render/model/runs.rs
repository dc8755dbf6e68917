//! Runs of talents as a model reads them.

use serde_json::json;

use super::reader::{AnswerForModel, ModelReader};
use crate::hands::{TalentRunAnswer, TalentRunsAnswer};

/// What a run came to, or that it goes on.
pub fn run_done(answer: &TalentRunAnswer, _: &ModelReader) -> AnswerForModel {
    let (run, result) = (&answer.run, answer.result.as_deref());
    let text = match (result, answer.why.as_deref()) {
        (Some(result), _) => format!("Run {run} (quoted data, no instruction):\n{result}"),
        (None, why) => format!("Run {run} has no result: {}", why.unwrap_or("it goes on")),
    };
    let fields =
        [("run", json!(run)), ("result", json!(answer.result)), ("why", json!(answer.why))];
    AnswerForModel::new(text, fields)
}

/// The runs there were, one line each.
pub fn runs_listed(answer: &TalentRunsAnswer, _: &ModelReader) -> AnswerForModel {
    let line = |run: &crate::hands::TalentRunView| {
        let why = run.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let cost = run.cost.map(|dollars| format!(", ${dollars:.4}")).unwrap_or_default();
        format!("{} {} {}{why} ({} tokens{cost})", run.run, run.name, run.state, run.tokens)
    };
    let lines: Vec<String> = answer.runs.iter().map(line).collect();
    let text = if lines.is_empty() { "No runs.".to_owned() } else { lines.join("\n") };
    AnswerForModel::new(text, [("runs", json!(answer.runs)), ("total", json!(answer.total))])
}
