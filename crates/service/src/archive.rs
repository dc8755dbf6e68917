//! Archival: what is old, unimportant and unconnected is put away, softly, with its reason in the journal.
//!
//! Never touched: what is pinned, has edges, is the word on a topic, or binds (identities, goals, constraints), and the
//! newest session summaries. `restore` undoes it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use api::archive::{SweepAnswer, SweepRequest, SweptView};
use kernel::command::{Command, HeadRevision};
use kernel::journal::HeadPatch;
use kernel::keys;
use kernel::memory::{Head, MemoryId, MemoryType, Millis};

use crate::caller::Caller;
use crate::error::Result;
use crate::{Service, score, views};

/// Memories one sweep puts away.
const SWEEP_MAX: usize = 1_000;

/// Newest session summaries of each project that stay.
const SUMMARIES_KEPT: usize = 20;

const DAY_MS: i64 = 86_400_000;

/// Memories that are stale, oldest first.
#[derive(Debug)]
pub struct StaleMemories {
    pub found: Vec<StaleMemory>,
    examined: u64,
    capped: bool,
}

#[derive(Debug)]
pub struct StaleMemory {
    pub id: MemoryId,
    pub version: u32,
    /// In thousandths.
    score: u32,
}

impl StaleMemory {
    fn score(&self) -> f64 {
        f64::from(self.score) / 1_000.0
    }

    /// Why it is put away, for the journal.
    pub fn reason(&self, settings: &crate::Settings) -> String {
        format!("older than {} days, score {:.3}", settings.stale_after_days, self.score())
    }
}

impl Service {
    pub fn sweep(&self, caller: &Caller, request: SweepRequest) -> Result<SweepAnswer> {
        let now = caller.now()?;
        // Accesses that were only noted yet may be what keeps a memory.
        self.flush_actor(&caller.actor, now)?;
        let (cortex, reading) = self.reading(caller)?;
        let view = reading.view();
        let stale = self.stale(&reading, now)?;
        let mut answer = SweepAnswer {
            archived: Vec::new(),
            examined: stale.examined,
            capped: stale.capped,
            dry_run: request.dry_run,
        };
        let run = format!("archive-{}", now.get());
        for one in stale.found {
            let (id, head) = (one.id, view.required_head(one.id)?);
            if !request.dry_run {
                let patch = HeadPatch { archived: Some(true), ..HeadPatch::default() };
                let (reason, expected) = (Some(one.reason(&self.settings)), Some(head.version));
                let change = HeadRevision { id, expected, patch, reason };
                let mut stamp = caller.plain_stamp()?;
                stamp.run = Some(run.clone());
                match self.submit(&cortex, stamp, Command::UpdateHead(change)) {
                    // Somebody just changed it: it is not stale after all.
                    Err(error) if error.fault() == api::Fault::Conflict => continue,
                    outcome => drop(outcome?),
                }
            }
            let brief = views::brief(&reading, &head, 0, self.rule_authors())?;
            answer.archived.push(SweptView {
                id: id.get(),
                title: brief.title,
                kind: brief.kind,
                memory_type: brief.memory_type,
                score: one.score(),
                created_at: brief.created_at,
            });
        }
        Ok(answer)
    }

    /// What is old, unimportant and unconnected; for `sweep` and for the mind's maintenance.
    pub fn stale(&self, reading: &kernel::Reading, now: Millis) -> Result<StaleMemories> {
        let view = reading.view();
        let age = i64::from(self.settings.stale_after_days).saturating_mul(DAY_MS);
        let before = Millis(now.get().saturating_sub(age));
        let mut stale = StaleMemories { found: Vec::new(), examined: 0, capped: false };
        for memory_type in MemoryType::ALL {
            let kept = self.kept_summaries(reading, memory_type)?;
            view.scan_index(&keys::by_type(memory_type), None, false, &mut |id| {
                let head = view.required_head(id)?;
                // Ids are in the order of time.
                if head.created >= before {
                    return Ok(ControlFlow::Break(()));
                }
                stale.examined += 1;
                let usage = view.usage(id)?;
                let connected = usage.edges_in > 0 || usage.edges_out > 0;
                if !may_be_archived(&head) || connected || kept.contains(&id) {
                    return Ok(ControlFlow::Continue(()));
                }
                let happened = views::when_happened(&view, &head)?;
                let score = score::thousandths(&head, happened, &usage, now);
                if score < self.settings.archive_below {
                    if stale.found.len() == SWEEP_MAX {
                        stale.capped = true;
                        return Ok(ControlFlow::Break(()));
                    }
                    stale.found.push(StaleMemory { id, version: head.version, score });
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        stale.found.sort_unstable_by_key(|one| one.id);
        Ok(stale)
    }

    /// The newest session summaries of each project.
    fn kept_summaries(
        &self,
        reading: &kernel::Reading,
        memory_type: MemoryType,
    ) -> Result<std::collections::BTreeSet<MemoryId>> {
        let mut kept = std::collections::BTreeSet::new();
        if memory_type != MemoryType::of_kind("session_summary") {
            return Ok(kept);
        }
        let view = reading.view();
        let mut counts: BTreeMap<Option<String>, usize> = BTreeMap::new();
        view.scan_index(&keys::by_type(memory_type), None, true, &mut |id| {
            let head = view.required_head(id)?;
            if head.kind == "session_summary" && views::is_live(&head) {
                let count = counts.entry(head.project).or_default();
                if *count < SUMMARIES_KEPT {
                    *count += 1;
                    kept.insert(id);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(kept)
    }
}

fn may_be_archived(head: &Head) -> bool {
    views::is_live(head) && !head.is_foremost() && head.topic_key.is_none()
}
