//! Who will read it, and how far it can be trusted.
//!
//! An [`Audience`] is a gate before every read that ends in a prompt: what is private never reaches a place that
//! others read. [`trust`] is the lowest level in the whole lineage of a memory, so that a summary of something
//! imported is not trusted more than the import.

use std::collections::{BTreeSet, VecDeque};

use kernel::grants::Gate;
use kernel::memory::{Head, PinnedVersion, Scope, Source, Version, Visibility};
use kernel::store::View;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Memories of a lineage that are looked at; beyond it the lineage counts as unknown.
pub const LINEAGE_MAX: usize = 256;

/// Who reads what is gathered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// The owner alone.
    Owner,
    /// Anybody: a channel with more people, a group, a page.
    Shared,
}

impl Audience {
    pub fn name(&self) -> &'static str {
        match self {
            Audience::Owner => "owner",
            Audience::Shared => "shared",
        }
    }
}

impl Gate for Audience {
    fn sees(&self, head: &Head) -> bool {
        match self {
            Audience::Owner => true,
            Audience::Shared => {
                head.visibility != Visibility::Private
                    && (head.scope != Scope::Personal || head.visibility == Visibility::Public)
            }
        }
    }
}

/// How far a memory can be trusted; lower is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Lineage too long or lost.
    Unknown,
    /// Came from another tool or file.
    Imported,
    /// Concluded by a model or a rule.
    Inferred,
    /// Seen while an agent worked.
    Observed,
    /// Said by the user.
    Stated,
}

impl Trust {
    pub fn name(self) -> &'static str {
        match self {
            Trust::Unknown => "unknown",
            Trust::Imported => "imported",
            Trust::Inferred => "inferred",
            Trust::Observed => "observed",
            Trust::Stated => "stated",
        }
    }

    pub fn of(source: Source) -> Trust {
        match source {
            Source::User => Trust::Stated,
            Source::Observed => Trust::Observed,
            Source::Derived => Trust::Inferred,
            Source::Imported => Trust::Imported,
        }
    }
}

/// The lowest trust of a version and everything it was derived from.
pub fn trust(view: &View<'_>, version: &Version) -> Result<Trust> {
    let mut lowest = Trust::of(version.provenance.source);
    let mut waiting: VecDeque<PinnedVersion> =
        version.provenance.derived_from.iter().copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(pinned) = waiting.pop_front() {
        if !seen.insert(pinned) {
            continue;
        }
        if seen.len() > LINEAGE_MAX {
            return Ok(Trust::Unknown);
        }
        let Some(parent) = view.version(pinned.id, pinned.version)? else {
            return Ok(Trust::Unknown);
        };
        lowest = lowest.min(Trust::of(parent.provenance.source));
        waiting.extend(parent.provenance.derived_from.iter().copied());
    }
    Ok(lowest)
}
