//! Which journals grew, who asks for the way to one, and that a node came or went: told to the other nodes beside the
//! appends, never in them.
//!
//! A notification inside an append would make the database commit one at a time. So what grew is gathered for a moment
//! and told together. News may be lost: whoever listens also looks for itself every now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// Journals that wait to be told of; of more, listeners hear when they look for themselves.
pub(crate) const WAITING_MAX: usize = 4_096;
/// What another node says of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalNews {
    /// It grew.
    Grown { actor: String, size: u64 },
    /// Its appends are overtaken again and again.
    AsksForWay { actor: String },
}

#[derive(Debug, Default)]
pub(crate) struct News {
    waiting: Mutex<BTreeMap<String, i64>>,
    /// Actors whose journals this node asks the way to.
    blocked: Mutex<BTreeSet<String>>,
    pub(crate) more: Notify,
    /// Another node came or went.
    pub(crate) nodes_changed: Notify,
    /// Somebody sends what waits.
    pub(crate) is_sent: AtomicBool,
    /// True while this node hears of others.
    pub(crate) is_heard: AtomicBool,
}

impl News {
    pub(crate) fn tell(&self, actor: &str, size: i64) {
        if !self.is_sent.load(Ordering::Relaxed) {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX || waiting.contains_key(actor) {
            waiting.insert(actor.to_owned(), size);
        }
        drop(waiting);
        self.more.notify_one();
    }

    pub(crate) fn ask_for_way(&self, actor: &str) {
        if !self.is_sent.load(Ordering::Relaxed) {
            return;
        }
        let mut blocked = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        if blocked.len() < WAITING_MAX {
            blocked.insert(actor.to_owned());
        }
        drop(blocked);
        self.more.notify_one();
    }

    pub(crate) fn take_blocked(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.blocked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take(&self) -> Vec<(String, i64)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting).into_iter().collect()
    }
}

/// How a node asks for the way; elsewhere the size stands there.
const WAY: &str = "way";

pub(crate) fn grown(own: &str, actor: &str, size: i64) -> String {
    format!("{own} {actor} {size}")
}

pub(crate) fn asks_for_way(own: &str, actor: &str) -> String {
    format!("{own} {actor} {WAY}")
}

/// `INSTANCE ACTOR SIZE` or `INSTANCE ACTOR way`, unless it is from here.
pub(crate) fn read(text: &str, own: &str) -> Option<JournalNews> {
    let mut parts = text.split(' ');
    let (from, actor, what) = (parts.next()?, parts.next()?.to_owned(), parts.next()?);
    if from == own || parts.next().is_some() {
        return None;
    }
    match what {
        WAY => Some(JournalNews::AsksForWay { actor }),
        size => Some(JournalNews::Grown { actor, size: size.parse().ok()? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_of_this_node_and_what_is_no_news_is_not_heard() {
        let actor = || "ada".to_owned();
        let grew = JournalNews::Grown { actor: actor(), size: 7 };
        assert_eq!(read(&grown("n1", "ada", 7), "n2"), Some(grew));
        let asks = JournalNews::AsksForWay { actor: actor() };
        assert_eq!(read(&asks_for_way("n1", "ada"), "n2"), Some(asks));
        for other in ["n2 ada 7", "n2 ada way", "n1 ada", "n1 ada x", "", "n1 ada 7 8"] {
            assert_eq!(read(other, "n2"), None, "{other}");
        }
    }
}
