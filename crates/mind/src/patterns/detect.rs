//! The detectors. Each counts what was seen within its window and says what it found; none knows what was found
//! before.

use std::collections::{BTreeMap, BTreeSet};

use kernel::memory::{MemoryType, Millis};
use kernel::salience::DAY_MS;

use super::words::slug;
use super::{PatternFinding, PatternWatch, Sighting, Sign, expiry};
use crate::settings::{PatternSettings, days_ms};

const HOUR_MS: i64 = 3_600_000;
/// Patterns one look may find of each kind.
const FINDINGS_MAX: usize = 20;

/// Importance of an observation, and of something a person said of themselves.
const OBSERVED: u32 = 600_000;
const SELF: u32 = 900_000;

/// Everything that repeats at `now`.
pub fn detect(
    watch: &PatternWatch,
    settings: &PatternSettings,
    now: Millis,
) -> Vec<PatternFinding> {
    if !settings.enabled {
        return Vec::new();
    }
    let mut findings = topics(watch, settings, now);
    findings.extend(corrections(watch, settings, now));
    findings.extend(self_facts(watch, settings, now));
    findings.extend(failing_tools(watch, settings, now));
    findings.extend(habits(watch, settings, now));
    findings
}

/// One finding from the things seen for it.
fn finding(
    key: String,
    title: String,
    content: String,
    needed: u32,
    seen: &[&Sighting],
) -> PatternFinding {
    let mut seen_at: Vec<i64> = seen.iter().map(|seen| seen.at_unix_ms).collect();
    seen_at.sort_unstable();
    let entries: BTreeSet<u64> = seen.iter().filter_map(|seen| seen.entry).collect();
    PatternFinding {
        key,
        memory_type: MemoryType::Pattern,
        title,
        content,
        importance: OBSERVED,
        seen_at,
        needed: needed as usize,
        evidence: seen.iter().filter_map(|seen| seen.memory).collect(),
        entries: entries.into_iter().collect(),
        private: seen.iter().any(|seen| seen.private),
        expires: None,
    }
}

/// Things seen by topic, most often first; a word that comes only together with a more frequent one is left out.
fn by_topic<'a>(
    seen: impl Iterator<Item = &'a Sighting>,
    topics: impl Fn(&'a Sighting) -> Option<&'a Vec<(String, String)>>,
    needed: u32,
) -> Vec<(String, String, Vec<&'a Sighting>)> {
    let mut counted: BTreeMap<&str, (&str, Vec<&Sighting>)> = BTreeMap::new();
    for one in seen {
        for (stem, shown) in topics(one).into_iter().flatten() {
            let entry = counted.entry(stem).or_insert((shown, Vec::new()));
            entry.1.push(one);
            // A name is written with a capital in the middle of a sentence; that spelling is the better one.
            if shown.chars().next().is_some_and(char::is_uppercase) {
                entry.0 = shown;
            }
        }
    }
    let mut found: Vec<(&str, &str, Vec<&Sighting>)> = counted
        .into_iter()
        .filter(|(_, (_, seen))| seen.len() >= needed as usize)
        .map(|(stem, (shown, seen))| (stem, shown, seen))
        .collect();
    let capital = |shown: &str| shown.chars().next().is_some_and(char::is_uppercase);
    found.sort_by_key(|(stem, shown, seen)| {
        (std::cmp::Reverse(seen.len()), !capital(shown), std::cmp::Reverse(stem.len()), *stem)
    });
    let mut kept: Vec<(String, String, Vec<&Sighting>)> = Vec::new();
    for (stem, shown, seen) in found {
        let covered =
            |known: &Vec<&Sighting>| seen.iter().all(|one| known.iter().any(|k| k == one));
        if kept.len() < FINDINGS_MAX && !kept.iter().any(|(_, _, known)| covered(known)) {
            kept.push((stem.to_owned(), shown.to_owned(), seen));
        }
    }
    kept
}

