//! Talents that the clock or the memory starts.
//!
//! Events are read from the journal, from the entry after the last one that was looked at: what happened while nothing
//! ran here is seen later, once. What must stay true: nothing is looked at unless a talent asks for it; what was
//! started is on disk before it is started; what a talent writes does not start that talent again.

use std::fs;
use std::sync::{Arc, Weak};
use std::time::Duration;

use api::DEFAULT_ACTOR;
use api::journal::{JournalEntry, JournalRequest};
use api::read::GetRequest;
use api::render::untrusted;
use api::run::{RunReceipt, RunRequest};
use jiff::Timestamp;
use kernel::actor::ActorName;
use runs::runner::Runner;
use serde_json::Value;
use service::Caller;
use talents::Day;
use talents::bus::{BusMessage, Hub};
use talents::clock::Timing;
use talents::talent_files::Talent;
use talents::triggers::{EventFilter, MemoryEvent, Trigger, TriggerState};
use tokio::sync::watch;

use crate::talents_host::TalentContext;
use crate::talents_host::host::TalentSources;
use host::Host;

/// How often the clock and the journal are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Entries that one look takes.
const ENTRIES_MAX: u32 = 500;
/// Who asks for the runs.
const CALLER: &str = "triggers";

pub(super) struct Triggers {
    sources: TalentSources,
    host: Weak<Host>,
    hub: Hub,
    runner: Runner,
    timing: Timing,
}

/// A run that is to be started.
struct Start {
    talent: String,
    prompt: String,
    schedule: &'static str,
}

impl Triggers {
    pub(super) fn new(
        sources: TalentSources,
        host: &Arc<Host>,
        hub: Hub,
        runner: Runner,
        timing: Timing,
    ) -> Triggers {
        Triggers { sources, host: Arc::downgrade(host), hub, runner, timing }
    }

