//! `cortex`: durable, verifiable memory for AI agents, on the command line.

fn main() -> std::process::ExitCode {
    cli::main()
}
