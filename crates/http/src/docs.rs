//! `/openapi.json`, and the same as a page to read: one file without scripts, made once at the start.

#![allow(clippy::unused_async, reason = "routes are async, also those that need not wait")]

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::App;

pub(super) const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h2{margin-top:2.5rem}code,pre{font:14px/1.45 ui-monospace,monospace}\
pre{background:#f4f4f4;padding:.75rem;overflow:auto}\
details{border:1px solid #ddd;border-radius:4px;margin:.4rem 0;padding:.4rem .75rem}summary{cursor:pointer}\
b.m{display:inline-block;min-width:4.5rem;font:600 14px ui-monospace,monospace}\
table{border-collapse:collapse;width:100%}\
td,th{text-align:left;vertical-align:top;border-top:1px solid #ddd;padding:.25rem .5rem .25rem 0}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#242424}\
details,td,th{border-color:#444}a{color:#8bf}}";

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "health", operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)),
)]
pub(super) async fn document(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.document.to_string()).into_response()
}

/// This document as a page to read.
#[utoipa::path(
    get, path = "/docs", tag = "health", operation_id = "docs",
    responses((status = 200, description = "A page", body = String, content_type = "text/html")),
)]
pub(super) async fn page(State(app): State<App>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    (headers, app.page.to_string()).into_response()
}

/// The whole page. Nothing in it is fetched from anywhere.
pub(super) fn render(document: &Value) -> String {
    let text = |value: &Value| escaped(value.as_str().unwrap_or_default());
    let mut tags: Vec<&str> = Vec::new();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or_default();
            if !tags.contains(&tag) {
                tags.push(tag);
            }
            operations.push((tag, path, method, operation));
        }
    }
    let mut page = String::new();
    let mut add = |part: std::fmt::Arguments<'_>| {
        page.write_fmt(part).expect("a String takes any text");
    };
    let (title, version) = (text(&document["info"]["title"]), text(&document["info"]["version"]));
    add(format_args!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>{title} {version}</title>\
         <style>{STYLE}</style><h1>{title} {version}</h1><p>{}</p>\
         <p><a href=\"/openapi.json\">/openapi.json</a></p>\n",
        text(&document["info"]["description"])
    ));
    for tag in tags {
        add(format_args!("<h2>{}</h2>\n", escaped(tag)));
        for (_, path, method, operation) in operations.iter().filter(|(other, ..)| *other == tag) {
            add(format_args!(
                "<details><summary><b class=\"m\">{}</b><code>{}</code> {}</summary>",
                escaped(&method.to_uppercase()),
                escaped(path),
                text(&operation["summary"])
            ));
            if let Some(more) = operation["description"].as_str() {
                add(format_args!("<p>{}</p>", escaped(more)));
            }
            let parameters = operation["parameters"].as_array();
            if let Some(parameters) = parameters.filter(|parameters| !parameters.is_empty()) {
                add(format_args!("<table><tr><th>parameter<th>in<th>type<th>meaning"));
                for parameter in parameters {
                    let mark = if parameter["required"] == true { " *" } else { "" };
                    add(format_args!(
                        "<tr><td><code>{}</code>{mark}<td>{}<td>{}<td>{}",
                        text(&parameter["name"]),
                        text(&parameter["in"]),
                        escaped(&kind(&parameter["schema"])),
                        text(&parameter["description"])
                    ));
                }
                add(format_args!("</table>"));
            }
            if let Some(content) = operation["requestBody"]["content"].as_object() {
                for (media, body) in content {
                    let shape = shape(document, &body["schema"], 0);
                    add(format_args!(
                        "<p>Body, <code>{}</code></p><pre>{}</pre>",
                        escaped(media),
                        escaped(&shape)
                    ));
                }
            }
            for (status, response) in operation["responses"].as_object().into_iter().flatten() {
                let about = text(&response["description"]);
                for (media, body) in response["content"].as_object().into_iter().flatten() {
                    let shape = shape(document, &body["schema"], 0);
                    add(format_args!(
                        "<p>{}: {about}, <code>{}</code></p><pre>{}</pre>",
                        escaped(status),
                        escaped(media),
                        escaped(&shape)
                    ));
                }
            }
            add(format_args!("</details>\n"));
        }
    }
    page.push_str("</html>\n");
    page
}

/// A type in one word.
fn kind(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("array of {}", kind_of_items(schema)),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let names: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        _ => schema["$ref"]
            .as_str()
            .and_then(|reference| reference.rsplit('/').next())
            .unwrap_or("any")
            .to_owned(),
    }
}

fn kind_of_items(schema: &Value) -> String {
    kind(&schema["items"])
}

/// A schema as people write JSON: one line per field. Shapes inside shapes are shown two deep.
fn shape(document: &Value, schema: &Value, depth: usize) -> String {
    let pad = "  ".repeat(depth + 1);
    if let Some(reference) = schema["$ref"].as_str() {
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        return match target {
            Some(target) if depth < 3 => shape(document, target, depth),
            _ => kind(schema),
        };
    }
    for joined in ["allOf", "oneOf", "anyOf"] {
        let parts = schema[joined].as_array().into_iter().flatten();
        let parts: Vec<String> = parts
            .filter(|part| part["type"] != "null")
            .map(|part| shape(document, part, depth))
            .collect();
        if !parts.is_empty() {
            return parts.join(if joined == "allOf" { " and " } else { " or " });
        }
    }
    if schema["type"] == "array" {
        return format!("[{}]", shape(document, &schema["items"], depth));
    }
    let Some(properties) = schema["properties"].as_object().filter(|all| !all.is_empty()) else {
        return kind(schema);
    };
    let mut text = String::from("{\n");
    for (name, field) in properties {
        let about = field["description"].as_str().map(|words| format!("  // {words}"));
        let inner = shape(document, field, depth + 1);
        let about = about.unwrap_or_default();
        writeln!(text, "{pad}{name}: {inner}{about}").expect("a String takes any text");
    }
    text.push_str(&"  ".repeat(depth));
    text.push('}');
    text
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_route_and_fetches_nothing() {
        let document =
            super::super::document::complete(&super::super::routes().split_for_parts().1);
        let page = render(&document);
        for path in document["paths"].as_object().unwrap().keys() {
            assert!(page.contains(&format!("<code>{}</code>", escaped(path))), "{path}");
        }
        for outside in ["src=", "http://", "https://", "@import", "<script", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(escaped("<a href=\"&\">"), "&lt;a href=&quot;&amp;&quot;&gt;");
    }
}
