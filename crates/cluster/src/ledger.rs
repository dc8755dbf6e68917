//! The journals of all actors, as the kernel sees them: append with a conflict, read, list.
//!
//! What must stay true: an append is one statement and so one commit. It names the entry that it comes after with its
//! bytes; the primary key refuses the second of two. If its answer is lost, the same bytes are sent again: the database
//! lets the second wait for the first, and then says which of both it is. Only if it cannot be asked until the time is
//! over is the outcome unknown. *Nothing was saved* is said only of what was never sent, or was refused.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use kernel::StorageFailure;
use kernel::ledger::{Frame, LastEntry, SentAppend, SharedEntry, SharedJournal, SharedLedgers};
use proof::actor::ActorName;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;

use crate::checkpoints::{CheckpointPlace, Checkpoints};
use crate::counters::{LedgerCounters, add};
use crate::error::{Error, FailureKind, Result, kind_of, text_of};
use crate::news::News;
use crate::pool::{Connection, Pool, Question, RetryPause};
use crate::settings::{APPEND_WAIT, LedgerSettings, STATEMENT_WAIT};

/// Entries and bytes of one read; the first entry comes whatever it has.
const READ_ENTRIES_MAX: i64 = 1_024;
const READ_BYTES_MAX: i64 = 8 << 20;
/// Threads that talk to the database.
const THREADS: usize = 2;

/// The ledger of a database.
pub struct PostgresLedger {
    pub(crate) pool: Pool,
    pub(crate) news: News,
    pub counters: Arc<LedgerCounters>,
    /// Told apart from other nodes in what it tells them.
    pub(crate) instance: String,
    place: String,
    checkpoints_in: Option<CheckpointPlace>,
    checkpoints: OnceCell<Checkpoints>,
    /// Taken only when the ledger is dropped, which may happen on one of its own threads.
    runtime: Option<Runtime>,
}

impl Drop for PostgresLedger {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PostgresLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLedger").field("at", &self.place).finish_non_exhaustive()
    }
}

