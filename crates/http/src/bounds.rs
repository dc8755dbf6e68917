//! What requests must keep to where their types do not say it: bounds of numbers, shapes of texts, fields that must be
//! there. The table is `bounds.json`; it goes into the document, and the operations refuse what is beyond it.
//!
//! What must stay true: each line of the table is about something that the document has.

use serde_json::{Map, Value};

/// The table, as text.
const TABLE: &str = include_str!("bounds.json");

/// Puts the bounds into a document.
pub(super) fn put(document: &mut Value) {
    let table: Value = serde_json::from_str(TABLE).expect("bounds.json is JSON");
    let mut bodies = Vec::new();
    for (_, operation) in operations(document) {
        let name = operation["operationId"].as_str().unwrap_or_default().to_owned();
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            let field = parameter["name"].as_str().unwrap_or_default().to_owned();
            if let Some(bound) = bound(&table, "parameters", &name, &field) {
                // There is no null in an address.
                keep_to(&mut parameter["schema"], bound, false);
            }
        }
        if let Some(schema) = operation.pointer_mut("/requestBody/content/application~1json/schema")
        {
            // A body may be absent; it is never null.
            if let Some(own) = schema["oneOf"]
                .as_array()
                .and_then(|choices| choices.iter().find(|choice| choice["type"] != "null").cloned())
            {
                *schema = own;
            }
            let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
            bodies.extend(name.map(str::to_owned));
        }
    }
    let schemas = &mut document["components"]["schemas"];
    for name in bodies {
        let schema = &mut schemas[&name];
        for (field, schema) in schema["properties"].as_object_mut().into_iter().flatten() {
            if schema.get("$ref").is_none()
                && let Some(bound) = bound(&table, "fields", &name, field)
            {
                let may_be_null = schema["type"].as_array().is_some();
                keep_to(schema, bound, may_be_null);
            }
        }
        if let Some(required) = table["required"].get(&name) {
            schema["required"] = required.clone();
        }
    }
}

/// Every operation with its method.
fn operations(document: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(_, methods)| methods.as_object_mut().into_iter().flatten())
}

/// The bound of a field: its own, or that of all with its name.
fn bound<'t>(
    table: &'t Value,
    group: &str,
    owner: &str,
    field: &str,
) -> Option<&'t Map<String, Value>> {
    let rules = &table[group];
    let rule = rules.get(format!("{owner}.{field}")).or_else(|| rules.get(field))?;
    rule.as_str().map_or(rule, |word| &table["words"][word]).as_object()
}

fn keep_to(schema: &mut Value, bound: &Map<String, Value>, may_be_null: bool) {
    for (name, value) in bound {
        match (name.as_str(), value) {
            ("items", Value::Object(items)) => keep_to(&mut schema["items"], items, false),
            ("enum", Value::Array(words)) if may_be_null => {
                schema["enum"] = words.iter().cloned().chain([Value::Null]).collect();
            }
            _ => schema[name] = value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // everywhere E10
    #[test]
    fn every_line_of_the_table_is_about_something() {
        let table: Value = serde_json::from_str(TABLE).unwrap();
        let mut document = crate::document::complete(&crate::routes().split_for_parts().1);
        let mut known = BTreeSet::new();
        for (_, operation) in operations(&mut document) {
            let name = operation["operationId"].as_str().unwrap();
            for parameter in operation["parameters"].as_array().unwrap() {
                let field = parameter["name"].as_str().unwrap();
                known.extend([field.to_owned(), format!("{name}.{field}")]);
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            known.insert(name.clone());
            for field in
                schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name)
            {
                known.extend([field.clone(), format!("{name}.{field}")]);
            }
        }
        for group in ["parameters", "required", "fields"] {
            for (line, rule) in table[group].as_object().unwrap() {
                assert!(known.contains(line), "{group}: {line}");
                if let Some(word) = rule.as_str() {
                    assert!(table["words"].get(word).is_some(), "{group}: {line}: {word}");
                }
            }
        }
        let search = document["paths"]["/api/search"]["get"]["parameters"].as_array().unwrap();
        let limit = search.iter().find(|one| one["name"] == "limit").unwrap();
        assert_eq!(
            (&limit["schema"]["minimum"], &limit["schema"]["maximum"]),
            (&1.into(), &200.into())
        );
        let body = &document["components"]["schemas"]["SaveRequest"];
        assert_eq!(body["required"], serde_json::json!(["title", "content"]));
        assert!(body["properties"]["scope"]["enum"].as_array().unwrap().contains(&Value::Null));
    }
}
