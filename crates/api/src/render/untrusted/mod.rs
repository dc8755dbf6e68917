//! Text that somebody else wrote, made safe to be read by an agent or shown on a terminal.
//!
//! A memory may have been written by anybody: a person, an agent, a file that was imported, a page of the web. Whoever
//! reads it, a model or a terminal, gives some characters a meaning beyond their words. [`line`] and [`lines`] take
//! that meaning away and leave the words:
//!
//! - `characters`: what cannot be seen or draws on a terminal (control characters, turns of direction, tags and other
//!   invisible characters) goes; what a script or an emoji needs stays;
//! - `markup`: what agents take for structure (`<system-reminder>`, `<|im_start|>`, `[INST]`, a line that begins with
//!   `Human:`, our own headings and rules between memories) keeps its words and loses its bracket or gets a `> `.
//!
//! What must stay true: ordinary code and prose come out as they went in; doing it twice is doing it once; the work is
//! proportional to the text. Everything that leaves this program towards a model or a terminal passes here once, as
//! text or, for structured answers, as a [`value`]. What programs read (`--json`, REST) is raw data and does not.

mod characters;
mod markup;
#[cfg(test)]
mod tests;

use serde_json::Value;

/// One line of untrusted text for a place inside a line of ours: line breaks and tabs become spaces.
pub fn line(text: &str) -> String {
    markup::neutral_line(&characters::visible(text, characters::Breaks::Spaces))
}

/// One line of untrusted text that begins a line of ours. Nobody knows where a heading in it ended, so none stays.
pub fn opening(text: &str) -> String {
    let text = line(text);
    if text.trim_start().starts_with('#') { format!("> {text}") } else { lines(&text) }
}

/// Untrusted text that may have many lines, or begins one: line breaks and tabs stay.
pub fn lines(text: &str) -> String {
    markup::neutral_lines(&characters::visible(text, characters::Breaks::Kept))
}

/// Every text inside a structured answer, as [`lines`] has it. Names of fields are ours and stay.
pub fn value(value: &mut Value) {
    match value {
        Value::String(text) => *text = lines(text),
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(items) => items.values_mut().for_each(self::value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// True if a text holds what [`lines`] takes the meaning of.
pub fn is_altered(text: &str) -> bool {
    lines(text) != text
}
