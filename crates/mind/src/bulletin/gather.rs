//! What a bulletin is made of: one `memory_recall` per dimension, without what is stale, finished or faint.
//!
//! What must stay true: a forgotten memory or one the audience may not see is never in here; a memory is in one
//! section only; the hash depends on which memories were chosen at which version, and on nothing that changes by
//! waiting alone.

use std::collections::BTreeSet;

use api::render::untrusted;
use kernel::context::RuleAuthors;
use kernel::memory::{DecisionStatus, Fields, GoalStatus, MemoryType, Millis};
use kernel::salience::{DecayPolicy, Ppm};
use kernel::{Digest, Reading};
use serde::{Deserialize, Serialize};

use super::phrase::phrase;
use super::render::BulletinLine;
use crate::audience::{Audience, Trust, trust};
use crate::error::Result;
use crate::memory_recall::{
    LIMIT_MAX, RecallAnswer, RecallHit, RecallMode, RecallRequest, SortBy, memory_recall,
};
use crate::settings::{BulletinSettings, days_ms, ppm};

/// What a bulletin speaks of, in the order in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    Identity,
    RecentActivity,
    Goals,
    Constraints,
    /// Rules and preferences that no person stated or confirmed.
    Proposed,
    Decisions,
    Preferences,
    Patterns,
    Knowledge,
}

impl Dimension {
    pub const ALL: [Dimension; 9] = [
        Dimension::Identity,
        Dimension::RecentActivity,
        Dimension::Goals,
        Dimension::Constraints,
        Dimension::Proposed,
        Dimension::Decisions,
        Dimension::Preferences,
        Dimension::Patterns,
        Dimension::Knowledge,
    ];

    pub fn heading(self) -> &'static str {
        match self {
            Dimension::Identity => "Identity",
            Dimension::RecentActivity => "Recent Activity",
            Dimension::Goals => "Active Goals",
            Dimension::Constraints => "Rules",
            Dimension::Proposed => "Proposed rules (not confirmed by a person)",
            Dimension::Decisions => "Decisions",
            Dimension::Preferences => "Preferences",
            Dimension::Patterns => "Patterns",
            Dimension::Knowledge => "Worth Knowing",
        }
    }

    /// The question asked for it.
    pub fn request(self, limit: usize) -> RecallRequest {
        let typed = |t| RecallRequest::typed(t, SortBy::Importance, limit);
        match self {
            Dimension::Identity => typed(MemoryType::Identity),
            Dimension::RecentActivity => RecallRequest {
                memory_types: vec!["event".into()],
                mode: RecallMode::Recent,
                limit,
                ..RecallRequest::default()
            },
            Dimension::Goals => typed(MemoryType::Goal),
            Dimension::Constraints => typed(MemoryType::Constraint),
            Dimension::Proposed => RecallRequest {
                memory_types: vec!["constraint".into(), "preference".into()],
                ..typed(MemoryType::Constraint)
            },
            Dimension::Decisions => typed(MemoryType::Decision),
            Dimension::Preferences => typed(MemoryType::Preference),
            Dimension::Patterns => typed(MemoryType::Pattern),
            Dimension::Knowledge => RecallRequest {
                memory_types: vec!["fact".into()],
                mode: RecallMode::Important,
                limit,
                ..RecallRequest::default()
            },
        }
    }
}

