//! Reads the database of claude-mem: what its observer wrote down, session summaries, prompts and standing directives.
//!
//! Tables and columns changed names over time: `memory_session_id` was `sdk_session_id`, `content_session_id` was
//! `claude_session_id`. An observation's parts (subtitle, narrative, facts, files) become one text; its concepts are
//! tags.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::normalize::Normalizer;
use crate::origin::origin;
use crate::record::{HeadRecord, MemoryRecord, PromptRecord, SessionRecord, VersionRecord};
use crate::sqlite::{Bad, Database, Row};
use crate::table_rows::{RowOutcome, TableRows};
use crate::{Error, Result};

pub(super) const SYSTEM: &str = "claude-mem";

const MEMORY_SESSION: &[&str] = &["memory_session_id", "sdk_session_id"];
const CONTENT_SESSION: &[&str] = &["content_session_id", "claude_session_id"];
const CREATED: &[&str] = &["created_at_epoch", "created_at"];

pub(super) fn is_database(db: &Database) -> Result<bool> {
    let sessions = db.tables()?.contains("sdk_sessions");
    Ok(sessions && db.has("observations", &["project", "type", "created_at_epoch"])?)
}

pub(super) fn read(path: &Path, normalizer: &mut Normalizer<'_>) -> Result<()> {
    let db = Database::open(path)?;
    if !is_database(&db)? {
        return Err(Error::source(path, "this is no database of claude-mem"));
    }
    let tables =
        ["sdk_sessions", "observations", "session_summaries", "user_prompts", "directives"];
    let mut reader = Reader { rows: TableRows::of(&db, &tables)?, sessions: HashMap::new() };
    reader.sessions(normalizer)?;
    reader.observations(normalizer)?;
    reader.summaries(normalizer)?;
    reader.prompts(normalizer)?;
    reader.directives(normalizer)
}

struct Reader<'d> {
    rows: TableRows<'d>,
    /// One per session, not per row.
    sessions: Sessions,
}

/// The agent's name and the project of a session, by the names that rows use.
type Sessions = HashMap<String, (String, Option<String>)>;

