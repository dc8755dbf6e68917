//! The gate before the journal: every field has a limit, and text is text.

use proof::memory::{Body, Fields, Millis};

use crate::error::{Error, Result};
use crate::limits::{
    CONTENT_BYTES_MAX, FIELD_BYTES_MAX, FIELD_ITEMS_MAX, KIND_BYTES_MAX, NAME_BYTES_MAX,
    REASON_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX, TITLE_BYTES_MAX, TOPIC_KEY_BYTES_MAX,
};

const PPM: u32 = 1_000_000;

/// Text of at most `max` bytes without NUL.
pub(crate) fn check_text(field: &'static str, text: &str, max: usize) -> Result<()> {
    if text.len() > max {
        return Err(Error::TooLarge { field, size: text.len(), max });
    }
    if text.contains('\0') {
        return Err(Error::invalid(field, "contains a NUL character"));
    }
    Ok(())
}

/// Text of one line that is more than white space.
fn check_line(field: &'static str, text: &str, max: usize) -> Result<()> {
    check_text(field, text, max)?;
    if text.trim().is_empty() {
        return Err(Error::invalid(field, "is empty"));
    }
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Error::invalid(field, "contains a line break or control character"));
    }
    Ok(())
}

/// A name that keys are made of: project, session, author, intent …
pub(crate) fn check_name(field: &'static str, text: &str) -> Result<()> {
    check_line(field, text, NAME_BYTES_MAX)
}

pub(crate) fn check_reason(text: &str) -> Result<()> {
    check_line("reason", text, REASON_BYTES_MAX)
}

pub(crate) fn check_topic_key(text: &str) -> Result<()> {
    check_line("topic_key", text, TOPIC_KEY_BYTES_MAX)
}

/// A slug: `[a-z0-9_-]`, at most 32 bytes.
pub(crate) fn check_kind(kind: &str) -> Result<()> {
    check_line("kind", kind, KIND_BYTES_MAX)?;
    let slug = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    if kind.bytes().all(slug) {
        Ok(())
    } else {
        Err(Error::invalid("kind", "use a-z, 0-9, _ and - only"))
    }
}

/// Checks tags and puts them into their one order.
pub(crate) fn normal_tags(tags: &[String]) -> Result<Vec<String>> {
    if tags.len() > TAGS_MAX {
        return Err(Error::TooMany { field: "tags", count: tags.len(), max: TAGS_MAX });
    }
    tags.iter().try_for_each(|tag| check_line("tag", tag, TAG_BYTES_MAX))?;
    let mut normal: Vec<String> = tags.to_vec();
    normal.sort();
    normal.dedup();
    Ok(normal)
}

/// A number that a caller may leave out.
pub(crate) fn check_at_most(field: &'static str, asked: Option<u32>, max: u32) -> Result<()> {
    match asked {
        Some(asked) if asked > max => {
            Err(Error::invalid(field, format!("is {asked}; at most {max}")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_importance(field: &'static str, ppm: u32) -> Result<()> {
    if ppm > PPM { Err(Error::invalid(field, "must lie between 0 and 1")) } else { Ok(()) }
}

pub(crate) fn check_version_times(
    valid_from: Option<Millis>,
    valid_until: Option<Millis>,
) -> Result<()> {
    match (valid_from, valid_until) {
        (Some(from), Some(until)) if until <= from => {
            Err(Error::invalid("valid_until", "must be later than valid_from"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_body(body: &Body) -> Result<()> {
    check_line("title", &body.title, TITLE_BYTES_MAX)?;
    check_text("content", &body.content, CONTENT_BYTES_MAX)?;
    match &body.fields {
        Fields::Identity(f) => {
            optional("name", f.name.as_ref())?;
            list("aliases", &f.aliases)?;
            optional("role", f.role.as_ref())
        }
        Fields::Goal(f) => list("criteria", &f.criteria),
        Fields::Preference(f) => {
            optional("topic", f.topic.as_ref())?;
            f.strength.map_or(Ok(()), |s| check_importance("strength", s))
        }
        Fields::Constraint(f) => optional("trigger", f.trigger.as_ref()),
        Fields::Decision(f) => {
            if let Some(rationale) = &f.rationale {
                check_text("rationale", rationale, CONTENT_BYTES_MAX)?;
            }
            list("alternatives", &f.alternatives)
        }
        Fields::Fact(f) => {
            optional("subject", f.subject.as_ref())?;
            optional("predicate", f.predicate.as_ref())?;
            optional("object", f.object.as_ref())
        }
        Fields::Pattern(f) => {
            f.strength.map_or(Ok(()), |s| check_importance("strength", s))?;
            items("evidence", f.evidence.len())
        }
        Fields::Event(f) => list("participants", &f.participants),
        Fields::ArtifactRef(f) => {
            optional("uri", f.uri.as_ref())?;
            optional("digest", f.digest.as_ref())?;
            optional("media_type", f.media_type.as_ref())
        }
    }
}

fn optional(field: &'static str, text: Option<&String>) -> Result<()> {
    text.map_or(Ok(()), |text| check_line(field, text, FIELD_BYTES_MAX))
}

fn items(field: &'static str, count: usize) -> Result<()> {
    if count > FIELD_ITEMS_MAX {
        Err(Error::TooMany { field, count, max: FIELD_ITEMS_MAX })
    } else {
        Ok(())
    }
}

fn list(field: &'static str, texts: &[String]) -> Result<()> {
    items(field, texts.len())?;
    texts.iter().try_for_each(|text| check_line(field, text, FIELD_BYTES_MAX))
}
