//! `cortex init`: from nothing to agents that remember, in one command, and back.
//!
//! What must stay true: the plan is shown before anything changes; what is not installed is said to be absent; every
//! connection is tried by starting it; `--remove` gives back the files from before and keeps all memories.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use agents::Agent;
use agents::setup::{
    Action, AgentState, FileOutcome, Scope, SetupJob, Surroundings, remove, set_up, states,
};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::agent_setup::{options, program, surroundings};
use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, home_folder};
use crate::output::{Output, plain};

/// How long a server that is tried may take to list its tools.
const TRY_LIMIT: Duration = Duration::from_secs(30);
/// Characters of an answer that is shown.
const SHOWN_CHARS: usize = 300;
/// The tools that agents get.
const TOOLS: &str = "core";

/// Connects every agent of this machine, takes over their histories and other tools' memories, and tries it.
///
/// Shows what it will do first and asks; `--yes` does not ask. Agents that are not installed are left alone.
/// `--remove` takes back what was written into agents' settings, to the byte, and keeps all memories.
///
/// JSON: {dry_run, agents: [{agent, installed, configured, files}], histories: [{agent, files, bytes}], stores:
/// [{format, path}], done?: {agents: [{agent, files, tools, problem}], histories, imports: [{path, memories, problem}],
/// question, answer}}
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
}

/// What there is on this machine.
#[derive(Debug, Serialize)]
struct InitPlan {
    dry_run: bool,
    agents: Vec<AgentState>,
    histories: Vec<AgentHistory>,
    stores: Vec<OtherStore>,
}

#[derive(Debug, Serialize)]
struct AgentHistory {
    agent: String,
    files: u64,
    bytes: u64,
}

/// Where another tool keeps memories.
#[derive(Debug, Serialize)]
struct OtherStore {
    format: &'static str,
    path: PathBuf,
}

/// What came of connecting one agent.
#[derive(Debug, Serialize)]
struct ConnectionTry {
    agent: Agent,
    files: Vec<FileOutcome>,
    /// Tools that the server listed when it was started as the agent will start it.
    tools: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
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
    let myself = Myself { home: home.clone(), cwd: env.cwd.clone() };
    let plan = InitPlan {
        dry_run: args.dry_run,
        agents: states(&around).into_iter().filter(|state| state.scope == Scope::User).collect(),
        histories: if args.remove { Vec::new() } else { myself.histories() },
        stores: if args.remove { Vec::new() } else { other_stores(&around) },
    };
    if args.remove {
        return take_back(&plan, &around, &home, args.yes, &mut env, out);
    }
    if !out.is_json() {
        show(&plan, out)?;
    }
    if args.dry_run {
        return if out.is_json() { out.object(&plan) } else { Ok(()) };
    }
    if !args.yes && !agrees(&mut env, out, "Do this?")? {
        if out.is_json() {
            out.object(&plan)?;
        }
        out.say("Nothing was changed; `cortex init --yes` does it without asking.");
        return Ok(());
    }
    let mut connected = Vec::new();
    for state in plan.agents.iter().filter(|state| state.installed) {
        let one = connect(state, &around, &home);
        if !out.is_json() {
            let changed = one.files.iter().filter(|file| file.action != Action::Unchanged).count();
            let line = match &one.problem {
                Some(problem) => format!("{}: {}", one.agent, plain(problem)),
                None => format!(
                    "{}: connected; {} tools answer, {changed} files changed",
                    one.agent, one.tools
                ),
            };
            out.line(line)?;
        }
        connected.push(one);
    }
    let read =
        if plan.histories.is_empty() { Ok(json!({})) } else { myself.ask(&["past", "read"]) };
    if !out.is_json() && !plan.histories.is_empty() {
        out.line(match &read {
            Ok(read) => {
                format!("histories: {} sessions, {} turns", read["sessions"], read["turns"])
            }
            Err(problem) => format!("histories: {}", plain(problem)),
        })?;
    }
    let mut imports = Vec::new();
    for store in &plan.stores {
        let path = store.path.display().to_string();
        let answer = myself.ask(&["import", &path, "--from", store.format]);
        if !out.is_json() {
            out.line(match &answer {
                Ok(report) => {
                    format!("{}: {} new memories", store.format, report["memories"]["new"])
                }
                Err(problem) => format!("{}: {}", store.format, plain(problem)),
            })?;
        }
        imports.push(match answer {
            Ok(report) => json!({"path": path, "memories": report["memories"]}),
            Err(problem) => json!({"path": path, "problem": problem}),
        });
    }
    let (question, answer) = myself.example();
    if out.is_json() {
        let mut view = serde_json::to_value(&plan).unwrap_or_default();
        view["done"] = json!({
            "agents": connected, "histories": read.unwrap_or_default(), "imports": imports,
            "question": question, "answer": answer,
        });
        return out.object(&view);
    }
    if let (Some(question), Some(answer)) = (question, answer) {
        out.line("")?;
        out.line(format_args!("Ask, for example: cortex search {:?}", plain(&question)))?;
        out.line(format_args!("  {}", plain(&answer)))?;
    }
    out.flush()?;
    out.say("Start a new session of your agent. `cortex init --remove` takes it all back.");
    Ok(())
}

