//! The front matter of notes, as people and tools write it: scalars and lists of scalars.
//!
//! Not all of YAML, on purpose: anchors and aliases let a small file grow without bound, and no note needs them. A line
//! that is not understood is left out; the text below it is never touched.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Bytes of front matter that are looked at.
const FRONT_BYTES_MAX: usize = 65_536;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Front {
    values: BTreeMap<String, Vec<String>>,
    /// The text behind each key whose value is on its line.
    written: BTreeMap<String, String>,
}

impl Front {
    /// A scalar, or the items of a list in one line.
    pub(crate) fn text(&self, keys: &[&str]) -> Option<String> {
        let values = keys.iter().find_map(|key| self.values.get(*key))?;
        let text = values.join(", ");
        (!text.trim().is_empty()).then_some(text)
    }

    /// The values that an export of ours wrote below a prefix, as the JSON they are.
    pub(crate) fn json_below(&self, prefix: &str) -> Map<String, Value> {
        let below = self.written.iter().filter_map(|(key, value)| {
            Some((key.strip_prefix(prefix)?.to_owned(), serde_json::from_str(value).ok()?))
        });
        below.collect()
    }

    /// A list; a scalar is one with commas.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        match self.values.get(key).map(Vec::as_slice) {
            Some([one]) => one.split(',').map(|item| item.trim().to_owned()).collect(),
            Some(items) => items.to_vec(),
            None => Vec::new(),
        }
    }
}

/// The front matter, and the text below it.
pub(crate) fn split(text: &str) -> (Front, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let whole = (Front::default(), text);
    let Some(rest) = text
        .strip_prefix("---")
        .and_then(|rest| rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n'))
    else {
        return whole;
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if end > FRONT_BYTES_MAX {
            return whole;
        }
        if matches!(line.trim_end(), "---" | "...") {
            return (parse(&rest[..end]), &rest[end + line.len()..]);
        }
        end += line.len();
    }
    whole
}

fn parse(text: &str) -> Front {
    let mut front = Front::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with([' ', '\t', '#', '-']) {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        let key = scalar(key).to_lowercase();
        let value = value.trim();
        let block = matches!(value, "|" | "|-" | "|+" | ">" | ">-" | ">+");
        let mut below = Vec::new();
        while let Some(next) = lines.next_if(|next| {
            next.starts_with([' ', '\t'])
                || next.trim_start().starts_with("- ")
                || (block && next.is_empty())
        }) {
            below.push(next.trim());
        }
        let values = if block {
            let glue = if value.starts_with('|') { "\n" } else { " " };
            vec![below.join(glue).trim().to_owned()]
        } else if value.is_empty() {
            below.iter().filter_map(|item| item.strip_prefix("- ")).map(scalar).collect()
        } else if let Some(inside) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
        {
            items(inside)
        } else {
            vec![scalar(value)]
        };
        front.written.insert(key.clone(), value.to_owned());
        front.values.insert(key, values);
    }
    front
}

/// The items of `[a, "b, c", d]`.
fn items(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut item = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        match quote {
            None if c == ',' => {
                items.push(std::mem::take(&mut item));
                continue;
            }
            None if matches!(c, '"' | '\'') && item.trim().is_empty() => quote = Some(c),
            Some(open) if c == open && !escaped => quote = None,
            _ => {}
        }
        escaped = c == '\\' && !escaped && quote == Some('"');
        item.push(c);
    }
    items.push(item);
    items.iter().map(|item| scalar(item)).filter(|item| !item.is_empty()).collect()
}

/// A plain or quoted scalar.
fn scalar(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('"') {
        // What we write ourselves is JSON; other double-quoted YAML mostly is too.
        if let Ok(text) = serde_json::from_str(text) {
            return text;
        }
    }
    if let Some(inside) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inside.replace("''", "'");
    }
    // A comment begins after a space.
    let text = text.split_once(" #").map_or(text, |(text, _)| text.trim_end());
    if matches!(text, "null" | "~") { String::new() } else { text.trim_matches('"').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn front_matter_of_real_notes_is_read() {
        let text = "---\r\ntitle: \"A: b\"\ntype: note # kind\ntags:\n- one\n  - two\naliases: [x, \"y, z\", 'w']\n\
                    created: 2026-01-31\nempty:\nfolded: >-\n  a\n  b\nbroken line\n---\n\n# Body\n--- not the end";
        let (front, body) = split(text);
        assert_eq!(front.text(&["title"]).as_deref(), Some("A: b"));
        assert_eq!(front.text(&["type"]).as_deref(), Some("note"));
        assert_eq!(front.list("tags"), ["one", "two"]);
        assert_eq!(front.list("aliases"), ["x", "y, z", "w"]);
        assert_eq!(front.text(&["date", "created"]).as_deref(), Some("2026-01-31"));
        assert_eq!(front.text(&["empty"]), None);
        assert_eq!(front.text(&["folded"]).as_deref(), Some("a b"));
        assert_eq!(body, "\n# Body\n--- not the end");
    }

    #[test]
    fn a_note_without_front_matter_is_all_text() {
        for text in
            ["", "text", "---", "--- x\n", "---\nnever: closed\ntext", "text\n---\na: b\n---\n"]
        {
            assert_eq!(split(text), (Front::default(), text));
        }
        assert_eq!(split("---\ntags: a, b\n---\n").0.list("tags"), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(---\n)?(\\PC|\n|:|-|\\[|\"){0,200}") {
            let (_, body) = split(&text);
            prop_assert!(text.ends_with(body));
        }

        #[test]
        fn what_we_write_is_read_back(title in "\\PC{1,80}") {
            let text = format!("---\ntitle: {}\n---\n", serde_json::Value::from(title.clone()));
            let (front, _) = split(&text);
            let read = front.text(&["title"]).unwrap_or_default();
            prop_assert_eq!(read.trim(), title.trim());
        }
    }
}
