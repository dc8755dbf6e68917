//! `cortex`: durable, verifiable memory for AI agents, on the command line.

mod cli;
mod embedders;
#[allow(
    dead_code,
    reason = "the operations that save will call it; the line goes with their first call"
)]
mod intake;
mod transfer;

fn main() -> std::process::ExitCode {
    cli::main()
}
