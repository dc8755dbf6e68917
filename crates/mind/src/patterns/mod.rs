//! Patterns: what happens again and again becomes a memory, with its evidence.
//!
//! - [`PatternWatch`] takes in what is observed and keeps only what detectors count, within bounds.
//! - `detect` counts: topics, the same said in several channels, failing tools, habits, corrections.
//! - [`PatternLook`] is one look: a copy of the watch, what the journal adds to it, the plan.
//! - [`propose`] turns findings into proposals: a new memory, or a new version of the one that is there.
//!
//! What must stay true: one finding, one memory, however often it is found; a memory that a person forgot does not
//! come back by the same evidence; what was said in private makes a private memory.

mod detect;
mod look;
mod words;

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

use kernel::Reading;
use kernel::command::{Draft, Revision};
use kernel::find::{MemoryReader, MemoryRow};
use kernel::keys;
use kernel::limits::{DERIVED_FROM_MAX, FIELD_ITEMS_MAX};
use kernel::memory::{
    Body, Fields, Identity, MemoryId, MemoryType, Millis, Pattern, PinnedVersion, Provenance, Salt,
    Scope, Source, Visibility,
};
use kernel::salience::Ppm;
use serde::{Deserialize, Serialize};
use text::analyze::Analyzer;

pub use detect::detect;
pub use look::PatternLook;

use crate::error::Result;
use crate::proposal::{BY, MemoryAction, MindPlan, Proposal};
use crate::settings::{PatternSettings, days_ms};

/// Name of the job.
pub const JOB: &str = "patterns";
/// Things observed that are kept at once; the oldest go first.
pub const OBSERVED_MAX: usize = 10_000;
/// Days after which nothing observed counts any more.
pub const OBSERVED_DAYS_MAX: u64 = 30;
/// Characters kept of a correction.
const EXCERPT_CHARS_MAX: usize = 160;
/// Entries of the journal that an observation names; the newest.
const ENTRIES_SHOWN: usize = 10;

/// Something that happened, as the daemon or a hook tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    pub at: Millis,
    pub channel: Option<String>,
    /// Only the owner reads that channel.
    pub private: bool,
    pub what: Occurrence,
    /// The memory it comes from, if it became one.
    pub memory: Option<u64>,
    /// The entry of the journal that holds it, if one does.
    pub entry: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// A person wrote this.
    Said(String),
    /// Somebody saved this.
    Noted(String),
    /// A tool ended; `error` is there if it failed.
    Tool { name: String, error: Option<String> },
}

/// What is kept of an observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sighting {
    at_unix_ms: i64,
    channel: Option<String>,
    private: bool,
    memory: Option<u64>,
    #[serde(default)]
    entry: Option<u64>,
    sign: Sign,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "sign")]
pub(crate) enum Sign {
    Asked { topics: Vec<(String, String)> },
    Corrected { topics: Vec<(String, String)>, excerpt: String },
    SelfFact { key: String, value: String },
    Tool { name: String, failed: Option<String> },
}

impl Sign {
    fn tool(name: &str, error: Option<&str>) -> Sign {
        let failed = error.map(words::signature);
        Sign::Tool { name: name.chars().take(64).collect(), failed }
    }
}

/// What was observed lately; persistent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternWatch {
    seen: VecDeque<Sighting>,
}

impl PatternWatch {
    /// Takes in what happened. Topics are counted by the stems of the analyzer's language.
    pub fn observe(&mut self, analyzer: &Analyzer, observation: &Observation) {
        self.add(sightings(analyzer, observation), observation.at);
    }

    /// A tool ended at `at`; `error` is there if it failed.
    pub fn observe_tool(&mut self, name: &str, error: Option<&str>, at: Millis) {
        let (channel, private, memory, entry) = (None, false, None, None);
        let (at_unix_ms, sign) = (at.get(), Sign::tool(name, error));
        self.add(vec![Sighting { at_unix_ms, channel, private, memory, entry, sign }], at);
    }

