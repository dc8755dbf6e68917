//! What a bulletin is made of: one `memory_recall` per dimension, without what is stale, finished or faint.
//!
//! What must stay true: a forgotten memory or one the audience may not see is never in here; a memory is in one
//! section only; the hash depends on which memories were chosen at which version, and on nothing that changes by
//! waiting alone.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use api::render::untrusted;
use kernel::context::RuleAuthors;
use kernel::find::MemoryReader;
use kernel::grants::Gate;
use kernel::memory::{
    DecisionStatus, Fields, GoalStatus, Head, MemoryId, MemoryType, Millis, PAGE_KIND, Usage,
};
use kernel::render::one_line;
use kernel::salience::Ppm;
use kernel::store::View;
use kernel::{Digest, Reading};
use serde::{Deserialize, Serialize};

use super::page::PageSubject;
use super::phrase::{phrase, within};
use super::render::BulletinLine;
use super::{relations, work};
use crate::audience::{Audience, Trust, trust};
use crate::error::Result;
use crate::fading::{Fading, KEPT_TAG};
use crate::memory_recall::{
    LIMIT_MAX, ListCandidates, RecallAnswer, RecallHit, RecallMode, RecallRequest, SortBy,
    recall_among,
};
use crate::proposal::DueMemory;
use crate::settings::{BulletinSettings, days_ms, ppm};

/// Words of a memory's content that a model gets.
const DETAIL_WORDS: usize = 60;
/// Memories that are named as about to be put away.
const DUE_SHOWN: usize = 3;
/// Words of each of their titles.
const DUE_WORDS: usize = 10;

/// What a bulletin speaks of, in the order in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    Identity,
    RecentActivity,
    /// Where work stopped, and the next steps.
    Work,
    Goals,
    Constraints,
    /// Rules and preferences that no person stated or confirmed.
    Proposed,
    Decisions,
    Preferences,
    Patterns,
    Knowledge,
    /// What happened, in answer to a question that stands.
    Happened,
    /// What changed since the reader was last here.
    Changed,
    /// What is about to be put away.
    Due,
}

impl Dimension {
    pub const ALL: [Dimension; 13] = [
        Dimension::Identity,
        Dimension::RecentActivity,
        Dimension::Work,
        Dimension::Goals,
        Dimension::Constraints,
        Dimension::Proposed,
        Dimension::Decisions,
        Dimension::Preferences,
        Dimension::Patterns,
        Dimension::Knowledge,
        Dimension::Happened,
        Dimension::Changed,
        Dimension::Due,
    ];

    /// True unless only a page speaks of it.
    pub fn is_of_bulletin(self) -> bool {
        self != Dimension::Happened
    }

    /// True if a model may word it. Who somebody is, what binds, where work stands and what will be put away is always
    /// said in the program's own words.
    pub fn is_for_model(self) -> bool {
        !matches!(
            self,
            Dimension::Identity
                | Dimension::Constraints
                | Dimension::Proposed
                | Dimension::Work
                | Dimension::Due
        )
    }

