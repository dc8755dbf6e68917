//! Admission: a command becomes complete journal entries, or an error that changed nothing.
//!
//! Everything that can be refused is refused here, against the state including all that is staged before it. What
//! passes is complete: `apply` needs no further decision. Reads for read-modify-write happen here, on the writer's
//! thread, so two callers can never act on the same old state.

mod edges;
mod memories;
mod records;

use proof::actor::ActorName;
use proof::journal::{Idempotency, Payload};
use proof::memory::{MemoryId, Millis, Salt, SealedBody};

use crate::command::{Command, Receipt, Stamp};
use crate::error::{Error, Result};
use crate::state::Counters;
use crate::store::View;
use crate::validate::check_name;

/// A payload with the body that is stored beside its entry.
#[derive(Debug)]
pub(crate) struct Admission {
    pub payload: Payload,
    pub sealed: Option<SealedBody>,
}

impl Admission {
    fn plain(payload: Payload) -> Admission {
        Admission { payload, sealed: None }
    }
}

/// What a command comes to. No entries: the state is already as asked.
#[derive(Debug, Default)]
pub(crate) struct AdmittedCommand {
    pub entries: Vec<Admission>,
    pub id: Option<MemoryId>,
    pub version: Option<u32>,
    pub skipped: Vec<(MemoryId, &'static str)>,
}

impl AdmittedCommand {
    fn one(admission: Admission) -> AdmittedCommand {
        AdmittedCommand { entries: vec![admission], ..AdmittedCommand::default() }
    }

    fn about(mut self, id: MemoryId, version: u32) -> AdmittedCommand {
        self.id = Some(id);
        self.version = Some(version);
        self
    }

    fn unchanged() -> AdmittedCommand {
        AdmittedCommand::default()
    }
}

/// The state a command is judged by.
#[derive(Debug)]
pub(crate) struct Situation<'a> {
    pub actor: &'a ActorName,
    pub view: &'a View<'a>,
    pub counters: &'a Counters,
    /// The time the entries will carry: the caller's, but never before the last entry's.
    pub at: Millis,
}

/// Checks the stamp, and answers a request that was made before.
pub(crate) fn recall_answer(
    situation: &Situation<'_>,
    stamp: &Stamp,
    command: &Command,
) -> Result<Option<Receipt>> {
    check_name("by", &stamp.by)?;
    if let Some(run) = &stamp.run {
        check_name("run", run)?;
    }
    let Some(key) = &stamp.idempotency_key else { return Ok(None) };
    check_name("idempotency key", key)?;
    let Some(record) = situation.view.idempotency(key)? else { return Ok(None) };
    let entry = situation.view.entry(record.seq)?;
    let kind =
        entry.ok_or_else(|| Error::corrupt(format!("entry {}", record.seq), "is missing"))?.kind;
    let salt = situation.view.sealed(record.seq)?.map_or(Salt::NONE, |sealed| Salt(sealed.salt));
    // After erasure the salt is gone and nobody can say what was asked; the key still stands for its answer.
    let forgotten = situation.view.is_body_erased(record.seq, record.id)?;
    if kind != command.kind() || !(forgotten || command.request_digest(salt) == record.request) {
        return Err(Error::IdempotencyConflict(key.clone()));
    }
    Ok(Some(Receipt {
        seq: record.seq,
        at: record.at,
        kind,
        id: record.id,
        version: record.version,
        changed: true,
        replayed: true,
        skipped: Vec::new(),
    }))
}

/// What the first entry keeps of the caller's key.
pub(crate) fn idempotency(
    stamp: &Stamp,
    command: &Command,
    admitted: &AdmittedCommand,
) -> Option<Idempotency> {
    let key = stamp.idempotency_key.clone()?;
    let first = admitted.entries.first()?;
    let salt = first.sealed.as_ref().map_or(Salt::NONE, |sealed| Salt(sealed.salt));
    Some(Idempotency { key, request: command.request_digest(salt) })
}

pub(crate) fn admit(situation: &Situation<'_>, command: &Command) -> Result<AdmittedCommand> {
    match command {
        Command::Write(draft) => memories::write(situation, draft),
        Command::Update(revision) => memories::update(situation, revision),
        Command::UpdateHead(revision) => memories::update_head(situation, revision),
        Command::Tombstone(removal) => memories::tombstone(situation, removal),
        Command::Restore(removal) => memories::restore(situation, removal),
        Command::Erase(removal) => memories::erase(situation, removal),
        Command::AddEdge(draft) => edges::add(situation, draft),
        Command::RemoveEdge(removal) => edges::remove(situation, removal),
        Command::Touch(touches) => records::touch(situation, touches),
        Command::FindLate(find) => records::find_late(situation, find),
        Command::Attest(attestation) => records::attest(situation, attestation),
        Command::Compact(compaction) => records::compact(situation, compaction),
        Command::SessionStart(draft) => records::session_start(situation, draft),
        Command::SessionEnd(close) => records::session_end(situation, close),
        Command::Prompt(draft) => records::prompt(draft),
        Command::ScopeGrant(draft) => records::scope_grant(situation, draft),
        Command::ScopeRevoke(revocation) => records::scope_revoke(situation, revocation),
        Command::ScopeViolation(violation) => records::scope_violation(violation),
        Command::MindRun(draft) => records::mind_run(draft),
        Command::Migration(draft) => records::migration(draft),
        Command::PastForget(draft) => records::past_forget(draft),
        Command::PastRestore(draft) => records::past_restore(situation, draft),
        Command::Snapshot(_) => {
            unreachable!("the writer makes manifests itself: it knows the roots")
        }
    }
}

fn check_optional_name(field: &'static str, name: Option<&String>) -> Result<()> {
    name.map_or(Ok(()), |name| check_name(field, name))
}

fn check_count(field: &'static str, count: usize, max: usize) -> Result<()> {
    if count > max { Err(Error::TooMany { field, count, max }) } else { Ok(()) }
}
