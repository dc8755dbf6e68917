//! The work of days: what sources have new becomes segments, closed segments and days that are over are worked through
//! with the talents that are scheduled, and old run logs make room.
//!
//! What must stay true: without a provider nothing is started, and a day that is over still has a brief, by rules; what
//! has succeeded has been paid for and is not done again; a source that cannot be read costs only itself.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use api::DEFAULT_ACTOR;
use jiff::Zoned;
use jiff::civil::Time;
use kernel::actor::ActorName;
use llm::providers::BoxFuture;
use runs::runner::Runner;
use serde_json::Value;
use service::{Caller, SystemEnvironment};
use talents::bus::{BusMessage, Hub};
use talents::chronicle::{DaySource, days, sources_print, take_in};
use talents::supervisor::{DayProblem, DayWorker, SeenDay};
use talents::think::{
    self, ThinkError, ThinkHooks, ThinkReport, ThinkRequest, ThinkWork, UnitOutput,
};
use talents::{Day, Layout, TalentName};
use tokio::sync::watch;

use crate::talents_host::TalentContext;
use crate::talents_host::agent_days::AgentDays;
use crate::talents_host::host::TalentSources;
use crate::talents_host::own_runs::OwnRuns;
use crate::talents_host::readiness;
use host::Host;
use host::channels::purpose;

/// Who asks for the runs of days.
const CALLER: &str = "think";
/// Failures that the reason of a failed day names.
const NAMED_MAX: usize = 5;
/// How long after its end a segment is taken for closed: whoever records it may still be writing.
const QUIET: Duration = Duration::from_mins(1);

/// How often sessions that say nothing new are read again: a stretch may have closed meanwhile.
const TAKE_EVERY: Duration = Duration::from_mins(5);
/// How often sessions of all days are looked through, for what was forgotten.
const WHOLE_EVERY: Duration = Duration::from_hours(6);
/// Days before today that may still get something new.
const NEW_DAYS: i32 = 2;

/// Does the work of days, one at a time.
pub(super) struct Days {
    sources: TalentSources,
    host: Weak<Host>,
    hub: Hub,
    runner: Runner,
    jobs: usize,
    day: Mutex<Option<Day>>,
    /// The day on which old run logs last made room.
    swept: Mutex<Option<Day>>,
    taken: Arc<Mutex<TakeMemo>>,
}

/// What was last taken in from agents, so that it is not read again and again.
#[derive(Debug, Default)]
struct TakeMemo {
    /// What sessions there were lately.
    signature: String,
    at: Option<Instant>,
    /// When everything was last looked through, and how much was forgotten then.
    whole_at: Option<Instant>,
    forgotten: u64,
}

impl TakeMemo {
    /// Whether everything is to be looked through now, or what is new, or nothing.
    fn scope(&mut self, signature: String, forgotten: u64) -> Option<bool> {
        let now = Instant::now();
        let is_past = |at: Option<Instant>, every: Duration| {
            at.is_none_or(|at| now.duration_since(at) >= every)
        };
        let whole = is_past(self.whole_at, WHOLE_EVERY) || forgotten != self.forgotten;
        if !whole && self.signature == signature && !is_past(self.at, TAKE_EVERY) {
            return None;
        }
        (self.signature, self.forgotten, self.at) = (signature, forgotten, Some(now));
        if whole {
            self.whole_at = Some(now);
        }
        Some(whole)
    }
}

impl fmt::Debug for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Days").field("day", &self.day).finish_non_exhaustive()
    }
}

/// The time until which segments of today have ended, and today.
fn closed(talents: &TalentContext) -> api::Result<(Zoned, Time)> {
    let now = super::now(&SystemEnvironment, &talents.zone)?;
    let then = now.checked_sub(QUIET).unwrap_or_else(|_| now.clone());
    let until = if then.date() == now.date() { then.time() } else { Time::midnight() };
    Ok((now, until))
}

/// What is wanted of a day: all of it once it is over, else what has closed.
fn asked(talents: &TalentContext, day: Day, is_over: bool) -> Result<ThinkRequest, String> {
    let work = if is_over {
        ThinkWork::All
    } else {
        ThinkWork::Closed(closed(talents).map_err(|error| error.message)?.1)
    };
    Ok(ThinkRequest { day, work, facet: None, talent: None, refresh: false })
}

impl Days {
    pub(super) fn new(
        sources: TalentSources,
        host: &Arc<Host>,
        hub: Hub,
        runner: Runner,
        jobs: usize,
    ) -> Days {
        let (host, day, swept) = (Arc::downgrade(host), Mutex::default(), Mutex::default());
        Days { sources, host, hub, runner, jobs, day, swept, taken: Arc::default() }
    }

