//! What a memory is worth now, from its kind, its age and its use.

use api::score::{FactorsView, ScoreAnswer, ScoreRequest};
use kernel::grants::Permission;
use kernel::memory::{Head, MemoryType, Millis, Usage};
use kernel::salience::{
    DecayPolicy, Signals, decayed_importance, factors, importance_score, salience,
};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::parse::from_ppm;
use crate::read::memory_id;
use crate::{Service, views};

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

impl Service {
    /// The score as it is now. Accesses that were noted so far count.
    pub fn score(&self, caller: &Caller, request: ScoreRequest) -> Result<ScoreAnswer> {
        let id = memory_id(request.id)?;
        let now = caller.now()?;
        match self.flush_actor(&caller.actor, now) {
            // They stay noted; a full disk can still be read.
            Err(error) if error.is_retryable() => {}
            outcome => outcome?,
        }
        let access = self.access(caller, Permission::Read, &request)?;
        if let Some(authority) = &access.authority {
            access.cortex.check_sight(authority, Permission::Read, id, now)?;
        }
        let view = access.reading.view();
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
            shown: 0,
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
