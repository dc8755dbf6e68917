//! `cortex talent cancel`: tells runs to end.

use ::runs::runner::log::read;
use ::talents::bus::{BusConnection, BusFilter};
use ::talents::{Layout, UseId};
use api::{Error, ErrorCode, Fault};
use clap::Args;
use serde_json::json;

use crate::bus::{place, runtime};
use command_line::failure::CommandResult;
use command_line::invocation::{CommandEnv, GlobalArgs};
use command_line::output::Output;

/// Cancels runs: one, all of a talent, or all that a run asked for.
///
/// Exit code 3 if there is none to cancel. JSON: {cancelled: [use_id]}
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
#[command(after_help = "Examples:
  cortex talent cancel 1768464000123
  cortex talent cancel --name daily_brief
  cortex talent cancel --parent 1768464000123")]
pub(super) struct CancelArgs {
    /// The id of a run
    run: Option<String>,
    /// All runs of this talent
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// All runs that this one asked for, and theirs
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

pub(super) fn run(
    args: &CancelArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, env)?;
    let given = [("use_id", &args.run), ("name", &args.name), ("parent", &args.parent)];
    let (which, value) = given
        .into_iter()
        .find_map(|(which, value)| Some((which, value.as_deref()?)))
        .unwrap_or_default();
    let cancelled = runtime()?.block_on(async {
        BusConnection::connect(&place.callosum(), "cli", &BusFilter::none())
            .await?
            .cancel_runs(which, value)
            .await
    })?;
    if cancelled.is_empty() {
        let ended = which == "use_id"
            && UseId::parse(value).is_ok_and(|run| {
                matches!(read::find(&Layout::new(&place.home), &run), Ok(Some(_)))
            });
        let why = match which {
            _ if ended => format!("run {value} has ended already"),
            "use_id" => format!("there is no run {value}"),
            "name" => format!("no run of {value} goes on"),
            _ => format!("no run that {value} asked for goes on"),
        };
        return Err(Error::new(ErrorCode::NotFound, Fault::Missing, why)
            .with_hint("`cortex talent log` shows the runs there are")
            .into());
    }
    let said = format!("cancelled {}", cancelled.join(", "));
    out.either(&json!({"cancelled": cancelled}), said)
}
