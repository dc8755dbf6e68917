//! Which journals grew, and that a node came or went: told to the other nodes beside the appends, never in them.
//!
//! A notification inside an append would make the database commit one at a time. So what grew is gathered for a moment
//! and told together. News may be lost: whoever listens also looks for itself every now and then.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// Journals that wait to be told of; of more, listeners hear when they look for themselves.
pub(crate) const WAITING_MAX: usize = 4_096;
/// A journal that grew elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    pub actor: String,
    pub size: u64,
}

#[derive(Debug, Default)]
pub(crate) struct News {
    waiting: Mutex<BTreeMap<String, i64>>,
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

    pub(crate) fn take(&self) -> Vec<(String, i64)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting).into_iter().collect()
    }
}

/// `INSTANCE ACTOR SIZE`, unless it is from here.
pub(crate) fn read(text: &str, own: &str) -> Option<Growth> {
    let mut parts = text.split(' ');
    let (from, actor, size) = (parts.next()?, parts.next()?, parts.next()?);
    let growth = Growth { actor: actor.to_owned(), size: size.parse().ok()? };
    (from != own && parts.next().is_none()).then_some(growth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_of_this_node_and_what_is_no_news_is_not_heard() {
        let growth = Growth { actor: "ada".to_owned(), size: 7 };
        assert_eq!(read("n1 ada 7", "n2"), Some(growth));
        for other in ["n2 ada 7", "n1 ada", "n1 ada x", "", "n1 ada 7 8"] {
            assert_eq!(read(other, "n2"), None, "{other}");
        }
    }
}
