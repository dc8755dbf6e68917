//! `cortex chat`: a conversation that Cortex keeps, from the terminal.

use std::io::{BufRead as _, BufReader};

use ::talents::bus::{BusConnection, BusFilter};
use ::talents::{Layout, UseId};
use api::Operation;
use api::channel::{
    ChannelBranchRequest, ChannelGetRequest, ChannelListRequest, ChannelRemoveRequest,
    ChannelSayRequest, ChannelStopRequest, ChannelWorkerRequest,
};
use api::run::RunEventKind;
use clap::Args;
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use client::start::connect_or_start;
use daemon::talents_host::event_summary::summary;
use daemon::talents_host::settings;
use serde_json::{Map, Value};
use service::{Caller, config};

use crate::bus::{Ending, Interrupt, follow, place, runtime};
use crate::talent;
use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, caller};
use command_line::output::{Output, plain, plain_lines};
use command_line::process;

/// The channel of a person who names none.
const MAIN: &str = "main";
const COMMANDS: &str =
    "/branch QUESTION   think it through aside; the conclusion comes back as a note
/worker TASK       let a talent do it; it knows only the task
/history           what was said
/stop              stop the answer, the branches and the workers
/quit              leave; the conversation stays";

/// Talks in a channel: a conversation that goes on over days.
///
/// Each message is answered by a model that is told what matters now (the bulletin) and what was said before. When a
/// conversation grows too long, its oldest part becomes memories and a note. Without a message, lines are read from
/// standard input; /help lists what else can be typed. The daemon keeps the conversation and is started if it is not
/// there.
///
/// JSON: the event that ended the run, one line per message; with --list {channels}; with --history the channel
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex chat main 'What did we decide about the cache?'
  cortex chat
  cortex chat --list
  cortex chat main --history
  cortex chat plans --branch 'Which of the three plans costs least?'")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct ChatArgs {
    /// Name of the channel [default: main]
    channel: Option<String>,
    /// What to say
    #[arg(trailing_var_arg = true)]
    message: Vec<String>,
    /// Others read this channel: nothing private reaches it. Counts when it is made
    #[arg(long)]
    shared: bool,
    /// Think this through aside; the conclusion becomes a note
    #[arg(long, value_name = "QUESTION", conflicts_with_all = ["message", "worker", "list", "history"])]
    branch: Option<String>,
    /// Let a talent do this; its result becomes a note
    #[arg(long, value_name = "TASK", conflicts_with_all = ["message", "list", "history"])]
    worker: Option<String>,
    /// The talent of a worker
    #[arg(long, value_name = "NAME", requires = "worker")]
    talent: Option<String>,
    /// Provider, instead of the one that the settings choose
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Model, instead of the one that the settings choose
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Show what was said
    #[arg(long, conflicts_with_all = ["message", "list"])]
    history: bool,
    /// Remove the channel and its transcript; memories that came of it stay
    #[arg(long, conflicts_with_all = ["message", "list", "history", "branch", "worker"])]
    remove: bool,
    /// Show all channels
    #[arg(long, conflicts_with = "message")]
    list: bool,
}

/// A person at a channel.
struct Conversation<'a> {
    args: &'a ChatArgs,
    channel: String,
    place: DaemonPlace,
    caller: Caller,
    daemon: DaemonClient,
    env: Map<String, Value>,
}

pub fn run(
    args: &ChatArgs,
    globals: &GlobalArgs,
    env: CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, &env)?;
    let config = config::load(&place.home, &env.variables)?;
    let providers = settings::providers(&Layout::new(&place.home), &config)?;
    let variables = talent::keys(&providers, &process::own_environment());
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let daemon = connect_or_start(&place)?;
    let mut talk = Conversation {
        args,
        channel: args.channel.clone().unwrap_or_else(|| MAIN.to_owned()),
        place,
        caller,
        daemon,
        env: variables.into_iter().map(|(name, value)| (name, Value::String(value))).collect(),
    };
    if args.list {
        return talk.list(out);
    }
    if args.history {
        return talk.history(out);
    }
    if args.remove {
        return talk.remove(out);
    }
    if let Some(question) = &args.branch {
        return talk.branch(question, out);
    }
    if let Some(task) = &args.worker {
        return talk.worker(task, out);
    }
    if !args.message.is_empty() {
        return talk.say(&args.message.join(" "), out);
    }
    if env.input_is_terminal {
        out.say(format_args!("channel {}; /help lists what else can be typed", talk.channel));
    }
    for line in BufReader::new(env.input).lines() {
        let line =
            line.map_err(|error| Failure::Io { what: "standard input".to_owned(), error })?;
        let line = line.trim();
        let outcome = match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
            ("", _) => continue,
            ("/quit" | "/exit", _) => return Ok(()),
            ("/help", _) => out.line(COMMANDS),
            ("/history", _) => talk.history(out),
            ("/stop", _) => talk.stop(out),
            ("/branch", question) => talk.branch(question, out),
            ("/worker", task) => talk.worker(task, out),
            (command, _) if command.starts_with('/') => {
                Err(Failure::input(format!("there is no {command}; /help lists what there is")))
            }
            _ => talk.say(line, out),
        };
        // In a conversation a refusal is an answer, and the next line is read.
        if let Err(failure) = outcome {
            out.failure(&failure);
        }
        out.flush()?;
    }
    Ok(())
}

