//! Admission of everything that is neither a memory nor an edge.

use std::collections::{BTreeMap, BTreeSet};

use proof::journal::{
    Access, Attest, Compact, FindLate, FoundMemory, LearnWeights, Migration, MindRun, PastForget,
    PastRestore, Payload, PromptRecord, ScopeGrant, ScopeRevoke, ScopeViolation, SessionEnd,
    SessionStart, Touch,
};
use proof::memory::{MemoryId, Note, Outcome, PinnedVersion, SealedBody};

use super::{Admission, AdmittedCommand, Situation, check_count, check_optional_name};
use crate::command::{
    Attestation, Compaction, GrantDraft, LateFind, MigrationDraft, MindRunDraft, PastForgetDraft,
    PastRestoreDraft, PromptDraft, Revocation, SessionClose, SessionDraft, Touches, Violation,
};
use crate::error::{Error, Result};
use crate::grants::check_issue;
use crate::keys;
use crate::limits::{
    ATTEST_BURST, CITATIONS_MAX, COMPACT_ITEMS_MAX, CONTENT_BYTES_MAX, FIELD_BYTES_MAX,
    FIND_LIMIT_MAX, PAST_MEMBERS_MAX, TOUCHES_MAX,
};
use crate::salience::{self, Factors, Signals};
use crate::store::KeyRange;
use crate::validate::{check_name, check_reason, check_text};

/// Window in which `ATTEST_BURST` attestations of one intent are taken.
const ATTEST_WINDOW_MS: i64 = 1_000;

