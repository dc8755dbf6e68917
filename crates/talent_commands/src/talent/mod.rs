//! `cortex talent`: the talents of a home. One file per step.

mod approvals;
mod cancel;
mod check;
mod confined;
pub mod doctor;
mod exec;
mod explain;
mod list;
mod log;
mod new;
mod run;
mod show;

pub(crate) use run::keys;

use clap::{Args, Subcommand};

use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, home_folder};
use command_line::output::Output;
use command_line::process;
use daemon::talents_host::TalentContext;
use service::config;

/// Runs talents, shows what they did, and lists, shows and checks them.
///
/// A talent is a Markdown file with JSON at its top. Some are built in; your own are in talent/NAME.md of the home and
/// stand before a built-in of the same name. docs/talents.md has every key.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent list
  cortex talent run default 'What did I decide about the cache?'
  cortex talent log
  cortex talent show daily_brief --day 20260109
  cortex talent explain default --tier pro")]
pub struct TalentArgs {
    #[command(subcommand)]
    step: TalentStep,
}

#[derive(Subcommand, Debug)]
enum TalentStep {
    Run(Box<run::RunArgs>),
    Log(log::LogArgs),
    Cancel(cancel::CancelArgs),
    Approvals(approvals::ApprovalsArgs),
    Approve(approvals::ApproveArgs),
    Deny(approvals::DenyArgs),
    New(new::NewArgs),
    Doctor(doctor::DoctorArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    #[command(hide = true)]
    Exec(exec::ExecArgs),
    #[command(hide = true)]
    Confined(confined::ConfinedArgs),
}

pub fn run(
    args: &TalentArgs,
    globals: &GlobalArgs,
    env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    match &args.step {
        TalentStep::Run(args) => run::run(args, globals, env, out),
        TalentStep::Log(args) => log::run(args, globals, &env, out),
        TalentStep::Cancel(args) => cancel::run(args, globals, &env, out),
        TalentStep::Approvals(args) => approvals::list(args, globals, &env, out),
        TalentStep::Approve(args) => approvals::approve(args, globals, &env, out),
        TalentStep::Deny(args) => approvals::deny(args, globals, &env, out),
        TalentStep::New(args) => new::run(args, globals, &env, out),
        TalentStep::Doctor(args) => doctor::run(args, globals, &env, out),
        TalentStep::List(args) => list::run(args, globals, &env, out),
        TalentStep::Show(args) => show::run(args, globals, &env, out),
        TalentStep::Check(args) => check::run(args, globals, &env, out),
        TalentStep::Explain(args) => explain::run(args, globals, &env, out),
        TalentStep::Exec(args) => exec::run(args, globals, &env),
        TalentStep::Confined(args) => confined::run(args),
    }
}

/// What the home has for talents.
pub fn hands(globals: &GlobalArgs, env: &CommandEnv) -> CommandResult<TalentContext> {
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let home = std::path::absolute(&home).map_err(|error| Failure::file(&home, error))?;
    let config = config::load(&home, &env.variables)?;
    Ok(TalentContext::open(&home, &config, process::own_environment())?)
}
