//! Whether a memory is shown, asked the same way by every lane that shows memories.

use proof::memory::{Head, Millis, Usage, Version};

/// Where a memory stands at a moment. The first that applies, in this order but for `Current`, which is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    Current,
    /// Content gone for good.
    Erased,
    Forgotten,
    Archived,
    NotYetValid,
    /// Past its own date, whatever is true in the world.
    Expired,
    NoLongerValid,
    /// Something newer replaces it. Still shown, below what is current, and labelled.
    Superseded,
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Standing::Current => "current",
            Standing::Erased => "erased",
            Standing::Forgotten => "forgotten",
            Standing::Archived => "archived",
            Standing::NotYetValid => "not yet valid",
            Standing::Expired => "expired",
            Standing::NoLongerValid => "no longer valid",
            Standing::Superseded => "superseded",
        }
    }

    pub fn is_forgotten(self) -> bool {
        matches!(self, Standing::Forgotten | Standing::Erased)
    }

    /// Shown to someone who did not ask for what is put away.
    pub fn is_shown(self) -> bool {
        self.is_shown_to(false, false)
    }

    pub fn is_shown_to(self, include_forgotten: bool, include_archived: bool) -> bool {
        match self {
            Standing::Current | Standing::Superseded => true,
            Standing::Forgotten | Standing::Erased => include_forgotten,
            Standing::Archived => include_archived,
            Standing::NotYetValid | Standing::Expired | Standing::NoLongerValid => false,
        }
    }
}

/// Where a memory at this version stands at `as_of`. Erasure has no time: what is gone is gone at every moment.
pub fn standing(head: &Head, version: &Version, usage: &Usage, as_of: Millis) -> Standing {
    if head.erased {
        Standing::Erased
    } else if head.tombstone.as_ref().is_some_and(|tombstone| tombstone.at <= as_of) {
        Standing::Forgotten
    } else if head.archived {
        Standing::Archived
    } else if begins(version) > as_of {
        Standing::NotYetValid
    } else if version.expires.is_some_and(|end| end <= as_of) {
        Standing::Expired
    } else if version.valid_until.is_some_and(|until| until <= as_of) {
        Standing::NoLongerValid
    } else if usage.superseded > 0 {
        Standing::Superseded
    } else {
        Standing::Current
    }
}

/// When a version began to be true.
pub(crate) fn begins(version: &Version) -> Millis {
    version.valid_from.unwrap_or(version.created)
}
