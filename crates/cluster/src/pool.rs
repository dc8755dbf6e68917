//! Connections to the database: a bounded number, each checked before it is used.
//!
//! What must stay true: a connection on which anything went wrong is not used again. Before a connection is used, a
//! commit of its own has been acknowledged: a server that crashed and came back shows what it committed but had not
//! copied to its standby, and such a commit waits until the standby has all of it. So nobody is shown an entry that a
//! promotion could still take away. Whatever the server's default is, a commit waits for its disk.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use proof::journal::SCHEMA;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::counters::{LedgerCounters, add};
use crate::error::{Error, FailureKind, Result, kind_of, text_of};
use crate::settings::{CONNECT_WAIT, LedgerSettings, QUESTION_WAIT, STATEMENT_WAIT};
use crate::tables::{BY_KEY, READ, VERSION, append};
use crate::tls::DatabaseTls;

const BARRIER: &str = "INSERT INTO cortex.barrier (name, n) VALUES ($1, 1) \
                       ON CONFLICT (name) DO UPDATE SET n = cortex.barrier.n + 1";
/// A moment between two tries: the first and the longest.
const PAUSE: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(400);

/// What may be asked twice.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'q> {
    /// A part of a journal.
    Read,
    Rows(&'q str),
    Change(&'q str),
}

/// Values in a question.
pub(crate) type Values<'v> = [&'v (dyn ToSql + Sync)];

/// A connection that is ready for use.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) append: Statement,
    /// The same for what erases.
    pub(crate) append_erasing: Statement,
    pub(crate) read: Statement,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    settings: LedgerSettings,
    tls: DatabaseTls,
    /// Under whose name its commits to `barrier` are.
    name: String,
    places: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    counters: Arc<LedgerCounters>,
}

/// A connection for one use. Dropped, it is closed; `keep` gives it back.
#[derive(Debug)]
pub(crate) struct Lease<'p> {
    pub(crate) connection: Connection,
    pool: &'p Pool,
    _place: OwnedSemaphorePermit,
}

impl Lease<'_> {
    pub(crate) fn keep(self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(self.connection);
    }
}

impl Pool {
    pub(crate) fn new(
        settings: LedgerSettings,
        name: String,
        counters: Arc<LedgerCounters>,
    ) -> Result<Pool> {
        let tls = DatabaseTls::new(&settings.tls)?;
        let places = Arc::new(Semaphore::new(settings.connections.max(1)));
        Ok(Pool { settings, tls, name, places, idle: Mutex::default(), counters })
    }

    /// A connection, made if none is idle.
    pub(crate) async fn lease(&self, until: Instant) -> Result<Lease<'_>> {
        let left = until.saturating_duration_since(Instant::now());
        let place = timeout(left, Arc::clone(&self.places).acquire_owned()).await;
        let Ok(Ok(place)) = place else {
            return Err(Error::Away("every connection is in use".to_owned()));
        };
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(connection) = idle() {
            if !connection.client.is_closed() {
                return Ok(Lease { connection, pool: self, _place: place });
            }
        }
        let connection = self.connect().await?;
        Ok(Lease { connection, pool: self, _place: place })
    }

    /// Closes connections that nobody uses: the server they lead to does not take writes any more.
    pub(crate) fn clear(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    async fn connect(&self) -> Result<Connection> {
        let prepared = async {
            let client = connect_with(&self.settings, self.tls.clone()).await?;
            check_version(&client).await?;
            let (plain, erasing) = (append(false), append(true));
            let prepared = tokio::try_join!(
                client.prepare(&plain),
                client.prepare(&erasing),
                client.prepare(READ)
            );
            let (append, append_erasing, read) = prepared.map_err(|error| failed(&error))?;
            let connection = Connection { client, append, append_erasing, read };
            let committed = connection.client.execute(BARRIER, &[&self.name]).await;
            committed.map_err(|error| failed(&error))?;
            Ok(connection)
        };
        let made = timeout(CONNECT_WAIT + STATEMENT_WAIT, prepared).await;
        let made = made.unwrap_or_else(|_| Err(Error::Away("it takes too long".to_owned())))?;
        add(&self.counters.connections_made, 1);
        Ok(made)
    }

    /// A connection of its own, outside of the pool.
    pub(crate) async fn apart(
        &self,
    ) -> Result<(Client, tokio_postgres::Connection<tokio_postgres::Socket, crate::tls::TlsSocket>)>
    {
        let connecting = self.settings.config.connect(self.tls.clone());
        let connected = timeout(CONNECT_WAIT, connecting).await;
        connected
            .map_err(|_| Error::Away("it takes too long".to_owned()))?
            .map_err(|error| failed(&error))
    }

    /// Commits something, so that everything committed before is where a commit must be.
    pub(crate) async fn barrier(&self) -> Result<()> {
        self.change(BARRIER, &[&self.name]).await.map(drop)
    }

    /// The only row of an answer; `None` if there is none.
    pub(crate) async fn row(&self, sql: &str, values: &Values<'_>) -> Result<Option<Row>> {
        Ok(self.ask(Question::Rows(sql), values).await?.0.into_iter().next())
    }

    pub(crate) async fn rows(&self, sql: &str, values: &Values<'_>) -> Result<Vec<Row>> {
        Ok(self.ask(Question::Rows(sql), values).await?.0)
    }

    /// How many rows were changed.
    pub(crate) async fn change(&self, sql: &str, values: &Values<'_>) -> Result<u64> {
        Ok(self.ask(Question::Change(sql), values).await?.1)
    }

    /// Asks what may be asked twice, until it is answered or the time is over.
    pub(crate) async fn ask(
        &self,
        question: Question<'_>,
        values: &Values<'_>,
    ) -> Result<(Vec<Row>, u64)> {
        let until = Instant::now() + QUESTION_WAIT;
        let mut pause = RetryPause::default();
        loop {
            let why = match self.lease(until).await {
                Err(Error::Away(why)) => why,
                Err(error) => return Err(error),
                Ok(lease) => {
                    match timeout(STATEMENT_WAIT, put(&lease.connection, question, values)).await {
                        Ok(Ok(answer)) => {
                            lease.keep();
                            return Ok(answer);
                        }
                        Ok(Err(error)) => match kind_of(&error) {
                            FailureKind::Again | FailureKind::Lost => {
                                self.note(&error);
                                text_of(&error)
                            }
                            FailureKind::Taken | FailureKind::Final => {
                                lease.keep();
                                return Err(Error::Refused(text_of(&error)));
                            }
                        },
                        Err(_) => "it takes too long".to_owned(),
                    }
                }
            };
            if !pause.wait(until).await {
                add(&self.counters.away, 1);
                return Err(Error::Away(why));
            }
            add(&self.counters.retries, 1);
        }
    }

    /// A server that has become a standby says so; the other connections lead there, too.
    pub(crate) fn note(&self, error: &tokio_postgres::Error) {
        if error.code().is_some_and(|code| code.code() == "25006") {
            self.clear();
        }
    }
}

