//! JSON out of an answer, and whether it has the wanted shape.
//!
//! Reads the keywords that talents use: type, properties, required, additionalProperties, items, enum, const,
//! anyOf, oneOf, allOf, minimum, maximum, minLength, maxLength, minItems, maxItems. Any other keyword says nothing
//! here.

use serde_json::{Value, json};

const ERRORS_MAX: usize = 20;

/// `{valid, errors: [{path, constraint, message}]}`.
pub fn validate(schema: &Value, value: &Value) -> Value {
    let mut errors = Vec::new();
    check(schema, value, "$", &mut errors);
    json!({"valid": errors.is_empty(), "errors": errors})
}

/// What is wrong, in words for whoever wrote it.
pub(super) fn wording(found: &Value) -> String {
    let errors = found["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |error: &Value| {
        let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        format!("{} {}", text("path"), text("message"))
    };
    errors.iter().take(5).map(one).collect::<Vec<_>>().join("; ")
}

/// The JSON of an answer: the answer itself, or what stands in its fence, or its outermost brackets.
pub(super) fn extract(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let first = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    let fenced = text.split("```").nth(1).map(|inner| inner.strip_prefix("json").unwrap_or(inner));
    let bracketed = ['[', '{'].iter().filter_map(|open| text.find(*open)).min().and_then(|from| {
        let close = if text.as_bytes()[from] == b'[' { ']' } else { '}' };
        text.rfind(close).filter(|to| *to > from).map(|to| &text[from..=to])
    });
    for part in [fenced, bracketed].into_iter().flatten() {
        if let Ok(value) = serde_json::from_str(part.trim()) {
            return Ok(value);
        }
    }
    Err(first)
}

fn check(schema: &Value, value: &Value, path: &str, errors: &mut Vec<Value>) {
    if errors.len() >= ERRORS_MAX {
        return;
    }
    let mut tell = |constraint: &str, message: String| {
        errors.push(json!({"path": path, "constraint": constraint, "message": message}));
    };
    if schema == &Value::Bool(false) {
        tell("false", "nothing is allowed here".into());
        return;
    }
    if let Some(wanted) = schema.get("type") {
        let words: Vec<&str> = match wanted {
            Value::String(word) => vec![word],
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !words.is_empty() && !words.iter().any(|word| is(word, value)) {
            tell("type", format!("is not {}", words.join(" or ")));
            return;
        }
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        tell("enum", format!("{value} is none of the allowed values"));
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        tell("const", format!("is not {only}"));
    }
    let size = match value {
        Value::String(text) => Some((text.chars().count(), "minLength", "maxLength")),
        Value::Array(items) => Some((items.len(), "minItems", "maxItems")),
        _ => None,
    };
    if let Some((size, least, most)) = size {
        let size = size as u64;
        if schema[least].as_u64().is_some_and(|least| size < least) {
            tell(least, format!("has {size}, fewer than {}", schema[least]));
        }
        if schema[most].as_u64().is_some_and(|most| size > most) {
            tell(most, format!("has {size}, more than {}", schema[most]));
        }
    }
    if let Some(number) = value.as_f64() {
        if schema["minimum"].as_f64().is_some_and(|least| number < least) {
            tell("minimum", format!("is below {}", schema["minimum"]));
        }
        if schema["maximum"].as_f64().is_some_and(|most| number > most) {
            tell("maximum", format!("is above {}", schema["maximum"]));
        }
    }
    combined(schema, value, path, errors);
    inner(schema, value, path, errors);
}

fn combined(schema: &Value, value: &Value, path: &str, errors: &mut Vec<Value>) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        check(part, value, path, errors);
    }
    for (word, exactly_one) in [("anyOf", false), ("oneOf", true)] {
        let Some(parts) = schema[word].as_array() else { continue };
        let fits = parts
            .iter()
            .filter(|part| {
                let mut none = Vec::new();
                check(part, value, path, &mut none);
                none.is_empty()
            })
            .count();
        if fits == 0 || (exactly_one && fits > 1) {
            let message = format!("fits {fits} of the alternatives");
            errors.push(json!({"path": path, "constraint": word, "message": message}));
        }
    }
}

fn inner(schema: &Value, value: &Value, path: &str, errors: &mut Vec<Value>) {
    match value {
        Value::Object(object) => {
            for name in
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
            {
                if !object.contains_key(name) {
                    let message = format!("{name:?} is missing");
                    errors
                        .push(json!({"path": path, "constraint": "required", "message": message}));
                }
            }
            for (name, value) in object {
                let path = format!("{path}.{name}");
                let other = schema.get("additionalProperties");
                match schema["properties"].get(name).or(other) {
                    Some(Value::Bool(false)) => errors.push(json!({
                        "path": path, "constraint": "additionalProperties", "message": "is not expected",
                    })),
                    Some(part) => check(part, value, &path, errors),
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(part) = schema.get("items") {
                for (place, item) in items.iter().enumerate() {
                    check(part, item, &format!("{path}[{place}]"), errors);
                }
            }
        }
        _ => {}
    }
}

fn is(word: &str, value: &Value) -> bool {
    match word {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_is_judged_place_by_place() {
        let schema = json!({"type": "array", "maxItems": 2, "items": {
            "type": "object", "required": ["facet"], "additionalProperties": false,
            "properties": {"facet": {"type": "string", "minLength": 1}, "level": {"enum": ["high", "low"]}},
        }});
        assert_eq!(validate(&schema, &json!([{"facet": "a", "level": "low"}]))["valid"], true);
        let bad = validate(&schema, &json!([{"level": "x", "more": 1}, {"facet": ""}, 7]));
        let told: Vec<String> = bad["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| {
                format!(
                    "{} {}",
                    error["path"].as_str().unwrap(),
                    error["constraint"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "$ maxItems",
                "$[0] required",
                "$[0].level enum",
                "$[0].more additionalProperties",
                "$[1].facet minLength",
                "$[2] type"
            ]
        );
        let one = json!({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]});
        assert_eq!(validate(&one, &json!(3))["valid"], true);
        assert_eq!(validate(&one, &json!(7))["valid"], false);
    }

    #[test]
    fn json_is_found_inside_of_talk() {
        for text in
            ["[1]", "  [1]\n", "```json\n[1]\n```", "Here it is:\n```\n[1]\n```\nDone.", "So: [1]."]
        {
            assert_eq!(extract(text), Ok(json!([1])), "{text:?}");
        }
        assert!(extract("none").is_err());
        assert!(extract("[1, 2").is_err());
        assert!(extract("] [").is_err());
    }
}
