//! Whose rules bind, and what a memory's text passes before it is shown.

use std::fmt;

use proof::memory::{Head, MemoryType, Source, Version};

/// Whose rules and preferences count as such; those of others are proposals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleAuthors {
    /// What a person stated, or confirmed by a version of their own.
    #[default]
    Persons,
    /// Agents and imports, too.
    Anyone,
}

impl RuleAuthors {
    /// True for a rule or preference that no person stated or confirmed in this version.
    pub fn is_proposed(self, head: &Head, version: &Version) -> bool {
        let rules = [MemoryType::Constraint, MemoryType::Preference];
        self == RuleAuthors::Persons
            && rules.contains(&head.memory_type)
            && version.provenance.source != Source::User
    }
}

/// What the text of a memory passes before it stands in a bundle. A text of one line must stay one.
#[derive(Clone, Copy)]
pub struct TextScreen(pub fn(&str) -> String);

impl Default for TextScreen {
    fn default() -> TextScreen {
        TextScreen(str::to_owned)
    }
}

impl fmt::Debug for TextScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextScreen")
    }
}

impl PartialEq for TextScreen {
    fn eq(&self, other: &TextScreen) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for TextScreen {}
