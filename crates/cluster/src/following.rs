//! Telling the other nodes what grew, and hearing of them, for as long as the ledger is there.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_postgres::AsyncMessage;

use crate::counters::add;
use crate::error::{Error, Result, text_of};
use crate::ledger::PostgresLedger;
use crate::news::{JournalNews, WAITING_MAX, asks_for_way, grown, read};

/// How long news is gathered.
const GATHER: Duration = Duration::from_millis(25);
/// Between two tries to listen.
const LISTEN_PAUSE: Duration = Duration::from_secs(2);
/// Where it is told which journals grew, and where that a node came or went.
const JOURNALS_CHANNEL: &str = "cortex_journal";
const NODES_CHANNEL: &str = "cortex_node";
/// News that is lost costs nothing, so nobody waits for it to be on a disk.
const NOTIFY: &str = "WITH hasty AS (SELECT set_config('synchronous_commit', 'off', true)) \
                      SELECT pg_notify($1, line) FROM hasty, unnest($2::text[]) AS news (line)";

impl PostgresLedger {
    /// Sends news and hears of others' from now on. An engine without notifications is left alone; look for yourself.
    pub fn follow(self: &Arc<PostgresLedger>) -> mpsc::Receiver<JournalNews> {
        let (heard, news) = mpsc::channel(WAITING_MAX);
        self.news.is_sent.store(true, Ordering::Relaxed);
        self.spawn(send(Arc::downgrade(self)));
        self.spawn(listen(Arc::downgrade(self), heard));
        news
    }

    /// Tells the other nodes that this one came or goes. Without it they learn of it with their next heartbeat.
    pub(crate) async fn tell_of_this_node(&self) {
        if let Err(error) = self.notify(NODES_CHANNEL, std::slice::from_ref(&self.instance)).await {
            tracing::debug!("other nodes are not told that this one came or goes: {error}");
        }
    }

    async fn notify(&self, channel: &str, lines: &[String]) -> Result<()> {
        self.pool.rows(NOTIFY, &[&channel, &lines]).await.map(drop)
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
        let (told, blocked) = (ledger.news.take(), ledger.news.take_blocked());
        if told.is_empty() && blocked.is_empty() {
            continue;
        }
        // Whoever asks for the way has waited already.
        if blocked.is_empty() {
            sleep(GATHER).await;
        }
        let mut told: BTreeMap<String, i64> = told.into_iter().collect();
        told.extend(ledger.news.take());
        let own = &ledger.instance;
        let asks = blocked.iter().map(|actor| asks_for_way(own, actor));
        let grew = told.iter().map(|(actor, size)| grown(own, actor, *size));
        let lines: Vec<String> = asks.chain(grew).collect();
        if let Err(error) = ledger.notify(JOURNALS_CHANNEL, &lines).await {
            tracing::debug!("other nodes are not told what grew: {error}");
        }
    }
}

async fn listen(ledger: Weak<PostgresLedger>, heard: mpsc::Sender<JournalNews>) {
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
async fn hear(ledger: Arc<PostgresLedger>, heard: &mpsc::Sender<JournalNews>) -> Result<()> {
    let (client, mut connection) = ledger.pool.apart().await?;
    let own = ledger.instance.clone();
    let weak = Arc::downgrade(&ledger);
    let messages = async {
        // The ledger may be dropped while somebody listens.
        drop(ledger);
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            let message = message.map_err(|error| Error::Away(text_of(&error)))?;
            let AsyncMessage::Notification(said) = message else { continue };
            match said.channel() {
                NODES_CHANNEL if said.payload() != own => {
                    if let Some(ledger) = weak.upgrade() {
                        add(&ledger.counters.node_news, 1);
                        ledger.news.nodes_changed.notify_one();
                    }
                }
                JOURNALS_CHANNEL => {
                    if let Some(news) = read(said.payload(), &own) {
                        // A listener that is behind looks for itself.
                        let _ = heard.try_send(news);
                    }
                }
                _ => {}
            }
            if heard.is_closed() || weak.strong_count() == 0 {
                break;
            }
        }
        Ok(())
    };
    let begun = async {
        client
            .batch_execute(&format!("LISTEN {JOURNALS_CHANNEL}; LISTEN {NODES_CHANNEL}"))
            .await
            .map_err(|error| Error::Refused(text_of(&error)))?;
        if let Some(ledger) = weak.upgrade() {
            ledger.news.is_heard.store(true, Ordering::Relaxed);
            // What was told before nobody heard.
            ledger.news.nodes_changed.notify_one();
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
