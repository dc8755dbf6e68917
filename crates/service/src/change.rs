//! Changes of one memory: update, forget or erase, archive, restore, pin.

use api::change::{
    ArchiveRequest, ChangeAnswer, DeleteAnswer, DeleteRequest, PinRequest, RestoreRequest,
    UpdateRequest,
};
use api::{ErrorCode, Fault};
use embed::forget_everywhere;
use kernel::command::{Command, HeadRevision, Receipt, Removal, Revision};
use kernel::context::RuleAuthors;
use kernel::grants::Permission;
use kernel::journal::HeadPatch;
use kernel::memory::{Body, MemoryId, Millis, Visibility};
use kernel::{Cortex, ResolvedMemory, ScrubState};
use serde_json::Value;

use crate::caller::Caller;
use crate::details::ProvenanceRequest;
use crate::embedders::cache_folder;
use crate::error::{Error, Result};
use crate::normalized_save::{clean_value, normal_kind, scope_of};
use crate::read::memory_id;
use crate::save::RACES_MAX;
use crate::{Service, fields, parse, views};
use intake::cleaner::IntakeCleaner;
use intake::topic;

/// True if something is given that makes a new version.
fn has_new_version(request: &UpdateRequest) -> bool {
    let texts = [
        &request.title,
        &request.content,
        &request.valid_from,
        &request.valid_until,
        &request.expires,
        &request.source,
        &request.model,
        &request.origin,
    ];
    texts.iter().any(|text| text.is_some())
        || request.confidence.is_some()
        || !request.derived_from.is_empty()
        || !request.fields.is_empty()
        || !request.field_texts.is_empty()
}

/// The next version: the current one with what is given put over it. Texts are clean already.
fn revision(
    request: &UpdateRequest,
    current: ResolvedMemory,
    patch: HeadPatch,
    caller: &Caller,
) -> Result<Revision> {
    let id = current.head.id;
    let Some(body) = current.body else { return Err(kernel::Error::Erased(id.get()).into()) };
    let mut typed = body.fields;
    fields::set_json(&mut typed, &request.fields)?;
    fields::set_all(&mut typed, &request.field_texts)?;
    let body = Body {
        title: request.title.clone().unwrap_or(body.title),
        content: request.content.clone().unwrap_or(body.content),
        fields: typed,
    };
    // What is built on the version read must not be laid over a newer one.
    let expected = request.expected_version.or(Some(current.version.n));
    let mut revision = Revision::new(id, expected, body, caller.salt()?);
    revision.provenance = ProvenanceRequest {
        author: caller.author,
        source: request.source.as_deref(),
        derived_from: &request.derived_from,
        model: request.model.as_ref(),
        origin: request.origin.as_ref(),
    }
    .provenance()?;
    revision.confidence = match request.confidence {
        Some(confidence) => parse::ratio_of("confidence", confidence)?,
        None => current.version.confidence,
    };
    revision.valid_from = moment(request.valid_from.as_deref(), current.version.valid_from)?;
    revision.valid_until = moment(request.valid_until.as_deref(), current.version.valid_until)?;
    revision.expires = moment(request.expires.as_deref(), current.version.expires)?;
    revision.patch = patch;
    Ok(revision)
}

/// The time that is given, none if it is an empty text, else the one that was there.
fn moment(given: Option<&str>, before: Option<Millis>) -> Result<Option<Millis>> {
    match given {
        None => Ok(before),
        Some("") => Ok(None),
        Some(text) => Ok(Some(parse::time(text)?)),
    }
}

