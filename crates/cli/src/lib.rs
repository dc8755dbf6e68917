//! The command line: it translates between what people type and what operations take and answer, and nothing else.
//!
//! One file per command in `commands`: a struct of arguments whose doc comments are the help text, and a `run` that
//! asks an operation of the service and prints its answer. Few commands read the store themselves, where no operation
//! says what they show (proofs, the journal, typed finds). `invocation` brings clock, chance and environment in;
//! `failure` decides exit codes and hints; `output` keeps data and talk apart; `views` are the JSON shapes that no
//! operation has.

mod commands;
mod help;
mod logging;
mod terminal;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches as _, Parser, Subcommand};
use command_line::{failure, invocation, output, process, views, wiring};
use daemon::server::command::CommandContext;
use talent_commands::{bus, chat, chronicle, facet, talent, think};

use crate::commands::grants::{attenuate, scope, scope_token};
use crate::commands::ledger;
use crate::commands::memories::{
    audit, confirm, context, edit, entities, find, forget, get, graph, history, list, relate, save,
    score, search, stats, update,
};
use crate::commands::mind::{admin, attest, bulletin, compact, jobs, page, salience};
use crate::commands::models::{eval, language, model};
use crate::commands::past;
use crate::commands::proofs::{
    checkpoint, diff, journal, prove, root, snapshot, verify, verify_proof,
};
use crate::commands::service::{curl, hook, mcp, open, serve, supervisor, token, tui};
use crate::commands::sessions::{browse, session};
use crate::commands::setup::{agent_setup, config, doctor, init, tour, version};
use crate::commands::transfer::{backup, export, import};
use crate::failure::{CommandResult, EXIT_CODES, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, Invocation};
use crate::output::Output;

/// Durable, verifiable memory for AI agents.
///
/// Every change is one entry in a journal that only grows; everything else follows from it. What you save is on disk
/// when the command returns, stays readable in every version, and can be proved to others with a file.
#[derive(Parser, Debug)]
#[command(name = "cortex", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
#[command(disable_help_subcommand = true)]
enum Command {
    #[command(flatten)]
    Home(HomeCommand),
    #[command(flatten)]
    Local(LocalCommand),
}