    pub fn heading(self) -> &'static str {
        match self {
            Dimension::Identity => "Identity",
            Dimension::RecentActivity => "Recent Activity",
            Dimension::Goals => "Active Goals",
            Dimension::Constraints => "Rules",
            Dimension::Proposed => "Proposed rules (not confirmed by a person)",
            Dimension::Decisions => "Decisions",
            Dimension::Preferences => "Preferences",
            Dimension::Patterns => "Patterns",
            Dimension::Knowledge => "Worth Knowing",
            Dimension::Happened => "What Happened",
            Dimension::Work => "Where Work Stopped",
            Dimension::Changed => "Changed Since You Were Here",
            Dimension::Due => "About To Be Put Away",
        }
    }

    /// The question asked for it.
    pub fn request(self, limit: usize) -> RecallRequest {
        let typed = |t| RecallRequest::typed(t, SortBy::Importance, limit);
        match self {
            Dimension::Identity => typed(MemoryType::Identity),
            Dimension::RecentActivity | Dimension::Work | Dimension::Happened => RecallRequest {
                memory_types: vec!["event".into()],
                mode: RecallMode::Recent,
                limit,
                ..RecallRequest::default()
            },
            Dimension::Goals => typed(MemoryType::Goal),
            Dimension::Constraints => typed(MemoryType::Constraint),
            Dimension::Proposed => RecallRequest {
                memory_types: vec!["constraint".into(), "preference".into()],
                ..typed(MemoryType::Constraint)
            },
            Dimension::Decisions => typed(MemoryType::Decision),
            Dimension::Preferences => typed(MemoryType::Preference),
            Dimension::Patterns => typed(MemoryType::Pattern),
            Dimension::Changed | Dimension::Due => {
                RecallRequest { mode: RecallMode::Recent, limit, ..RecallRequest::default() }
            }
            Dimension::Knowledge => RecallRequest {
                memory_types: vec!["fact".into()],
                mode: RecallMode::Important,
                limit,
                ..RecallRequest::default()
            },
        }
    }
}

/// One memory, ready to be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputItem {
    pub id: u64,
    pub version: u32,
    /// The journal entry that last changed it.
    pub seq: u64,
    pub kind: String,
    /// The sentence, on one line.
    pub text: String,
    pub importance: Ppm,
    pub trust: Trust,
    /// Empty if it is about none.
    pub project: String,
    /// When it happened or began to hold.
    pub date: String,
    /// How it ended, what it contradicts, how many say the same.
    pub note: Option<String>,
    /// The beginning of its content, for a model.
    pub detail: String,
    /// Other memories that the line speaks of.
    pub also: Vec<u64>,
    /// Relations it is in.
    pub links: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSection {
    pub dimension: Dimension,
    pub items: Vec<InputItem>,
    /// How many memories there were to choose from.
    pub found: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulletinInput {
    pub audience: Audience,
    /// What a page answers; absent for a bulletin.
    pub subject: Option<PageSubject>,
    /// Sections without lines are left out.
    pub sections: Vec<InputSection>,
    /// Journal entries at the time.
    pub size: u64,
    /// Hash of the ids and versions in their sections.
    pub hash: String,
    /// Some memories were too old to be looked at.
    pub capped: bool,
}

impl BulletinInput {
    pub fn items(&self) -> impl Iterator<Item = &InputItem> {
        self.sections.iter().flat_map(|section| &section.items)
    }

    /// Those that a model may word.
    pub fn model_items(&self) -> impl Iterator<Item = &InputItem> {
        let sections = self.sections.iter().filter(|section| section.dimension.is_for_model());
        sections.flat_map(|section| &section.items)
    }

    pub fn ids(&self) -> BTreeSet<u64> {
        self.items().flat_map(|item| std::iter::once(item.id).chain(item.also.clone())).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// True unless a line would say under another heading what is only proposed.
    pub(super) fn may_say(&self, heading: &str, line: &BulletinLine) -> bool {
        let proposed = |section: &&InputSection| section.dimension == Dimension::Proposed;
        let mut items = self.sections.iter().filter(proposed).flat_map(|section| &section.items);
        heading == Dimension::Proposed.heading() || !items.any(|item| line.cites.contains(&item.id))
    }
}

/// For whom and from what a bulletin is gathered.
#[derive(Clone, Copy)]
pub struct GatherRequest<'a> {
    pub audience: &'a Audience,
    /// Which memories concern whoever reads it; absent: those of all projects.
    pub concerns: Option<&'a dyn Fn(&Head) -> bool>,
    /// Names of the project that the reader works on: its memories are looked at however old.
    pub projects: &'a [String],
    pub settings: &'a BulletinSettings,
    pub fading: &'a Fading,
    pub rules: RuleAuthors,
    /// What is about to be put away, the next first.
    pub due: &'a [DueMemory],
    /// When the reader was last here: what changed since is said too.
    pub since: Option<Millis>,
    pub now: Millis,
}

impl std::fmt::Debug for GatherRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("GatherRequest");
        shown.field("audience", self.audience).field("since", &self.since).field("now", &self.now);
        shown.finish_non_exhaustive()
    }
}

