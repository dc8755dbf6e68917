//! Reads memories as mem0 gives them out, as JSON or JSON lines.
//!
//! Known shapes: an array of memories; `{results: […], relations: […]}` as `get_all` returns it; `{memories: […]}` as
//! the OpenMemory backup holds it, with its categories and apps by id; one memory per line. A memory is `{id, memory}`
//! or `{id, content}`, with `metadata`, `categories`, `user_id`, `agent_id`, `app_id`, `run_id`, `state` and dates.
//! Relations of the graph are about things, not memories: each becomes a fact of its own. An array is read element by
//! element.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::dates;
use crate::normalize::Normalizer;
use crate::origin::{origin, short};
use crate::record::{ForgottenRecord, HeadRecord, MemoryRecord, VersionRecord};
use crate::server_memory::{Lines, Quiet};
use crate::{Error, Result};

pub(super) const SYSTEM: &str = "mem0";

/// True for an object that is a memory of mem0.
pub(super) fn is_memory(value: &Value) -> bool {
    let text = value.get("memory").or_else(|| value.get("content"));
    value.get("id").is_some_and(Value::is_string) && text.is_some_and(Value::is_string)
}

pub(super) fn read(path: &Path, normalizer: &mut Normalizer<'_>) -> Result<()> {
    let open = || File::open(path).map_err(|error| Error::file(path, error));
    let mut reader = Reader { names: BTreeMap::new(), n: 0, failed: None };
    // Names of categories and apps may come after the memories that use them.
    let mut names = serde_json::Deserializer::from_reader(BufReader::new(open()?));
    let whole = names
        .deserialize_any(Whole { reader: &mut reader, normalizer: None })
        .and_then(|()| names.end());
    // One document that ends too early is read as far as it goes. Of lines, the first is a document of its own.
    let is_cut =
        whole.as_ref().is_err_and(|error| error.is_eof() && error.line() > 0) && !is_lines(path)?;
    if whole.is_err() && !is_cut {
        return lines(path, reader, normalizer);
    }
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(open()?));
    let outcome = json.deserialize_any(Whole { reader: &mut reader, normalizer: Some(normalizer) });
    if let Some(failed) = reader.failed.take() {
        return Err(failed);
    }
    match outcome {
        Err(error) if is_cut && error.is_eof() => {
            let (n, place) = (reader.n, error.line());
            normalizer
                .breaks_off(format!("it ends in the middle of line {place}, after {n} memories"));
            return Ok(());
        }
        outcome => outcome.map_err(|error| Error::source(path, error))?,
    }
    // One memory alone on its line is a document too.
    if reader.n == 0 { lines(path, reader, normalizer) } else { Ok(()) }
}

/// True if the first line is a whole document, so that there is one on each.
fn is_lines(path: &Path) -> Result<bool> {
    let first = Lines::open(path)?.next(&mut Quiet)?;
    Ok(first.is_some_and(|(_, text)| serde_json::from_str::<IgnoredAny>(&text).is_ok()))
}

fn lines(path: &Path, mut reader: Reader, normalizer: &mut Normalizer<'_>) -> Result<()> {
    reader.n = 0;
    let mut lines = Lines::open(path)?;
    while let Some((n, text)) = lines.next(normalizer)? {
        match serde_json::from_str(&text) {
            Ok(value) => reader.memory(&value, normalizer)?,
            Err(error) => normalizer.bad_line(n, "it is no JSON", &error),
        }
    }
    Ok(())
}

struct Reader {
    /// Names of categories and apps by id.
    names: BTreeMap<String, String>,
    n: u64,
    /// Why the staging database failed; JSON errors have no room for it.
    failed: Option<Error>,
}

impl Reader {
    fn element(
        &mut self,
        list: List,
        value: &Value,
        normalizer: &mut Normalizer<'_>,
    ) -> Result<()> {
        match list {
            List::Memories => self.memory(value, normalizer),
            List::Relations => self.relation(value, normalizer),
            List::Names => Ok(()),
        }
    }

    fn name(&mut self, value: &Value) {
        if let (Some(id), Some(name)) = (value["id"].as_str(), value["name"].as_str()) {
            self.names.insert(id.to_owned(), name.to_owned());
        }
    }

