//! What says the same becomes one: near-duplicates are merged, then what several channels say is reduced to one
//! memory.

use std::collections::{BTreeMap, BTreeSet};

use kernel::find::{MemoryRow, Standing};
use kernel::memory::{MemoryId, MemoryType, PinnedVersion, Relation, Source};
use recall::search::{Hit, SearchQuery, similar};

use super::merge::MergeParent;
use super::{Candidate, MaintenanceState, NEIGHBOURS, Planner, difference, merge};
use crate::error::Result;
use crate::proposal::{BY, MemoryAction};
use crate::settings::{PruneScope, ppm};

impl Planner<'_> {
    /// A merge that was cut short: the new memory is there and replaces its parents, which were not forgotten yet.
    pub(super) fn finish_merges(&mut self, rows: &BTreeMap<MemoryId, Candidate>) {
        for (id, candidate) in rows {
            let row = &candidate.row;
            let into = row.superseded_by.iter().filter_map(|by| rows.get(by)).find(|by| {
                let made = &by.row.version;
                made.by == BY && made.provenance.derived_from.contains(&candidate.pinned())
            });
            let Some(into) = into.filter(|_| row.standing == Standing::Superseded) else {
                continue;
            };
            if !self.taken.contains(id) && !protected(row) {
                let reason = format!("now #{}, which says the same", into.row.head.id);
                self.propose(MemoryAction::Forget(candidate.pinned()), reason);
            }
        }
    }

    /// Merges near-duplicates, then reduces what several channels say to one memory. Only what is new is compared.
    pub(super) fn join(
        &mut self,
        rows: &BTreeMap<MemoryId, Candidate>,
        state: &mut MaintenanceState,
    ) -> Result<()> {
        let merge = ppm(self.settings.merge_similarity_threshold);
        let cross = ppm(self.settings.cross_channel_similarity_threshold);
        if state.thresholds != (merge, cross) {
            state.thresholds = (merge, cross);
            state.compared = 0;
        }
        let max = usize::try_from(self.settings.maintenance_compared_max).unwrap_or(usize::MAX);
        let mut fresh: Vec<&Candidate> = rows
            .values()
            .filter(|candidate| candidate.row.version.seq > state.compared)
            .filter(|candidate| candidate.row.standing.is_shown())
            .collect();
        fresh.sort_by_key(|candidate| candidate.row.version.seq);
        self.plan.left += fresh.len().saturating_sub(max);
        fresh.truncate(max);
        let mut alike = Vec::new();
        for candidate in &fresh {
            let head = &candidate.row.head;
            let query = SearchQuery {
                types: vec![head.memory_type],
                project: head.project.clone(),
                ..SearchQuery::new("", NEIGHBOURS)
            };
            let near = similar(self.reading, None, head.id, &query, self.now)?;
            let least = u64::from(merge.min(cross));
            let near: Vec<Hit> = near.hits.into_iter().filter(|hit| hit.score >= least).collect();
            if !near.is_empty() {
                alike.push((*candidate, near));
            }
        }
        for (candidate, near) in &alike {
            for hit in near.iter().filter(|hit| hit.score >= u64::from(merge)) {
                self.merge_pair(rows, candidate, hit, state)?;
            }
        }
        for (candidate, near) in &alike {
            let near: Vec<&Hit> = near.iter().filter(|hit| hit.score >= u64::from(cross)).collect();
            self.consolidate(rows, candidate, &near, state)?;
        }
        let all = self.plan.left == 0;
        let last = fresh.last().map(|candidate| candidate.row.version.seq);
        state.compared =
            if all { self.reading.view().counters()?.size } else { last.unwrap_or(state.compared) };
        Ok(())
    }

    fn merge_pair(
        &mut self,
        rows: &BTreeMap<MemoryId, Candidate>,
        one: &Candidate,
        hit: &Hit,
        state: &MaintenanceState,
    ) -> Result<()> {
        let Some(two) = rows.get(&hit.id) else { return Ok(()) };
        let crosses = crosses_channels(&one.row, &two.row);
        let (older, newer) =
            if one.row.head.id < two.row.head.id { (one, two) } else { (two, one) };
        if crosses || !self.may_join(older, newer, state)? {
            return Ok(());
        }
        let said = |row: &MemoryRow| -> Result<_> { Ok(self.reading.view().body(&row.version)?) };
        let (Some(a), Some(b)) = (said(&older.row)?, said(&newer.row)?) else { return Ok(()) };
        let ids = [older.row.head.id, newer.row.head.id];
        let alike = format!("{} similar", percent(hit.score));
        let analyzer = recall::language::analyzer(&self.reading.view())?;
        if let Some(difference) = difference(&analyzer, &a, &b) {
            // Two things that happened are two, however alike they read: nobody has to decide about them.
            if older.row.head.memory_type != MemoryType::Event {
                self.suggest(&ids, format!("{alike}, but {difference}"));
            }
        } else if let Some(why) =
            self.not_merged(&older.row).or_else(|| self.not_merged(&newer.row))
        {
            self.suggest(&ids, format!("could be merged: {alike}; {why}"));
        } else {
            let draft = merge::draft(
                MergeParent { row: &older.row, body: &a },
                MergeParent { row: &newer.row, body: &b },
            );
            let parents = [older.pinned(), newer.pinned()];
            let access = merge::access(&older.row.usage, &newer.row.usage);
            self.propose(
                MemoryAction::Merge { draft: Box::new(draft), parents, access },
                format!("#{} and #{} say the same ({alike})", ids[0], ids[1]),
            );
        }
        Ok(())
    }

    /// Why a memory is merged only on request. An import brings what somebody kept elsewhere: a first start leaves it
    /// as it came.
    fn not_merged(&self, row: &MemoryRow) -> Option<&'static str> {
        let imported = row.version.provenance.source == Source::Imported
            && self.settings.prune_scope == PruneScope::Captured;
        match (protected(row), imported) {
            (true, _) => Some("identity and pinned memories are not merged by itself"),
            (_, true) => Some("what was imported is not merged by itself"),
            _ => None,
        }
    }

    /// Same type, scope, project and visibility; neither in another proposal, restored by hand or known to
    /// contradict.
    fn may_join(&self, a: &Candidate, b: &Candidate, state: &MaintenanceState) -> Result<bool> {
        let (one, two) = (&a.row.head, &b.row.head);
        let free = |row: &MemoryRow| {
            !self.taken.contains(&row.head.id)
                && !state.kept.contains(&row.head.id.get())
                && row.standing == Standing::Current
        };
        let topics = match (&one.topic_key, &two.topic_key) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let fits = one.memory_type == two.memory_type
            && one.scope == two.scope
            && one.project == two.project
            && one.visibility == two.visibility
            && topics
            && free(&a.row)
            && free(&b.row);
        let view = self.reading.view();
        Ok(fits
            && view.edge(one.id, Relation::Contradicts, two.id)?.is_none()
            && view.edge(two.id, Relation::Contradicts, one.id)?.is_none())
    }

    fn consolidate(
        &mut self,
        rows: &BTreeMap<MemoryId, Candidate>,
        one: &Candidate,
        near: &[&Hit],
        state: &MaintenanceState,
    ) -> Result<()> {
        let view = self.reading.view();
        let analyzer = recall::language::analyzer(&view)?;
        let Some(said) = view.body(&one.row.version)? else { return Ok(()) };
        let mut cluster = vec![one];
        for hit in near {
            let Some(two) = rows.get(&hit.id).filter(|two| crosses_channels(&one.row, &two.row))
            else {
                continue;
            };
            if !self.may_join(one, two, state)? {
                continue;
            }
            let Some(other) = view.body(&two.row.version)? else { continue };
            let ids = [one.row.head.id, two.row.head.id];
            if let Some(difference) = difference(&analyzer, &said, &other) {
                let happened = one.row.head.memory_type == MemoryType::Event;
                if one.row.head.id > two.row.head.id && !happened {
                    let alike = percent(hit.score);
                    self.suggest(
                        &ids,
                        format!("{alike} similar across channels, but {difference}"),
                    );
                }
            } else {
                cluster.push(two);
            }
        }
        if cluster.len() < 2 {
            return Ok(());
        }
        let ids: Vec<MemoryId> = cluster.iter().map(|member| member.row.head.id).collect();
        if cluster.iter().any(|member| protected(&member.row)) {
            self.taken.extend(ids.iter().copied());
            self.suggest(
                &ids,
                "said in several channels; identity and pinned memories are not reduced by itself"
                    .into(),
            );
            return Ok(());
        }
        // The most important memory of the cluster stays; among equals it is the oldest.
        cluster.sort_by_key(|member| (std::cmp::Reverse(member.importance), member.row.head.id));
        let canonical = cluster[0].pinned();
        let duplicates: Vec<PinnedVersion> =
            cluster[1..].iter().map(|member| member.pinned()).collect();
        let channels: BTreeSet<&str> =
            cluster.iter().filter_map(|member| member.row.head.channel.as_deref()).collect();
        let reason = format!("#{} says the same, from {} channels", canonical.id, channels.len());
        self.propose(MemoryAction::Consolidate { canonical, duplicates }, reason);
        Ok(())
    }
}

fn protected(row: &MemoryRow) -> bool {
    row.head.pinned || row.head.memory_type == MemoryType::Identity
}

fn crosses_channels(a: &MemoryRow, b: &MemoryRow) -> bool {
    matches!((&a.head.channel, &b.head.channel), (Some(a), Some(b)) if a != b)
}

fn percent(score: u64) -> String {
    format!("{} %", score / 10_000)
}
