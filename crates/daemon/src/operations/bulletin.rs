//! The memory bulletin: what matters now, as the mind published it last.
//!
//! Where a daemon runs the minds of the home, reading costs one look at what is published. Without one, a bulletin that
//! the journal has outgrown is made again first, by rules; a model is asked only when somebody wants a refresh.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::Fault;
use api::bulletin::{
    BulletinAnswer, BulletinHistoryAnswer, BulletinHistoryRequest, BulletinRequest, BulletinView,
    ChangesView, SourceView,
};
use kernel::memory::{MemoryId, Millis, Scope};
use mind::BULLETIN;
use mind::audience::Audience;
use mind::bulletin::{Bulletin, BulletinChanges, Maker, ModelUse, system_prompt};
use service::caller::Caller;
use service::error::{Error, Result};

use crate::host::Host;
use crate::mind_host::ActorMind;

impl Host {
    pub fn bulletin(&self, caller: &Caller, request: BulletinRequest) -> Result<BulletinAnswer> {
        let audience = audience(request.audience.as_deref())?;
        let actor_mind = match self.actor_mind(caller) {
            Ok(actor_mind) => actor_mind,
            // Whoever wants only what is there goes on without it, whatever is wrong with the mind.
            Err(error) if request.published && error.fault() != Fault::Forbidden => {
                self.minds.say(&caller.actor, Err(error));
                return Ok(BulletinAnswer::default());
            }
            Err(error) => return Err(error),
        };
        if request.refresh {
            self.run_job(&actor_mind, BULLETIN, ModelUse::Allowed, caller)?;
        } else if !request.published {
            self.make_if_missing(&actor_mind, &audience, caller)?;
        }
        let Some(mut bulletin) = actor_mind.published().get(&audience) else {
            return Ok(BulletinAnswer::default());
        };
        if let Some(project) = &request.project {
            bulletin = Arc::new(self.of_project(caller, &bulletin, project)?);
        }
        let before = older(&actor_mind, &audience).pop();
        let mut view = view(&bulletin, before.as_ref(), caller.now()?);
        if request.explain {
            view.sources = self.sources(caller, &bulletin)?;
        }
        if request.as_prompt {
            system_prompt("", Some(&bulletin)).trim().clone_into(&mut view.text);
        }
        Ok(BulletinAnswer { bulletin: Some(view) })
    }

    /// What of a bulletin concerns whoever works on a project.
    fn of_project(&self, caller: &Caller, bulletin: &Bulletin, project: &str) -> Result<Bulletin> {
        let project = self.service.named(&caller.actor, project);
        let (_, reading) = self.service.reading(caller)?;
        let view = reading.view();
        let mut meant = BTreeSet::new();
        for number in bulletin.cited.keys() {
            let Some(head) = MemoryId::new(*number).map(|id| view.head(id)).transpose()?.flatten()
            else {
                continue;
            };
            let is_meant = match &head.project {
                None => true,
                // A name of before counts as the project it was merged into.
                Some(its) => {
                    head.scope == Scope::Personal
                        || self.service.named(&caller.actor, its) == project
                }
            };
            meant.extend(is_meant.then_some(*number));
        }
        Ok(bulletin.of(|id| meant.contains(&id)))
    }

    pub fn bulletin_history(
        &self,
        caller: &Caller,
        request: BulletinHistoryRequest,
    ) -> Result<BulletinHistoryAnswer> {
        let audience = audience(request.audience.as_deref())?;
        let actor_mind = self.actor_mind(caller)?;
        let mut all = older(&actor_mind, &audience);
        all.extend(actor_mind.published().get(&audience).map(|now| (*now).clone()));
        let now = caller.now()?;
        let views = (0..all.len()).rev().take(request.limit.unwrap_or(20)).map(|at| {
            let before = at.checked_sub(1).and_then(|at| all.get(at));
            view(&all[at], before, now)
        });
        Ok(BulletinHistoryAnswer { bulletins: views.collect(), total: all.len() })
    }

    /// Without a daemon nobody else makes it. Somebody who is making it now is not disturbed.
    fn make_if_missing(
        &self,
        actor_mind: &Arc<ActorMind>,
        audience: &Audience,
        caller: &Caller,
    ) -> Result<()> {
        let published = actor_mind.published().get(audience);
        let fresh = match &published {
            Some(_) if self.minds.is_served() => true,
            Some(bulletin) => {
                // The journal also grows by what no bulletin says; the answer of the job is then `unchanged`.
                bulletin.size == self.service.existing(caller)?.read()?.view().counters()?.size
            }
            None => false,
        };
        if fresh {
            return Ok(());
        }
        match self.run_job(actor_mind, BULLETIN, ModelUse::Never, caller) {
            Err(error) if error.fault() == Fault::Conflict => Ok(()),
            made => made.map(drop),
        }
    }

    fn sources(&self, caller: &Caller, bulletin: &Bulletin) -> Result<Vec<SourceView>> {
        let (_, reading) = self.service.reading(caller)?;
        let view = reading.view();
        let mut sources = Vec::new();
        for slot in &bulletin.parts {
            for number in slot.lines.iter().flat_map(|line| &line.cites) {
                let Some(id) = MemoryId::new(*number) else { continue };
                let Some(head) = view.head(id)? else { continue };
                let version = bulletin.cited.get(number).copied().unwrap_or(head.version);
                let body = view.body(&view.required_version(id, version)?)?;
                sources.push(SourceView {
                    id: *number,
                    version,
                    now_version: head.version,
                    kind: head.kind.clone(),
                    memory_type: head.memory_type.name().to_owned(),
                    created_at: head.created.rfc3339(),
                    title: body.map_or_else(|| "[erased]".to_owned(), |body| body.title),
                    section: slot.heading.clone(),
                    forgotten: head.tombstone.is_some(),
                });
            }
        }
        Ok(sources)
    }
}

/// Bulletins before the one that is published, newest last.
fn older(actor_mind: &ActorMind, audience: &Audience) -> Vec<Bulletin> {
    let slot = actor_mind.slot();
    let state = match audience {
        Audience::Owner => &slot.mind.owner,
        Audience::Shared => &slot.mind.shared,
    };
    state.history.iter().cloned().collect()
}

fn audience(name: Option<&str>) -> Result<Audience> {
    match name {
        None | Some("owner") => Ok(Audience::Owner),
        Some("shared") => Ok(Audience::Shared),
        Some(other) => Err(Error::invalid("audience", format!("{other:?} is not owner or shared"))),
    }
}

fn view(bulletin: &Bulletin, before: Option<&Bulletin>, now: Millis) -> BulletinView {
    let BulletinChanges { added, removed, revised } = BulletinChanges::between(before, bulletin);
    let age = now.get().saturating_sub(bulletin.generated_unix_ms).max(0) / 1_000;
    BulletinView {
        number: bulletin.number,
        audience: bulletin.audience.name().to_owned(),
        text: bulletin.text.clone(),
        words: bulletin.words,
        generated_at: Millis(bulletin.generated_unix_ms).rfc3339(),
        age_seconds: u64::try_from(age).unwrap_or_default(),
        made_by: match &bulletin.maker {
            Maker::Rules => "rules".to_owned(),
            Maker::Model { model } => model.clone(),
        },
        fallback: bulletin.fallback.clone(),
        run: bulletin.run.clone(),
        inputs: bulletin.inputs.clone(),
        size: bulletin.size,
        cited: bulletin.cited.keys().copied().collect(),
        changes: ChangesView { added, removed, revised },
        sources: Vec::new(),
    }
}
