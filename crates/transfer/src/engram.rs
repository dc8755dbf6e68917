//! Reads the database of engram, and that of the Go program `cortex`, which began with the same tables.
//!
//! Both have `sessions`, `observations` and `user_prompts`. Newer engram adds pins, expiry and judged
//! `memory_relations` between sync ids; Go-cortex adds `edges` between row ids and counts accesses in
//! `importance_scores`. Columns that a version does not have read as nothing. Deleted rows come along as forgotten.

use std::path::Path;

use crate::normalize::Normalizer;
use crate::origin::origin;
use crate::record::{
    EdgeRecord, ForgottenRecord, HeadRecord, MemoryRecord, PromptRecord, SessionRecord,
    UsageRecord, VersionRecord,
};
use crate::sqlite::{Bad, Database, Row};
use crate::table_rows::TableRows;
use crate::{Error, Result};

pub(super) const ENGRAM: &str = "engram";
pub(super) const GO_CORTEX: &str = "go-cortex";

/// The tables both have.
pub(super) fn is_database(db: &Database) -> Result<bool> {
    Ok(db.has("observations", &["session_id", "type", "title", "content"])?
        && db.has("sessions", &["id", "project", "started_at"])?)
}

/// What only the Go program has.
pub(super) fn is_go_cortex(db: &Database) -> Result<bool> {
    Ok(is_database(db)? && db.has("edges", &["from_obs_id", "to_obs_id"])?)
}

pub(super) fn read(
    path: &Path,
    system: &'static str,
    normalizer: &mut Normalizer<'_>,
) -> Result<()> {
    let db = Database::open(path)?;
    if !is_database(&db)? {
        return Err(Error::source(path, format!("this is no database of {system}")));
    }
    let tables = ["sessions", "observations", "user_prompts", "edges", "memory_relations"];
    let mut reader = Reader { rows: TableRows::of(&db, &tables)?, system };
    reader.sessions(normalizer)?;
    reader.observations(normalizer)?;
    reader.prompts(normalizer)?;
    reader.edges(normalizer)?;
    reader.relations(normalizer)
}

struct Reader<'d> {
    rows: TableRows<'d>,
    system: &'static str,
}

impl Reader<'_> {
    fn sessions(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] =
            &[&["id"], &["project"], &["directory"], &["started_at"], &["ended_at"], &["summary"]];
        self.rows.each("sessions", columns, normalizer, &mut |row, what, normalizer| {
            let record = (|| {
                Ok(SessionRecord {
                    session: row.text(0)?.unwrap_or_default(),
                    project: row.text(1)?,
                    directory: row.text(2)?,
                    agent: None,
                    started: row.time(3),
                    ended: row.time(4),
                    summary: row.text(5)?,
                })
            })();
            match record {
                Ok(record) => normalizer.session(what, record).map(Ok),
                Err(bad) => Ok(Err(bad)),
            }
        })
    }

    fn observations(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] = &[
            &["sync_id"],
            &["session_id"],
            &["type"],
            &["title"],
            &["content"],
            &["tool_name"],
            &["project"],
            &["scope"],
            &["topic_key"],
            &["duplicate_count"],
            &["created_at"],
            &["updated_at"],
            &["deleted_at"],
            &["pinned"],
            &["expires_at"],
            &["confidence"],
            &["tags"],
        ];
        let system = self.system;
        let scores = self.scores()?;
        self.rows.each("observations", columns, normalizer, &mut |row, what, normalizer| {
            let record = match observation(system, row) {
                Ok(record) => record,
                Err(bad) => return Ok(Err(bad)),
            };
            let record = MemoryRecord { usage: scores.get(&row.id).copied(), ..record };
            // Edges speak of rows by their number, relations by their sync id.
            normalizer.staging.alias(&row_name(row.id), &record.origin)?;
            if let Ok(Some(sync)) = row.text(0) {
                normalizer.staging.alias(&sync_name(&sync), &record.origin)?;
            }
            normalizer.memory(what, record)?;
            Ok(Ok(()))
        })
    }

    fn prompts(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] =
            &[&["sync_id"], &["session_id"], &["content"], &["project"], &["created_at"]];
        let system = self.system;
        self.rows.each("user_prompts", columns, normalizer, &mut |row, what, normalizer| {
            let record = (|| {
                let id = identity(row.text(0)?, row.id, row.time(4));
                Ok(PromptRecord {
                    origin: origin(system, &format!("prompt/{id}")),
                    session: row.text(1)?,
                    project: row.text(3)?,
                    text: row.text(2)?.unwrap_or_default(),
                    at: row.time(4),
                })
            })();
            match record {
                Ok(record) => normalizer.prompt(what, record).map(Ok),
                Err(bad) => Ok(Err(bad)),
            }
        })
    }

    fn edges(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] =
            &[&["from_obs_id"], &["to_obs_id"], &["relation_type"], &["weight"], &["created_at"]];
        self.rows.each("edges", columns, normalizer, &mut |row, what, normalizer| {
            let (Some(from), Some(to)) = (row.integer(0), row.integer(1)) else {
                return Ok(Err("one of its ends is missing".into()));
            };
            let word = match row.text(2) {
                Ok(word) => word.unwrap_or_default(),
                Err(bad) => return Ok(Err(bad)),
            };
            let edge = EdgeRecord {
                from: row_name(from),
                relation: crate::server_memory::relation(&word).to_owned(),
                to: row_name(to),
                weight: ratio(row.real(3)),
                by: None,
                at: row.time(4),
            };
            normalizer.edge(what, edge).map(Ok)
        })
    }

    /// Engram's relations are found by comparing memories and then judged; only what was judged says something.
    fn relations(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] = &[
            &["source_id"],
            &["target_id"],
            &["relation"],
            &["judgment_status"],
            &["confidence"],
            &["created_at"],
            &["superseded_at"],
        ];
        self.rows.each("memory_relations", columns, normalizer, &mut |row, what, normalizer| {
            let texts = (|| Ok((row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?)))();
            let (from, to, word, status) = match texts {
                Ok(texts) => texts,
                Err(bad) => return Ok(Err(bad)),
            };
            let (Some(from), Some(to)) = (from, to) else {
                return Ok(Err("one of its ends is missing".into()));
            };
            let word = word.unwrap_or_default();
            let pending = status.as_deref().is_some_and(|status| status != "judged");
            if pending || word == "pending" || word == "not_conflict" || row.time(6).is_some() {
                return Ok(Err(format!("it states no relation that holds ({word})")));
            }
            let edge = EdgeRecord {
                from: sync_name(&from),
                relation: crate::server_memory::relation(&word).to_owned(),
                to: sync_name(&to),
                weight: ratio(row.real(4)),
                by: None,
                at: row.time(5),
            };
            normalizer.edge(what, edge).map(Ok)
        })
    }

    fn scores(&self) -> Result<Scores> {
        let mut scores = Scores::new();
        let columns: &[&[&str]] = &[&["observation_id"], &["access_count"], &["last_accessed"]];
        self.rows.db.each("importance_scores", columns, &mut |row| {
            if let (Some(id), Some(accesses)) = (row.integer(0), row.integer(1))
                && accesses > 0
            {
                let usage =
                    UsageRecord { accesses: accesses.unsigned_abs(), last_access: row.time(2) };
                scores.insert(id, usage);
            }
            Ok(())
        })?;
        Ok(scores)
    }
}