impl Service {
    /// Changes what is given and nothing else. New words are a new version; the old ones stay readable.
    pub fn update(&self, caller: &Caller, mut request: UpdateRequest) -> Result<ChangeAnswer> {
        let id = memory_id(request.id)?;
        let cortex = self.opened(caller)?;
        let mut screen = self.screen();
        let mut cleaner = IntakeCleaner::default();
        if let Some(text) = &mut request.content {
            *text = cleaner.text(screen.text(text));
        }
        if let Some(title) = &mut request.title {
            let (cut, whole) = cleaner.title(screen.text(title));
            *title = cut;
            if whole.is_some() {
                let content = match request.content.take() {
                    Some(content) => content,
                    None => {
                        let body = self.resolved(caller, &cortex, id)?.body;
                        body.map(|body| body.content).unwrap_or_default()
                    }
                };
                request.content = Some(IntakeCleaner::under(content, whole));
            }
        }
        request.fields.values_mut().for_each(|value: &mut Value| clean_value(value, &mut screen));
        for text in &mut request.field_texts {
            *text = screen.text(text);
        }
        let tags = match &request.tags {
            Some(_) if !request.add_tags.is_empty() || !request.remove_tags.is_empty() => {
                let reason = "name all tags, or those to add and to remove";
                return Err(Error::invalid("tags", reason));
            }
            Some(tags) => Some(screen.tags(tags)),
            None if request.add_tags.is_empty() && request.remove_tags.is_empty() => None,
            None => {
                let head = cortex.read()?.view().head(id)?;
                let mut tags = head.map(|head| head.tags).unwrap_or_default();
                let gone = screen.tags(&request.remove_tags);
                tags.retain(|tag| !gone.contains(tag));
                let new = screen.tags(&request.add_tags);
                tags.extend(new.into_iter().filter(|tag| !gone.contains(tag)));
                Some(screen.tags(&tags))
            }
        };
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
        if !has_new_version(&request) && patch.is_empty() {
            return Err(
                Error::from(kernel::Error::NoOp).with_hint("provide at least one field to update")
            );
        }
        let mut races = 0;
        let receipt = loop {
            let patch = patch.clone();
            let command = if has_new_version(&request) {
                let current = self.resolved(caller, &cortex, id)?;
                Command::Update(Box::new(revision(&request, current, patch, caller)?))
            } else {
                let (expected, reason) = (request.expected_version, request.reason.clone());
                Command::UpdateHead(HeadRevision { id, expected, patch, reason })
            };
            match self.change(caller, &cortex, command, Permission::Update) {
                // Somebody else was faster, and the caller did not say which version it must be.
                Err(error)
                    if error.code() == ErrorCode::VersionConflict
                        && request.expected_version.is_none()
                        && races < RACES_MAX =>
                {
                    races += 1;
                }
                outcome => break outcome?,
            }
        };
        let redacted = screen.report().note().unwrap_or_default();
        let cleaned = cleaner.told();
        Ok(ChangeAnswer {
            redacted,
            cleaned,
            ..changed(&cortex, id, &receipt, self.rule_authors())?
        })
    }

    /// The current version of a memory, as far as the caller may see it.
    fn resolved(&self, caller: &Caller, cortex: &Cortex, id: MemoryId) -> Result<ResolvedMemory> {
        let digest = kernel::Digest::of("cortex/ops-resolve/1", &[&id.get().to_be_bytes()]);
        Ok(match self.authority(caller, cortex, Permission::Read, digest)? {
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
                self.change(caller, &cortex, Command::Tombstone(removal), Permission::Tombstone)?;
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
        let command = if hard { Command::Erase(removal) } else { Command::Tombstone(removal) };
        let receipt = self.submit(&cortex, caller.stamp()?, command)?;
        if hard {
            // Vectors of optional models tell of the text, too.
            let cache = cache_folder(&self.home.actor_folder(&caller.actor));
            forget_everywhere(&cache, &bodies)
                .map_err(|error| Error::new(ErrorCode::Io, Fault::Server, error.to_string()))?;
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
        let receipt = self.change(caller, &cortex, command, Permission::Tombstone)?;
        changed(&cortex, id, &receipt, self.rule_authors())
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
        let receipt =
            self.change(caller, &cortex, Command::UpdateHead(change), Permission::Update)?;
        changed(&cortex, id, &receipt, self.rule_authors())
    }
}

/// What a receipt speaks of, read back.
fn changed(
    cortex: &Cortex,
    id: MemoryId,
    receipt: &Receipt,
    rules: RuleAuthors,
) -> Result<ChangeAnswer> {
    Ok(ChangeAnswer {
        memory: views::current(&cortex.read()?, id, rules)?,
        seq: receipt.seq,
        at: receipt.at.rfc3339(),
        changed: receipt.changed,
        replayed: receipt.replayed,
        redacted: String::new(),
        cleaned: String::new(),
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
        pending: hard && cortex.scrub_state() != ScrubState::Done,
    })
}
