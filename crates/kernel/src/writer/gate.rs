//! The gate for a delegate's changes: what an entry would do, judged by the grant before it exists.

use proof::Digest;
use proof::journal::{Payload, Restore, TombstoneMemory, Write};
use proof::memory::{Head, MemoryId, Millis, PinnedVersion};

use crate::admit::Admission;
use crate::apply::preview;
use crate::command::Command;
use crate::error::{Error, Result};
use crate::grants::{Authority, Gate, Permission, gate_named, gate_write};
use crate::store::View;

/// What a grant must allow for a command. `None`: no grant ever does.
pub(crate) fn permission_of(command: &Command) -> Option<Permission> {
    match command {
        Command::Write(_) => Some(Permission::Write),
        Command::Update(_) | Command::UpdateHead(_) => Some(Permission::Update),
        Command::Tombstone(_) | Command::Restore(_) => Some(Permission::Tombstone),
        Command::AddEdge(_) | Command::RemoveEdge(_) => Some(Permission::Edge),
        Command::Attest(_) => Some(Permission::Attest),
        Command::FindLate(_) => Some(Permission::Find),
        _ => None,
    }
}

/// Was this operation asked for, and does the delegate see every memory that the command names?
///
/// Asked before anything else: an answer about a memory the delegate does not see, even a refusal of another kind,
/// would tell it that the memory is there.
pub(super) fn may_name(view: &View<'_>, authority: &Authority, command: &Command) -> Result<bool> {
    if permission_of(command) != Some(authority.operation) {
        return Ok(false);
    }
    for id in named(command) {
        if !view.head(id)?.is_some_and(|head| authority.sees(&head)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn named(command: &Command) -> Vec<MemoryId> {
    let ids = |pinned: &[PinnedVersion]| pinned.iter().map(|p| p.id).collect::<Vec<_>>();
    match command {
        Command::Write(draft) => ids(&draft.provenance.derived_from),
        Command::Update(revision) => {
            [vec![revision.id], ids(&revision.provenance.derived_from)].concat()
        }
        Command::UpdateHead(revision) => vec![revision.id],
        Command::Tombstone(removal) | Command::Restore(removal) => vec![removal.id],
        Command::AddEdge(edge) => vec![edge.src, edge.dst],
        Command::RemoveEdge(edge) => vec![edge.src, edge.dst],
        Command::Attest(attestation) => {
            [ids(&attestation.cited), attestation.retrieved.clone()].concat()
        }
        Command::FindLate(find) => find.results.iter().map(|result| result.id).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn gate(
    view: &View<'_>,
    authority: &Authority,
    admissions: &[Admission],
    at: Millis,
) -> Result<()> {
    admissions.iter().try_for_each(|admission| one(view, authority, &admission.payload, at))
}

fn one(view: &View<'_>, authority: &Authority, payload: &Payload, at: Millis) -> Result<()> {
    let head = |id: MemoryId| view.required_head(id);
    match payload {
        Payload::Write(write) => {
            let after = born(write, at);
            gate_write(authority, None, &after, Permission::Write)
        }
        Payload::Update(update) => {
            let before = head(update.id)?;
            gate_write(
                authority,
                Some(&before),
                &preview(&before, &update.patch),
                Permission::Update,
            )
        }
        Payload::UpdateHead(update) => {
            let before = head(update.id)?;
            gate_write(
                authority,
                Some(&before),
                &preview(&before, &update.patch),
                Permission::Update,
            )
        }
        Payload::Tombstone(TombstoneMemory { id, .. }) | Payload::Restore(Restore { id, .. }) => {
            let before = head(*id)?;
            gate_write(authority, Some(&before), &before, Permission::Tombstone)
        }
        Payload::AddEdge(p) => {
            gate_named(authority, &[&head(p.src)?, &head(p.dst)?], Permission::Edge)
        }
        Payload::RemoveEdge(p) => {
            gate_named(authority, &[&head(p.src)?, &head(p.dst)?], Permission::Edge)
        }
        Payload::Attest(p) => {
            let cited: Vec<Head> = p.cited.iter().map(|c| head(c.id)).collect::<Result<_>>()?;
            gate_named(authority, &cited.iter().collect::<Vec<_>>(), Permission::Attest)
        }
        // The learned weights follow from an attestation that passed this gate.
        Payload::LearnWeights(_) => Ok(()),
        Payload::FindLate(p) => {
            let found: Vec<Head> = p.results.iter().map(|r| head(r.id)).collect::<Result<_>>()?;
            if authority.operation == Permission::Find && found.iter().all(|h| authority.sees(h)) {
                Ok(())
            } else {
                Err(Error::OutsideGrant("a found memory lies outside the slice".into()))
            }
        }
        other => {
            let reason = format!("no grant allows {}", other.kind().name());
            Err(Error::OutsideGrant(reason))
        }
    }
}

/// The head a write would make, as far as a selector looks at it. The id is the next one, so no selector names it.
fn born(write: &Write, at: Millis) -> Head {
    Head {
        id: MemoryId::new(u64::MAX).expect("the largest id is not zero"),
        memory_type: write.memory_type,
        kind: write.kind.clone(),
        version: 1,
        version_hash: Digest::ZERO,
        project: write.project.clone(),
        scope: write.scope,
        visibility: write.visibility,
        pinned: write.pinned,
        archived: false,
        tombstone: None,
        erased: false,
        tags: write.tags.clone(),
        topic_key: write.topic_key.clone(),
        session: write.session.clone(),
        channel: write.channel.clone(),
        importance: write.importance,
        duplicates: 0,
        created: at,
        updated: at,
        seq: 0,
    }
}
