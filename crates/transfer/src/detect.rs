//! Which format a file or folder is in, by what it holds, never by its name alone.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::export_line::ExportLine;
use crate::sqlite::Database;
use crate::{Error, Result, claude_mem, engram, mem0, server_memory};

/// Bytes of a file that are looked at.
const LOOK_BYTES: u64 = 1_048_576;
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSONL of `cortex export`
    Cortex,
    /// SQLite database of engram
    Engram,
    /// SQLite database of the Go program cortex
    GoCortex,
    /// SQLite database of claude-mem
    ClaudeMem,
    /// JSONL of the reference MCP memory server
    ServerMemory,
    /// JSON of mem0 or OpenMemory
    Mem0,
    /// Folder of Markdown notes: Obsidian, basic-memory, `cortex export --format markdown`
    Markdown,
}

impl Format {
    pub const ALL: [Format; 7] = [
        Format::Cortex,
        Format::Engram,
        Format::GoCortex,
        Format::ClaudeMem,
        Format::ServerMemory,
        Format::Mem0,
        Format::Markdown,
    ];

    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        match self {
            Format::Cortex => "cortex",
            Format::Engram => engram::ENGRAM,
            Format::GoCortex => engram::GO_CORTEX,
            Format::ClaudeMem => claude_mem::SYSTEM,
            Format::ServerMemory => server_memory::SYSTEM,
            Format::Mem0 => mem0::SYSTEM,
            Format::Markdown => crate::markdown_notes::SYSTEM,
        }
    }
}

pub(super) fn detect(path: &Path) -> Result<Format> {
    let failed = |error| Error::file(path, error);
    if path.is_dir() {
        return Ok(Format::Markdown);
    }
    let mut start = Vec::new();
    File::open(path).map_err(failed)?.take(LOOK_BYTES).read_to_end(&mut start).map_err(failed)?;
    if start.starts_with(SQLITE_MAGIC) {
        return database(path);
    }
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
        return Ok(Format::Markdown);
    }
    json(&start).ok_or_else(|| unknown(path, ""))
}

fn database(path: &Path) -> Result<Format> {
    let db = Database::open(path)?;
    if claude_mem::is_database(&db)? {
        Ok(Format::ClaudeMem)
    } else if engram::is_go_cortex(&db)? {
        Ok(Format::GoCortex)
    } else if engram::is_database(&db)? {
        Ok(Format::Engram)
    } else {
        let tables: Vec<String> = db.tables()?.into_iter().take(12).collect();
        Err(unknown(path, &format!("; it is a database with the tables {}", tables.join(", "))))
    }
}

fn json(start: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // A damaged first line says nothing about the rest.
    for line in text.lines().take(50) {
        if matches!(serde_json::from_str(line), Ok(ExportLine::Header(_))) {
            return Some(Format::Cortex);
        }
        match serde_json::from_str::<Value>(line) {
            Ok(value) if server_memory::is_line(&value) => return Some(Format::ServerMemory),
            Ok(value) if mem0::is_memory(&value) => return Some(Format::Mem0),
            _ => {}
        }
    }
    // A document over many lines, perhaps longer than what was looked at.
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).take(4_096).collect();
    let list = compact.starts_with("[{") || compact.starts_with("[]");
    let object = compact.starts_with('{')
        && ["\"results\":[", "\"memories\":[", "\"relations\":["]
            .iter()
            .any(|key| text.replace([' ', '\n', '\r', '\t'], "").contains(key));
    (list
        && (compact.contains("\"memory\":") || compact.contains("\"content\":") || compact == "[]")
        || object)
        .then_some(Format::Mem0)
}

fn unknown(path: &Path, more: &str) -> Error {
    Error::source(path, format!("no format that we know{more}; name it with --from"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_formats_are_told_apart() {
        for (text, format) in [
            (
                "{\"record\":\"header\",\"cortex_export\":1,\"actor\":\"a\",\"store\":\"s\",\"exported_at\":\"x\"}\n",
                Some(Format::Cortex),
            ),
            (
                "broken\n{\"type\":\"entity\",\"name\":\"A\",\"entityType\":\"b\",\"observations\":[]}",
                Some(Format::ServerMemory),
            ),
            ("{\"type\":\"relation\",\"from\":\"A\",\"to\":\"b\"}", Some(Format::ServerMemory)),
            ("[\n {\"id\": \"1\", \"memory\": \"x\"}\n]", Some(Format::Mem0)),
            ("{\n \"results\": [\n", Some(Format::Mem0)),
            (
                "{\"id\":\"1\",\"content\":\"x\"}\n{\"id\":\"2\",\"content\":\"y\"}",
                Some(Format::Mem0),
            ),
            ("{\"a\":1}", None),
            ("text", None),
            ("", None),
        ] {
            assert_eq!(json(text.as_bytes()), format, "{text}");
        }
    }
}
