//! Which journals grew: told to the other nodes beside the appends, never in them.
//!
//! A notification inside an append would make the database commit one at a time. So what grew is gathered for a moment
//! and told together. News may be lost: whoever listens also looks for itself every now and then.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;
use tokio_postgres::AsyncMessage;

use crate::error::{Result, text_of};
use crate::ledger::PostgresLedger;

/// Journals that wait to be told of; of more, listeners hear when they look for themselves.
const WAITING_MAX: usize = 4_096;
/// How long news is gathered.
const GATHER: Duration = Duration::from_millis(10);
/// Between two tries to listen.
const LISTEN_PAUSE: Duration = Duration::from_secs(2);
const CHANNEL: &str = "cortex_journal";

/// A journal that grew elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    pub actor: String,
    pub size: u64,
}

#[derive(Debug, Default)]
pub(crate) struct News {
    waiting: Mutex<BTreeMap<String, i64>>,
    more: Notify,
    /// Somebody sends what waits.
    is_sent: AtomicBool,
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

    fn take(&self) -> Vec<(String, i64)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting).into_iter().collect()
    }
}

impl PostgresLedger {
    /// Sends news and hears of others' from now on. An engine without notifications is left alone; look for yourself.
    pub fn follow(self: &Arc<PostgresLedger>) -> mpsc::Receiver<Growth> {
        let (heard, growth) = mpsc::channel(WAITING_MAX);
        self.news.is_sent.store(true, Ordering::Relaxed);
        self.spawn(send(Arc::downgrade(self)));
        self.spawn(listen(Arc::downgrade(self), heard));
        growth
    }

    /// True while news of other nodes comes by itself.
    pub fn is_listening(&self) -> bool {
        self.news.is_heard.load(Ordering::Relaxed)
    }
}

async fn send(ledger: Weak<PostgresLedger>) {
    while let Some(ledger) = ledger.upgrade() {
        // A node that ends is not kept by its own news.
        let _ = tokio::time::timeout(Duration::from_secs(1), ledger.news.more.notified()).await;
        let told = ledger.news.take();
        if told.is_empty() {
            continue;
        }
        sleep(GATHER).await;
        let mut told: BTreeMap<String, i64> = told.into_iter().collect();
        told.extend(ledger.news.take());
        let lines: Vec<String> = told
            .into_iter()
            .map(|(actor, size)| format!("{} {actor} {size}", ledger.instance))
            .collect();
        let sql = "SELECT pg_notify($1, line) FROM unnest($2::text[]) AS news (line)";
        if let Err(error) = ledger.pool.rows(sql, &[&CHANNEL, &lines]).await {
            tracing::debug!("other nodes are not told what grew: {error}");
        }
    }
}

async fn listen(ledger: Weak<PostgresLedger>, heard: mpsc::Sender<Growth>) {
    let mut said = false;
    while let Some(ledger) = ledger.upgrade() {
        let outcome = hear(ledger, &heard).await;
        if heard.is_closed() {
            return;
        }
        if let Err(error) = outcome
            && !std::mem::replace(&mut said, true)
        {
            tracing::info!("no news of other nodes, so their journals are looked at: {error}");
        }
        sleep(LISTEN_PAUSE).await;
    }
}

/// Hears until the connection ends.
async fn hear(ledger: Arc<PostgresLedger>, heard: &mpsc::Sender<Growth>) -> Result<()> {
    let (client, mut connection) = ledger.pool.apart().await?;
    let own = ledger.instance.clone();
    let weak = Arc::downgrade(&ledger);
    let messages = async {
        // The ledger may be dropped while somebody listens.
        drop(ledger);
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            let message = message.map_err(|error| crate::error::Error::Away(text_of(&error)))?;
            let AsyncMessage::Notification(said) = message else { continue };
            let Some(growth) = read(said.payload(), &own) else { continue };
            // A listener that is behind looks for itself.
            let _ = heard.try_send(growth);
            if heard.is_closed() || weak.strong_count() == 0 {
                break;
            }
        }
        Ok(())
    };
    let begun = async {
        client
            .batch_execute(&format!("LISTEN {CHANNEL}"))
            .await
            .map_err(|error| crate::error::Error::Refused(text_of(&error)))?;
        if let Some(ledger) = weak.upgrade() {
            ledger.news.is_heard.store(true, Ordering::Relaxed);
        }
        // Held for as long as messages come.
        std::future::pending::<Result<()>>().await
    };
    let outcome = tokio::select! { ended = messages => ended, failed = begun => failed };
    if let Some(ledger) = weak.upgrade() {
        ledger.news.is_heard.store(false, Ordering::Relaxed);
    }
    outcome
}

/// `INSTANCE ACTOR SIZE`, unless it is from here.
fn read(text: &str, own: &str) -> Option<Growth> {
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
