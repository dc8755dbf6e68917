//! What a model reads of the tools of the past: text of sessions is a quotation, whatever it says, and fits its room.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use api::past::{
    PastFix, PastFriction, PastHabit, PastHit, PastItemView, PastKeepAnswer, PastRemoval,
    PastSearchAnswer, PastSessionView, PastShowAnswer, PastTrace, PastTurnView, PastWorkAnswer,
};
use api::render::model::AnswerForModel;
use api::{Call, Error, Handle, Result};
use mcp::backend::Backend;
use mcp::call::call;
use mcp::tools;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use testkit::hostile::{TEXTS, assert_inert};

const TOOLS: [&str; 4] = ["past_search", "past_show", "past_work", "mem_keep"];

/// Sessions in which every text is the same: a file that an agent wrote can hold anything anywhere.
#[derive(Clone, Debug)]
struct SessionEcho {
    text: String,
    count: usize,
}

impl SessionEcho {
    fn all<T: Clone>(&self, one: T) -> Vec<T> {
        vec![one; self.count]
    }

    fn hit(&self) -> PastHit {
        let text = || self.text.clone();
        PastHit {
            reference: text(),
            agent: text(),
            session: text(),
            turn: 3,
            title: Some(text()),
            project: Some(text()),
            folder: Some(text()),
            at: Some(text()),
            role: text(),
            preview: text(),
            prompt: Some(text()),
            answered: Some(text()),
            text: text(),
            resume: Some(text()),
            changed_since: Some(text()),
            standing: text(),
            rejected: Some(text()),
            ..PastHit::default()
        }
    }

    fn shown(&self) -> PastShowAnswer {
        let text = || self.text.clone();
        let item = PastItemView {
            role: text(),
            text: text(),
            path: Some(text()),
            removed: Some(text()),
            tail: Some(text()),
            ..PastItemView::default()
        };
        let turn =
            PastTurnView { reference: text(), items: self.all(item), ..PastTurnView::default() };
        let folder = Some(text());
        let session = PastSessionView { reference: text(), folder, ..PastSessionView::default() };
        PastShowAnswer { session, turns: vec![turn], left_out: 0 }
    }

    fn worked(&self) -> PastWorkAnswer {
        let text = || self.text.clone();
        let (refs, steps) = (vec![text()], vec![text()]);
        let fix = PastFix { error: text(), steps, refs: refs.clone(), ..PastFix::default() };
        let habit = PastHabit { line: text(), reference: text(), ..PastHabit::default() };
        let trace = PastTrace {
            role: text(),
            path: text(),
            reference: text(),
            outcome: Some(text()),
            ..PastTrace::default()
        };
        let friction = PastFriction { error: text(), refs, ..PastFriction::default() };
        let removal = PastRemoval { path: text(), text: text(), ..PastRemoval::default() };
        PastWorkAnswer {
            fixes: self.all(fix),
            habits: self.all(habit),
            traces: self.all(trace),
            friction: self.all(friction),
            removed: self.all(removal),
            note: Some(text()),
        }
    }
}

impl Handle for SessionEcho {
    fn actor(&self) -> &'static str {
        "default"
    }

    fn answer(&self, call: Call) -> Result<Box<RawValue>> {
        let value = match call {
            Call::PastSearch(_) => json!(PastSearchAnswer {
                query: "given".into(),
                past: self.all(self.hit()),
                ..PastSearchAnswer::default()
            }),
            Call::PastShow(_) => json!(self.shown()),
            Call::PastWork(_) => json!(self.worked()),
            Call::PastKeep(_) => json!(PastKeepAnswer {
                id: 7,
                reference: self.text.clone(),
                title: self.text.clone(),
                ..PastKeepAnswer::default()
            }),
            other => return Err(Error::missing("operation", other.name())),
        };
        RawValue::from_string(value.to_string()).map_err(|error| Error::internal(error.to_string()))
    }
}

fn arguments(tool: &str) -> Map<String, Value> {
    let mut given = Map::new();
    match tool {
        "past_search" => given.insert("query".to_owned(), json!("given")),
        "past_work" => {
            given.insert("about".to_owned(), json!("error"));
            given.insert("text".to_owned(), json!("given"))
        }
        _ => given.insert("ref".to_owned(), json!("codex:0199c0de#3")),
    };
    given
}

fn ask(sessions: &SessionEcho, tool: &str, given: Map<String, Value>) -> AnswerForModel {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let names: Vec<&'static str> = tools::names().collect();
    let backend = Backend(Arc::new(sessions.clone()));
    runtime.block_on(call(&backend, &names, tool, given)).unwrap()
}

fn each_text(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Object(items) => items.values().for_each(|item| each_text(item, see)),
        _ => {}
    }
}

// past 38
#[test]
fn no_tool_of_the_past_hands_a_hostile_text_to_a_model() {
    for text in TEXTS {
        for tool in TOOLS {
            let sessions = SessionEcho { text: (*text).to_owned(), count: 2 };
            let reply = ask(&sessions, tool, arguments(tool));
            assert_inert(&reply.text, &[]);
            each_text(&json!(reply.structured), &mut |text| assert_inert(text, &[]));
            assert!(!reply.text.is_empty(), "{tool}");
        }
    }
}

// serving S1, S3
#[test]
fn answers_of_the_past_fit_the_room_that_a_model_gives() {
    let text = "The cache key lacked the locale, so two shops shared an entry. ".repeat(9);
    let sessions = SessionEcho { text, count: 30 };
    for tool in TOOLS {
        let has_room = tools::parameters(tool).contains(&"max_tokens");
        for room in [400_usize, 900] {
            let mut given = arguments(tool);
            if has_room {
                given.insert("max_tokens".to_owned(), json!(room));
            }
            let reply = ask(&sessions, tool, given);
            if has_room {
                let cost = reply.tokens();
                assert!(cost <= room + room / 5, "{tool}: {cost} of {room}\n{}", reply.text);
                assert!(reply.text.contains("more are not shown"), "{tool}: {}", reply.text);
            }
        }
    }
}
