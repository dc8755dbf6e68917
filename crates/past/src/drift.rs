//! Whether an agent writes in a form that this build does not know any more, told from what every source gave.
//!
//! What must stay true: it is numbers, versions and names of agents, never a text of a session. Drift is told, never
//! fatal; what was read before stays.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::store::Past;
use transcripts::counts::{SILENT_BYTES_MIN, UNKNOWN_PERCENT_MAX};
use transcripts::session::PastAgent;

/// Sources of one version of an agent that are not understood well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentDrift {
    pub agent: PastAgent,
    /// Absent where the sources do not say.
    pub version: Option<String>,
    pub files: u64,
    pub records: u64,
    /// Records of types that nobody knows.
    pub unknown: u64,
    /// Sources of at least 64 KiB without a prompt.
    pub silent_files: u64,
}

impl Past {
    /// Versions of agents of which too much is unknown, or too little was found.
    pub fn drift(&self) -> Vec<AgentDrift> {
        let mut by_version: BTreeMap<(PastAgent, Option<String>), AgentDrift> = BTreeMap::new();
        for row in self.catalog.sources.values() {
            let Some(tally) = &row.tally else { continue };
            let version = row.memory.session.as_ref().and_then(|session| session.version.clone());
            let found =
                by_version.entry((row.agent, version.clone())).or_insert_with(|| AgentDrift {
                    agent: row.agent,
                    version,
                    files: 0,
                    records: 0,
                    unknown: 0,
                    silent_files: 0,
                });
            found.files += 1;
            found.records += tally.records;
            found.unknown += tally.unknown;
            found.silent_files += u64::from(tally.bytes >= SILENT_BYTES_MIN && row.prompts == 0);
        }
        by_version.retain(|_, found| {
            found.silent_files > 0 || found.unknown * 100 > found.records * UNKNOWN_PERCENT_MAX
        });
        by_version.into_values().collect()
    }
}
