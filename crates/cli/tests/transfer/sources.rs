//! Databases as other tools make them.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

/// The tables of engram as of its first releases, and the columns and tables later ones added.
pub(crate) const ENGRAM: &str = "
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
  scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
  revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1, last_seen_at TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), updated_at TEXT NOT NULL DEFAULT (datetime('now')),
  deleted_at TEXT, pinned INTEGER NOT NULL DEFAULT 0, review_after TEXT, expires_at TEXT,
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE VIRTUAL TABLE observations_fts USING fts5(title, content, tool_name, type, project, topic_key,
  content='observations', content_rowid='id');
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  content TEXT NOT NULL, project TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')),
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE TABLE sync_chunks (chunk_id TEXT PRIMARY KEY, imported_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE memory_relations (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT NOT NULL UNIQUE,
  source_id TEXT, target_id TEXT, relation TEXT NOT NULL DEFAULT 'pending', reason TEXT, evidence TEXT,
  confidence REAL, judgment_status TEXT NOT NULL DEFAULT 'pending', superseded_at TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), updated_at TEXT NOT NULL DEFAULT (datetime('now')));
";

/// What the Go program `cortex` has on top of the same base, without what engram added later.
pub(crate) const GO_CORTEX: &str = "
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
  scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
  revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1, last_seen_at TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), updated_at TEXT NOT NULL DEFAULT (datetime('now')),
  deleted_at TEXT, FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  content TEXT NOT NULL, project TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE edges (id INTEGER PRIMARY KEY AUTOINCREMENT, from_obs_id INTEGER NOT NULL, to_obs_id INTEGER NOT NULL,
  relation_type TEXT NOT NULL, weight REAL NOT NULL DEFAULT 1.0, created_at TEXT NOT NULL DEFAULT (datetime('now')),
  UNIQUE(from_obs_id, to_obs_id, relation_type));
CREATE TABLE importance_scores (observation_id INTEGER PRIMARY KEY, score REAL NOT NULL DEFAULT 0.0,
  access_count INTEGER NOT NULL DEFAULT 0, last_accessed TEXT, updated_at TEXT);
CREATE TABLE entity_links (id INTEGER PRIMARY KEY, observation_id INTEGER, entity_type TEXT, entity_value TEXT);
CREATE TABLE _migrations (version INTEGER PRIMARY KEY, name TEXT, applied_at TEXT);
";

/// The tables of claude-mem today.
pub(crate) const CLAUDE_MEM: &str = "
CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT UNIQUE NOT NULL,
  memory_session_id TEXT UNIQUE, project TEXT NOT NULL, platform_source TEXT NOT NULL DEFAULT 'claude',
  user_prompt TEXT, started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL, completed_at TEXT,
  completed_at_epoch INTEGER, status TEXT NOT NULL DEFAULT 'active', worker_port INTEGER,
  prompt_counter INTEGER DEFAULT 0, custom_title TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
  project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
  concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0,
  content_hash TEXT, agent_type TEXT, agent_id TEXT, merged_into_project TEXT, generated_by_model TEXT,
  metadata TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,
  UNIQUE(memory_session_id, content_hash));
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
  project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
  files_read TEXT, files_edited TEXT, notes TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0,
  merged_into_project TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL,
  prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL);
CREATE TABLE directives (id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL DEFAULT 'global', project TEXT,
  content TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active', source TEXT NOT NULL DEFAULT 'manual',
  created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL, updated_at_epoch INTEGER NOT NULL);
";

/// claude-mem before its columns were renamed and before it had prompts, directives and most of an observation.
pub(crate) const CLAUDE_MEM_OLD: &str = "
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, claude_session_id TEXT UNIQUE NOT NULL,
  sdk_session_id TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL,
  started_at_epoch INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'active');
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL,
  project TEXT NOT NULL, text TEXT NOT NULL, type TEXT NOT NULL, created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL);
";

pub(crate) fn database(folder: &Path, name: &str, schema: &str) -> (PathBuf, Connection) {
    let path = folder.join(name);
    let db = Connection::open(&path).unwrap();
    // As all three tools do.
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    db.execute_batch(schema).unwrap();
    (path, db)
}