/// How long to wait before the next try: longer each time, and never the same for two nodes.
#[derive(Debug, Default)]
pub(crate) struct RetryPause {
    tries: u32,
}

impl RetryPause {
    /// Waits. False if there is no time left.
    pub(crate) async fn wait(&mut self, until: Instant) -> bool {
        let longest = PAUSE.saturating_mul(1 << self.tries.min(6)).min(PAUSE_MAX);
        self.tries += 1;
        let mut chance = [0; 2];
        // Without chance two nodes may try at the same moment, and then again.
        let _ = getrandom::fill(&mut chance);
        let share = u32::from(u16::from_be_bytes(chance)) + 1;
        let pause = longest.saturating_mul(share) / (u32::from(u16::MAX) + 1);
        if Instant::now() + pause >= until {
            return false;
        }
        sleep(pause).await;
        true
    }
}

fn failed(error: &tokio_postgres::Error) -> Error {
    match kind_of(error) {
        FailureKind::Final | FailureKind::Taken => Error::Refused(text_of(error)),
        FailureKind::Again | FailureKind::Lost => Error::Away(text_of(error)),
    }
}

async fn put(
    connection: &Connection,
    question: Question<'_>,
    values: &Values<'_>,
) -> Result<(Vec<Row>, u64), tokio_postgres::Error> {
    let client = &connection.client;
    match question {
        Question::Read => Ok((client.query(&connection.read, values).await?, 0)),
        Question::Rows(sql) => Ok((client.query(sql, values).await?, 0)),
        Question::Change(sql) => Ok((Vec::new(), client.execute(sql, values).await?)),
    }
}

/// A connection without statements, for what happens once.
pub(crate) async fn connect_plainly(settings: &LedgerSettings) -> Result<Client> {
    connect_with(settings, DatabaseTls::new(&settings.tls)?).await
}

async fn connect_with(settings: &LedgerSettings, tls: DatabaseTls) -> Result<Client> {
    let connecting = timeout(CONNECT_WAIT, settings.config.connect(tls)).await;
    let (client, connection) = connecting
        .map_err(|_| Error::Away("it takes too long".to_owned()))?
        .map_err(|error| failed(&error))?;
    tokio::spawn(async move {
        // Whoever uses the connection is told what went wrong with it.
        let _ = connection.await;
    });
    let limit = STATEMENT_WAIT.saturating_sub(Duration::from_millis(500)).as_millis();
    let prelude = format!(
        "SET statement_timeout = {limit}; \
         SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write'); {BY_KEY}"
    );
    let begun = timeout(STATEMENT_WAIT, client.batch_execute(&prelude)).await;
    begun
        .map_err(|_| Error::Away("it takes too long".to_owned()))?
        .map_err(|error| failed(&error))?;
    Ok(client)
}

/// The version of the tables, and of the entries in them; `None` if there are no tables.
pub(crate) async fn version_of(client: &Client) -> Result<Option<(i32, i32)>> {
    let found = client
        .query_opt("SELECT version, entries FROM cortex.schema ORDER BY version DESC LIMIT 1", &[])
        .await;
    match found {
        Ok(row) => Ok(row.map(|row| (row.get(0), row.get(1)))),
        // No such table, no such schema.
        Err(error) if error.code().is_some_and(|c| ["42P01", "3F000"].contains(&c.code())) => {
            Ok(None)
        }
        Err(error) => Err(failed(&error)),
    }
}

/// A program writes only what all others read: one version of tables and of entries, set when the ledger was made.
pub(crate) async fn check_version(client: &Client) -> Result<()> {
    let own = i32::try_from(SCHEMA).unwrap_or(i32::MAX);
    match version_of(client).await? {
        None => Err(Error::Empty),
        Some((found, _)) if found != VERSION => Err(Error::Version { found, expected: VERSION }),
        Some((_, found)) if found != own => Err(Error::Version { found, expected: own }),
        Some(_) => Ok(()),
    }
}
