//! Reads the file of the reference MCP memory server: JSON lines of entities and relations.
//!
//! An entity becomes one memory, its observations the list in its text. Relations become edges; since our relations are
//! a closed set, the origin's word is kept as a line of the text too. The file is read twice: relations come after the
//! entities they speak of. It has no dates.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::clean;
use crate::normalize::Normalizer;
use crate::origin::origin;
use crate::record::{EdgeRecord, HeadRecord, MemoryRecord, VersionRecord};
use crate::{Error, Result};

pub(super) const SYSTEM: &str = "server-memory";
/// Bytes of one line; JSON escapes can make text six times as long.
const LINE_BYTES_MAX: usize = 64 * 1_048_576;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Item {
    Entity {
        name: String,
        #[serde(rename = "entityType", default)]
        entity_type: String,
        #[serde(default)]
        observations: Vec<String>,
    },
    Relation {
        from: String,
        to: String,
        #[serde(rename = "relationType", default)]
        relation_type: String,
    },
}

/// True for a line that only this format has.
pub(super) fn is_line(value: &Value) -> bool {
    let is = |word: &str, key: &str| value["type"] == word && value.get(key).is_some();
    is("entity", "name") || is("relation", "from")
}

pub(super) fn read(path: &Path, normalizer: &mut Normalizer<'_>) -> Result<()> {
    let mut lines = Lines::open(path)?;
    while let Some((n, text)) = lines.next(normalizer)? {
        // What is wrong with a line is said in the second pass.
        if let Ok(Item::Relation { from, to, relation_type }) = serde_json::from_str(&text) {
            normalizer.staging.note(&from, &format!("- {relation_type} [[{to}]]"))?;
            let what = format!("line {n}");
            let edge = EdgeRecord {
                from: name_of(normalizer, &from),
                relation: relation(&relation_type).to_owned(),
                to: name_of(normalizer, &to),
                weight: 1_000_000,
                by: None,
                at: None,
            };
            if from == to {
                normalizer.skip(what, "it relates a memory to itself");
            } else {
                normalizer.edge(&what, edge)?;
            }
        }
    }
    let mut lines = Lines::open(path)?;
    while let Some((n, text)) = lines.next(&mut Quiet)? {
        match serde_json::from_str(&text) {
            Ok(Item::Entity { name, entity_type, observations }) => {
                let what = format!("line {n}, entity {:?}", clean::cut(&name, 64));
                entity(&what, &name, &entity_type, &observations, normalizer)?;
            }
            Ok(Item::Relation { .. }) => {}
            Err(error) => {
                normalizer.bad_line(n, "it is no entity or relation", &error);
            }
        }
    }
    Ok(())
}

/// Entities have no id but their name. The same name in another project is another memory.
fn name_of(normalizer: &Normalizer<'_>, name: &str) -> String {
    match &normalizer.project {
        Some(project) => origin(SYSTEM, &format!("{project}/{name}")),
        None => origin(SYSTEM, name),
    }
}

fn entity(
    what: &str,
    name: &str,
    kind: &str,
    observations: &[String],
    normalizer: &mut Normalizer<'_>,
) -> Result<()> {
    let lines: Vec<String> = observations.iter().map(|text| format!("- {}", text.trim())).collect();
    let mut content = lines.join(
        "
",
    );
    let relations = normalizer.staging.notes(name)?;
    if !relations.is_empty() {
        content.push_str(
            "

## Relations
",
        );
        content.push_str(&relations.join(
            "
",
        ));
    }
    let head = HeadRecord { kind: Some(kind.to_owned()), ..HeadRecord::default() };
    let mut fields = Map::new();
    let is_fact = clean::kind(kind).is_none_or(|kind| {
        kernel::memory::MemoryType::of_kind(&kind) == kernel::memory::MemoryType::Fact
    });
    if let Some(subject) = clean::field(name).filter(|_| is_fact) {
        fields.insert("subject".into(), json!(subject));
    }
    let version = VersionRecord {
        title: name.to_owned(),
        content: content.trim().to_owned(),
        fields,
        ..VersionRecord::default()
    };
    let record = MemoryRecord {
        origin: name_of(normalizer, name),
        head,
        version,
        ..MemoryRecord::default()
    };
    normalizer.memory(what, record)?;
    Ok(())
}

