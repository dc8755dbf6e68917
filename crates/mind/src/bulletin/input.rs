//! What was gathered for a bulletin, ready to be said by rules or by a model.
//!
//! What must stay true: the hash depends on which memories were chosen at which version, and on nothing that changes by
//! waiting alone.

use std::collections::BTreeSet;

use kernel::Digest;
use kernel::salience::Ppm;
use serde::{Deserialize, Serialize};

use super::dimension::Dimension;
use super::page::PageSubject;
use super::render::BulletinLine;
use crate::audience::{Audience, Trust};

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
    /// Empty if it is about none.
    pub project: String,
    /// When it happened or began to hold.
    pub date: String,
    /// How it ended, what it contradicts, how many say the same.
    pub note: Option<String>,
    /// The beginning of its content, for a model.
    pub detail: String,
    /// Other memories that the line speaks of.
    pub also: Vec<u64>,
    /// Relations it is in.
    pub links: u64,
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
    /// What a page answers; absent for a bulletin.
    pub subject: Option<PageSubject>,
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

    /// Those that a model may word.
    pub fn model_items(&self) -> impl Iterator<Item = &InputItem> {
        let sections = self.sections.iter().filter(|section| section.dimension.is_for_model());
        sections.flat_map(|section| &section.items)
    }

    pub fn ids(&self) -> BTreeSet<u64> {
        self.items().flat_map(|item| std::iter::once(item.id).chain(item.also.clone())).collect()
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

pub(super) fn hash_of(sections: &[InputSection]) -> String {
    let mut bytes = Vec::new();
    for section in sections {
        bytes.extend(section.dimension.heading().bytes());
        bytes.push(0);
        // Importance fades by itself and reorders a section. The hash ignores the order, because the same lines are
        // said.
        let mut items: Vec<(u64, u32, &[u64])> =
            section.items.iter().map(|i| (i.id, i.version, i.also.as_slice())).collect();
        items.sort_unstable();
        for (id, version, also) in items {
            bytes.extend(id.to_be_bytes());
            bytes.extend(version.to_be_bytes());
            also.iter().for_each(|id| bytes.extend(id.to_be_bytes()));
        }
    }
    Digest::of("cortex/bulletin/1", &[&bytes]).to_string()
}