    /// Adds what was seen, and drops what is too old at `at` or too much.
    fn add(&mut self, seen: Vec<Sighting>, at: Millis) {
        self.seen.extend(seen);
        let oldest = at.get() - days_ms(OBSERVED_DAYS_MAX);
        self.seen.retain(|seen| seen.at_unix_ms >= oldest);
        while self.seen.len() > OBSERVED_MAX {
            self.seen.pop_front();
        }
    }

    pub fn len(&self) -> usize {
        self.seen.len()
    }

    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    fn since(&self, from: i64, until: Millis) -> impl Iterator<Item = &Sighting> {
        let fits = move |seen: &&Sighting| seen.at_unix_ms > from && seen.at_unix_ms <= until.get();
        self.seen.iter().filter(fits)
    }
}

/// What is counted of an observation; nothing if it says nothing that detectors know.
fn sightings(analyzer: &Analyzer, observation: &Observation) -> Vec<Sighting> {
    let mut signs = Vec::new();
    match &observation.what {
        Occurrence::Said(text) => {
            let pairs = || -> Vec<(String, String)> {
                let topics = words::topics(analyzer, text).into_iter();
                topics.map(|topic| (topic.stem, topic.shown)).collect()
            };
            if words::is_correction(text) {
                let excerpt = kernel::render::one_line(text);
                let excerpt = excerpt.chars().take(EXCERPT_CHARS_MAX).collect();
                signs.push(Sign::Corrected { topics: pairs(), excerpt });
            } else if words::is_question(text) {
                signs.push(Sign::Asked { topics: pairs() });
            }
            signs.extend(self_facts(text));
        }
        Occurrence::Noted(text) => signs.extend(self_facts(text)),
        Occurrence::Tool { name, error } => signs.push(Sign::tool(name, error.as_deref())),
    }
    let Observation { at, channel, private, memory, entry, .. } = observation;
    let seen = |sign| Sighting {
        at_unix_ms: at.get(),
        channel: channel.clone(),
        private: *private,
        memory: *memory,
        entry: *entry,
        sign,
    };
    signs.into_iter().map(seen).collect()
}

/// A pattern that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternFinding {
    /// The same for the same pattern, whenever it is found.
    pub key: String,
    pub memory_type: MemoryType,
    pub title: String,
    pub content: String,
    pub importance: Ppm,
    /// Moments of the evidence, oldest first.
    pub seen_at: Vec<i64>,
    /// How many moments make it a pattern.
    pub needed: usize,
    /// Memories it rests on.
    pub evidence: Vec<u64>,
    /// Entries of the journal it rests on, oldest first.
    pub entries: Vec<u64>,
    pub private: bool,
    /// Without new evidence it is over by then.
    pub expires: Option<Millis>,
}

/// Proposals for findings: new memories, and new versions of those that have new evidence.
pub fn propose(reading: &Reading, findings: &[PatternFinding], now: Millis) -> Result<MindPlan> {
    let view = reading.view();
    let lens = MemoryReader::new(&view, None, None, now)?;
    let mut plan =
        MindPlan { job: JOB.to_owned(), examined: findings.len(), ..MindPlan::default() };
    for finding in findings {
        let mut rows = Vec::new();
        let index = keys::by_topic_key(None, Scope::Project, &finding.key);
        view.scan_index(&index, None, true, &mut |id| {
            rows.extend(lens.row(id)?);
            Ok(ControlFlow::Continue(()))
        })?;
        let evidence = evidence(&view, finding)?;
        let last = finding.seen_at.last().copied().unwrap_or_default();
        let reason = format!("seen {} times, last {}", finding.seen_at.len(), Millis(last).date());
        match rows.iter().find(|row| !row.standing.is_forgotten()) {
            Some(row) => {
                let body = view.body(&row.version)?;
                if row.version.created.get() < last && row.head.memory_type == finding.memory_type {
                    let body = body.filter(|body| body.title == finding.title);
                    // A memory that a person rewrote belongs to that person and is not revised.
                    if row.version.by == BY && (finding.expires.is_some() || body.is_none()) {
                        let revision = revision(finding, row, &evidence);
                        let evidence = evidence.iter().map(|one| one.id).collect();
                        let action =
                            MemoryAction::Revise { revision: Box::new(revision), evidence };
                        plan.proposals.push(Proposal { action, reason });
                    }
                }
            }
            None => {
                let gone = |row: &MemoryRow| row.head.tombstone.as_ref().map(|gone| gone.at.get());
                let since = rows.iter().filter_map(gone).max().unwrap_or(i64::MIN);
                let fresh = finding.seen_at.iter().filter(|at| **at > since).count();
                if fresh >= finding.needed {
                    let draft = Box::new(draft(finding, &evidence));
                    let evidence = evidence.iter().map(|one| one.id).collect();
                    let action = MemoryAction::Remember { draft, evidence };
                    plan.proposals.push(Proposal { action, reason });
                }
            }
        }
    }
    Ok(plan)
}

