//! Runs over the bus, for `think`: asked for, heard, waited for, cancelled.
//!
//! Ends of runs are listened for before the first run is asked for, so none can be missed. After a lost connection, or
//! when messages were dropped, every run that is still waited for is replayed from its log. What must stay true: a wait
//! ends when its run has ended, when its time is up counted from the process's start, or when the bus stays away.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::run::{FinishPayload, RunRequest};
use api::{Error, ErrorCode, Fault, Result};
use llm::providers::BoxFuture;
use serde_json::Value;
use talents::bus::{
    BUS_TOPIC, BusClient, BusClientEvent, BusClientSettings, BusFilter, BusMessage, FilterClause,
    RUN_TOPIC, ask_once,
};
use talents::clock::SystemJitter;
use talents::think::{RunEnd, RunLauncher};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// How long the runner may take to say whether it takes a run.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// How long the bus may be away before a run is given up.
const AWAY_MAX: Duration = Duration::from_mins(1);
/// Between two looks at whether the bus is there.
const LOOK: Duration = Duration::from_secs(1);
/// Runs of others whose ends are kept until it is known whose they are.
const STRANGERS_MAX: usize = 4_096;

#[derive(Debug, Default)]
struct Run {
    /// Somebody here waits for it.
    ours: bool,
    began: Option<Instant>,
    ended: Option<RunEnd>,
}

#[derive(Debug, Default)]
struct RunTracker {
    runs: Mutex<HashMap<String, Run>>,
    changed: Notify,
}

impl RunTracker {
    fn runs(&self) -> MutexGuard<'_, HashMap<String, Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, message: &BusMessage) {
        let Some(use_id) = message.use_id().filter(|_| message.topic() == RUN_TOPIC) else {
            return;
        };
        let mut runs = self.runs();
        if runs.len() >= STRANGERS_MAX && !runs.contains_key(use_id) {
            runs.retain(|_, run| run.ours);
        }
        let run = runs.entry(use_id.to_owned()).or_default();
        match message.event() {
            "spawned" => run.began = run.began.or_else(|| Some(Instant::now())),
            "finish" => run.ended = finish(message).map(RunEnd::Finished),
            "error" if message.ends_run() => {
                let text = |key: &str| message.text(key).unwrap_or_default().to_owned();
                run.ended = Some(RunEnd::Failed { error: text("error"), code: text("reason") });
            }
            _ => return,
        }
        drop(runs);
        self.changed.notify_waiters();
    }

    /// The runs somebody waits for.
    fn open(&self) -> Vec<String> {
        let runs = self.runs();
        let open = runs.iter().filter(|(_, run)| run.ours && run.ended.is_none());
        open.map(|(use_id, _)| use_id.clone()).collect()
    }
}

/// The last event without the answer itself, which may be long and is on disk.
fn finish(message: &BusMessage) -> Option<Box<FinishPayload>> {
    let finish = message.run_event().payload::<FinishPayload>()?;
    Some(Box::new(FinishPayload { result: None, ..finish }))
}

#[derive(Debug)]
pub struct BusRuns {
    client: Arc<BusClient>,
    tracker: Arc<RunTracker>,
}

impl BusRuns {
    /// Connects to the bus; says at once if nobody serves it.
    pub async fn connect(socket: &Path) -> Result<BusRuns> {
        let status = BusMessage::new(BUS_TOPIC, "status");
        ask_once(socket, status, ANSWER_PATIENCE).await.map_err(|error| {
            Error::new(ErrorCode::named(error.code()), Fault::Busy, error.to_string())
                .with_hint("`cortex serve` runs talents; `cortex doctor` tells more")
        })?;
        let settings =
            BusClientSettings { name: "think".to_owned(), ..BusClientSettings::default() };
        let (client, incoming) = BusClient::start(socket, settings, Arc::new(SystemJitter));
        let client = Arc::new(client);
        client.subscribe(BusFilter::of(vec![FilterClause {
            topic: vec![RUN_TOPIC.to_owned()],
            event: ["spawned", "finish", "error"].map(str::to_owned).to_vec(),
            use_id: Vec::new(),
        }]));
        let tracker = Arc::new(RunTracker::default());
        tokio::spawn(listen(Arc::downgrade(&client), incoming, Arc::clone(&tracker)));
        Ok(BusRuns { client, tracker })
    }

    /// Tells everybody.
    pub fn tell(&self, tract: &str, event: Value) {
        if let Value::Object(fields) = event
            && let Some(name) = fields.get("event").and_then(Value::as_str).map(str::to_owned)
        {
            // What does not fit is counted by the client; nobody depends on hearing it.
            let _ = self.client.send(&BusMessage::new(tract, &name).and(fields));
        }
    }

    async fn ended(&self, use_id: &str, limit: Duration) -> RunEnd {
        let mut there = Instant::now();
        loop {
            let changed = self.tracker.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let until = {
                let runs = self.tracker.runs();
                let run = runs.get(use_id);
                if let Some(ended) = run.and_then(|run| run.ended.clone()) {
                    return ended;
                }
                run.and_then(|run| run.began).map(|began| began + limit)
            };
            let now = Instant::now();
            if self.client.status().connected {
                there = now;
            } else if now.duration_since(there) > AWAY_MAX {
                let error = "the daemon went away".to_owned();
                return RunEnd::Failed { error, code: "daemon_gone".to_owned() };
            }
            if until.is_some_and(|until| now >= until) {
                return RunEnd::TimedOut;
            }
            let look = until.map_or(now + LOOK, |until| until.min(now + LOOK));
            tokio::select! {
                () = &mut changed => {}
                () = tokio::time::sleep_until(look) => {}
            }
        }
    }
}

