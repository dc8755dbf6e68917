//! What a memory is worth now, from its kind, its age and its use.

use kernel::memory::{Head, Millis, Usage};
use kernel::salience::importance_score;
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::{Error, Result};
use super::read::memory_id;
use super::views;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreRequest {
    pub id: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ScoreAnswer {
    pub observation_id: u64,
    /// 0 to 5.
    pub score: f64,
    pub access_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_accessed: Option<String>,
    /// The moment it was computed for: scores are never stored.
    pub updated_at: String,
    pub incoming_edges: u32,
}

/// The score in thousandths.
pub(super) fn thousandths(head: &Head, usage: &Usage, now: Millis) -> u32 {
    importance_score(
        &head.kind,
        head.created.get(),
        usage.accesses,
        usage.last_access.map(Millis::get),
        usage.edges_in,
        now.get(),
    )
}

impl Ops {
    /// The score as it is now. Accesses that were noted so far count.
    pub fn score(&self, caller: &Caller, request: ScoreRequest) -> Result<ScoreAnswer> {
        let id = memory_id(request.id)?;
        let now = caller.now()?;
        self.flush_actor(&caller.actor, now)?;
        let (_, reading) = self.reading(caller)?;
        let head = reading.view().required_head(id)?;
        if !views::is_live(&head) {
            return Err(Error::missing("memory", id));
        }
        let usage = reading.view().usage(id)?;
        Ok(ScoreAnswer {
            observation_id: id.get(),
            score: f64::from(thousandths(&head, &usage, now)) / 1_000.0,
            access_count: usage.accesses,
            last_accessed: usage.last_access.map(Millis::rfc3339),
            updated_at: now.rfc3339(),
            incoming_edges: usage.edges_in,
        })
    }
}
