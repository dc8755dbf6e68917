//! What a memory is worth now, from its kind, its age and its use.

use api::score::{FactorsView, ScoreAnswer, ScoreRequest};
use kernel::grants::Permission;
use kernel::memory::{Head, Millis, Usage};
use kernel::salience::{Signals, factors, importance_score, salience};
use mind::active_days::ActiveDays;
use mind::fading::Fading;
use mind::settings::CortexSettings;

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::parse::from_ppm;
use crate::read::memory_id;
use crate::{Service, views};

/// Links to a memory that are looked at one by one for a delegate; a score counts far fewer.
const EDGES_COUNTED_MAX: usize = 256;

/// The score in thousandths. What was imported is as old as it was at its origin.
pub(super) fn thousandths(head: &Head, happened: Millis, usage: &Usage, now: Millis) -> u32 {
    importance_score(
        &head.kind,
        happened.get(),
        usage.accesses,
        usage.last_access.map(Millis::get),
        usage.edges_in,
        now.get(),
    )
}

impl Service {
    /// The score as it is now. Accesses that were noted so far count; `fades` says how importance fades, as it does
    /// for whoever puts memories away.
    pub fn score(
        &self,
        caller: &Caller,
        request: ScoreRequest,
        fades: &CortexSettings,
    ) -> Result<ScoreAnswer> {
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
        let mut usage = view.usage(id)?;
        if access.authority.is_some() {
            // Links from memories that a delegate does not see would tell it that they are there.
            let mut seen = 0;
            for edge in view.edges_in(id, EDGES_COUNTED_MAX)? {
                seen += u32::from(view.head(edge.src)?.is_some_and(|head| access.sees(&head)));
            }
            usage.edges_in = seen;
        }
        let happened = views::when_happened(&view, &head)?;
        let signals = Signals::of(&head, &usage, None);
        let seen = factors(&signals, now.get());
        let fading = Fading::new(fades, &ActiveDays::of(&view)?);
        let version = view.required_version(id, head.version)?;
        let left = fading.importance(&head, &version, &usage, now);
        Ok(ScoreAnswer {
            observation_id: id.get(),
            score: f64::from(thousandths(&head, happened, &usage, now)) / 1_000.0,
            access_count: usage.accesses,
            last_accessed: usage.last_access.map(Millis::rfc3339),
            updated_at: now.rfc3339(),
            incoming_edges: usage.edges_in,
            citations: usage.citations,
            shown: usage.shown.unwrap_or_default(),
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
