//! The memory bulletin: what matters now, as the mind published it last.
//!
//! Whoever wants what is published pays one look. Otherwise a bulletin that the journal has outgrown is made again
//! first, by rules, in milliseconds; a model is asked only by the job and when somebody wants a refresh. The bulletin
//! of a project is gathered from what concerns whoever works on it, and always by rules.

use std::sync::Arc;

use api::Fault;
use api::bulletin::{
    BulletinAnswer, BulletinHistoryAnswer, BulletinHistoryRequest, BulletinRequest, BulletinView,
    ChangesView, RefusedView, SourceView,
};
use kernel::memory::{Head, MemoryId, Millis, Scope};
use mind::BULLETIN;
use mind::audience::Audience;
use mind::bulletin::{Bulletin, BulletinChanges, BulletinState, Maker, ModelUse, system_prompt};
use service::caller::Caller;
use service::error::{Error, Result};

use crate::home::{BulletinScope, Host};
use crate::mind_host::{ActorMind, PROJECT_BULLETINS_MAX, lock};

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
            self.bring_up_to_date(&actor_mind, &audience, caller)?;
        }
        let named = |name: &str| self.service.named(&caller.actor, name);
        let project = request.project.as_deref().and_then(named);
        let (bulletin, before) = if project.is_some() || request.agent.is_some() {
            let agent = request.agent.as_deref();
            let made = self.of_project(&actor_mind, &audience, caller, project.as_deref(), agent);
            match made {
                Ok(made) => (made, None),
                Err(error) if request.published && error.fault() != Fault::Forbidden => {
                    self.minds.say(&caller.actor, Err(error));
                    return Ok(BulletinAnswer::default());
                }
                Err(error) => return Err(error),
            }
        } else {
            let Some(bulletin) = actor_mind.published().get(&audience) else {
                return Ok(BulletinAnswer::default());
            };
            (bulletin, older(&actor_mind, &audience).pop())
        };
        let mut view = view(&bulletin, before.as_ref(), caller.now()?);
        view.project = project.unwrap_or_default();
        if request.explain {
            view.sources = self.sources(caller, &bulletin)?;
            view.refused = refused(&actor_mind, &audience);
        }
        if request.as_prompt {
            system_prompt("", Some(&bulletin)).trim().clone_into(&mut view.text);
        }
        Ok(BulletinAnswer { bulletin: Some(view) })
    }

    /// The bulletin of whoever works on a project, and what changed since an agent's last session in it.
    fn of_project(
        &self,
        actor_mind: &ActorMind,
        audience: &Audience,
        caller: &Caller,
        project: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Arc<Bulletin>> {
        let now = caller.now()?;
        let (_, reading) = self.service.reading(caller)?;
        let size = reading.view().counters()?.size;
        let key = (audience.clone(), project.unwrap_or_default().to_owned());
        let known = lock(&actor_mind.of_projects).get(&key).cloned();
        if agent.is_none()
            && let Some((at, bulletin)) = known
            && bulletin.size == size
            && at.date() == now.date()
        {
            return Ok(bulletin);
        }
        let since = match agent {
            Some(agent) => self.service.last_session_end(caller, agent, project)?,
            None => None,
        };
        let concerns = |head: &Head| self.concerns(caller, project, head);
        let names = project.map(|it| self.service.names_of_project(&caller.actor, it));
        let gathered = self.gather_for(
            actor_mind,
            &reading,
            audience,
            BulletinScope {
                concerns: Some(&concerns),
                projects: &names.unwrap_or_default(),
                since,
            },
            now,
        )?;
        let max_words = actor_mind.slot().mind.settings.bulletin.max_words;
        let bulletin = Arc::new(Bulletin::by_rules(&gathered, max_words, now));
        if agent.is_none() {
            let mut kept = lock(&actor_mind.of_projects);
            if kept.len() >= PROJECT_BULLETINS_MAX && !kept.contains_key(&key) {
                kept.pop_first();
            }
            kept.insert(key, (now, Arc::clone(&bulletin)));
        }
        Ok(bulletin)
    }

    /// Whether a memory concerns whoever works on a project.
    pub(super) fn concerns(&self, caller: &Caller, project: Option<&str>, head: &Head) -> bool {
        match (&head.project, project) {
            (None, _) | (_, None) => true,
            // A name of before counts as the project it was merged into.
            (Some(its), Some(project)) => {
                let its = self.service.named(&caller.actor, its);
                head.scope == Scope::Personal || its.as_deref() == Some(project)
            }
        }
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

    /// Makes it if there is none, and again by rules if the journal has grown.
    fn bring_up_to_date(
        &self,
        actor_mind: &Arc<ActorMind>,
        audience: &Audience,
        caller: &Caller,
    ) -> Result<()> {
        if actor_mind.published().get(audience).is_none() {
            return match self.run_job(actor_mind, BULLETIN, ModelUse::Never, caller) {
                // Somebody who is making it now is not disturbed.
                Err(error) if error.fault() == Fault::Conflict => Ok(()),
                made => made.map(drop),
            };
        }
        let size = self.service.existing(caller)?.read()?.view().counters()?.size;
        if actor_mind.said_until(audience) == Some(size) {
            return Ok(());
        }
        // Without a daemon the next process has only what was written down.
        if self.refresh_bulletin(actor_mind, audience, caller)? {
            self.minds.say(&actor_mind.actor, actor_mind.persist());
        }
        Ok(())
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

/// Answers of a model that were not used, newest first.
fn refused(actor_mind: &ActorMind, audience: &Audience) -> Vec<RefusedView> {
    let slot = actor_mind.slot();
    let state = match audience {
        Audience::Owner => &slot.mind.owner,
        Audience::Shared => &slot.mind.shared,
    };
    refused_of(state)
}

pub(super) fn refused_of(state: &BulletinState) -> Vec<RefusedView> {
    let view = |one: &mind::bulletin::RefusedAnswer| RefusedView {
        at: Millis(one.at_unix_ms).rfc3339(),
        model: one.model.clone(),
        reason: one.reason.clone(),
        text: one.text.clone(),
    };
    state.refused.iter().rev().map(view).collect()
}

fn audience(name: Option<&str>) -> Result<Audience> {
    match name {
        None | Some("owner") => Ok(Audience::Owner),
        Some("shared") => Ok(Audience::Shared),
        Some(other) => Err(Error::invalid("audience", format!("{other:?} is not owner or shared"))),
    }
}

/// Who wrote it, as people read it.
pub(super) fn made_by(bulletin: &Bulletin) -> String {
    match &bulletin.maker {
        Maker::Rules => "rules".to_owned(),
        Maker::Model { model } => model.clone(),
    }
}

pub(super) fn changes_of(bulletin: &Bulletin, before: Option<&Bulletin>) -> ChangesView {
    let BulletinChanges { added, removed, revised } = BulletinChanges::between(before, bulletin);
    ChangesView { added, removed, revised }
}

fn view(bulletin: &Bulletin, before: Option<&Bulletin>, now: Millis) -> BulletinView {
    let age = now.get().saturating_sub(bulletin.generated_unix_ms).max(0) / 1_000;
    BulletinView {
        number: bulletin.number,
        audience: bulletin.audience.name().to_owned(),
        text: bulletin.text.clone(),
        words: bulletin.words,
        generated_at: Millis(bulletin.generated_unix_ms).rfc3339(),
        age_seconds: u64::try_from(age).unwrap_or_default(),
        made_by: made_by(bulletin),
        fallback: bulletin.fallback.clone(),
        run: bulletin.run.clone(),
        inputs: bulletin.inputs.clone(),
        size: bulletin.size,
        cited: bulletin.cited.keys().copied().collect(),
        changes: changes_of(bulletin, before),
        project: String::new(),
        sources: Vec::new(),
        refused: Vec::new(),
    }
}
