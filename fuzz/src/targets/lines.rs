//! Lines of the socket and of the bus, and the grammar of filters: what is typed or sent as text.

use std::str::FromStr as _;

use api::run::RunRequest;
use client::protocol::{DaemonReply, DaemonRequest, Hello, check_hello, decode};
use kernel::find::{Predicate, parse_time};
use serde_json::{Value, json};
use talents::bus::{BusFilter, BusMessage};

use super::{Outcome, shape};

fn texts(values: &[Value]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.to_string().into_bytes()).collect()
}

pub(super) fn socket_seeds() -> Vec<Vec<u8>> {
    let from = json!({"actor": "me", "by": "fuzz"});
    texts(&[
        json!({"cortex": 1, "version": "0.1.0"}),
        json!({"id": 1, "body": "status"}),
        json!({"id": 2, "body": {"ask": {"from": from, "ask": {"search": {"query": "redb", "limit": 5}}}}}),
        json!({"id": 3, "body": {"ask": {"from": from, "ask": {"save": {"title": "T", "content": "C"}}}}}),
        json!({"id": 4, "body": {"run": {"arguments": ["save"], "cwd": "/", "variables": {"A": "b"},
            "input_is_terminal": false, "talk_is_terminal": true}}}),
        json!({"id": 5, "body": {"input": "aGVsbG8="}}),
        json!({"id": 6, "body": {"ok": {"n": [1, 2.5, null, "x"]}}}),
    ])
}

/// What a peer may send: the law is that whatever is understood can be said again and means the same.
pub(super) fn socket(bytes: &[u8]) -> Outcome {
    let mut answer = match serde_json::from_slice::<Hello>(bytes) {
        Ok(hello) => 1 + u64::from(check_hello(&hello).is_ok()),
        Err(error) => shape(&error.to_string()),
    };
    match serde_json::from_slice::<DaemonRequest>(bytes) {
        Ok(request) => {
            let said = serde_json::to_value(&request)
                .map_err(|error| format!("it cannot be said: {error}"))?;
            let again: DaemonRequest = serde_json::from_value(said.clone())
                .map_err(|error| format!("said again: {error}: {said}"))?;
            let said_again = serde_json::to_value(&again).map_err(|error| error.to_string())?;
            if said != said_again {
                return Err(format!("{said} became {said_again}"));
            }
            answer ^= 8;
        }
        Err(error) => answer ^= shape(&error.to_string()).rotate_left(5),
    }
    match serde_json::from_slice::<DaemonReply>(bytes) {
        Ok(_) => answer ^= 16,
        Err(error) => answer ^= shape(&error.to_string()).rotate_left(9),
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        answer ^= u64::from(decode(text).is_ok()) << 40;
    }
    Ok(answer)
}

pub(super) fn bus_seeds() -> Vec<Vec<u8>> {
    texts(&[
        json!({"tract": "cortex", "event": "request", "name": "default", "prompt": "Go", "env": {"A": "b"},
            "timeout_seconds": 5, "tier": 2, "span": ["120000_300"], "ref": 1}),
        json!({"tract": "cortex", "event": "cancel", "use_id": "1700000000000"}),
        json!({"tract": "bus", "event": "subscribe", "tracts": ["cortex", "mind"], "events": ["finish"],
            "use_id": "1700000000000", "after": 5}),
        json!({"tract": "notes", "event": "said", "text": "grüße", "ts": 1}),
    ])
}

/// The law: what leaves the bus is a line that it would take, without values of `env`.
pub(super) fn bus(bytes: &[u8]) -> Outcome {
    let message = match BusMessage::parse(bytes) {
        Ok(message) => message,
        Err(bad) => return Ok(shape(&format!("{bad:?}"))),
    };
    let mut answer = 1;
    match RunRequest::from_fields(message.fields()) {
        Ok(request) => {
            let shown = Value::Object(request.shown().into_fields());
            if shown.get("env").is_some_and(Value::is_object) {
                return Err(format!("values of env are shown: {shown}"));
            }
            answer ^= 2;
        }
        Err(error) => answer ^= shape(&error.to_string()),
    }
    match BusFilter::parse(&Value::Object(message.fields().clone())) {
        Ok(_) => answer ^= 4,
        Err(why) => answer ^= shape(&why).rotate_left(3),
    }
    Ok(answer)
}

pub(super) fn filter_seeds() -> Vec<Vec<u8>> {
    [
        "type:decision tag:auth importance>=0.7 created>2026-01-01 (status=accepted OR pinned=true) \
         NOT title~\"(?i)draft\"",
        "project:(web, \"two words\", ops) -archived=true",
        "ALL(tag:a tag:b) ANY(kind=bugfix kind=decision)",
        "version.created<@1767225600000 confidence<=0.250001",
        "tags!=x AND NOT (body.status:active)",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// The law: what a filter is written as is read as the same filter.
pub(super) fn filter(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    let mut answer = u64::from(parse_time(&text).is_some());
    match Predicate::from_str(&text) {
        Ok(read) => {
            let written = read.to_string();
            match Predicate::from_str(&written) {
                Ok(again) if again == read => answer ^= 2,
                Ok(_) => {
                    return Err(format!(
                        "{text:?} is written as {written:?}, which means something else"
                    ));
                }
                // Only filters that pass the checks of a find are sure to be written back; depth is one of them.
                Err(error) => answer ^= shape(&error.to_string()).rotate_left(11),
            }
        }
        Err(error) => answer ^= shape(&error.to_string()),
    }
    Ok(answer)
}
