//! Settings in JSON, with or without comments: edited as text, so that every byte that is not ours stays.
//!
//! Each step parses the text, finds one place and changes it there. Comments, trailing commas, key order, indentation,
//! line ends and a byte order mark are the user's and are followed, not set.

use jsonc_parser::ast::{Array, Object, StringLit, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use crate::setup::entry::{Entry, SettingsFault, Shape, is_marked, marked};
use crate::setup::json_text::{Layout, Within, cut, indent_at, insert, is_in_lines};

/// The settings as a value, to look at. No text, or nothing but comments, is an empty object.
pub(super) fn read(text: &str) -> Result<Value, SettingsFault> {
    let tree = parse(split_mark(text).1)?;
    Ok(tree.map_or_else(|| Value::Object(serde_json::Map::new()), Value::from))
}

/// The text with every entry in it, up to date. Unchanged if all of them already are.
pub(super) fn add(text: &str, entries: &[Entry]) -> Result<String, SettingsFault> {
    let (mark, text) = split_mark(text);
    let mut text = text.to_owned();
    if parse(&text)?.is_none() {
        let newline = Layout::of(&text).newline;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(newline);
        }
        text.push_str("{}");
        text.push_str(newline);
    }
    for entry in entries {
        // An own entry that is there takes one step per field.
        while let Some(changed) = step(&text, entry)? {
            text = changed;
        }
    }
    text.insert_str(0, mark);
    Ok(text)
}

/// The text without the entries. Containers named in `made` go too if nothing else is in them.
pub(super) fn remove(
    text: &str,
    entries: &[Entry],
    made: &[Vec<String>],
) -> Result<String, SettingsFault> {
    let (mark, text) = split_mark(text);
    let mut text = text.to_owned();
    for entry in entries {
        if let Shape::Required(_) = entry.shape {
            continue;
        }
        while let Some(changed) = without(&text, entry)? {
            text = changed;
        }
    }
    // Taking out one container may leave another one empty.
    loop {
        let mut emptied = false;
        for path in made {
            if let Some(changed) = without_empty(&text, path)? {
                text = changed;
                emptied = true;
            }
        }
        if !emptied {
            break;
        }
    }
    text.insert_str(0, mark);
    Ok(text)
}

/// Containers and required values of the entries that the text does not have yet.
pub(super) fn missing(text: &str, entries: &[Entry]) -> Result<Vec<Vec<String>>, SettingsFault> {
    let settings = read(text)?;
    let mut missing: Vec<Vec<String>> = Vec::new();
    for entry in entries {
        let depth = match entry.shape {
            Shape::Own(_) => entry.path.len() - 1,
            Shape::Element { .. } | Shape::Required(_) => entry.path.len(),
        };
        for end in 1..=depth {
            let path = &entry.path[..end];
            let there = path.iter().try_fold(&settings, |value, name| value.get(name)).is_some();
            let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
            if !there && !missing.contains(&path) {
                missing.push(path);
            }
        }
    }
    Ok(missing)
}

/// A byte order mark, and the text after it. Everything below this line knows only the latter.
fn split_mark(text: &str) -> (&str, &str) {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    text.split_at(mark)
}

fn parse(text: &str) -> Result<Option<Node<'_>>, SettingsFault> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| SettingsFault::at(text, error.range().start, error.kind().to_string()))?;
    match parsed.value {
        Some(node) if !matches!(node, Node::Object(_)) => {
            Err(SettingsFault::at(text, node.start(), "settings are an object, and this is none"))
        }
        value => Ok(value),
    }
}

/// The last property of a name; programs that read JSON let the last one win.
fn property<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b Node<'a>> {
    let found = object.properties.iter().rev().find(|property| property.name.as_str() == name);
    found.map(|property| &property.value)
}

/// One step towards having the entry, or nothing if it is there.
fn step(text: &str, entry: &Entry) -> Result<Option<String>, SettingsFault> {
    let Some(Node::Object(root)) = parse(text)? else {
        unreachable!("the caller made an object");
    };
    let (last, outer) = entry.path.split_last().expect("an entry has a path");
    let mut object = &root;
    for (depth, name) in outer.iter().enumerate() {
        match property(object, name) {
            None => {
                let value = nested(&entry.path[depth + 1..], whole(&entry.shape));
                return Ok(Some(member(text, object, name, &value)));
            }
            Some(Node::Object(inner)) => object = inner,
            Some(other) => return Err(not_a(text, name, "an object", other)),
        }
    }
    match (&entry.shape, property(object, last)) {
        (Shape::Own(_) | Shape::Required(_), None) => {
            Ok(Some(member(text, object, last, &whole(&entry.shape))))
        }
        (Shape::Required(_), Some(_)) => Ok(None),
        (Shape::Own(fields), Some(Node::Object(there))) => {
            // An entry that names a server on the network is another kind of entry; its fields do not mix with ours.
            if ["url", "httpUrl"].iter().any(|name| property(there, name).is_some()) {
                return Ok(Some(replace(text, there.range(), &whole(&entry.shape))));
            }
            for (name, wanted) in fields {
                match property(there, name) {
                    None => return Ok(Some(member(text, there, name, wanted))),
                    Some(value) if Value::from(value.clone()) != *wanted => {
                        return Ok(Some(replace(text, value.range(), wanted)));
                    }
                    Some(_) => {}
                }
            }
            Ok(None)
        }
        (Shape::Own(_), Some(other)) => {
            Ok(Some(replace(text, other.range(), &whole(&entry.shape))))
        }
        (Shape::Element { .. }, None) => Ok(Some(member(text, object, last, &whole(&entry.shape)))),
        (Shape::Element { value, mark }, Some(Node::Array(list))) => {
            // A person may have set a timeout or a matcher on it; only the command line is ours to correct.
            let there = list.elements.iter().find_map(|node| marked_line(node, mark));
            let wanted = marked(value, mark).expect("an element of ours carries its mark");
            match there {
                None => Ok(Some(element(text, list, value))),
                Some(line) if line.value != wanted => {
                    Ok(Some(replace(text, line.range(), &Value::from(wanted))))
                }
                Some(_) => Ok(None),
            }
        }
        (Shape::Element { .. }, Some(other)) => Err(not_a(text, last, "a list", other)),
    }
}