    fn memory(&mut self, value: &Value, normalizer: &mut Normalizer<'_>) -> Result<()> {
        self.n += 1;
        let what = match value["id"].as_str() {
            Some(id) => format!("memory {id}"),
            None => format!("memory number {}", self.n),
        };
        let text = value["memory"].as_str().or_else(|| value["content"].as_str());
        let (Some(id), Some(text)) = (value["id"].as_str(), text) else {
            normalizer.skip(what, "it has no id or no text");
            return Ok(());
        };
        let metadata = value["metadata"].as_object();
        let meta = |key: &str| metadata.and_then(|object| object.get(key)).and_then(Value::as_str);
        let categories =
            self.listed(&value["categories"]).chain(self.listed(&value["category_ids"]));
        let owned = |key: &str| {
            let id = value[key].as_str()?;
            let name = self.names.get(id).map_or(id, String::as_str);
            Some(format!("{}:{name}", key.trim_end_matches("_id")))
        };
        let owners = ["user_id", "agent_id", "app_id", "app"].into_iter().filter_map(owned);
        let state = value["state"].as_str().unwrap_or("active");
        let kind = meta("type").or_else(|| meta("category")).unwrap_or("manual");
        let head = HeadRecord {
            kind: Some(kind.to_owned()),
            project: meta("project").map(str::to_owned),
            session: value["run_id"].as_str().map(str::to_owned),
            tags: categories.chain(owners).collect(),
            archived: matches!(state, "archived" | "paused"),
            ..HeadRecord::default()
        };
        let deleted = dates::value(value.get("deleted_at"));
        let forgotten = (state == "deleted" || deleted.is_some()).then(|| ForgottenRecord {
            reason: "deleted in mem0".into(),
            by: None,
            at: deleted,
        });
        let version = VersionRecord {
            content: with_metadata(text, metadata),
            created: dates::value(value.get("created_at")),
            expires: dates::value(value.get("expiration_date")),
            ..VersionRecord::default()
        };
        let record = MemoryRecord {
            origin: origin(SYSTEM, id),
            head,
            version,
            updated: dates::value(value.get("updated_at")),
            forgotten,
            ..MemoryRecord::default()
        };
        normalizer.memory(&what, record)?;
        Ok(())
    }

    fn relation(&mut self, value: &Value, normalizer: &mut Normalizer<'_>) -> Result<()> {
        self.n += 1;
        let end = |key: &str, other: &str| value[key].as_str().or_else(|| value[other].as_str());
        let parts = (
            end("source", "subject"),
            end("relationship", "relation"),
            end("target", "destination"),
        );
        let (Some(subject), Some(predicate), Some(object)) = parts else {
            normalizer.skip(
                format!("relation number {}", self.n),
                "it has no source, relationship or target",
            );
            return Ok(());
        };
        let sentence = format!("{subject} {} {object}", predicate.replace('_', " "));
        let id = short(format!("{subject}\n{predicate}\n{object}").as_bytes(), 16);
        let fields = Map::from_iter([
            ("subject".to_owned(), json!(subject)),
            ("predicate".to_owned(), json!(predicate)),
            ("object".to_owned(), json!(object)),
        ]);
        let head = HeadRecord { kind: Some("relation".into()), ..HeadRecord::default() };
        let version = VersionRecord { title: sentence.clone(), fields, ..VersionRecord::default() };
        let origin = origin(SYSTEM, &format!("relation/{id}"));
        normalizer.memory(
            &format!("relation {sentence:?}"),
            MemoryRecord { origin, head, version, ..MemoryRecord::default() },
        )?;
        Ok(())
    }

    fn listed<'v>(&'v self, value: &'v Value) -> impl Iterator<Item = String> + 'v {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(|item| {
            let text = item.as_str().or_else(|| item["name"].as_str())?;
            Some(self.names.get(text).map_or(text, String::as_str).to_owned())
        })
    }
}

/// Metadata that has no place of its own stays readable below the text.
fn with_metadata(text: &str, metadata: Option<&Map<String, Value>>) -> String {
    let placed = ["type", "category", "project", "data", "hash"];
    let rest: Vec<String> = metadata
        .into_iter()
        .flatten()
        .filter(|(key, value)| !placed.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| match value {
            Value::String(value) => format!("- {key}: {value}"),
            value => format!("- {key}: {value}"),
        })
        .collect();
    if rest.is_empty() { text.to_owned() } else { format!("{text}\n\n{}", rest.join("\n")) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Memories,
    Relations,
    Names,
}

/// The document: an array of memories, or an object that holds lists.
struct Whole<'w, 's> {
    reader: &'w mut Reader,
    /// Absent in the first pass, which looks for names only.
    normalizer: Option<&'w mut Normalizer<'s>>,
}

impl<'de> Visitor<'de> for Whole<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memories of mem0: an array, or an object with results or memories")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<(), A::Error> {
        Elements { list: List::Memories, reader: self.reader, normalizer: self.normalizer }
            .visit_seq(elements)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let list = match key.as_str() {
                "results" | "memories" => List::Memories,
                "relations" => List::Relations,
                "categories" | "apps" => List::Names,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let normalizer = self.normalizer.as_deref_mut();
            map.next_value_seed(Elements { list, reader: self.reader, normalizer })?;
        }
        Ok(())
    }
}

struct Elements<'w, 's> {
    list: List,
    reader: &'w mut Reader,
    normalizer: Option<&'w mut Normalizer<'s>>,
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        use serde::de::Error as _;
        while let Some(value) = elements.next_element::<Value>()? {
            match self.normalizer.as_deref_mut() {
                None if self.list == List::Names => self.reader.name(&value),
                None => {}
                Some(normalizer) => {
                    if let Err(error) = self.reader.element(self.list, &value, normalizer) {
                        self.reader.failed = Some(error);
                        return Err(A::Error::custom("the stage failed"));
                    }
                }
            }
        }
        Ok(())
    }
}
