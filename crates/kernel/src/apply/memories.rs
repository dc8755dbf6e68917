//! Effects on memories: heads, versions and the indexes that follow from a head.

use std::collections::BTreeSet;

use proof::codec;
use proof::journal::{Erase, HeadPatch, Restore, TombstoneMemory, Update, UpdateHead, Write};
use proof::memory::{Head, MemoryId, Relation, Tombstone, Version};

use super::{About, HeadChange, Step};
use crate::error::Result;
use crate::keys::{self, Index, Places};
use crate::store::KeyRange;

pub(super) fn write(step: &mut Step<'_>, p: &Write) -> Result<About> {
    let entry = step.entry;
    let id = MemoryId::new(entry.seq).ok_or_else(|| step.damaged("seq is zero"))?;
    let version = Version {
        id,
        n: 1,
        body_hash: p.body_hash,
        created: entry.at,
        by: entry.by.clone(),
        provenance: p.provenance.clone(),
        confidence: p.confidence,
        valid_from: p.valid_from,
        valid_until: p.valid_until,
        expires: p.expires,
        seq: entry.seq,
    };
    let head = Head {
        id,
        memory_type: p.memory_type,
        kind: p.kind.clone(),
        version: 1,
        version_hash: version.hash(),
        project: p.project.clone(),
        scope: p.scope,
        visibility: p.visibility,
        pinned: p.pinned,
        archived: false,
        tombstone: None,
        erased: false,
        tags: p.tags.clone(),
        topic_key: p.topic_key.clone(),
        session: p.session.clone(),
        channel: p.channel.clone(),
        importance: p.importance,
        duplicates: 0,
        created: entry.at,
        updated: entry.at,
        seq: entry.seq,
    };
    step.put(keys::version(id, 1), &version);
    put_head(step, None, &head)?;
    Ok(About::memory(id, 1))
}

pub(super) fn update(step: &mut Step<'_>, p: &Update) -> Result<About> {
    let before = step.view.required_head(p.id)?;
    if before.version.checked_add(1) != Some(p.version) {
        return Err(step.damaged("the version does not follow the current one"));
    }
    let version = Version {
        id: p.id,
        n: p.version,
        body_hash: p.body_hash,
        created: step.entry.at,
        by: step.entry.by.clone(),
        provenance: p.provenance.clone(),
        confidence: p.confidence,
        valid_from: p.valid_from,
        valid_until: p.valid_until,
        expires: p.expires,
        seq: step.entry.seq,
    };
    let mut after = patched(&before, &p.patch);
    after.version = p.version;
    after.version_hash = version.hash();
    after.updated = step.entry.at;
    step.put(keys::version(p.id, p.version), &version);
    change_head(step, &before, after)?;
    Ok(About::memory(p.id, p.version))
}

pub(super) fn update_head(step: &mut Step<'_>, p: &UpdateHead) -> Result<About> {
    let before = step.view.required_head(p.id)?;
    let mut after = patched(&before, &p.patch);
    after.updated = step.entry.at;
    change_head(step, &before, after)?;
    Ok(About::memory(p.id, before.version))
}

pub(super) fn tombstone(step: &mut Step<'_>, p: &TombstoneMemory) -> Result<About> {
    let before = step.view.required_head(p.id)?;
    let mut after = before.clone();
    after.tombstone = Some(tombstone_of(step, &p.reason));
    step_superseded(step, p.id, -1)?;
    change_head(step, &before, after)?;
    Ok(About::memory(p.id, before.version))
}

/// Brings a memory back from being forgotten and from the archive.
pub(super) fn restore(step: &mut Step<'_>, p: &Restore) -> Result<About> {
    let before = step.view.required_head(p.id)?;
    let mut after = before.clone();
    after.tombstone = None;
    after.archived = false;
    if before.tombstone.is_some() {
        step_superseded(step, p.id, 1)?;
    }
    change_head(step, &before, after)?;
    Ok(About::memory(p.id, before.version))
}

pub(super) fn erase(step: &mut Step<'_>, p: &Erase) -> Result<About> {
    let Some(before) = step.view.head(p.id)? else {
        // Not a memory: a prompt, a summary or a query, which has one body and nothing derived from it.
        step.mark(keys::erased_body(p.id.get()));
        step.changes.erased_bodies.push(p.id.get());
        return Ok(About { id: Some(p.id), version: None });
    };
    let mut after = before.clone();
    after.erased = true;
    if after.tombstone.is_none() {
        after.tombstone = Some(tombstone_of(step, &p.reason));
        step_superseded(step, p.id, -1)?;
    }
    let bodies: Vec<u64> = step.view.versions(p.id)?.iter().map(|version| version.seq).collect();
    step.changes.erased_bodies.extend(bodies);
    change_head(step, &before, after)?;
    Ok(About::memory(p.id, before.version))
}

fn tombstone_of(step: &Step<'_>, reason: &str) -> Tombstone {
    Tombstone { reason: reason.to_owned(), by: step.entry.by.clone(), at: step.entry.at }
}