impl Reader<'_> {
    fn sessions(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] = &[
            CONTENT_SESSION,
            MEMORY_SESSION,
            &["project"],
            &["platform_source"],
            &["started_at_epoch", "started_at"],
            &["completed_at_epoch", "completed_at"],
            &["status"],
        ];
        let sessions = &mut self.sessions;
        self.rows.each("sdk_sessions", columns, normalizer, &mut |row, what, normalizer| {
            let read =
                (|| Ok::<_, Bad>((row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?)))();
            let (content, memory, project, agent) = match read {
                Ok(texts) => texts,
                Err(bad) => return Ok(Err(bad)),
            };
            let Some(session) = content.or_else(|| memory.clone()) else {
                return Ok(Err("the session has no name".into()));
            };
            sessions.insert(session.clone(), (session.clone(), project.clone()));
            if let Some(memory) = memory {
                sessions.insert(memory, (session.clone(), project.clone()));
            }
            let record = SessionRecord {
                session,
                project,
                directory: None,
                agent,
                started: row.time(4),
                ended: row.time(5),
                summary: None,
            };
            normalizer.session(what, record).map(Ok)
        })
    }

    fn observations(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] = &[
            MEMORY_SESSION,
            &["project"],
            &["type"],
            &["title"],
            &["subtitle"],
            &["narrative"],
            &["text"],
            &["facts"],
            &["concepts"],
            &["files_read"],
            &["files_modified"],
            &["generated_by_model"],
            CREATED,
            &["merged_into_project"],
        ];
        let sessions = &mut self.sessions;
        self.rows.each("observations", columns, normalizer, &mut |row, what, normalizer| {
            let record = (|| {
                let session = row.text(0)?;
                let content = sections(&[
                    ("", row.text(4)?),
                    ("", row.text(5)?),
                    ("", row.text(6)?),
                    ("Facts", bullets(row.text(7)?)),
                    ("Files read", bullets(row.text(9)?)),
                    ("Files modified", bullets(row.text(10)?)),
                ]);
                let head = HeadRecord {
                    kind: row.text(2)?,
                    project: row.text(13)?.or(row.text(1)?),
                    tags: list(row.text(8)?),
                    session: named(sessions, session.as_ref()),
                    ..HeadRecord::default()
                };
                let version = VersionRecord {
                    title: row.text(3)?.unwrap_or_default(),
                    content,
                    created: row.time(12),
                    model: row.text(11)?,
                    ..VersionRecord::default()
                };
                Ok(memory("observation", session, row, head, version))
            })();
            kept(record, what, normalizer)
        })
    }

    fn summaries(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] = &[
            MEMORY_SESSION,
            &["project"],
            &["request"],
            &["investigated"],
            &["learned"],
            &["completed"],
            &["next_steps"],
            &["notes"],
            &["files_read"],
            &["files_edited"],
            CREATED,
            &["merged_into_project"],
        ];
        let sessions = &mut self.sessions;
        self.rows.each("session_summaries", columns, normalizer, &mut |row, what, normalizer| {
            let record = (|| {
                let session = row.text(0)?;
                let project = row.text(11)?.or(row.text(1)?);
                let content = sections(&[
                    ("Request", row.text(2)?),
                    ("Investigated", row.text(3)?),
                    ("Learned", row.text(4)?),
                    ("Completed", row.text(5)?),
                    ("Next steps", row.text(6)?),
                    ("Notes", row.text(7)?),
                    ("Files read", bullets(row.text(8)?)),
                    ("Files edited", bullets(row.text(9)?)),
                ]);
                if content.is_empty() {
                    return Err("the summary is empty".into());
                }
                let head = HeadRecord {
                    kind: Some("session_summary".into()),
                    project: project.clone(),
                    session: named(sessions, session.as_ref()),
                    ..HeadRecord::default()
                };
                let title = match project {
                    Some(project) => format!("Session summary: {project}"),
                    None => "Session summary".to_owned(),
                };
                let created = row.time(10);
                let version = VersionRecord { title, content, created, ..VersionRecord::default() };
                Ok(memory("summary", session, row, head, version))
            })();
            kept(record, what, normalizer)
        })
    }

    fn prompts(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] = &[CONTENT_SESSION, &["prompt_text"], CREATED, &["prompt_number"]];
        let sessions = &mut self.sessions;
        self.rows.each("user_prompts", columns, normalizer, &mut |row, what, normalizer| {
            let record = (|| {
                let session = row.text(0)?;
                let place = session.clone().unwrap_or_default();
                let project = session.as_ref().and_then(|name| sessions.get(name)?.1.clone());
                Ok(PromptRecord {
                    origin: origin(SYSTEM, &format!("prompt/{place}/{}", row.id)),
                    session: named(sessions, session.as_ref()),
                    project,
                    text: row.text(1)?.unwrap_or_default(),
                    at: row.time(2),
                })
            })();
            match record {
                Ok(record) => normalizer.prompt(what, record).map(Ok),
                Err(bad) => Ok(Err(bad)),
            }
        })
    }

    /// Standing rules of the user; those that are switched off are archived.
    fn directives(&mut self, normalizer: &mut Normalizer<'_>) -> Result<()> {
        let columns: &[&[&str]] =
            &[&["scope"], &["project"], &["content"], &["status"], CREATED, &["updated_at_epoch"]];
        self.rows.each("directives", columns, normalizer, &mut |row, what, normalizer| {
            let record = (|| {
                let global = row.text(0)?.is_none_or(|scope| scope == "global");
                let head = HeadRecord {
                    kind: Some("rule".into()),
                    project: row.text(1)?,
                    scope: Some(if global { "personal" } else { "project" }.into()),
                    archived: row.text(3)?.is_some_and(|status| status != "active"),
                    ..HeadRecord::default()
                };
                let content = row.text(2)?.unwrap_or_default();
                let created = row.time(4);
                let version = VersionRecord { content, created, ..VersionRecord::default() };
                let place = Some(created.unwrap_or_default().to_string());
                let record = memory("directive", place, row, head, version);
                Ok(MemoryRecord { updated: row.time(5), ..record })
            })();
            kept(record, what, normalizer)
        })
    }
}

fn kept(
    record: std::result::Result<MemoryRecord, Bad>,
    what: &str,
    normalizer: &mut Normalizer<'_>,
) -> Result<RowOutcome> {
    match record {
        Ok(record) => normalizer.memory(what, record).map(|_| Ok(())),
        Err(bad) => Ok(Err(bad)),
    }
}

/// Row numbers of two databases collide, session names do not.
fn memory(
    part: &str,
    session: Option<String>,
    row: &Row,
    head: HeadRecord,
    version: VersionRecord,
) -> MemoryRecord {
    let place = session.unwrap_or_default();
    let origin = origin(SYSTEM, &format!("{part}/{place}/{}", row.id));
    MemoryRecord { origin, head, version, ..MemoryRecord::default() }
}

fn named(sessions: &Sessions, session: Option<&String>) -> Option<String> {
    session.map(|name| sessions.get(name).map_or_else(|| name.clone(), |(agent, _)| agent.clone()))
}

/// Texts one below the other, those with a heading under it.
fn sections(parts: &[(&str, Option<String>)]) -> String {
    let texts = parts.iter().filter_map(|(heading, text)| {
        let text = text.as_ref()?.trim();
        Some(if heading.is_empty() { text.to_owned() } else { format!("## {heading}\n{text}") })
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// A JSON array of texts; anything else is one text.
fn list(text: Option<String>) -> Vec<String> {
    let Some(text) = text else { return Vec::new() };
    match serde_json::from_str(&text) {
        Ok(Value::Array(items)) => {
            let text = |item: Value| match item {
                Value::String(text) => text,
                item => item.to_string(),
            };
            items.into_iter().map(text).filter(|text| !text.trim().is_empty()).collect()
        }
        _ => vec![text],
    }
}

fn bullets(text: Option<String>) -> Option<String> {
    let items = list(text);
    let lines: Vec<String> = items.iter().map(|item| format!("- {item}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