async fn listen(
    client: std::sync::Weak<BusClient>,
    mut incoming: mpsc::Receiver<BusClientEvent>,
    tracker: Arc<RunTracker>,
) {
    while let Some(came) = incoming.recv().await {
        match came {
            BusClientEvent::Message(message) => tracker.take(&message),
            BusClientEvent::Disconnected => {}
            // Something may have been said meanwhile; the logs know.
            BusClientEvent::Connected | BusClientEvent::Dropped(_) => {
                let Some(client) = client.upgrade() else { return };
                for use_id in tracker.open() {
                    client.send(&BusMessage::new(BUS_TOPIC, "replay").with("use_id", use_id));
                }
            }
        }
    }
}

impl RunLauncher for BusRuns {
    fn start(&self, request: RunRequest) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let answer = self.client.request_run(request, ANSWER_PATIENCE).await;
            let answer = answer.map_err(|error| error.to_string())?;
            let text = |key: &str| answer.get(key).and_then(Value::as_str);
            match (text("state"), text("use_id")) {
                (Some("accepted" | "queued"), Some(use_id)) => {
                    self.tracker.runs().entry(use_id.to_owned()).or_default().ours = true;
                    Ok(use_id.to_owned())
                }
                _ => Err(text("reason").unwrap_or("the runner did not take it").to_owned()),
            }
        })
    }

    fn wait<'a>(&'a self, use_id: &'a str, limit: Duration) -> BoxFuture<'a, RunEnd> {
        Box::pin(self.ended(use_id, limit))
    }

    fn cancel<'a>(&'a self, use_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let cancel = BusMessage::new(RUN_TOPIC, "cancel").with("use_id", use_id);
            // A run that ended meanwhile needs no cancelling, and its end was told.
            let _ = self.client.ask(cancel, ANSWER_PATIENCE).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use api::run::RunEnvironment;
    use runs::bus_server::BusServer;
    use runs::runner::{Facts, Runner, RunnerParts, RunnerSettings, TalentFacts, TalentProgram};
    use talents::bus::{BusSettings, Hub};
    use talents::clock::{SystemClock, Timing};
    use talents::confine::VariableRules;
    use talents::{Layout, TalentName};

    use super::*;

    #[derive(Debug)]
    struct Any;

    impl TalentFacts for Any {
        fn facts(&self, name: &TalentName, _: &RunRequest) -> std::result::Result<Facts, String> {
            if name.as_str() == "missing" {
                return Err("there is no such talent".to_owned());
            }
            let path = std::env::var("PATH").unwrap_or_default();
            let base = [("PATH".to_owned(), path)].into();
            let variables = VariableRules::only(["TALENT_TEST".to_owned()], base);
            Ok(Facts { variables, ..Facts::default() })
        }
    }

    const SHELL: &str = r#"read -r request; case "$TALENT_TEST" in
        sleep) sleep 60;;
        fail) printf '{"event":"error","error":"broke","reason":"no_output"}\n';;
        *) printf '{"event":"finish","result":"long","output_path":"/x"}\n';;
    esac"#;

    // execution R113, R116
    #[tokio::test]
    async fn runs_are_started_waited_for_and_cancelled_over_the_real_bus() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let hub = Hub::new(BusSettings::default(), Arc::new(SystemClock));
        let program = TalentProgram {
            path: "/bin/sh".into(),
            args: vec!["-c".into(), SHELL.into()],
            ..TalentProgram::default()
        };
        let (runner, _) = Runner::start(RunnerParts {
            layout: layout.clone(),
            hub: hub.clone(),
            timing: Timing::system(),
            settings: RunnerSettings { stop_grace_ms: 200, ..RunnerSettings::default() },
            program,
            facts: Arc::new(Any),
            observer: Arc::new(()),
            probe: Arc::new(()),
        })
        .await
        .unwrap();
        let none = BusRuns::connect(&layout.bus_socket()).await.unwrap_err();
        assert_eq!(none.code, api::ErrorCode::NoBus);
        std::fs::create_dir_all(layout.bus_socket().parent().unwrap()).unwrap();
        let server = BusServer::start(hub, layout.clone(), &layout.bus_socket()).await.unwrap();
        let runs = BusRuns::connect(&layout.bus_socket()).await.unwrap();
        let named =
            |name: &str| RunRequest { name: Some(name.to_owned()), ..RunRequest::default() };
        let ask = |what: &str| RunRequest {
            prompt: Some("p".to_owned()),
            env: Some(RunEnvironment::of([("TALENT_TEST".to_owned(), what.to_owned())])),
            ..named("x")
        };
        let wait = Duration::from_secs(30);
        let good = runs.start(ask("")).await.unwrap();
        let RunEnd::Finished(finish) = runs.wait(&good, wait).await else { panic!("no finish") };
        assert_eq!((finish.output_path.as_deref(), finish.result), (Some("/x"), None));
        let bad = runs.start(ask("fail")).await.unwrap();
        let broke = RunEnd::Failed { error: "broke".into(), code: "no_output".into() };
        assert_eq!(runs.wait(&bad, wait).await, broke);
        assert!(runs.start(named("missing")).await.is_err());
        let slow = runs.start(ask("sleep")).await.unwrap();
        assert_eq!(runs.wait(&slow, Duration::from_millis(100)).await, RunEnd::TimedOut);
        runs.cancel(&slow).await;
        let ended = runs.wait(&slow, wait).await;
        assert!(matches!(&ended, RunEnd::Failed { code, .. } if code == "cancelled"), "{ended:?}");
        runner.shutdown().await;
        server.stop().await.unwrap();
    }
}
