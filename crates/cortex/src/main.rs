//! `cortex`: durable, verifiable memory for AI agents, on the command line.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
