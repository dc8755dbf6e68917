//! What a memory is worth now, from its kind, its age and its use.

use kernel::grants::Permission;
use kernel::memory::{Head, MemoryType, Millis, Usage};
use kernel::salience::{
    DecayPolicy, Signals, decayed_importance, factors, importance_score, salience,
};
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::{Error, Result};
use super::parse::from_ppm;
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
    pub citations: u64,
    /// What ranking by salience goes by, 0 to 1.
    pub salience: f64,
    pub factors: FactorsView,
    /// What time has left of the declared importance, 0 to 1.
    pub importance: f64,
}

/// What salience is made of, each 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FactorsView {
    pub recency: f64,
    pub access: f64,
    pub citation: f64,
    pub importance: f64,
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
        match self.flush_actor(&caller.actor, now) {
            // They stay noted; a full disk can still be read.
            Err(error) if error.retry => {}
            outcome => outcome?,
        }
        let door = self.door(caller, Permission::Read, &request)?;
        if let Some(authority) = &door.authority {
            door.cortex.check_sight(authority, Permission::Read, id, now)?;
        }
        let view = door.reading.view();
        let head = view.required_head(id)?;
        if !views::is_live(&head) {
            return Err(Error::missing("memory", id));
        }
        let usage = view.usage(id)?;
        let signals = Signals::of(&head, &usage, None);
        let seen = factors(&signals, now.get());
        // Who somebody is does not fade, nor what was pinned.
        let exempt = head.pinned || head.memory_type == MemoryType::Identity;
        let policy = DecayPolicy::default();
        let left =
            decayed_importance(head.importance, exempt, signals.last_used, now.get(), &policy);
        Ok(ScoreAnswer {
            observation_id: id.get(),
            score: f64::from(thousandths(&head, &usage, now)) / 1_000.0,
            access_count: usage.accesses,
            last_accessed: usage.last_access.map(Millis::rfc3339),
            updated_at: now.rfc3339(),
            incoming_edges: usage.edges_in,
            citations: usage.citations,
            salience: from_ppm(salience(&signals, now.get(), &view.weights()?)),
            factors: FactorsView {
                recency: from_ppm(seen.recency),
                access: from_ppm(seen.access),
                citation: from_ppm(seen.citation),
                importance: from_ppm(seen.importance),
            },
            importance: from_ppm(left),
        })
    }
}