/// The audience, and only what concerns the reader.
pub(super) struct Sight<'a> {
    audience: &'a Audience,
    concerns: Option<&'a dyn Fn(&Head) -> bool>,
}

impl Gate for Sight<'_> {
    fn sees(&self, head: &Head) -> bool {
        self.audience.sees(head) && self.concerns.is_none_or(|concerns| concerns(head))
    }
}

/// Asks every dimension. More is asked for than is kept, because some of it is left out afterwards.
pub fn gather(reading: &Reading, request: GatherRequest<'_>) -> Result<BulletinInput> {
    let view = reading.view();
    let size = view.counters()?.size;
    let among = ListCandidates::newest(&view, &MemoryType::ALL, request.projects)?;
    let mut gathering = Gathering::new(reading, request, among);
    let mut sections = Vec::new();
    for dimension in Dimension::ALL.into_iter().filter(|dimension| dimension.is_of_bulletin()) {
        let (items, found) = match dimension {
            Dimension::Due => gathering.due()?,
            Dimension::Changed if request.since.is_none() => continue,
            _ => gathering.asked(reading, dimension)?,
        };
        if !items.is_empty() {
            sections.push(InputSection { dimension, items, found });
        }
    }
    let (hash, capped) = (hash_of(&sections), gathering.capped);
    let audience = request.audience.clone();
    Ok(BulletinInput { audience, subject: None, sections, size, hash, capped })
}

pub(super) struct Gathering<'a> {
    pub(super) view: View<'a>,
    pub(super) request: GatherRequest<'a>,
    pub(super) sight: Sight<'a>,
    among: ListCandidates,
    limit: usize,
    /// Texts that stand in a section already.
    pub(super) said: BTreeSet<String>,
    ids: BTreeSet<u64>,
    capped: bool,
}

