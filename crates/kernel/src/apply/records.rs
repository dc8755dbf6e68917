//! Effects of everything that is neither a memory nor an edge: usage, weights, sessions, snapshots, grants.

use proof::journal::{
    Attest, Compact, FindLate, LearnWeights, Manifest, PastForget, PastRestore, PromptRecord,
    ScopeGrant, ScopeRevoke, SessionEnd, SessionStart, Touch,
};
use proof::memory::{MemoryId, Millis, Outcome, Prompt, Session};

use super::{About, Step};
use crate::error::Result;
use crate::grants::GrantState;
use crate::keys;
use crate::state::LastSnapshot;

fn access(step: &mut Step<'_>, id: MemoryId, count: u32, at: Millis) -> Result<()> {
    let mut usage = step.view.usage(id)?;
    usage.accesses = usage.accesses.saturating_add(u64::from(count));
    usage.last_access = usage.last_access.max(Some(at));
    step.put(keys::usage(id), &usage);
    Ok(())
}

pub(super) fn touch(step: &mut Step<'_>, p: &Touch) -> Result<About> {
    for touched in &p.accesses {
        access(step, touched.id, touched.count, touched.at)?;
    }
    for shown in p.shown.iter().flatten() {
        let mut usage = step.view.usage(shown.id)?;
        let before = usage.shown.unwrap_or_default();
        usage.shown = Some(before.saturating_add(u64::from(shown.count)));
        usage.last_shown = usage.last_shown.max(Some(shown.at));
        step.put(keys::usage(shown.id), &usage);
    }
    for grant in &p.grants {
        let Some(state) = step.view.grant(grant.grant)? else {
            return Err(step.damaged("it counts a use of an unknown grant"));
        };
        step.put(keys::grant(grant.grant), &state.used(grant.uses));
    }
    Ok(About::NOTHING)
}

pub(super) fn find_late(step: &mut Step<'_>, p: &FindLate) -> Result<About> {
    for found in &p.results {
        access(step, found.id, 1, step.entry.at)?;
    }
    Ok(About::NOTHING)
}

/// Success makes what was cited count for more, failure for less; only success is a use that keeps a memory fresh.
pub(super) fn attest(step: &mut Step<'_>, p: &Attest) -> Result<About> {
    for cited in &p.cited {
        let mut usage = step.view.usage(cited.id)?;
        match p.outcome {
            Outcome::Success => {
                usage.citations = usage.citations.saturating_add(1);
                usage.accesses = usage.accesses.saturating_add(1);
                usage.last_access = usage.last_access.max(Some(step.entry.at));
            }
            Outcome::Failure => usage.citations = usage.citations.saturating_sub(1),
            Outcome::Partial => usage.accesses = usage.accesses.saturating_add(1),
        }
        step.put(keys::usage(cited.id), &usage);
    }
    let at = step.entry.at.get().to_be_bytes().to_vec();
    step.changes.rows.insert(keys::attest(&p.intent, step.entry.seq), Some(at));
    Ok(About::NOTHING)
}

pub(super) fn learn_weights(step: &mut Step<'_>, p: &LearnWeights) -> About {
    if p.skipped.is_none() {
        step.put(keys::weights(), &p.next);
    }
    About::NOTHING
}

pub(super) fn compact(step: &mut Step<'_>, p: &Compact) -> About {
    let seq = step.entry.seq.to_be_bytes().to_vec();
    step.changes.rows.insert(keys::checkpoint(&p.intent, &p.step), Some(seq));
    About::NOTHING
}

pub(super) fn session_start(step: &mut Step<'_>, p: &SessionStart) -> About {
    let session = Session {
        id: p.session.clone(),
        project: p.project.clone(),
        directory: p.directory.clone(),
        agent: p.agent.clone(),
        started: step.entry.at,
        ended: None,
        summary_seq: None,
        seq: step.entry.seq,
    };
    step.put(keys::session(&p.session), &session);
    step.counters.sessions += 1;
    About::NOTHING
}

pub(super) fn session_end(step: &mut Step<'_>, p: &SessionEnd) -> Result<About> {
    let Some(mut session) = step.view.session(&p.session)? else {
        return Err(step.damaged("the session it ends was never started"));
    };
    session.ended = Some(step.entry.at);
    session.summary_seq = p.summary_hash.map(|_| step.entry.seq);
    session.seq = step.entry.seq;
    step.put(keys::session(&p.session), &session);
    Ok(About::NOTHING)
}

pub(super) fn prompt(step: &mut Step<'_>, p: &PromptRecord) -> About {
    let prompt = Prompt {
        seq: step.entry.seq,
        session: p.session.clone(),
        project: p.project.clone(),
        at: step.entry.at,
        body_hash: p.body_hash,
    };
    step.put(keys::prompt(step.entry.seq), &prompt);
    step.counters.prompts += 1;
    About::NOTHING
}

pub(super) fn snapshot(step: &mut Step<'_>, p: &Manifest) -> About {
    step.put(keys::snapshot(p.number), p);
    let number = p.number.to_be_bytes().to_vec();
    step.changes.rows.insert(keys::snapshot_by_root(p.root), Some(number));
    step.counters.snapshot =
        Some(LastSnapshot { number: p.number, seq: step.entry.seq, manifest: p.digest() });
    About::NOTHING
}

pub(super) fn scope_grant(step: &mut Step<'_>, p: &ScopeGrant) -> About {
    let state = GrantState::new(p.grant.clone(), step.entry.seq);
    step.put(keys::grant(p.id), &state);
    About::NOTHING
}

pub(super) fn scope_revoke(step: &mut Step<'_>, p: &ScopeRevoke) -> About {
    let seq = step.entry.seq.to_be_bytes().to_vec();
    step.changes.rows.insert(keys::revoked(p.grant), Some(seq));
    About::NOTHING
}

pub(super) fn past_forget(step: &mut Step<'_>, p: &PastForget) -> About {
    let seq = step.entry.seq;
    step.changes
        .rows
        .insert(keys::past_tombstone(p.subject, seq), Some(seq.to_be_bytes().to_vec()));
    About::NOTHING
}

pub(super) fn past_restore(step: &mut Step<'_>, p: &PastRestore) -> Result<About> {
    for seq in step.view.past_tombstones_of(p.subject)? {
        step.changes.rows.insert(keys::past_tombstone(p.subject, seq), None);
    }
    Ok(About::NOTHING)
}