    /// Looks until told to stop. Run it in a task of its own.
    pub(super) async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        loop {
            let this = Arc::clone(&self);
            let looked = tokio::task::spawn_blocking(move || this.look());
            match looked.await {
                Ok(Ok(starts)) => {
                    for start in starts {
                        self.start(start).await;
                    }
                }
                Ok(Err(why)) => tracing::warn!("triggers: {why}"),
                Err(error) => tracing::warn!("triggers: {error}"),
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }

    async fn start(&self, start: Start) {
        let request = RunRequest {
            name: Some(start.talent.clone()),
            prompt: Some(start.prompt),
            schedule: Some(start.schedule.to_owned()),
            ..RunRequest::default()
        };
        let receipt = self.runner.submit(request, CALLER).await;
        let mut told = BusMessage::new(CALLER, "started").with("name", start.talent);
        if let RunReceipt::Rejected { code, reason } = &receipt {
            told = told.with("error", reason.clone()).with("code", *code);
        }
        self.hub.publish(told);
    }

    /// What is to be started now; it is counted and written down before it is given.
    fn look(&self) -> Result<Vec<Start>, String> {
        let talents = self.sources.context().map_err(|error| error.message)?;
        let wanted: Vec<(&Talent, &Trigger)> = talents
            .catalog
            .all()
            .filter(|talent| !talent.front.disabled)
            .filter_map(|talent| Some((talent, talent.front.trigger.as_ref()?)))
            .collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.sources.layout.triggers();
        let mut state: TriggerState = fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let before = state.clone();
        let now = self.timing.clock.now();
        let mut starts = self.by_clock(&talents, &wanted, &mut state, now);
        let events: Vec<(&Talent, &EventFilter)> = wanted
            .iter()
            .filter_map(|(talent, trigger)| match trigger {
                Trigger::Event(filter) => Some((*talent, filter)),
                Trigger::Cron(_) => None,
            })
            .collect();
        if events.is_empty() {
            // Whoever asks for events later begins then.
            state.entry = None;
        } else {
            starts.extend(self.by_events(&events, &mut state)?);
        }
        let today = Day::from(now.to_zoned(talents.zone.clone()).date());
        starts.retain(|start| {
            let found = wanted.iter().find(|(talent, _)| talent.name.as_str() == start.talent);
            let most = found.map_or(0, |(talent, _)| talent.front.runs_per_day_max);
            let is_counted = state.count(&start.talent, most, today);
            if !is_counted {
                let told = BusMessage::new(CALLER, "left_out").with("name", start.talent.clone());
                self.hub.publish(told.with("reason", format!("{most} runs a day are the most")));
            }
            is_counted
        });
        if state != before {
            let text = serde_json::to_vec_pretty(&state).map_err(|error| error.to_string())?;
            llm::files::write_atomic_private(&path, &text)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(starts)
    }

    fn by_clock(
        &self,
        talents: &TalentContext,
        wanted: &[(&Talent, &Trigger)],
        state: &mut TriggerState,
        now: Timestamp,
    ) -> Vec<Start> {
        let mut starts = Vec::new();
        for (talent, trigger) in wanted {
            let Trigger::Cron(times) = trigger else { continue };
            let (name, jitter) = (talent.name.as_str(), talent.front.jitter_seconds);
            if state.is_due(name, times, jitter, now, &talents.zone) {
                let at = now.to_zoned(talents.zone.clone()).strftime("%A, %-d %B %Y, %H:%M");
                let prompt = format!("Do what is scheduled ({}) for now: {at}.", times.as_str());
                starts.push(Start { talent: name.to_owned(), prompt, schedule: "cron" });
            }
        }
        starts
    }

    fn by_events(
        &self,
        wanted: &[(&Talent, &EventFilter)],
        state: &mut TriggerState,
    ) -> Result<Vec<Start>, String> {
        let Some(host) = self.host.upgrade() else { return Ok(Vec::new()) };
        let actor = ActorName::parse(DEFAULT_ACTOR).map_err(|error| error.to_string())?;
        if !host.service.home().has(&actor) {
            // Nothing was there when somebody began to ask: the first memory of a home is news.
            state.entry = state.entry.or(Some(0));
            return Ok(Vec::new());
        }
        let caller = Caller::new(actor, CALLER);
        let from = state.entry.map_or(u64::MAX, |entry| entry.saturating_add(1));
        let request = JournalRequest {
            from: from.min(i64::MAX.unsigned_abs()),
            limit: Some(ENTRIES_MAX),
            ..JournalRequest::default()
        };
        let answer = host.service.journal(&caller, request).map_err(|error| error.to_string())?;
        let Some(_) = state.entry else {
            // What was there before anybody asked starts nothing.
            state.entry = Some(answer.size);
            return Ok(Vec::new());
        };
        let mut starts = Vec::new();
        for entry in &answer.entries {
            state.entry = Some(entry.seq);
            let Some((event, project, kind, tags, said)) = told(&host, &caller, entry) else {
                continue;
            };
            for (talent, filter) in wanted {
                let own = entry.by == talent.name.as_str();
                if !own && filter.fits(event, &project, &kind, &tags) {
                    let (talent, schedule) = (talent.name.to_string(), event.as_str());
                    starts.push(Start { talent, prompt: said.clone(), schedule });
                }
            }
        }
        Ok(starts)
    }
}

/// What an entry means for talents: the event, its project, kind and tags, and one line about it.
fn told(
    host: &Host,
    caller: &Caller,
    entry: &JournalEntry,
) -> Option<(MemoryEvent, String, String, Vec<String>, String)> {
    let text =
        |key: &str| entry.payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match entry.kind.as_str() {
        "session_end" => {
            let id = untrusted::line(&text("id"));
            let said = format!("A session has ended: {id}, by {}.", untrusted::line(&entry.by));
            Some((MemoryEvent::SessionEnd, text("project"), String::new(), Vec::new(), said))
        }
        "write" => {
            // Nobody has opened it by that, or no captured memory would ever fade where a talent listens.
            let request = GetRequest { id: entry.seq, quiet: true, ..GetRequest::default() };
            // One that was erased meanwhile starts nothing.
            let memory = host.service.get(caller, request).ok()?;
            let value = serde_json::to_value(&memory).ok()?;
            let memory = value.get("memory").unwrap_or(&value);
            let word = |key: &str| memory[key].as_str().unwrap_or_default().to_owned();
            let tags = memory["tags"].as_array().into_iter().flatten();
            let tags = tags.filter_map(Value::as_str).map(str::to_owned).collect();
            let (project, kind) = (word("project"), word("type"));
            let title = untrusted::line(&word("title"));
            let said = format!(
                "Memory [#{}] was saved: {kind}, project {project:?}, titled (quoted data): {title:?}.",
                entry.seq
            );
            Some((MemoryEvent::Saved, project, kind, tags, said))
        }
        _ => None,
    }
}
