//! One change of many memories, for the owner. Each is a change of its own in the journal; what the answer adds is the
//! way back.

use std::collections::BTreeMap;

use api::change::{ArchiveRequest, DeleteRequest, PinRequest, RestoreRequest, UpdateRequest};
use api::change_many::{
    BulkAction, CHANGE_MANY_MAX, ChangeManyAnswer, ChangeManyRequest, RefusedChange,
};

use crate::Service;
use crate::access::for_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::read::memory_id;

/// How a memory was before it was changed.
struct HeadState {
    archived: bool,
    forgotten: bool,
    project: Option<String>,
    tags: Vec<String>,
    pinned: bool,
}

impl Service {
    /// Changes many memories in the same way; says what was refused, and what takes the rest back.
    pub fn change_many(
        &self,
        caller: &Caller,
        request: ChangeManyRequest,
    ) -> Result<ChangeManyAnswer> {
        for_owner(caller)?;
        if request.ids.is_empty() || request.ids.len() > CHANGE_MANY_MAX {
            let reason = format!("name between 1 and {CHANGE_MANY_MAX} memories");
            return Err(Error::invalid("ids", reason));
        }
        let value = request.value.as_deref().map(str::trim);
        let is_tag = matches!(request.action, BulkAction::AddTag | BulkAction::RemoveTag);
        if is_tag && value.is_none_or(str::is_empty) {
            return Err(Error::invalid("value", "name the tag"));
        }
        if request.action == BulkAction::Move && value.is_none() {
            return Err(Error::invalid("value", "name the project; an empty text is none"));
        }
        let mut answer = ChangeManyAnswer::default();
        let mut undo: BTreeMap<(usize, Option<String>), ChangeManyRequest> = BTreeMap::new();
        for id in &request.ids {
            match self.change_one(caller, &request, *id) {
                Ok(Some((before, after))) => {
                    answer.changed += 1;
                    for (order, action, value) in ways_back(request.action, &before, &after) {
                        let entry = undo.entry((order, value.clone())).or_insert_with(|| {
                            let reason = Some("taken back".to_owned());
                            ChangeManyRequest { action, value, reason, ids: Vec::new() }
                        });
                        entry.ids.push(*id);
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    let error = api::Error::from(error);
                    answer.refused.push(RefusedChange { id: *id, error });
                }
            }
        }
        answer.undo = undo.into_values().collect();
        Ok(answer)
    }

    /// How it was and how it is; `None` if it was so already.
    fn change_one(
        &self,
        caller: &Caller,
        request: &ChangeManyRequest,
        id: u64,
    ) -> Result<Option<(HeadState, HeadState)>> {
        let before = self.standing_of(caller, id)?;
        let (value, reason) = (request.value.clone().unwrap_or_default(), request.reason.clone());
        // One key would make the second change the answer to the first.
        let caller = &Caller { idempotency_key: None, ..caller.clone() };
        let changed = match request.action {
            BulkAction::Archive => self.archive(caller, ArchiveRequest { id, reason })?.changed,
            BulkAction::Restore => {
                let request = RestoreRequest { id, reason, ..RestoreRequest::default() };
                self.restore(caller, request)?.changed
            }
            BulkAction::Forget => {
                let request = DeleteRequest { id, reason, ..DeleteRequest::default() };
                self.delete(caller, request)?.changed
            }
            BulkAction::Pin => self.pin(caller, PinRequest { id, pinned: true })?.changed,
            BulkAction::Unpin => self.pin(caller, PinRequest { id, pinned: false })?.changed,
            BulkAction::AddTag | BulkAction::RemoveTag | BulkAction::Move => {
                let mut update = UpdateRequest { id, reason, ..UpdateRequest::default() };
                match request.action {
                    BulkAction::AddTag => update.add_tags = vec![value],
                    BulkAction::RemoveTag => update.remove_tags = vec![value],
                    _ => update.project = Some(value),
                }
                self.update(caller, update)?.changed
            }
        };
        Ok(if changed { Some((before, self.standing_of(caller, id)?)) } else { None })
    }

    fn standing_of(&self, caller: &Caller, id: u64) -> Result<HeadState> {
        let id = memory_id(id)?;
        let head = self.opened(caller)?.read()?.view().head(id)?;
        let head = head.ok_or_else(|| Error::missing("memory", id))?;
        Ok(HeadState {
            archived: head.archived,
            forgotten: head.tombstone.is_some(),
            project: head.project,
            tags: head.tags,
            pinned: head.pinned,
        })
    }
}

/// What takes one change back: in which order, which action, with which value.
fn ways_back(
    action: BulkAction,
    before: &HeadState,
    after: &HeadState,
) -> Vec<(usize, BulkAction, Option<String>)> {
    match action {
        // An archived memory that was forgotten is archived again once it is back.
        BulkAction::Forget if before.archived => {
            vec![(0, BulkAction::Restore, None), (1, BulkAction::Archive, None)]
        }
        BulkAction::Archive | BulkAction::Forget => vec![(0, BulkAction::Restore, None)],
        BulkAction::Restore => {
            let mut back = Vec::new();
            if before.archived && !after.archived {
                back.push((0, BulkAction::Archive, None));
            }
            if before.forgotten && !after.forgotten {
                back.push((1, BulkAction::Forget, None));
            }
            back
        }
        BulkAction::Pin | BulkAction::Unpin if before.pinned == after.pinned => Vec::new(),
        BulkAction::Pin => vec![(0, BulkAction::Unpin, None)],
        BulkAction::Unpin => vec![(0, BulkAction::Pin, None)],
        BulkAction::AddTag => {
            let new = after.tags.iter().filter(|tag| !before.tags.contains(tag));
            new.map(|tag| (0, BulkAction::RemoveTag, Some(tag.clone()))).collect()
        }
        BulkAction::RemoveTag => {
            let gone = before.tags.iter().filter(|tag| !after.tags.contains(tag));
            gone.map(|tag| (0, BulkAction::AddTag, Some(tag.clone()))).collect()
        }
        BulkAction::Move => {
            let project = before.project.clone().unwrap_or_default();
            vec![(0, BulkAction::Move, Some(project))]
        }
    }
}