fn last_of(seen: &[&Sighting]) -> i64 {
    seen.iter().map(|seen| seen.at_unix_ms).max().unwrap_or_default()
}

fn topics(watch: &PatternWatch, settings: &PatternSettings, now: Millis) -> Vec<PatternFinding> {
    let from = now.get() - days_ms(settings.topic_window_days);
    let asked = by_topic(
        watch.since(from, now),
        |seen| match &seen.sign {
            Sign::Asked { topics } => Some(topics),
            _ => None,
        },
        settings.topic_questions,
    );
    asked
        .into_iter()
        .map(|(stem, shown, seen)| {
            let days = settings.topic_window_days;
            let content = format!(
                "{} questions about {shown} within {days} days: the user is actively working on it or learning it.",
                seen.len()
            );
            let (key, title) = (format!("mind/topic/{}", slug(&stem)), format!("Keeps asking about {shown}"));
            let found = finding(key, title, content, settings.topic_questions, &seen);
            PatternFinding { expires: Some(expiry(settings, last_of(&seen))), ..found }
        })
        .collect()
}

fn corrections(
    watch: &PatternWatch,
    settings: &PatternSettings,
    now: Millis,
) -> Vec<PatternFinding> {
    let from = now.get() - days_ms(super::OBSERVED_DAYS_MAX);
    let corrected = by_topic(
        watch.since(from, now),
        |seen| match &seen.sign {
            Sign::Corrected { topics, .. } => Some(topics),
            _ => None,
        },
        settings.corrections,
    );
    corrected
        .into_iter()
        .map(|(stem, shown, seen)| {
            let newest = seen.iter().max_by_key(|seen| seen.at_unix_ms).map(|seen| &seen.sign);
            let said = match newest {
                Some(Sign::Corrected { excerpt, .. }) => excerpt.as_str(),
                _ => "",
            };
            let content = format!("Corrected {} times. Last: \"{said}\"", seen.len());
            let title = format!("Had to correct the agent about {shown} again and again");
            let key = format!("mind/correction/{}", slug(&stem));
            let found = finding(key, title, content, settings.corrections, &seen);
            PatternFinding { expires: Some(expiry(settings, last_of(&seen))), ..found }
        })
        .collect()
}

/// What people say about themselves in several channels becomes part of their identity.
fn self_facts(
    watch: &PatternWatch,
    settings: &PatternSettings,
    now: Millis,
) -> Vec<PatternFinding> {
    let from = now.get() - days_ms(super::OBSERVED_DAYS_MAX);
    let mut counted: BTreeMap<(&str, &str), Vec<&Sighting>> = BTreeMap::new();
    for seen in watch.since(from, now) {
        if let Sign::SelfFact { key, value } = &seen.sign {
            counted.entry((key, value)).or_default().push(seen);
        }
    }
    let mut newest: BTreeMap<&str, (i64, PatternFinding)> = BTreeMap::new();
    for ((key, value), seen) in counted {
        let channels = |private: bool| -> BTreeSet<&str> {
            let fits = seen.iter().filter(|seen| private || !seen.private);
            fits.filter_map(|seen| seen.channel.as_deref()).collect()
        };
        let (all, open) = (channels(true).len(), channels(false).len());
        let needed = settings.fact_channels as usize;
        if all < needed {
            continue;
        }
        let title = match key {
            "timezone" => format!("User is based in the {value} timezone"),
            "name" => format!("User's name is {value}"),
            "location" => format!("User lives in {value}"),
            _ => format!("User works at {value}"),
        };
        let content = format!("Said in {all} channels.");
        let key_of = format!("mind/identity/{key}");
        let found = finding(key_of, title, content, settings.fact_channels, &seen);
        // A fact that was said in enough shared channels is no secret. Otherwise what was said in private stays
        // private.
        let found = PatternFinding {
            memory_type: MemoryType::Identity,
            importance: SELF,
            private: open < needed,
            ..found
        };
        let last = last_of(&seen);
        if newest.get(key).is_none_or(|(known, _)| *known < last) {
            newest.insert(key, (last, found));
        }
    }
    newest.into_values().map(|(_, finding)| finding).collect()
}

