//! Databases of agents: opened to read only, whatever tables and columns they have.
//!
//! What must stay true: nothing is written and no file is left behind. A database that nobody has open is read as a
//! file that does not change; one that is in use is read with SQLite's own locks, its log included. A cell that is
//! too large is never loaded.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::limits::CELL_BYTES_MAX;

const BUSY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct AgentDatabase {
    connection: Connection,
    path: PathBuf,
}

/// A cell as a text; numbers are texts too.
pub(super) type TextRow = Vec<Option<String>>;

impl AgentDatabase {
    pub(super) fn open(path: &Path) -> Result<AgentDatabase> {
        let failed = |error: rusqlite::Error| Error::source(path, error);
        let mut log = OsString::from(path);
        log.push("-wal");
        let name =
            path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        // Without a log nobody is writing, and to open it as usual would make one.
        let unchanging = if Path::new(&log).exists() { "" } else { "&immutable=1" };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection =
            Connection::open_with_flags(format!("file:{name}?mode=ro{unchanging}"), flags)
                .map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        // One transaction: every table as it was at one moment.
        connection.execute_batch("BEGIN").map_err(failed)?;
        Ok(AgentDatabase { connection, path: path.to_owned() })
    }

    /// The columns of a table; none if it is not there.
    pub(super) fn columns(&self, table: &str) -> Result<BTreeSet<String>> {
        let failed = |error: rusqlite::Error| Error::source(&self.path, error);
        let mut query =
            self.connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(failed)?;
        let names = query.query_map([table], |row| row.get(0)).map_err(failed)?;
        names.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    /// Visits rows of a table: the columns that are wanted, and nothing for those that are not there. `table`,
    /// `wanted`, `by` and `order` are names that a reader knows, never what a person wrote.
    pub(super) fn each(
        &self,
        table: &str,
        wanted: &[&str],
        by: Option<(&str, &str)>,
        order: &str,
        visit: &mut dyn FnMut(&TextRow),
    ) -> Result<()> {
        let there = self.columns(table)?;
        if there.is_empty() {
            return Ok(());
        }
        let cells = wanted.iter().map(|name| cell(name, &there)).collect::<Vec<_>>().join(", ");
        let condition = by.map_or(String::new(), |(column, _)| format!(" WHERE {column} = ?1"));
        let failed = |error: rusqlite::Error| Error::source(&self.path, error);
        let mut query = self
            .connection
            .prepare(&format!("SELECT {cells} FROM {table}{condition} ORDER BY {order}"))
            .map_err(failed)?;
        let mut rows = match by {
            Some((_, value)) => query.query([value]),
            None => query.query([]),
        }
        .map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            visit(&texts_of(row, wanted.len()).map_err(failed)?);
        }
        Ok(())
    }

    /// Visits rows whose key lies between two texts, the second not included, in order of the key.
    pub(super) fn each_in_range(
        &self,
        table: &str,
        wanted: &[&str],
        (key, from, to): (&str, &str, &str),
        visit: &mut dyn FnMut(&TextRow),
    ) -> Result<()> {
        let there = self.columns(table)?;
        if there.is_empty() {
            return Ok(());
        }
        let failed = |error: rusqlite::Error| Error::source(&self.path, error);
        let cells = wanted.iter().map(|name| cell(name, &there)).collect::<Vec<_>>().join(", ");
        let sql =
            format!("SELECT {cells} FROM {table} WHERE {key} >= ?1 AND {key} < ?2 ORDER BY {key}");
        let mut query = self.connection.prepare(&sql).map_err(failed)?;
        let mut rows = query.query([from, to]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            visit(&texts_of(row, wanted.len()).map_err(failed)?);
        }
        Ok(())
    }

    /// Visits all rows of a table with one column as bytes. A row whose bytes are too many is passed over.
    pub(super) fn each_with_bytes(
        &self,
        table: &str,
        wanted: &[&str],
        bytes: &str,
        order: &str,
        visit: &mut dyn FnMut(&TextRow, &[u8]),
    ) -> Result<()> {
        let there = self.columns(table)?;
        if !there.contains(bytes) {
            return Ok(());
        }
        let failed = |error: rusqlite::Error| Error::source(&self.path, error);
        let all = wanted.iter().chain([&bytes]).map(|name| cell(name, &there));
        let cells = all.collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT {cells} FROM {table} ORDER BY {order}");
        let mut query = self.connection.prepare(&sql).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let texts = texts_of(row, wanted.len()).map_err(failed)?;
            if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) =
                row.get_ref(wanted.len()).map_err(failed)?
            {
                visit(&texts, bytes);
            }
        }
        Ok(())
    }

    /// How many rows belong to something, and how many bytes one of their columns has.
    pub(super) fn weight(&self, table: &str, column: &str, by: (&str, &str)) -> Result<String> {
        let sql = format!(
            "SELECT count(*) || '/' || ifnull(sum(octet_length({column})), 0) FROM {table} WHERE {} = ?1",
            by.0
        );
        self.connection
            .query_row(&sql, [by.1], |row| row.get(0))
            .map_err(|error| Error::source(&self.path, error))
    }
}

/// A column that is there, unless it is too large; nothing otherwise.
fn cell(name: &str, there: &BTreeSet<String>) -> String {
    if there.contains(name) {
        format!("CASE WHEN octet_length({name}) > {CELL_BYTES_MAX} THEN NULL ELSE {name} END")
    } else {
        "NULL".to_owned()
    }
}

/// The first cells of a row as texts.
fn texts_of(row: &rusqlite::Row<'_>, count: usize) -> rusqlite::Result<TextRow> {
    let mut texts = TextRow::with_capacity(count);
    for at in 0..count {
        texts.push(match row.get_ref(at)? {
            ValueRef::Null => None,
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(format!("{number:.0}")),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
        });
    }
    Ok(texts)
}