impl PostgresLedger {
    /// A ledger that is not asked anything yet. `name` says who uses it.
    pub fn new(settings: LedgerSettings, name: &str) -> Result<Arc<PostgresLedger>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("ledger")
            .enable_all()
            .build()
            .map_err(|error| Error::Invalid(format!("a runtime: {error}")))?;
        let counters = Arc::<LedgerCounters>::default();
        let mut drawn = [0; 8];
        getrandom::fill(&mut drawn).map_err(|error| Error::Invalid(error.to_string()))?;
        let instance = proof::digest::encode_hex(&drawn);
        let (place, checkpoints_in) = (settings.place(), settings.checkpoints.clone());
        let pool = Pool::new(settings, name.to_owned(), Arc::clone(&counters))?;
        let news = News::default();
        Ok(Arc::new(PostgresLedger {
            pool,
            news,
            counters,
            instance,
            place,
            checkpoints_in,
            checkpoints: OnceCell::new(),
            runtime: Some(runtime),
        }))
    }

    /// Where it is, without a password.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Waits for an answer, on a thread that may.
    pub fn wait<T>(&self, asked: impl Future<Output = T>) -> T {
        self.runtime().block_on(asked)
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime().spawn(work);
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime is taken only when the ledger is dropped")
    }

    /// Asks the database anything: is it there, and is it a ledger?
    pub async fn check(&self) -> Result<()> {
        self.pool.barrier().await
    }

    /// Sizes of these journals, in the same order; 0 if there is none.
    pub async fn sizes(&self, actors: &[String]) -> Result<Vec<i64>> {
        let sql = "SELECT coalesce((SELECT max(seq) FROM cortex.journal WHERE actor = asked.name), 0) \
                   FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, n) ORDER BY asked.n";
        Ok(self.pool.rows(sql, &[&actors]).await?.iter().map(|row| row.get(0)).collect())
    }

    /// How many actors there are.
    pub async fn actor_count(&self) -> Result<i64> {
        let sql = "SELECT count(*) FROM cortex.journal WHERE seq = 1";
        Ok(self.pool.row(sql, &[]).await?.map_or(0, |row| row.get(0)))
    }

    /// The checkpoints, if there is a place for them.
    pub async fn checkpoints(&self) -> Result<Option<&Checkpoints>> {
        let Some(place) = &self.checkpoints_in else { return Ok(None) };
        let made = self.checkpoints.get_or_try_init(|| async {
            let secret = self.node_secret().await?;
            Ok(Checkpoints::new(place.clone(), secret, self.runtime().handle().clone()))
        });
        made.await.map(Some)
    }

    /// Appends. What erases something takes the checkpoints with it: before, so that none is left if this node dies in
    /// between, and after, since another node may have made one meanwhile.
    async fn append(&self, draft: &AppendDraft) -> kernel::Result<()> {
        if draft.erased.is_empty() {
            return self.append_plainly(draft).await;
        }
        let away = |error: Error| kernel::Error::LedgerAway(error.to_string().as_str().into());
        self.delete_checkpoints(&draft.actor).await.map_err(away)?;
        self.append_plainly(draft).await?;
        if let Err(error) = self.delete_checkpoints(&draft.actor).await {
            tracing::warn!(actor = draft.actor, "a checkpoint is deleted later: {error}");
        }
        Ok(())
    }

    async fn delete_checkpoints(&self, actor: &str) -> Result<()> {
        let Some(checkpoints) = self.checkpoints().await? else { return Ok(()) };
        let actor = ActorName::parse(actor).map_err(|error| Error::Invalid(error.to_string()))?;
        // As many as there are: one folder of one file, as a rule.
        let deleted = tokio::task::block_in_place(|| checkpoints.delete_older(&actor, u64::MAX));
        let failed = |error| Error::Away(format!("the place of checkpoints: {error}"));
        deleted.map(drop).map_err(failed)
    }

    async fn append_plainly(&self, draft: &AppendDraft) -> kernel::Result<()> {
        let started = Instant::now();
        let until = started + APPEND_WAIT;
        let mut pause = RetryPause::default();
        // True once an append was sent of which nobody knows what became.
        let mut may_be_there = false;
        loop {
            let why = match self.pool.lease(until).await {
                Err(error @ Error::Away(_)) => error.to_string(),
                Err(error) if may_be_there => error.to_string(),
                Err(error) => return Err(error.into()),
                Ok(lease) => {
                    let asked = draft.send(&lease.connection);
                    match timeout(STATEMENT_WAIT, asked).await {
                        Ok(Ok(written)) => {
                            lease.keep();
                            if written > 0 || (may_be_there && self.is_there(draft).await?) {
                                self.counters.appended(draft.seqs.len(), started.elapsed());
                                self.news.tell(&draft.actor, draft.last());
                                return Ok(());
                            }
                            add(&self.counters.conflicts, 1);
                            return Err(kernel::Error::Overtaken);
                        }
                        Ok(Err(error)) => match kind_of(&error) {
                            FailureKind::Taken => {
                                lease.keep();
                                if may_be_there && self.is_there(draft).await? {
                                    self.counters.appended(draft.seqs.len(), started.elapsed());
                                    self.news.tell(&draft.actor, draft.last());
                                    return Ok(());
                                }
                                add(&self.counters.conflicts, 1);
                                return Err(kernel::Error::Overtaken);
                            }
                            FailureKind::Again => {
                                self.pool.note(&error);
                                text_of(&error)
                            }
                            FailureKind::Lost => {
                                may_be_there = true;
                                text_of(&error)
                            }
                            FailureKind::Final if may_be_there => text_of(&error),
                            FailureKind::Final => {
                                lease.keep();
                                return Err(Error::Refused(text_of(&error)).into());
                            }
                        },
                        Err(_) => {
                            may_be_there = true;
                            "it takes too long".to_owned()
                        }
                    }
                }
            };
            if !pause.wait(until).await {
                let failure = StorageFailure::from(why.as_str());
                if may_be_there {
                    add(&self.counters.unknown, 1);
                    return Err(kernel::Error::OutcomeUnknown(failure));
                }
                add(&self.counters.away, 1);
                return Err(kernel::Error::LedgerAway(failure));
            }
            add(&self.counters.retries, 1);
        }
    }

    /// Is what was sent in the journal? If so, it is where a commit must be before anybody is told.
    async fn is_there(&self, draft: &AppendDraft) -> kernel::Result<bool> {
        let unknown = |error: Error| {
            add(&self.counters.unknown, 1);
            kernel::Error::OutcomeUnknown(StorageFailure::from(error.to_string().as_str()))
        };
        let found = self.read(&draft.actor, draft.after + 1, 1).await.map_err(unknown)?;
        let is_ours = found.first().is_some_and(|found| {
            draft.entries.first() == Some(&found.entry)
                && draft.seqs.first() == Some(&to_sql(found.seq))
        });
        if is_ours {
            self.pool.barrier().await.map_err(unknown)?;
            add(&self.counters.resolved, 1);
        }
        Ok(is_ours)
    }

    async fn read(&self, actor: &str, from: i64, most: i64) -> Result<Vec<SharedEntry>> {
        add(&self.counters.reads, 1);
        let (rows, _) =
            self.pool.ask(Question::Read, &[&actor, &from, &most, &READ_BYTES_MAX]).await?;
        let entries = rows.into_iter().map(|row| SharedEntry {
            seq: u64::try_from(row.get::<_, i64>(0)).unwrap_or_default(),
            entry: row.get(1),
            body: row.get(2),
        });
        Ok(entries.collect())
    }
}

