//! Context: what an intent should know before it starts, as one text with one digest.
//!
//! The text is a function of (state, query, `now`): no wall clock, no latency, nothing of the machine. It fits the
//! budget as a whole, headings and footer included. Memory text is data: it is folded into one line behind its URI, so
//! it cannot open a section or a bullet, and it passes the screen of the query.
//!
//! Hard constraints of persons are rules and come first, within a share of the budget: many rules, or long ones, do not
//! push out all the rest. Those that do not fit in full are said in short, and how many are missing even so stands
//! below them. Rules and preferences that no person stated or confirmed are in a section of their own.
//!
//! Three tiers, each memory in the first that claims it:
//! - *pinned*: identities, hard constraints, active goals, and what somebody pinned;
//! - *outcomes*: the newest events;
//! - *relevant*: what carries one of the tags, belongs to the session or is near; then what is of the project; then
//!   preferences and softer constraints that hold in every project.
//!
//! With a project, memories of other projects are not considered unless they are personal. Each tier may fill a share
//! of its own first; what is left over goes to the best of the rest.

mod gather;
mod rules;
#[cfg(test)]
mod tests;
mod text;

pub use rules::{RuleAuthors, TextScreen};

use std::collections::BTreeSet;

use proof::Digest;
use proof::actor::ActorName;
use proof::memory::{Body, Fields, GoalStatus, Head, MemoryType, Millis, Scope, Strength};

use crate::error::{Error, Result};
use crate::find::{NearMemory, check_near};
use crate::grants::Gate;
use crate::limits::{
    BUDGET_TOKENS_DEFAULT, BUDGET_TOKENS_MAX, FIND_LIMIT_MAX, NAME_BYTES_MAX, TAG_BYTES_MAX,
    TAGS_MAX,
};
use crate::render::Form;
use crate::rows::{MemoryReader, Standing};
use crate::store::View;
use crate::uri::Uri;
use crate::validate::check_at_most;
use crate::validate::check_text;
use gather::{Candidate, Gather};

/// Events shown when the query does not say how many.
pub const OUTCOMES_DEFAULT: u32 = 5;
/// URIs of memories that did not fit.
pub const OVERFLOW_MAX: usize = 64;
/// What a prompt template holds in the bundle's place.
pub const PLACEHOLDER: &str = "{cortex.bundle}";

/// The tiers in the order of their sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    Pinned,
    Relevant,
    Outcomes,
}

impl Tier {
    pub const ALL: [Tier; 3] = [Tier::Pinned, Tier::Relevant, Tier::Outcomes];

    pub fn name(self) -> &'static str {
        match self {
            Tier::Pinned => "pinned",
            Tier::Relevant => "relevant",
            Tier::Outcomes => "outcomes",
        }
    }

    pub fn parse(text: &str) -> Result<Tier> {
        Tier::ALL
            .into_iter()
            .find(|tier| tier.name() == text)
            .ok_or_else(|| Error::invalid("tier", "use pinned, relevant or outcomes"))
    }

    fn heading(self) -> &'static str {
        match self {
            Tier::Pinned => "## Pinned\n",
            Tier::Relevant => "## Relevant\n",
            Tier::Outcomes => "## Outcomes\n",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextQuery {
    pub project: Option<String>,
    pub session: Option<String>,
    pub tags: Vec<String>,
    /// Types in the relevant tier; all if empty.
    pub types: Vec<MemoryType>,
    pub near: Vec<NearMemory>,
    pub budget_tokens: u32,
    pub form: Form,
    pub tiers: BTreeSet<Tier>,
    pub outcomes_limit: u32,
    /// Whose rules bind.
    pub rules: RuleAuthors,
    pub screen: TextScreen,
    pub now: Millis,
}

impl ContextQuery {
    pub fn new(now: Millis) -> ContextQuery {
        ContextQuery {
            project: None,
            session: None,
            tags: Vec::new(),
            types: Vec::new(),
            near: Vec::new(),
            budget_tokens: BUDGET_TOKENS_DEFAULT,
            form: Form::Medium,
            tiers: Tier::ALL.into(),
            outcomes_limit: OUTCOMES_DEFAULT,
            rules: RuleAuthors::default(),
            screen: TextScreen::default(),
            now,
        }
    }

    /// Memories of one tier that compete for the budget; the rest are only counted. None is smaller than 16 tokens.
    fn candidates_max(&self) -> usize {
        OVERFLOW_MAX + (self.budget_tokens as usize / 16).clamp(64, 1_024)
    }

    fn check(&self) -> Result<()> {
        if self.budget_tokens == 0 {
            return Err(Error::Unbounded);
        }
        check_at_most("budget_tokens", Some(self.budget_tokens), BUDGET_TOKENS_MAX)?;
        check_at_most("outcomes_limit", Some(self.outcomes_limit), FIND_LIMIT_MAX)?;
        check_near(&self.near)?;
        if self.tiers.is_empty() {
            return Err(Error::invalid("tiers", "name at least one"));
        }
        if self.tags.len() > TAGS_MAX {
            return Err(Error::TooMany { field: "tags", count: self.tags.len(), max: TAGS_MAX });
        }
        self.tags.iter().try_for_each(|tag| check_text("tag", tag, TAG_BYTES_MAX))?;
        for (field, name) in [("project", &self.project), ("session", &self.session)] {
            name.as_ref().map_or(Ok(()), |name| check_text(field, name, NAME_BYTES_MAX))?;
        }
        Ok(())
    }

    /// Of this project, of none, or of the person whatever the project.
    fn concerns(&self, head: &Head) -> bool {
        self.project.is_none()
            || head.project.is_none()
            || head.project == self.project
            || head.scope == Scope::Personal
    }
}

/// The context of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Overall root and journal size of the state it was read from.
    pub root: Digest,
    pub size: u64,
    pub now: Millis,
    pub pinned: Vec<BundleItem>,
    pub relevant: Vec<BundleItem>,
    pub outcomes: Vec<BundleItem>,
    pub text: String,
    /// Of the text.
    pub digest: Digest,
    /// Of the sections; the footer comes on top, within the budget.
    pub tokens: u32,
    /// What did not fit, best first, at most `OVERFLOW_MAX`.
    pub overflow: Vec<Uri>,
    /// How many did not fit, listed or not.
    pub trimmed: u32,
    /// How many of them are rules.
    pub rules_missing: u32,
    pub rows_examined: u32,
    /// A tier left rows unexamined, the oldest.
    pub capped: bool,
}

