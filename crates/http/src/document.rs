//! The OpenAPI document: what `utoipa` collects from the routes, and what holds for all of them.
//!
//! Every operation gets the one shape of errors as its `default` answer, and those that speak of memories the headers
//! that say whose memory is meant and make retries safe.

use api::caller::KEY_BYTES_MAX;
use serde_json::{Value, json};
use utoipa::PartialSchema as _;
use utoipa::openapi::OpenApi;

use crate::problem::ProblemView;
use crate::{bounds, examples};

const ABOUT: &str = "Durable, verifiable memory for AI agents. Lists are arrays; `X-Total-Count` says how many there \
                     are in \
all. Errors are problem details (RFC 9457) with a stable `code`. Everything but `/healthz` is for the owner, who shows \
the token of the home (`cortex token`, or the file `token` in it), or a cookie (`cortex open`); others show a grant. \
Agents find their tools at `/mcp` (Model Context Protocol, Streamable HTTP).";

/// Routes that need no credential: one tells nothing, one is a secret itself.
const OPEN: [&str; 2] = ["/healthz", "/open/{link}"];
/// Requests whose `id` comes with the path.
const NAMED_BY_PATH: [&str; 4] =
    ["UpdateRequest", "ArchiveRequest", "RestoreRequest", "SessionEndRequest"];

/// The document that is served.
pub(super) fn complete(described: &OpenApi) -> Value {
    let mut document = json!(described);
    document["info"] = json!({
        "title": "Cortex",
        "version": env!("CARGO_PKG_VERSION"),
        "description": ABOUT,
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    });
    document["security"] = json!([{"bearer": []}, {"cookie": []}]);
    if let Some(components) = document["components"].as_object_mut() {
        components.insert(
            "securitySchemes".to_owned(),
            json!({
                "bearer": {
                    "type": "http", "scheme": "bearer",
                    "description": "The token of the home, or one that a grant came with",
                },
                "cookie": {
                    "type": "apiKey", "in": "cookie", "name": "cortex-home",
                    "description": "Of a browser that followed a link of `cortex open`; each home has a name of its \
                        own",
                },
            }),
        );
    }
    let schemas = &mut document["components"]["schemas"];
    schemas["Problem"] = json!(ProblemView::schema());
    for name in NAMED_BY_PATH {
        if let Some(properties) = schemas[name]["properties"].as_object_mut() {
            properties.shift_remove("id");
        }
    }
    bounds::put(&mut document);
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, methods) in paths {
            let operations = methods.as_object_mut().into_iter().flatten();
            operations.for_each(|(method, operation)| finish(path, method, operation));
        }
    }
    document
}

fn finish(path: &str, method: &str, operation: &mut Value) {
    if OPEN.contains(&path) {
        operation["security"] = json!([]);
    }
    operation["responses"]["default"] = json!({
        "description": "What is wrong",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    let name = operation["operationId"].as_str().unwrap_or_default();
    if let Some(example) = examples::example(name)
        && let Some(body) = operation.pointer_mut("/requestBody/content/application~1json")
    {
        body["example"] = example;
    }
    let mut parameters = match operation["parameters"].take() {
        Value::Array(parameters) => parameters,
        _ => Vec::new(),
    };
    // What is not in an address is absent; there is no null in it.
    for parameter in &mut parameters {
        without_null(&mut parameter["schema"]);
        if parameter["required"] == true {
            let name = parameter["name"].as_str().unwrap_or_default();
            parameter["example"] = examples::value(name, &parameter["schema"]);
        }
    }
    if path.starts_with("/api/") {
        let name = json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$"});
        parameters.push(header("X-Cortex-Actor", "Whose memory; `default` if absent", &name));
        let key = json!({"type": "string", "minLength": 1, "maxLength": KEY_BYTES_MAX});
        parameters.push(header("Idempotency-Key", "A retry with the same key acts once", &key));
    }
    operation["parameters"] = Value::Array(parameters);
    let command = examples::command(method, path, operation);
    operation["x-codeSamples"] = json!([{"lang": "Shell", "source": command}]);
}

fn header(name: &str, about: &str, schema: &Value) -> Value {
    json!({
        "name": name, "in": "header", "description": about, "required": false, "schema": schema,
    })
}

fn without_null(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array_mut() {
        types.retain(|kind| kind != "null");
        if types.len() == 1 {
            schema["type"] = types.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn document() -> Value {
        complete(&super::super::routes().split_for_parts().1)
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_words_a_tag_and_the_shape_of_errors() {
        let mut names = BTreeSet::new();
        for (path, methods) in document()["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let what = format!("{method} {path}");
                let name = operation["operationId"].as_str().unwrap();
                assert!(names.insert(name.to_owned()), "{what}: {name} is not its own");
                assert!(operation["summary"].as_str().is_some_and(|s| !s.is_empty()), "{what}");
                assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{what}");
                assert!(operation["responses"]["default"].is_object(), "{what}");
            }
        }
        assert!(names.len() > 40, "{names:?}");
    }

    // W19, everywhere E10: something to type for every operation, with nothing left to fill in
    #[test]
    fn every_operation_has_an_example_that_can_be_typed() {
        let document = document();
        let operation = |path: &str, method: &str| {
            document["paths"][path][method]["x-codeSamples"][0]["source"]
                .as_str()
                .map(str::to_owned)
        };
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let command = operation(path, method).unwrap_or_else(|| panic!("{method} {path}"));
                assert!(command.starts_with("cortex curl "), "{command}");
                let address = command.split(" -H ").next().unwrap_or_default();
                assert!(!address.contains('{'), "{command}");
            }
        }
        assert_eq!(
            operation("/api/search", "get").unwrap(),
            "cortex curl '/api/search?q=why+did+the+login+fail'"
        );
        assert_eq!(
            operation("/api/observations/{id}/pin", "put").unwrap(),
            "cortex curl /api/observations/12/pin -X PUT"
        );
    }

    // everywhere E10
    #[test]
    fn every_body_has_an_example_with_fields_that_the_schema_has() {
        let document = document();
        let mut seen = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let Some(body) = operation.pointer("/requestBody/content/application~1json") else {
                    continue;
                };
                let what = format!("{method} {path}");
                let example = body["example"].as_object().unwrap_or_else(|| panic!("{what}"));
                let schema = &body["schema"];
                let named =
                    [&schema["$ref"], &schema["oneOf"][0]["$ref"], &schema["oneOf"][1]["$ref"]];
                let name = named.into_iter().find_map(Value::as_str).unwrap_or_default();
                let pointer = name.strip_prefix('#').unwrap_or_else(|| panic!("{what}: {schema}"));
                let schema = document.pointer(pointer).unwrap();
                let mut parts = vec![schema];
                parts.extend(schema["allOf"].as_array().into_iter().flatten());
                for field in example.keys() {
                    let is_known = parts.iter().any(|part| part["properties"].get(field).is_some());
                    assert!(is_known, "{what} has no {field}");
                }
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
            match value {
                Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                    if name == "$ref" {
                        found.extend(value.as_str());
                    }
                    references(value, found);
                }),
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
