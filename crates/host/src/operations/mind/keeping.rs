//! What is about to be put away by itself, keeping it, and trying again what was left alone.
//!
//! What must stay true: what somebody keeps is never put away by itself again, also after the mind's own file is lost,
//! because a tag of the memory says so.

use api::mind::{
    DueAnswer, DueRequest, DueView, KEEP_MAX, KeepAnswer, KeepRequest, ResetAnswer, ResetRequest,
};
use kernel::command::{Command, HeadRevision, Removal};
use kernel::journal::HeadPatch;
use kernel::memory::MemoryId;
use kernel::store::View;
use mind::fading::KEPT_TAG;
use mind::proposal::DueMemory;
use service::caller::Caller;
use service::error::{Error, Result};

use super::views::title;
use crate::home::Host;

impl Host {
    pub fn mind_due(&self, caller: &Caller, _: DueRequest) -> Result<DueAnswer> {
        let (actor_mind, now) = (self.actor_mind(caller)?, caller.now()?);
        // Accesses that were only noted yet may be what keeps a memory.
        self.service.flush_actor(&caller.actor, now)?;
        let (_, reading) = self.service.reading(caller)?;
        let (due, more, _) = self.due_now(&actor_mind, &reading, now)?;
        Ok(DueAnswer { due: due_views(&reading.view(), &due), more })
    }

    /// Keeps memories; those that were put away are brought back first.
    pub fn mind_keep(&self, caller: &Caller, request: KeepRequest) -> Result<KeepAnswer> {
        service::access::for_owner(caller)?;
        if request.ids.is_empty() || request.ids.len() > KEEP_MAX {
            let reason =
                format!("names {} memories; 1 to {KEEP_MAX} are kept at once", request.ids.len());
            return Err(Error::invalid("ids", reason));
        }
        let (cortex, reading) = self.service.reading(caller)?;
        let view = reading.view();
        let mut heads = Vec::new();
        for number in &request.ids {
            let missing = || Error::missing("memory", number);
            let id = MemoryId::new(*number).ok_or_else(missing)?;
            let head = view.head(id)?.filter(|head| !head.erased).ok_or_else(missing)?;
            heads.push(head);
        }
        let mut answer = KeepAnswer::default();
        for head in heads {
            let (id, reason) = (head.id, "somebody asked to keep it");
            if head.archived || head.tombstone.is_some() {
                let removal = Removal { id, expected: None, reason: reason.to_owned() };
                let stamp = caller.plain_stamp()?;
                self.service.submit_plainly(&cortex, stamp, Command::Restore(removal))?;
                answer.restored.push(id.get());
            }
            if !head.tags.iter().any(|tag| tag == KEPT_TAG) {
                let mut tags = head.tags.clone();
                tags.push(KEPT_TAG.to_owned());
                tags.sort_unstable();
                let patch = HeadPatch { tags: Some(tags), ..HeadPatch::default() };
                let reason = Some(reason.to_owned());
                let change = HeadRevision { id, expected: None, patch, reason };
                let stamp = caller.plain_stamp()?;
                self.service.submit_plainly(&cortex, stamp, Command::UpdateHead(change))?;
            }
            answer.kept.push(id.get());
        }
        Ok(answer)
    }

    /// Tries again whatever was left alone because it failed.
    pub fn mind_reset(&self, caller: &Caller, _: ResetRequest) -> Result<ResetAnswer> {
        let actor_mind = self.actor_mind(caller)?;
        let closed = actor_mind.slot().mind.reset();
        actor_mind.persist()?;
        Ok(ResetAnswer { closed })
    }
}

pub(super) fn due_views(view: &View<'_>, due: &[DueMemory]) -> Vec<DueView> {
    let view = |one: &DueMemory| {
        let head = MemoryId::new(one.id).and_then(|id| view.head(id).ok().flatten());
        DueView {
            id: one.id,
            title: title(view, one.id).unwrap_or_default(),
            project: head.as_ref().and_then(|head| head.project.clone()).unwrap_or_default(),
            kind: head.map(|head| head.kind).unwrap_or_default(),
            days_left: one.days_left,
            reason: one.reason.clone(),
        }
    };
    due.iter().map(view).collect()
}
