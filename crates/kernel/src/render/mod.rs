//! How a memory reads: a line, a paragraph, or all of it.
//!
//! Pure functions of what is stored. No clock, no locale, no chance: the same memory at the same version has one text
//! per form, today and after a rebuild. Short and medium never hold a line break, so a memory cannot look like the
//! structure around it. A forgotten memory says so first; an erased one says nothing else.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use minicbor::{Decode, Encode};
use proof::memory::{Body, Fields, Head, Millis, Polarity, Version};

use crate::error::{Error, Result};

/// Tokens of the short form.
pub const SHORT_TOKENS_MAX: u32 = 50;
/// Tokens of the medium form.
pub const MEDIUM_TOKENS_MAX: u32 = 200;

const BYTES_PER_TOKEN: usize = 4;
const ELLIPSIS: char = '…';
const ERASED: &str = "[erased]";
const FORGOTTEN: &str = "[forgotten] ";

/// How much of a memory is written out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Form {
    /// One line.
    #[n(1)]
    Short,
    /// One paragraph.
    #[default]
    #[n(2)]
    Medium,
    /// Everything, on as many lines as it takes.
    #[n(3)]
    Full,
}

impl Form {
    pub const ALL: [Form; 3] = [Form::Short, Form::Medium, Form::Full];

    pub fn name(self) -> &'static str {
        match self {
            Form::Short => "short",
            Form::Medium => "medium",
            Form::Full => "full",
        }
    }

    pub fn parse(text: &str) -> Result<Form> {
        Form::ALL
            .into_iter()
            .find(|form| form.name() == text)
            .ok_or_else(|| Error::invalid("form", "use short, medium or full"))
    }

    fn bytes_max(self) -> usize {
        let tokens = match self {
            Form::Short => SHORT_TOKENS_MAX,
            Form::Medium => MEDIUM_TOKENS_MAX,
            Form::Full => return usize::MAX,
        };
        tokens as usize * BYTES_PER_TOKEN
    }
}

/// The size of a text where budgets count it: a quarter of its bytes, rounded up.
pub fn tokens(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// The text of a memory. Without a body, because it was erased, there is nothing to say.
pub fn render(head: &Head, version: &Version, body: Option<&Body>, form: Form) -> String {
    let Some(body) = body else { return ERASED.to_owned() };
    let mut text = String::new();
    if head.tombstone.is_some() {
        text.push_str(FORGOTTEN);
    }
    match form {
        Form::Short => text.push_str(&lead(body)),
        Form::Medium => {
            text.push_str(&lead(body));
            let details = details(body);
            if !details.is_empty() {
                text.push_str(" — ");
                text.push_str(&details.join("; "));
            }
            // The rest of a long content cannot be shown, so it need not be read either.
            let content = one_line_within(&body.content, form.bytes_max());
            if !content.is_empty() && content != body.title {
                text.push_str(" — ");
                text.push_str(&content);
            }
        }
        Form::Full => return full(text, head, version, body),
    }
    cut(one_line(&text), form.bytes_max())
}

/// Everything on one line: each run of white space and control characters becomes one space.
pub fn one_line(text: &str) -> String {
    one_line_within(text, usize::MAX)
}

/// `one_line` of the start of a text; stops soon after `max` bytes.
fn one_line_within(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max).saturating_add(4));
    for c in text.chars() {
        let gap = c.is_whitespace() || c.is_control();
        if !gap {
            line.push(c);
        } else if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
        if line.len() > max {
            break;
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Cuts a text to `max` bytes on a character boundary, the ellipsis included.
fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max - ELLIPSIS.len_utf8()));
        text.truncate(text.trim_end().len());
        text.push(ELLIPSIS);
    }
    text
}

/// Parts per million as two decimals.
fn ratio(ppm: u32) -> String {
    format!("{}.{:02}", ppm / 1_000_000, ppm % 1_000_000 / 10_000)
}

/// A day where the time is midnight, else the full time.
fn time(at: Millis) -> String {
    if at.get().rem_euclid(86_400_000) == 0 { at.date() } else { at.rfc3339() }
}

/// What a memory says in one breath.
fn lead(body: &Body) -> String {
    let title = &body.title;
    match &body.fields {
        Fields::Identity(f) => {
            let who = f.name.as_ref().filter(|name| *name != title);
            match (who, &f.role) {
                (Some(name), Some(role)) => format!("{name} ({role}): {title}"),
                (Some(name), None) => format!("{name}: {title}"),
                (None, Some(role)) => format!("{title} ({role})"),
                (None, None) => title.clone(),
            }
        }
        Fields::Goal(f) => {
            let due = f.due.map(|due| format!(" (due {})", time(due))).unwrap_or_default();
            format!("[{}] {title}{due}", f.status.name())
        }
        Fields::Preference(f) => {
            let stance = match f.polarity {
                Polarity::Prefer => "prefers",
                Polarity::Avoid => "avoids",
                Polarity::Neutral => "does not mind",
            };
            let topic = f.topic.as_ref().map(|topic| format!(" {topic}")).unwrap_or_default();
            format!("{stance}{topic}: {title}")
        }
        Fields::Constraint(f) => {
            let when = f.trigger.as_ref().map(|t| format!(" (when: {t})")).unwrap_or_default();
            format!("[{}] {title}{when}", f.strength.name())
        }
        Fields::Decision(f) => format!("[{}] {title}", f.status.name()),
        Fields::Fact(f) => {
            let parts = [&f.subject, &f.predicate, &f.object];
            let said: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            if said.is_empty() { title.clone() } else { format!("{}: {title}", said.join(" ")) }
        }
        Fields::Pattern(f) => {
            let seen = f.coverage.map(|n| match n {
                1 => "seen once".to_owned(),
                n => format!("seen {n} times"),
            });
            let strength = f.strength.map(|s| format!("strength {}", ratio(s)));
            let notes: Vec<String> = [seen, strength].into_iter().flatten().collect();
            if notes.is_empty() { title.clone() } else { format!("{title} ({})", notes.join(", ")) }
        }
        Fields::Event(f) => {
            let day = f.happened_at.map(|at| format!("{} ", at.date())).unwrap_or_default();
            let end = f.outcome.map(|end| format!("[{}] ", end.name())).unwrap_or_default();
            format!("{day}{end}{title}")
        }
        Fields::ArtifactRef(f) => {
            let uri = f.uri.as_ref().map(|uri| format!(" <{uri}>")).unwrap_or_default();
            format!("{title}{uri}")
        }
    }
}

