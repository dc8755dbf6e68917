//! `cortex supervisor`: keeps the daemon running, and shows its services and the work of its days.

mod alone;

use api::{Error, ErrorCode, Fault};
use clap::{Args, Subcommand};
use client::connection::DaemonClient;
use serde_json::{Value, json};
use talents::bus::{BusMessage, SUPERVISOR_TOPIC};

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs};
use crate::output::{Output, plain};
use talent_commands::bus::{ask, place, refusal, runtime};

/// Keeps the daemon running; shows its services, and how far the work of the days has come.
///
/// Without a subcommand it starts the daemon, as `cortex serve` does, and starts it again when it dies or does not
/// answer: after growing waits, and not any more when it does nothing but crash (exit code 1). `cortex stop` ends both.
/// If another daemon serves the home already, it takes over when that one ends.
///
/// The daemon in turn keeps its own services running, and when a day is over it runs the talents that are scheduled for
/// it. Days that were missed while nothing ran are made up for.
///
/// JSON: what happens to the daemon, one object per line: {event: started | stopped | restarting | stale | given_up, …}
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  cortex supervisor
  cortex supervisor status
  cortex supervisor restart schedule"
)]
pub(crate) struct SupervisorArgs {
    #[command(subcommand)]
    step: Option<SupervisorStep>,
    // For tests: how long the daemon may be silent, and how long it may take to stop.
    #[arg(long, hide = true, value_name = "SECONDS")]
    patience: Option<u64>,
}

#[derive(Subcommand, Debug)]
enum SupervisorStep {
    Status(StatusArgs),
    Restart(RestartArgs),
}

/// Shows the services, the schedule and the machine. Exit code 3 if no daemon runs, 1 if a service was given up.
///
/// JSON: {services: [{name, health, uptime_seconds, starts, crashes, last_end}], schedule: {since, done,
/// waiting: {day: {attempts, error, next_at}}, left_out}, next_midnight, working_on, running, queued, vitals}
#[derive(Args, Debug)]
struct StatusArgs {}

/// Ends a service and starts it again; one that was given up gets another chance.
#[derive(Args, Debug)]
struct RestartArgs {
    /// Name of the service
    name: String,
}

pub(crate) fn run(
    args: &SupervisorArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let Some(step) = &args.step else {
        return alone::run(args.patience, globals, env, out);
    };
    let place = place(globals, env)?;
    match step {
        SupervisorStep::Restart(args) => {
            let message =
                BusMessage::new(SUPERVISOR_TOPIC, "restart").with("service", args.name.as_str());
            let answer = runtime()?.block_on(ask(&place, message))?;
            if answer.get("state").and_then(Value::as_str) == Some("rejected") {
                return Err(refusal(&answer).into());
            }
            out.either(&json!({"restarting": args.name}), format_args!("{} restarts", args.name))
        }
        SupervisorStep::Status(StatusArgs {}) => {
            let Some(mut client) = DaemonClient::connect(&place)? else {
                let message = format!("no daemon runs for {}", place.home.display());
                return Err(Error::new(ErrorCode::NotRunning, Fault::Missing, message)
                    .with_hint("`cortex serve` starts one")
                    .into());
            };
            let hands = client.status()?["hands"].take();
            if let Some(why) = hands["problem"].as_str() {
                let message = format!("talents cannot run here: {why}");
                return Err(Error::new(ErrorCode::NotServed, Fault::Server, message).into());
            }
            status(&hands, out)
        }
    }
}

fn status(hands: &Value, out: &mut Output) -> CommandResult {
    let services = hands["services"].as_array().map(Vec::as_slice).unwrap_or_default();
    let given_up = services.iter().filter(|service| service["health"] == "given_up").count();
    if out.is_json() {
        out.object(hands)?;
    } else {
        for service in services {
            let text = |key: &str| service[key].as_str().unwrap_or_default();
            let last =
                service["last_end"].as_str().map(|why| format!(", last end: {}", plain(why)));
            out.line(format_args!(
                "{:<16} {} for {:.0} s, {} starts, {} crashes{}",
                text("name"),
                text("health"),
                service["uptime_seconds"].as_f64().unwrap_or_default(),
                service["starts"],
                service["crashes"],
                last.unwrap_or_default()
            ))?;
        }
        let schedule = &hands["schedule"];
        let day = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        out.line(format_args!("{:<16} {}", "days done until", day(&schedule["done"])))?;
        out.line(format_args!("{:<16} {}", "works on", day(&hands["working_on"])))?;
        out.line(format_args!("{:<16} {}", "next midnight", day(&hands["next_midnight"])))?;
        for (waits, record) in schedule["waiting"].as_object().into_iter().flatten() {
            let why = plain(record["error"].as_str().unwrap_or_default());
            let attempts = &record["attempts"];
            out.line(format_args!("{:<16} {waits}, {attempts} times: {why}", "failed"))?;
        }
        for (days, why) in schedule["left_out"].as_object().into_iter().flatten() {
            let why = plain(why.as_str().unwrap_or_default());
            out.line(format_args!("{:<16} {days}: {why}", "left out"))?;
        }
        let count = |name: &str| hands[name].as_array().map_or(0, Vec::len);
        out.line(format_args!(
            "{:<16} {} go on, {} wait",
            "runs",
            count("running"),
            count("queued")
        ))?;
        out.line(format_args!("{:<16} {}", "machine", machine(&hands["vitals"])))?;
    }
    if given_up > 0 {
        let message = format!("{given_up} services were given up");
        return Err(Failure::Check { code: "given_up", message });
    }
    Ok(())
}

/// How the machine is, in one line.
fn machine(vitals: &Value) -> String {
    let giga = |key: &str| {
        let bytes = vitals[key].as_u64()?;
        #[expect(clippy::cast_precision_loss, reason = "a size that is shown with one digit")]
        Some(bytes as f64 / f64::from(1 << 30))
    };
    let parts = [
        vitals["load"].as_f64().map(|load| format!("load {load:.1}")),
        giga("memory_available_bytes").map(|free| format!("{free:.1} GiB of memory free")),
        giga("disk_available_bytes").map(|free| format!("{free:.1} GiB of disk free")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
