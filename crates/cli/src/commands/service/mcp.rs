//! `cortex mcp`: the tools of an agent, over standard input and output.

use std::sync::Arc;

use api::author::Author;
use clap::Args;
use client::place::DaemonPlace;
use client::pool::ClientPool;
use daemon::talents_host::memory::MemoryHandle;
use daemon::talents_host::toolbox::MemoryTools;
use mcp::backend::Backend;
use mcp::talent::TalentServer;
use mcp::tools::Choice;
use mcp::{Server, serve_stdio};
use runs::process::{TalentTools, ToolScene, Toolbox};
use talents::{Day, Facet, TalentName, UseId};

use crate::failure::CommandResult;
use crate::invocation::{CommandEnv, GlobalArgs, caller, home_folder, wait};
use crate::process;

/// The author of what agents save, unless `--by` names another.
const BY: &str = "mcp";

/// Serves an agent over standard input and output, in the Model Context Protocol.
///
/// Starts the daemon of this home in the background if it does not run. The folder it is started in says which project
/// is meant when a tool names none.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex mcp
  cortex mcp --tools=core
  cortex mcp --tools=all,extra
  cortex mcp --tools=mem_save,mem_search")]
pub(crate) struct McpArgs {
    /// core (8 tools that suffice), agent (15), admin (4), all (those 19), extra, or names, with commas between
    #[arg(long, value_name = "TOOLS", default_value = "all")]
    tools: String,
    /// The tools of this talent instead, within its grant; for programs that run a talent's loop themselves
    #[arg(long, value_name = "NAME", requires = "run", conflicts_with = "tools")]
    talent: Option<String>,
    /// The run that uses them
    #[arg(long, value_name = "ID", requires = "talent")]
    run: Option<String>,
    /// The facet of the run
    #[arg(long, value_name = "NAME", requires = "talent")]
    facet: Option<String>,
    /// The channel that the run belongs to
    #[arg(long, value_name = "NAME", requires = "talent")]
    channel: Option<String>,
    /// The day of the run, YYYYMMDD; today if absent
    #[arg(long, value_name = "DAY", requires = "talent")]
    day: Option<String>,
}

pub(crate) fn run(args: &McpArgs, globals: &GlobalArgs, env: &CommandEnv) -> CommandResult {
    if let (Some(talent), Some(run)) = (&args.talent, &args.run) {
        let served = served(args, talent, run, globals, env)?;
        serve_stdio(TalentServer::new(served))?;
        return Ok(());
    }
    let choice = Choice::parse(&args.tools)?;
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let mut caller = caller(globals, &env.variables, &env.cwd, None)?;
    // Whoever started the agent, what comes over this protocol is written by a model.
    caller.author = Author::Agent;
    if globals.by.is_none() && caller.delegate.is_none() {
        BY.clone_into(&mut caller.by);
    }
    let pool = ClientPool::new(DaemonPlace::new(&folder).waiting(wait(globals)), caller.info())?;
    let mut server = Server::new(Backend(Arc::new(pool)), &choice).of_one_agent();
    // Some agents start their servers in the home folder or at the root, and work elsewhere.
    let is_nowhere = env.cwd.parent().is_none() || caller.person_home.as_ref() == Some(&env.cwd);
    if is_nowhere {
        let (place, info) = (DaemonPlace::new(&folder).waiting(wait(globals)), caller.info());
        server = server.asking_where(move |cwd| {
            let info = api::CallerInfo { cwd: Some(cwd), ..info.clone() };
            ClientPool::new(place.clone(), info).ok().map(|pool| Backend(Arc::new(pool)))
        });
    }
    serve_stdio(server)?;
    Ok(())
}

/// What the process of the run itself would have.
fn served(
    args: &McpArgs,
    talent: &str,
    run: &str,
    globals: &GlobalArgs,
    env: &CommandEnv,
) -> CommandResult<TalentTools> {
    let hands = talent_commands::talent::hands(globals, env)?;
    let talent = hands.catalog.find(&TalentName::parse(talent)?)?;
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let today = daemon::talents_host::now(caller.environment.as_ref(), &hands.zone)?.date();
    let scene = ToolScene {
        use_id: UseId::parse(run)?,
        talent: talent.name.clone(),
        facet: args.facet.as_deref().map(Facet::parse).transpose()?,
        channel: args.channel.clone(),
        day: args.day.as_deref().map(Day::parse).transpose()?.unwrap_or_else(|| today.into()),
        grant: talent.front.grant,
    };
    let place = DaemonPlace::new(hands.layout.home()).waiting(wait(globals));
    let own = process::own_environment();
    let memory = MemoryHandle::new(place, caller, env.variables.clone(), own);
    let toolbox: Arc<dyn Toolbox> = Arc::new(MemoryTools::new(memory));
    Ok(TalentTools::new(&hands.layout, &hands.catalog, &toolbox, &talent, scene))
}