/// A forgotten memory supersedes nothing: what it had replaced counts as current again until it is restored.
fn step_superseded(step: &mut Step<'_>, id: MemoryId, change: i32) -> Result<()> {
    let mut targets = Vec::new();
    let mut prefix = keys::edges_out(id);
    prefix.push(Relation::Supersedes.code());
    step.view.scan(&KeyRange::prefix(&prefix), &mut |key, _| {
        targets.extend(keys::trailing_id(key));
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    for target in targets {
        let mut usage = step.view.usage(target)?;
        usage.superseded = usage.superseded.saturating_add_signed(change);
        step.put(keys::usage(target), &usage);
    }
    Ok(())
}

fn patched(head: &Head, patch: &HeadPatch) -> Head {
    // An empty text clears; `admit` lets nothing else empty through.
    let text = |new: &Option<String>, old: &Option<String>| match new {
        Some(new) if new.is_empty() => None,
        Some(new) => Some(new.clone()),
        None => old.clone(),
    };
    Head {
        kind: patch.kind.clone().unwrap_or_else(|| head.kind.clone()),
        project: text(&patch.project, &head.project),
        scope: patch.scope.unwrap_or(head.scope),
        visibility: patch.visibility.unwrap_or(head.visibility),
        pinned: patch.pinned.unwrap_or(head.pinned),
        archived: patch.archived.unwrap_or(head.archived),
        tags: patch.tags.clone().unwrap_or_else(|| head.tags.clone()),
        topic_key: text(&patch.topic_key, &head.topic_key),
        session: text(&patch.session, &head.session),
        channel: text(&patch.channel, &head.channel),
        importance: patch.importance.unwrap_or(head.importance),
        duplicates: patch.duplicates.unwrap_or(head.duplicates),
        ..head.clone()
    }
}

/// The head that a patch would make, for gates that decide before the entry exists.
pub(crate) fn preview(head: &Head, patch: &HeadPatch) -> Head {
    patched(head, patch)
}

fn change_head(step: &mut Step<'_>, before: &Head, mut after: Head) -> Result<()> {
    after.seq = step.entry.seq;
    put_head(step, Some(before), &after)
}

/// Writes a head with everything that follows from it: the copy kept for the last snapshot, index rows, counters, leaf.
fn put_head(step: &mut Step<'_>, before: Option<&Head>, after: &Head) -> Result<()> {
    if let (Some(before), Some(snapshot)) = (before, step.counters.snapshot)
        && before.seq < snapshot.seq
    {
        step.put(keys::kept_head(before.id, snapshot.number), before);
    }
    let old_indexes = before.map(indexes_of).unwrap_or_default();
    let new_indexes = indexes_of(after);
    for index in old_indexes.difference(&new_indexes) {
        reindex(step, index, after.id, Places::remove)?;
    }
    for index in new_indexes.difference(&old_indexes) {
        reindex(step, index, after.id, Places::insert)?;
    }
    if let Some(before) = before {
        count(step, before, -1);
    }
    count(step, after, 1);
    step.changes.rows.insert(keys::head(after.id), Some(codec::encode(after)));
    step.changes.heads.push(HeadChange {
        memory_type: after.memory_type,
        id: after.id,
        leaf: after.leaf_hash(),
    });
    Ok(())
}

fn indexes_of(head: &Head) -> BTreeSet<Index> {
    let project = head.project.as_deref();
    let mut indexes = BTreeSet::from([keys::by_type(head.memory_type)]);
    indexes.extend(head.tags.iter().map(|tag| keys::by_tag(tag)));
    indexes.extend(project.map(keys::by_project));
    indexes.extend(head.session.as_deref().map(keys::by_session));
    indexes.extend(head.is_foremost().then(keys::foremost));
    let topic_key = head.topic_key.as_deref();
    indexes.extend(topic_key.map(|key| keys::by_topic_key(project, head.scope, key)));
    indexes
}

/// Changes the one row of an index that can hold `id`.
fn reindex(
    step: &mut Step<'_>,
    index: &Index,
    id: MemoryId,
    change: fn(&mut Places, MemoryId),
) -> Result<()> {
    let key = index.row(id.get() / keys::SEGMENT_IDS);
    let mut places = step.view.places(&key)?;
    change(&mut places, id);
    if places.is_empty() {
        step.delete(key);
    } else {
        step.changes.rows.insert(key, Some(places.encode()));
    }
    Ok(())
}

fn count(step: &mut Step<'_>, head: &Head, change: i64) {
    let counters = &mut *step.counters;
    let add = |n: &mut u64| *n = n.saturating_add_signed(change);
    if head.erased {
        add(&mut counters.erased);
    }
    if head.tombstone.is_some() {
        add(&mut counters.tombstoned);
    } else {
        add(counters.live_of_mut(head.memory_type));
        if head.archived {
            add(&mut counters.archived);
        }
    }
}