impl<'a> Gathering<'a> {
    /// What lists are made of is `among`; who asks for none needs none.
    pub(super) fn new(
        reading: &'a Reading,
        request: GatherRequest<'a>,
        among: ListCandidates,
    ) -> Gathering<'a> {
        Gathering {
            view: reading.view(),
            request,
            among,
            sight: Sight { audience: request.audience, concerns: request.concerns },
            limit: request.settings.section_limit.min(LIMIT_MAX),
            said: BTreeSet::new(),
            ids: BTreeSet::new(),
            capped: false,
        }
    }

    fn asked(
        &mut self,
        reading: &Reading,
        dimension: Dimension,
    ) -> Result<(Vec<InputItem>, usize)> {
        let GatherRequest { settings, fading, rules, now, .. } = self.request;
        let asked = match dimension {
            // Proposals must not keep what persons said out of the memories that are looked at, nor one kind of event
            // the others.
            Dimension::Constraints
            | Dimension::Preferences
            | Dimension::Proposed
            | Dimension::Work
            | Dimension::RecentActivity
            | Dimension::Knowledge => LIMIT_MAX,
            _ => (2 * self.limit).min(LIMIT_MAX),
        };
        let request = dimension.request(asked);
        let RecallAnswer { mut memories, found, capped } =
            recall_among(reading, &self.sight, &request, &self.among, fading, now)?;
        self.capped |= capped;
        if dimension == Dimension::Knowledge {
            // What is used and linked is worth more than what merely came last.
            let mut weighed = Vec::new();
            for memory in memories {
                let worth = worth(&self.usage(&memory)?);
                weighed.push((u64::from(memory.importance) * (10 + worth) / 10, memory));
            }
            weighed.sort_by_key(|(weight, memory)| (Reverse(*weight), Reverse(memory.id())));
            memories = weighed.into_iter().map(|(_, memory)| memory).collect();
        }
        let mut items: Vec<InputItem> = Vec::new();
        for memory in memories {
            if items.len() >= self.limit {
                break;
            }
            let proposed = rules.is_proposed(&memory.head, &memory.version);
            if !belongs(dimension, &memory, proposed, self.request.since)
                || !is_news(&memory, dimension, settings, now)
                || (dimension == Dimension::Changed && self.ids.contains(&memory.id().get()))
            {
                continue;
            }
            if dimension == Dimension::Work {
                self.work(&memory, &mut items)?;
                continue;
            }
            let (text, note) = phrase(&memory);
            let mut item = self.item(&memory, &text, note)?;
            relations::replaced(&self.view, &self.sight, &memory, &mut item)?;
            if relations::join_alike(&mut items, &item) {
                self.ids.insert(item.id);
                continue;
            }
            // Two memories that would read the same take one line.
            if item.text.is_empty() || !self.said.insert(recall::analyze::fold(&item.text)) {
                continue;
            }
            self.ids.insert(item.id);
            items.push(item);
        }
        relations::put_contradictions_together(&self.view, &mut items)?;
        Ok((items, found))
    }

    /// How a memory is used and linked. Behind a gate a row counts no relations, because they may lead to what is
    /// hidden; from its owner nothing is.
    fn usage(&self, memory: &RecallHit) -> Result<Usage> {
        match self.request.audience {
            Audience::Owner => Ok(self.view.usage(memory.id())?),
            Audience::Shared => Ok(memory.usage.clone()),
        }
    }

    /// Where a session stopped, and what its summary says comes next.
    fn work(&mut self, memory: &RecallHit, items: &mut Vec<InputItem>) -> Result<()> {
        let project = memory.head.project.clone().unwrap_or_default();
        if items.iter().any(|item| item.project == project) {
            // Only the newest summary of a project tells where work stands.
            return Ok(());
        }
        for line in work::lines(&memory.body) {
            if items.len() < self.limit {
                let item = self.item(memory, &line, None)?;
                self.ids.insert(item.id);
                items.push(item);
            }
        }
        Ok(())
    }

    pub(super) fn item(
        &self,
        memory: &RecallHit,
        text: &str,
        note: Option<String>,
    ) -> Result<InputItem> {
        let RecallHit { head, version, body, .. } = memory;
        Ok(InputItem {
            id: head.id.get(),
            version: version.n,
            seq: head.seq,
            kind: head.kind.clone(),
            importance: memory.importance,
            trust: trust(&self.view, version)?,
            project: untrusted::line(head.project.as_deref().unwrap_or_default()),
            date: happened(memory).date(),
            note,
            detail: untrusted::line(&within(&one_line(&body.content), DETAIL_WORDS)),
            text: untrusted::line(text),
            also: Vec::new(),
            links: links(&self.usage(memory)?),
        })
    }

    /// What is about to be put away, with what keeps it.
    fn due(&mut self) -> Result<(Vec<InputItem>, usize)> {
        let lens = MemoryReader::new(&self.view, Some(&self.sight), None, self.request.now)?;
        let (mut items, mut found) = (Vec::new(), 0);
        for due in self.request.due {
            let Some(id) = MemoryId::new(due.id) else { continue };
            let Some(row) = lens.row(id)?.filter(|row| row.standing.is_shown()) else { continue };
            // What is due was found some time ago; since then somebody may have kept it.
            if row.head.pinned || row.head.tags.iter().any(|tag| tag == KEPT_TAG) {
                continue;
            }
            found += 1;
            if items.len() == DUE_SHOWN {
                continue;
            }
            let Some(body) = lens.body(&row)? else { continue };
            let title = within(&one_line(&body.title), DUE_WORDS);
            let when = match due.days_left {
                0 => "with the next maintenance".to_owned(),
                1 => "after 1 more active day".to_owned(),
                days => format!("after {days} more active days"),
            };
            let text = format!("{title}, {when}; `cortex mind keep {id}` keeps it");
            items.push(InputItem {
                id: due.id,
                version: row.version.n,
                seq: row.head.seq,
                kind: row.head.kind.clone(),
                importance: row.head.importance,
                trust: trust(&self.view, &row.version)?,
                project: untrusted::line(row.head.project.as_deref().unwrap_or_default()),
                date: row.head.created.date(),
                note: None,
                detail: String::new(),
                text: untrusted::line(&text),
                also: Vec::new(),
                links: links(&row.usage),
            });
        }
        Ok((items, found))
    }
}