pub(super) fn touch(situation: &Situation<'_>, touches: &Touches) -> Result<AdmittedCommand> {
    check_count("accesses", touches.accesses.len(), TOUCHES_MAX)?;
    check_count("grants", touches.grants.len(), TOUCHES_MAX)?;
    check_count("shown", touches.shown.len(), TOUCHES_MAX)?;
    let accesses = merged(situation, &touches.accesses)?;
    let shown = merged(situation, &touches.shown)?;
    for grant in &touches.grants {
        let Some(state) = situation.view.grant(grant.grant)? else {
            return Err(Error::not_found("grant", grant.grant));
        };
        let limit = state.signed()?.grant().use_limit;
        let uses = state.uses.saturating_add(u64::from(grant.uses));
        if limit.is_some_and(|limit| uses > u64::from(limit)) {
            return Err(Error::GrantRefused("no uses are left".into()));
        }
    }
    if accesses.is_empty() && shown.is_empty() && touches.grants.is_empty() {
        return Err(Error::NoOp);
    }
    let shown = (!shown.is_empty()).then_some(shown);
    let payload = Payload::Touch(Touch { accesses, grants: touches.grants.clone(), shown });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

/// One row per memory, ascending. A forgotten memory may be accessed, one that never was may not.
fn merged(situation: &Situation<'_>, accesses: &[Access]) -> Result<Vec<Access>> {
    let mut merged: BTreeMap<MemoryId, Access> = BTreeMap::new();
    for access in accesses {
        if situation.view.head(access.id)?.is_none() {
            return Err(Error::not_found("memory", access.id));
        }
        let row = merged.entry(access.id).or_insert(Access { count: 0, ..*access });
        row.count = row.count.saturating_add(access.count);
        // Nothing is accessed later than the entry says it was recorded.
        row.at = row.at.max(access.at).min(situation.at);
    }
    Ok(merged.into_values().collect())
}

pub(super) fn find_late(situation: &Situation<'_>, find: &LateFind) -> Result<AdmittedCommand> {
    check_count("results", find.results.len(), FIND_LIMIT_MAX as usize)?;
    let mut seen = BTreeSet::new();
    for FoundMemory { id, version, .. } in &find.results {
        if !seen.insert(*id) {
            return Err(Error::invalid("results", format!("memory {id} is there twice")));
        }
        situation.view.required_version(*id, *version)?;
    }
    let sealed = SealedBody { salt: find.salt.0, bytes: find.query.clone() };
    let payload = Payload::FindLate(FindLate {
        query_hash: sealed.hash(),
        size: find.size,
        root: find.root,
        results: find.results.clone(),
    });
    Ok(AdmittedCommand::one(Admission { payload, sealed: Some(sealed) }))
}

/// Two entries, always: the attestation and what was learned from it.
pub(super) fn attest(
    situation: &Situation<'_>,
    attestation: &Attestation,
) -> Result<AdmittedCommand> {
    check_name("intent", &attestation.intent)?;
    attestation.reason.as_deref().map_or(Ok(()), check_reason)?;
    check_count("cited", attestation.cited.len(), CITATIONS_MAX)?;
    check_count("retrieved", attestation.retrieved.len(), FIND_LIMIT_MAX as usize)?;
    let earlier = earlier_attests(situation, &attestation.intent)?;
    if earlier.len() == ATTEST_BURST as usize
        && earlier.iter().all(|at| situation.at.get().saturating_sub(*at) < ATTEST_WINDOW_MS)
    {
        return Err(Error::RateLimited(format!("intent {}", attestation.intent)));
    }

    let mut skipped = Vec::new();
    let mut cited: BTreeMap<MemoryId, PinnedVersion> = BTreeMap::new();
    for pinned in &attestation.cited {
        match refusal(situation, *pinned)? {
            Some(reason) => skipped.push((pinned.id, reason)),
            None => drop(cited.insert(pinned.id, *pinned)),
        }
    }
    let mut uncited: BTreeSet<MemoryId> = BTreeSet::new();
    for id in &attestation.retrieved {
        if !cited.contains_key(id) && situation.view.head(*id)?.is_some() {
            uncited.insert(*id);
        }
    }

    let previous = situation.view.weights()?;
    let factors_of = |ids: &mut dyn Iterator<Item = MemoryId>| -> Result<Vec<Factors>> {
        ids.map(|id| factors(situation, id)).collect()
    };
    let learned = salience::learn(
        &previous,
        match attestation.outcome {
            Outcome::Success => salience::LearningOutcome::Success,
            Outcome::Failure => salience::LearningOutcome::Failure,
            Outcome::Partial => salience::LearningOutcome::Neutral,
        },
        &factors_of(&mut cited.keys().copied())?,
        &factors_of(&mut uncited.iter().copied())?,
    );
    // One lesson per intent: repeating an attestation must not teach again.
    let skip_reason = if earlier.is_empty() {
        learned.skipped.map(|skip| skip.reason().to_owned())
    } else {
        Some("the intent was attested before".to_owned())
    };
    let attest = Payload::Attest(Attest {
        intent: attestation.intent.clone(),
        outcome: attestation.outcome,
        reason: attestation.reason.clone(),
        cited: cited.into_values().collect(),
        uncited: uncited.into_iter().collect(),
        bundle: attestation.bundle,
    });
    let learn = Payload::LearnWeights(LearnWeights {
        attest_seq: situation.counters.size + 1,
        previous,
        next: if skip_reason.is_some() { previous } else { learned.next },
        skipped: skip_reason,
    });
    let entries = vec![Admission::plain(attest), Admission::plain(learn)];
    Ok(AdmittedCommand { entries, skipped, ..AdmittedCommand::default() })
}

/// Times of the latest attestations of an intent, newest first, at most `ATTEST_BURST`.
fn earlier_attests(situation: &Situation<'_>, intent: &str) -> Result<Vec<i64>> {
    let mut times = Vec::new();
    let range = KeyRange::prefix(&keys::attests(intent)).reversed();
    situation.view.scan(&range, &mut |key, value| {
        let at = <[u8; 8]>::try_from(value).map(i64::from_be_bytes).map_err(|_| {
            Error::corrupt(proof::digest::encode_hex(key), "an attestation row has 8 bytes")
        })?;
        times.push(at);
        Ok(if times.len() == ATTEST_BURST as usize {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        })
    })?;
    Ok(times)
}

/// Why a memory cannot be cited.
fn refusal(situation: &Situation<'_>, pinned: PinnedVersion) -> Result<Option<&'static str>> {
    let Some(head) = situation.view.head(pinned.id)? else { return Ok(Some("not found")) };
    Ok(if head.erased {
        Some("erased")
    } else if head.tombstone.is_some() {
        Some("forgotten")
    } else if !(1..=head.version).contains(&pinned.version) {
        Some("no such version")
    } else {
        None
    })
}

/// The factors of a memory as they are before this attestation counts.
fn factors(situation: &Situation<'_>, id: MemoryId) -> Result<Factors> {
    let head = situation.view.required_head(id)?;
    let usage = situation.view.usage(id)?;
    Ok(salience::factors(&Signals::of(&head, &usage, None), situation.at.get()))
}

pub(super) fn compact(
    situation: &Situation<'_>,
    compaction: &Compaction,
) -> Result<AdmittedCommand> {
    check_name("intent", &compaction.intent)?;
    check_name("step", &compaction.step)?;
    let items = compaction.kept.len() + compaction.stubs.len();
    check_count("memories", items, COMPACT_ITEMS_MAX)?;
    if items == 0 {
        return Err(Error::invalid("memories", "there is nothing to compact"));
    }
    if compaction.tokens > compaction.budget {
        return Err(Error::BudgetUnreachable {
            needed: u64::from(compaction.tokens),
            budget: u64::from(compaction.budget),
        });
    }
    let pinned = compaction.kept.iter().copied();
    for memory in pinned.chain(compaction.stubs.iter().map(|stub| stub.memory)) {
        situation.view.required_version(memory.id, memory.version)?;
    }
    let mut kept = compaction.kept.clone();
    let mut stubs = compaction.stubs.clone();
    kept.sort_unstable();
    stubs.sort_unstable_by_key(|stub| stub.memory);
    let payload = Payload::Compact(Compact {
        intent: compaction.intent.clone(),
        step: compaction.step.clone(),
        budget: compaction.budget,
        kept,
        stubs,
        tokens: compaction.tokens,
    });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

/// Starting a session again while it lives changes nothing.
pub(super) fn session_start(
    situation: &Situation<'_>,
    draft: &SessionDraft,
) -> Result<AdmittedCommand> {
    check_name("session", &draft.session)?;
    check_optional_name("project", draft.project.as_ref())?;
    check_optional_name("agent", draft.agent.as_ref())?;
    if let Some(directory) = &draft.directory {
        check_text("directory", directory, FIELD_BYTES_MAX)?;
    }
    match situation.view.session(&draft.session)? {
        Some(session) if session.ended.is_some() => {
            return Err(Error::SessionEnded(draft.session.clone()));
        }
        Some(_) => return Ok(AdmittedCommand::unchanged()),
        None => {}
    }
    let payload = Payload::SessionStart(SessionStart {
        session: draft.session.clone(),
        project: draft.project.clone(),
        directory: draft.directory.clone(),
        agent: draft.agent.clone(),
    });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

pub(super) fn session_end(
    situation: &Situation<'_>,
    close: &SessionClose,
) -> Result<AdmittedCommand> {
    let Some(session) = situation.view.session(&close.session)? else {
        return Err(Error::not_found("session", &close.session));
    };
    if session.ended.is_some() {
        return Err(Error::SessionEnded(close.session.clone()));
    }
    let sealed = match &close.summary {
        Some(summary) => {
            check_text("summary", summary, CONTENT_BYTES_MAX)?;
            Some(SealedBody::new(close.salt, &Note { text: summary.clone() }))
        }
        None => None,
    };
    let payload = Payload::SessionEnd(SessionEnd {
        session: close.session.clone(),
        summary_hash: sealed.as_ref().map(SealedBody::hash),
    });
    Ok(AdmittedCommand::one(Admission { payload, sealed }))
}

pub(super) fn prompt(draft: &PromptDraft) -> Result<AdmittedCommand> {
    check_optional_name("session", draft.session.as_ref())?;
    check_optional_name("project", draft.project.as_ref())?;
    check_text("prompt", &draft.text, CONTENT_BYTES_MAX)?;
    if draft.text.trim().is_empty() {
        return Err(Error::invalid("prompt", "is empty"));
    }
    let sealed = SealedBody::new(draft.salt, &Note { text: draft.text.clone() });
    let payload = Payload::Prompt(PromptRecord {
        session: draft.session.clone(),
        project: draft.project.clone(),
        body_hash: sealed.hash(),
    });
    Ok(AdmittedCommand::one(Admission { payload, sealed: Some(sealed) }))
}

/// Only the owner can submit this command, so a grant that is journaled is a grant the owner made.
pub(super) fn scope_grant(
    situation: &Situation<'_>,
    draft: &GrantDraft,
) -> Result<AdmittedCommand> {
    let id = check_issue(situation.view, situation.actor, &draft.grant, situation.at)?.id();
    if situation.view.grant(id)?.is_some() {
        return Ok(AdmittedCommand::unchanged());
    }
    let payload = Payload::ScopeGrant(ScopeGrant { id, grant: draft.grant.clone() });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

/// Any id may be revoked: links made offline by a delegate are not in the journal.
pub(super) fn scope_revoke(
    situation: &Situation<'_>,
    revocation: &Revocation,
) -> Result<AdmittedCommand> {
    check_reason(&revocation.reason)?;
    if situation.view.is_revoked(revocation.grant)? {
        return Ok(AdmittedCommand::unchanged());
    }
    let payload = Payload::ScopeRevoke(ScopeRevoke {
        grant: revocation.grant,
        reason: revocation.reason.clone(),
    });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

pub(super) fn scope_violation(violation: &Violation) -> Result<AdmittedCommand> {
    check_name("operation", &violation.operation)?;
    check_reason(&violation.reason)?;
    let payload = Payload::ScopeViolation(ScopeViolation {
        grant: violation.grant,
        operation: violation.operation.clone(),
        memory: violation.memory,
        reason: violation.reason.clone(),
    });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

pub(super) fn mind_run(draft: &MindRunDraft) -> Result<AdmittedCommand> {
    check_name("run", &draft.run)?;
    check_name("job", &draft.job)?;
    draft.reason.as_deref().map_or(Ok(()), check_reason)?;
    let payload = Payload::MindRun(MindRun {
        run: draft.run.clone(),
        job: draft.job.clone(),
        phase: draft.phase,
        reason: draft.reason.clone(),
    });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

pub(super) fn past_forget(draft: &PastForgetDraft) -> Result<AdmittedCommand> {
    check_reason(&draft.reason)?;
    if draft.members.len() > PAST_MEMBERS_MAX {
        let (size, max) = (draft.members.len(), PAST_MEMBERS_MAX);
        return Err(Error::TooLarge { field: "members", size, max });
    }
    let payload = Payload::PastForget(PastForget {
        subject: draft.subject,
        members: draft.members.clone(),
        reason: draft.reason.clone(),
    });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

pub(super) fn past_restore(
    situation: &Situation<'_>,
    draft: &PastRestoreDraft,
) -> Result<AdmittedCommand> {
    if situation.view.past_tombstones_of(draft.subject)?.is_empty() {
        return Ok(AdmittedCommand::unchanged());
    }
    let payload = Payload::PastRestore(PastRestore { subject: draft.subject });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}

pub(super) fn migration(draft: &MigrationDraft) -> Result<AdmittedCommand> {
    check_name("component", &draft.component)?;
    let payload = Payload::Migration(Migration {
        component: draft.component.clone(),
        from: draft.from,
        to: draft.to,
    });
    Ok(AdmittedCommand::one(Admission::plain(payload)))
}
