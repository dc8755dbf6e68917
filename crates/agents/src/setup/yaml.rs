//! Settings in YAML, of which one thing is known: a mapping of ours inside a mapping at the top. Edited as text, so
//! that every byte that is not ours stays.
//!
//! What must stay true: only block mappings are changed. A form that this module cannot tell apart (tabs, a mapping on
//! one line that holds something) is a fault with its line, and nothing is written.

use serde_json::{Map, Value as Json};

use crate::setup::entry::{Entry, SettingsFault, Shape};

/// Spaces before what is inside, where nothing tells how others do it.
const INDENT: usize = 2;

/// The settings as a value, to look at: our mapping field by field, all other lines as they are.
pub(super) fn read(text: &str, entries: &[Entry]) -> Result<Json, SettingsFault> {
    let mut found = Map::new();
    let mut others: Vec<&str> = Vec::new();
    let mut own: Vec<std::ops::Range<usize>> = Vec::new();
    for ([outer, name], _) in entries.iter().filter_map(own_fields) {
        let Some(block) = Block::find(text, outer)? else { continue };
        if let Some(entry) = block.child(name) {
            let fields = entry.fields().into_iter().map(|field| (field.key, scalar(&field.value)));
            let fields: Map<String, Json> = fields.collect();
            let inner = found.entry(outer).or_insert_with(|| Json::Object(Map::new()));
            inner[name] = Json::Object(fields);
            own.push(entry.range());
        }
    }
    for line in lines(text) {
        if !own.iter().any(|range| range.contains(&line.start)) && !line.text.trim().is_empty() {
            others.push(line.text.trim_end());
        }
    }
    found.insert(String::new(), Json::from(others.join("\n")));
    Ok(Json::Object(found))
}

/// The text with every entry in it, up to date. Unchanged if all of them already are.
pub(super) fn add(text: &str, entries: &[Entry]) -> Result<String, SettingsFault> {
    let mut text = text.to_owned();
    for (names, fields) in entries.iter().filter_map(own_fields) {
        text = with(&text, names, fields)?;
    }
    Ok(text)
}

/// The text without the entries.
pub(super) fn remove(text: &str, entries: &[Entry]) -> Result<String, SettingsFault> {
    let mut text = text.to_owned();
    for ([outer, name], _) in entries.iter().filter_map(own_fields) {
        let Some(block) = Block::find(&text, outer)? else { continue };
        let Some(entry) = block.child(name) else { continue };
        // A mapping that holds nothing any more would be no mapping.
        let cut = if block.children() == 1 { block.range() } else { entry.range() };
        text.replace_range(cut, "");
    }
    Ok(text)
}

fn own_fields(entry: &Entry) -> Option<([&'static str; 2], &Map<String, Json>)> {
    match (entry.path.as_slice(), &entry.shape) {
        (&[outer, name], Shape::Own(fields)) => Some(([outer, name], fields)),
        _ => None,
    }
}

fn with(
    text: &str,
    [outer, name]: [&str; 2],
    fields: &Map<String, Json>,
) -> Result<String, SettingsFault> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let rendered = |indent: usize| {
        let pad = " ".repeat(indent);
        let inner = " ".repeat(indent * 2);
        let lines = fields.iter().map(|(key, value)| format!("{inner}{key}: {value}{newline}"));
        std::iter::once(format!("{pad}{name}:{newline}")).chain(lines).collect::<String>()
    };
    let ended = |text: &str| {
        if text.is_empty() || text.ends_with('\n') { String::new() } else { newline.to_owned() }
    };
    let Some(block) = Block::find(text, outer)? else {
        let end = ended(text);
        return Ok(format!("{text}{end}{outer}:{newline}{}", rendered(INDENT)));
    };
    let indent = block.indent.unwrap_or(INDENT);
    let Some(entry) = block.child(name) else {
        let at = block.end();
        let head = format!("{}{}", &text[..at], ended(&text[..at]));
        let head = match block.empty {
            // `extensions: {}` begins a block now.
            Some(value) => format!("{}{}", &text[..value.start], &text[value.end..at]),
            None => head,
        };
        return Ok(format!("{head}{}{}", rendered(indent), &text[at..]));
    };
    let mut out = text.to_owned();
    let there = entry.fields();
    let inner = there.first().map_or(indent * 2, |field| field.indent);
    let mut missing = String::new();
    // From the end, so that places before stay true.
    let mut changes: Vec<(std::ops::Range<usize>, String)> = Vec::new();
    for (key, value) in fields {
        let line = format!("{}{key}: {value}{newline}", " ".repeat(inner));
        match there.iter().find(|field| field.key == *key) {
            Some(field) if scalar(&field.value) == *value => {}
            Some(field) => changes.push((field.range.clone(), line)),
            None => missing.push_str(&line),
        }
    }
    changes.push((entry.range().end..entry.range().end, missing));
    changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, line) in changes {
        out.replace_range(range, &line);
    }
    Ok(out)
}

