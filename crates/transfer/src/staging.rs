//! The staging database, where records wait until all of them are known.
//!
//! A private SQLite database in a temporary file that has no name and is gone when it is closed, whatever happens. It
//! gives an import what it needs without holding everything in memory: the order of dates over all tables of the
//! source, totals for the progress, and names of memories for edges that come before what they point at.

use rusqlite::{Connection, OptionalExtension, params};

use crate::record::Step;
use crate::{Error, Result};

/// Pages in memory, in KiB.
const CACHE_KIB: i64 = 8_192;

#[derive(Debug)]
pub(super) struct StagingDatabase {
    db: Connection,
    total: i64,
}

/// A step with its place in the order.
#[derive(Debug)]
pub(super) struct StagedStep {
    pub(super) place: i64,
    pub(super) at: Option<i64>,
    /// What the step is about, for the report.
    pub(super) what: String,
    /// It was put off already.
    pub(super) last_chance: bool,
    pub(super) step: Step,
}

impl StagingDatabase {
    pub(super) fn new() -> Result<StagingDatabase> {
        // An empty name is SQLite's word for a private file that is deleted on close.
        let db = Connection::open("")?;
        db.pragma_update(None, "journal_mode", "OFF")?;
        db.pragma_update(None, "synchronous", "OFF")?;
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        db.execute_batch(
            "CREATE TABLE step (n INTEGER PRIMARY KEY, at INTEGER, what TEXT NOT NULL, json BLOB NOT NULL);
             CREATE TABLE turn (place INTEGER PRIMARY KEY, n INTEGER NOT NULL);
             CREATE TABLE alias (name TEXT PRIMARY KEY, origin TEXT NOT NULL) WITHOUT ROWID;
             CREATE TABLE note (n INTEGER PRIMARY KEY, owner TEXT NOT NULL, line TEXT NOT NULL);
             CREATE INDEX note_owner ON note (owner, n);
             CREATE TABLE planned (origin TEXT PRIMARY KEY) WITHOUT ROWID;
             BEGIN;",
        )?;
        Ok(StagingDatabase { db, total: 0 })
    }

    pub(super) fn push(&self, at: Option<i64>, what: &str, step: &Step) -> Result<()> {
        let json = serde_json::to_vec(step)
            .map_err(|error| Error::Source { what: what.to_owned(), reason: error.to_string() })?;
        self.db
            .prepare_cached("INSERT INTO step (at, what, json) VALUES (?1, ?2, ?3)")?
            .execute(params![at, what, json])?;
        Ok(())
    }

    /// Everything is staged; from here on it is read, by date. What has no date comes last.
    pub(super) fn close(&mut self) -> Result<()> {
        self.db.execute_batch(
            "INSERT INTO turn (n) SELECT n FROM step ORDER BY at IS NULL, at, n; COMMIT;",
        )?;
        self.total = self.db.query_row("SELECT count(*) FROM step", [], |row| row.get(0))?;
        Ok(())
    }

    /// Steps in all.
    pub(super) fn total(&self) -> u64 {
        self.total.unsigned_abs()
    }

    /// The next steps after a place in the order.
    pub(super) fn next(&self, after: i64, max: u32) -> Result<Vec<StagedStep>> {
        let mut query = self.db.prepare_cached(
            "SELECT place, at, what, json FROM turn JOIN step USING (n) WHERE place > ?1
             ORDER BY place LIMIT ?2",
        )?;
        let mut rows = query.query(params![after, max])?;
        let mut steps = Vec::new();
        while let Some(row) = rows.next()? {
            let json: Vec<u8> = row.get(3)?;
            let step = serde_json::from_slice(&json).map_err(|error| Error::Source {
                what: "a staged record".into(),
                reason: error.to_string(),
            })?;
            let place: i64 = row.get(0)?;
            let last_chance = place > self.total;
            steps.push(StagedStep { place, at: row.get(1)?, what: row.get(2)?, last_chance, step });
        }
        Ok(steps)
    }

    /// Puts a step off until everything else is done: it speaks of something that is not there yet.
    pub(super) fn put_off(&self, staged: &StagedStep) -> Result<()> {
        self.db
            .prepare_cached("INSERT INTO turn (n) SELECT n FROM turn WHERE place = ?1")?
            .execute([staged.place])?;
        Ok(())
    }

    /// Another name for a memory. The first use of a name wins.
    pub(super) fn alias(&self, name: &str, origin: &str) -> Result<()> {
        self.db
            .prepare_cached("INSERT OR IGNORE INTO alias (name, origin) VALUES (?1, ?2)")?
            .execute([name, origin])?;
        Ok(())
    }

    pub(super) fn origin_of(&self, name: &str) -> Result<Option<String>> {
        let mut query = self.db.prepare_cached("SELECT origin FROM alias WHERE name = ?1")?;
        Ok(query.query_row([name], |row| row.get(0)).optional()?)
    }

    /// A line of text about something that comes later in the source.
    pub(super) fn note(&self, owner: &str, line: &str) -> Result<()> {
        self.db
            .prepare_cached("INSERT INTO note (owner, line) VALUES (?1, ?2)")?
            .execute([owner, line])?;
        Ok(())
    }

    pub(super) fn notes(&self, owner: &str) -> Result<Vec<String>> {
        let mut query =
            self.db.prepare_cached("SELECT DISTINCT line FROM note WHERE owner = ?1 ORDER BY n")?;
        let lines = query.query_map([owner], |row| row.get(0))?;
        Ok(lines.collect::<Result<_, _>>()?)
    }

    /// In a dry run: a memory that would be written.
    pub(super) fn plan(&self, origin: &str) -> Result<bool> {
        let added = self
            .db
            .prepare_cached("INSERT OR IGNORE INTO planned (origin) VALUES (?1)")?
            .execute([origin])?;
        Ok(added > 0)
    }

    pub(super) fn is_planned(&self, origin: &str) -> Result<bool> {
        let mut query = self.db.prepare_cached("SELECT 1 FROM planned WHERE origin = ?1")?;
        Ok(query.exists([origin])?)
    }
}
