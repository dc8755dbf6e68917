//! What every reader makes of what it finds: plain data, in our words, not yet checked against the store.
//!
//! Times are Unix milliseconds. A record waits as JSON in the staging database, so all of it is serialisable.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A memory as it is at its origin.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemoryRecord {
    /// `system:id`; the same for the same memory in every run.
    pub(super) origin: String,
    pub(super) head: HeadRecord,
    pub(super) version: VersionRecord,
    pub(super) updated: Option<i64>,
    pub(super) forgotten: Option<ForgottenRecord>,
    pub(super) usage: Option<UsageRecord>,
    /// It was exported from a store of ours, which may be this one.
    pub(super) is_copy: bool,
}

/// What a head holds besides what follows from the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HeadRecord {
    /// The origin's word.
    pub(super) kind: Option<String>,
    /// The exact type; the one that the kind stands for if absent.
    pub(super) memory_type: Option<String>,
    pub(super) project: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) visibility: Option<String>,
    pub(super) pinned: bool,
    pub(super) archived: bool,
    pub(super) tags: Vec<String>,
    pub(super) topic_key: Option<String>,
    pub(super) session: Option<String>,
    pub(super) channel: Option<String>,
    /// Parts per million.
    pub(super) importance: Option<u32>,
    pub(super) duplicates: u32,
}

impl HeadRecord {
    /// The part that is written with the memory when the rest follows at a later date.
    pub(super) fn early(&self) -> HeadRecord {
        HeadRecord {
            kind: self.kind.clone(),
            memory_type: self.memory_type.clone(),
            project: if self.has_late_part() { self.project.clone() } else { None },
            scope: self.scope.clone(),
            ..HeadRecord::default()
        }
    }

    fn has_late_part(&self) -> bool {
        let early = HeadRecord {
            kind: self.kind.clone(),
            memory_type: self.memory_type.clone(),
            project: self.project.clone(),
            scope: self.scope.clone(),
            ..HeadRecord::default()
        };
        *self != early
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct VersionRecord {
    pub(super) title: String,
    pub(super) content: String,
    pub(super) fields: Map<String, Value>,
    pub(super) by: Option<String>,
    pub(super) created: Option<i64>,
    /// Parts per million.
    pub(super) confidence: Option<u32>,
    pub(super) source: Option<String>,
    /// Names of memories with a version, `name#n`.
    pub(super) derived_from: Vec<String>,
    pub(super) model: Option<String>,
    /// What the provenance says, if it is not the record's own origin.
    pub(super) origin: Option<String>,
    pub(super) valid_from: Option<i64>,
    pub(super) valid_until: Option<i64>,
    pub(super) expires: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ForgottenRecord {
    pub(super) reason: String,
    pub(super) by: Option<String>,
    pub(super) at: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct UsageRecord {
    pub(super) accesses: u64,
    pub(super) last_access: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SessionRecord {
    pub(super) session: String,
    pub(super) project: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) started: Option<i64>,
    pub(super) ended: Option<i64>,
    pub(super) summary: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PromptRecord {
    pub(super) origin: String,
    pub(super) session: Option<String>,
    pub(super) project: Option<String>,
    pub(super) text: String,
    pub(super) at: Option<i64>,
}

/// An edge between two memories, each named by its origin or by an alias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EdgeRecord {
    pub(super) from: String,
    pub(super) relation: String,
    pub(super) to: String,
    /// Parts per million.
    pub(super) weight: u32,
    pub(super) by: Option<String>,
    pub(super) at: Option<i64>,
}

/// One thing to be done to the store, in the staging database until its turn comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Step {
    SessionStart {
        session: String,
        project: Option<String>,
        directory: Option<String>,
        agent: Option<String>,
        /// True: whoever kept it never said that it ended. It does not go on here.
        is_past: bool,
    },
    /// The first version of a memory, with its head.
    First {
        origin: String,
        head: Box<HeadRecord>,
        /// The rest of the head comes in a step of its own.
        early: bool,
        /// The origin never changes a version, so one that is here need not be compared.
        frozen: bool,
        /// A copy of what may be here: only what somebody edited in it is new.
        is_copy: bool,
        version: Box<VersionRecord>,
    },
    /// A later version of a memory whose versions never change.
    Later {
        origin: String,
        n: u32,
        version: Box<VersionRecord>,
    },
    Head {
        origin: String,
        head: Box<HeadRecord>,
    },
    Forget {
        origin: String,
        forgotten: ForgottenRecord,
    },
    Edge(EdgeRecord),
    Prompt {
        origin: String,
        session: Option<String>,
        project: Option<String>,
        text: String,
    },
    SessionEnd {
        session: String,
        summary: Option<String>,
    },
    Usage {
        origin: String,
        usage: UsageRecord,
    },
}
