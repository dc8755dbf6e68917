//! Admission of changes to memories.

use proof::journal::{
    EntryKind, Erase, HeadPatch, Payload, Restore, TombstoneMemory, Update, UpdateHead, Write,
};
use proof::memory::{Head, MemoryId, Provenance, SealedBody};

use super::{Admission, AdmittedCommand, Situation, check_count, check_optional_name};
use crate::apply::preview;
use crate::command::{Draft, HeadRevision, Removal, Revision};
use crate::error::{Error, Result};
use crate::limits::{DERIVED_FROM_MAX, FIELD_BYTES_MAX};
use crate::validate::{
    check_body, check_importance, check_kind, check_name, check_reason, check_text,
    check_topic_key, check_version_times, normal_tags,
};

pub(super) fn write(situation: &Situation<'_>, draft: &Draft) -> Result<AdmittedCommand> {
    check_body(&draft.body)?;
    let memory_type = draft.body.fields.memory_type();
    let kind = draft.kind.clone().unwrap_or_else(|| memory_type.default_kind().to_owned());
    check_kind(&kind)?;
    check_optional_name("project", draft.project.as_ref())?;
    check_optional_name("session", draft.session.as_ref())?;
    check_optional_name("channel", draft.channel.as_ref())?;
    draft.topic_key.as_deref().map_or(Ok(()), check_topic_key)?;
    let importance = draft.importance.unwrap_or_else(|| memory_type.base_importance());
    check_importance("importance", importance)?;
    check_importance("confidence", draft.confidence)?;
    check_version_times(draft.valid_from, draft.valid_until)?;
    check_provenance(situation, &draft.provenance)?;
    let sealed = SealedBody::new(draft.salt, &draft.body);
    let payload = Payload::Write(Write {
        memory_type,
        kind,
        body_hash: sealed.hash(),
        project: draft.project.clone(),
        scope: draft.scope,
        visibility: draft.visibility,
        pinned: draft.pinned,
        tags: normal_tags(&draft.tags)?,
        topic_key: draft.topic_key.clone(),
        session: draft.session.clone(),
        channel: draft.channel.clone(),
        importance,
        provenance: draft.provenance.clone(),
        confidence: draft.confidence,
        valid_from: draft.valid_from,
        valid_until: draft.valid_until,
        expires: draft.expires,
    });
    let id = MemoryId::new(situation.counters.size + 1).expect("a sum with one is not zero");
    Ok(AdmittedCommand::one(Admission { payload, sealed: Some(sealed) }).about(id, 1))
}

pub(super) fn update(situation: &Situation<'_>, revision: &Revision) -> Result<AdmittedCommand> {
    let head = changeable(situation, revision.id, revision.expected)?;
    check_body(&revision.body)?;
    let memory_type = revision.body.fields.memory_type();
    if memory_type != head.memory_type {
        let reason = format!("memory {} is a {}", head.id, head.memory_type.name());
        return Err(Error::invalid("type", reason));
    }
    check_importance("confidence", revision.confidence)?;
    check_version_times(revision.valid_from, revision.valid_until)?;
    check_provenance(situation, &revision.provenance)?;
    let patch = normal_patch(&revision.patch)?;
    let version = head
        .version
        .checked_add(1)
        .ok_or_else(|| Error::invalid("version", "no further version is possible"))?;
    let sealed = SealedBody::new(revision.salt, &revision.body);
    let payload = Payload::Update(Update {
        id: head.id,
        version,
        body_hash: sealed.hash(),
        provenance: revision.provenance.clone(),
        confidence: revision.confidence,
        valid_from: revision.valid_from,
        valid_until: revision.valid_until,
        expires: revision.expires,
        patch,
    });
    Ok(AdmittedCommand::one(Admission { payload, sealed: Some(sealed) }).about(head.id, version))
}

pub(super) fn update_head(
    situation: &Situation<'_>,
    revision: &HeadRevision,
) -> Result<AdmittedCommand> {
    if revision.patch.is_empty() {
        return Err(Error::NoOp);
    }
    let head = changeable(situation, revision.id, revision.expected)?;
    revision.reason.as_deref().map_or(Ok(()), check_reason)?;
    let patch = normal_patch(&revision.patch)?;
    let (id, version) = (head.id, head.version);
    if preview(&head, &patch) == head {
        return Ok(AdmittedCommand::unchanged().about(id, version));
    }
    let payload = Payload::UpdateHead(UpdateHead { id, patch, reason: revision.reason.clone() });
    Ok(AdmittedCommand::one(Admission::plain(payload)).about(id, version))
}