fn show(plan: &InitPlan, out: &mut Output) -> CommandResult {
    out.line("Agents:")?;
    for state in &plan.agents {
        let what = match (state.installed, state.complete) {
            (false, _) => "not installed, left alone",
            (true, true) => "is set up; will be tried",
            (true, false) => "will be connected",
        };
        out.line(format_args!("  {:<15} {what}", state.agent.name()))?;
        for file in state.files.iter().filter(|_| state.installed && !state.complete) {
            out.line(format_args!("  {:<15}   {}", "", plain(&file.display().to_string())))?;
        }
    }
    out.line("Histories to read:")?;
    for history in &plan.histories {
        let megabytes = history.bytes / 1_000_000;
        out.line(format_args!("  {:<15} {} files, {megabytes} MB", history.agent, history.files))?;
    }
    if plan.histories.is_empty() {
        out.line("  none that is new")?;
    }
    if !plan.stores.is_empty() {
        out.line("Memories of other tools to import:")?;
        for store in &plan.stores {
            out.line(format_args!(
                "  {:<15} {}",
                store.format,
                plain(&store.path.display().to_string())
            ))?;
        }
    }
    out.flush()
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

/// Sets one agent up and starts the server as the agent will.
fn connect(state: &AgentState, around: &Surroundings, home: &Path) -> ConnectionTry {
    let failed = |problem: String| ConnectionTry {
        agent: state.agent,
        files: Vec::new(),
        tools: 0,
        problem: Some(problem),
    };
    let program = match program(around) {
        Ok(program) => program,
        Err(failure) => return failed(failure.to_string()),
    };
    let job = SetupJob {
        agent: state.agent,
        scope: Scope::User,
        surroundings: around,
        program: &program,
        home,
        globals: options(home, around, None),
        tools: TOOLS.to_owned(),
        dry_run: false,
    };
    let files = match set_up(&job) {
        Ok(files) => files,
        Err(error) => return failed(error.to_string()),
    };
    let (tools, problem) = match listed_tools(&program.running, home, &around.project) {
        Ok(tools) => (tools, None),
        Err(problem) => (0, Some(problem)),
    };
    ConnectionTry { agent: state.agent, files, tools, problem }
}

/// Starts the server and asks for its tools.
fn listed_tools(program: &Path, home: &Path, cwd: &Path) -> Result<usize, String> {
    let mut child = Command::new(program)
        .arg("--home")
        .arg(home)
        .args(["mcp", &format!("--tools={TOOLS}")])
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("the server could not be started: {error}"))?;
    let found = talk(&mut child);
    drop(child.stdin.take());
    // It ends with its input; one that does not must not outlive this.
    let _ = child.kill();
    let _ = child.wait();
    found
}

fn talk(child: &mut Child) -> Result<usize, String> {
    let (Some(input), Some(output)) = (child.stdin.as_mut(), child.stdout.take()) else {
        return Err("the server has no pipes".to_owned());
    };
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "cortex-init", "version": "1"},
        },
    });
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let failed = |error: std::io::Error| format!("the server did not listen: {error}");
    for message in [initialize, ready, list] {
        writeln!(input, "{message}").map_err(failed)?;
    }
    input.flush().map_err(failed)?;
    let (send, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == 2 {
                // Nobody waits any more if it took too long.
                let _ = send.send(message);
                return;
            }
        }
    });
    let answer = heard.recv_timeout(TRY_LIMIT).map_err(|_| "the server listed no tools in time")?;
    let tools = answer["result"]["tools"].as_array().map_or(0, Vec::len);
    if tools == 0 {
        Err(format!("the server listed no tools: {}", answer["error"]))
    } else {
        Ok(tools)
    }
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
            out.line(format_args!("{}: {} files as before", state.agent, files.len()))?;
        }
        removed.push(json!({"agent": state.agent, "files": files}));
    }
    if out.is_json() {
        return out.object(&json!({"removed": removed}));
    }
    if removed.is_empty() {
        out.line("no agent knows Cortex; nothing to change")?;
    }
    Ok(())
}

