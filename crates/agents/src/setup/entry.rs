//! What Cortex wants to have in a settings file, independent of the format.

use serde_json::{Map, Value};

/// One thing of ours in somebody else's settings.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Names from the outermost object inwards.
    pub path: Vec<&'static str>,
    pub shape: Shape,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// An object under our own name. These fields are ours; others that a person added to it stay.
    Own(Map<String, Value>),
    /// One element of a list that others use too. Ours is the one with a `command` that contains the mark, or the text
    /// that is the mark.
    Element { value: Value, mark: String },
    /// A value that the agent insists on. It stays as it is if it is there, whatever it is.
    Required(Value),
}

impl Entry {
    pub(super) fn own(path: &[&'static str], value: Value) -> Entry {
        let Value::Object(fields) = value else { unreachable!("an own entry is an object") };
        Entry { path: path.to_vec(), shape: Shape::Own(fields) }
    }

    pub(super) fn element(path: &[&'static str], value: Value, mark: String) -> Entry {
        Entry { path: path.to_vec(), shape: Shape::Element { value, mark } }
    }

    pub(super) fn required(path: &[&'static str], value: Value) -> Entry {
        Entry { path: path.to_vec(), shape: Shape::Required(value) }
    }

    pub(super) fn is_required(&self) -> bool {
        matches!(self.shape, Shape::Required(_))
    }

    /// Whether the settings hold this entry, in whatever state.
    pub(super) fn is_in(&self, settings: &Value) -> bool {
        self.found(settings).is_some()
    }

    /// The entry as the settings have it.
    pub(super) fn found<'a>(&self, settings: &'a Value) -> Option<&'a Value> {
        let place = self.path.iter().try_fold(settings, |value, name| value.get(name))?;
        match &self.shape {
            Shape::Own(_) | Shape::Required(_) => Some(place),
            Shape::Element { mark, .. } => {
                place.as_array()?.iter().find(|element| is_marked(element, mark))
            }
        }
    }
}

/// Whether a list element is ours: it, or a hook inside it, runs a command with the mark.
pub(super) fn is_marked(element: &Value, mark: &str) -> bool {
    marked(element, mark).is_some()
}

/// The command line with the mark.
pub(super) fn marked<'a>(element: &'a Value, mark: &str) -> Option<&'a str> {
    match element {
        Value::Object(fields) => {
            let line = fields.get("command").and_then(Value::as_str);
            line.filter(|line| line.contains(mark))
                .or_else(|| fields.get("hooks").and_then(|hooks| marked(hooks, mark)))
        }
        Value::Array(elements) => elements.iter().find_map(|element| marked(element, mark)),
        Value::String(text) => (text == mark).then_some(text.as_str()),
        _ => None,
    }
}

/// A settings file that cannot be edited, and where the trouble is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SettingsFault {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl SettingsFault {
    /// A fault at a byte of a text.
    pub(crate) fn at(text: &str, place: usize, message: impl Into<String>) -> SettingsFault {
        let before = &text[..text.floor_char_boundary(place.min(text.len()))];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        SettingsFault {
            line: before.matches('\n').count() + 1,
            column: before[start..].trim_start_matches('\u{feff}').chars().count() + 1,
            message: message.into(),
        }
    }
}
