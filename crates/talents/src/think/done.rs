//! What was done about a day, and with what: for each unit the digest of the sources it read.
//!
//! A unit whose sources are what they were is done. One whose sources changed since is done again, and because outputs
//! are sources of other talents, what depends on it follows and nothing else does. What must stay true: the digest is
//! of what lay there before the run began; a file that cannot be read means that nothing is known, never that
//! something was done.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::chronicle::{ChronicleError, RenderScope, render, write_atomic};
use crate::digests::TextDigest;
use crate::layout::Layout;
use crate::names::{Day, Facet, Segment, TalentName};
use crate::talent_files::{Load, Talent, TalentCatalog, Want};

const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// One unit that was done.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(super) struct UnitDone {
    /// The digest of what it read.
    pub(super) inputs: String,
    pub(super) use_id: Option<String>,
    /// It was written by rules, because no model could be asked: a model may still do it.
    pub(super) by_rules: bool,
}

/// Every unit of a day that was done, by segment, facet and talent.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct WorkDone {
    units: BTreeMap<String, UnitDone>,
}

pub(super) fn key(segment: Option<Segment>, facet: Option<&Facet>, talent: &TalentName) -> String {
    let segment = segment.map_or_else(|| "day".to_owned(), |segment| segment.to_string());
    match facet {
        Some(facet) => format!("{segment}/{facet}/{talent}"),
        None => format!("{segment}/{talent}"),
    }
}

impl WorkDone {
    pub(super) fn read(layout: &Layout, day: Day) -> WorkDone {
        let path = layout.work_done(day);
        let size = fs::metadata(&path).map_or(u64::MAX, |meta| meta.len());
        if size > FILE_BYTES_MAX {
            return WorkDone::default();
        }
        fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    pub(super) fn get(&self, key: &str) -> Option<&UnitDone> {
        self.units.get(key)
    }

    /// Puts one unit down. Read and written under no lock: one schedule works on a day at a time, and a unit that is
    /// lost here has its output, which counts.
    pub(super) fn put(
        layout: &Layout,
        day: Day,
        key: String,
        unit: UnitDone,
    ) -> Result<(), ChronicleError> {
        let mut done = WorkDone::read(layout, day);
        done.units.insert(key, unit);
        let text = serde_json::to_string(&done).unwrap_or_default();
        write_atomic(&layout.work_done(day), text.as_bytes())
    }
}

/// The digest of what a unit reads: its sources as they would be put before it. A talent that loads nothing looks for
/// itself, so the transcripts count for it.
pub(super) fn inputs(
    layout: &Layout,
    catalog: &TalentCatalog,
    day: Day,
    segment: Option<Segment>,
    facet: Option<&Facet>,
    talent: &Talent,
) -> Result<String, ChronicleError> {
    let mut load = talent.front.sources();
    if [load.transcripts, load.percepts, load.talents] == [Want::No; 3] {
        load = Load { transcripts: Want::Yes, percepts: Want::Yes, ..Load::default() };
    }
    let scope = segment.map_or(RenderScope::Day, RenderScope::Segment);
    let rendering = render(layout, day, &scope, facet, &load, catalog, &talent.name)?;
    let mut digest = TextDigest::default();
    digest.add(&rendering.text);
    for problem in &rendering.problems {
        digest.add(problem);
    }
    Ok(digest.hex(16))
}
