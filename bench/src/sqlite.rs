//! The alternative a user would pick: SQLite in WAL mode with full sync, doing the same batches.
//!
//! The kernel reaches its engine through a narrow trait, so the comparison is exact: the same kernel, the same commands, the
//! same rows in the same transactions, with SQLite underneath instead of our store.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kernel::store::{FreshCopy, KeyRange, StoreReader, Side, Space, Storage, Visit, WriteSet};
use kernel::{Error, Result};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

type Pool = Arc<Mutex<Vec<Connection>>>;

pub struct SqliteStorage {
    path: PathBuf,
    writer: Mutex<Connection>,
    /// Connections of readers that are done, for the next ones.
    idle: Pool,
    /// What is committed, while somebody wants to know.
    kept: Mutex<Option<Vec<WriteSet>>>,
}

impl fmt::Debug for SqliteStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStorage").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteStorage {
    pub fn open(path: &Path, birth: &WriteSet) -> Result<SqliteStorage> {
        let writer = connect(path)?;
        let idle = Pool::default();
        let (path, writer, kept) = (path.to_owned(), Mutex::new(writer), Mutex::new(None));
        let storage = SqliteStorage { path, writer, idle, kept };
        storage.commit(birth)?;
        Ok(storage)
    }

    /// Keeps the rows of every commit from now on.
    pub fn keep_commits(&self) {
        *self.kept.lock().expect("no panic while keeping") = Some(Vec::new());
    }

    /// The rows that were kept; no more are.
    pub fn kept_commits(&self) -> Vec<WriteSet> {
        self.kept.lock().expect("no panic while keeping").take().unwrap_or_default()
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path).map_err(failed)?;
    connection
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;
             CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID;",
        )
        .map_err(failed)?;
    Ok(connection)
}

fn failed(error: rusqlite::Error) -> Error {
    Error::Storage(error.to_string().as_str().into())
}

fn prefix(space: Space) -> u8 {
    match space {
        Space::Truth => b'1',
        Space::Derived(Side::A) => b'2',
        Space::Derived(Side::B) => b'3',
        Space::Engine => b'4',
    }
}

fn full_key(space: Space, key: &[u8]) -> Vec<u8> {
    [&[prefix(space)][..], key].concat()
}

impl Storage for SqliteStorage {
    fn reader(&self) -> Result<Box<dyn StoreReader + Send>> {
        let idle = self.idle.lock().expect("no panic while pooling").pop();
        let connection = idle.map_or_else(|| connect(&self.path), Ok)?;
        connection.execute_batch("BEGIN").map_err(failed)?;
        Ok(Box::new(SqliteReader { connection: Some(connection), idle: Arc::clone(&self.idle) }))
    }

    fn commit(&self, writes: &WriteSet) -> Result<()> {
        if let Some(kept) = &mut *self.kept.lock().expect("no panic while keeping") {
            kept.push(writes.clone());
        }
        let mut connection = self.writer.lock().expect("no panic while writing");
        let transaction = connection.transaction().map_err(failed)?;
        {
            let mut clear = transaction
                .prepare_cached("DELETE FROM kv WHERE k >= ?1 AND k < ?2")
                .map_err(failed)?;
            for space in writes.cleared() {
                clear.execute([vec![prefix(space)], vec![prefix(space) + 1]]).map_err(failed)?;
            }
            let mut put = transaction
                .prepare_cached("INSERT OR REPLACE INTO kv VALUES (?1, ?2)")
                .map_err(failed)?;
            let mut delete =
                transaction.prepare_cached("DELETE FROM kv WHERE k = ?1").map_err(failed)?;
            for (space, rows) in writes.iter() {
                for (key, value) in rows {
                    let key = full_key(space, key);
                    match value {
                        Some(value) => put.execute((key, value)),
                        None => delete.execute([key]),
                    }
                    .map_err(failed)?;
                }
            }
        }
        transaction.commit().map_err(failed)
    }

    fn begin_copy(&self) -> Result<FreshCopy> {
        Err(Error::Storage("not part of the comparison".into()))
    }

    fn replace_by(&self, _: FreshCopy) -> Result<()> {
        Err(Error::Storage("not part of the comparison".into()))
    }

    fn rewrite(&self) -> Result<()> {
        Err(Error::Storage("not part of the comparison".into()))
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn size_bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(&self.path).map_or(0, |file| file.len()))
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

struct SqliteReader {
    connection: Option<Connection>,
    idle: Pool,
}

impl SqliteReader {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("taken only by drop")
    }
}

impl Drop for SqliteReader {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && connection.execute_batch("ROLLBACK").is_ok()
        {
            self.idle.lock().expect("no panic while pooling").push(connection);
        }
    }
}

impl StoreReader for SqliteReader {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut get =
            self.connection().prepare_cached("SELECT v FROM kv WHERE k = ?1").map_err(failed)?;
        let mut rows = get.query([full_key(space, key)]).map_err(failed)?;
        rows.next().map_err(failed)?.map(|row| row.get(0).map_err(failed)).transpose()
    }

    fn scan(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        let from = full_key(space, &range.from);
        let to =
            range.to.as_ref().map_or_else(|| vec![prefix(space) + 1], |to| full_key(space, to));
        let order = if range.reverse { "DESC" } else { "ASC" };
        let query = format!("SELECT k, v FROM kv WHERE k >= ?1 AND k < ?2 ORDER BY k {order}");
        let mut scan = self.connection().prepare_cached(&query).map_err(failed)?;
        let bounds = [Value::Blob(from), Value::Blob(to)];
        let mut rows = scan.query(params_from_iter(bounds)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let key: Vec<u8> = row.get(0).map_err(failed)?;
            let value: Vec<u8> = row.get(1).map_err(failed)?;
            if visit(&key[1..], &value)? == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}
