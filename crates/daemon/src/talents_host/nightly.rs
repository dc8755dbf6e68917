//! The work of a day that is over: old run logs make room, and the talents that are scheduled work through the day.
//!
//! What must stay true: without a provider nothing is started; what has failed is tried again alone, because what has
//! succeeded has been paid for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::DEFAULT_ACTOR;
use kernel::actor::ActorName;
use llm::providers::BoxFuture;
use serde_json::Value;
use service::Caller;
use talents::bus::{BusMessage, Hub};
use talents::runner::Runner;
use talents::talent_files::TalentCatalog;
use talents::think::{
    self, ThinkError, ThinkHooks, ThinkReport, ThinkRequest, ThinkWork, UnitOutput,
};
use talents::{Day, TalentName};
use tokio::sync::watch;

use crate::talents_host::host::TalentSources;
use crate::talents_host::memory::MemoryHandle;
use crate::talents_host::own_runs::OwnRuns;
use crate::talents_host::{TalentContext, outputs};

/// Who asks for the runs of the night, and who saves their outputs.
const CALLER: &str = "think";
/// How long an output waits for a memory that somebody else has open.
const MEMORY_WAIT: Duration = Duration::from_secs(10);
/// Failures that the reason of a failed day names.
const NAMED_MAX: usize = 5;

/// Does the work of days, one at a time.
#[derive(Debug)]
pub(super) struct Nightly {
    sources: TalentSources,
    hub: Hub,
    runner: Runner,
    jobs: usize,
    day: Mutex<Option<Day>>,
    /// The talents of a day that failed.
    failed: Mutex<Option<(Day, BTreeSet<TalentName>)>>,
}

impl Nightly {
    pub(super) fn new(sources: TalentSources, hub: Hub, runner: Runner, jobs: usize) -> Nightly {
        let (day, failed) = (Mutex::default(), Mutex::default());
        Nightly { sources, hub, runner, jobs, day, failed }
    }

    pub(super) fn context(&self) -> api::Result<TalentContext> {
        self.sources.context()
    }

    /// The day that is worked on now.
    pub(super) fn day(&self) -> Option<String> {
        let day = self.day.lock().unwrap_or_else(PoisonError::into_inner);
        day.map(|day| day.to_string())
    }

    pub(super) fn is_working(&self) -> bool {
        self.day().is_some()
    }

    pub(super) async fn work(&self, day: Day) -> Result<(), String> {
        *self.day.lock().unwrap_or_else(PoisonError::into_inner) = Some(day);
        let _guard = DayGuard(&self.day);
        match self.runner.sweep().await {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => tracing::warn!("{} old runs were removed", removed.len()),
            Err(error) => tracing::warn!("old runs were not removed: {error}"),
        }
        let sources = self.sources.clone();
        let catalog = tokio::task::spawn_blocking(move || {
            let talents = sources.context().map_err(|error| error.message)?;
            Ok::<_, String>(talents.can_think().then_some(talents.catalog))
        });
        let Some(catalog) = catalog.await.map_err(|error| error.to_string())?? else {
            return Ok(());
        };
        let mut failed = BTreeSet::new();
        let mut labels = Vec::new();
        for asked in self.asked(day) {
            match self.think(&catalog, &asked).await? {
                Ok(report) => {
                    failed.extend(
                        report.failed().filter_map(|unit| TalentName::parse(&unit.talent).ok()),
                    );
                    labels.extend(report.failed().map(think::UnitReport::label));
                }
                // Nothing was recorded on that day.
                Err(ThinkError::NoDay(_)) => return Ok(()),
                Err(error) => {
                    failed.extend(asked.talent.clone());
                    labels.push(error.to_string());
                }
            }
        }
        let well = labels.is_empty();
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) =
            (!failed.is_empty()).then_some((day, failed));
        if well {
            return Ok(());
        }
        let more = labels.len().saturating_sub(NAMED_MAX);
        labels.truncate(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Err(format!("{}{more}", labels.join(", ")))
    }

    /// The whole day; only what failed if it was tried before.
    fn asked(&self, day: Day) -> Vec<ThinkRequest> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let whole =
            ThinkRequest { day, work: ThinkWork::All, facet: None, talent: None, refresh: false };
        match &*failed {
            Some((tried, talents)) if *tried == day => talents
                .iter()
                .map(|talent| ThinkRequest { talent: Some(talent.clone()), ..whole.clone() })
                .collect(),
            _ => vec![whole],
        }
    }

    async fn think(
        &self,
        catalog: &TalentCatalog,
        asked: &ThinkRequest,
    ) -> Result<Result<ThinkReport, ThinkError>, String> {
        // Whoever stops the schedule drops this, and with it the runs.
        let (_never, stop) = watch::channel(false);
        let runs = Arc::new(OwnRuns::new(self.runner.clone(), CALLER));
        let sources = self.sources.clone();
        let actor = ActorName::parse(DEFAULT_ACTOR).map_err(|error| error.to_string())?;
        let caller = Caller::new(actor, CALLER);
        let memory = MemoryHandle::new(
            sources.place.clone(),
            caller,
            sources.variables.clone(),
            sources.environment.clone(),
            MEMORY_WAIT,
        );
        let hooks = Arc::new(DayHooks { memory, hub: self.hub.clone(), sources });
        let layout = &self.sources.layout;
        Ok(think::run(layout, catalog, asked, self.jobs, runs, hooks, stop).await)
    }
}

/// The day is no longer worked on, however the work ended.
struct DayGuard<'a>(&'a Mutex<Option<Day>>);

impl Drop for DayGuard<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

struct DayHooks {
    memory: MemoryHandle,
    hub: Hub,
    sources: TalentSources,
}

impl ThinkHooks for DayHooks {
    fn tell(&self, event: Value) {
        if let Value::Object(fields) = event {
            self.hub.publish(BusMessage::new(CALLER, "").and(fields));
        }
    }

    fn index<'a>(&'a self, output: &'a UnitOutput) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let saved = outputs::index(&self.memory, self.sources.layout.home(), output).await;
            saved.map(drop).map_err(|error| error.message)
        })
    }
}