impl Bundle {
    /// All memories shown, in the order of the text.
    pub fn items(&self) -> impl Iterator<Item = &BundleItem> + '_ {
        self.pinned.iter().chain(&self.relevant).chain(&self.outcomes)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleItem {
    pub uri: Uri,
    /// Salience, parts per million.
    pub score: u32,
    pub standing: Standing,
    pub section: Section,
    /// One line.
    pub text: String,
    /// Of its bullet, URI included.
    pub tokens: u32,
}

/// Where an item stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Hard constraints that a person stated or confirmed.
    Rules,
    /// Rules and preferences of anybody else.
    Proposed,
    Tier(Tier),
}

impl Section {
    const ALL: [Section; 5] = [
        Section::Rules,
        Section::Proposed,
        Section::Tier(Tier::Pinned),
        Section::Tier(Tier::Relevant),
        Section::Tier(Tier::Outcomes),
    ];

    fn heading(self) -> &'static str {
        match self {
            Section::Rules => "## Rules\n",
            Section::Proposed => "## Proposed rules (not confirmed by a person)\n",
            Section::Tier(tier) => tier.heading(),
        }
    }
}

/// Puts a bundle into a prompt template. What the bundle holds is not looked at again.
pub fn interpolate(template: &str, bundle: &Bundle) -> String {
    template.replace(PLACEHOLDER, &bundle.text)
}

/// What no trimming or compaction may lose sight of: identities, hard constraints, active goals, and what is pinned.
pub fn is_pinned(head: &Head, body: Option<&Body>) -> bool {
    head.pinned || head.memory_type == MemoryType::Identity || rule(body).is_some()
}

/// What makes a body pinned by itself.
fn rule(body: Option<&Body>) -> Option<MemoryType> {
    match body.map(|body| &body.fields) {
        Some(Fields::Constraint(f)) if f.strength == Strength::Hard => Some(MemoryType::Constraint),
        Some(Fields::Goal(f)) if f.status == GoalStatus::Active => Some(MemoryType::Goal),
        _ => None,
    }
}

/// Gathers, ranks and trims. `roots` are the overall root and the journal size of the view's state.
pub fn context(
    view: &View<'_>,
    actor: &ActorName,
    gate: Option<&dyn Gate>,
    query: &ContextQuery,
    roots: (Digest, u64),
) -> Result<Bundle> {
    query.check()?;
    let memories = MemoryReader::new(view, gate, None, query.now)?;
    let mut gather = Gather::new(&memories, query);
    // Each memory stays in the first tier that claims it.
    for tier in [Tier::Pinned, Tier::Outcomes, Tier::Relevant] {
        match tier {
            _ if !query.tiers.contains(&tier) => {}
            Tier::Pinned => gather.pinned()?,
            Tier::Outcomes => gather.outcomes()?,
            Tier::Relevant => gather.relevant()?,
        }
    }
    let Gather { rows: rows_examined, capped, mut dropped, found, .. } = gather;
    let mut candidates = Vec::new();
    let mut rules_missing = 0;
    for mut tier in found {
        tier.sort_by_key(|candidate| candidate.rank);
        let keep = tier.len().min(query.candidates_max());
        dropped += tier.len() - keep;
        rules_missing += tier.drain(keep..).filter(Candidate::is_rule).count();
        candidates.extend(tier);
    }
    let mut bundle = Bundle {
        root: roots.0,
        size: roots.1,
        now: query.now,
        pinned: Vec::new(),
        relevant: Vec::new(),
        outcomes: Vec::new(),
        text: String::new(),
        digest: Digest::ZERO,
        tokens: 0,
        overflow: Vec::new(),
        trimmed: 0,
        rules_missing: u32::try_from(rules_missing).unwrap_or(u32::MAX),
        rows_examined,
        capped,
    };
    text::fill(&memories, actor, query, &candidates, dropped, &mut bundle)?;
    Ok(bundle)
}
