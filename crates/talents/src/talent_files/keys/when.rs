//! The keys that say when a talent is started by itself.

use serde_json::Value;

use super::super::front::TalentSchedule;
use super::Reader;
use crate::triggers::{CronTimes, EventFilter, MemoryEvent, RUNS_PER_DAY, Trigger};

const FILTER_KEYS: [&str; 4] = ["event", "project", "kind", "tag"];

impl Reader<'_> {
    /// The clock or an event, if one of them starts the talent.
    pub(super) fn trigger(&mut self) -> Option<Trigger> {
        let cron = self.cron();
        let event = self.event();
        if cron.is_some() && event.is_some() {
            self.wrong("on", "\"on\" and \"cron\" exclude each other");
        }
        if event.is_some() && self.value("schedule").is_some() {
            self.wrong("on", "\"on\" and \"schedule\" exclude each other");
        }
        cron.map(Trigger::Cron).or(event.map(Trigger::Event))
    }

    fn cron(&mut self) -> Option<CronTimes> {
        let is_cron = self.value("schedule").and_then(Value::as_str) == Some("cron");
        let given = self.text("cron");
        match (is_cron, given) {
            (false, None) => None,
            (true, None) => {
                self.wrong(
                    "schedule",
                    "a schedule by the clock needs \"cron\", as \"0 9 * * mon-fri\"",
                );
                None
            }
            (false, Some(_)) => {
                self.wrong("cron", "\"cron\" goes with \"schedule\": \"cron\"");
                None
            }
            (true, Some(text)) => match CronTimes::parse(&text) {
                Ok(times) => Some(times),
                Err(why) => {
                    self.wrong("cron", format!("\"cron\": {why}"));
                    None
                }
            },
        }
    }

    fn event(&mut self) -> Option<EventFilter> {
        let given = self.value("on")?.clone();
        let text = |key: &str| match &given {
            Value::String(word) if key == "event" => Some(word.clone()),
            Value::Object(fields) => fields.get(key).and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        if let Value::Object(fields) = &given
            && let Some(odd) = fields.keys().find(|key| !FILTER_KEYS.contains(&key.as_str()))
        {
            self.wrong("on", format!("\"on\" has no {odd:?}; it has event, project, kind and tag"));
            return None;
        }
        let Some(event) = text("event").as_deref().and_then(MemoryEvent::parse) else {
            self.wrong("on", "\"on\" must name session_end or memory.saved");
            return None;
        };
        Some(EventFilter { event, project: text("project"), kind: text("kind"), tag: text("tag") })
    }

    pub(super) fn jitter_seconds(&mut self) -> u32 {
        // None at all is what zero says, too.
        if self.value("jitter_seconds").is_some_and(|value| *value == 0) {
            return 0;
        }
        self.count("jitter_seconds", 86_400).unwrap_or(0)
    }

    pub(super) fn runs_per_day_max(&mut self) -> u32 {
        self.count("runs_per_day_max", 10_000).unwrap_or(RUNS_PER_DAY)
    }

    /// A day or a segment; the clock has its own key.
    pub(super) fn schedule(&mut self) -> Option<TalentSchedule> {
        match self.value("schedule").and_then(Value::as_str) {
            Some("cron") => None,
            _ => self
                .word(
                    "schedule",
                    &[
                        ("daily", Some(TalentSchedule::Daily)),
                        ("segment", Some(TalentSchedule::Segment)),
                        ("cron", None),
                        ("none", None),
                    ],
                )
                .flatten(),
        }
    }
}
