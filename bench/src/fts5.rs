//! SQLite FTS5: the full-text search people have at hand.
//!
//! An index without a copy of the text, `porter unicode61`, title, content and tags as columns, ranked by `bm25()` with the
//! weights that Cortex gives them. A question is the OR of its words: with AND hardly any natural question finds anything.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::Outcome;
use crate::corpus::Memory;
use crate::engine::Engine;
use crate::question_words::{AS_ASKED, WAYS, words};

pub struct Fts5(Connection);

impl Fts5 {
    fn connect(folder: &Path) -> Outcome<Connection> {
        let connection = Connection::open(folder.join("fts5.db"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // As much cache as Cortex has.
        connection.pragma_update(None, "cache_size", -(64 << 10))?;
        Ok(connection)
    }
}

impl Engine for Fts5 {
    const WAYS: &'static [&'static str] = &WAYS;

    fn create(folder: &Path) -> Outcome<Fts5> {
        let connection = Fts5::connect(folder)?;
        connection.execute_batch(
            "CREATE VIRTUAL TABLE memories USING fts5(
                 title, content, tags, content='', tokenize='porter unicode61');
             INSERT INTO memories(memories, rank) VALUES('rank', 'bm25(3.0, 1.0, 2.0)');",
        )?;
        Ok(Fts5(connection))
    }

    fn open(folder: &Path) -> Outcome<Fts5> {
        Ok(Fts5(Fts5::connect(folder)?))
    }

    fn add(&mut self, memories: Vec<Memory>) -> Outcome<()> {
        let transaction = self.0.transaction()?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO memories(rowid, title, content, tags) VALUES(?, ?, ?, ?)",
        )?;
        for memory in memories {
            let tags = format!("{} {}", memory.tags.join(" "), memory.speaker.unwrap_or_default());
            let row = memory.number as i64 + 1;
            insert.execute(params![row, memory.title, memory.content, tags])?;
        }
        drop(insert);
        Ok(transaction.commit()?)
    }

    fn settle(&mut self) -> Outcome<()> {
        self.0.execute_batch(
            "INSERT INTO memories(memories) VALUES('optimize');
             PRAGMA wal_checkpoint(TRUNCATE);
             VACUUM;
             PRAGMA wal_checkpoint(TRUNCATE);",
        )?;
        Ok(())
    }

    fn ask(&mut self, way: &str, question: &str) -> Outcome<Vec<u64>> {
        let quoted: Vec<String> =
            words(way == AS_ASKED, question).iter().map(|word| format!("\"{word}\"")).collect();
        // `ORDER BY rank` is bm25() by the fastest way FTS5 has.
        let mut select = self.0.prepare_cached(
            "SELECT rowid FROM memories WHERE memories MATCH ? ORDER BY rank LIMIT 10",
        )?;
        let rows = select.query_map([quoted.join(" OR ")], |row| row.get::<_, i64>(0))?;
        let rows: Vec<i64> = rows.collect::<Result<_, _>>()?;
        Ok(rows.into_iter().map(|row| row as u64 - 1).collect())
    }
}
