//! What a runner knows of its runs: lists, rows, logs, and the care for both.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use api::run::{LiveRun, RunList, RunQuery, RunRecord, RunScope};

use super::follow::RunFollower;
use super::intake::Runner;
use super::log::doctor::{self, LogFinding};
use super::log::read::{self, RunLog};
use super::log::retention::{self, RetentionLimits};
use talents::UseId;

impl Runner {
    /// Runs, live and ended. Opens no log.
    pub fn list(&self, scope: RunScope, query: &RunQuery) -> RunList {
        let takes = |run: &LiveRun| {
            query.name.as_ref().is_none_or(|name| *name == run.name)
                && query.facet.as_ref().is_none_or(|facet| Some(facet) == run.facet.as_ref())
                && query.parent.as_ref().is_none_or(|parent| Some(parent) == run.parent.as_ref())
        };
        let mut live = Vec::new();
        if scope != RunScope::Historical {
            live = self.0.live_runs().into_iter().filter(takes).collect();
        }
        if scope == RunScope::Live {
            return RunList { live, runs: Vec::new(), total: 0, has_more: false };
        }
        let (runs, total) = self.0.index().page(query);
        let has_more = query.offset + runs.len() < total;
        RunList { live, runs, total, has_more }
    }

    /// What the index has of an ended run.
    pub fn row(&self, run: &UseId) -> Option<RunRecord> {
        self.0.index().row(run).cloned()
    }

    /// The events of a run so far; `None` if there is no such run.
    pub async fn events(&self, run: &UseId) -> io::Result<Option<RunLog>> {
        let (layout, run) = (self.0.layout.clone(), run.clone());
        let work = move || match read::find(&layout, &run)? {
            Some(found) => match read::read(&found.path) {
                // It got its other name between the look and the opening.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    read::read(&layout.ended_run(&found.name, &run)).map(Some)
                }
                log => log.map(Some),
            },
            None => Ok(None),
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// What is wrong with the run logs.
    pub async fn doctor(&self) -> io::Result<Vec<LogFinding>> {
        let shared = Arc::clone(&self.0);
        let work = move || {
            let live: BTreeSet<UseId> = shared.state().live.keys().cloned().collect();
            doctor::examine(&shared.layout, &shared.index(), &live)
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// Removes runs that are too old or too many; gives their ids.
    pub async fn sweep(&self) -> io::Result<Vec<UseId>> {
        let shared = Arc::clone(&self.0);
        let keep = RetentionLimits {
            days: shared.settings.keep_days,
            runs_per_talent: shared.settings.keep_runs_per_talent,
        };
        let now = shared.timing.clock.now();
        let work = move || retention::sweep(&shared.layout, &mut shared.index(), keep, now);
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// A run from the event after `after`, or from its request, to its end.
    pub fn follow(&self, run: &UseId, after: Option<u64>) -> RunFollower {
        RunFollower::new(&self.0.hub, &self.0.layout, run, after)
    }
}
