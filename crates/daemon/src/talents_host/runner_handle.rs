//! The runner as operations use it: from a thread that may block, without knowing the runner.

use std::time::Duration;

use api::run::{RunEventKind, RunReceipt, RunRequest};
use api::{Error, ErrorCode, Fault, Result};
use runs::runner::{RunSelector, Runner};
use serde_json::{Map, Value};
use talents::UseId;
use talents::bus::{BusMessage, Hub};
use tokio::runtime::Handle;

use host::run_control::{ActiveRun, RunControl};

#[derive(Debug)]
pub(super) struct RunnerHandle {
    runner: Runner,
    hub: Hub,
    runtime: Handle,
}

impl RunnerHandle {
    /// Must be made inside the daemon's runtime.
    pub(super) fn new(runner: Runner, hub: Hub) -> RunnerHandle {
        RunnerHandle { runner, hub, runtime: Handle::current() }
    }
}

impl RunControl for RunnerHandle {
    fn start(&self, request: RunRequest, by: &str) -> Result<String> {
        match self.runtime.block_on(self.runner.submit(request, by)) {
            RunReceipt::Accepted { use_id, .. } | RunReceipt::Queued { use_id, .. } => Ok(use_id),
            RunReceipt::Rejected { code, reason } => {
                let fault = match code {
                    "unknown_talent" => Fault::Missing,
                    "queue_full" | "shutting_down" | "log_failed" | "internal" => Fault::Server,
                    _ => Fault::Caller,
                };
                Err(Error::new(ErrorCode::named(code), fault, reason))
            }
        }
    }

    fn wait(&self, use_id: &str, patience: Duration) -> std::result::Result<String, String> {
        let run = UseId::parse(use_id).map_err(|error| error.to_string())?;
        let mut events = self.runner.follow(&run, None);
        let ended = async {
            loop {
                match events.next().await {
                    Ok(Some(event)) if event.event.is_terminal() => break Ok(event.event),
                    Ok(Some(_)) => {}
                    Ok(None) => break Err("the run has no end".to_owned()),
                    Err(error) => break Err(error.to_string()),
                }
            }
        };
        let ended = self.runtime.block_on(async { tokio::time::timeout(patience, ended).await });
        let end = ended.map_err(|_| format!("run {use_id} is not done yet"))??;
        let text = |key: &str| end.text(key).unwrap_or_default().to_owned();
        match end.kind() {
            RunEventKind::Finish => Ok(text("result")),
            _ => Err(text("error")),
        }
    }

    fn cancel(&self, use_id: &str) -> bool {
        UseId::parse(use_id).is_ok_and(|run| !self.runner.cancel(&RunSelector::Run(run)).is_empty())
    }

    fn live(&self) -> Vec<ActiveRun> {
        let status = self.runner.status();
        let run = |run: api::run::LiveRun| ActiveRun {
            use_id: run.use_id,
            talent: run.name,
            actor: run.actor,
            channel: run.channel,
            context: run.context,
        };
        status.running.into_iter().chain(status.queued).map(run).collect()
    }

    fn tell(&self, tract: &str, event: Map<String, Value>) {
        self.hub.publish(BusMessage::new(tract, "").and(event));
    }
}