/// One memory, ready to be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputItem {
    pub id: u64,
    pub version: u32,
    /// The journal entry that last changed it.
    pub seq: u64,
    pub kind: String,
    /// The sentence, on one line.
    pub text: String,
    pub importance: Ppm,
    pub trust: Trust,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSection {
    pub dimension: Dimension,
    pub items: Vec<InputItem>,
    /// How many memories there were to choose from.
    pub found: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulletinInput {
    pub audience: Audience,
    /// Sections without lines are left out.
    pub sections: Vec<InputSection>,
    /// Journal entries at the time.
    pub size: u64,
    /// Hash of the ids and versions in their sections.
    pub hash: String,
    /// Some memories were too old to be looked at.
    pub capped: bool,
}

impl BulletinInput {
    pub fn items(&self) -> impl Iterator<Item = &InputItem> {
        self.sections.iter().flat_map(|section| &section.items)
    }

    pub fn ids(&self) -> BTreeSet<u64> {
        self.items().map(|item| item.id).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// True unless a line would say under another heading what is only proposed.
    pub(super) fn may_say(&self, heading: &str, line: &BulletinLine) -> bool {
        let proposed = |section: &&InputSection| section.dimension == Dimension::Proposed;
        let mut items = self.sections.iter().filter(proposed).flat_map(|section| &section.items);
        heading == Dimension::Proposed.heading() || !items.any(|item| line.cites.contains(&item.id))
    }
}

/// Asks every dimension. More is asked for than is kept, because some of it is left out afterwards.
pub fn gather(
    reading: &Reading,
    audience: &Audience,
    settings: &BulletinSettings,
    policy: &DecayPolicy,
    rules: RuleAuthors,
    now: Millis,
) -> Result<BulletinInput> {
    let view = reading.view();
    let size = view.counters()?.size;
    let limit = settings.section_limit.min(LIMIT_MAX);
    let (mut sections, mut capped, mut said) = (Vec::new(), false, BTreeSet::new());
    for dimension in Dimension::ALL {
        let asked = match dimension {
            // Proposals must not keep what persons said out of the memories that are looked at.
            Dimension::Constraints | Dimension::Preferences | Dimension::Proposed => LIMIT_MAX,
            _ => (2 * limit).min(LIMIT_MAX),
        };
        let request = dimension.request(asked);
        let RecallAnswer { memories, found, capped: cut } =
            memory_recall(reading, audience, &request, policy, now)?;
        capped |= cut;
        let mut items = Vec::new();
        for memory in memories {
            if items.len() == limit {
                break;
            }
            if !belongs(dimension, rules.is_proposed(&memory.head, &memory.version))
                || !is_news(&memory, settings, now)
            {
                continue;
            }
            let text = untrusted::line(&phrase(&memory));
            // Two memories that would read the same take one line.
            if text.is_empty() || !said.insert(recall::analyze::fold(&text)) {
                continue;
            }
            items.push(InputItem {
                id: memory.id().get(),
                version: memory.version.n,
                seq: memory.head.seq,
                kind: memory.head.kind.clone(),
                importance: memory.importance,
                trust: trust(&view, &memory.version)?,
                text,
            });
        }
        if !items.is_empty() {
            sections.push(InputSection { dimension, items, found });
        }
    }
    let hash = hash_of(&sections);
    Ok(BulletinInput { audience: audience.clone(), sections, size, hash, capped })
}

/// Whether a dimension speaks of rules that are proposed, or of those that hold.
fn belongs(dimension: Dimension, proposed: bool) -> bool {
    match dimension {
        Dimension::Proposed => proposed,
        Dimension::Constraints | Dimension::Preferences => !proposed,
        _ => true,
    }
}

/// True unless something newer replaced the memory, it is finished, an old event, or hardly matters.
fn is_news(memory: &RecallHit, settings: &BulletinSettings, now: Millis) -> bool {
    let open = match &memory.body.fields {
        Fields::Goal(goal) => matches!(goal.status, GoalStatus::Active | GoalStatus::Paused),
        Fields::Decision(decision) => {
            matches!(decision.status, DecisionStatus::Accepted | DecisionStatus::Proposed)
        }
        Fields::Event(event) => {
            let at = event.happened_at.unwrap_or(memory.head.created);
            now.get() - at.get() <= days_ms(settings.recent_days)
        }
        _ => true,
    };
    open && memory.standing == kernel::find::Standing::Current
        && memory.importance >= ppm(settings.min_importance)
}

fn hash_of(sections: &[InputSection]) -> String {
    let mut bytes = Vec::new();
    for section in sections {
        bytes.extend(section.dimension.heading().bytes());
        bytes.push(0);
        // Importance fades by itself and reorders a section. The hash ignores the order, because the same lines are
        // said.
        let mut items: Vec<(u64, u32)> = section.items.iter().map(|i| (i.id, i.version)).collect();
        items.sort_unstable();
        for (id, version) in items {
            bytes.extend(id.to_be_bytes());
            bytes.extend(version.to_be_bytes());
        }
    }
    Digest::of("cortex/bulletin/1", &[&bytes]).to_string()
}
