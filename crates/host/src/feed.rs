//! What happens to memories, for whoever watches: on the bus without a word of what they say, and as a list of what was
//! told to whom.
//!
//! `talents_host::journal_watch` makes messages of new entries, whoever wrote them; `host::noted` says which operations
//! tell somebody of memories, and of which.
//!
//! What must stay true: nothing here is on disk, holds up an answer or fails it; a message has no text of a memory and
//! no question in it; what is kept is bounded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::author::Author;
use api::telling::{TELLINGS_MAX, TOLD_MEMORIES_MAX};
use kernel::actor::ActorName;
use kernel::memory::Millis;
use talents::bus::{BusMessage, Hub, MEMORY_TOPIC};

/// Actors whose tellings are kept; names come from callers.
const ACTORS_MAX: usize = 64;
/// Bytes of a question that are kept.
const QUESTION_BYTES_MAX: usize = 1_024;

/// Memories that went to somebody.
#[derive(Clone, Debug)]
pub(crate) struct Telling {
    pub(crate) number: u64,
    pub(crate) at: Millis,
    pub(crate) by: String,
    pub(crate) author: Author,
    pub(crate) operation: &'static str,
    pub(crate) project: String,
    pub(crate) question: String,
    pub(crate) ids: Vec<u64>,
    pub(crate) total: usize,
}

/// The newest tellings of one actor.
#[derive(Debug, Default)]
pub(crate) struct Tellings {
    pub(crate) newest: u64,
    pub(crate) kept: VecDeque<Telling>,
}

/// What there is to watch.
#[derive(Debug, Default)]
pub(crate) struct MemoryFeed {
    hub: Mutex<Option<Hub>>,
    tellings: Mutex<BTreeMap<ActorName, Tellings>>,
}

impl MemoryFeed {
    /// From now on what happens is told on this bus.
    pub(crate) fn lend_hub(&self, hub: &Hub) {
        *self.hub.lock().unwrap_or_else(PoisonError::into_inner) = Some(hub.clone());
    }

    pub(crate) fn tellings(&self) -> MutexGuard<'_, BTreeMap<ActorName, Tellings>> {
        self.tellings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a telling, gives it its number, and says on the bus that it was.
    pub(crate) fn keep(&self, actor: &ActorName, mut telling: Telling) {
        telling.ids.truncate(TOLD_MEMORIES_MAX);
        let end = telling.question.floor_char_boundary(QUESTION_BYTES_MAX);
        telling.question.truncate(end);
        {
            let mut all = self.tellings();
            if !all.contains_key(actor) && all.len() >= ACTORS_MAX {
                return;
            }
            let of = all.entry(actor.clone()).or_default();
            of.newest += 1;
            telling.number = of.newest;
            of.kept.push_back(telling.clone());
            if of.kept.len() > TELLINGS_MAX {
                of.kept.pop_front();
            }
        }
        let hub = self.hub.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(hub) = hub {
            hub.publish(
                BusMessage::new(MEMORY_TOPIC, "told")
                    .with("actor", actor.as_str())
                    .with("number", telling.number)
                    .with("by", telling.by)
                    .with("operation", telling.operation)
                    .with("count", telling.total),
            );
        }
    }

    /// Forgets what was asked and told, as an erasure demands: a question may quote what is erased.
    pub(crate) fn forget(&self, actor: &ActorName, id: u64) {
        if let Some(of) = self.tellings().get_mut(actor) {
            of.kept.retain(|telling| !telling.ids.contains(&id));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn telling(ids: Vec<u64>) -> Telling {
        Telling {
            number: 0,
            at: Millis(1),
            by: "codex".into(),
            author: Author::Agent,
            operation: "search",
            project: String::new(),
            question: "é".repeat(QUESTION_BYTES_MAX),
            total: ids.len(),
            ids,
        }
    }

    #[test]
    fn the_oldest_go_first_and_numbers_go_on() {
        let (feed, actor) = (MemoryFeed::default(), ActorName::parse("default").unwrap());
        for id in 0..TELLINGS_MAX as u64 + 3 {
            feed.keep(&actor, telling(vec![id; TOLD_MEMORIES_MAX + 1]));
        }
        let all = feed.tellings();
        let of = &all[&actor];
        assert_eq!((of.kept.len(), of.newest), (TELLINGS_MAX, TELLINGS_MAX as u64 + 3));
        assert_eq!(of.kept[0].number, 4);
        assert_eq!(of.kept[0].ids.len(), TOLD_MEMORIES_MAX);
        assert!(of.kept[0].question.len() <= QUESTION_BYTES_MAX);
    }

    #[test]
    fn what_told_of_an_erased_memory_is_gone() {
        let (feed, actor) = (MemoryFeed::default(), ActorName::parse("default").unwrap());
        feed.keep(&actor, telling(vec![1, 2]));
        feed.keep(&actor, telling(vec![3]));
        feed.forget(&actor, 2);
        assert_eq!(feed.tellings()[&actor].kept.len(), 1);
    }
}
