//! The alternative a user would pick: SQLite in WAL mode with full sync, given the very batches that our store commits.
//!
//! `Recorder` sits between the kernel and its store and keeps each write set; `Sqlite` commits the same rows, one
//! transaction per write set. SQLite does no hashing and no checking here: it only stores what we store.

use std::path::Path;
use std::sync::{Arc, Mutex};

use kernel::Result;
use kernel::store::{Reader, Space, Storage, WriteSet};
use rusqlite::{Connection, params};

pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    pub fn open(path: &Path) -> Sqlite {
        let connection = Connection::open(path).expect("a writable folder");
        connection
            .execute_batch(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;
                 CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID;",
            )
            .expect("a fresh database");
        Sqlite { connection }
    }

    /// Commits one write set in one transaction.
    pub fn commit(&mut self, writes: &WriteSet) {
        let transaction = self.connection.transaction().expect("no other writer");
        {
            let mut put = transaction
                .prepare_cached("INSERT OR REPLACE INTO kv VALUES (?1, ?2)")
                .expect("a valid statement");
            let mut delete =
                transaction.prepare_cached("DELETE FROM kv WHERE k = ?1").expect("a valid statement");
            for (space, rows) in writes.iter() {
                let space = match space {
                    Space::Truth => b'1',
                    Space::Derived(_) => b'2',
                    Space::Engine => b'3',
                };
                for (key, value) in rows {
                    let key = [&[space][..], key].concat();
                    match value {
                        Some(value) => put.execute(params![key, value]),
                        None => delete.execute(params![key]),
                    }
                    .expect("a writable table");
                }
            }
        }
        transaction.commit().expect("a writable disk");
    }
}

/// A store that keeps a copy of everything committed to it.
#[derive(Debug)]
pub struct Recorder {
    inner: Box<dyn Storage>,
    taken: Arc<Mutex<Vec<WriteSet>>>,
}

impl Recorder {
    pub fn new(inner: Box<dyn Storage>) -> (Recorder, Arc<Mutex<Vec<WriteSet>>>) {
        let taken = Arc::default();
        (Recorder { inner, taken: Arc::clone(&taken) }, taken)
    }
}

impl Storage for Recorder {
    fn reader(&self) -> Result<Box<dyn Reader>> {
        self.inner.reader()
    }

    fn commit(&self, writes: &WriteSet) -> Result<()> {
        self.taken.lock().expect("no panic while recording").push(writes.clone());
        self.inner.commit(writes)
    }

    fn rewrite(&self) -> Result<()> {
        self.inner.rewrite()
    }

    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn size_bytes(&self) -> Result<u64> {
        self.inner.size_bytes()
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }
}
