//! Looks over the shoulder of every run: what the bus tells of runs becomes what the mind knows of processes.
//!
//! What must stay true: a run is never held up by being watched; if messages were missed, the mind is told who runs now
//! and judges nobody by old news.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use api::admin::ProcessKind;
use api::run::{RunEvent, RunEventKind, RunRequest};
use kernel::actor::ActorName;
use mind::hook::CortexHook;
use mind::supervision::{ProcessEvent, ProcessId};
use mind::warmup::ProcessType;
use runs::runner::Runner;
use serde_json::Value;
use service::Caller;
use talents::bus::{BusFilter, BusMessage, Delivery, Hub, RUN_TOPIC};

use host::channels::actor_of;
use host::{Host, process_of};

/// Who tells the mind.
const BY: &str = "runner";
/// Text that streams in is progress; it is told this often.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// What one message of the bus can make of itself.
const TOLD_MAX: usize = 16;
/// Characters of a task or a result that the log of processes keeps; the run's own log has the whole.
const SHOWN_CHARS: usize = 500;

struct WatchedRun {
    /// Whose memory the run works with.
    caller: Caller,
    hook: CortexHook,
    channel: Option<String>,
    status: String,
    told: Instant,
}

/// Runs that are watched.
struct RunWatch {
    runs: BTreeMap<String, WatchedRun>,
    send: SyncSender<ProcessEvent>,
    seen: Receiver<ProcessEvent>,
}

/// Watches until the daemon is gone.
pub(super) async fn watch(hub: Hub, host: Weak<Host>, runner: Runner) {
    let mut subscription = hub.subscribe(BusFilter::topic(RUN_TOPIC));
    drop(hub);
    let (send, seen) = sync_channel(TOLD_MAX);
    let mut watch = RunWatch { runs: BTreeMap::new(), send, seen };
    loop {
        let delivery = subscription.next().await;
        let Some(host) = host.upgrade() else { return };
        let runner = runner.clone();
        // The mind writes to its log: that may block.
        let worked = tokio::task::spawn_blocking(move || {
            match delivery {
                Delivery::Event(event) => watch.hear(&host, &event.message),
                Delivery::Dropped(_) => watch.missed(&host, &runner),
            }
            watch
        });
        watch = match worked.await {
            Ok(watch) => watch,
            Err(error) => {
                tracing::warn!("runs are no longer watched: {error}");
                return;
            }
        };
    }
}

impl RunWatch {
    fn hear(&mut self, host: &Host, message: &BusMessage) {
        let Some(use_id) = message.use_id() else { return };
        let event = message.run_event();
        if event.kind() == RunEventKind::Request {
            // A request that cannot be read was refused before it became a run.
            if let Ok(request) = RunRequest::from_log(event.fields()) {
                self.begun(host, use_id, &request);
            }
            return;
        }
        let Some(run) = self.runs.get_mut(use_id) else { return };
        let text = |key: &str| event.text(key).unwrap_or_default();
        // The hook says only ever to go on.
        let _ = match event.kind() {
            RunEventKind::Queued => {
                run.says("waits for its turn");
                run.hook.on_queued()
            }
            RunEventKind::Spawned => run.says("begins"),
            RunEventKind::Start => {
                run.says(&format!("asks {}", text("model")));
                run.hook.on_completion_start()
            }
            RunEventKind::ToolStart => {
                run.says(&format!("uses {}", text("tool")));
                run.hook.on_tool_start(text("tool"))
            }
            RunEventKind::ToolEnd => {
                let result = event.get("result").cloned().unwrap_or_default();
                // One that was not asked, because it failed before, did not fail again.
                if text("blame") != "past" {
                    let broken = text("blame") == "tool";
                    run.hook.on_tool_result(text("tool"), &result.to_string(), broken);
                }
                run.says("reads what came back");
                run.hook.on_completion_start()
            }
            RunEventKind::Finish => run.hook.on_completion_response(tokens(&event)),
            _ => {
                if run.told.elapsed() >= PROGRESS_EVERY {
                    run.told = Instant::now();
                    host.progressed(&run.caller, &run.hook.process);
                }
                mind::hook::HookAction::Continue
            }
        };
        for event in self.seen.try_iter() {
            host.observe(&run.caller, event);
        }
        if event.is_terminal() {
            self.ended(host, use_id, &event);
        }
    }

