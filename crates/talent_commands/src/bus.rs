//! `cortex bus`: hears, says and looks at the bus; and what other commands need of it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::Duration;

use api::run::RunEvent;
use clap::{Args, Subcommand};
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use client::start::connect_or_start;
use runs::runner::log::read;
use serde_json::{Map, Value, json};
use talents::UseId;
use talents::bus::{BUS_TOPIC, BusClientError, BusConnection, BusFilter, BusMessage, FilterClause};
use talents::layout::Layout;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, home_folder, wait};
use command_line::output::Output;

/// Between two looks at whether the bus is there again.
const LOOK: Duration = Duration::from_millis(500);
/// How often a daemon that dies during a run is started again.
const STARTS_MAX: u32 = 3;
/// Bytes of a message that is read from standard input.
const MESSAGE_BYTES_MAX: u64 = talents::bus::LINE_BYTES_MAX as u64;

/// Hears and says what goes over the bus of the daemon.
///
/// docs/callosum.md has the protocol.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex bus listen --tract cortex
  cortex bus listen --use-id 1768464000123 --replay
  cortex bus send notes added title='Standup' count=3
  cortex bus status")]
pub struct BusArgs {
    #[command(subcommand)]
    step: BusStep,
}

#[derive(Subcommand, Debug)]
enum BusStep {
    Listen(ListenArgs),
    Send(SendArgs),
    Status(StatusArgs),
}

/// Prints what is said, one JSON object per line, until it is interrupted.
#[derive(Args, Debug)]
struct ListenArgs {
    /// Only this tract; repeat or separate with commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tract: Vec<String>,
    /// Only this event; repeat or separate with commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    event: Vec<String>,
    /// Only about this run; repeat or separate with commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    use_id: Vec<String>,
    /// First what happened in these runs so far; ends when they have ended
    #[arg(long, requires = "use_id")]
    replay: bool,
}

/// Says something on the bus.
///
/// Values are JSON where they can be read as such, else text. JSON: the answer
#[derive(Args, Debug)]
struct SendArgs {
    /// TRACT EVENT [KEY=VALUE ...], or one JSON object, or - for one on standard input
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,
}

/// Shows the counters of the bus and of those who listen.
#[derive(Args, Debug)]
struct StatusArgs {}

pub fn run(
    args: &BusArgs,
    globals: &GlobalArgs,
    mut env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, &env)?;
    match &args.step {
        BusStep::Listen(args) => runtime()?.block_on(listen(args, &place, out)),
        BusStep::Send(args) => {
            let message = message(&args.words, &mut env)?;
            let shown = format!("{}/{}", message.topic(), message.event());
            let answer = runtime()?.block_on(ask(&place, message))?;
            if out.is_json() {
                return out.object(&answer);
            }
            if answer.get("state").and_then(Value::as_str) == Some("rejected") {
                return Err(refusal(&answer).into());
            }
            out.say(format_args!("{shown} was taken"));
            Ok(())
        }
        BusStep::Status(StatusArgs {}) => {
            let answer = runtime()?.block_on(ask(&place, BusMessage::new(BUS_TOPIC, "status")))?;
            status(answer, out)
        }
    }
}

/// Where the daemon of this home is.
pub fn place(globals: &GlobalArgs, env: &CommandEnv) -> CommandResult<DaemonPlace> {
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let place = DaemonPlace::new(&home).waiting(wait(globals));
    // A daemon that does not answer is found out here, where the wait has an end; none is no error yet.
    drop(DaemonClient::connect(&place)?);
    Ok(place)
}

/// For commands that speak with the bus.
pub fn runtime() -> CommandResult<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Io { what: "a runtime".to_owned(), error })
}

/// Says something that is answered.
pub async fn ask(place: &DaemonPlace, message: BusMessage) -> CommandResult<Map<String, Value>> {
    let mut line = BusConnection::connect(&place.callosum(), "cli", &BusFilter::none()).await?;
    let mut answer = line.ask(message).await?;
    for key in ["tract", "event", "ref", "ok"] {
        answer.remove(key);
    }
    Ok(answer)
}