/// Our relation for a free word; what we have no word for is related in some way.
pub(super) fn relation(word: &str) -> &'static str {
    let slug: String = word
        .trim()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    match slug.as_str() {
        "references" | "links_to" | "mentions" | "cites" | "uses" | "depends_on" | "requires"
        | "implements" | "see_also" => "references",
        "follows" | "after" | "continues" | "next" => "follows",
        "supersedes" | "replaces" | "obsoletes" => "supersedes",
        "contradicts" | "conflicts_with" | "opposes" => "contradicts",
        "updates" | "extends" | "refines" | "amends" => "updates",
        "caused_by" | "because_of" | "due_to" => "caused_by",
        "part_of" | "belongs_to" | "member_of" | "child_of" | "in" => "part_of",
        "result_of" | "derived_from" | "produced_by" => "result_of",
        _ => "relates_to",
    }
}

/// Lines of a file with their numbers, blank ones left out; one that is too long or no text is named and skipped.
pub(super) struct Lines {
    input: BufReader<File>,
    path: std::path::PathBuf,
    n: u64,
    read: u64,
    total: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Lines> {
        let failed = |error| Error::file(path, error);
        let file = File::open(path).map_err(failed)?;
        let total = file.metadata().map_err(failed)?.len();
        Ok(Lines { input: BufReader::new(file), path: path.to_owned(), n: 0, read: 0, total })
    }

    pub(super) fn next(
        &mut self,
        normalizer: &mut dyn ReadObserver,
    ) -> Result<Option<(u64, String)>> {
        loop {
            let mut bytes = Vec::new();
            let limit = LINE_BYTES_MAX as u64 + 1;
            let count = (&mut self.input)
                .take(limit)
                .read_until(b'\n', &mut bytes)
                .map_err(|error| Error::file(&self.path, error))?;
            if count == 0 {
                return Ok(None);
            }
            self.n += 1;
            self.read += count as u64;
            if bytes.len() > LINE_BYTES_MAX && bytes.last() != Some(&b'\n') {
                let rest =
                    self.input.skip_until(b'\n').map_err(|error| Error::file(&self.path, error))?;
                self.read += rest as u64;
                normalizer.skip_line(self.n, "the line is longer than 64 MiB");
                continue;
            }
            normalizer.told(self.read, self.total);
            match String::from_utf8(bytes) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => {
                    // A file from Windows may start with a byte order mark.
                    return Ok(Some((self.n, text.trim_start_matches('\u{feff}').to_owned())));
                }
                Err(_) => normalizer.skip_line(self.n, "the line is not UTF-8"),
            }
        }
    }
}

/// Who hears how far a file is read and what is wrong with it.
pub(super) trait ReadObserver {
    fn skip_line(&mut self, n: u64, reason: &str);
    fn told(&mut self, done: u64, total: u64);
}

impl ReadObserver for Normalizer<'_> {
    fn skip_line(&mut self, n: u64, reason: &str) {
        self.skip(format!("line {n}"), reason);
    }

    fn told(&mut self, done: u64, total: u64) {
        (self.progress)(done, total);
    }
}

/// For a second pass: everything was said in the first.
pub(super) struct Quiet;

impl ReadObserver for Quiet {
    fn skip_line(&mut self, _: u64, _: &str) {}
    fn told(&mut self, _: u64, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_words_become_our_relations() {
        for (word, ours) in [
            ("depends on", "references"),
            ("Part-Of", "part_of"),
            ("supersedes", "supersedes"),
            ("works_at", "relates_to"),
            ("", "relates_to"),
        ] {
            assert_eq!(relation(word), ours, "{word}");
        }
        for word in kernel::memory::Relation::ALL {
            assert_eq!(relation(word.name()), word.name());
        }
    }
}