    fn begun(&mut self, host: &Host, use_id: &str, request: &RunRequest) {
        let Some(process) = process_of(request, use_id) else { return };
        // A name that is none was refused before it became a run.
        let Ok(actor) = actor_of(request) else { return };
        let caller = Caller::new(actor, BY);
        if process.kind == ProcessKind::Worker {
            let kind =
                if request.schedule.is_some() { ProcessType::Cron } else { ProcessType::Worker };
            // A worker of a channel was counted when the channel asked for it.
            if request.channel.is_none() {
                host.dispatched(&caller, kind);
            }
            let name = request.name.as_deref().unwrap_or_default();
            let task = match &request.prompt {
                Some(prompt) => format!("{name}: {}", shown(prompt)),
                None => name.to_owned(),
            };
            let started_at = request.ts.and_then(|ts| i64::try_from(ts).ok()).unwrap_or_default();
            host.observe(
                &caller,
                ProcessEvent::WorkerStarted {
                    worker_id: use_id.to_owned(),
                    channel_id: request.channel.clone(),
                    task,
                    started_at,
                },
            );
        }
        let agent_id = caller.actor.as_str().to_owned();
        let hook = CortexHook { agent_id, process, event_tx: self.send.clone() };
        let (channel, status) = (request.channel.clone(), String::new());
        let watched = WatchedRun { caller, hook, channel, status, told: Instant::now() };
        self.runs.insert(use_id.to_owned(), watched);
    }

    fn ended(&mut self, host: &Host, use_id: &str, event: &RunEvent) {
        let Some(run) = self.runs.remove(use_id) else { return };
        let process = run.hook.process;
        // A conversation goes on after a turn.
        if process.kind != ProcessKind::Channel {
            let result = match event.text("error") {
                Some(error) => format!("failed: {}", shown(error)),
                None => shown(event.text("result").unwrap_or_default()),
            };
            host.process_ended(&run.caller, &process, &result);
        }
    }

    /// Messages were lost: who runs now is asked for.
    fn missed(&mut self, host: &Host, runner: &Runner) {
        let status = runner.status();
        let live: Vec<String> =
            status.running.into_iter().chain(status.queued).map(|run| run.use_id).collect();
        self.runs.retain(|use_id, _| live.contains(use_id));
        let mut running: BTreeMap<ActorName, Vec<ProcessId>> = BTreeMap::new();
        for actor in host.minded_actors() {
            running.insert(actor, Vec::new());
        }
        for run in self.runs.values() {
            let process = run.hook.process.clone();
            running.entry(run.caller.actor.clone()).or_default().push(process);
        }
        for (actor, running) in running {
            host.events_were_missed(&Caller::new(actor, BY), &running);
        }
    }
}

impl WatchedRun {
    /// Tells what it does now, if that is news.
    fn says(&mut self, status: &str) -> mind::hook::HookAction {
        if self.status == status {
            return mind::hook::HookAction::Continue;
        }
        status.clone_into(&mut self.status);
        self.hook.on_status(self.channel.as_deref(), status)
    }
}

fn tokens(event: &RunEvent) -> u64 {
    let usage = event.get("usage");
    let count = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64);
    count("total_tokens")
        .unwrap_or_else(|| count("input_tokens").unwrap_or(0) + count("output_tokens").unwrap_or(0))
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Starts watching.
pub(super) fn start(hub: &Hub, host: &Arc<Host>, runner: &Runner) {
    tokio::spawn(watch(hub.clone(), Arc::downgrade(host), runner.clone()));
}