/// Engram with something of everything: sessions, a topic, deleted and pinned rows, judged and open relations, bad
/// rows.
pub(crate) fn engram(folder: &Path) -> (PathBuf, Connection) {
    let (path, db) = database(folder, "engram.db", ENGRAM);
    db.execute_batch(
        "
INSERT INTO sessions VALUES ('manual-save-web', 'web', '', '2026-03-01 09:00:00', NULL, NULL);
INSERT INTO sessions VALUES ('s-1', 'web', '/src/web', '2026-03-02 09:00:00', '2026-03-02 18:00:00', 'Auth is done');
INSERT INTO observations (sync_id, session_id, type, title, content, tool_name, project, topic_key,
    duplicate_count, created_at, updated_at)
  VALUES ('obs-a', 'manual-save-web', 'decision', 'Use JWT', '**What**: JWT', 'claude', 'Web',
      'architecture/auth', 3, '2026-03-01 10:00:00', '2026-03-05 10:00:00');
INSERT INTO observations (sync_id, session_id, type, title, content, project, scope, created_at, updated_at)
  VALUES ('obs-b', 's-1', 'bugfix', 'Fixed login', 'Cookie was not set', 'web', 'personal',
      '2026-03-02 10:00:00', '2026-03-02 10:00:00');
INSERT INTO observations (sync_id, session_id, type, title, content, project, created_at, updated_at, deleted_at)
  VALUES ('obs-c', 's-1', 'weird Type!', 'Gone', 'Deleted text', 'web', '2026-03-02 11:00:00',
      '2026-03-03 11:00:00', '2026-03-03 11:00:00');
INSERT INTO observations (sync_id, session_id, type, title, content, project, pinned, created_at, updated_at)
  VALUES ('obs-d', 's-1', 'session_summary', 'Summary', '## Goal' || char(10) || 'x', 'web', 1,
      '2026-03-02 17:00:00', '2026-03-02 17:00:00');
INSERT INTO observations (session_id, type, title, content, project, created_at, updated_at)
  VALUES ('s-1', 'manual', 'No sync id', 'from an old version', NULL, '2026-02-01 10:00:00', '');
INSERT INTO observations (sync_id, session_id, type, title, content, project, created_at, updated_at)
  VALUES ('obs-key', 's-1', 'config', 'Token <private>hidden words</private>',
      'ghp_' || '0123456789abcdefghijklmnopqrstuvwxyzAB', 'web', '2026-03-02 12:00:00',
      '2026-03-02 12:00:00');
INSERT INTO observations (sync_id, session_id, type, title, content, project)
    VALUES ('obs-bad', 's-1', 'manual', CAST(x'ff00fe' AS TEXT), 'x', 'web');
INSERT INTO observations (sync_id, session_id, type, title, content, project)
    VALUES ('obs-huge', 's-1', 'manual', 'Huge', replace(hex(zeroblob(1000000)), '00', 'ab'), 'web');
INSERT INTO observations (sync_id, session_id, type, title, content, project)
    VALUES ('obs-giant', 's-1', 'manual', 'Giant', replace(hex(zeroblob(9000000)), '00', 'ab'), 'web');
INSERT INTO observations (sync_id, session_id, type, title, content, project)
    VALUES ('obs-empty', 's-1', 'manual', '', ' ', 'web');
INSERT INTO user_prompts (sync_id, session_id, content, project, created_at)
    VALUES ('prompt-1', 's-1', 'Please fix the login', 'web', '2026-03-02 09:30:00');
INSERT INTO memory_relations (sync_id, source_id, target_id, relation, judgment_status, confidence, created_at)
  VALUES ('rel-1', 'obs-b', 'obs-a', 'conflicts_with', 'judged', 0.5, '2026-03-02 10:30:00');
INSERT INTO memory_relations (sync_id, source_id, target_id) VALUES ('rel-2', 'obs-a', 'obs-b');
INSERT INTO memory_relations (sync_id, source_id, target_id, relation, judgment_status)
    VALUES ('rel-3', 'obs-a', 'obs-nowhere', 'related', 'judged');
",
    )
    .unwrap();
    (path, db)
}

/// Engram with `rows` observations and nothing else, all dated.
pub(crate) fn engram_of(folder: &Path, rows: u32) -> PathBuf {
    let (path, mut db) = database(folder, "engram.db", ENGRAM);
    let all = db.transaction().unwrap();
    all.execute(
        "INSERT INTO sessions VALUES ('s', 'web', '/src', '2025-01-01 00:00:00', NULL, NULL)",
        [],
    )
    .unwrap();
    for n in 0..rows {
        let (day, second) = (1 + n / 3_600 % 28, n % 3_600);
        let at = format!("2025-02-{day:02} 10:{:02}:{:02}", second / 60, second % 60);
        let words = format!("memory number {n} about the subject {} of module {}", n % 97, n % 13);
        all.prepare_cached(
            "INSERT INTO observations (sync_id, session_id, type, title, content, project, created_at, updated_at)
             VALUES (?1, 's', ?2, ?3, ?4, 'web', ?5, ?5)",
        )
        .unwrap()
        .execute(params![
            format!("obs-{n}"),
            ["decision", "bugfix", "manual"][n as usize % 3],
            format!("Memory {n}"),
            words,
            at
        ])
        .unwrap();
    }
    all.commit().unwrap();
    path
}