pub fn refusal(answer: &Map<String, Value>) -> BusClientError {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    BusClientError::Refused { code: text("code"), why: text("reason") }
}

/// How following a run ended.
#[derive(Debug)]
pub enum Ending {
    /// The event that ended the run.
    Ended(RunEvent),
    /// The person does not want to wait any longer.
    Left,
}

/// What an interrupt means to a run that is followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interrupt {
    Cancels,
    Leaves,
}

/// Shows a run to its end. A daemon that dies meanwhile is started again: it ends the run and tells how. One that was
/// stopped has ended the run before it went, and stays away.
pub async fn follow(
    place: &DaemonPlace,
    mut line: BusConnection,
    run: &UseId,
    interrupt: Interrupt,
    out: &mut Output,
    mut show: impl FnMut(&RunEvent, &mut Output) -> CommandResult,
) -> CommandResult<Ending> {
    let failed = |error| Failure::Io { what: "signals".to_owned(), error };
    let mut interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminates = signal(SignalKind::terminate()).map_err(failed)?;
    let (mut last, mut starts, mut cancelled) = (None, 0, interrupt == Interrupt::Leaves);
    line.follow_run(run, None).await?;
    loop {
        let heard = tokio::select! {
            heard = line.next_event_of(run) => heard,
            _ = interrupts.recv() => Err(BusClientError::NoAnswer),
            _ = terminates.recv() => Err(BusClientError::NoAnswer),
        };
        match heard {
            Ok(Some(event)) => {
                last = event.seq().or(last);
                show(&event, out)?;
                if event.is_terminal() {
                    return Ok(Ending::Ended(event));
                }
            }
            // The person.
            Err(BusClientError::NoAnswer) if cancelled => return Ok(Ending::Left),
            Err(BusClientError::NoAnswer) => {
                cancelled = true;
                out.say("cancelling; once more leaves the run to itself");
                line.cancel_runs("use_id", run.as_str()).await?;
            }
            Ok(None) | Err(BusClientError::ConnectionLost) if starts < STARTS_MAX => {
                let rest = rest_of_ended(place, run, last)?;
                for event in &rest {
                    show(event, out)?;
                }
                if let Some(end) = rest.into_iter().next_back() {
                    return Ok(Ending::Ended(end));
                }
                starts += 1;
                out.say("the daemon went away; it is started again");
                line = again(place).await?;
                line.follow_run(run, last).await?;
            }
            Ok(None) => return Err(BusClientError::ConnectionLost.into()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the log of a run that has ended says after event `last`, its end included; nothing while it has not ended.
fn rest_of_ended(
    place: &DaemonPlace,
    run: &UseId,
    last: Option<u64>,
) -> CommandResult<Vec<RunEvent>> {
    let layout = Layout::new(&place.home);
    let unread = |error| Failure::Io { what: layout.runs().display().to_string(), error };
    let found = read::find(&layout, run).map_err(unread)?.filter(|found| !found.active);
    let Some(found) = found else { return Ok(Vec::new()) };
    let log = read::read(&found.path).map_err(unread)?;
    let mut rest: Vec<_> = log.events.into_iter().filter(|event| event.seq() > last).collect();
    let ended = rest.iter().rposition(RunEvent::is_terminal);
    rest.truncate(ended.map_or(0, |end| end + 1));
    Ok(rest)
}

async fn again(place: &DaemonPlace) -> CommandResult<BusConnection> {
    let whose = place.clone();
    let started = tokio::task::spawn_blocking(move || connect_or_start(&whose)).await;
    drop(started.map_err(|error| Failure::Io {
        what: "the daemon".to_owned(),
        error: std::io::Error::other(error),
    })??);
    Ok(BusConnection::connect(&place.callosum(), "cli", &BusFilter::none()).await?)
}

async fn listen(args: &ListenArgs, place: &DaemonPlace, out: &mut Output) -> CommandResult {
    let runs = args.use_id.iter().map(|id| UseId::parse(id)).collect::<Result<Vec<_>, _>>();
    let runs = runs.map_err(|error| Failure::input(error.to_string()))?;
    let filter = BusFilter::of(vec![FilterClause {
        topic: args.tract.clone(),
        event: args.event.clone(),
        use_id: args.use_id.clone(),
    }]);
    let path = place.callosum();
    let mut line = BusConnection::connect(&path, "listen", &filter).await?;
    // The runs that are replayed, and the last event of each that was shown.
    let mut open: BTreeMap<UseId, Option<u64>> =
        runs.into_iter().filter(|_| args.replay).map(|run| (run, None)).collect();
    for run in open.keys() {
        line.follow_run(run, None).await?;
    }
    loop {
        let Ok(Some(message)) = line.next().await else {
            out.say("the bus is gone; waiting for it");
            line = loop {
                tokio::time::sleep(LOOK).await;
                if let Ok(line) = BusConnection::connect(&path, "listen", &filter).await {
                    break line;
                }
            };
            if args.replay {
                out.say("the bus is there again");
            } else {
                out.say("the bus is there again; what was said meanwhile is missing");
            }
            for (run, last) in &open {
                line.follow_run(run, *last).await?;
            }
            continue;
        };
        // Said to us alone, about what we asked.
        let own = message.topic() == BUS_TOPIC;
        if own && message.event() == "error" {
            return Err(Failure::from(BusClientError::Refused {
                code: message.text("code").unwrap_or_default().to_owned(),
                why: message.text("error").unwrap_or_default().to_owned(),
            }));
        }
        let run = message.use_id().and_then(|id| UseId::parse(id).ok());
        let replayed = own && message.event() == "replayed";
        if !replayed && wanted(args, &message) {
            out.object(message.fields())?;
            out.flush()?;
        }
        if let Some(run) = run {
            if replayed {
                open.remove(&run);
            } else if let Some(last) = open.get_mut(&run) {
                *last = message.seq().or(*last);
            }
        }
        if args.replay && open.is_empty() {
            return Ok(());
        }
    }
}

/// What is replayed comes whole; the wish for single events still holds.
fn wanted(args: &ListenArgs, message: &BusMessage) -> bool {
    let one_of = |words: &[String], word: &str| words.is_empty() || words.iter().any(|w| w == word);
    message.topic() == BUS_TOPIC
        || (one_of(&args.tract, message.topic()) && one_of(&args.event, message.event()))
}

fn message(words: &[String], env: &mut CommandEnv) -> CommandResult<BusMessage> {
    let text = match words {
        [only] if only == "-" => {
            let mut text = String::new();
            (&mut env.input)
                .take(MESSAGE_BYTES_MAX + 1)
                .read_to_string(&mut text)
                .map_err(|error| Failure::Io { what: "standard input".to_owned(), error })?;
            text
        }
        [only] => only.clone(),
        [tract, event, pairs @ ..] => {
            let mut message = BusMessage::new(tract, event);
            for pair in pairs {
                let (key, value) = pair
                    .split_once('=')
                    .ok_or_else(|| Failure::input(format!("{pair:?} is not KEY=VALUE")))?;
                let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
                message = message.with(key, value);
            }
            return checked(message.into_fields());
        }
        [] => return Err(Failure::input("a message has a tract and an event")),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => checked(fields),
        Ok(_) => Err(Failure::input("a message is a JSON object")),
        Err(error) => Err(Failure::input(format!("a message is a JSON object: {error}"))),
    }
}

fn checked(fields: Map<String, Value>) -> CommandResult<BusMessage> {
    BusMessage::from_fields(fields).map_err(|bad| Failure::input(bad.to_string()))
}

fn status(answer: Map<String, Value>, out: &mut Output) -> CommandResult {
    if out.is_json() {
        return out.object(&answer);
    }
    let mut view = answer;
    let clients = view.shift_remove("clients").unwrap_or_default();
    out.table(&Value::Object(view))?;
    for client in clients.as_array().into_iter().flatten() {
        let name = client["name"].as_str().unwrap_or_default();
        out.line(format_args!(
            "client {:<20} received {}, sent {}, dropped {}, waiting {}",
            command_line::output::plain(name),
            client["received"],
            client["sent"],
            client["dropped"],
            client["waiting"]
        ))?;
    }
    Ok(())
}