fn failing_tools(
    watch: &PatternWatch,
    settings: &PatternSettings,
    now: Millis,
) -> Vec<PatternFinding> {
    let from = now.get() - DAY_MS;
    let mut counted: BTreeMap<(&str, &str), Vec<&Sighting>> = BTreeMap::new();
    for seen in watch.since(from, now) {
        if let Sign::Tool { name, failed: Some(kind) } = &seen.sign {
            counted.entry((name, kind)).or_default().push(seen);
        }
    }
    let often =
        counted.into_iter().filter(|(_, seen)| seen.len() >= settings.tool_failures as usize);
    often
        .take(FINDINGS_MAX)
        .map(|((name, kind), seen)| {
            let title = format!("The tool {name} keeps failing: {kind}");
            let content = format!("{} failures of this kind within a day.", seen.len());
            let key = format!("mind/tool/{}/{}", slug(name), slug(kind));
            let found = finding(key, title, content, settings.tool_failures, &seen);
            PatternFinding { expires: Some(expiry(settings, last_of(&seen))), ..found }
        })
        .collect()
}

/// Habits: the same thing is done on several days within the same two hours, and seldom at other times.
fn habits(watch: &PatternWatch, settings: &PatternSettings, now: Millis) -> Vec<PatternFinding> {
    let from = now.get() - days_ms(settings.habit_window_days);
    let mut counted: BTreeMap<(&str, &str, &str), Vec<&Sighting>> = BTreeMap::new();
    for seen in watch.since(from, now) {
        match &seen.sign {
            Sign::Asked { topics } => {
                for (stem, shown) in topics {
                    counted.entry(("topic", stem, shown)).or_default().push(seen);
                }
            }
            Sign::Tool { name, .. } => {
                counted.entry(("tool", name, name)).or_default().push(seen);
            }
            _ => {}
        }
    }
    let day_hour = |seen: &Sighting| {
        let hours = seen.at_unix_ms.div_euclid(HOUR_MS);
        (hours.div_euclid(24), hours.rem_euclid(24))
    };
    let mut found = Vec::new();
    for ((kind, stem, shown), seen) in counted {
        let all: BTreeSet<(i64, i64)> = seen.iter().map(|one| day_hour(one)).collect();
        let best = (0..24)
            .map(|hour| {
                let within = |at: i64| at == hour || at == (hour + 1) % 24;
                let days: BTreeSet<i64> =
                    all.iter().filter(|(_, at)| within(*at)).map(|(day, _)| *day).collect();
                let sharp = all.iter().filter(|(_, at)| *at == hour).count();
                (days.len(), sharp, std::cmp::Reverse(hour))
            })
            .max();
        let Some((days, _, std::cmp::Reverse(hour))) = best else { continue };
        // Something done all day long is no habit of an hour.
        let elsewhere = all.iter().filter(|(_, at)| *at != hour && *at != (hour + 1) % 24).count();
        if days < settings.habit_days as usize
            || 2 * elsewhere > days
            || found.len() == FINDINGS_MAX
        {
            continue;
        }
        let at: Vec<&Sighting> = seen
            .iter()
            .filter(|one| [hour, (hour + 1) % 24].contains(&day_hour(one).1))
            .copied()
            .collect();
        let what =
            if kind == "tool" { format!("uses {shown}") } else { format!("asks about {shown}") };
        let title =
            format!("Usually {what} between {hour:02}:00 and {:02}:00 UTC", (hour + 2) % 24);
        let content = format!("On {days} days of the last {}.", settings.habit_window_days);
        let key = format!("mind/habit/{kind}/{}", slug(stem));
        let one = finding(key, title, content, settings.habit_days, &at);
        found.push(PatternFinding { expires: Some(expiry(settings, last_of(&at))), ..one });
    }
    found
}
