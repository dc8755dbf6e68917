//! What to write into one file, decided from its text alone. No disk.
//!
//! Adding twice changes nothing. Removing after adding gives back the bytes from before; if the file was edited in
//! between, the edits stay and only what is ours goes.

use proof::Digest;
use serde::{Deserialize, Serialize};

use crate::setup::change::{Change, between, undo, undo_by_words};
use crate::setup::entry::SettingsFault;
use crate::setup::recipe::Content;

/// What is kept about a file that was set up, to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trace {
    /// Hash of the text as we left it.
    written: String,
    /// There was no file before.
    pub created: bool,
    /// The text held entries of ours before, or was edited in ways that cannot be undone word by word. Such a file is
    /// cleaned by meaning: bringing back the text from before would bring back what is to be removed.
    by_meaning: bool,
    changes: Vec<Change>,
    /// Containers that were not there before.
    made: Vec<Vec<String>>,
}

/// A file's next text, and how to get back from it.
#[derive(Debug)]
pub(super) struct Step {
    pub text: String,
    pub trace: Trace,
}

/// The text with our entries, or nothing if they are all there. `current` is nothing if there is no file.
pub(super) fn adding(
    content: &Content,
    current: Option<&str>,
    trace: Option<&Trace>,
) -> Result<Option<Step>, SettingsFault> {
    let direct = content.add(current.unwrap_or_default())?;
    if current == Some(direct.as_str()) {
        return Ok(None);
    }
    let before = match (current, trace) {
        (None, _) => None,
        (Some(text), None) => Some(text.to_owned()),
        (Some(text), Some(known)) => match before(content, text, known)? {
            Before::NoFile => None,
            Before::Text(text) => Some(text),
            Before::Unclear => {
                let written = digest(&direct);
                let (by_meaning, changes) = (true, Vec::new());
                let trace = Trace { written, by_meaning, changes, ..known.clone() };
                return Ok(Some(Step { text: direct, trace }));
            }
        },
    };
    let base = before.as_deref().unwrap_or_default();
    let text = content.add(base)?;
    let trace = Trace {
        written: digest(&text),
        created: before.is_none(),
        by_meaning: content.is_in(base)?,
        changes: between(base, &text),
        made: content.missing(base)?,
    };
    Ok(Some(Step { text, trace }))
}

/// The text without our entries; nothing if the file should go.
pub(super) fn removing(
    content: &Content,
    text: &str,
    trace: Option<&Trace>,
) -> Result<Option<String>, SettingsFault> {
    if let Content::Whole(_) = content {
        return Ok(if content.is_in(text)? { None } else { Some(text.to_owned()) });
    }
    if let Some(trace) = trace {
        match before(content, text, trace)? {
            Before::NoFile => return Ok(None),
            Before::Text(text) => return Ok(Some(text)),
            Before::Unclear => {}
        }
    }
    let made = trace.map_or(&[][..], |trace| &trace.made);
    let cleaned = content.remove(text, made)?;
    let created = trace.is_some_and(|trace| trace.created);
    Ok(if created && is_bare(&cleaned) { None } else { Some(cleaned) })
}

/// What there was before a set-up, with the edits made since.
enum Before {
    NoFile,
    Text(String),
    /// It cannot be told word by word.
    Unclear,
}

fn before(content: &Content, text: &str, trace: &Trace) -> Result<Before, SettingsFault> {
    if trace.by_meaning {
        return Ok(Before::Unclear);
    }
    if digest(text) == trace.written {
        return Ok(match undo(text, &trace.changes) {
            Some(_) if trace.created => Before::NoFile,
            Some(before) => Before::Text(before),
            None => Before::Unclear,
        });
    }
    let Some(before) = undo_by_words(text, &trace.changes) else { return Ok(Before::Unclear) };
    // Words can mislead. What they give must mean the same as taking out our entries does.
    let cleaned = content.remove(text, &trace.made)?;
    let same = content.read(&before).is_ok_and(|value| Ok(value) == content.read(&cleaned));
    Ok(match before {
        _ if !same => Before::Unclear,
        before if trace.created && is_bare(&before) => Before::NoFile,
        before => Before::Text(before),
    })
}

/// Settings that say nothing.
fn is_bare(text: &str) -> bool {
    let words: String = text.chars().filter(|c| !c.is_whitespace() && *c != '\u{feff}').collect();
    words.is_empty() || words == "{}"
}

fn digest(text: &str) -> String {
    Digest::of("cortex/setup/1", &[text.as_bytes()]).to_string()
}
