//! Runs of talents as a model reads them.

use serde_json::{Value, json};

use super::reader::{AnswerForModel, field};
use crate::render::untrusted::{line, lines, opening};
use crate::talent_runs::{TalentRunAnswer, TalentRunView, TalentRunsAnswer};

/// What a run came to, or that it goes on.
pub fn run_done(answer: &TalentRunAnswer) -> AnswerForModel {
    let run = line(&answer.run);
    match (&answer.result, &answer.why) {
        (Some(result), _) => {
            let result = lines(result);
            let text = format!("Run {run}:\n{}", opening(&result));
            AnswerForModel::new(text, [("run", json!(run)), ("result", field(&result))])
        }
        (None, why) => {
            let why = line(why.as_deref().unwrap_or("it goes on"));
            let text = format!("Run {run} has no result: {why}");
            AnswerForModel::new(text, [("run", json!(run)), ("why", field(&why))])
        }
    }
}

/// The runs there were, one line each.
pub fn runs_listed(answer: &TalentRunsAnswer) -> AnswerForModel {
    let said = |run: &TalentRunView| {
        let why = run.why.as_ref().map(|why| format!(": {}", line(why))).unwrap_or_default();
        let cost = run.cost.map(|dollars| format!(", ${dollars:.4}")).unwrap_or_default();
        let (id, name) = (line(&run.run), line(&run.name));
        format!("{id} {name} {}{why} ({} tokens{cost})", run.state, run.tokens)
    };
    let told: Vec<String> = answer.runs.iter().map(said).collect();
    let text = if told.is_empty() { "No runs.".to_owned() } else { told.join("\n") };
    let runs = told.iter().map(|run| Value::from(run.as_str())).collect::<Vec<_>>();
    AnswerForModel::new(text, [("runs", json!(runs)), ("total", json!(answer.total))])
}
