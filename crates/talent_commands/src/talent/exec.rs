//! `cortex talent exec`: one talent process, as the runner starts it.

use std::io;
use std::sync::Arc;

use ::runs::process::stop_on_signals;
use ::runs::runner::parent_watch;
use ::talents::confine::{POLICY_VARIABLE, tree};
use clap::Args;
use client::place::DaemonPlace;
use daemon::talents_host::memory::MemoryHandle;
use daemon::talents_host::toolbox::MemoryTools;
use host::confinement::tool_confinement;

use crate::talent::confined;
use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, caller, home_folder, wait};
use command_line::process;

/// Internal: runs requests from standard input, one JSON object per line; events go to standard output, one per line.
///
/// The daemon starts this for every run, and tells it in a variable what it may reach; `cortex talent run` asks it to.
/// Started by hand it is not confined. SIGTERM ends the request under way with an error event.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  echo '{\"use_id\":\"1\",\"prompt\":\"What did I decide?\"}' | cortex talent exec --dry-run")]
pub(super) struct ExecArgs {
    /// Tell what would be sent to which model, and call none
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &ExecArgs, globals: &GlobalArgs, env: &CommandEnv) -> CommandResult {
    let failed = |error: io::Error| Failure::Io { what: "talent process".into(), error };
    // First of all, while there is one thread and nothing was read: from here on only what the run may reach is there.
    let policy =
        env.variables.get(POLICY_VARIABLE).map(|text| confined::enter(text)).transpose()?;
    // Whatever happens next, this process and all it starts do not outlive the daemon that started it.
    tree::adopt_orphans().map_err(failed)?;
    parent_watch::end_with_daemon().map_err(failed)?;
    if let Some(policy) = &policy {
        let most = policy.limits.processes;
        let tell =
            move |there| eprintln!("{there} processes, and {most} are the most: all were ended");
        tree::bound_children(most, tell).map_err(failed)?;
    }
    let hands = crate::talent::hands(globals, env)?;
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let world = Arc::clone(&caller.environment);
    let place = DaemonPlace::new(&home).waiting(wait(globals));
    let own = process::own_environment();
    let memory = MemoryHandle::new(place, caller, env.variables.clone(), own);
    let mut toolbox = MemoryTools::new(memory);
    // A program that cannot say where it is serves nobody; the run goes on with the provider's own tools.
    let program = std::env::current_exe();
    if let Ok(program) = &program {
        toolbox = toolbox.served_by(program.clone(), hands.layout.home().to_owned());
    }
    let confinement = match (&policy, program) {
        (Some(policy), Ok(program)) => tool_confinement(policy, &program),
        _ => None,
    };
    let process = hands.process(Arc::new(toolbox), world, args.dry_run, confinement)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(failed)?;
    let outcome = runtime.block_on(async {
        let stop = stop_on_signals()?;
        process.run(tokio::io::stdin(), tokio::io::stdout(), stop).await
    });
    // A read of standard input cannot be taken back; the process ends without it.
    runtime.shutdown_background();
    // What a tool left running has no business any more, in whatever session it is.
    tree::end_children();
    // How runs ended is in their last events.
    outcome.map(drop).map_err(failed)
}
