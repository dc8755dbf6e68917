//! `cortex talent check`: every problem of every talent file.

use std::fs;

use clap::Args;
use daemon::talents_host::{TalentContext, toolbox};
use runs::process::{ChronicleTools, Toolbox as _};
use serde_json::{Value, json};
use talents::talent_files::{ProblemSeverity, TalentProblem, TalentSource};

use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs};
use command_line::output::{Output, plain};

/// Checks all talent files and names every problem with file, line and reason. Exit code 1 if a file cannot be used.
///
/// JSON: {ok, talents, problems: [{file, line, severity, reason}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent check
  cortex talent check --json | jq .problems")]
pub(super) struct CheckArgs {}

pub(super) fn run(
    _: &CheckArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let hands = crate::talent::hands(globals, env)?;
    let mut problems = hands.catalog.problems().to_vec();
    problems.extend(unknown_tools(&hands));
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let talents = hands.catalog.all().count();
    if out.is_json() {
        let views: Vec<Value> = problems.iter().map(view).collect();
        out.object(&json!({"ok": errors == 0, "talents": talents, "problems": views}))?;
    } else {
        for problem in &problems {
            out.line(plain(&problem.to_string()))?;
        }
        if errors == 0 {
            out.line(format_args!("{talents} talents can be used"))?;
        }
    }
    if errors == 0 {
        return Ok(());
    }
    let message = format!("{errors} problem{}", if errors == 1 { "" } else { "s" });
    Err(Failure::Check { code: "talents_not_clean", message })
}

/// Tools that nobody has. A run goes on without them, so it is only a warning.
fn unknown_tools(hands: &TalentContext) -> Vec<TalentProblem> {
    let chronicle = ChronicleTools::new(hands.layout.clone(), hands.catalog.clone());
    let known: Vec<String> =
        chronicle.tools().into_iter().chain(toolbox::specs()).map(|spec| spec.name).collect();
    let mut found = Vec::new();
    for talent in hands.catalog.all().filter(|talent| talent.source == TalentSource::User) {
        let file = hands.layout.talents().join(format!("{}.md", talent.name));
        for tool in talent.front.tools.iter().flatten().filter(|tool| !known.contains(tool)) {
            // The file was read a moment ago; without it the line is not known.
            let text = fs::read_to_string(&file).unwrap_or_default();
            let quoted = format!("{tool:?}");
            let line = text.lines().position(|line| line.contains(&quoted)).unwrap_or(0) + 1;
            let reason = format!("there is no tool {quoted}; there are {}", known.join(", "));
            let severity = ProblemSeverity::Warning;
            found.push(TalentProblem { file: file.clone(), line, severity, reason });
        }
    }
    found
}

fn view(problem: &TalentProblem) -> Value {
    json!({
        "file": problem.file.display().to_string(),
        "line": problem.line,
        "severity": if problem.is_error() { "error" } else { "warning" },
        "reason": problem.reason,
    })
}
