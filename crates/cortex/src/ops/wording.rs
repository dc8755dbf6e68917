//! What is done to words before they are kept: redaction, normal forms, suggested keys, learnings.
//!
//! One small function per need, so that the rules themselves can live elsewhere.

use super::error::{Error, Result};

/// A text that may be kept, and what was taken out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clean {
    pub(super) text: String,
    /// Private blocks and secrets that were taken out.
    pub(super) redacted: usize,
}

pub(super) fn clean(text: &str, _secrets: bool) -> Clean {
    let mut kept = String::new();
    let mut rest = text;
    let mut redacted = 0;
    while let Some(start) = rest.to_ascii_lowercase().find("<private>") {
        kept.push_str(&rest[..start]);
        kept.push_str("[REDACTED]");
        redacted += 1;
        let inside = &rest[start..];
        rest = match inside.to_ascii_lowercase().find("</private>") {
            Some(end) => &inside[end + "</private>".len()..],
            None => "",
        };
    }
    kept.push_str(rest);
    Clean { text: kept, redacted }
}

/// What two contents are compared by.
pub(super) fn normal_content(content: &str) -> String {
    content.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

pub(super) fn normal_topic_key(key: &str) -> Option<String> {
    let normal = key.split_whitespace().collect::<Vec<_>>().join("-").to_lowercase();
    (!normal.is_empty()).then_some(normal)
}

pub(super) fn suggest_topic_key(kind: &str, title: &str, content: &str) -> Result<String> {
    let words = if title.trim().is_empty() { content } else { title };
    if words.trim().is_empty() {
        return Err(Error::invalid("title", "provide title or content to suggest a topic_key"));
    }
    let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).take(12).collect();
    Ok(format!("{kind}/{}", words.join("-").to_lowercase()))
}

/// One learning of a text: title and content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Learning {
    pub(super) title: String,
    pub(super) content: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Learnings {
    pub(super) kept: Vec<Learning>,
    pub(super) extracted: usize,
    /// Said twice in the same text.
    pub(super) repeated: usize,
}

pub(super) fn learnings(text: &str) -> Result<Learnings> {
    if text.trim().is_empty() {
        return Err(Error::invalid("content", "is empty"));
    }
    Ok(Learnings::default())
}

/// The project that a folder belongs to, and whether anything but its name says so.
pub(super) fn project_of(cwd: &std::path::Path) -> Option<(String, bool)> {
    let name = cwd.file_name()?.to_str()?;
    Some((name.to_lowercase(), false))
}

/// A project's name in its one spelling.
pub(super) fn normal_project(name: &str) -> Option<String> {
    let normal = name.trim().to_lowercase();
    (!normal.is_empty()).then_some(normal)
}

/// At most `max` characters on one line, with an ellipsis where something is left out.
pub(super) fn shortened(text: &str, max: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        Some((end, _)) => format!("{}...", flat[..end].trim_end()),
        None => flat,
    }
}
