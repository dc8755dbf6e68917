//! What a bulletin speaks of: its sections, their headings, and the question asked for each.

use kernel::memory::MemoryType;
use serde::{Deserialize, Serialize};

use crate::memory_recall::{RecallMode, RecallRequest, SortBy};

/// What a bulletin speaks of, in the order in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    Identity,
    RecentActivity,
    /// Where work stopped, and the next steps.
    Work,
    Goals,
    Constraints,
    /// Rules and preferences that no person stated or confirmed.
    Proposed,
    Decisions,
    Preferences,
    Patterns,
    Knowledge,
    /// What happened, in answer to a question that stands.
    Happened,
    /// What changed since the reader was last here.
    Changed,
    /// What is about to be put away.
    Due,
}

impl Dimension {
    pub const ALL: [Dimension; 13] = [
        Dimension::Identity,
        Dimension::RecentActivity,
        Dimension::Work,
        Dimension::Goals,
        Dimension::Constraints,
        Dimension::Proposed,
        Dimension::Decisions,
        Dimension::Preferences,
        Dimension::Patterns,
        Dimension::Knowledge,
        Dimension::Happened,
        Dimension::Changed,
        Dimension::Due,
    ];

    /// True unless only a page speaks of it.
    pub fn is_of_bulletin(self) -> bool {
        self != Dimension::Happened
    }

    /// True if a model may word it. Who somebody is, what binds, where work stands and what will be put away is always
    /// said in the program's own words.
    pub fn is_for_model(self) -> bool {
        !matches!(
            self,
            Dimension::Identity
                | Dimension::Constraints
                | Dimension::Proposed
                | Dimension::Work
                | Dimension::Due
        )
    }

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
            Dimension::Happened => "What Happened",
            Dimension::Work => "Where Work Stopped",
            Dimension::Changed => "Changed Since You Were Here",
            Dimension::Due => "About To Be Put Away",
        }
    }

    /// The question asked for it.
    pub fn request(self, limit: usize) -> RecallRequest {
        let typed = |t| RecallRequest::typed(t, SortBy::Importance, limit);
        match self {
            Dimension::Identity => typed(MemoryType::Identity),
            Dimension::RecentActivity | Dimension::Work | Dimension::Happened => RecallRequest {
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
            Dimension::Changed | Dimension::Due => {
                RecallRequest { mode: RecallMode::Recent, limit, ..RecallRequest::default() }
            }
            Dimension::Knowledge => RecallRequest {
                memory_types: vec!["fact".into()],
                mode: RecallMode::Important,
                limit,
                ..RecallRequest::default()
            },
        }
    }
}