/// The command line with the mark, in a list element or in the hooks inside it.
fn marked_line<'a, 'b>(node: &'b Node<'a>, mark: &str) -> Option<&'b StringLit<'a>> {
    match node {
        Node::Object(object) => match property(object, "command") {
            Some(Node::StringLit(line)) if line.value.contains(mark) => Some(line),
            _ => property(object, "hooks").and_then(|hooks| marked_line(hooks, mark)),
        },
        Node::Array(list) => list.elements.iter().find_map(|node| marked_line(node, mark)),
        Node::StringLit(text) => (text.value == mark).then_some(text),
        _ => None,
    }
}

/// The text without one occurrence of the entry, or nothing if there is none.
fn without(text: &str, entry: &Entry) -> Result<Option<String>, SettingsFault> {
    let Some(Node::Object(root)) = parse(text)? else { return Ok(None) };
    let (last, outer) = entry.path.split_last().expect("an entry has a path");
    let Some(object) = inner(&root, outer) else { return Ok(None) };
    match &entry.shape {
        Shape::Own(_) | Shape::Required(_) => Ok(without_member(text, object, last)),
        Shape::Element { mark, .. } => {
            let Some(Node::Array(list)) = property(object, last) else { return Ok(None) };
            let ours = |node: &Node<'_>| is_marked(&Value::from(node.clone()), mark);
            let Some(place) = list.elements.iter().position(ours) else { return Ok(None) };
            Ok(Some(cut(text, &within(list.range(), list.elements.iter()), place)))
        }
    }
}

/// The text without the container at a path, if nothing is left in it.
fn without_empty(text: &str, path: &[String]) -> Result<Option<String>, SettingsFault> {
    let Some(Node::Object(root)) = parse(text)? else { return Ok(None) };
    let (last, outer) = path.split_last().expect("a container has a path");
    let Some(object) = inner(&root, outer) else { return Ok(None) };
    let gone = match property(object, last) {
        Some(Node::Object(object)) => object.properties.is_empty(),
        Some(Node::Array(list)) => list.elements.is_empty(),
        // A required value is only there for our sake, and goes when it is alone.
        Some(_) => object.properties.len() == 1,
        None => false,
    };
    Ok(if gone { without_member(text, object, last) } else { None })
}

fn inner<'a, 'b, S: AsRef<str>>(root: &'b Object<'a>, path: &[S]) -> Option<&'b Object<'a>> {
    path.iter().try_fold(root, |object, name| match property(object, name.as_ref()) {
        Some(Node::Object(inner)) => Some(inner),
        _ => None,
    })
}

fn without_member(text: &str, object: &Object<'_>, name: &str) -> Option<String> {
    let place = object.properties.iter().rposition(|property| property.name.as_str() == name)?;
    Some(cut(text, &within(object.range(), object.properties.iter()), place))
}

fn whole(shape: &Shape) -> Value {
    match shape {
        Shape::Own(fields) => Value::Object(fields.clone()),
        Shape::Element { value, .. } => Value::Array(vec![value.clone()]),
        Shape::Required(value) => value.clone(),
    }
}

/// A value inside objects with these names.
fn nested(names: &[&'static str], value: Value) -> Value {
    names.iter().rev().fold(value, |value, name| serde_json::json!({ *name: value }))
}

fn not_a(text: &str, name: &str, wanted: &str, node: &Node<'_>) -> SettingsFault {
    SettingsFault::at(text, node.start(), format!("{name:?} should be {wanted}, and is none"))
}

fn within<'a>(range: Range, children: impl Iterator<Item = &'a (impl Ranged + 'a)>) -> Within {
    Within {
        open: range.start,
        close: range.end - 1,
        children: children.map(|child| child.start()..child.end()).collect(),
    }
}

fn member(text: &str, object: &Object<'_>, name: &str, value: &Value) -> String {
    insert(text, &within(object.range(), object.properties.iter()), Some(name), value)
}

fn element(text: &str, list: &Array<'_>, value: &Value) -> String {
    insert(text, &within(list.range(), list.elements.iter()), None, value)
}

fn replace(text: &str, range: Range, value: &Value) -> String {
    let layout = Layout::of(text);
    let rendered = layout.render(value, is_in_lines(text), indent_at(text, range.start));
    format!("{}{rendered}{}", &text[..range.start], &text[range.end..])
}
