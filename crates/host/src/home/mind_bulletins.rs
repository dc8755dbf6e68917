//! Bulletins of a mind: what they are gathered from, and how they follow what is written.

use std::sync::atomic::Ordering;

use kernel::Reading;
use kernel::memory::{Head, Millis};
use mind::audience::Audience;
use mind::bulletin::{BulletinInput, GatherRequest, gather};
use mind::fading::Fading;
use mind::maintenance::{self, MaintenanceState};
use mind::proposal::{self, DueMemory};
use service::Caller;
use service::error::Result;

use super::Host;
use crate::mind_host::{ActorMind, lock};

/// How long a gathering counts while the journal does not grow: time alone makes little difference within it.
const GATHERED_MS: i64 = 6 * 3_600_000;
/// How long what is due counts: finding it reads every memory, and it changes by days.
const DUE_MS: i64 = 600_000;
/// The run that a bulletin names which was made because memories changed.
const LIVE: &str = "live";

/// What of the memories a bulletin is about; nothing set: all of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct BulletinScope<'a> {
    pub(crate) concerns: Option<&'a dyn Fn(&Head) -> bool>,
    /// Names of the project that the reader works on.
    pub(crate) projects: &'a [String],
    /// When the reader was last here.
    pub(crate) since: Option<Millis>,
}

impl Host {
    /// What the bulletin is made of. The journal tells if anything can be new.
    pub(crate) fn gather(
        &self,
        actor_mind: &ActorMind,
        audience: &Audience,
        caller: &Caller,
    ) -> Result<BulletinInput> {
        let now = caller.now()?;
        let reading = self.service.existing(caller)?.read()?;
        let size = reading.view().counters()?.size;
        if let Some((at, gathered)) = lock(&actor_mind.gathered).get(audience)
            && gathered.size == size
            && (0..GATHERED_MS).contains(&now.get().saturating_sub(at.get()))
        {
            return Ok(gathered.clone());
        }
        let gathered =
            self.gather_for(actor_mind, &reading, audience, BulletinScope::default(), now)?;
        lock(&actor_mind.gathered).insert(audience.clone(), (now, gathered.clone()));
        Ok(gathered)
    }

    /// The same for whoever works on a project and was last here at a moment.
    pub(crate) fn gather_for(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        audience: &Audience,
        scope: BulletinScope<'_>,
        now: Millis,
    ) -> Result<BulletinInput> {
        let BulletinScope { concerns, projects, since } = scope;
        let settings = actor_mind.slot().mind.settings.clone();
        let (due, fading) = due_lately(actor_mind, reading, now)?;
        let request = GatherRequest {
            audience,
            concerns,
            projects,
            settings: &settings.bulletin,
            fading: &fading,
            rules: settings.rules,
            due: &due,
            since,
            now,
        };
        Ok(gather(reading, request)?)
    }

    /// What is about to be put away. The days and rules that were read on the way are kept.
    pub(crate) fn due_now(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        now: Millis,
    ) -> Result<(Vec<DueMemory>, usize, MaintenanceState)> {
        let (state, settings) = {
            let slot = actor_mind.slot();
            (slot.mind.maintenance.clone(), slot.mind.settings.cortex.clone())
        };
        let (due, more, next) = maintenance::due(reading, &state, &settings, now)?;
        let mut slot = actor_mind.slot();
        if next.is_ahead_of(&slot.mind.maintenance) {
            slot.mind.maintenance = next.clone();
        }
        Ok((due, more, next))
    }

    /// Publishes what rules say of the memories as they are, if the journal has grown. No model is asked. True if that
    /// is a new bulletin, which is not written down yet.
    pub(crate) fn refresh_bulletin(
        &self,
        actor_mind: &ActorMind,
        audience: &Audience,
        caller: &Caller,
    ) -> Result<bool> {
        let now = caller.now()?;
        let erasures = actor_mind.erasures.load(Ordering::Acquire);
        let gathered = self.gather(actor_mind, audience, caller)?;
        let mut slot = actor_mind.slot();
        // What was read before an erasure may hold the text. The next look gathers again.
        if actor_mind.erasures.load(Ordering::Acquire) != erasures {
            return Ok(false);
        }
        let fresh = slot.mind.refresh(&gathered, LIVE, now);
        let is_new = fresh.is_some();
        if let Some(bulletin) = fresh {
            actor_mind.publish(*bulletin);
        }
        actor_mind.said(audience, gathered.size);
        Ok(is_new)
    }

    /// Brings the bulletins of every mind in use up to date with its journal. Costs one look where nothing changed.
    pub fn follow_changes(&self, caller: &Caller) -> Result<()> {
        for actor_mind in self.minds.all() {
            let Some(cortex) = self.service.home().if_open(&actor_mind.actor) else { continue };
            if self.minds.is_ending() {
                break;
            }
            let size = cortex.read()?.view().counters()?.size;
            let caller = Caller {
                actor: actor_mind.actor.clone(),
                by: proposal::BY.to_owned(),
                ..caller.clone()
            };
            for audience in [Audience::Owner, Audience::Shared] {
                // The first bulletin is a matter of warm-up.
                let there = actor_mind.published().get(&audience).is_some();
                if there && actor_mind.said_until(&audience) != Some(size) {
                    let outcome = self.refresh_bulletin(&actor_mind, &audience, &caller);
                    self.minds.say(&actor_mind.actor, outcome.map(drop));
                }
            }
            let outcome = self.follow_pages(&actor_mind, &caller);
            self.minds.say(&actor_mind.actor, outcome);
        }
        Ok(())
    }
}

/// What was about to be put away when it was last looked at, and how importance fades now.
fn due_lately(
    actor_mind: &ActorMind,
    reading: &Reading,
    now: Millis,
) -> Result<(Vec<DueMemory>, Fading)> {
    let (mut state, settings) = {
        let slot = actor_mind.slot();
        (slot.mind.maintenance.clone(), slot.mind.settings.cortex.clone())
    };
    let fading = state.follow(&reading.view(), &settings, now)?;
    let erasures = actor_mind.erasures.load(Ordering::Acquire);
    let known = lock(&actor_mind.due).clone();
    let due = match known {
        Some((at, by, due))
            if by == settings && (0..DUE_MS).contains(&now.get().saturating_sub(at.get())) =>
        {
            due
        }
        _ => {
            let due = maintenance::due_by(reading, &state, &settings, fading.clone(), now)?.0;
            let mut known = lock(&actor_mind.due);
            // What was read before an erasure may name what is erased.
            if actor_mind.erasures.load(Ordering::Acquire) == erasures {
                *known = Some((now, settings, due.clone()));
            }
            due
        }
    };
    let mut slot = actor_mind.slot();
    if state.is_ahead_of(&slot.mind.maintenance) {
        slot.mind.maintenance = state;
    }
    Ok((due, fading))
}
