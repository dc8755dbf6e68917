//! What a bulletin is made of: one `memory_recall` per dimension, without what is stale, finished or faint.
//!
//! What must stay true: a forgotten memory or one the audience may not see is never in here; a memory is in one
//! section only.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use api::render::untrusted;
use kernel::Reading;
use kernel::context::RuleAuthors;
use kernel::find::MemoryReader;
use kernel::grants::Gate;
use kernel::memory::{
    DecisionStatus, Fields, GoalStatus, Head, MemoryId, MemoryType, Millis, PAGE_KIND, Usage,
};
use kernel::render::one_line;
use kernel::store::View;

use super::dimension::Dimension;
use super::input::{BulletinInput, InputItem, InputSection, hash_of};
use super::phrase::{phrase, within};
use super::{relations, work};
use crate::audience::{Audience, trust};
use crate::error::Result;
use crate::fading::{Fading, KEPT_TAG};
use crate::memory_recall::{LIMIT_MAX, ListCandidates, RecallAnswer, RecallHit, recall_among};
use crate::proposal::DueMemory;
use crate::settings::{BulletinSettings, days_ms, ppm};

/// Words of a memory's content that a model gets.
const DETAIL_WORDS: usize = 60;
/// Memories that are named as about to be put away.
const DUE_SHOWN: usize = 3;
/// Words of each of their titles.
const DUE_WORDS: usize = 10;

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
            if item.text.is_empty() || !self.said.insert(text::analyze::fold(&item.text)) {
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
