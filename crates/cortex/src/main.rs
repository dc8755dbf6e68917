//! `cortex`: durable, verifiable memory for AI agents, on the command line.

mod cli;
mod hooks;
mod setup;

fn main() -> std::process::ExitCode {
    cli::main()
}
