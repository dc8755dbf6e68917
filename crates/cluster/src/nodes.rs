//! The nodes that are there: a row each, with a heartbeat. The database's clock decides who is.

use crate::error::{Error, Result};
use crate::ledger::PostgresLedger;
use proof::journal::SCHEMA;

/// How long a node counts as there without a heartbeat, in seconds.
pub(crate) const LIVES_SECONDS: i64 = 3;
/// How long a node that is gone is listed, in seconds.
const LISTED_SECONDS: i64 = 86_400;
/// The most nodes.
const NODES_MAX: i64 = 1_024;

/// A node as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub name: String,
    pub url: String,
    pub version: String,
    /// Milliseconds since its last heartbeat.
    pub seen_ms_ago: i64,
    pub is_alive: bool,
    /// Actors it has open, and entries that the most outdated of them lacks.
    pub actors: i64,
    pub lag: i64,
}

/// What a heartbeat says.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat<'a> {
    pub(crate) name: &'a str,
    pub(crate) url: &'a str,
    pub(crate) actors: i64,
    pub(crate) lag: i64,
}

impl PostgresLedger {
    /// Every node of the last day.
    pub async fn nodes(&self) -> Result<Vec<Peer>> {
        let sql = "SELECT name, url, version, (extract(epoch from now() - seen) * 1000)::int8, actors, lag \
                   FROM cortex.node ORDER BY name LIMIT $1";
        let rows = self.pool.rows(sql, &[&NODES_MAX]).await?;
        let peer = |row: &tokio_postgres::Row| {
            let seen_ms_ago: i64 = row.get(3);
            Peer {
                name: row.get(0),
                url: row.get(1),
                version: row.get(2),
                seen_ms_ago,
                is_alive: seen_ms_ago <= LIVES_SECONDS * 1_000,
                actors: row.get(4),
                lag: row.get(5),
            }
        };
        Ok(rows.iter().map(peer).collect())
    }

    /// Says that a node is there, and forgets those that were not for long. False: another process has its name.
    pub(crate) async fn beat(&self, beat: &Heartbeat<'_>) -> Result<bool> {
        let entries = i32::try_from(SCHEMA).unwrap_or(i32::MAX);
        let version = env!("CARGO_PKG_VERSION");
        let held = "SELECT instance FROM cortex.node WHERE name = $1 \
                    AND seen > now() - $2::int8 * interval '1 second'";
        let former = self.pool.row(held, &[&beat.name, &LIVES_SECONDS]).await?;
        let sql = "INSERT INTO cortex.node (name, url, instance, version, entries, started, seen, actors, lag) \
                   VALUES ($1, $2, $3, $4, $5, now(), now(), $6, $7) ON CONFLICT (name) DO UPDATE SET \
                   url = excluded.url, instance = excluded.instance, version = excluded.version, \
                   entries = excluded.entries, seen = excluded.seen, actors = excluded.actors, lag = excluded.lag";
        let Heartbeat { name, url, actors, lag } = beat;
        self.pool
            .change(sql, &[name, url, &self.instance, &version, &entries, actors, lag])
            .await?;
        let former: Option<String> = former.map(|row| row.get(0));
        if former.as_ref() != Some(&self.instance) {
            self.tell_of_this_node().await;
        }
        Ok(former.is_none_or(|instance| instance == self.instance))
    }

    pub(crate) async fn sweep_nodes(&self) -> Result<()> {
        let sql = "DELETE FROM cortex.node WHERE seen < now() - $1::int8 * interval '1 second'";
        self.pool.change(sql, &[&LISTED_SECONDS]).await.map(drop)
    }

    /// Says that a node goes, so that nobody waits for its heartbeat.
    pub(crate) async fn leave(&self, name: &str) -> Result<()> {
        let sql = "DELETE FROM cortex.node WHERE name = $1 AND instance = $2";
        self.pool.change(sql, &[&name, &self.instance]).await?;
        self.tell_of_this_node().await;
        Ok(())
    }

    /// What all nodes know and nobody else.
    pub(crate) async fn node_secret(&self) -> Result<Vec<u8>> {
        let sql = "SELECT value FROM cortex.secret WHERE name = 'nodes'";
        let found = self.pool.row(sql, &[]).await?;
        found.map(|row| row.get(0)).ok_or(Error::Empty)
    }
}