/// Accesses by row; only of rows that were accessed.
type Scores = std::collections::BTreeMap<i64, UsageRecord>;

fn observation(system: &str, row: &Row) -> std::result::Result<MemoryRecord, Bad> {
    let created = row.time(10);
    let id = identity(row.text(0)?, row.id, created);
    let tool = row.text(5)?.map(|tool| format!("tool:{tool}"));
    let tags = row.text(16)?.unwrap_or_default();
    let personal = row.text(7)?.is_some_and(|scope| scope.trim().eq_ignore_ascii_case("personal"));
    let deleted = row.text(12)?.is_some().then(|| ForgottenRecord {
        reason: format!("deleted in {system}"),
        by: None,
        at: row.time(12),
    });
    let again = row.integer(9).unwrap_or(1).saturating_sub(1).max(0);
    let head = HeadRecord {
        kind: row.text(2)?,
        project: row.text(6)?,
        scope: Some(if personal { "personal" } else { "project" }.into()),
        pinned: row.integer(13).is_some_and(|pinned| pinned != 0),
        tags: tags.split(',').map(str::to_owned).chain(tool).collect(),
        topic_key: row.text(8)?,
        session: row.text(1)?,
        duplicates: u32::try_from(again).unwrap_or(u32::MAX),
        ..HeadRecord::default()
    };
    let version = VersionRecord {
        title: row.text(3)?.unwrap_or_default(),
        content: row.text(4)?.unwrap_or_default(),
        created,
        confidence: row.real(15).map(|confidence| ratio(Some(confidence))),
        expires: row.time(14),
        ..VersionRecord::default()
    };
    Ok(MemoryRecord {
        origin: origin(system, &id),
        head,
        version,
        updated: row.time(11),
        forgotten: deleted,
        ..MemoryRecord::default()
    })
}

/// The id that is the same on every machine; else the row with its date, because row numbers of two databases collide.
fn identity(sync: Option<String>, row: i64, created: Option<i64>) -> String {
    sync.unwrap_or_else(|| format!("{row}@{}", created.unwrap_or_default()))
}

fn row_name(id: i64) -> String {
    format!("row {id}")
}

fn sync_name(id: &str) -> String {
    format!("sync {id}")
}

/// Parts per million; weights above one are as strong as one.
fn ratio(number: Option<f64>) -> u32 {
    let number = number.filter(|number| number.is_finite()).unwrap_or(1.0).clamp(0.0, 1.0);
    service::parse::ratio_of("weight", number).unwrap_or(1_000_000)
}