/// The memories it rests on, at their current versions; those that are gone are left out.
fn evidence(
    view: &kernel::store::View<'_>,
    finding: &PatternFinding,
) -> Result<Vec<PinnedVersion>> {
    let ids: BTreeSet<u64> = finding.evidence.iter().copied().collect();
    let mut pinned = Vec::new();
    for id in ids.into_iter().rev().take(DERIVED_FROM_MAX.min(FIELD_ITEMS_MAX)) {
        let Some(head) = MemoryId::new(id).map(|id| view.head(id)).transpose()?.flatten() else {
            continue;
        };
        if !head.erased {
            pinned.push(PinnedVersion { id: head.id, version: head.version });
        }
    }
    pinned.sort_unstable();
    Ok(pinned)
}

fn body(finding: &PatternFinding, evidence: &[PinnedVersion]) -> Body {
    let count = finding.seen_at.len();
    let fields = match finding.memory_type {
        MemoryType::Identity => Fields::Identity(Identity::default()),
        _ => Fields::Pattern(Pattern {
            strength: Some(strength(count, finding.needed)),
            coverage: u32::try_from(count).ok(),
            evidence: evidence.iter().map(|one| one.id).collect(),
        }),
    };
    let mut content = finding.content.clone();
    let entries = &finding.entries;
    if !entries.is_empty() {
        let newest = &entries[entries.len().saturating_sub(ENTRIES_SHOWN)..];
        let shown: Vec<String> = newest.iter().map(|entry| format!("#{entry}")).collect();
        content = format!("{content} Journal: {}.", shown.join(", "));
    }
    Body { title: finding.title.clone(), content, fields }
}

fn self_facts(text: &str) -> impl Iterator<Item = Sign> {
    let facts = words::self_facts(text).into_iter();
    facts.map(|fact| Sign::SelfFact { key: fact.key.to_owned(), value: fact.value })
}

/// Strength of a pattern: one half when it was seen just often enough, one when it was seen twice as often.
fn strength(count: usize, needed: usize) -> Ppm {
    let share = count as u64 * 500_000 / needed.max(1) as u64;
    Ppm::try_from(share.min(1_000_000)).unwrap_or(1_000_000)
}

fn provenance(evidence: &[PinnedVersion]) -> Provenance {
    let (source, derived_from) = (Source::Observed, evidence.to_vec());
    Provenance { source, derived_from, model: None, origin: None }
}

fn draft(finding: &PatternFinding, evidence: &[PinnedVersion]) -> Draft {
    let pattern = finding.memory_type == MemoryType::Pattern;
    Draft {
        kind: Some(if pattern { "observation" } else { "identity" }.to_owned()),
        visibility: if finding.private { Visibility::Private } else { Visibility::Scoped },
        tags: vec!["mind".to_owned()],
        topic_key: Some(finding.key.clone()),
        importance: Some(finding.importance),
        provenance: provenance(evidence),
        confidence: 800_000,
        expires: finding.expires,
        ..Draft::new(body(finding, evidence), Salt::NONE)
    }
}

fn revision(finding: &PatternFinding, row: &MemoryRow, evidence: &[PinnedVersion]) -> Revision {
    Revision {
        provenance: provenance(evidence),
        confidence: 800_000,
        expires: finding.expires,
        ..Revision::new(row.head.id, Some(row.head.version), body(finding, evidence), Salt::NONE)
    }
}

fn expiry(settings: &PatternSettings, last: i64) -> Millis {
    Millis(last.saturating_add(days_ms(settings.expires_after_days)))
}
