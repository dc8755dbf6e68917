//! `cortex talent`: the talents of a home. One file per step.

mod cancel;
mod doctor;
mod log;
mod run;

use clap::{Args, Subcommand};

use super::failure::Outcome;
use super::open::{Around, Globals};
use super::output::Output;

/// Runs talents, and shows what they did.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent run default 'What did I decide about the cache?'
  cortex talent log
  cortex talent cancel --name default")]
pub(crate) struct TalentArgs {
    #[command(subcommand)]
    step: TalentStep,
}

#[derive(Subcommand, Debug)]
enum TalentStep {
    Run(Box<run::RunArgs>),
    Log(log::LogArgs),
    Cancel(cancel::CancelArgs),
    Doctor(doctor::DoctorArgs),
}

pub(crate) fn run(
    args: &TalentArgs,
    globals: &Globals,
    around: Around,
    out: &mut Output,
) -> Outcome {
    match &args.step {
        TalentStep::Run(args) => run::run(args, globals, around, out),
        TalentStep::Log(args) => log::run(args, globals, &around, out),
        TalentStep::Cancel(args) => cancel::run(args, globals, &around, out),
        TalentStep::Doctor(args) => doctor::run(args, globals, &around, out),
    }
}
