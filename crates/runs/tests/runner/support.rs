//! A home with a runner whose talents do what the request's variable `DO` says, in shell.

use api::run::{RunEvent, RunReceipt, RunRequest};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runs::runner::log::read::{self, RunLog};
use runs::runner::{
    self, EndedRun, Facts, Probe, RunObserver, Runner, RunnerParts, RunnerSettings, TalentFacts,
    TalentProgram,
};
use serde_json::{Map, Value, json};
use talents::bus::{BusSettings, Hub};
use talents::clock::{SystemClock, Timing};
use talents::confine::VariableRules;
use talents::{Layout, TalentName, UseId};

pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Prints an event; the first argument is the rest of its fields.
const SHELL: &str = r#"
read -r request
say() { printf '{"event":"%s"%s}\n' "$1" "$2"; }
finish() { say finish ',"result":"done"'; }
eval "$DO"
"#;

#[derive(Debug)]
pub(crate) struct AnyTalent;

impl TalentFacts for AnyTalent {
    fn facts(&self, name: &TalentName, _: &RunRequest) -> Result<Facts, String> {
        match name.as_str() {
            "missing" => Err("there is no talent missing".to_owned()),
            "slow" => {
                let provider = Some("slow".to_owned());
                Ok(Facts { provider, variables: variables(), ..Facts::default() })
            }
            _ => Ok(Facts {
                timeout: None,
                env: [("FROM_TALENT", "talent"), ("FROM_BOTH", "talent")]
                    .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
                    .into(),
                provider: None,
                variables: variables(),
                policy: None,
            }),
        }
    }
}

/// What scripts need, and what the tests set.
fn variables() -> VariableRules {
    let declared = ["DO", "API_KEY", "FROM_BOTH", "GONE"].map(str::to_owned);
    let path = std::env::var("PATH").unwrap_or_default();
    VariableRules::only(declared, [("PATH".to_owned(), path)].into())
}

/// Keeps what it learns.
#[derive(Debug, Default)]
pub(crate) struct Witness(pub(crate) Mutex<Vec<EndedRun>>);

impl RunObserver for Witness {
    fn ended(&self, run: &EndedRun) {
        self.0.lock().expect("no panic").push(run.clone());
    }
}

pub(crate) struct Home {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) layout: Layout,
    pub(crate) hub: Hub,
    pub(crate) runner: Runner,
    pub(crate) witness: Arc<Witness>,
}

pub(crate) fn quick() -> RunnerSettings {
    RunnerSettings { stop_grace_ms: 300, exit_grace_ms: 300, ..RunnerSettings::default() }
}

pub(crate) fn shell() -> TalentProgram {
    TalentProgram {
        path: "/bin/sh".into(),
        args: vec!["-c".into(), SHELL.into()],
        env: BTreeMap::new(),
        folder: None,
    }
}

pub(crate) fn parts(home: &Path, settings: RunnerSettings, probe: Arc<dyn Probe>) -> RunnerParts {
    RunnerParts {
        layout: Layout::new(home),
        hub: Hub::new(BusSettings::default(), Arc::new(SystemClock)),
        timing: Timing::system(),
        settings,
        program: shell(),
        facts: Arc::new(AnyTalent),
        observer: Arc::new(()),
        probe,
    }
}

impl Home {
    pub(crate) async fn new(settings: RunnerSettings) -> Home {
        let folder = tempfile::tempdir().expect("a folder");
        let witness = Arc::new(Witness::default());
        let parts = RunnerParts {
            observer: Arc::clone(&witness) as Arc<dyn RunObserver>,
            ..parts(folder.path(), settings, Arc::new(()))
        };
        let (layout, hub) = (parts.layout.clone(), parts.hub.clone());
        let (runner, _) = Runner::start(parts).await.expect("a runner");
        Home { folder, layout, hub, runner, witness }
    }

    pub(crate) async fn ask(&self, request: Value) -> RunReceipt {
        self.runner.submit_fields(&object(request), "test").await
    }

    /// Runs a piece of shell to its end.
    pub(crate) async fn run(&self, script: &str) -> RunLog {
        self.run_with(json!({}), script).await
    }

    pub(crate) async fn run_with(&self, request: Value, script: &str) -> RunLog {
        let run = self.begin(request, script).await;
        self.end_of(&run).await;
        self.log(&run)
    }

    pub(crate) async fn begin(&self, mut request: Value, script: &str) -> UseId {
        request["env"]["DO"] = script.into();
        let receipt = self.ask(request).await;
        receipt.run().unwrap_or_else(|| panic!("{receipt:?}"))
    }

    pub(crate) async fn end_of(&self, run: &UseId) -> RunEvent {
        let waited = self.runner.wait(std::slice::from_ref(run), PATIENCE).await.expect("readable");
        waited.ended.get(run).cloned().unwrap_or_else(|| panic!("{run} did not end: {waited:?}"))
    }

    /// The log of an ended run, checked for what every log has.
    pub(crate) fn log(&self, run: &UseId) -> RunLog {
        check_log(&self.layout, run)
    }
}

/// execution 9.5: one terminal event, the last line; the request is the first; no active file.
pub(crate) fn check_log(layout: &Layout, run: &UseId) -> RunLog {
    let found = read::find(layout, run).expect("readable").expect("a log");
    assert!(!found.active, "{run} is still active");
    let log = read::read(&found.path).expect("readable");
    assert_eq!((log.torn_bytes, log.bad_lines), (0, 0));
    assert!(log.request().is_some());
    let ends = log.events.iter().filter(|event| event.is_terminal()).count();
    assert_eq!(ends, 1, "{:#?}", log.events);
    assert!(log.events.last().is_some_and(RunEvent::is_terminal));
    for (place, event) in log.events.iter().enumerate() {
        assert_eq!(event["seq"], place);
        assert_eq!(event["use_id"], run.as_str()); // execution R59
        assert!(event["ts"].is_u64()); // execution R57, R58
    }
    log
}

/// The run of a receipt, if it became one.
pub(crate) trait ReceiptRun {
    fn run(&self) -> Option<UseId>;
}

impl ReceiptRun for RunReceipt {
    fn run(&self) -> Option<UseId> {
        runner::run_of(self)
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("no object: {other}"),
    }
}

pub(crate) fn kinds(log: &RunLog) -> Vec<&str> {
    log.events.iter().map(RunEvent::name).collect()
}

/// Whether any process has this text in its environment.
pub(crate) fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        let Ok(environ) = std::fs::read(entry.path().join("environ")) else { continue };
        // One that has ended and waits for its parent has an empty environment.
        if environ.windows(mark.len()).any(|window| window == mark.as_bytes()) {
            found.push(pid);
        }
    }
    found
}
