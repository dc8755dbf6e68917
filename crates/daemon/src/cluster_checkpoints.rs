//! Checkpoints of long journals: the node that serves an actor makes them, one at a time, beside everything else.
//!
//! What must stay true: nothing waits for a checkpoint, and nothing depends on one. One that holds what was erased
//! meanwhile is deleted by whoever notices first: the node that erases, or the one that made it and looks once more.
//! Their place is asked only when a journal grew enough or something was erased: a bucket counts its questions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cluster::Node;
use cluster::checkpoints::{Checkpoints, draw_scratch};
use kernel::actor::ActorName;
use kernel::command::Stamp;
use kernel::{Cortex, memory::Millis};
use service::{Environment as _, SystemEnvironment};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use host::Host;

/// How often open actors are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A journal that was checkpointed has to grow by this part of it.
const GROWTH_PART: u64 = 4;
/// Where the files of a checkpoint are until they are packed, in the home.
const SCRATCH: &str = "ledger-scratch";
/// Who takes the snapshots, as the journal says it.
const BY: &str = "cluster";

/// What the last look at an actor's checkpoints came to.
#[derive(Clone, Copy, Debug)]
struct CheckpointLook {
    /// Memories that were erased then.
    erased: u64,
    /// The size at which the next checkpoint is due.
    due: u64,
}

type CheckpointLooks = BTreeMap<ActorName, CheckpointLook>;

/// Makes checkpoints until the daemon ends, if there is a place for them.
pub(crate) async fn make(
    host: Arc<Host>,
    node: Arc<Node>,
    entries: u64,
    mut ending: watch::Receiver<bool>,
) {
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let scratch = host.folder().join(SCRATCH);
    // What a daemon that was killed left; one daemon has a home.
    if scratch.exists()
        && let Err(error) = std::fs::remove_dir_all(&scratch)
    {
        tracing::warn!("{}: {error}", scratch.display());
    }
    let mut looks = CheckpointLooks::new();
    loop {
        tokio::select! {
            // An error means that the daemon is gone, which is an end as well.
            _ = ending.wait_for(|ending| *ending) => return,
            _ = look.tick() => {}
        }
        let (host, node, scratch) = (Arc::clone(&host), Arc::clone(&node), scratch.clone());
        let looked = tokio::task::spawn_blocking(move || {
            look_at_all(&host, &node, entries, &scratch, &mut looks);
            looks
        });
        looks = looked.await.unwrap_or_else(|error| {
            tracing::warn!("checkpoints: {error}");
            CheckpointLooks::new()
        });
    }
}

fn look_at_all(
    host: &Host,
    node: &Node,
    entries: u64,
    scratch: &Path,
    looks: &mut CheckpointLooks,
) {
    let checkpoints = match node.ledger.wait(node.ledger.checkpoints()) {
        Ok(Some(checkpoints)) => checkpoints,
        Ok(None) => return,
        Err(error) => return tracing::debug!("checkpoints: {error}"),
    };
    let home = host.service.home();
    let mut open = home.open_actors();
    open.retain(|actor| node.is_here(actor.as_str()));
    looks.retain(|actor, _| open.contains(actor));
    for actor in open {
        let Some(cortex) = home.if_open(&actor) else { continue };
        match look_at(checkpoints, (&actor, &cortex), entries, scratch, looks) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                node.counters().checkpoints_made.fetch_add(1, Ordering::Relaxed);
                tracing::info!(%actor, bytes, "made a checkpoint");
            }
            Err(error) => tracing::warn!(%actor, "no checkpoint: {error}"),
        }
    }
}

/// Makes a checkpoint if the journal grew enough. Returns its bytes.
fn look_at(
    checkpoints: &Checkpoints,
    (actor, cortex): (&ActorName, &Cortex),
    entries: u64,
    scratch: &Path,
    looks: &mut CheckpointLooks,
) -> Result<Option<u64>, Box<dyn std::error::Error>> {
    let counters = cortex.read()?.view().counters()?;
    let is_seen =
        |look: &CheckpointLook| look.erased == counters.erased && counters.size < look.due;
    if looks.get(actor).is_some_and(is_seen) {
        return Ok(None);
    }
    checkpoints.delete_older(actor, counters.erased)?;
    let last = checkpoints.newest(actor)?.map_or(0, |state| state.size);
    let due = last.saturating_add(entries.max(last / GROWTH_PART));
    looks.insert(actor.clone(), CheckpointLook { erased: counters.erased, due });
    if counters.size < due {
        return Ok(None);
    }
    let folder = scratch.join(draw_scratch()?);
    std::fs::create_dir_all(&folder)?;
    let made = pack(checkpoints, actor, cortex, &folder);
    std::fs::remove_dir_all(&folder)?;
    made
}

fn pack(
    checkpoints: &Checkpoints,
    actor: &ActorName,
    cortex: &Cortex,
    folder: &Path,
) -> Result<Option<u64>, Box<dyn std::error::Error>> {
    let now = SystemEnvironment.now().unwrap_or(Millis(0));
    let Some(state) = cortex.checkpoint(&|| Stamp::new(now, BY), folder)? else { return Ok(None) };
    let bytes = checkpoints.put(actor, state, folder)?;
    // Whoever erased something before the checkpoint was there did not see it.
    cortex.catch_up()?;
    let erased = cortex.read()?.view().counters()?.erased;
    let is_outdated = checkpoints.delete_older(actor, erased)? > 0;
    Ok(Some(bytes).filter(|_| !is_outdated))
}