impl Conversation<'_> {
    fn ask<R: Operation + Clone>(&mut self, request: R) -> CommandResult<R::Answer> {
        Ok(self.daemon.ask(&self.caller.info(), request)?)
    }

    fn say(&mut self, message: &str, out: &mut Output) -> CommandResult {
        let request = ChannelSayRequest {
            channel: self.channel.clone(),
            message: message.to_owned(),
            shared: self.args.shared,
            provider: self.args.provider.clone(),
            model: self.args.model.clone(),
            env: self.env.clone(),
        };
        let started = self.ask(request)?;
        if !started.redacted.is_empty() {
            out.say(format_args!("not kept: {}", plain(&started.redacted)));
        }
        let run =
            UseId::parse(&started.use_id).map_err(|error| Failure::input(error.to_string()))?;
        runtime()?.block_on(self.answer(&run, out))
    }

    /// Shows the answer while it is written.
    async fn answer(&self, run: &UseId, out: &mut Output) -> CommandResult {
        let line =
            BusConnection::connect(&self.place.callosum(), "chat", &BusFilter::none()).await?;
        let mut wrote = false;
        let ending = follow(&self.place, line, run, Interrupt::Cancels, out, |event, out| {
            if out.is_json() {
                return Ok(());
            }
            if event.kind() == RunEventKind::TextDelta {
                let text = event.text("delta").unwrap_or_default();
                out.text(plain_lines(text))?;
                out.flush()?;
                wrote = true;
            } else if let Some(told) = summary(event) {
                out.say(format_args!("  {told}"));
            }
            Ok(())
        })
        .await?;
        let Ending::Ended(event) = ending else {
            let message = "the answer goes on; --history shows it later".to_owned();
            return Err(Failure::Check { code: "left", message });
        };
        let text = |key: &str| event.text(key).unwrap_or_default();
        if out.is_json() {
            out.object(&event)?;
        }
        if event.kind() != RunEventKind::Finish {
            let message = format!("no answer: {}", plain(text("error")));
            return Err(Failure::Check { code: "run_failed", message });
        }
        if out.is_json() {
            return Ok(());
        }
        if wrote { out.line("") } else { out.line(plain_lines(text("result").trim_end())) }
    }

    fn branch(&mut self, question: &str, out: &mut Output) -> CommandResult {
        let (channel, env) = (self.channel.clone(), self.env.clone());
        let description = question.to_owned();
        let started = self.ask(ChannelBranchRequest { channel, description, env })?;
        out.either(&started, format_args!("branch {} thinks", started.use_id))
    }

    fn worker(&mut self, task: &str, out: &mut Output) -> CommandResult {
        let (channel, env) = (self.channel.clone(), self.env.clone());
        let (task, talent) = (task.to_owned(), self.args.talent.clone());
        let started = self.ask(ChannelWorkerRequest { channel, task, talent, env })?;
        out.either(&started, format_args!("worker {} works", started.use_id))
    }

    fn stop(&mut self, out: &mut Output) -> CommandResult {
        let stopped = self.ask(ChannelStopRequest { channel: self.channel.clone() })?;
        out.either(&stopped, format_args!("{} runs were asked to stop", stopped.cancelled.len()))
    }

    fn remove(&mut self, out: &mut Output) -> CommandResult {
        let removed = self.ask(ChannelRemoveRequest { channel: self.channel.clone() })?;
        out.either(&removed, format_args!("channel {} is removed", removed.channel))
    }

    fn list(&mut self, out: &mut Output) -> CommandResult {
        let list = self.ask(ChannelListRequest {})?;
        if out.is_json() {
            return out.object(&list);
        }
        if list.channels.is_empty() {
            out.say("no channels yet; `cortex chat` begins one");
        }
        for channel in &list.channels {
            let whose = if channel.shared { "shared" } else { "private" };
            let busy = if channel.is_answering { ", answering" } else { "" };
            let (name, count, last) = (&channel.channel, channel.messages, &channel.last_at);
            out.line(format_args!("{name}  {whose}, {count} messages{busy}, last {last}"))?;
        }
        Ok(())
    }

    fn history(&mut self, out: &mut Output) -> CommandResult {
        let channel = self.channel.clone();
        let found = self.ask(ChannelGetRequest { channel, limit: None })?;
        if out.is_json() {
            return out.object(&found);
        }
        for said in &found.said {
            out.line(format_args!("{}  {}: {}", said.at, said.by, plain_lines(&said.text)))?;
        }
        if let Some(error) = &found.view.last_error {
            out.say(format_args!("the last message was not answered: {}", plain(error)));
        }
        Ok(())
    }
}
