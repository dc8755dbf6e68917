//! The command line: it translates between what people type and what the kernel knows, and nothing else.
//!
//! One file per command: an args struct whose doc comments are the help text, and a `run` that calls one kernel operation
//! and prints. `open` brings clock, chance and environment in; `failure` decides exit codes and hints; `output` keeps data
//! and talk apart; `views` are the JSON shapes.

mod attest;
mod browse;
mod compact;
mod config;
mod context;
mod delegate;
mod details;
mod entities;
mod entry_view;
mod eval;
mod export;
mod failure;
mod find;
mod forget;
mod get;
mod graph;
mod history;
mod hits;
mod hook;
mod import;
mod journal;
mod mcp;
mod model;
mod model_check;
mod open;
mod output;
mod prove;
mod relate;
mod root;
mod save;
mod save_lines;
mod scope;
mod score;
mod search;
mod serve;
mod session;
mod setup;
mod similar;
mod snapshot;
mod stats;
pub mod surroundings;
mod tour;
mod update;
mod verify;
mod verify_proof;
mod views;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::ops::{self, fields, parse};

use failure::{EXIT_CODES, Failure, FailureView, Outcome};
use open::{Around, Globals, Invocation};
use output::Output;
use surroundings::Surroundings;

/// Durable, verifiable memory for AI agents.
///
/// Every change is one entry in a journal that only grows; everything else follows from it. What you save is on disk when
/// the command returns, stays readable in every version, and can be proved to others with a file.
#[derive(Parser, Debug)]
#[command(name = "cortex", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
#[command(disable_help_subcommand = true)]
enum Command {
    Save(Box<save::SaveArgs>),
    Get(get::GetArgs),
    Update(Box<update::UpdateArgs>),
    History(history::HistoryArgs),
    Search(Box<search::SearchArgs>),
    Similar(Box<similar::SimilarArgs>),
    Entities(entities::EntitiesArgs),
    Find(find::FindArgs),
    Context(context::ContextArgs),
    Forget(forget::ForgetArgs),
    Restore(forget::RestoreArgs),
    Erase(forget::EraseArgs),
    Relate(relate::RelateArgs),
    Unrelate(relate::UnrelateArgs),
    Graph(graph::GraphArgs),
    Root(root::RootArgs),
    Snapshot(snapshot::SnapshotArgs),
    Prove(prove::ProveArgs),
    VerifyProof(verify_proof::VerifyProofArgs),
    Verify(verify::VerifyArgs),
    Rebuild(verify::RebuildArgs),
    Journal(journal::JournalArgs),
    Stats(stats::StatsArgs),
    Attest(attest::AttestArgs),
    Compact(compact::CompactArgs),
    Score(score::ScoreArgs),
    Weights(stats::WeightsArgs),
    Session(session::SessionArgs),
    Prompt(session::PromptArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    ScopeGrant(Box<scope::GrantArgs>),
    ScopeRevoke(scope::RevokeArgs),
    ScopeList(scope::ListArgs),
    ScopeKeygen(scope::KeygenArgs),
    Eval(eval::EvalArgs),
    Model(model::ModelArgs),
    Actors(stats::ActorsArgs),
    Setup(setup::SetupArgs),
    Hook(hook::HookArgs),
    Timeline(browse::TimelineArgs),
    Sessions(browse::SessionsArgs),
    Prompts(browse::PromptsArgs),
    Projects(browse::ProjectsArgs),
    Archive(browse::ArchiveArgs),
    Serve(serve::ServeArgs),
    Status(serve::StatusArgs),
    Stop(serve::StopArgs),
    Config(config::ConfigArgs),
    Mcp(mcp::McpArgs),
    Tour(tour::TourArgs),
    Help(HelpArgs),
}

/// Shows help for a command, or about `exit-codes` or `replays`.
#[derive(clap::Args, Debug)]
struct HelpArgs {
    /// A command, exit-codes or replays
    topic: Option<String>,
}

const REPLAYS: &str = "\
Two options that no help lists make a run repeatable to the last byte of its root:
  --now TIME       the clock stands still at this moment
  --salt-seed N    salts, keys and nonces follow from this number
They are for tests and replays. Never give a seed for memories that matter: whoever knows it can guess at erased
content and at secret keys.";

/// Runs the program as it was called.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let mut around = Surroundings::own();
    if is_local(&cli.command) {
        return ExitCode::from(run_here(&cli, around));
    }
    if matches!(cli.command, Command::Model(_)) {
        bring_key(&cli.globals, &mut around);
    }
    let entry = open::home_folder(&cli.globals, &around.variables, &around.cwd)
        .and_then(|folder| serve::enter(&folder, open::wait(&cli.globals)));
    match entry {
        // Held to the end: no daemon takes the home while a command uses it in this process.
        Ok(serve::Entry::Free(_lock)) => ExitCode::from(run_here(&cli, around)),
        Ok(serve::Entry::Served(client)) => serve::forward(client, around, cli.globals.json),
        Err(failure) => {
            report(&failure, &output_of(cli.globals.json, around).0);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Takes the key of an embedding service along: the daemon that runs the command has variables of its own.
fn bring_key(globals: &Globals, around: &mut Surroundings) {
    let config = open::home_folder(globals, &around.variables, &around.cwd)
        .and_then(|folder| Ok(crate::config::load(&folder, &around.variables)?));
    // A file that cannot be read is reported by the command itself.
    let Ok(config) = config else { return };
    if let Some(name) = config.text("embedder.key_env")
        && let Some(key) = surroundings::own_variable(name)
    {
        around.variables.insert(name.to_owned(), key);
    }
}

/// Runs a command line for somebody else, with their surroundings. Returns its exit code.
pub fn run_for(arguments: &[String], around: Surroundings) -> u8 {
    match Cli::try_parse_from(std::iter::once("cortex").chain(arguments.iter().map(String::as_str)))
    {
        Ok(cli) if !is_local(&cli.command) => run_here(&cli, around),
        // The caller's own program took this command line for one of ours.
        Ok(_) | Err(_) => ops::error::exit::BAD_INPUT,
    }
}

/// Needs no home, or one of its own: never run by the daemon.
fn is_local(command: &Command) -> bool {
    matches!(
        command,
        Command::VerifyProof(_)
            | Command::Tour(_)
            | Command::Help(_)
            | Command::Eval(_)
            | Command::Setup(_)
            | Command::Hook(_)
            | Command::Serve(_)
            | Command::Status(_)
            | Command::Stop(_)
            | Command::Config(_)
            | Command::Mcp(_)
    ) || matches!(command, Command::Model(args) if args.is_local())
}

fn output_of(json: bool, around: Surroundings) -> (Output, Around) {
    let Surroundings { cwd, variables, input, input_is_terminal, out, talk, .. } = around;
    let output = Output::new(json, out, talk, around.talk_is_terminal);
    (output, Around { cwd, variables, input, input_is_terminal, ops: around.ops })
}

fn run_here(cli: &Cli, around: Surroundings) -> u8 {
    let (mut out, around) = output_of(cli.globals.json, around);
    let outcome = run(cli, around, &mut out).and_then(|()| out.flush());
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            // What was already found is data, even if the command failed in the end.
            let flushed = out.flush();
            if !matches!(failure, Failure::BrokenPipe) && flushed.is_ok() {
                report(&failure, &out);
            }
            failure.exit_code()
        }
    }
}

fn run(cli: &Cli, around: Around, out: &mut Output) -> Outcome {
    // These work without opening a home.
    match &cli.command {
        Command::VerifyProof(args) => return verify_proof::run(args, out),
        Command::Tour(args) => return tour::run(args, &cli.globals, out),
        Command::Help(args) => return help(args, out),
        Command::Setup(args) => return setup::run(args, &cli.globals, around, out),
        Command::Hook(args) => {
            // Agents read an exit code as "stop"; trouble is for the person, and in the log.
            if let Err(failure) = hook::run(args, &cli.globals, around, out) {
                out.say(format_args!("{failure}"));
            }
            return Ok(());
        }
        Command::Serve(args) => return serve::serve(args, &cli.globals, &around, out),
        Command::Status(args) => return serve::status(args, &cli.globals, &around, out),
        Command::Stop(args) => return serve::stop(args, &cli.globals, &around, out),
        Command::Config(args) => return config::run(args, &cli.globals, &around, out),
        Command::Mcp(args) => return mcp::run(args, &cli.globals, &around),
        _ => {}
    }
    let inv = &Invocation::new(&cli.globals, addressed(&cli.command), around)?;
    let outcome = run_command(&cli.command, inv, out);
    outcome.and_then(|()| inv.finish())
}

fn run_command(command: &Command, inv: &Invocation, out: &mut Output) -> Outcome {
    match command {
        Command::Save(args) => save::run(args, inv, out),
        Command::Get(args) => get::run(args, inv, out),
        Command::Update(args) => update::run(args, inv, out),
        Command::History(args) => history::run(args, inv, out),
        Command::Search(args) => search::run(args, inv, out),
        Command::Similar(args) => similar::run(args, inv, out),
        Command::Entities(args) => entities::run(args, inv, out),
        Command::Find(args) => find::run(args, inv, out),
        Command::Context(args) => context::run(args, inv, out),
        Command::Forget(args) => forget::forget(args, inv, out),
        Command::Restore(args) => forget::restore(args, inv, out),
        Command::Erase(args) => forget::erase(args, inv, out),
        Command::Relate(args) => relate::relate(args, inv, out),
        Command::Unrelate(args) => relate::unrelate(args, inv, out),
        Command::Graph(args) => graph::run(args, inv, out),
        Command::Root(args) => root::run(args, inv, out),
        Command::Snapshot(args) => snapshot::run(args, inv, out),
        Command::Prove(args) => prove::run(args, inv, out),
        Command::Verify(args) => verify::verify(args, inv, out),
        Command::Rebuild(args) => verify::rebuild(args, inv, out),
        Command::Journal(args) => journal::run(args, inv, out),
        Command::Stats(args) => stats::stats(args, inv, out),
        Command::Attest(args) => attest::run(args, inv, out),
        Command::Compact(args) => compact::run(args, inv, out),
        Command::Score(args) => score::run(args, inv, out),
        Command::Weights(args) => stats::weights(args, inv, out),
        Command::Session(args) => session::run(args, inv, out),
        Command::Prompt(args) => session::prompt(args, inv, out),
        Command::Export(args) => export::run(args, inv, out),
        Command::Import(args) => import::run(args, inv, out),
        Command::ScopeGrant(args) => scope::grant(args, inv, out),
        Command::ScopeRevoke(args) => scope::revoke(args, inv, out),
        Command::ScopeList(args) => scope::list(args, inv, out),
        Command::ScopeKeygen(args) => scope::keygen(args, inv, out),
        Command::Eval(args) => eval::run(args, inv, out),
        Command::Model(args) => model::run(args, inv, out),
        Command::Actors(args) => stats::actors(args, inv, out),
        Command::Timeline(args) => browse::timeline(args, inv, out),
        Command::Sessions(args) => browse::sessions(args, inv, out),
        Command::Prompts(args) => browse::prompts(args, inv, out),
        Command::Projects(args) => browse::projects(args, inv, out),
        Command::Archive(args) => browse::archive(args, inv, out),
        Command::VerifyProof(_)
        | Command::Tour(_)
        | Command::Help(_)
        | Command::Setup(_)
        | Command::Hook(_)
        | Command::Serve(_)
        | Command::Status(_)
        | Command::Stop(_)
        | Command::Config(_)
        | Command::Mcp(_) => Ok(()),
    }
}

/// The actor in the URI that a command is about.
fn addressed(command: &Command) -> Option<&kernel::actor::ActorName> {
    let memory = match command {
        Command::Get(args) => &args.memory,
        Command::Update(args) => &args.memory,
        Command::History(args) => &args.memory,
        Command::Forget(args) => &args.memory,
        Command::Restore(args) => &args.memory,
        Command::Erase(args) => &args.memory,
        Command::Graph(args) => &args.memory,
        Command::Similar(args) => &args.memory,
        Command::Score(args) => &args.memory,
        Command::Prove(args) => args.memory.as_ref()?,
        _ => return None,
    };
    memory.uri.as_ref().map(|uri| &uri.actor)
}

fn help(args: &HelpArgs, out: &mut Output) -> Outcome {
    let mut cli = Cli::command();
    cli.build();
    match args.topic.as_deref() {
        Some("exit-codes") => out.line(EXIT_CODES),
        Some("replays") => out.line(REPLAYS),
        None => out.line(cli.render_long_help()),
        Some(topic) => match cli.find_subcommand_mut(topic) {
            Some(command) => out.line(command.render_long_help()),
            None => Err(Failure::input(format!("no command {topic:?}; `cortex help` lists them"))),
        },
    }
}

fn report(failure: &Failure, out: &Output) {
    if out.is_json() {
        out.say(serde_json::json!({ "error": failure.view() }));
        return;
    }
    out.say(format_args!("error: {}", output::plain(&failure.to_string())));
    if let Some(hint) = failure.hint() {
        out.say(format_args!("hint: {hint}"));
    }
}

/// Help and version are no errors; anything else is wrong usage, in JSON if that was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    // Agents read exit code 2 of a hook as "stop": settings from another version must not stop anybody.
    if std::env::args_os().nth(1).is_some_and(|command| command == "hook") {
        let _unheard = error.print();
        return ExitCode::SUCCESS;
    }
    let json = std::env::args_os().any(|argument| argument == "--json");
    if !error.use_stderr() || !json {
        // Nobody is left to be told when the output is closed.
        let _unheard = error.print();
        return ExitCode::from(if error.use_stderr() { ops::error::exit::BAD_INPUT } else { 0 });
    }
    let text = error.render().to_string();
    // The first paragraph says what is wrong; the rest is about usage.
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let message = lines.collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let hint = Some("`cortex help COMMAND` shows how it is used".to_owned());
    let view = FailureView { code: "usage".to_owned(), message, hint };
    // Nobody is left to be told when standard error is closed.
    let _unheard = writeln!(std::io::stderr(), "{}", serde_json::json!({ "error": view }));
    ExitCode::from(ops::error::exit::BAD_INPUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:") || name == "help", "{name} has no example");
            assert!(command.get_about().is_some(), "{name} says nothing about itself");
        }
    }
}
