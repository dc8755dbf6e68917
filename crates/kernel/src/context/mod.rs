//! Context: what an intent should know before it starts, as one text with one digest.
//!
//! The text is a function of (state, query, `now`): no wall clock, no latency, nothing of the machine. It fits the budget as
//! a whole, headings and footer included. Hard constraints are never left out: if they alone do not fit, there is no bundle
//! but an error. Memory text is data: it is folded into one line behind its URI, so it cannot open a section or a bullet.
//!
//! Three tiers, each memory in the first that claims it:
//! - *pinned*: identities, hard constraints, active goals, and what somebody pinned;
//! - *outcomes*: the newest events;
//! - *relevant*: what carries one of the tags, belongs to the session or is near, then what is of the project.
//!
//! With a project, memories of other projects are not considered unless they are personal. Each tier may fill a share of
//! its own first; what is left over goes to the best of the rest.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::actor::ActorName;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::find::{Ids, Lens, Near, Row, Standing, at_most, check_near};
use crate::forms::{self, Form};
use crate::keys;
use crate::limits::{
    BUDGET_TOKENS_DEFAULT, BUDGET_TOKENS_MAX, FIND_LIMIT_MAX, NAME_BYTES_MAX, ROWS_EXAMINED_MAX,
    TAG_BYTES_MAX, TAGS_MAX,
};
use crate::memory::{
    Body, Fields, GoalStatus, Head, MemoryId, MemoryType, Millis, Scope, Strength, check_text,
};
use crate::salience::PINNED_FLOOR;
use crate::scope::Gate;
use crate::store::View;
use crate::uri::Uri;

/// Events shown when the query does not say how many.
pub const OUTCOMES_DEFAULT: u32 = 5;
/// URIs of memories that did not fit.
pub const OVERFLOW_MAX: usize = 64;
/// What a prompt template holds in the bundle's place.
pub const PLACEHOLDER: &str = "{cortex.bundle}";

/// Rows that one step of gathering examines. Constraints are exempt: none of them may be missed.
const STEP_ROWS_MAX: u32 = 1_000;
/// Heads of each other type that are looked at for a pin, which has no index.
const PIN_ROWS_MAX: u32 = 500;
/// Percent of the budget that each tier may fill before the others.
const SHARES: [usize; 3] = [30, 50, 20];
const BYTES_PER_TOKEN: usize = 4;

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

const MORE_HEADING: &str = "## More\n";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextQuery {
    pub project: Option<String>,
    pub session: Option<String>,
    pub tags: Vec<String>,
    /// Types in the relevant tier; all if empty.
    pub types: Vec<MemoryType>,
    pub near: Vec<Near>,
    pub budget_tokens: u32,
    pub form: Form,
    pub tiers: BTreeSet<Tier>,
    pub outcomes_limit: u32,
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
            now,
        }
    }

    /// Memories of one tier that compete for the budget; the rest are only counted. None is smaller than 16 tokens.
    fn candidates_max(&self) -> usize {
        (self.budget_tokens as usize / 16).clamp(64, 1_024)
    }

    fn check(&self) -> Result<()> {
        if self.budget_tokens == 0 {
            return Err(Error::Unbounded);
        }
        at_most("budget_tokens", Some(self.budget_tokens), BUDGET_TOKENS_MAX)?;
        at_most("outcomes_limit", Some(self.outcomes_limit), FIND_LIMIT_MAX)?;
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
    /// One line.
    pub text: String,
    /// Of its bullet, URI included.
    pub tokens: u32,
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

struct Candidate {
    tier: Tier,
    row: Row,
    score: u32,
    /// A hard constraint.
    must: bool,
    /// Ascending: better first inside the tier.
    rank: (u8, Reverse<u32>, i128),
}

/// Gathers, ranks and trims. `roots` are the overall root and the journal size of the view's state.
pub fn context(
    view: &View<'_>,
    gate: Option<&dyn Gate>,
    actor: &ActorName,
    query: &ContextQuery,
    roots: (Digest, u64),
) -> Result<Bundle> {
    query.check()?;
    let lens = Lens::new(view, gate, None, query.now)?;
    let mut gather = Gather {
        lens: &lens,
        query,
        near: query.near.iter().map(|near| (near.id, near.similarity)).collect(),
        rows: 0,
        capped: false,
        taken: BTreeSet::new(),
        found: [Vec::new(), Vec::new(), Vec::new()],
        dropped: 0,
    };
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
    for mut tier in found {
        tier.sort_by_key(|candidate| candidate.rank);
        let must = tier.iter().filter(|candidate| candidate.must).count();
        let keep = tier.len().min(query.candidates_max().max(must));
        dropped += tier.len() - keep;
        tier.truncate(keep);
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
        rows_examined,
        capped,
    };
    fill(&lens, actor, query, candidates, dropped, &mut bundle)?;
    Ok(bundle)
}

struct Gather<'a> {
    lens: &'a Lens<'a>,
    query: &'a ContextQuery,
    near: BTreeMap<MemoryId, u32>,
    rows: u32,
    capped: bool,
    /// Memories that a tier has claimed.
    taken: BTreeSet<MemoryId>,
    /// By tier.
    found: [Vec<Candidate>; 3],
    dropped: usize,
}