/// Stores of other tools, where those tools keep them by default.
fn other_stores(around: &Surroundings) -> Vec<OtherStore> {
    const KNOWN: [(&str, &str); 5] = [
        ("engram", ".engram/engram.db"),
        ("claude-mem", ".claude-mem/claude-mem.db"),
        ("mem0", ".mem0/memories.json"),
        ("server-memory", ".mcp-memory/memory.jsonl"),
        ("markdown", "basic-memory"),
    ];
    let found = KNOWN.into_iter().map(|(format, below)| (format, around.home.join(below)));
    found
        .filter(|(_, path)| path.exists())
        .map(|(format, path)| OtherStore { format, path })
        .collect()
}

/// This program, asked in a process of its own: it finds a daemon that runs, or opens the home.
struct Myself {
    home: PathBuf,
    cwd: PathBuf,
}

impl Myself {
    /// The one JSON object that a command answers with, or what it said went wrong.
    fn ask(&self, words: &[&str]) -> Result<Value, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let ran = Command::new(program)
            .arg("--home")
            .arg(&self.home)
            .args(words)
            .arg("--json")
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&ran.stdout);
        if !ran.status.success() {
            let why = String::from_utf8_lossy(&ran.stderr);
            let line = why.lines().chain(said.lines()).find(|line| !line.trim().is_empty());
            return Err(line.unwrap_or("it failed without a word").to_owned());
        }
        serde_json::from_str(said.lines().next().unwrap_or("{}")).map_err(|error| error.to_string())
    }

    /// What agents wrote that was not read yet.
    fn histories(&self) -> Vec<AgentHistory> {
        let Ok(answer) = self.ask(&["past", "read", "--dry-run"]) else { return Vec::new() };
        let agents = answer["agents"].as_object().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let mut found: Vec<AgentHistory> = agents
            .into_iter()
            .map(|(agent, counts)| AgentHistory {
                agent,
                files: number(&counts["files"]),
                bytes: number(&counts["bytes"]),
            })
            .filter(|history| history.files > 0)
            .collect();
        if found.is_empty() && number(&answer["changed_files"]) > 0 {
            found.push(AgentHistory {
                agent: "all".to_owned(),
                files: number(&answer["changed_files"]),
                bytes: number(&answer["changed_bytes"]),
            });
        }
        found
    }

    /// A question from the person's own history, and what is found for it.
    fn example(&self) -> (Option<String>, Option<String>) {
        let title = |answer: &Value| {
            let sessions = answer["sessions"].as_array()?;
            sessions.iter().find_map(|session| session["title"].as_str().map(str::to_owned))
        };
        let newest = |answer: &Value| answer["title"].as_str().map(str::to_owned);
        let question = self
            .ask(&["past", "sessions"])
            .ok()
            .and_then(|answer| title(&answer).or_else(|| newest(&answer)))
            .or_else(|| self.ask(&["search", "*"]).ok().and_then(|all| newest(&all["hits"][0])));
        let Some(question) = question.filter(|text| !text.trim().is_empty()) else {
            return (None, None);
        };
        let found = self.ask(&["search", &question]).unwrap_or_default();
        let of_past =
            |hit: &Value| hit["text"].as_str().or(hit["preview"].as_str()).map(str::to_owned);
        let of_memory = |hit: &Value| {
            let words = [hit["title"].as_str()?, hit["preview"].as_str().unwrap_or_default()];
            Some(words.join(": "))
        };
        let answer = found["hits"].get(0).and_then(of_memory);
        let answer =
            answer.or_else(|| found["past"].get(0).and_then(of_past)).or_else(|| of_memory(&found));
        let cut = |text: String| {
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            flat.chars().take(SHOWN_CHARS).collect::<String>()
        };
        (Some(question), answer.map(cut))
    }
}
