//! New entries of the journal as messages of the bus: what was saved, changed, forgotten, related, and by whom.
//!
//! The journal is looked at and not the operations, so that what an import, a job or a run writes is told, too. What
//! must stay true: an entry is told once, in order; nothing is told of what was there before somebody could watch; a
//! burst is one message, so that an import cannot flood whoever listens.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};
use std::time::Duration;

use api::DEFAULT_ACTOR;
use api::activity::{ActivityRequest, EntryView};
use kernel::actor::ActorName;
use kernel::memory::Millis;
use serde_json::Value;
use service::{Caller, Environment as _, SystemEnvironment};
use talents::bus::{BusMessage, Hub, MEMORY_TOPIC};

use host::Host;

/// How long an entry may go untold.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Entries of one look that are told one by one; more are told as one.
const BURST_MAX: u64 = 200;
/// Who looks, in the log.
const BY: &str = "feed";

/// Looks for as long as the host is there.
pub(crate) fn start(hub: &Hub, host: &Arc<Host>) {
    host.lend_hub(hub);
    let (hub, host) = (hub.clone(), Arc::downgrade(host));
    let began = SystemEnvironment.now().map(Millis::rfc3339).unwrap_or_default();
    tokio::spawn(watch(hub, host, began));
}

/// `began` is when the watch did: what is older is no news.
async fn watch(hub: Hub, host: Weak<Host>, began: String) {
    let mut seen: BTreeMap<ActorName, u64> = BTreeMap::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(host) = host.upgrade() else { return };
        let (hub, began) = (hub.clone(), began.clone());
        let look = tokio::task::spawn_blocking(move || {
            look(&hub, &host, &mut seen, &began);
            seen
        });
        // A look that failed unexpectedly begins anew; what it had seen is not told twice but not at all.
        seen = look.await.unwrap_or_default();
    }
}

/// One look at every actor that is open.
fn look(hub: &Hub, host: &Host, seen: &mut BTreeMap<ActorName, u64>, began: &str) {
    let Ok(actors) = host.service.used_actors(DEFAULT_ACTOR) else { return };
    for actor in actors {
        // Looking must not keep an idle actor open, nor open one.
        let Some(cortex) = host.service.home().if_open(&actor) else { continue };
        let Ok(size) = cortex.read().and_then(|reading| Ok(reading.view().counters()?.size)) else {
            continue;
        };
        let Some(last) = seen.get_mut(&actor) else {
            // Opened since the last look, so some of it may be new.
            tell(hub, host, &actor, 0..=size, began);
            seen.insert(actor, size);
            continue;
        };
        if size <= *last {
            *last = size;
            continue;
        }
        let (from, count) = (*last, size - *last);
        *last = size;
        if count > BURST_MAX {
            hub.publish(
                BusMessage::new(MEMORY_TOPIC, "many")
                    .with("actor", actor.as_str())
                    .with("from", from + 1)
                    .with("to", size)
                    .with("count", count),
            );
            continue;
        }
        tell(hub, host, &actor, from..=size, "");
    }
}

/// Tells the entries after the first of a span that are not older than `began`, at most as many as a burst has.
fn tell(hub: &Hub, host: &Host, actor: &ActorName, span: RangeInclusive<u64>, began: &str) {
    let caller = Caller::new(actor.clone(), BY);
    let limit = usize::try_from(BURST_MAX).ok();
    let request = ActivityRequest { after: Some(*span.start()), limit };
    match host.service.activity(&caller, request) {
        Ok(answer) => {
            let is_new = |entry: &&EntryView| span.contains(&entry.seq) && *entry.at >= *began;
            for entry in answer.entries.iter().rev().filter(is_new) {
                if let Some(message) = message(actor, entry) {
                    hub.publish(message);
                }
            }
        }
        Err(error) => tracing::debug!("the feed of {actor}: {error}"),
    }
}

/// An entry without what it says. Noted uses are no news: what was told has its own message.
fn message(actor: &ActorName, entry: &EntryView) -> Option<BusMessage> {
    let event = match entry.kind.as_str() {
        "touch" => return None,
        "write" => "saved",
        "update" => "updated",
        "update_head" => "changed",
        "tombstone" => "forgotten",
        "restore" => "restored",
        "erase" => "erased",
        "add_edge" => "related",
        "remove_edge" => "unrelated",
        "session_start" => "session_started",
        "session_end" => "session_ended",
        "prompt" => "prompted",
        "mind_run" => "job",
        "attest" => "attested",
        "snapshot" => "kept",
        "scope_grant" | "scope_revoke" | "scope_violation" => "access",
        _ => "other",
    };
    Some(
        BusMessage::new(MEMORY_TOPIC, event)
            .with("actor", actor.as_str())
            .with("seq", entry.seq)
            .with("kind", entry.kind.as_str())
            .with("by", entry.by.as_str())
            .with("at", entry.at.as_str())
            .with("id", entry.memory_id.map_or(Value::Null, Value::from)),
    )
}