/// A line with its place and its end.
#[derive(Clone, Copy, Debug)]
struct Line<'t> {
    start: usize,
    text: &'t str,
}

impl Line<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Spaces before the first word; none for a line that says nothing.
    fn indent(&self) -> Option<usize> {
        let word = self.text.trim_start_matches([' ', '\u{feff}']);
        let is_said = !word.trim().is_empty() && !word.starts_with('#');
        is_said.then(|| self.text.trim_start_matches('\u{feff}').len() - word.len())
    }

    /// The name before a colon, and what follows it.
    fn key(&self) -> Option<(&str, &str)> {
        let (key, value) = self.text.trim_start_matches('\u{feff}').trim().split_once(':')?;
        let is_value = value.is_empty() || value.starts_with([' ', '\t']);
        is_value.then(|| (key.trim_matches(['"', '\'']), value.trim()))
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |text| {
        let line = Line { start, text };
        start += text.len();
        line
    })
}

/// A mapping with the lines inside.
#[derive(Debug)]
struct Block<'t> {
    head: Line<'t>,
    inside: Vec<Line<'t>>,
    /// Spaces before its members.
    indent: Option<usize>,
    /// The place of a value that says that it is empty.
    empty: Option<std::ops::Range<usize>>,
}

/// A field of our mapping: its lines and what it says.
#[derive(Debug)]
struct Field {
    key: String,
    value: String,
    indent: usize,
    range: std::ops::Range<usize>,
}

impl<'t> Block<'t> {
    /// The mapping of this name at the top.
    fn find(text: &'t str, name: &str) -> Result<Option<Block<'t>>, SettingsFault> {
        let all: Vec<Line<'t>> = lines(text).collect();
        let is_head = |line: &Line<'_>| {
            line.indent() == Some(0) && line.key().is_some_and(|(key, _)| key == name)
        };
        let Some(at) = all.iter().position(is_head) else { return Ok(None) };
        let block = Block::of(&all[at..]);
        let fault = |line: &Line<'_>, what: &str| SettingsFault::at(text, line.start, what);
        let value = block.head.key().map_or("", |(_, value)| value);
        let bare = value.split(" #").next().unwrap_or("").trim();
        if !(bare.is_empty() || bare.starts_with('#') || matches!(bare, "{}" | "null" | "~")) {
            let what = format!(
                "{name:?} is written on one line; please write it as a block, a name on each line"
            );
            return Err(fault(&block.head, &what));
        }
        let has_tab = |line: &&Line<'_>| {
            let space = line.text.len() - line.text.trim_start().len();
            !line.text.trim().is_empty() && line.text[..space].contains('\t')
        };
        if let Some(line) = all.iter().find(has_tab) {
            return Err(fault(line, "a tab before a name is no YAML"));
        }
        let empty = (!bare.is_empty() && !bare.starts_with('#')).then(|| {
            let place = block.head.start + block.head.text.find(bare).unwrap_or(0);
            // The space before it goes, too.
            place - 1..place + bare.len()
        });
        Ok(Some(Block { empty, ..block }))
    }

    /// The first line and those that are deeper.
    fn of(all: &[Line<'t>]) -> Block<'t> {
        let (head, rest) = all.split_first().expect("a block has a first line");
        let own = head.indent().unwrap_or(0);
        let deep = |line: &&Line<'_>| line.indent().is_none_or(|indent| indent > own);
        let mut inside: Vec<Line<'t>> = rest.iter().take_while(deep).copied().collect();
        // Empty lines and comments behind the last member belong to what follows.
        while inside.last().is_some_and(|line| line.indent().is_none()) {
            inside.pop();
        }
        let indent = inside.iter().find_map(Line::indent);
        Block { head: *head, inside, indent, empty: None }
    }

    fn end(&self) -> usize {
        self.inside.last().unwrap_or(&self.head).end()
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.head.start..self.end()
    }

    fn children(&self) -> usize {
        self.inside.iter().filter(|line| line.indent() == self.indent).count()
    }

    fn child(&self, name: &str) -> Option<Block<'t>> {
        let at = self.inside.iter().position(|line| {
            line.indent() == self.indent && line.key().is_some_and(|(key, _)| key == name)
        })?;
        Some(Block::of(&self.inside[at..]))
    }

    fn fields(&self) -> Vec<Field> {
        let mut found: Vec<Field> = Vec::new();
        for line in &self.inside {
            match (line.indent(), line.key()) {
                (Some(indent), Some((key, value))) if Some(indent) == self.indent => {
                    let (key, value) = (key.to_owned(), value.to_owned());
                    found.push(Field { key, value, indent, range: line.start..line.end() });
                }
                (Some(_), _) => {
                    // A value over several lines.
                    if let Some(field) = found.last_mut() {
                        field.value.push('\n');
                        field.value.push_str(line.text.trim());
                        field.range.end = line.end();
                    }
                }
                (None, _) => {}
            }
        }
        found
    }
}

