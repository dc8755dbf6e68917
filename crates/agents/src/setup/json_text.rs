//! Putting a value into JSON text and taking one out, the way the person who wrote the text would.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// An object or a list in a text.
#[derive(Debug)]
pub(super) struct Within {
    /// Where its opening bracket is.
    pub open: usize,
    /// Where its closing bracket is.
    pub close: usize,
    /// Its properties or elements.
    pub children: Vec<Range<usize>>,
}

/// How a text is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    pub newline: &'static str,
    /// One level of indentation.
    unit: &'a str,
}

impl<'a> Layout<'a> {
    pub(super) fn of(text: &'a str) -> Layout<'a> {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = text.lines().find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            (rest.starts_with('"') && rest.len() < line.len())
                .then(|| &line[..line.len() - rest.len()])
        });
        let unit = match indented {
            Some(space) if space.starts_with('\t') => "\t",
            Some(space) => space,
            None => "  ",
        };
        Layout { newline, unit }
    }

    /// A value, on lines of its own whose first continues one that is indented, or on one line.
    pub(super) fn render(&self, value: &Value, in_lines: bool, indent: &str) -> String {
        if !in_lines {
            return value.to_string();
        }
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
        value.serialize(&mut serializer).expect("a value is written to memory");
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        // A line break inside a string is escaped, so every one here is layout.
        text.replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// Whether a text is spread over lines at all.
pub(super) fn is_in_lines(text: &str) -> bool {
    text.trim().contains('\n')
}

/// The white space that the line of a place starts with.
pub(super) fn indent_at(text: &str, place: usize) -> &str {
    let line = &text[line_start(text, place)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Adds a member (with a name) or an element (without) after the last child.
pub(super) fn insert(text: &str, within: &Within, name: Option<&str>, value: &Value) -> String {
    let layout = Layout::of(text);
    let inside = &text[within.open + 1..within.close];
    let is_whole_text = text.trim().len() == within.close + 1 - within.open;
    let in_lines =
        inside.contains('\n') || within.children.is_empty() && (is_whole_text || is_in_lines(text));
    let outer = indent_at(text, within.open);
    let indent = match within.children.last() {
        Some(last) if starts_its_line(text, last.start) => indent_at(text, last.start).to_owned(),
        _ => format!("{outer}{}", layout.unit),
    };
    let mut new = String::new();
    if let Some(name) = name {
        new.push_str(&Value::from(name).to_string());
        new.push_str(if in_lines || text.contains("\": ") { ": " } else { ":" });
    }
    new.push_str(&layout.render(value, in_lines, &indent));

    let mut out = String::with_capacity(text.len() + new.len() + 64);
    if let Some(last) = within.children.last() {
        let comma = comma_after(text, last.end, within.close);
        let after = comma.map_or(last.end, |comma| comma + 1);
        // A remark at the end of the line belongs to what stands before it.
        let place = end_of_remarks(text, after);
        out.push_str(&text[..last.end]);
        if comma.is_none() {
            out.push(',');
        }
        out.push_str(&text[last.end..place]);
        if in_lines {
            out.push_str(layout.newline);
            out.push_str(&indent);
        } else if inside.starts_with(' ') || inside.contains(", ") {
            out.push(' ');
        }
        out.push_str(&new);
        if comma.is_some() {
            out.push(',');
        }
        out.push_str(&text[place..]);
        return out;
    }
    let kept = inside.trim_end();
    let rest = &inside[kept.len()..];
    out.push_str(&text[..=within.open]);
    out.push_str(kept);
    if in_lines {
        out.push_str(layout.newline);
        out.push_str(&indent);
        out.push_str(&new);
        if let Some(newline) = rest.rfind('\n') {
            // The closing bracket stays on its line.
            let newline = if rest[..newline].ends_with('\r') { newline - 1 } else { newline };
            out.push_str(&rest[newline..]);
        } else {
            out.push_str(layout.newline);
            out.push_str(outer);
        }
    } else {
        out.push_str(&new);
        out.push_str(rest);
    }
    out.push_str(&text[within.close..]);
    out
}

/// Takes a child out, with its comma and, if it stands on lines of its own, with these.
pub(super) fn cut(text: &str, within: &Within, place: usize) -> String {
    let child = &within.children[place];
    let comma = comma_after(text, child.end, within.close);
    let mut start = child.start;
    let mut end = comma.map_or(child.end, |comma| comma + 1);
    let mut out = String::with_capacity(text.len());
    let line_end = text[end..].find('\n').map_or(text.len(), |newline| end + newline);
    if starts_its_line(text, start) && text[end..line_end].trim().is_empty() {
        start = line_start(text, start);
        end = (line_end + 1).min(text.len());
    } else if comma.is_some() {
        end += text[end..].len() - text[end..].trim_start_matches(' ').len();
    }
    // The last of several without a comma after it: the comma before it would be left over.
    let left_over = match (comma, place.checked_sub(1)) {
        (None, Some(before)) => comma_after(text, within.children[before].end, child.start),
        _ => None,
    };
    if let Some(left_over) = left_over {
        out.push_str(&text[..left_over]);
        let between = &text[left_over + 1..start];
        // On one line the space after the comma goes with it.
        out.push_str(
            if between.trim().is_empty() && !between.contains('\n') && start == child.start {
                ""
            } else {
                between
            },
        );
    } else {
        out.push_str(&text[..start]);
    }
    out.push_str(&text[end..]);
    out
}

fn line_start(text: &str, place: usize) -> usize {
    text[..place].rfind('\n').map_or(0, |newline| newline + 1)
}

fn starts_its_line(text: &str, place: usize) -> bool {
    let start = line_start(text, place);
    start > 0 && text[start..place].trim().is_empty()
}

/// The comma between a child and what follows it, if there is one before `limit`.
fn comma_after(text: &str, from: usize, limit: usize) -> Option<usize> {
    let mut at = from;
    while at < limit {
        let rest = &text[at..limit];
        if let Some(comment) = comment_at(rest) {
            at += comment;
        } else if rest.starts_with(',') {
            return Some(at);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// The end of the remarks that follow on the same line.
fn end_of_remarks(text: &str, from: usize) -> usize {
    let mut place = from;
    let mut at = from;
    loop {
        at += text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len();
        match comment_at(&text[at..]) {
            Some(length) if !text[at..at + length].contains('\n') => {
                at += length;
                place = at;
            }
            _ => return place,
        }
    }
}

/// The length of the comment that a text starts with. A line comment ends before its line break.
fn comment_at(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.split('\n').next().unwrap_or(text);
        Some(line.strip_suffix('\r').unwrap_or(line).len())
    } else {
        let inside = text.strip_prefix("/*")?;
        Some(inside.find("*/").map_or(text.len(), |end| end + 4))
    }
}
