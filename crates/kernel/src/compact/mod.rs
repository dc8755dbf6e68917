//! Compaction: which memories of a context stay written out and which shrink to a line.
//!
//! Nothing is cut to fit. Load-bearing and pinned memories stay; all others become stubs that name them, and if even
//! that is over the budget, the plan is refused and the caller must drop something by choice. A memory is load-bearing
//! by its id, whatever version of it was named. The plan is a function of (state, request, `now`); recording it is the
//! caller's.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use proof::journal::Stub;
use proof::memory::{MemoryId, Millis, PinnedVersion};

use crate::command::Compaction;
use crate::context::is_pinned;
use crate::error::{Error, Result};
use crate::grants::Gate;
use crate::limits::COMPACT_ITEMS_MAX;
use crate::render::{self, Form};
use crate::rows::MemoryReader;
use crate::store::View;
use crate::validate::check_name;

/// Tokens of a compacted context when the caller does not say.
pub const COMPACT_TOKENS_DEFAULT: u32 = 4_000;
/// What stays is written in this form; the journal entry names versions only, so it must not vary.
pub const KEPT_FORM: Form = Form::Medium;
/// And what shrinks in this one.
pub const STUB_FORM: Form = Form::Short;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactRequest {
    pub intent: String,
    pub step: String,
    pub budget_tokens: u32,
    /// What the intent has read, at the versions it has read.
    pub in_context: Vec<PinnedVersion>,
    /// What the intent still relies on.
    pub load_bearing: Vec<MemoryId>,
}

impl CompactRequest {
    pub fn new(intent: impl Into<String>, step: impl Into<String>) -> CompactRequest {
        CompactRequest {
            intent: intent.into(),
            step: step.into(),
            budget_tokens: COMPACT_TOKENS_DEFAULT,
            in_context: Vec::new(),
            load_bearing: Vec::new(),
        }
    }
}

/// What to record and what to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactPlan {
    pub compaction: Compaction,
    /// In the order of `compaction.kept`: ascending by id.
    pub kept: Vec<CompactText>,
    /// In the order of `compaction.stubs`: ascending by id.
    pub stubs: Vec<CompactText>,
    /// What is in neither list, and why.
    pub left_out: Vec<(MemoryId, Omission)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactText {
    pub memory: PinnedVersion,
    pub text: String,
    pub tokens: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omission {
    /// No such memory or version, or none that may be seen.
    NotFound,
    Forgotten,
    /// Named as load-bearing but not in the context.
    NotInContext,
}

/// Sorts a context into what is kept and what shrinks, or says how much room that takes.
pub fn plan(
    view: &View<'_>,
    gate: Option<&dyn Gate>,
    request: &CompactRequest,
    now: Millis,
) -> Result<CompactPlan> {
    check_name("intent", &request.intent)?;
    check_name("step", &request.step)?;
    for count in [request.in_context.len(), request.load_bearing.len()] {
        if count > COMPACT_ITEMS_MAX {
            return Err(Error::TooMany { field: "in_context", count, max: COMPACT_ITEMS_MAX });
        }
    }
    let memories = MemoryReader::new(view, gate, None, now)?;
    let load_bearing: BTreeSet<MemoryId> = request.load_bearing.iter().copied().collect();
    // One entry per memory: of several versions, the newest was read last.
    let mut in_context: BTreeMap<MemoryId, u32> = BTreeMap::new();
    for memory in &request.in_context {
        let version = in_context.entry(memory.id).or_insert(memory.version);
        *version = memory.version.max(*version);
    }
    let mut plan = CompactPlan {
        compaction: Compaction {
            intent: request.intent.clone(),
            step: request.step.clone(),
            budget: request.budget_tokens,
            kept: Vec::new(),
            stubs: Vec::new(),
            tokens: 0,
        },
        kept: Vec::new(),
        stubs: Vec::new(),
        left_out: Vec::new(),
    };
    let strays = load_bearing.iter().filter(|id| !in_context.contains_key(id));
    plan.left_out.extend(strays.map(|id| (*id, Omission::NotInContext)));
    let mut total = 0_u64;
    for (id, n) in in_context {
        let (Some(row), Some(version)) = (memories.row(id)?, view.version(id, n)?) else {
            plan.left_out.push((id, Omission::NotFound));
            continue;
        };
        if row.standing.is_forgotten() {
            plan.left_out.push((id, Omission::Forgotten));
            continue;
        }
        let score = memories.salience(&row, None);
        // Pinned is what the memory is now, not what it was at the version in the context.
        let current = view.required_version(id, row.head.version)?;
        let keep =
            load_bearing.contains(&id) || is_pinned(&row.head, view.body(&current)?.as_ref());
        let form = if keep { KEPT_FORM } else { STUB_FORM };
        let text = render::render(&row.head, &version, view.body(&version)?.as_ref(), form);
        let memory = PinnedVersion { id, version: n };
        let text = CompactText { memory, tokens: render::tokens(&text), text };
        total += u64::from(text.tokens);
        if keep {
            plan.compaction.kept.push(memory);
            plan.kept.push(text);
        } else {
            plan.compaction.stubs.push(Stub { memory, score });
            plan.stubs.push(text);
        }
    }
    plan.left_out.sort_by_key(|(id, _)| *id);
    let budget = u64::from(request.budget_tokens);
    match u32::try_from(total) {
        Ok(tokens) if total <= budget => plan.compaction.tokens = tokens,
        _ => return Err(Error::BudgetUnreachable { needed: total, budget }),
    }
    Ok(plan)
}
