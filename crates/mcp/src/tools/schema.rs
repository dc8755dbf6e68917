//! Schemas from the words of the table: `name:type`, with `*` if it must be given or is always there.
//!
//! Types: `s` text, `i` whole number, `n` number, `b` true or false, `o` object, `a` list, `w` list of texts.

use serde_json::{Map, Value, json};

pub(super) fn input(items: &str) -> Value {
    schema(items, |name, kind| match name {
        "scope" => json!({"type": "string", "enum": ["project", "personal"]}),
        _ => of(kind),
    })
}

pub(super) fn output(items: &str) -> Value {
    schema(items, |_, kind| of(kind))
}

fn of(kind: &str) -> Value {
    match kind {
        "i" => json!({"type": "integer"}),
        "n" => json!({"type": "number"}),
        "b" => json!({"type": "boolean"}),
        "o" => json!({"type": "object"}),
        "a" => json!({"type": "array"}),
        "w" => json!({"type": "array", "items": {"type": "string"}}),
        _ => json!({"type": "string"}),
    }
}

fn schema(items: &str, of: impl Fn(&str, &str) -> Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for item in items.split_whitespace() {
        let (name, kind) = item.split_once(':').expect("an item of the table is name:type");
        if kind.ends_with('*') {
            required.push(json!(name));
        }
        properties.insert(name.to_owned(), of(name, kind.trim_end_matches('*')));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema
}