pub(super) fn tombstone(situation: &Situation<'_>, removal: &Removal) -> Result<AdmittedCommand> {
    check_reason(&removal.reason)?;
    let head = current(situation, removal.id, removal.expected)?;
    if head.tombstone.is_some() {
        return Ok(AdmittedCommand::unchanged().about(head.id, head.version));
    }
    let payload =
        Payload::Tombstone(TombstoneMemory { id: head.id, reason: removal.reason.clone() });
    Ok(AdmittedCommand::one(Admission::plain(payload)).about(head.id, head.version))
}

pub(super) fn restore(situation: &Situation<'_>, removal: &Removal) -> Result<AdmittedCommand> {
    check_reason(&removal.reason)?;
    let head = current(situation, removal.id, removal.expected)?;
    if head.erased {
        return Err(Error::Erased(head.id.get()));
    }
    if head.tombstone.is_none() && !head.archived {
        return Ok(AdmittedCommand::unchanged().about(head.id, head.version));
    }
    let payload = Payload::Restore(Restore { id: head.id, reason: removal.reason.clone() });
    Ok(AdmittedCommand::one(Admission::plain(payload)).about(head.id, head.version))
}

/// A memory by its id; a prompt, a session's summary or a late find's query by the number of its entry.
pub(super) fn erase(situation: &Situation<'_>, removal: &Removal) -> Result<AdmittedCommand> {
    check_reason(&removal.reason)?;
    let seq = removal.id.get();
    if situation.view.head(removal.id)?.is_none() {
        let about =
            |admitted: AdmittedCommand| AdmittedCommand { id: Some(removal.id), ..admitted };
        if situation.view.is_body_erased(seq, None)? {
            return Ok(about(AdmittedCommand::unchanged()));
        }
        // The text of a later version goes with its memory, never alone.
        let versioned = situation.view.entry(seq)?.is_some_and(|e| e.kind == EntryKind::Update);
        if versioned || situation.view.sealed(seq)?.is_none() {
            return Err(Error::not_found("memory or text", removal.id));
        }
        let payload = Payload::Erase(Erase { id: removal.id, reason: removal.reason.clone() });
        return Ok(about(AdmittedCommand::one(Admission::plain(payload))));
    }
    let head = current(situation, removal.id, removal.expected)?;
    if head.erased {
        return Ok(AdmittedCommand::unchanged().about(head.id, head.version));
    }
    let payload = Payload::Erase(Erase { id: head.id, reason: removal.reason.clone() });
    Ok(AdmittedCommand::one(Admission::plain(payload)).about(head.id, head.version))
}

/// The head, if it is at the version the caller expects.
fn current(situation: &Situation<'_>, id: MemoryId, expected: Option<u32>) -> Result<Head> {
    let head = situation.view.required_head(id)?;
    match expected {
        Some(expected) if expected != head.version => {
            Err(Error::VersionConflict { id: id.get(), expected, current: head.version })
        }
        _ => Ok(head),
    }
}

/// The head, if it may be changed at all.
fn changeable(situation: &Situation<'_>, id: MemoryId, expected: Option<u32>) -> Result<Head> {
    let head = current(situation, id, expected)?;
    if head.erased {
        Err(Error::Erased(id.get()))
    } else if head.tombstone.is_some() {
        Err(Error::Tombstoned(id.get()))
    } else {
        Ok(head)
    }
}

/// A memory can only be derived from versions that exist.
fn check_provenance(situation: &Situation<'_>, provenance: &Provenance) -> Result<()> {
    check_count("derived_from", provenance.derived_from.len(), DERIVED_FROM_MAX)?;
    check_optional_name("model", provenance.model.as_ref())?;
    if let Some(origin) = &provenance.origin {
        check_text("origin", origin, FIELD_BYTES_MAX)?;
    }
    for pinned in &provenance.derived_from {
        let head = situation.view.required_head(pinned.id)?;
        if !(1..=head.version).contains(&pinned.version) {
            let id = format!("{}#{}", pinned.id, pinned.version);
            return Err(Error::not_found("version", id));
        }
    }
    Ok(())
}

fn normal_patch(patch: &HeadPatch) -> Result<HeadPatch> {
    // An empty text clears the field; everything else must be a legal value.
    let name = |field, text: &Option<String>| match text.as_deref() {
        None | Some("") => Ok(()),
        Some(text) => check_name(field, text),
    };
    name("project", &patch.project)?;
    name("session", &patch.session)?;
    name("channel", &patch.channel)?;
    match patch.topic_key.as_deref() {
        None | Some("") => {}
        Some(key) => check_topic_key(key)?,
    }
    patch.kind.as_deref().map_or(Ok(()), check_kind)?;
    patch.importance.map_or(Ok(()), |ppm| check_importance("importance", ppm))?;
    let tags = patch.tags.as_deref().map(normal_tags).transpose()?;
    Ok(HeadPatch { tags, ..patch.clone() })
}