    /// Once a day, old run logs make room.
    async fn sweep(&self, today: Day) {
        let before = self.swept.lock().unwrap_or_else(PoisonError::into_inner).replace(today);
        if before == Some(today) {
            return;
        }
        match self.runner.sweep().await {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => tracing::warn!("{} old runs were removed", removed.len()),
            Err(error) => tracing::warn!("old runs were not removed: {error}"),
        }
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

    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TalentSources, Option<Arc<Host>>) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (sources, host) = (self.sources.clone(), self.host.upgrade());
        let done = tokio::task::spawn_blocking(move || work(&sources, host));
        done.await.map_err(|error| error.to_string())?
    }

    async fn think(
        &self,
        talents: &TalentContext,
        asked: &ThinkRequest,
    ) -> Result<ThinkReport, ThinkError> {
        // Whoever stops the schedule drops this, and with it the runs.
        let (_never, stop) = watch::channel(false);
        let runs = Arc::new(OwnRuns::new(self.runner.clone(), CALLER));
        let hooks = Arc::new(DayHooks { host: Weak::clone(&self.host), hub: self.hub.clone() });
        let layout = &self.sources.layout;
        think::run(layout, &talents.catalog, asked, self.jobs, runs, hooks, stop).await
    }

    /// Works on a day that has models to ask; says what failed.
    async fn with_models(
        &self,
        talents: &TalentContext,
        day: Day,
        is_over: bool,
    ) -> Result<(), DayProblem> {
        let asked = asked(talents, day, is_over)?;
        let report = match self.think(talents, &asked).await {
            Ok(report) => report,
            // What lay there is gone.
            Err(ThinkError::NoDay(_)) => return Ok(()),
            Err(error) => return Err(error.to_string().into()),
        };
        if report.is_well() {
            return Ok(());
        }
        let mut labels: Vec<String> =
            report.failed().map(think::UnitReport::label_in_day).collect();
        let more = labels.len().saturating_sub(NAMED_MAX);
        labels.truncate(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let why = format!("{}{more}", labels.join(", "));
        Err(DayProblem { why, is_of_answers: report.only_answers_failed() })
    }
}

impl DayWorker for Days {
    fn look(&self, since: Day) -> BoxFuture<'_, Result<Vec<SeenDay>, String>> {
        let taken = Arc::clone(&self.taken);
        let looked = self.on_thread(move |sources, host| {
            let talents = sources.context().map_err(|error| error.message)?;
            let layout = &sources.layout;
            let (now, until) = closed(&talents).map_err(|error| error.message)?;
            let today = Day::from(now.date());
            if let Some(host) = host {
                let source = AgentDays::new(host, talents.zone.clone());
                let lately = now.date().checked_sub(jiff::Span::new().days(NEW_DAYS));
                let lately = lately.map_or(today, Day::from).max(since);
                let signature = source.signature(lately);
                let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
                let scope = taken.scope(signature, source.forgotten());
                drop(taken);
                if let Some(whole) = scope {
                    take(layout, &source, if whole { since } else { lately });
                }
            }
            let is_talent =
                |name: &TalentName| talents.catalog.all().any(|talent| talent.name == *name);
            let mut seen = Vec::new();
            let all = days(layout).map_err(|error| error.to_string())?;
            for day in all.into_iter().filter(|day| *day >= since && *day <= today) {
                let until = (day == today).then_some(until);
                let print = sources_print(layout, day, until, &is_talent)
                    .map_err(|error| error.to_string())?;
                seen.push(SeenDay { day, print });
            }
            Ok((today, seen))
        });
        Box::pin(async move {
            let (today, seen) = looked.await?;
            self.sweep(today).await;
            Ok(seen)
        })
    }

    fn is_done(&self, day: Day, is_over: bool) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let looked = self.on_thread(move |sources, _| {
                let talents = sources.context().map_err(|error| error.message)?;
                let asked = asked(&talents, day, is_over)?;
                let planned = think::plan(&sources.layout, &talents.catalog, &asked)
                    .map_err(|error| error.to_string())?;
                Ok(planned.units().next().is_none())
            });
            looked.await.unwrap_or(false)
        })
    }

    fn work(&self, day: Day, is_over: bool) -> BoxFuture<'_, Result<(), DayProblem>> {
        Box::pin(async move {
            *self.day.lock().unwrap_or_else(PoisonError::into_inner) = Some(day);
            let _guard = DayGuard(&self.day);
            let context =
                |sources: &TalentSources, _| sources.context().map_err(|error| error.message);
            let talents = self.on_thread(context).await?;
            let done = if talents.can_think() {
                self.with_models(&talents, day, is_over).await
            } else {
                Ok(())
            };
            if is_over {
                let (layout, catalog) = (self.sources.layout.clone(), Arc::clone(&talents.catalog));
                let brief = move |_: &TalentSources, _| {
                    let written = think::brief_by_rules(&layout, &catalog, day);
                    written.map_err(|error| error.to_string())
                };
                if let Err(why) = self.on_thread(brief).await {
                    tracing::warn!("the brief of {day}: {why}");
                }
            }
            done
        })
    }

    fn readiness(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let told = self
                .on_thread(|sources, host| {
                    let talents = sources.context().map_err(|error| error.message)?;
                    let actor =
                        ActorName::parse(DEFAULT_ACTOR).map_err(|error| error.to_string())?;
                    let caller = Caller::new(actor, CALLER);
                    let refused = host.and_then(|host| host.may_spend(&caller, purpose("", false)));
                    let refused = refused.map_or("may spend", |refusal| refusal.code());
                    Ok((talents, refused))
                })
                .await;
            match told {
                Ok((talents, refused)) => {
                    format!("{refused}; {}", readiness::of_providers(&talents).await)
                }
                Err(why) => why,
            }
        })
    }
}

/// Takes in what agents have from a day on. What cannot be read is said, and costs nothing else.
fn take(layout: &Layout, source: &AgentDays, since: Day) {
    match take_in(layout, source, since) {
        Ok(taken) if taken.written + taken.removed > 0 => tracing::info!(
            "{}: {} segments taken in, {} removed",
            source.name(),
            taken.written,
            taken.removed
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!("{}: {error}", source.name()),
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
    host: Weak<Host>,
    hub: Hub,
}

impl ThinkHooks for DayHooks {
    fn tell(&self, event: Value) {
        if let Value::Object(fields) = event {
            self.hub.publish(BusMessage::new(CALLER, "").and(fields));
        }
    }

    fn index<'a>(&'a self, output: &'a UnitOutput) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let (host, path) = (self.host.upgrade(), output.path.clone());
            let Some(host) = host else { return Err("the daemon is stopping".to_owned()) };
            let work = tokio::task::spawn_blocking(move || host.index_output(&path));
            work.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        })
    }
}
