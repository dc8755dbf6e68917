//! What the records of an agent look like: names of keys and kinds of values, for whoever has to write a reader.
//!
//! What must stay true: no value, path or text is in it. A key that could be one, because it is no plain name or one of
//! very many, stands as `*`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use serde_json::Value;

use crate::error::Result;
use crate::sweep;
use transcripts::bounded_lines::{BoundedLines, SourceLine};
use transcripts::counts::ReadCounts;
use transcripts::readers;
use transcripts::session::PastAgent;
use transcripts::surroundings::PastSurroundings;

/// Files of an agent that are looked at, the newest.
const FILES_LOOKED_AT: usize = 20;
/// Records of each that are looked at.
const RECORDS_LOOKED_AT: usize = 2_000;
const SHAPES_MAX: usize = 100;
const DEPTH_SHOWN: usize = 4;
/// An object with more keys is a table, and its keys are values.
const KEYS_MAX: usize = 24;
const KEY_BYTES_MAX: usize = 40;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShapeReport {
    pub files: u64,
    /// The most frequent first.
    pub shapes: Vec<ShapeCount>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeCount {
    pub shape: String,
    pub records: u64,
}

/// The shapes of the newest records of an agent. Databases are not looked into.
pub fn shapes(agent: PastAgent, surroundings: &PastSurroundings) -> Result<ShapeReport> {
    let mut report = ShapeReport::default();
    let Some(reader) = readers::of(agent) else { return Ok(report) };
    let mut counts = ReadCounts::default();
    let mut files = sweep::find(reader, &reader.roots(surroundings), &mut counts);
    files.sort_by_key(|(_, stamp)| std::cmp::Reverse(stamp.modified_ns));
    let mut by_shape: BTreeMap<String, u64> = BTreeMap::new();
    for (path, _) in files.into_iter().take(FILES_LOOKED_AT) {
        // A file that cannot be opened is told by reading.
        let Ok(file) = File::open(&path) else { continue };
        report.files += 1;
        let mut lines = BoundedLines::new(BufReader::new(file), 0);
        let mut seen = 0;
        while let Ok(Some(line)) = lines.next_line() {
            let SourceLine::Whole(line) = line else { continue };
            let shape = serde_json::from_slice::<Value>(line)
                .map_or_else(|_| "no JSON".to_owned(), |value| shape_of(&value, 0));
            *by_shape.entry(shape).or_default() += 1;
            seen += 1;
            if seen == RECORDS_LOOKED_AT {
                break;
            }
        }
    }
    let mut shapes: Vec<ShapeCount> =
        by_shape.into_iter().map(|(shape, records)| ShapeCount { shape, records }).collect();
    shapes.sort_by(|one, other| (other.records, &one.shape).cmp(&(one.records, &other.shape)));
    shapes.truncate(SHAPES_MAX);
    report.shapes = shapes;
    Ok(report)
}

fn shape_of(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "flag".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Array(_) | Value::Object(_) if depth == DEPTH_SHOWN => "…".to_owned(),
        Value::Array(values) => {
            let mut shapes: Vec<String> =
                values.iter().take(KEYS_MAX).map(|value| shape_of(value, depth + 1)).collect();
            shapes.sort_unstable();
            shapes.dedup();
            format!("[{}]", shapes.join("|"))
        }
        Value::Object(fields) => {
            let is_table = fields.len() > KEYS_MAX;
            let mut shapes: Vec<String> = fields
                .iter()
                .map(|(key, value)| {
                    let key = if is_table || !is_plain(key) { "*" } else { key };
                    format!("{key}:{}", shape_of(value, depth + 1))
                })
                .collect();
            shapes.sort_unstable();
            shapes.dedup();
            format!("{{{}}}", shapes.join(","))
        }
    }
}

/// A name that a programmer gave: letters, then also digits and `_`. Capitals and digits together are an id.
fn is_plain(key: &str) -> bool {
    key.len() <= KEY_BYTES_MAX
        && key
            .starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '$')
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(&byte))
        && key.bytes().filter(u8::is_ascii_digit).count() <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 69
    #[test]
    fn a_shape_holds_no_value_and_no_key_that_could_be_one() {
        let value = serde_json::json!({
            "type": "user", "secret": "canary", "n": 7, "ok": true, "none": null,
            "files": {"/home/canary/a.rs": 1}, "list": [{"a": 1}, {"a": 2}, "canary"],
            "ab12cd34ef56": {"x": {"y": {"z": {"deep": "canary"}}}},
        });
        let shape = shape_of(&value, 0);
        assert!(!shape.contains("canary") && !shape.contains("ab12"), "{shape}");
        assert_eq!(
            shape,
            "{*:{x:{y:{z:…}}},files:{*:number},list:[text|{a:number}],n:number,none:null,ok:flag,secret:text,type:text}"
        );
        let table: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("name{}", ["a", "b"][n % 2].repeat(n)), n.into())).collect();
        assert_eq!(shape_of(&Value::Object(table), 0), "{*:number}");
    }
}