fn to_sql(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// An append as it is sent, and sent again.
#[derive(Debug)]
struct AppendDraft {
    actor: String,
    after: i64,
    last_entry: Vec<u8>,
    seqs: Vec<i64>,
    entries: Vec<Vec<u8>>,
    body_seqs: Vec<i64>,
    bodies: Vec<Vec<u8>>,
    erased: Vec<i64>,
}

impl AppendDraft {
    fn new(actor: &ActorName, after: LastEntry<'_>, frame: &Frame<'_>) -> AppendDraft {
        let erased: Vec<i64> = frame.erased.iter().map(|seq| to_sql(*seq)).collect();
        let mut draft = AppendDraft {
            actor: actor.as_str().to_owned(),
            after: to_sql(after.seq),
            last_entry: after.entry.to_vec(),
            seqs: Vec::new(),
            entries: Vec::new(),
            body_seqs: Vec::new(),
            bodies: Vec::new(),
            erased,
        };
        for (seq, part) in (draft.after + 1..).zip(&frame.entries) {
            draft.seqs.push(seq);
            draft.entries.push(part.entry.to_vec());
            // What the same frame erases never gets there.
            if let Some(body) = part.body.filter(|_| !draft.erased.contains(&seq)) {
                draft.body_seqs.push(seq);
                draft.bodies.push(body.to_vec());
            }
        }
        draft
    }

    fn last(&self) -> i64 {
        self.seqs.last().copied().unwrap_or(self.after)
    }

    async fn send(&self, to: &Connection) -> std::result::Result<i64, tokio_postgres::Error> {
        let erases = !self.erased.is_empty();
        let statement = if erases { &to.append_erasing } else { &to.append };
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![
            &self.actor,
            &self.after,
            &self.last_entry,
            &self.seqs,
            &self.entries,
            &self.body_seqs,
            &self.bodies,
        ];
        if erases {
            values.push(&self.erased);
        }
        Ok(to.client.query_one(statement, &values).await?.get(0))
    }
}

/// The journal of one actor.
#[derive(Debug)]
struct ActorJournal {
    ledger: Arc<PostgresLedger>,
    actor: ActorName,
    /// Nobody has read it yet: the first read says whether there was a copy.
    is_new: AtomicBool,
}

impl SharedJournal for ActorJournal {
    fn append(&self, after: LastEntry<'_>, frame: &Frame<'_>) -> kernel::Result<()> {
        let draft = AppendDraft::new(&self.actor, after, frame);
        self.ledger.wait(self.ledger.append(&draft))
    }

    fn send(&self, after: LastEntry<'_>, frame: &Frame<'_>) -> Box<dyn SentAppend> {
        let (draft, ledger) =
            (AppendDraft::new(&self.actor, after, frame), Arc::clone(&self.ledger));
        let (tell, told) = sync_channel(1);
        self.ledger.spawn(async move {
            // Whoever does not wait for the outcome is gone, and nobody is told anything.
            let _ = tell.send(ledger.append(&draft).await);
        });
        Box::new(DraftOnItsWay(told))
    }

    fn ask_for_way(&self) {
        add(&self.ledger.counters.ways_asked, 1);
        self.ledger.news.ask_for_way(self.actor.as_str());
    }

    fn read(&self, from: u64) -> kernel::Result<Vec<SharedEntry>> {
        let asked = self.ledger.read(self.actor.as_str(), to_sql(from), READ_ENTRIES_MAX);
        let found = self.ledger.wait(asked)?;
        if self.is_new.swap(false, Ordering::Relaxed) {
            let LedgerCounters { cache_hits, cache_misses, .. } = &*self.ledger.counters;
            add(if from > 1 { cache_hits } else { cache_misses }, 1);
        }
        // The first is the one that the copy ends with.
        add(&self.ledger.counters.read_entries, found.len().saturating_sub(1) as u64);
        Ok(found)
    }
}

/// An append that the ledger's threads send.
struct DraftOnItsWay(Receiver<kernel::Result<()>>);

impl SentAppend for DraftOnItsWay {
    fn wait(self: Box<Self>) -> kernel::Result<()> {
        let ended = || StorageFailure::from("the ledger was closed meanwhile");
        self.0.recv().unwrap_or_else(|_| Err(kernel::Error::OutcomeUnknown(ended())))
    }
}

/// The ledger as the kernel takes it.
#[derive(Clone, Debug)]
pub struct LedgerHandle(pub Arc<PostgresLedger>);

impl SharedLedgers for LedgerHandle {
    fn journal(&self, actor: &ActorName) -> Arc<dyn SharedJournal> {
        let is_new = AtomicBool::new(true);
        Arc::new(ActorJournal { ledger: Arc::clone(&self.0), actor: actor.clone(), is_new })
    }

    fn has(&self, actor: &ActorName) -> kernel::Result<bool> {
        let sql = "SELECT 1 FROM cortex.journal WHERE actor = $1 AND seq = 1";
        Ok(self.0.wait(self.0.pool.row(sql, &[&actor.as_str()]))?.is_some())
    }

    fn actors(&self) -> kernel::Result<Vec<ActorName>> {
        let sql = "SELECT actor FROM cortex.journal WHERE seq = 1 ORDER BY actor";
        let rows = self.0.wait(self.0.pool.rows(sql, &[]))?;
        Ok(rows
            .iter()
            .map(|row| ActorName::parse(row.get::<_, &str>(0)))
            .collect::<Result<_, _>>()?)
    }

    fn restore(&self, actor: &ActorName, folder: &Path) -> bool {
        let taken = match self.0.wait(self.0.checkpoints()) {
            Ok(None) => return false,
            Ok(Some(checkpoints)) => {
                checkpoints.take(actor, folder).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match taken {
            Ok(Some(state)) => {
                add(&self.0.counters.checkpoints_taken, 1);
                tracing::debug!(%actor, size = state.size, "begun from a checkpoint");
                true
            }
            Ok(None) => false,
            Err(error) => {
                add(&self.0.counters.checkpoints_refused, 1);
                tracing::warn!(%actor, "a checkpoint is of no use, the journal is read instead: {error}");
                false
            }
        }
    }
}
