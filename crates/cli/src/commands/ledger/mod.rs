//! `cortex ledger`: the PostgreSQL database that several nodes share, and what is in it.

mod actors;
mod state;
mod tokens;

use std::time::Duration;

use api::{Error, ErrorCode, Fault};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::commands::service::serve;
use crate::failure::CommandResult;
use crate::invocation::{CommandEnv, GlobalArgs, home_config, home_folder, wait};
use crate::output::Output;
use crate::wiring::ledger::{self, OpenLedger};

/// Many machines, one memory: a ledger in PostgreSQL that nodes share.
///
/// `cortex ledger init URL` makes it once; `cortex serve --ledger URL` on each machine then serves it. Every request
/// needs a token: init prints the administrator's, `cortex ledger token issue` makes others.
/// docs/cluster.md tells the rest.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex ledger init postgres://cortex@db/cortex
  cortex serve --ledger postgres://cortex@db/cortex
  cortex ledger status
  cortex ledger token issue ada --expires 30d
  cortex ledger push --ledger postgres://cortex@db/cortex")]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    step: LedgerStep,
}

#[derive(Subcommand, Debug)]
enum LedgerStep {
    /// Makes the tables, and a token of an administrator that is printed once.
    ///
    /// JSON: {token, token_id, ledger, new,
    /// version}
    Init(InitArgs),
    /// Whether the database answers, how fast it commits, actors and nodes.
    ///
    /// JSON: {ledger, version, commit_ms, actors,
    /// nodes}
    Status(PlaceArgs),
    /// The nodes of the last day.
    ///
    /// JSON: [{name, url, alive, seen_ms_ago, version, open_actors, lag}]
    Nodes(PlaceArgs),
    /// Puts the actors of this home (or --actor) into the ledger.
    ///
    /// JSON: [{actor, entries, moved, root}]
    Push(PlaceArgs),
    /// Makes actors of the ledger (or --actor) this home's own.
    ///
    /// JSON: [{actor, entries, moved, root}]
    Pull(PlaceArgs),
    /// Tokens: who may come in
    Token(tokens::LedgerTokenArgs),
}

#[derive(Args, Debug)]
struct InitArgs {
    /// Where the database is, such as postgres://cortex@db/cortex
    url: String,
    /// Parts of the tables; 0: none, for engines that shard by themselves
    #[arg(long, value_name = "N", default_value_t = ledger::parts_default())]
    parts: u32,
}

#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// Where the ledger is [env: CORTEX_LEDGER_URL]
    #[arg(long, value_name = "URL")]
    ledger: Option<String>,
}

pub(crate) fn run(
    args: &LedgerArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let config = home_config(globals, env)?;
    let named = |url: Option<&str>| ledger::settings(&config, url, &env.variables);
    let open = |place: &PlaceArgs| OpenLedger::new(named(place.ledger.as_deref())?);
    match &args.step {
        LedgerStep::Init(args) => {
            let settings = named(Some(&args.url))?;
            let Some(settings) = settings else { return Ok(()) };
            let made = ledger::init(&settings, args.parts)?;
            let view = json!({
                "token": made.token, "token_id": made.token_id, "ledger": settings.place(),
                "new": made.is_new, "version": made.version,
            });
            let what = if made.is_new { "made a ledger" } else { "there is a ledger" };
            out.either(
                &view,
                format_args!(
                    "{what} at {}\nThe token of an administrator, told once; treat it like a password:\n{}",
                    settings.place(),
                    made.token
                ),
            )
        }
        LedgerStep::Status(place) => state::status(&open(place)?, out),
        LedgerStep::Nodes(place) => state::nodes(&open(place)?, out),
        LedgerStep::Push(place) | LedgerStep::Pull(place) => {
            let folder = home_folder(globals, &env.variables, &env.cwd)?;
            let patience: Duration = wait(globals);
            // Held to the end: no daemon takes the home meanwhile.
            let access = serve::enter(&folder, patience)?;
            if matches!(access, serve::HomeAccess::Served(_)) {
                let served =
                    Error::new(ErrorCode::Served, Fault::Busy, "a daemon serves this home");
                return Err(served
                    .with_hint("`cortex stop` ends it; start it again when this is done")
                    .into());
            }
            let home = (folder.as_path(), &config, patience);
            let is_push = matches!(args.step, LedgerStep::Push(_));
            actors::run(&open(place)?, home, globals.actor.as_deref(), is_push, out)
        }
        LedgerStep::Token(args) => tokens::run(args, &open(args.place())?, out),
    }
}