/// How much a memory is used and linked.
fn worth(usage: &Usage) -> u64 {
    usage.accesses.min(20) + (2 * usage.citations).min(20) + links(usage).min(10)
}

fn links(usage: &Usage) -> u64 {
    u64::from(usage.edges_in) + u64::from(usage.edges_out)
}

/// When what a memory says happened or began to hold.
pub(super) fn happened(memory: &RecallHit) -> Millis {
    let told = match &memory.body.fields {
        Fields::Event(event) => event.happened_at,
        _ => None,
    };
    told.or(memory.version.valid_from).unwrap_or(memory.version.created)
}

/// Whether a dimension speaks of such a memory: of rules that are proposed or of those that hold, of summaries of
/// sessions or of other events, of what changed or of everything.
fn belongs(
    dimension: Dimension,
    memory: &RecallHit,
    proposed: bool,
    since: Option<Millis>,
) -> bool {
    let summary = memory.head.kind == work::KIND;
    match dimension {
        Dimension::Proposed => proposed,
        Dimension::Constraints | Dimension::Preferences => !proposed,
        Dimension::Work => summary,
        Dimension::RecentActivity => !summary,
        Dimension::Changed => {
            let is_page = memory.head.kind == PAGE_KIND;
            !summary && !is_page && since.is_some_and(|since| memory.head.updated > since)
        }
        _ => true,
    }
}

/// True unless something newer replaced the memory, it is finished, an old event, or hardly matters.
fn is_news(
    memory: &RecallHit,
    dimension: Dimension,
    settings: &BulletinSettings,
    now: Millis,
) -> bool {
    let open = match &memory.body.fields {
        Fields::Goal(goal) => matches!(goal.status, GoalStatus::Active | GoalStatus::Paused),
        Fields::Decision(decision) => {
            matches!(decision.status, DecisionStatus::Accepted | DecisionStatus::Proposed)
        }
        // Where work stopped is worth knowing however long ago that was.
        Fields::Event(_) if dimension == Dimension::Work => true,
        Fields::Event(event) => {
            let at = event.happened_at.unwrap_or(memory.head.created);
            now.get() - at.get() <= days_ms(settings.recent_days)
        }
        _ => true,
    };
    open && memory.standing == kernel::find::Standing::Current
        // What has faded ranks lower and is still said where there is room.
        && memory.head.importance >= ppm(settings.min_importance)
}

pub(super) fn hash_of(sections: &[InputSection]) -> String {
    let mut bytes = Vec::new();
    for section in sections {
        bytes.extend(section.dimension.heading().bytes());
        bytes.push(0);
        // Importance fades by itself and reorders a section. The hash ignores the order, because the same lines are
        // said.
        let mut items: Vec<(u64, u32, &[u64])> =
            section.items.iter().map(|i| (i.id, i.version, i.also.as_slice())).collect();
        items.sort_unstable();
        for (id, version, also) in items {
            bytes.extend(id.to_be_bytes());
            bytes.extend(version.to_be_bytes());
            also.iter().for_each(|id| bytes.extend(id.to_be_bytes()));
        }
    }
    Digest::of("cortex/bulletin/1", &[&bytes]).to_string()
}