/// What a paragraph adds before the content.
fn details(body: &Body) -> Vec<String> {
    fn list(prefix: &str, items: &[String]) -> Option<String> {
        (!items.is_empty()).then(|| format!("{prefix} {}", items.join(", ")))
    }
    let found = match &body.fields {
        Fields::Identity(f) => vec![list("also known as", &f.aliases)],
        Fields::Goal(f) => vec![list("done when:", &f.criteria)],
        Fields::Preference(f) => vec![f.strength.map(|s| format!("strength {}", ratio(s)))],
        Fields::Constraint(_) => Vec::new(),
        Fields::Decision(f) => vec![
            f.rationale
                .as_ref()
                .map(|why| format!("because {}", one_line_within(why, Form::Medium.bytes_max()))),
            list("instead of", &f.alternatives),
        ],
        Fields::Fact(f) => vec![f.as_of.map(|at| format!("as of {}", time(at)))],
        Fields::Pattern(f) => {
            let ids: Vec<String> = f.evidence.iter().map(|id| format!("#{id}")).collect();
            vec![list("evidence", &ids)]
        }
        Fields::Event(f) => vec![list("with", &f.participants)],
        Fields::ArtifactRef(f) => {
            vec![f.media_type.clone(), f.size.map(|size| format!("{size} bytes")), f.digest.clone()]
        }
    };
    found.into_iter().flatten().collect()
}

/// Title, one line per thing known, a blank line, the content as it was written.
fn full(mut text: String, head: &Head, version: &Version, body: &Body) -> String {
    text.push_str(&body.title);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(text, "\n{name}: {}", one_line(&value))
                .expect("writing to a String cannot fail");
        }
    };
    let list = |items: &[String]| (!items.is_empty()).then(|| items.join("; "));
    let kind = match head.kind.as_str() {
        kind if kind == head.memory_type.default_kind() => String::new(),
        kind => format!(" ({kind})"),
    };
    line("type", Some(format!("{}{kind}", head.memory_type.name())));
    match &body.fields {
        Fields::Identity(f) => {
            line("name", f.name.clone());
            line("aliases", list(&f.aliases));
            line("role", f.role.clone());
        }
        Fields::Goal(f) => {
            line("status", Some(f.status.name().into()));
            line("due", f.due.map(time));
            line("criteria", list(&f.criteria));
        }
        Fields::Preference(f) => {
            line("topic", f.topic.clone());
            line("polarity", Some(f.polarity.name().into()));
            line("strength", f.strength.map(ratio));
        }
        Fields::Constraint(f) => {
            line("strength", Some(f.strength.name().into()));
            line("trigger", f.trigger.clone());
        }
        Fields::Decision(f) => {
            line("status", Some(f.status.name().into()));
            line("rationale", f.rationale.clone());
            line("alternatives", list(&f.alternatives));
        }
        Fields::Fact(f) => {
            line("subject", f.subject.clone());
            line("predicate", f.predicate.clone());
            line("object", f.object.clone());
            line("as of", f.as_of.map(time));
        }
        Fields::Pattern(f) => {
            line("strength", f.strength.map(ratio));
            line("coverage", f.coverage.map(|n| n.to_string()));
            let ids: Vec<String> = f.evidence.iter().map(|id| format!("#{id}")).collect();
            line("evidence", list(&ids));
        }
        Fields::Event(f) => {
            line("happened", f.happened_at.map(time));
            line("outcome", f.outcome.map(|end| end.name().into()));
            line("participants", list(&f.participants));
        }
        Fields::ArtifactRef(f) => {
            line("uri", f.uri.clone());
            line("media type", f.media_type.clone());
            line("size", f.size.map(|size| size.to_string()));
            line("digest", f.digest.clone());
        }
    }
    line("project", head.project.clone());
    line("tags", list(&head.tags));
    line("confidence", (version.confidence < 1_000_000).then(|| ratio(version.confidence)));
    line("valid from", version.valid_from.map(time));
    line("valid until", version.valid_until.map(time));
    line("expires", version.expires.map(time));
    line("forgotten because", head.tombstone.as_ref().map(|t| t.reason.clone()));
    if !body.content.is_empty() {
        text.push_str("\n\n");
        text.push_str(&body.content);
    }
    text
}
