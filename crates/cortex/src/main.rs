//! `cortex`: durable, verifiable memory for AI agents, on the command line.

mod cli;
mod embedders;

fn main() -> std::process::ExitCode {
    cli::main()
}