impl Gather<'_> {
    /// Visits rows that may be shown, newest first, until `visit` has enough or `max` rows were examined.
    fn each(
        &mut self,
        prefixes: Vec<Vec<u8>>,
        max: u32,
        mut visit: impl FnMut(&mut Self, Row) -> Result<bool>,
    ) -> Result<()> {
        let mut ids = Ids::newest(self.lens.view, prefixes);
        let mut rows = 0;
        while let Some(id) = ids.next()? {
            if rows == max {
                self.capped = true;
                break;
            }
            rows += 1;
            if let Some(row) = self.shown(id)?
                && !visit(self, row)?
            {
                break;
            }
        }
        Ok(())
    }

    fn shown(&mut self, id: MemoryId) -> Result<Option<Row>> {
        let Some(head) = self.lens.view.head(id)? else { return Ok(None) };
        // Rows a delegate cannot see are not counted, so that their number stays unknown.
        self.rows += u32::from(self.lens.sees(&head));
        if !self.query.concerns(&head) || self.taken.contains(&id) {
            return Ok(None);
        }
        Ok(self.lens.row_of(head)?.filter(|row| row.standing.is_shown()))
    }

    fn take(&mut self, tier: Tier, row: Row, group: u8) {
        let id = row.head.id;
        self.taken.insert(id);
        let superseded = row.standing == Standing::Superseded;
        let mut score = self.lens.salience(&row, self.near.get(&id).copied());
        let must = tier == Tier::Pinned && group == 0;
        let rank = match tier {
            Tier::Outcomes => (0, Reverse(0), -i128::from(id.get())),
            // What is superseded comes after all that is not, but a hard constraint stays one until it is taken back.
            _ => (group + if superseded && !must { 100 } else { 0 }, Reverse(score), id.get().into()),
        };
        if tier == Tier::Pinned {
            score = score.max(PINNED_FLOOR);
        }
        let found = &mut self.found[tier as usize];
        found.push(Candidate { tier, row, score, must, rank });
        let max = self.query.candidates_max();
        if tier == Tier::Relevant && found.len() >= 2 * max {
            found.sort_by_key(|candidate| candidate.rank);
            self.dropped += found.len() - max;
            found.truncate(max);
        }
    }

    fn pinned(&mut self) -> Result<()> {
        for memory_type in MemoryType::ALL {
            let max = match memory_type {
                MemoryType::Constraint => ROWS_EXAMINED_MAX,
                MemoryType::Identity | MemoryType::Goal => STEP_ROWS_MAX,
                _ => {
                    self.pins(memory_type)?;
                    continue;
                }
            };
            self.each(vec![keys::by_type(memory_type)], max, |gather, row| {
                let body = gather.lens.body(&row)?;
                // Hard constraints first, then who, then what for, then the rest.
                let group = match rule(body.as_ref()) {
                    Some(MemoryType::Constraint) => 0,
                    _ if memory_type == MemoryType::Identity => 1,
                    Some(_) => 2,
                    None if row.head.pinned => 3,
                    None => return Ok(true),
                };
                gather.take(Tier::Pinned, row, group);
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// Pinned memories among the newest of a type. Only heads are read for those that are not.
    fn pins(&mut self, memory_type: MemoryType) -> Result<()> {
        let mut ids = Ids::newest(self.lens.view, vec![keys::by_type(memory_type)]);
        for _ in 0..PIN_ROWS_MAX {
            let Some(id) = ids.next()? else { return Ok(()) };
            if self.lens.view.head(id)?.is_some_and(|head| head.pinned)
                && let Some(row) = self.shown(id)?
            {
                self.take(Tier::Pinned, row, 3);
            }
        }
        Ok(())
    }

    /// The limit counts what passed every filter.
    fn outcomes(&mut self) -> Result<()> {
        let mut left = self.query.outcomes_limit;
        if left == 0 {
            return Ok(());
        }
        self.each(vec![keys::by_type(MemoryType::Event)], STEP_ROWS_MAX, |gather, row| {
            gather.take(Tier::Outcomes, row, 0);
            left -= 1;
            Ok(left > 0)
        })
    }

    fn relevant(&mut self) -> Result<()> {
        let query = self.query;
        let pinned_is_first = query.tiers.contains(&Tier::Pinned);
        let sort = |gather: &mut Self, row: Row, group: u8| {
            if row.head.pinned && pinned_is_first {
                gather.take(Tier::Pinned, row, 3);
            } else if query.types.is_empty() || query.types.contains(&row.head.memory_type) {
                gather.take(Tier::Relevant, row, group);
            }
        };
        let near: Vec<MemoryId> = self.near.keys().copied().collect();
        for id in near {
            if let Some(row) = self.shown(id)? {
                sort(self, row, 0);
            }
        }
        let mut focus: Vec<Vec<u8>> = query.tags.iter().map(|tag| keys::by_tag(tag)).collect();
        focus.extend(query.session.as_ref().map(|session| keys::by_session(session)));
        let mut around: Vec<Vec<u8>> = Vec::new();
        around.extend(query.project.as_ref().map(|project| keys::by_project(project)));
        if focus.is_empty() && around.is_empty() && query.near.is_empty() {
            // Nothing to go by: the newest of everything.
            around.extend(MemoryType::ALL.map(keys::by_type));
        }
        for (group, prefixes) in [(0, focus), (1, around)] {
            self.each(prefixes, STEP_ROWS_MAX, |gather, row| {
                sort(gather, row, group);
                Ok(true)
            })?;
        }
        Ok(())
    }
}

/// Chooses within the budget and writes the text.
fn fill(
    lens: &Lens<'_>,
    actor: &ActorName,
    query: &ContextQuery,
    candidates: Vec<Candidate>,
    dropped: usize,
    bundle: &mut Bundle,
) -> Result<()> {
    let budget = query.budget_tokens as usize * BYTES_PER_TOKEN;
    // Headings and the longest footer are set aside first.
    let frame = Tier::ALL.iter().map(|tier| tier.heading().len() + 1).sum::<usize>()
        + footer(bundle, u32::MAX, u32::MAX).len();
    let mut items = Vec::with_capacity(candidates.len());
    for candidate in &candidates {
        items.push(item(lens, actor, query.form, candidate)?);
    }
    let sizes: Vec<usize> = items.iter().map(|item| bullet(item).len()).collect();
    let musts: usize = (0..items.len()).filter(|i| candidates[*i].must).map(|i| sizes[i]).sum();
    if frame + musts > budget {
        return Err(Error::BudgetUnreachable {
            needed: ((frame + musts).div_ceil(BYTES_PER_TOKEN)) as u64,
            budget: query.budget_tokens.into(),
        });
    }
    let room = budget - frame;
    let mut left = room - musts;
    let mut chosen: Vec<bool> = candidates.iter().map(|candidate| candidate.must).collect();
    for (tier, share) in Tier::ALL.into_iter().zip(SHARES) {
        let mut own = room * share / 100;
        if tier == Tier::Pinned {
            own = own.saturating_sub(musts);
        }
        own = own.min(left);
        for i in (0..items.len()).filter(|i| candidates[*i].tier == tier) {
            let size = sizes[i];
            if !chosen[i] && size <= own {
                (own, left, chosen[i]) = (own - size, left - size, true);
            }
        }
    }
    // What is left over goes to the best of the rest; what still does not fit is listed in the same order.
    let mut rest: Vec<usize> = (0..items.len()).filter(|i| !chosen[*i]).collect();
    rest.sort_by_key(|i| {
        let candidate = &candidates[*i];
        let superseded = candidate.row.standing == Standing::Superseded;
        (candidate.tier != Tier::Pinned, superseded, Reverse(candidate.score), candidate.row.head.id)
    });
    rest.retain(|i| {
        let size = sizes[*i];
        if size <= left {
            (left, chosen[*i]) = (left - size, true);
        }
        !chosen[*i]
    });
    bundle.trimmed = u32::try_from(rest.len() + dropped).unwrap_or(u32::MAX);
    bundle.overflow = rest.iter().take(OVERFLOW_MAX).map(|i| items[*i].uri.clone()).collect();
    for ((candidate, item), chosen) in candidates.iter().zip(items).zip(chosen) {
        match candidate.tier {
            _ if !chosen => {}
            Tier::Pinned => bundle.pinned.push(item),
            Tier::Relevant => bundle.relevant.push(item),
            Tier::Outcomes => bundle.outcomes.push(item),
        }
    }
    write(bundle, left);
    Ok(())
}

fn item(
    lens: &Lens<'_>,
    actor: &ActorName,
    form: Form,
    candidate: &Candidate,
) -> Result<BundleItem> {
    let row = &candidate.row;
    let mut labels = Vec::new();
    let list = |ids: &[MemoryId]| ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ");
    if !row.superseded_by.is_empty() {
        labels.push(format!("[superseded by {}] ", list(&row.superseded_by)));
    }
    let contradicting = lens.contradicted_by(row.head.id)?;
    if !contradicting.is_empty() {
        labels.push(format!("[contradicted by {}] ", list(&contradicting)));
    }
    let body = lens.body(row)?;
    let text = forms::one_line(&forms::render(&row.head, &row.version, body.as_ref(), form));
    let mut item = BundleItem {
        uri: Uri {
            actor: actor.clone(),
            memory_type: row.head.memory_type,
            id: row.head.id,
            version: row.version.n,
        },
        score: candidate.score,
        standing: row.standing,
        text: labels.concat() + &text,
        tokens: 0,
    };
    item.tokens = forms::tokens(&bullet(&item));
    Ok(item)
}

fn bullet(item: &BundleItem) -> String {
    format!("- {} — {}\n", item.uri, item.text)
}

fn footer(bundle: &Bundle, tokens: u32, trimmed: u32) -> String {
    format!("root {} size {}; {tokens} tokens; {trimmed} left out\n", bundle.root, bundle.size)
}

/// Writes the sections that hold something, in their order, then the footer.
fn write(bundle: &mut Bundle, mut left: usize) {
    let mut text = String::new();
    let tiers = [&bundle.pinned, &bundle.relevant, &bundle.outcomes];
    for (tier, items) in Tier::ALL.into_iter().zip(tiers) {
        if items.is_empty() {
            // Its heading was set aside in vain.
            left += tier.heading().len() + 1;
            continue;
        }
        text.push_str(tier.heading());
        items.iter().for_each(|item| text.push_str(&bullet(item)));
        text.push('\n');
    }
    let mut more = String::new();
    for uri in &bundle.overflow {
        let line = format!("- {uri}\n");
        if MORE_HEADING.len() + more.len() + line.len() + 1 > left {
            break;
        }
        more.push_str(&line);
    }
    if !more.is_empty() {
        text.push_str(MORE_HEADING);
        text.push_str(&more);
        text.push('\n');
    }
    bundle.tokens = forms::tokens(&text);
    text.push_str(&footer(bundle, bundle.tokens, bundle.trimmed));
    bundle.digest = Digest::of("cortex/bundle/1", &[text.as_bytes()]);
    bundle.text = text;
}
