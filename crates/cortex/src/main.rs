//! `cortex`: durable, verifiable memory for AI agents, on the command line.

/// A question makes thousands of short-lived pieces; the system's allocator spends a quarter of its time on them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cortex::cli::main()
}
