//! Changes of one memory: update, forget or erase, archive, restore, pin.

use kernel::command::{Command, HeadRevision, Removal, Revision};
use kernel::journal::HeadPatch;
use kernel::memory::{Body, MemoryId};
use kernel::scope::Operation as Lane;
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::error::{Error, Result};
use super::read::memory_id;
use super::save::{RACES_MAX, normal_kind, scope_of};
use super::views::{self, Memory};
use super::{Ops, wording};
use crate::intake::topic;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateRequest {
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Empty clears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Empty clears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The version the caller has read; another one is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChangeAnswer {
    #[serde(flatten)]
    pub memory: Memory,
    /// False: it was so already.
    pub changed: bool,
    /// What was taken out: private blocks, secrets. Empty if nothing was.
    pub redacted: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeleteRequest {
    pub id: u64,
    /// Delete the content for good, in every version.
    pub hard: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DeleteAnswer {
    pub id: u64,
    pub hard: bool,
    pub seq: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveRequest {
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreRequest {
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PinRequest {
    pub id: u64,
    pub pinned: bool,
}

impl Default for PinRequest {
    fn default() -> Self {
        PinRequest { id: 0, pinned: true }
    }
}

impl Ops {
    /// Changes what is given and nothing else. New words are a new version; the old ones stay readable.
    pub fn update(&self, caller: &Caller, request: UpdateRequest) -> Result<ChangeAnswer> {
        let id = memory_id(request.id)?;
        let cortex = self.existing(caller)?;
        let mut screen = self.screen();
        let title = request.title.as_deref().map(|text| screen.text(text));
        let content = request.content.as_deref().map(|text| screen.text(text));
        let tags = request.tags.as_deref().map(|tags| screen.tags(tags));
        let key = request.topic_key.as_deref().map(|key| screen.name(key).unwrap_or_default());
        let patch = HeadPatch {
            kind: request.kind.as_deref().map(normal_kind),
            project: request.project.as_deref().map(normal_or_clear),
            scope: request.scope.as_deref().map(|scope| scope_of(Some(scope))),
            topic_key: key.map(|key| topic::normalize(&key).unwrap_or_default()),
            tags,
            ..HeadPatch::default()
        };
        let new_words = title.is_some() || content.is_some();
        if !new_words && patch.is_empty() {
            return Err(
                Error::from(kernel::Error::NoOp).with_hint("provide at least one field to update")
            );
        }
        let mut races = 0;
        let receipt = loop {
            let reading = cortex.read()?;
            let current = reading.resolve_version(id, None)?;
            let command = if new_words {
                let Some(body) = current.body else {
                    return Err(kernel::Error::Erased(id.get()).into());
                };
                let body = Body {
                    title: title.as_ref().map_or(body.title, Clone::clone),
                    content: content.as_ref().map_or(body.content, Clone::clone),
                    fields: body.fields,
                };
                // What is built on the version read must not be laid over a newer one.
                let expected = request.expected_version.or(Some(current.version.n));
                let mut revision = Revision::new(id, expected, body, caller.salt()?);
                revision.confidence = current.version.confidence;
                revision.valid_from = current.version.valid_from;
                revision.valid_until = current.version.valid_until;
                revision.expires = current.version.expires;
                revision.patch = patch.clone();
                Command::Update(Box::new(revision))
            } else {
                let (expected, patch) = (request.expected_version, patch.clone());
                Command::UpdateHead(HeadRevision { id, expected, patch, reason: None })
            };
            match self.submit(&cortex, caller.stamp()?, command) {
                Err(error)
                    if error.code == "version_conflict"
                        && request.expected_version.is_none()
                        && races < RACES_MAX =>
                {
                    races += 1;
                }
                outcome => break outcome?,
            }
        };
        let memory = views::current(&cortex.read()?, id)?;
        let redacted = screen.report().note().unwrap_or_default();
        Ok(ChangeAnswer { memory, changed: receipt.changed, redacted })
    }

    /// Forgets a memory, or erases it for good if that is asked for explicitly.
    pub fn delete(&self, caller: &Caller, request: DeleteRequest) -> Result<DeleteAnswer> {
        let id = memory_id(request.id)?;
        let cortex = self.opened(caller)?;
        if caller.delegate.is_some() && !request.hard {
            // The grant judges first: what is said of a memory that it does not show must tell nothing.
            let reason = request.reason.unwrap_or_else(|| "deleted".to_owned());
            let removal = Removal { id, expected: None, reason };
            let command = Command::Tombstone(removal);
            let receipt = self.change(caller, &cortex, command, Lane::Tombstone)?;
            return Ok(DeleteAnswer { id: id.get(), hard: false, seq: receipt.seq });
        }
        let cortex = self.existing(caller)?;
        let head = cortex.read()?.view().required_head(id)?;
        if head.erased || (head.tombstone.is_some() && !request.hard) {
            return Err(Error::missing("memory", id).with_hint("it was deleted before"));
        }
        let reason = request.reason.unwrap_or_else(|| "deleted".to_owned());
        let removal = Removal { id, expected: None, reason };
        let hard = request.hard;
        let command = if hard { Command::Erase(removal) } else { Command::Tombstone(removal) };
        let receipt = self.submit(&cortex, caller.stamp()?, command)?;
        Ok(DeleteAnswer { id: id.get(), hard, seq: receipt.seq })
    }

    /// Puts a memory away: it is no longer found, and `restore` brings it back.
    pub fn archive(&self, caller: &Caller, request: ArchiveRequest) -> Result<ChangeAnswer> {
        let patch = HeadPatch { archived: Some(true), ..HeadPatch::default() };
        self.patch(caller, memory_id(request.id)?, patch, request.reason)
    }

    /// Brings a forgotten or archived memory back.
    pub fn restore(&self, caller: &Caller, request: RestoreRequest) -> Result<ChangeAnswer> {
        let id = memory_id(request.id)?;
        let cortex = self.existing(caller)?;
        let reason = request.reason.unwrap_or_else(|| "restored".to_owned());
        let command = Command::Restore(Removal { id, expected: None, reason });
        let receipt = self.submit(&cortex, caller.stamp()?, command)?;
        let memory = views::current(&cortex.read()?, id)?;
        Ok(ChangeAnswer { memory, changed: receipt.changed, redacted: String::new() })
    }

    /// A pinned memory leads every context and is never archived by itself.
    pub fn pin(&self, caller: &Caller, request: PinRequest) -> Result<ChangeAnswer> {
        let patch = HeadPatch { pinned: Some(request.pinned), ..HeadPatch::default() };
        self.patch(caller, memory_id(request.id)?, patch, None)
    }

    fn patch(
        &self,
        caller: &Caller,
        id: MemoryId,
        patch: HeadPatch,
        reason: Option<String>,
    ) -> Result<ChangeAnswer> {
        let cortex = self.existing(caller)?;
        let change = HeadRevision { id, expected: None, patch, reason };
        let receipt = self.submit(&cortex, caller.stamp()?, Command::UpdateHead(change))?;
        let memory = views::current(&cortex.read()?, id)?;
        Ok(ChangeAnswer { memory, changed: receipt.changed, redacted: String::new() })
    }
}

fn normal_or_clear(project: &str) -> String {
    wording::normal_project(project).unwrap_or_default()
}
