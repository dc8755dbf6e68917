//! Settings in TOML: edited as text, so that every byte that is not ours stays.
//!
//! `toml_edit` writes documents back with other line ends and without a byte order mark. It is used to read and to find
//! places; the changes are made in the text.

use std::ops::Range;

use serde_json::{Map, Value as Json};
use toml_edit::{Array, Document, Item, TableLike, Value};

use crate::setup::entry::{Entry, SettingsFault, Shape};

/// The settings as a value, to look at.
pub(super) fn read(text: &str) -> Result<Json, SettingsFault> {
    Ok(table_to_json(parse(text)?.as_table()))
}

/// The text with every entry in it, up to date. Unchanged if all of them already are.
pub(super) fn add(text: &str, entries: &[Entry]) -> Result<String, SettingsFault> {
    let mut text = text.to_owned();
    for (names, fields) in entries.iter().filter_map(own) {
        while let Some(changed) = step(&text, names, fields)? {
            text = changed;
        }
    }
    Ok(text)
}

/// The text without the entries.
pub(super) fn remove(text: &str, entries: &[Entry]) -> Result<String, SettingsFault> {
    let mut text = text.to_owned();
    for (names, _) in entries.iter().filter_map(own) {
        text = without(&text, names)?;
    }
    Ok(text)
}

/// The table, our name in it, and our fields.
fn own(entry: &Entry) -> Option<([&'static str; 2], &Map<String, Json>)> {
    match (entry.path.as_slice(), &entry.shape) {
        (&[table, name], Shape::Own(fields)) => Some(([table, name], fields)),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Document<&str>, SettingsFault> {
    Document::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        SettingsFault::at(text, place, error.message().replace('\n', " "))
    })
}

/// One step towards having the entry, or nothing if it is there.
fn step(
    text: &str,
    names: [&str; 2],
    fields: &Map<String, Json>,
) -> Result<Option<String>, SettingsFault> {
    let document = parse(text)?;
    let [outer, name] = names;
    let Some(servers) = document.get(outer) else {
        return Ok(Some(append(text, names, fields)));
    };
    let Some(table) = servers.as_table_like() else {
        let place = span(servers).start;
        return Err(SettingsFault::at(
            text,
            place,
            format!("{outer:?} should be a table, and is none"),
        ));
    };
    let Some(entry) = table.get(name) else {
        let Some(inline) = servers.as_inline_table() else {
            return Ok(Some(append(text, names, fields)));
        };
        let body: Vec<_> = fields.iter().map(|(key, v)| format!("{key} = {}", render(v))).collect();
        let member = format!("{name} = {{ {} }}", body.join(", "));
        return Ok(Some(into_inline(text, span(servers), inline, &member)));
    };
    let Some(there) = entry.as_table_like() else {
        let place = span(entry).start;
        return Err(SettingsFault::at(
            text,
            place,
            format!("{name:?} should be a table, and is none"),
        ));
    };
    // A server on the network is another kind of entry; its fields do not mix with ours.
    if there.contains_key("url") {
        return Ok(Some(append(&without(text, names)?, names, fields)));
    }
    for (key, wanted) in fields {
        match there.get(key) {
            Some(item) if item_to_json(item) == *wanted => {}
            Some(item) => {
                let range = span(item);
                let new = render(wanted);
                return Ok(Some(format!("{}{new}{}", &text[..range.start], &text[range.end..])));
            }
            None => return Ok(Some(add_field(text, entry, there, key, &render(wanted)))),
        }
    }
    Ok(None)
}

/// A table at the end: valid wherever the others are.
fn append(text: &str, [outer, name]: [&str; 2], fields: &Map<String, Json>) -> String {
    let newline = newline(text);
    let mut out = text.to_owned();
    if !text.trim_start_matches('\u{feff}').is_empty() {
        if !text.ends_with('\n') {
            out.push_str(newline);
        }
        out.push_str(newline);
    }
    let lines = fields.iter().map(|(key, value)| format!("{key} = {}", render(value)));
    for line in std::iter::once(format!("[{outer}.{name}]")).chain(lines) {
        out.push_str(&line);
        out.push_str(newline);
    }
    out
}

fn add_field(text: &str, entry: &Item, there: &dyn TableLike, key: &str, value: &str) -> String {
    let newline = newline(text);
    if let Some(inline) = entry.as_inline_table() {
        return into_inline(text, span(entry), inline, &format!("{key} = {value}"));
    }
    let header = span(entry);
    let (place, prefix) = if text[header.clone()].starts_with('[') {
        (line_end(text, header.end), String::new())
    } else {
        // Written with dots: the new line starts like the one of a neighbour.
        let neighbour = leaves(there).first().map_or(header, Clone::clone);
        let start = line_start(text, neighbour.start);
        let line = &text[start..neighbour.start];
        let dot = line.split('=').next().and_then(|key| key.rfind('.')).map_or(0, |dot| dot + 1);
        (line_end(text, neighbour.end), line[..dot].to_owned())
    };
    format!("{}{newline}{prefix}{key} = {value}{}", &text[..place], &text[place..])
}

fn into_inline(
    text: &str,
    range: Range<usize>,
    inline: &toml_edit::InlineTable,
    member: &str,
) -> String {
    let last = inline.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max();
    match last {
        Some(end) => format!("{}, {member}{}", &text[..end], &text[end..]),
        None => format!("{}{{ {member} }}{}", &text[..range.start], &text[range.end..]),
    }
}

/// The text without our table and what is in it.
fn without(text: &str, [outer, name]: [&str; 2]) -> Result<String, SettingsFault> {
    let document = parse(text)?;
    let Some(servers) = document.get(outer) else { return Ok(text.to_owned()) };
    let Some(entry) = servers.as_table_like().and_then(|table| table.get(name)) else {
        return Ok(text.to_owned());
    };
    let mut cuts = Vec::new();
    if let Some(inline) = servers.as_inline_table() {
        let key = inline.key(name).and_then(toml_edit::Key::span).unwrap_or(span(entry));
        cuts.push(inline_member(text, key.start..span(entry).end));
    } else if entry.as_inline_table().is_some() || entry.as_table_like().is_none() {
        cuts.push(lines(text, span(entry)));
    } else if let Some(table) = entry.as_table_like() {
        tables(text, span(entry), table, &mut cuts);
    }
    cuts.sort_by_key(|cut| cut.start);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        if cut.start >= from {
            out.push_str(&text[from..cut.start]);
        }
        from = from.max(cut.end);
    }
    let rest = &text[from..];
    // One empty line stood before the table and, at the end or before another empty line, is now too much.
    let newline = newline(text);
    if (rest.is_empty() || rest.starts_with(newline)) && out.ends_with(&newline.repeat(2)) {
        out.truncate(out.len() - newline.len());
    }
    out.push_str(rest);
    Ok(out)
}

