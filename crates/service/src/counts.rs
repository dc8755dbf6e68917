//! How a memory grew: memories by day and by tag.
//!
//! What must stay true: what a caller may not see is in no number; every day of the span is there, also an empty one.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use api::counts::{
    COUNTED_DAYS_MAX, CountsAnswer, CountsRequest, DAY_GROUPS_MAX, DayCount, DayGroup,
    OFFSET_MINUTES_MAX, TAGS_MAX, TagCount, TagListAnswer, TagListRequest,
};
use kernel::grants::Permission;
use kernel::keys::{self, Index};
use kernel::memory::{Head, MemoryType, Millis};

use crate::access::ActorAccess;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::{Service, views};

const DAY_MS: i64 = 86_400_000;
const MINUTE_MS: i64 = 60_000;
const DAYS_DEFAULT: u32 = 90;
const TAGS_DEFAULT: usize = 100;

impl Service {
    /// Memories in sight, by the day on which they were saved.
    pub fn counts(&self, caller: &Caller, request: CountsRequest) -> Result<CountsAnswer> {
        let days = request.days.unwrap_or(DAYS_DEFAULT);
        if !(1..=COUNTED_DAYS_MAX).contains(&days) {
            return Err(Error::invalid(
                "days",
                format!("must lie between 1 and {COUNTED_DAYS_MAX}"),
            ));
        }
        if request.offset_minutes.abs() > OFFSET_MINUTES_MAX {
            let reason = format!("must lie within {OFFSET_MINUTES_MAX} minutes");
            return Err(Error::invalid("offset_minutes", reason));
        }
        let offset = i64::from(request.offset_minutes) * MINUTE_MS;
        let day_of = |at: Millis| at.0.saturating_add(offset).div_euclid(DAY_MS);
        let last = day_of(caller.now()?);
        let first = last - i64::from(days) + 1;
        let access = self.access(caller, Permission::Find, &request)?;
        let mut counted: BTreeMap<i64, DayCount> =
            (first..=last).map(|day| (day, empty_day(day))).collect();
        let (mut before, mut total) = (0, 0);
        let mut groups: BTreeMap<(String, String), DayGroup> = BTreeMap::new();
        let view = access.reading.view();
        self.each_in_sight(caller, &access, request.project.as_deref(), &mut |head| {
            total += 1;
            let day = day_of(head.created);
            // A clock that went back leaves memories of tomorrow; they are today's.
            let Some(count) = counted.get_mut(&day.min(last)) else {
                before += 1;
                return Ok(());
            };
            count.saved += 1;
            *count.by_kind.entry(head.kind.clone()).or_default() += 1;
            if day >= last {
                let by = view.version(head.id, head.version)?.map(|version| version.by);
                let by = by.unwrap_or_default();
                let project = head.project.clone().unwrap_or_default();
                let group = groups
                    .entry((by.clone(), project.clone()))
                    .or_insert_with(|| DayGroup { by, project, ..DayGroup::default() });
                group.saved += 1;
                *group.by_kind.entry(head.kind.clone()).or_default() += 1;
            }
            Ok(())
        })?;
        let mut last_day: Vec<DayGroup> = groups.into_values().collect();
        last_day.sort_by(|a, b| b.saved.cmp(&a.saved).then(a.by.cmp(&b.by)));
        last_day.truncate(DAY_GROUPS_MAX);
        Ok(CountsAnswer { days: counted.into_values().collect(), before, total, last_day })
    }

    /// The tags of memories in sight, the most used first.
    pub fn tag_list(&self, caller: &Caller, request: TagListRequest) -> Result<TagListAnswer> {
        let limit = request.limit.unwrap_or(TAGS_DEFAULT);
        if !(1..=TAGS_MAX).contains(&limit) {
            return Err(Error::invalid("limit", format!("must lie between 1 and {TAGS_MAX}")));
        }
        let access = self.access(caller, Permission::Find, &request)?;
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        self.each_in_sight(caller, &access, request.project.as_deref(), &mut |head| {
            for tag in &head.tags {
                *found.entry(tag.clone()).or_default() += 1;
            }
            Ok(())
        })?;
        let total = found.len();
        let mut tags: Vec<TagCount> =
            found.into_iter().map(|(tag, memories)| TagCount { tag, memories }).collect();
        tags.sort_by(|a, b| b.memories.cmp(&a.memories).then(a.tag.cmp(&b.tag)));
        tags.truncate(limit);
        Ok(TagListAnswer { tags, total })
    }

    /// Every memory that is neither archived nor forgotten and that the caller may see.
    fn each_in_sight(
        &self,
        caller: &Caller,
        access: &ActorAccess,
        project: Option<&str>,
        look: &mut dyn FnMut(&Head) -> kernel::Result<()>,
    ) -> Result<()> {
        let view = access.reading.view();
        let project = self.read_project(caller, project, false);
        let indexes: Vec<Index> = match &project {
            Some(project) => vec![keys::by_project(project)],
            None => MemoryType::ALL.iter().map(|t| keys::by_type(*t)).collect(),
        };
        for index in &indexes {
            view.scan_index(index, None, true, &mut |id| {
                let head = view.required_head(id)?;
                if views::is_live(&head) && access.sees(&head) {
                    look(&head)?;
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }
}

fn empty_day(day: i64) -> DayCount {
    DayCount { day: Millis(day.saturating_mul(DAY_MS)).date(), ..DayCount::default() }
}