/// What a value says, as far as it is written like JSON; a list over lines is a list of words.
fn scalar(value: &str) -> Json {
    if let Some(list) = value.strip_prefix('\n') {
        let items: Option<Vec<Json>> =
            list.lines().map(|line| Some(scalar(line.strip_prefix("- ")?.trim()))).collect();
        return items.map_or_else(|| Json::from(value), Json::from);
    }
    let bare = value.split(" #").next().unwrap_or(value).trim();
    let unquoted = bare.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    serde_json::from_str(bare).unwrap_or_else(|_| Json::from(unquoted.unwrap_or(bare)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries() -> Vec<Entry> {
        let fields = json!({ "enabled": true, "type": "stdio", "cmd": "cortex", "args": ["mcp"] });
        vec![Entry::own(&["extensions", "cortex"], fields)]
    }

    const OURS: &str = "  cortex:\n    enabled: true\n    type: \"stdio\"\n    cmd: \"cortex\"\n    args: [\"mcp\"]\n";

    // S25
    #[test]
    fn the_mapping_is_added_where_others_are_and_nothing_else_changes() {
        for (before, after) in [
            (String::new(), format!("extensions:\n{OURS}")),
            ("GOOSE_MODEL: x".to_owned(), format!("GOOSE_MODEL: x\nextensions:\n{OURS}")),
            ("extensions: {}\nA: 1\n".to_owned(), format!("extensions:\n{OURS}A: 1\n")),
            (
                "# mine\nextensions:\n  developer:\n    enabled: true\n\n# model\nGOOSE_MODEL: x\n"
                    .to_owned(),
                format!(
                    "# mine\nextensions:\n  developer:\n    enabled: true\n{OURS}\n# model\nGOOSE_MODEL: x\n"
                ),
            ),
        ] {
            let added = add(&before, &entries()).unwrap();
            assert_eq!(added, after);
            assert_eq!(add(&added, &entries()).unwrap(), added);
            assert!(entries()[0].is_in(&read(&added, &entries()).unwrap()));
            let removed = remove(&added, &entries()).unwrap();
            assert!(!removed.contains("cortex"), "{removed}");
        }
    }

    #[test]
    fn what_a_person_added_stays_and_what_is_old_is_brought_up_to_date() {
        let text = concat!(
            "extensions:\n    cortex:\n        enabled: true\n        cmd: old\n",
            "        args:\n        - mcp\n        timeout: 9 # mine\n    z:\n        a: 1\n",
        );
        let added = add(text, &entries()).unwrap();
        let wanted = concat!(
            "        cmd: \"cortex\"\n        args:\n        - mcp\n",
            "        timeout: 9 # mine\n        type: \"stdio\"\n    z:",
        );
        assert!(added.contains(wanted), "{added}");
        assert_eq!(remove(&added, &entries()).unwrap(), "extensions:\n    z:\n        a: 1\n");
    }

    #[test]
    fn a_form_that_cannot_be_told_apart_is_refused_with_its_line() {
        let fault = add("A: 1\nextensions: {a: {b: 1}}\n", &entries()).unwrap_err();
        assert_eq!(fault.line, 2);
        assert!(add("extensions:\n\ta: 1\n", &entries()).is_err());
    }
}