/// The lines of a table: its header if it has one, its values, and the same of the tables inside.
fn tables(text: &str, header: Range<usize>, table: &dyn TableLike, cuts: &mut Vec<Range<usize>>) {
    let values = leaves(table);
    if text[header.clone()].starts_with('[') {
        let end = values.iter().map(|value| value.end).max().unwrap_or(header.end);
        cuts.push(lines(text, header.start..end.max(header.end)));
    } else {
        cuts.extend(values.into_iter().map(|value| lines(text, value)));
    }
    for (_, item) in table.iter().filter(|(_, item)| !item.is_value()) {
        if let Some(inner) = item.as_table_like() {
            tables(text, span(item), inner, cuts);
        }
    }
}

fn leaves(table: &dyn TableLike) -> Vec<Range<usize>> {
    table.iter().filter(|(_, item)| item.is_value()).map(|(_, item)| span(item)).collect()
}

/// A member of an inline table with the comma before it, or after it if it is the first.
fn inline_member(text: &str, range: Range<usize>) -> Range<usize> {
    let before = text[..range.start].trim_end();
    if before.ends_with(',') {
        return before.len() - 1..range.end;
    }
    let after = text[range.end..].trim_start();
    let skipped = text.len() - after.len();
    match after.strip_prefix(',') {
        Some(rest) => range.start..text.len() - rest.trim_start_matches(' ').len(),
        None => range.start..skipped,
    }
}

/// Whole lines from the one where a range starts to the one where it ends.
fn lines(text: &str, range: Range<usize>) -> Range<usize> {
    let end = text[range.end..].find('\n').map_or(text.len(), |newline| range.end + newline + 1);
    line_start(text, range.start)..end
}

fn line_start(text: &str, place: usize) -> usize {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    text[..place].rfind('\n').map_or(bom, |newline| newline + 1)
}

/// Where a line ends, before its line break.
fn line_end(text: &str, place: usize) -> usize {
    let end = text[place..].find('\n').map_or(text.len(), |newline| place + newline);
    if text[..end].ends_with('\r') { end - 1 } else { end }
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn span(item: &Item) -> Range<usize> {
    item.span().unwrap_or(0..0)
}

fn render(value: &Json) -> String {
    to_toml(value).to_string()
}

fn to_toml(value: &Json) -> Value {
    match value {
        Json::Array(elements) => elements.iter().map(to_toml).collect::<Array>().into(),
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => number.as_i64().unwrap_or_default().into(),
        Json::String(text) => text.as_str().into(),
        Json::Null | Json::Object(_) => {
            unreachable!("fields of a server are plain values or lists")
        }
    }
}

fn table_to_json(table: &dyn TableLike) -> Json {
    Json::Object(table.iter().map(|(key, item)| (key.to_owned(), item_to_json(item))).collect())
}

fn item_to_json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => value_to_json(value),
        Item::Table(table) => table_to_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_to_json(table)).collect(),
    }
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(value) => (*value.value()).into(),
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(elements) => elements.iter().map(value_to_json).collect(),
        Value::InlineTable(table) => table_to_json(table),
    }
}
