//! Whether every actor of the home can be opened and its newest entries read.
//!
//! Quick on purpose: it looks at the end of each journal and the newest words, not at everything; that is what `verify`
//! does. What must stay true: a broken actor is an answer, not an error.

use api::health::{ActorHealth, ClockJumpView, HealthAnswer, HealthRequest};
use api::upkeep::StoreProblem;
use kernel::ScrubState;
use kernel::actor::ActorName;
use kernel::limits::CLOCK_LAG_MS_MAX;
use kernel::memory::MemoryId;
use kernel::store::DamageNote;

use crate::Service;
use crate::caller::Caller;
use crate::error::Result;

/// Entries and memories looked at per actor.
const LOOKED_AT: u64 = 200;

impl Service {
    pub fn health(&self, caller: &Caller, _: HealthRequest) -> Result<HealthAnswer> {
        crate::access::for_owner(caller)?;
        let mut actors = Vec::new();
        for actor in self.home.actors_here()? {
            let mut health = ActorHealth { actor: actor.to_string(), ..ActorHealth::default() };
            health.problem = self.look_at(caller, &actor, &mut health).err().map(Into::into);
            match self.project_table(&actor) {
                Ok(table) => health.projects_apart = table.told_apart(),
                Err(error) => health.projects_problem = Some(error.into()),
            }
            actors.push(health);
        }
        Ok(HealthAnswer { actors })
    }

    fn look_at(&self, caller: &Caller, actor: &ActorName, health: &mut ActorHealth) -> Result<()> {
        // Opening refuses an index that another analyzer or model made.
        let cortex = self.home.actor(actor, caller.now()?)?;
        health.file_bytes = cortex.size_bytes()?;
        health.scrub = match cortex.scrub_state() {
            ScrubState::Done => None,
            ScrubState::Pending(error) => Some(error.map_or_else(String::new, |e| e.to_string())),
        };
        health.checked = self.last_check(actor)?;
        let reading = cortex.read()?;
        let view = reading.view();
        let counters = view.counters()?;
        health.entries = counters.size;
        health.memories = counters.live();
        health.root = reading.root()?.to_string();
        let jumps = view.clock_jumps()?.into_iter();
        health.clock_jumps = jumps
            .map(|(seq, jump)| ClockJumpView {
                seq,
                from: jump.from.rfc3339(),
                to: jump.to.rfc3339(),
            })
            .collect();
        let is_ahead = counters.at.get().saturating_sub(caller.now()?.get()) > CLOCK_LAG_MS_MAX;
        health.ahead = is_ahead.then(|| counters.at.rfc3339());
        let last = view.last_seq()?;
        if last != counters.size {
            let reason =
                format!("the journal ends at {last}, what is derived at {}", counters.size);
            return Err(kernel::Error::corrupt("counters", reason).into());
        }
        for seq in (1..=last).rev().take(usize::try_from(LOOKED_AT).unwrap_or(usize::MAX)) {
            // One that does not read is among the damage below.
            if let Some(entry) = view.entry(seq)? {
                entry.payload()?;
            }
            // A memory has the number of the entry that made it.
            if let Some(head) = MemoryId::new(seq).map(|id| view.head(id)).transpose()?.flatten() {
                reading.resolve_version(head.id, None)?;
            }
        }
        let problem = |note: DamageNote| StoreProblem { place: note.place, reason: note.reason };
        health.damage = cortex.damage().into_iter().map(problem).collect();
        Ok(())
    }
}
