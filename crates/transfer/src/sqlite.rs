//! Databases of other tools: opened to read only, in one transaction, with whatever tables and columns they have.
//!
//! The tool may be running: SQLite's own locking gives us its last committed state, the write-ahead log included. Where
//! that needs files we may not make (a folder we cannot write to), or would leave files behind (nobody has the database
//! open), a private copy is read instead. A cell that is too large is never loaded, one that is no UTF-8 costs its row
//! and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::{Error, Result};

/// Bytes of one cell. More than any text the kernel takes, so that it is the kernel's bound that is met.
const CELL_BYTES_MAX: i64 = 4 * 1_048_576;
const BUSY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Database {
    db: Connection,
    path: PathBuf,
    /// Dropped after the connection, and removed then.
    _copy: Option<CopyFolder>,
}

/// The folder of a private copy.
#[derive(Debug)]
struct CopyFolder(PathBuf);

impl Drop for CopyFolder {
    fn drop(&mut self) {
        // A copy that cannot be removed lies in the folder for temporary files, which the system empties.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Database> {
        if !path.is_file() {
            let error = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::file(path, error));
        }
        if rests(path)? {
            let (folder, copy) = private_copy(path)?;
            let copied = CopyFolder(folder);
            // If its tool woke up meanwhile, the copy may be torn; its locks are then there to be used.
            if !beside(path, "-wal").exists()
                && let Ok(db) = connect(&copy)
            {
                return Ok(Database { db, path: path.to_owned(), _copy: Some(copied) });
            }
        }
        let direct = match connect(path) {
            Ok(db) => return Ok(Database { db, path: path.to_owned(), _copy: None }),
            Err(error) => error,
        };
        let (folder, copy) = private_copy(path)?;
        let copied = CopyFolder(folder);
        match connect(&copy) {
            Ok(db) => Ok(Database { db, path: path.to_owned(), _copy: Some(copied) }),
            // What is wrong with the database itself is the message that helps.
            Err(_) => Err(Error::source(path, direct)),
        }
    }

    pub(super) fn tables(&self) -> Result<BTreeSet<String>> {
        let failed = |error| Error::source(&self.path, error);
        let mut query = self
            .db
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
            .map_err(failed)?;
        let names = query.query_map([], |row| row.get(0)).map_err(failed)?;
        names.collect::<Result<_, _>>().map_err(failed)
    }

    fn columns(&self, table: &str) -> Result<BTreeSet<String>> {
        let failed = |error| Error::source(&self.path, error);
        let mut query =
            self.db.prepare("SELECT name FROM pragma_table_info(?1)").map_err(failed)?;
        let names = query.query_map([table], |row| row.get(0)).map_err(failed)?;
        names.collect::<Result<_, _>>().map_err(failed)
    }

    /// True if the table is there with all of these columns.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> Result<bool> {
        let there = self.columns(table)?;
        Ok(columns.iter().all(|column| there.contains(*column)))
    }

    /// Rows of a table, `0` if it is not there.
    pub(super) fn count(&self, table: &str) -> Result<u64> {
        if self.columns(table)?.is_empty() {
            return Ok(0);
        }
        let count: i64 = self
            .db
            .query_row(&format!("SELECT count(*) FROM {}", quoted(table)), [], |row| row.get(0))
            .map_err(|error| Error::source(&self.path, error))?;
        Ok(count.unsigned_abs())
    }

    /// Visits every row. Each wanted column is a list of names it has had; the first that is there is read, and one
    /// that is nowhere reads as nothing. A table that is not there has no rows.
    pub(super) fn each(
        &self,
        table: &str,
        wanted: &[&[&str]],
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let there = self.columns(table)?;
        if there.is_empty() {
            return Ok(());
        }
        let cells: Vec<String> = wanted
            .iter()
            .map(|names| match names.iter().find(|name| there.contains(**name)) {
                // What is too large comes as its length, which is no text.
                Some(name) => format!(
                    "CASE WHEN octet_length({0}) > {CELL_BYTES_MAX} THEN octet_length({0}) ELSE {0} END",
                    quoted(name)
                ),
                None => "NULL".to_owned(),
            })
            .collect();
        let sql =
            format!("SELECT rowid, {} FROM {} ORDER BY rowid", cells.join(", "), quoted(table));
        let failed = |error| Error::source(&self.path, error);
        let mut query = self.db.prepare(&sql).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        let mut row = Row {
            table: table.to_owned(),
            id: 0,
            names: wanted.iter().map(|names| names[0].to_owned()).collect(),
            cells: Vec::new(),
        };
        while let Some(found) = rows.next().map_err(failed)? {
            row.id = found.get(0).map_err(failed)?;
            row.cells.clear();
            for n in 1..=wanted.len() {
                row.cells.push(Cell::of(found.get_ref(n).map_err(failed)?));
            }
            visit(&row)?;
        }
        Ok(())
    }
}

/// True for a database that keeps a log but has none now: nobody has it open. To open it there would leave files
/// behind.
fn rests(path: &Path) -> Result<bool> {
    let mut header = [0; 20];
    let read = std::fs::File::open(path)
        .and_then(|mut file| file.read_exact(&mut header))
        .map(|()| true)
        .or_else(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Ok(false),
            _ => Err(Error::file(path, error)),
        })?;
    // Bytes 18 and 19 say how it is written and read; 2 is with a log.
    Ok(read && header[18] == 2 && !beside(path, "-wal").exists())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    db.busy_timeout(BUSY)?;
    // One transaction: every table as it was at one moment. The first read takes the snapshot and meets what is wrong.
    db.execute_batch("BEGIN")?;
    db.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    Ok(db)
}

