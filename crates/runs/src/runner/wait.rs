//! Waiting for runs to end, without a gap: listen first, then look at the logs, then hear.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use api::run::RunEvent;

use super::intake::Runner;
use talents::UseId;
use talents::bus::{BusFilter, Delivery};

/// What became of the runs that were waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitOutcome {
    /// The event that ended each.
    pub ended: BTreeMap<UseId, RunEvent>,
    /// Still going when the time was up.
    pub going: BTreeSet<UseId>,
    /// Runs that nobody knows.
    pub unknown: BTreeSet<UseId>,
}

impl Runner {
    /// Waits until all of these runs have ended, or for `patience`.
    pub async fn wait(&self, runs: &[UseId], patience: Duration) -> io::Result<WaitOutcome> {
        let mut waited =
            WaitOutcome { going: runs.iter().cloned().collect(), ..WaitOutcome::default() };
        let mut heard = self.0.hub.subscribe(BusFilter::runs(runs.iter().map(ToString::to_string)));
        self.look(&mut waited).await?;
        let deadline = tokio::time::Instant::now() + patience;
        while !waited.going.is_empty() {
            let Ok(delivery) = tokio::time::timeout_at(deadline, heard.next()).await else { break };
            match delivery {
                // Too much to hear; the logs know.
                Delivery::Dropped(_) => self.look(&mut waited).await?,
                Delivery::Event(event) if event.message.ends_run() => {
                    let run = event.message.use_id().and_then(|run| UseId::parse(run).ok());
                    if let Some(run) = run.filter(|run| waited.going.remove(run)) {
                        waited.ended.insert(run, event.message.run_event());
                    }
                }
                Delivery::Event(_) => {}
            }
        }
        Ok(waited)
    }

    /// Sorts out the runs that have ended, and those that never were.
    async fn look(&self, waited: &mut WaitOutcome) -> io::Result<()> {
        for run in waited.going.clone() {
            // Asked before the log is read: a run that ends in between has its end there.
            let live = self.is_live(&run);
            match self.events(&run).await? {
                Some(log) if !live => {
                    if let Some(terminal) = log.terminal() {
                        waited.ended.insert(run.clone(), terminal.clone());
                        waited.going.remove(&run);
                    }
                }
                // The end of a live run comes over the bus, after everything else is done.
                Some(_) => {}
                None if live => {}
                None => {
                    waited.unknown.insert(run.clone());
                    waited.going.remove(&run);
                }
            }
        }
        Ok(())
    }
}
