//! The one importance: how much a memory matters now, and when it has faded so far that nobody will miss it.
//!
//! Importance fades as a function of record, usage and days; nothing is written for it. It lowers a memory's rank and
//! never hides it by itself. What must stay true: the answer for one moment does not depend on how often anybody asks;
//! what somebody chose to keep is never named as due while `prune_scope` is `captured`.

use kernel::find::MemoryRow;
use kernel::memory::{Head, MemoryType, Millis, Source, Usage, Version};
use kernel::salience::{DAY_MS, DecayPolicy, Ppm, decayed_importance};

use crate::active_days::{ActiveDays, day_of};
use crate::proposal::BY;
use crate::settings::{CortexSettings, PruneScope, ppm};

/// Kinds of what was captured while somebody worked, without anybody choosing it.
pub const CAPTURED_KINDS: [&str; 4] = ["passive", "tool_use", "command", "file_change"];
/// The tag of a memory that somebody asked to keep.
pub const KEPT_TAG: &str = "kept";
/// Days that are looked ahead for the moment at which a memory is put away.
const AHEAD_MAX: i64 = 36_500;

/// How importance fades: the rule, and which days count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fading {
    policy: DecayPolicy,
    threshold: Ppm,
    /// Absent: every day of the calendar counts, as in the seed.
    days: Option<ActiveDays>,
}

impl Fading {
    pub fn new(settings: &CortexSettings, days: &ActiveDays) -> Fading {
        Fading {
            policy: settings.decay_policy(),
            threshold: ppm(settings.prune_threshold),
            days: (settings.prune_scope == PruneScope::Captured).then(|| days.clone()),
        }
    }

    /// By days of the calendar.
    pub fn by_calendar(policy: DecayPolicy) -> Fading {
        let threshold = ppm(CortexSettings::default().prune_threshold);
        Fading { policy, threshold, days: None }
    }

    /// The number of a moment's day among those that count.
    pub fn day(&self, at: Millis) -> i64 {
        self.days.as_ref().map_or_else(|| day_of(at), |days| days.until(at))
    }

    /// How long ago a moment is, in days that count.
    fn age_ms(&self, since: Millis, now: Millis) -> i64 {
        match &self.days {
            None => now.get().saturating_sub(since.get()).max(0),
            Some(days) => days.between(since, now).saturating_mul(DAY_MS),
        }
    }

    /// Importance at `now`. Identity and pinned memories do not fade.
    pub fn importance(&self, head: &Head, version: &Version, usage: &Usage, now: Millis) -> Ppm {
        let age = self.age_ms(last_used(version, usage), now);
        self.faded(head, age)
    }

    fn faded(&self, head: &Head, age_ms: i64) -> Ppm {
        let exempt = head.pinned || head.memory_type == MemoryType::Identity;
        decayed_importance(head.importance, exempt, 0, age_ms, &self.policy)
    }

    /// In how many more days without use a memory falls below the threshold; none if it never does. `since` is when it
    /// began to age.
    pub fn days_left(&self, head: &Head, since: Millis, now: Millis) -> Option<i64> {
        let age = self.age_ms(since, now);
        let after = |days: i64| self.faded(head, age.saturating_add(days.saturating_mul(DAY_MS)));
        if after(AHEAD_MAX) >= self.threshold {
            return None;
        }
        let (mut low, mut high) = (0, AHEAD_MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            if after(middle) < self.threshold {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }

    /// Whole days that count since a moment.
    pub fn age_days(&self, since: Millis, now: Millis) -> i64 {
        self.age_ms(since, now) / DAY_MS
    }
}

/// When a memory was last read, shown or rewritten.
pub fn last_used(version: &Version, usage: &Usage) -> Millis {
    usage.last_seen().unwrap_or(version.created).max(version.created)
}

/// Why a memory is put away only on request; none if nobody chose to keep it.
pub fn kept_because(row: &MemoryRow) -> Option<&'static str> {
    let MemoryRow { head, version, usage, .. } = row;
    let generated = is_generated(version);
    let captured = generated || CAPTURED_KINDS.contains(&head.kind.as_str());
    let bound = matches!(
        head.memory_type,
        MemoryType::Identity
            | MemoryType::Decision
            | MemoryType::Constraint
            | MemoryType::Preference
            | MemoryType::Goal
    );
    let is_imported = version.provenance.source == Source::Imported;
    let rules = [
        (head.pinned, "it is pinned"),
        (head.tags.iter().any(|tag| tag == KEPT_TAG), "somebody asked to keep it"),
        (bound, "it binds"),
        (is_imported || (!generated && version.provenance.origin.is_some()), "it was imported"),
        (!captured, "it was saved on purpose"),
        (!generated && version.n > 1, "it was rewritten"),
        (!generated && head.topic_key.is_some(), "it is the word on its topic"),
        (usage.accesses > 0, "it was opened"),
        (usage.citations > 0, "it was cited"),
        // A memory of the mind points at what it rests on; that is no link of anybody's.
        (usage.edges_in > 0 || (!generated && usage.edges_out > 0), "it is linked"),
    ];
    rules.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why)
}

/// Made by the mind, by a talent's run, or by a model from what was said. What the mind joined from memories that
/// somebody saved is somebody's still.
fn is_generated(version: &Version) -> bool {
    let provenance = &version.provenance;
    let by_mind = version.by == BY && provenance.source != Source::Derived;
    let by_talent = provenance.origin.as_deref().is_some_and(|it| it.starts_with("talent-run/"));
    by_mind || by_talent
}
