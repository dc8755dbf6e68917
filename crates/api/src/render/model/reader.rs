//! Who reads an answer: which tools they have, how much they want to read, and whether they want to know why.
//!
//! What must stay true: an answer names no tool that its reader does not have; what it leaves out for want of room is
//! said in it; its text and its structure say the same.

use serde_json::{Map, Value};

use super::super::tokens;
use super::super::untrusted::{self, line, opening};

/// The fewest tokens that a reader can ask an answer to have: less says nothing.
pub const TOKENS_MIN: usize = 50;
/// Tokens of a search, of a context and of other lists, unless told otherwise.
pub const SEARCH_TOKENS: usize = 700;
pub const CONTEXT_TOKENS: usize = 1_200;
pub const LIST_TOKENS: usize = 1_000;

/// Who reads an answer.
#[derive(Clone, Debug, Default)]
pub struct ModelReader {
    /// The tools they can call.
    pub tools: Vec<&'static str>,
    /// What they have room for; the default of each answer if absent.
    pub max_tokens: Option<usize>,
    /// True: scores, arms and addresses too.
    pub explain: bool,
}

impl ModelReader {
    pub fn has(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    pub(super) fn room(&self, default: usize) -> usize {
        self.max_tokens.unwrap_or(default)
    }
}

/// An answer as a model gets it. Some clients show it the text and some the structure, so both say the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerForModel {
    pub text: String,
    pub structured: Map<String, Value>,
}

impl AnswerForModel {
    /// A text of one or more lines, and the fields that say the same.
    pub(super) fn new<const N: usize>(
        text: impl Into<String>,
        fields: [(&str, Value); N],
    ) -> AnswerForModel {
        let mut structured = Map::new();
        for (name, mut value) in fields {
            untrusted::value(&mut value);
            structured.insert(name.to_owned(), value);
        }
        AnswerForModel { text: text.into(), structured }
    }

    /// What it costs whoever reads the longer of the two.
    pub fn tokens(&self) -> usize {
        tokens::estimate(&self.text).max(self.structured_tokens())
    }

    pub fn structured_tokens(&self) -> usize {
        serde_json::to_string(&self.structured).map_or(0, |text| tokens::estimate(&text))
    }

    /// The same with a field, if it says anything.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> AnswerForModel {
        put(&mut self.structured, name, value);
        self
    }

    /// The same with what else is to be said, at the end of the text and among the fields.
    pub(super) fn noted<'n>(mut self, notes: impl IntoIterator<Item = &'n str>) -> AnswerForModel {
        let notes: Vec<String> =
            notes.into_iter().filter(|note| !note.is_empty()).map(line).collect();
        for note in &notes {
            self.text.push_str("\nNote: ");
            self.text.push_str(note);
        }
        self.with("notes", notes)
    }
}

/// A text of a memory as a field: it begins a line there.
pub(super) fn field(text: &str) -> Value {
    Value::String(opening(text))
}

/// Sets a field, unless its value is one that says nothing. Each text begins a line of its own there.
pub(super) fn put(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    let mut value = value.into();
    untrusted::value(&mut value);
    let is_said = match &value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    };
    if is_said {
        fields.insert(name.to_owned(), value);
    }
}

/// The first of some ways to say an answer that fits; the last one if none does.
pub(super) fn first_that_fits(
    room: usize,
    ways: impl Iterator<Item = AnswerForModel>,
) -> Option<AnswerForModel> {
    let mut last = None;
    for way in ways {
        if way.tokens() <= room {
            return Some(way);
        }
        last = Some(way);
    }
    last
}
