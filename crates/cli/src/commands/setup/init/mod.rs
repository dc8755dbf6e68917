//! `cortex init`: from nothing to agents that remember, in one command, and back.
//!
//! What must stay true: the plan is shown before anything changes; what is not installed is said to be absent; every
//! connection is tried by starting it; `--remove` gives back the files from before and keeps all memories.

mod connection;
mod myself;
mod plan;

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use agents::setup::{
    Action, AgentState, FileOutcome, Scope, SetupJob, Surroundings, remove, states,
};
use clap::Args;
use serde_json::{Value, json};

use self::connection::{ConnectionTry, connect};
use self::myself::Myself;
use self::plan::{InitPlan, other_stores, show};
use super::agent_setup::{program, surroundings};
use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, home_folder, wait};
use crate::output::{Output, plain};

/// The tools that agents get.
const TOOLS: &str = "core";

/// Connects every agent of this machine, takes over their histories and other tools' memories, and tries it.
///
/// Shows what it will do first and asks; `--yes` does not ask. Agents that are not installed are left alone.
/// `--remove` takes back what was written into agents' settings, to the byte, and keeps all memories. What agents
/// wrote down is read unless `--past no` says otherwise.
///
/// JSON: {dry_run, agents: [{agent, installed, configured, files}], histories: [{agent, files, bytes}],
/// histories_problem?, stores: [{format, path}], done?: {agents: [{agent, files, tools, problem}], histories, imports:
/// [{path, memories, problem}], question, answer}}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex init
  cortex init --dry-run
  cortex init --yes
  cortex init --remove")]
pub(crate) struct InitArgs {
    /// Show what would be done, and do nothing
    #[arg(long, conflicts_with_all = ["yes", "remove"])]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
    /// Take back what was written into agents' settings; memories stay
    #[arg(long)]
    remove: bool,
    /// Whether to read what agents wrote down before: yes or no
    #[arg(long, value_name = "ANSWER", default_value = "yes", value_parser = ["yes", "no"])]
    past: String,
}

