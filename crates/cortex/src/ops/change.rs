//! Changes of one memory: update, forget or erase, archive, restore, pin.

use embed::forget_everywhere;
use kernel::command::{Command, HeadRevision, Receipt, Removal, Revision};
use kernel::journal::HeadPatch;
use kernel::memory::{Body, MemoryId, Millis, Visibility};
use kernel::scope::Operation as Lane;
use kernel::store::View;
use kernel::{Cortex, Resolved};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::caller::Caller;
use super::details::with_details;
use super::error::{Error, Fault, Result};
use super::read::memory_id;
use super::save::RACES_MAX;
use super::views::{self, Memory};
use super::wish::{clean_value, normal_kind, scope_of};
use super::{Ops, fields, parse};
use crate::embedders::cache_folder;
use crate::intake::topic;

with_details! {
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct UpdateRequest {
        pub id: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tags: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pinned: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub archived: Option<bool>,
        /// Why, for changes that make no new version.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
        /// The version the caller has read; another one is a conflict.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expected_version: Option<u32>,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChangeAnswer {
    #[serde(flatten)]
    pub memory: Memory,
    /// The journal entry that holds the change; the last one if nothing had to change.
    pub seq: u64,
    pub at: String,
    /// False: it was so already.
    pub changed: bool,
    /// True: an earlier request with the same idempotency key was answered again.
    pub replayed: bool,
    /// What was taken out: private blocks, secrets. Empty if nothing was.
    pub redacted: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeleteRequest {
    /// A memory; to erase the text of a prompt, of a summary or of a late find, the entry that holds it.
    pub id: u64,
    /// Delete the content for good, in every version.
    pub hard: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version the caller has read; another one is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Only say whether it could be deleted.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DeleteAnswer {
    pub id: u64,
    pub hard: bool,
    /// Empty for a text that is no memory.
    pub uri: String,
    pub seq: u64,
    pub at: String,
    pub changed: bool,
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
    /// The version the caller has read; another one is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
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

impl UpdateRequest {
    /// True if something is given that makes a new version.
    fn has_new_version(&self) -> bool {
        let texts = [
            &self.title,
            &self.content,
            &self.valid_from,
            &self.valid_until,
            &self.expires,
            &self.source,
            &self.model,
            &self.origin,
        ];
        texts.iter().any(|text| text.is_some())
            || self.confidence.is_some()
            || !self.derived_from.is_empty()
            || !self.fields.is_empty()
            || !self.field_texts.is_empty()
    }

    /// The next version: the current one with what is given put over it. Texts are clean already.
    fn revision(&self, current: Resolved, patch: HeadPatch, caller: &Caller) -> Result<Revision> {
        let id = current.head.id;
        let Some(body) = current.body else { return Err(kernel::Error::Erased(id.get()).into()) };
        let mut typed = body.fields;
        fields::set_json(&mut typed, &self.fields)?;
        fields::set_all(&mut typed, &self.field_texts)?;
        let body = Body {
            title: self.title.clone().unwrap_or(body.title),
            content: self.content.clone().unwrap_or(body.content),
            fields: typed,
        };
        // What is built on the version read must not be laid over a newer one.
        let expected = self.expected_version.or(Some(current.version.n));
        let mut revision = Revision::new(id, expected, body, caller.salt()?);
        revision.provenance = self.provenance()?;
        revision.confidence = match self.confidence {
            Some(confidence) => parse::ratio_of("confidence", confidence)?,
            None => current.version.confidence,
        };
        revision.valid_from = moment(self.valid_from.as_deref(), current.version.valid_from)?;
        revision.valid_until = moment(self.valid_until.as_deref(), current.version.valid_until)?;
        revision.expires = moment(self.expires.as_deref(), current.version.expires)?;
        revision.patch = patch;
        Ok(revision)
    }
}

/// The time that is given, none if it is an empty text, else the one that was there.
fn moment(given: Option<&str>, before: Option<Millis>) -> Result<Option<Millis>> {
    match given {
        None => Ok(before),
        Some("") => Ok(None),
        Some(text) => Ok(Some(parse::time(text)?)),
    }
}

impl Ops {
    /// Changes what is given and nothing else. New words are a new version; the old ones stay readable.
    pub fn update(&self, caller: &Caller, mut request: UpdateRequest) -> Result<ChangeAnswer> {
        let id = memory_id(request.id)?;
        let cortex = self.opened(caller)?;
        let mut screen = self.screen();
        for text in [&mut request.title, &mut request.content].into_iter().flatten() {
            *text = screen.text(text);
        }
        request.fields.values_mut().for_each(|value: &mut Value| clean_value(value, &mut screen));
        for text in &mut request.field_texts {
            *text = screen.text(text);
        }
        let tags = request.tags.as_deref().map(|tags| screen.tags(tags));
        let key = request.topic_key.as_deref().map(|key| screen.name(key).unwrap_or_default());
        let importance =
            request.importance.map(|n| parse::ratio_of("importance", n)).transpose()?;
        let patch = HeadPatch {
            kind: request.kind.as_deref().map(normal_kind),
            project: request
                .project
                .as_deref()
                .map(|name| self.named(&caller.actor, name).unwrap_or_default()),
            scope: request.scope.as_deref().map(|scope| scope_of(Some(scope))),
            visibility: request.visibility.as_deref().map(Visibility::parse).transpose()?,
            topic_key: key.map(|key| topic::normalize(&key).unwrap_or_default()),
            session: request.session_id.clone(),
            channel: request.channel.clone(),
            importance,
            pinned: request.pinned,
            archived: request.archived,
            tags,
            ..HeadPatch::default()
        };
        if !request.has_new_version() && patch.is_empty() {
            return Err(
                Error::from(kernel::Error::NoOp).with_hint("provide at least one field to update")
            );
        }
        let mut races = 0;
        let receipt = loop {
            let patch = patch.clone();
            let command = if request.has_new_version() {
                let current = self.resolved(caller, &cortex, id)?;
                Command::Update(Box::new(request.revision(current, patch, caller)?))
            } else {
                let (expected, reason) = (request.expected_version, request.reason.clone());
                Command::UpdateHead(HeadRevision { id, expected, patch, reason })
            };
            match self.change(caller, &cortex, command, Lane::Update) {
                // Somebody else was faster, and the caller did not say which version it must be.
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
        let redacted = screen.report().note().unwrap_or_default();
        Ok(ChangeAnswer { redacted, ..changed(&cortex, id, &receipt)? })
    }

    /// The current version of a memory, as far as the caller may see it.
    fn resolved(&self, caller: &Caller, cortex: &Cortex, id: MemoryId) -> Result<Resolved> {
        let digest = kernel::Digest::of("cortex/ops-resolve/1", &[&id.get().to_be_bytes()]);
        Ok(match self.authority(caller, cortex, Lane::Read, digest)? {
            Some(authority) => cortex.resolve_for(&authority, id, None, caller.now()?)?,
            None => cortex.read()?.resolve_version(id, None)?,
        })
    }

    /// Forgets a memory, or erases it for good if that is asked for explicitly.
    pub fn delete(&self, caller: &Caller, request: DeleteRequest) -> Result<DeleteAnswer> {
        let id = memory_id(request.id)?;
        let reason = request.reason.unwrap_or_else(|| "deleted".to_owned());
        let removal = Removal { id, expected: request.expected_version, reason };
        let hard = request.hard;
        if caller.delegate.is_some() && !hard {
            // Nothing is looked at before the grant is: a refusal must not tell what is there.
            let cortex = self.opened(caller)?;
            let receipt =
                self.change(caller, &cortex, Command::Tombstone(removal), Lane::Tombstone)?;
            return deleted(&cortex, &receipt, id, hard);
        }
        let cortex = self.existing(caller)?;
        let reading = cortex.read()?;
        let view = reading.view();
        let head = view.head(id)?;
        match &head {
            Some(head) if head.erased || (head.tombstone.is_some() && !hard) => {
                return Err(Error::missing("memory", id).with_hint("it was deleted before"));
            }
            None if !hard => return Err(Error::missing("memory", id)),
            None if view.sealed(id.get())?.is_none() => {
                return Err(Error::missing("memory or text", id));
            }
            _ => {}
        }
        if request.dry_run {
            let uri = head.map(|head| reading.uri(&head, head.version).to_string());
            let uri = uri.unwrap_or_default();
            return Ok(DeleteAnswer { id: id.get(), hard, uri, ..DeleteAnswer::default() });
        }
        let versions = view.versions(id)?;
        let bodies: Vec<_> = versions.iter().map(|version| version.body_hash).collect();
        let said = if hard && head.is_none() { said_in_channel(&view, id.get())? } else { None };
        let command = if hard { Command::Erase(removal) } else { Command::Tombstone(removal) };
        let receipt = self.submit(&cortex, caller.stamp()?, command)?;
        if hard {
            // Vectors of optional models tell of the text, too.
            let cache = cache_folder(&self.home.actor_folder(&caller.actor));
            forget_everywhere(&cache, &bodies)
                .map_err(|error| Error::new("io", Fault::Server, error.to_string()))?;
            self.erase_from_mind(caller, id.get())?;
            if let Some((channel, text)) = said {
                self.erase_from_channel(caller, &channel, &text)?;
            }
        }
        deleted(&cortex, &receipt, id, hard)
    }

    /// Puts a memory away: it is no longer found, and `restore` brings it back.
    pub fn archive(&self, caller: &Caller, request: ArchiveRequest) -> Result<ChangeAnswer> {
        let patch = HeadPatch { archived: Some(true), ..HeadPatch::default() };
        self.patch(caller, memory_id(request.id)?, patch, request.reason)
    }

    /// Brings a forgotten or archived memory back.
    pub fn restore(&self, caller: &Caller, request: RestoreRequest) -> Result<ChangeAnswer> {
        let id = memory_id(request.id)?;
        let cortex = self.opened(caller)?;
        let reason = request.reason.unwrap_or_else(|| "restored".to_owned());
        let command = Command::Restore(Removal { id, expected: request.expected_version, reason });
        let receipt = self.change(caller, &cortex, command, Lane::Tombstone)?;
        changed(&cortex, id, &receipt)
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
        let cortex = self.opened(caller)?;
        let change = HeadRevision { id, expected: None, patch, reason };
        let receipt = self.change(caller, &cortex, Command::UpdateHead(change), Lane::Update)?;
        changed(&cortex, id, &receipt)
    }
}

/// What a receipt speaks of, read back.
fn changed(cortex: &Cortex, id: MemoryId, receipt: &Receipt) -> Result<ChangeAnswer> {
    Ok(ChangeAnswer {
        memory: views::current(&cortex.read()?, id)?,
        seq: receipt.seq,
        at: receipt.at.rfc3339(),
        changed: receipt.changed,
        replayed: receipt.replayed,
        redacted: String::new(),
    })
}

fn deleted(cortex: &Cortex, receipt: &Receipt, id: MemoryId, hard: bool) -> Result<DeleteAnswer> {
    let reading = cortex.read()?;
    let head = reading.view().head(id)?;
    Ok(DeleteAnswer {
        id: id.get(),
        hard,
        uri: head.map(|head| reading.uri(&head, head.version).to_string()).unwrap_or_default(),
        seq: receipt.seq,
        at: receipt.at.rfc3339(),
        changed: receipt.changed,
    })
}

/// The channel in which a prompt was said, and its words.
fn said_in_channel(view: &View<'_>, seq: u64) -> Result<Option<(String, String)>> {
    let prompt = view.prompt(seq)?.and_then(|prompt| prompt.session);
    let channel = prompt.as_deref().and_then(crate::channels::channel_of);
    let Some((channel, sealed)) = channel.zip(view.sealed(seq)?) else { return Ok(None) };
    Ok(Some((channel.to_owned(), sealed.open_note()?.text)))
}