/// Commands about the memories of a home: run in this process, or by the daemon that owns the home.
#[derive(Subcommand, Debug)]
enum HomeCommand {
    Save(Box<save::SaveArgs>),
    Get(get::GetArgs),
    List(list::MemoryListArgs),
    Update(Box<update::UpdateArgs>),
    Confirm(confirm::ConfirmArgs),
    History(history::HistoryArgs),
    Search(Box<search::SearchArgs>),
    Similar(Box<search::SimilarArgs>),
    Entities(entities::EntitiesArgs),
    Find(find::FindArgs),
    Context(context::ContextArgs),
    Bulletin(bulletin::BulletinArgs),
    Page(page::PageArgs),
    Timeline(browse::TimelineArgs),
    Delete(forget::DeleteArgs),
    Forget(forget::ForgetArgs),
    Restore(forget::RestoreArgs),
    Erase(forget::EraseArgs),
    Archive(browse::ArchiveArgs),
    Relate(relate::RelateArgs),
    Unrelate(relate::UnrelateArgs),
    Graph(graph::GraphArgs),
    Score(score::ScoreArgs),
    Session(session::SessionArgs),
    Sessions(browse::SessionsArgs),
    Prompt(session::PromptArgs),
    Prompts(browse::PromptsArgs),
    Projects(browse::ProjectsArgs),
    Stats(stats::StatsArgs),
    Audit(audit::AuditArgs),
    Salience(salience::SalienceArgs),
    Actors(stats::ActorsArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Backup(backup::BackupArgs),
    Salvage(backup::SalvageArgs),
    Journal(journal::JournalArgs),
    Root(root::RootArgs),
    Snapshot(snapshot::SnapshotArgs),
    Prove(prove::ProveArgs),
    Verify(verify::VerifyArgs),
    Rebuild(verify::RebuildArgs),
    Diff(diff::DiffArgs),
    Checkpoint(checkpoint::CheckpointArgs),
    Language(language::LanguageArgs),
    Attest(attest::AttestArgs),
    Compact(compact::CompactArgs),
    Mind(jobs::MindArgs),
    Budget(jobs::BudgetArgs),
    Admin(admin::AdminArgs),
    ScopeGrant(Box<scope::GrantArgs>),
    ScopeRevoke(scope::RevokeArgs),
    ScopeList(scope::ListArgs),
    ScopeKeygen(scope::KeygenArgs),
    Model(model::ModelArgs),
    Past(past::PastArgs),
    Fix(past::work::FixArgs),
    How(past::work::HowArgs),
    Blame(past::work::BlameArgs),
    Friction(past::work::FrictionArgs),
    Keep(past::work::KeepArgs),
}

/// Commands that need no home, or one of their own, or the daemon itself: never run by the daemon.
#[derive(Subcommand, Debug)]
enum LocalCommand {
    Edit(edit::EditArgs),
    VerifyProof(verify_proof::VerifyProofArgs),
    VerifyCheckpoint(checkpoint::VerifyCheckpointArgs),
    Eval(eval::EvalArgs),
    Init(init::InitArgs),
    Setup(agent_setup::SetupArgs),
    Hook(hook::HookArgs),
    Mcp(mcp::McpArgs),
    Serve(serve::ServeArgs),
    Status(serve::StatusArgs),
    Stop(serve::StopArgs),
    Open(open::OpenArgs),
    Token(token::TokenArgs),
    Curl(curl::CurlArgs),
    Ledger(ledger::LedgerArgs),
    ScopeAttenuate(Box<attenuate::AttenuateArgs>),
    ScopeToken(scope_token::ScopeTokenArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigArgs),
    Tour(tour::TourArgs),
    Tui(tui::TuiArgs),
    Talent(talent::TalentArgs),
    Think(think::ThinkArgs),
    Facet(facet::FacetArgs),
    Chronicle(chronicle::ChronicleArgs),
    Bus(bus::BusArgs),
    Chat(chat::ChatArgs),
    Supervisor(supervisor::SupervisorArgs),
    Completions(version::CompletionsArgs),
    Man(version::ManArgs),
    Version(version::VersionArgs),
    Help(HelpArgs),
}

/// Shows help for a command, about `all` of them, or about `exit-codes` or `replays`.
#[derive(clap::Args, Debug)]
struct HelpArgs {
    /// A command, all, exit-codes or replays
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
    let cli = match parsed(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return usage::tell(&error),
    };
    let mut env = process::own_context();
    if is_read(&cli.command)
        && !cli.globals.json
        && let Some(show) = terminal::Show::here()
    {
        env.out = Box::new(terminal::TerminalText::new(show));
    }
    start_logging(&cli.command, &env);
    if is_local(&cli.command) {
        return ExitCode::from(run_here(&cli, env));
    }
    if matches!(cli.command, Command::Home(HomeCommand::Model(_))) {
        bring_key(&cli.globals, &mut env);
    }
    let entry = invocation::home_folder(&cli.globals, &env.variables, &env.cwd)
        .and_then(|folder| serve::enter(&folder, invocation::wait(&cli.globals)));
    match entry {
        // Held to the end: no daemon takes the home while a command uses it in this process.
        Ok(serve::HomeAccess::Free(_lock)) => ExitCode::from(run_here(&cli, env)),
        Ok(serve::HomeAccess::Served(client)) => serve::forward(client, env, cli.globals.json),
        Err(failure) => {
            output_of(cli.globals.json, env).0.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// The command line as it was typed. The help of the whole is ours: a list of all commands is no help.
fn parsed(arguments: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let arguments: Vec<OsString> = arguments.collect();
    if let Some(cli) = hook_alone(&arguments) {
        return Ok(cli);
    }
    let mut command = Cli::command();
    match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => {
            return Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command));
        }
        Err(version) if version.kind() == ErrorKind::DisplayVersion => return Err(version),
        Err(_) => {}
    }
    // Only who asks for help, or needs some, waits for it to be made.
    let mut cli = Cli::command();
    cli.build();
    let first = help::everyday(&cli);
    let mut command = Cli::command().override_help(first);
    let matches = command.try_get_matches_from_mut(&arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// `cortex hook` as if there were no other command. Agents start one at every prompt and every edit, and the table of
/// all commands costs more than what a hook does.
#[derive(Parser, Debug)]
#[command(name = "cortex")]
struct HookLine {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    command: HookOnly,
}

#[derive(Subcommand, Debug)]
enum HookOnly {
    Hook(hook::HookArgs),
}

/// The command line of a hook, if it is one without a mistake.
fn hook_alone(arguments: &[OsString]) -> Option<Cli> {
    if !arguments.iter().any(|word| word == "hook") {
        return None;
    }
    let HookLine { globals, command: HookOnly::Hook(args) } =
        HookLine::try_parse_from(arguments).ok()?;
    Some(Cli { globals, command: Command::Local(LocalCommand::Hook(args)) })
}

/// A daemon logs; other commands do if they are asked to.
fn start_logging(command: &Command, around: &CommandContext) {
    let wanted = around.variables.get(logging::VARIABLE).map(String::as_str);
    match command {
        Command::Local(LocalCommand::Serve(args)) => {
            logging::start(args.log_format(), wanted, host::log_tail::keep);
        }
        _ => logging::start_if_wanted(wanted),
    }
}

/// Takes the key of an embedding service along: the daemon that runs the command has variables of its own.
fn bring_key(globals: &GlobalArgs, env: &mut CommandContext) {
    let config = invocation::home_folder(globals, &env.variables, &env.cwd)
        .and_then(|folder| Ok(service::config::load(&folder, &env.variables)?));
    // A file that cannot be read is reported by the command itself.
    let Ok(config) = config else { return };
    if let Some(name) = config.text("embedder.key_env")
        && let Some(key) = process::own_variable(name)
    {
        env.variables.insert(name.to_owned(), key);
    }
}

/// Runs a command line for somebody else, with their surroundings. Returns its exit code.
pub fn run_for(arguments: &[String], env: CommandContext) -> u8 {
    match Cli::try_parse_from(std::iter::once("cortex").chain(arguments.iter().map(String::as_str)))
    {
        Ok(cli) if !is_local(&cli.command) => run_here(&cli, env),
        // The caller's own program took this command line for one of ours.
        Ok(_) | Err(_) => api::error::exit::BAD_INPUT,
    }
}

/// Is its answer a text that somebody reads, which may be longer than a screen?
fn is_read(command: &Command) -> bool {
    match command {
        Command::Home(command) => matches!(
            command,
            HomeCommand::Get(_)
                | HomeCommand::List(_)
                | HomeCommand::History(_)
                | HomeCommand::Search(_)
                | HomeCommand::Similar(_)
                | HomeCommand::Entities(_)
                | HomeCommand::Find(_)
                | HomeCommand::Context(_)
                | HomeCommand::Diff(_)
                | HomeCommand::Journal(_)
                | HomeCommand::Audit(_)
                | HomeCommand::Graph(_)
                | HomeCommand::Timeline(_)
                | HomeCommand::Sessions(_)
                | HomeCommand::Prompts(_)
                | HomeCommand::Projects(_)
                | HomeCommand::Bulletin(_)
                | HomeCommand::Fix(_)
                | HomeCommand::How(_)
                | HomeCommand::Blame(_)
        ),
        Command::Local(command) => matches!(command, LocalCommand::Help(_)),
    }
}

fn is_local(command: &Command) -> bool {
    match command {
        Command::Local(_) => true,
        Command::Home(HomeCommand::Model(args)) => args.is_local(),
        Command::Home(HomeCommand::Audit(args)) => args.is_local(),
        Command::Home(_) => false,
    }
}

fn output_of(json: bool, env: CommandContext) -> (Output, CommandEnv) {
    let CommandContext { cwd, variables, input, input_is_terminal, out, talk, .. } = env;
    let output = Output::new(json, out, talk, env.talk_is_terminal);
    let talk = output.talk().clone();
    (output, CommandEnv { cwd, variables, input, input_is_terminal, ops: env.host, talk })
}

fn run_here(cli: &Cli, env: CommandContext) -> u8 {
    let (mut out, env) = output_of(cli.globals.json, env);
    let outcome = run(cli, env, &mut out).and_then(|()| out.flush());
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            // What was already found is data, even if the command failed in the end.
            let flushed = out.flush();
            if !matches!(failure, Failure::BrokenPipe) && flushed.is_ok() {
                out.failure(&failure);
            }
            failure.exit_code()
        }
    }
}

fn run(cli: &Cli, env: CommandEnv, out: &mut Output) -> CommandResult {
    match &cli.command {
        Command::Local(command) => run_local(command, &cli.globals, env, out),
        Command::Home(command) => {
            let inv = &Invocation::new(&cli.globals, addressed(command), env)?;
            let outcome = run_at_home(command, inv, out);
            outcome.and_then(|()| inv.finish())
        }
    }
}

fn run_local(
    command: &LocalCommand,
    globals: &GlobalArgs,
    env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    match command {
        LocalCommand::Edit(args) => edit::run(args, globals, &env, out),
        LocalCommand::VerifyProof(args) => verify_proof::run(args, out),
        LocalCommand::VerifyCheckpoint(args) => checkpoint::verify(args, out),
        LocalCommand::Eval(args) => eval::run(args, &Invocation::new(globals, None, env)?, out),
        LocalCommand::Init(args) => init::run(args, globals, env, out),
        LocalCommand::Setup(args) => agent_setup::run(args, globals, env, out),
        LocalCommand::Hook(args) => {
            // Agents read an exit code as "stop"; trouble is for the person, and in the log.
            if let Err(failure) = hook::run(args, globals, env, out) {
                out.say(format_args!("{failure}"));
            }
            Ok(())
        }
        LocalCommand::Mcp(args) => mcp::run(args, globals, &env),
        LocalCommand::Serve(args) => serve::serve(args, globals, &env, out),
        LocalCommand::Status(args) => serve::status(args, globals, &env, out),
        LocalCommand::Stop(args) => serve::stop(args, globals, &env, out),
        LocalCommand::Open(args) => open::run(args, globals, &env, out),
        LocalCommand::Token(args) => token::run(args, globals, &env, out),
        LocalCommand::Curl(args) => curl::run(args, globals, &env),
        LocalCommand::Ledger(args) => ledger::run(args, globals, &env, out),
        LocalCommand::ScopeAttenuate(args) => attenuate::run(args, &env, out),
        LocalCommand::ScopeToken(args) => scope_token::run(args, globals, &env, out),
        LocalCommand::Doctor(args) => doctor::run(args, globals, &env, out),
        LocalCommand::Config(args) => config::run(args, globals, &env, out),
        LocalCommand::Tour(args) => tour::run(args, globals, out),
        LocalCommand::Tui(args) => tui::run(args, globals, &env),
        LocalCommand::Talent(args) => talent::run(args, globals, env, out),
        LocalCommand::Think(args) => think::run(args, globals, &env, out),
        LocalCommand::Facet(args) => facet::run(args, globals, &env, out),
        LocalCommand::Chronicle(args) => chronicle::run(args, globals, env, out),
        LocalCommand::Bus(args) => bus::run(args, globals, env, out),
        LocalCommand::Chat(args) => chat::run(args, globals, env, out),
        LocalCommand::Supervisor(args) => supervisor::run(args, globals, &env, out),
        LocalCommand::Completions(args) => version::completions(args, Cli::command(), out),
        LocalCommand::Man(args) => version::man(args, Cli::command(), &env.cwd, out),
        LocalCommand::Version(args) => version::version(args, out),
        LocalCommand::Help(args) => help(args, out),
    }
}

fn run_at_home(command: &HomeCommand, inv: &Invocation, out: &mut Output) -> CommandResult {
    match command {
        HomeCommand::Save(args) => save::run(args, inv, out),
        HomeCommand::Get(args) => get::run(args, inv, out),
        HomeCommand::List(args) => list::run(args, inv, out),
        HomeCommand::Update(args) => update::run(args, inv, out),
        HomeCommand::Confirm(args) => confirm::run(args, inv, out),
        HomeCommand::History(args) => history::run(args, inv, out),
        HomeCommand::Search(args) => search::search(args, inv, out),
        HomeCommand::Similar(args) => search::similar(args, inv, out),
        HomeCommand::Entities(args) => entities::run(args, inv, out),
        HomeCommand::Find(args) => find::run(args, inv, out),
        HomeCommand::Context(args) => context::run(args, inv, out),
        HomeCommand::Delete(args) => forget::delete(args, inv, out),
        HomeCommand::Forget(args) => forget::forget(args, inv, out),
        HomeCommand::Restore(args) => forget::restore(args, inv, out),
        HomeCommand::Erase(args) => forget::erase(args, inv, out),
        HomeCommand::Relate(args) => relate::relate(args, inv, out),
        HomeCommand::Unrelate(args) => relate::unrelate(args, inv, out),
        HomeCommand::Graph(args) => graph::run(args, inv, out),
        HomeCommand::Root(args) => root::run(args, inv, out),
        HomeCommand::Snapshot(args) => snapshot::run(args, inv, out),
        HomeCommand::Prove(args) => prove::run(args, inv, out),
        HomeCommand::Verify(args) => verify::verify(args, inv, out),
        HomeCommand::Rebuild(args) => verify::rebuild(args, inv, out),
        HomeCommand::Diff(args) => diff::run(args, inv, out),
        HomeCommand::Checkpoint(args) => checkpoint::sign(args, inv, out),
        HomeCommand::Language(args) => language::run(args, inv, out),
        HomeCommand::Journal(args) => journal::run(args, inv, out),
        HomeCommand::Stats(args) => stats::stats(args, inv, out),
        HomeCommand::Audit(args) => audit::run(args, inv, out),
        HomeCommand::Attest(args) => attest::run(args, inv, out),
        HomeCommand::Compact(args) => compact::run(args, inv, out),
        HomeCommand::Score(args) => score::run(args, inv, out),
        HomeCommand::Salience(args) => salience::run(args, inv, out),
        HomeCommand::Session(args) => session::run(args, inv, out),
        HomeCommand::Prompt(args) => session::prompt(args, inv, out),
        HomeCommand::Export(args) => export::run(args, inv, out),
        HomeCommand::Import(args) => import::run(args, inv, out),
        HomeCommand::Backup(args) => backup::backup(args, inv, out),
        HomeCommand::Salvage(args) => backup::salvage(args, inv, out),
        HomeCommand::ScopeGrant(args) => scope::grant(args, inv, out),
        HomeCommand::ScopeRevoke(args) => scope::revoke(args, inv, out),
        HomeCommand::ScopeList(args) => scope::list(args, inv, out),
        HomeCommand::ScopeKeygen(args) => scope::keygen(args, inv, out),
        HomeCommand::Model(args) => model::run(args, inv, out),
        HomeCommand::Actors(args) => stats::actors(args, inv, out),
        HomeCommand::Timeline(args) => browse::timeline(args, inv, out),
        HomeCommand::Sessions(args) => browse::sessions(args, inv, out),
        HomeCommand::Prompts(args) => browse::prompts(args, inv, out),
        HomeCommand::Projects(args) => browse::projects(args, inv, out),
        HomeCommand::Archive(args) => browse::archive(args, inv, out),
        HomeCommand::Bulletin(args) => bulletin::run(args, inv, out),
        HomeCommand::Page(args) => page::run(args, inv, out),
        HomeCommand::Mind(args) => jobs::run(args, inv, out),
        HomeCommand::Budget(args) => jobs::budget(args, inv, out),
        HomeCommand::Admin(args) => admin::run(args, inv, out),
        HomeCommand::Past(args) => past::run(args, inv, out),
        HomeCommand::Fix(args) => past::work::fix(args, inv, out),
        HomeCommand::How(args) => past::work::how(args, inv, out),
        HomeCommand::Blame(args) => past::work::blame(args, inv, out),
        HomeCommand::Friction(args) => past::work::friction(args, inv, out),
        HomeCommand::Keep(args) => past::work::keep(args, inv, out),
    }
}

/// The actor in the URI that a command is about.
fn addressed(command: &HomeCommand) -> Option<&kernel::actor::ActorName> {
    let memory = match command {
        HomeCommand::Get(args) => args.memories.first()?,
        HomeCommand::Update(args) => &args.memory,
        HomeCommand::History(args) => &args.memory,
        HomeCommand::Delete(args) => &args.memory,
        HomeCommand::Forget(args) => args.memories.first()?,
        HomeCommand::Restore(args) => args.memory()?,
        HomeCommand::Erase(args) => &args.memory,
        HomeCommand::Graph(args) => &args.memory,
        HomeCommand::Similar(args) => &args.memory,
        HomeCommand::Score(args) => &args.memory,
        HomeCommand::Prove(args) => args.memory.as_ref()?,
        _ => return None,
    };
    memory.uri.as_ref().map(|uri| &uri.actor)
}

fn help(args: &HelpArgs, out: &mut Output) -> CommandResult {
    let mut cli = Cli::command();
    cli.build();
    match args.topic.as_deref() {
        Some("exit-codes") => out.line(EXIT_CODES),
        Some("replays") => out.line(REPLAYS),
        None => out.line(help::everyday(&cli)),
        Some("all") => out.line(help::all(&cli)),
        Some(topic) => match cli.find_subcommand_mut(topic) {
            Some(command) => out.line(command.render_long_help()),
            None => Err(Failure::input(format!("no command {topic:?}; `cortex help` lists them"))),
        },
    }
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

    // serving S7
    #[test]
    fn a_hook_is_read_alone_as_among_all_commands() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for line in [
            "cortex hook session-start",
            "cortex hook prompt-submit --agent codex",
            "cortex --home /a --by ada hook stop --agent=gemini-cli --json",
            "cortex hook pre-tool --wait 3",
        ] {
            let alone = hook_alone(&words(line));
            let among = Cli::try_parse_from(words(line)).ok();
            assert!(alone.is_some(), "{line}");
            assert_eq!(format!("{alone:?}"), format!("{among:?}"), "{line}");
        }
        for line in
            ["cortex hook", "cortex hook nothing", "cortex search hook", "cortex hook --help"]
        {
            assert!(hook_alone(&words(line)).is_none(), "{line}");
        }
    }
}