pub(crate) fn run(
    args: &InitArgs,
    globals: &GlobalArgs,
    mut env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let around = surroundings()?;
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let home = std::path::absolute(&home).map_err(|error| Failure::file(&home, error))?;
    let myself = Myself { home: home.clone(), cwd: env.cwd.clone(), wait: wait(globals) };
    let looked = if args.remove || args.past == "no" { Ok(Vec::new()) } else { myself.histories() };
    let (histories, histories_problem) = match looked {
        Ok(found) => (found, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    let plan = InitPlan {
        dry_run: args.dry_run,
        agents: states(&around).into_iter().filter(|state| state.scope == Scope::User).collect(),
        histories,
        histories_problem,
        stores: if args.remove { Vec::new() } else { other_stores(&around) },
    };
    if args.remove {
        return take_back(&plan, &around, &home, args.yes, &mut env, out);
    }
    if !out.is_json() {
        show(&plan, &around.home, out)?;
    }
    if args.dry_run {
        return if out.is_json() { out.object(&plan) } else { Ok(()) };
    }
    if plan.is_empty() {
        if out.is_json() {
            out.object(&plan)?;
        }
        out.say("Nothing to do. For any other agent: `cortex setup --instructions`.");
        return Ok(());
    }
    if !args.yes && !agrees(&mut env, out, "Do this?")? {
        if out.is_json() {
            out.object(&plan)?;
        }
        out.say("Nothing was changed; `cortex init --yes` does it without asking.");
        return Ok(());
    }
    let connected = connect_all(&plan, &around, &home, out)?;
    let read = read_histories(&plan, &myself, out)?;
    let imports = import_all(&plan, &myself, out)?;
    let example = myself.example();
    let failed = connected.iter().filter(|one| one.problem.is_some()).count()
        + usize::from(read.is_err() || plan.histories_problem.is_some())
        + imports.iter().filter(|import| import["problem"].is_string()).count();
    if out.is_json() {
        let mut view = serde_json::to_value(&plan).unwrap_or_default();
        view["done"] = json!({
            "agents": connected, "histories": read.unwrap_or_else(|problem| json!({"problem": problem})),
            "imports": imports, "question": example.as_ref().map(|(question, _)| question),
            "answer": example.as_ref().map(|(_, answer)| answer),
        });
        out.object(&view)?;
    } else if let Some((question, answer)) = example {
        out.line("")?;
        out.line(format_args!("Ask, for example: cortex search {:?}", plain(&question)))?;
        out.line(format_args!("  {}", plain(&answer)))?;
    }
    out.flush()?;
    if failed > 0 {
        let message = format!("{failed} of these did not work; `cortex init` tries them again");
        return Err(Failure::Check { code: "init_incomplete", message });
    }
    out.say("Start a new session of your agent. `cortex init --remove` takes it all back.");
    Ok(())
}

fn connect_all(
    plan: &InitPlan,
    around: &Surroundings,
    home: &Path,
    out: &mut Output,
) -> CommandResult<Vec<ConnectionTry>> {
    let mut connected = Vec::new();
    for state in plan.agents.iter().filter(|state| state.installed) {
        let one = connect(state, around, home);
        if !out.is_json() {
            let changed = one.files.iter().filter(|file| file.action != Action::Unchanged).count();
            out.line(match &one.problem {
                Some(problem) => format!("{}: not connected: {}", one.agent, plain(problem)),
                None => {
                    let (agent, tools) = (one.agent, one.tools);
                    format!("{agent}: connected; {tools} tools answer, {} changed", files(changed))
                }
            })?;
        }
        connected.push(one);
    }
    Ok(connected)
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// What came of reading what agents wrote down, in the program's own words.
fn read_histories(
    plan: &InitPlan,
    myself: &Myself,
    out: &mut Output,
) -> CommandResult<Result<Value, String>> {
    if plan.histories.is_empty() {
        return Ok(Ok(json!({})));
    }
    let read = myself.ask(&["past", "read"]);
    if !out.is_json() {
        out.line(match &read {
            Ok(read) => format!(
                "histories: {} sessions read; `cortex search` finds what was said in them",
                read["sessions"]
            ),
            Err(problem) => format!("histories: not read: {}", plain(problem)),
        })?;
    }
    Ok(read)
}

fn import_all(plan: &InitPlan, myself: &Myself, out: &mut Output) -> CommandResult<Vec<Value>> {
    let mut imports = Vec::new();
    for store in &plan.stores {
        let path = store.path.display().to_string();
        let answer = myself.ask(&["import", &path, "--from", store.format]);
        if !out.is_json() {
            out.line(match &answer {
                Ok(report) => {
                    let count = report["memories"]["new"].as_u64().unwrap_or_default();
                    let noun = if count == 1 { "memory" } else { "memories" };
                    format!("{}: {count} new {noun}", store.format)
                }
                Err(problem) => format!("{}: not imported: {}", store.format, plain(problem)),
            })?;
        }
        imports.push(match answer {
            Ok(report) => json!({"path": path, "memories": report["memories"]}),
            Err(problem) => json!({"path": path, "problem": problem}),
        });
    }
    Ok(imports)
}

/// Whether a person says yes. Where nobody can be asked, nobody did.
fn agrees(env: &mut CommandEnv, out: &Output, question: &str) -> CommandResult<bool> {
    if !env.input_is_terminal {
        return Ok(false);
    }
    out.say(format_args!("{question} [y/N]"));
    let mut line = String::new();
    BufReader::new(&mut env.input)
        .read_line(&mut line)
        .map_err(|error| Failure::Io { what: "standard input".to_owned(), error })?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}

fn take_back(
    plan: &InitPlan,
    around: &Surroundings,
    home: &Path,
    yes: bool,
    env: &mut CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let known: Vec<&AgentState> = plan
        .agents
        .iter()
        .filter(|state| state.configured || state.files.iter().any(|f| f.exists()))
        .collect();
    if !yes
        && env.input_is_terminal
        && !agrees(env, out, "Take everything out of agents' settings?")?
    {
        out.say("Nothing was changed.");
        return Ok(());
    }
    let program = program(around)?;
    let mut removed = Vec::new();
    for state in known {
        let job = SetupJob {
            agent: state.agent,
            scope: Scope::User,
            surroundings: around,
            program: &program,
            home,
            globals: Vec::new(),
            tools: TOOLS.to_owned(),
            dry_run: false,
        };
        let files: Vec<FileOutcome> =
            remove(&job)?.into_iter().filter(|file| file.action != Action::Unchanged).collect();
        if files.is_empty() {
            continue;
        }
        if !out.is_json() {
            out.line(format_args!("{}: {} as before", state.agent, self::files(files.len())))?;
        }
        removed.push(json!({"agent": state.agent, "files": files}));
    }
    if out.is_json() {
        return out.object(&json!({"removed": removed}));
    }
    if removed.is_empty() {
        out.line("no agent knows Cortex; nothing to change")?;
    }
    offer_to_delete_past(home, yes, env, out)
}

/// What was read of agents stays unless a person says otherwise.
fn offer_to_delete_past(
    home: &Path,
    yes: bool,
    env: &mut CommandEnv,
    out: &Output,
) -> CommandResult {
    let folder = home.join("past");
    if !folder.exists() {
        return Ok(());
    }
    let question = format!("Delete what was read of agents ({}), too?", folder.display());
    if yes || !agrees(env, out, &plain(&question))? {
        let folder = folder.display().to_string();
        out.say(format_args!("What was read of agents stays in {}.", plain(&folder)));
        return Ok(());
    }
    std::fs::remove_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    out.say("It is deleted.");
    Ok(())
}
