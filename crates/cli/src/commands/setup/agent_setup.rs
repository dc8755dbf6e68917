//! `cortex setup`: connects an agent to Cortex, and disconnects it without a trace.

use std::path::{Path, PathBuf};

use agents::Agent;
use agents::setup::{
    ABSENT, Action, AgentState, FileOutcome, Program, Scope, SetupJob, Surroundings, System,
    advice, remove, set_up, states,
};
use clap::Args;
use serde::Serialize;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, Invocation};
use crate::output::{Output, plain, plain_lines};

/// Connects an agent to Cortex: its memory tools and, where the agent has them, its hooks.
///
/// Settings are merged, never replaced: everything that is not about Cortex stays as it is to the last byte. A copy is
/// kept beside each file (NAME.before-cortex). `--remove` gives back the files from before; what you edited since
/// stays. A settings file that cannot be read is left alone.
///
/// `--instructions` is for any other agent: it prints when to look and when to save, to be added to the file that the
/// agent reads (AGENTS.md, CLAUDE.md, rules), and says how the tools are added to its settings.
///
/// JSON: {agent, scope, dry_run, files: [{path, action, copy, diff}], notes}; with --list one line {agent, scope,
/// installed, configured, complete, files, program, healthy, problem} each; with --instructions {instructions,
/// mcp_servers}
#[derive(Args, Debug)]
// Each is a switch of its own on the command line.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "Examples:
  cortex setup --list
  cortex setup claude-code
  cortex setup codex --dry-run
  cortex setup cursor --project
  cortex setup claude-code --remove
  cortex setup --instructions >> AGENTS.md")]
pub(crate) struct SetupArgs {
    /// Which agent; without one, the state of all is listed
    #[arg(value_enum)]
    agent: Option<Agent>,
    /// Show which agents are there and which know Cortex
    #[arg(long, conflicts_with_all = ["remove", "dry_run", "agent"])]
    list: bool,
    /// Print instructions for any agent
    #[arg(long, conflicts_with_all = ["list", "remove", "dry_run", "agent"])]
    instructions: bool,
    /// For this folder only, instead of for everything you do
    #[arg(long, requires = "agent")]
    project: bool,
    /// Show what would change, as a diff, and change nothing
    #[arg(long, requires = "agent")]
    dry_run: bool,
    /// Take everything back
    #[arg(long, requires = "agent")]
    remove: bool,
    /// Tools the agent gets: core, agent, admin, all, or names with commas
    #[arg(long, value_name = "TOOLS", default_value = "core", requires = "agent")]
    tools: String,
}

#[derive(Debug, Serialize)]
struct SetupView<'a> {
    agent: Agent,
    scope: Scope,
    dry_run: bool,
    files: &'a [FileOutcome],
    notes: &'a [&'a str],
}

pub(crate) fn run(
    args: &SetupArgs,
    globals: &GlobalArgs,
    env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let surroundings = surroundings()?;
    if args.instructions {
        return instructions(&program(&surroundings)?, out);
    }
    let Some(agent) = args.agent else { return list(&surroundings, out) };
    let scope = if args.project { Scope::Project } else { Scope::User };
    let inv = Invocation::new(globals, None, env)?;
    let home = std::path::absolute(inv.folder()).map_err(|e| Failure::file(inv.folder(), e))?;
    let options = surroundings.options(&home, inv.other_actor());
    let job = SetupJob {
        agent,
        scope,
        surroundings: &surroundings,
        program: &program(&surroundings)?,
        home: &home,
        globals: options,
        tools: args.tools.clone(),
        dry_run: args.dry_run,
    };
    let is_absent = !args.remove
        && scope == Scope::User
        && states(&surroundings).iter().any(|state| state.agent == agent && !state.installed);
    let files = if args.remove { remove(&job)? } else { set_up(&job)? };
    let notes: &[&str] = match (args.remove || args.dry_run, is_absent) {
        (true, _) => &[],
        // S25: whoever reads "ready" where nothing is installed is misled.
        (false, true) => &[ABSENT],
        (false, false) => advice(agent),
    };
    if out.is_json() {
        let dry_run = args.dry_run;
        return out.object(&SetupView { agent, scope, dry_run, files: &files, notes });
    }
    if files.iter().all(|file| file.action == Action::Unchanged) {
        let state = if args.remove { "does not know Cortex" } else { "is set up" };
        out.line(format_args!("{agent} {state}; nothing to change"))?;
    }
    for file in files.iter().filter(|file| file.action != Action::Unchanged) {
        match &file.diff {
            Some(diff) => out.line(plain_lines(diff.trim_end()))?,
            None => out.line(format_args!("{} {}", file.action.word(), shown(&file.path)))?,
        }
        if let Some(copy) = &file.copy
            && !args.dry_run
        {
            out.line(format_args!("  kept {}", shown(copy)))?;
        }
    }
    out.flush()?;
    for note in notes {
        out.say(note);
    }
    Ok(())
}

/// The skill of the plugin: what it says holds for every agent.
const SKILL: &str = include_str!("../../../../../plugin/skills/memory/SKILL.md");

/// What an agent that nobody knows here should be told, and how it gets the tools.
fn instructions(program: &Program, out: &mut Output) -> CommandResult {
    // Between the two lines of dashes stands what only a plugin needs.
    let text = SKILL.splitn(3, "---\n").last().unwrap_or(SKILL).trim();
    let command = match &program.on_path {
        Some(_) => "cortex".to_owned(),
        None => program.running.display().to_string(),
    };
    let servers = serde_json::json!({
        "mcpServers": {"cortex": {"command": command, "args": ["mcp", "--tools=core"]}},
    });
    if out.is_json() {
        let mcp_servers = &servers["mcpServers"];
        return out.object(&serde_json::json!({"instructions": text, "mcp_servers": mcp_servers}));
    }
    out.line(text)?;
    out.flush()?;
    out.say(format_args!("Tools for any MCP client: {servers}"));
    Ok(())
}

/// How every agent stands.
pub(crate) fn all_states() -> CommandResult<Vec<AgentState>> {
    Ok(states(&surroundings()?))
}

fn list(surroundings: &Surroundings, out: &mut Output) -> CommandResult {
    for state in states(surroundings) {
        if out.is_json() {
            out.object(&state)?;
            continue;
        }
        let (agent, scope) = (state.agent.name(), state.scope.name());
        let files = state.files.iter().map(|path| shown(path)).collect::<Vec<_>>().join(", ");
        out.line(format_args!("{agent:<12} {scope:<8} {:<28} {files}", words(&state)))?;
        if let Some(problem) = &state.problem {
            out.line(format_args!("{:<22}{}", "", plain(problem)))?;
        }
    }
    Ok(())
}

/// How an agent stands, in a few words.
pub(crate) fn words(state: &AgentState) -> String {
    plain(&state.words())
}

fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// Where the environment comes in.
pub(super) fn surroundings() -> CommandResult<Surroundings> {
    let home = std::env::home_dir().ok_or_else(|| Failure::input("there is no home folder"))?;
    let project = std::env::current_dir().map_err(|error| Failure::file(Path::new("."), error))?;
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Ok(Surroundings { system: System::current(), home, project, variables })
}

pub(super) fn program(surroundings: &Surroundings) -> CommandResult<Program> {
    let running =
        std::env::current_exe().map_err(|e| Failure::file(&PathBuf::from("cortex"), e))?;
    Ok(Program::new(running, surroundings))
}