/// The database and its log in a folder of their own, readable by nobody else.
fn private_copy(path: &Path) -> Result<(PathBuf, PathBuf)> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| Error::file(path, std::io::Error::other(error.to_string())))?;
    let name = format!("cortex-import-{}", kernel::digest::encode_hex(&random));
    let folder = std::env::temp_dir().join(name);
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).map_err(|error| Error::file(&folder, error))?;
    let copy = folder.join("copy.db");
    let copied =
        std::fs::copy(path, &copy).map_err(|error| Error::file(path, error)).and_then(|_| {
            let log = beside(path, "-wal");
            if log.is_file() {
                std::fs::copy(&log, beside(&copy, "-wal"))
                    .map_err(|error| Error::file(&log, error))?;
            }
            Ok(())
        });
    if let Err(error) = copied {
        // The copy is of no use any more, and the error to report is the one that came first.
        let _ = std::fs::remove_dir_all(&folder);
        return Err(error);
    }
    Ok((folder, copy))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A name as SQL takes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[derive(Debug)]
pub(super) struct Row {
    table: String,
    pub(super) id: i64,
    names: Vec<String>,
    cells: Vec<Cell>,
}

#[derive(Debug)]
enum Cell {
    Nothing,
    Integer(i64),
    Real(f64),
    Text(String),
    /// A text that is none.
    NotText,
}

impl Cell {
    fn of(value: ValueRef<'_>) -> Cell {
        match value {
            ValueRef::Null => Cell::Nothing,
            ValueRef::Integer(number) => Cell::Integer(number),
            ValueRef::Real(number) => Cell::Real(number),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cell::Text(text.to_owned()),
                Err(_) => Cell::NotText,
            },
        }
    }
}

/// Why a row cannot be read.
pub(super) type Bad = String;

impl Row {
    pub(super) fn what(&self) -> String {
        format!("{} {}", self.table, self.id)
    }

    /// A text that is not empty. Numbers are texts too; a number too large for one is the length of what was not
    /// loaded.
    pub(super) fn text(&self, n: usize) -> std::result::Result<Option<String>, Bad> {
        match &self.cells[n] {
            Cell::Nothing => Ok(None),
            Cell::Text(text) if text.trim().is_empty() => Ok(None),
            Cell::Text(text) => Ok(Some(text.clone())),
            Cell::Integer(length) if *length > CELL_BYTES_MAX => {
                Err(format!("its {} has {length} bytes", self.names[n]))
            }
            Cell::Integer(number) => Ok(Some(number.to_string())),
            Cell::Real(number) => Ok(Some(number.to_string())),
            Cell::NotText => Err(format!("its {} is not UTF-8", self.names[n])),
        }
    }

    pub(super) fn integer(&self, n: usize) -> Option<i64> {
        match &self.cells[n] {
            Cell::Integer(number) => Some(*number),
            Cell::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn real(&self, n: usize) -> Option<f64> {
        match &self.cells[n] {
            Cell::Real(number) => Some(*number),
            Cell::Text(text) => text.trim().parse().ok(),
            // Weights and confidences are small.
            Cell::Integer(number) => i32::try_from(*number).ok().map(f64::from),
            _ => None,
        }
    }

    pub(super) fn time(&self, n: usize) -> Option<i64> {
        match &self.cells[n] {
            Cell::Integer(number) => crate::dates::epoch(*number),
            Cell::Text(text) => crate::dates::parse(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(db: &Database) -> Vec<String> {
        let mut found = Vec::new();
        db.each("t", &[&["nowhere", "name"], &["missing"]], &mut |row| {
            assert!(matches!(row.text(1), Ok(None)));
            found.push(row.text(0).unwrap_or_else(Some).unwrap_or_default());
            Ok(())
        })
        .unwrap();
        found
    }

    /// The copy that is read where the folder of the database cannot be written to.
    #[test]
    fn a_private_copy_has_what_is_in_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let running = Connection::open(&path).unwrap();
        running.pragma_update(None, "journal_mode", "WAL").unwrap();
        running
            .execute_batch("CREATE TABLE t (name TEXT); INSERT INTO t VALUES ('in the log')")
            .unwrap();
        let (private, copy) = private_copy(&path).unwrap();
        let db = Database {
            db: connect(&copy).unwrap(),
            path,
            _copy: Some(CopyFolder(private.clone())),
        };
        assert_eq!(rows(&db), ["in the log"]);
        drop(db);
        assert!(!private.exists());
    }

    #[test]
    fn odd_cells_cost_their_row_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let made = Connection::open(&path).unwrap();
        made.execute_batch(
            "CREATE TABLE t (name); INSERT INTO t VALUES ('text'), (7), (1.5), (NULL), (x'6869'), (x'ff'),
             (CAST(x'ff' AS TEXT)), (zeroblob(5000000)), ('  ')",
        )
        .unwrap();
        let db = Database::open(&path).unwrap();
        let not_text = "its nowhere is not UTF-8";
        let expected =
            ["text", "7", "1.5", "", "hi", not_text, not_text, "its nowhere has 5000000 bytes", ""];
        assert_eq!(rows(&db), expected);
        assert_eq!(db.count("t").unwrap(), 9);
        assert_eq!(db.count("\"; DROP TABLE t").unwrap(), 0);
    }
}
