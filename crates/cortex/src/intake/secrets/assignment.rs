//! Values that only their surroundings make a secret: the password of a connection string, what follows `Authorization:`,
//! what is assigned to a name like `api_key`.
//!
//! Must stay true: only the value is masked, so that the text still says which host, user or setting it speaks of.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::randomness::{is_password, is_placeholder, is_random};
use super::{MASK_START, Span};

/// `scheme://user:password@host`. The last `@` before a slash ends the password.
static URL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)\b[a-z][a-z0-9+.-]{1,24}://[^\s/:@"'<>]{0,128}:([^\s/"'<>]{1,256})@[a-z0-9\[]"#)
});

/// `Authorization: Bearer …`, `-H "authorization: token …"`.
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|token|digest|apikey)\s{1,4}([A-Za-z0-9._~+/=-]{8,})"#,
    )
});

/// `Bearer …` on its own, where the value has to speak for itself.
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\bbearer\s{1,4}([A-Za-z0-9._~+/=-]{16,})"));

/// `password = …`, `"client_secret": "…"`, `--token …`, `API_KEY=…`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(passwords?|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key",
        r"|signing[_-]?key|encryption[_-]?key|auth[_-]?key|credentials?)(?:[_-](?:key|value|prod|dev|test|[0-9]{1,2}))?",
        r#"["'`\]]{0,2}(?:\s{0,8}(?:=>|:=|={1,3}|:)\s{0,8}|\s)["'`]?([^\s"'`,;<>|]{6,512})"#,
    ))
});

/// How far a quoted value may reach beyond the characters that values usually have.
const VALUE_BYTES_MAX: usize = 512;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this file are valid")
}

pub(super) fn find(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    collect(&URL, text, "password", &mut spans, |found| {
        let value = &found[1];
        (!is_placeholder(value) && !value.contains(MASK_START)).then_some(1)
    });
    let credential = |found: &Captures<'_>| (!is_placeholder(&found[1])).then_some(1);
    collect(&AUTHORIZATION, text, "authorization", &mut spans, credential);
    collect(&BEARER, text, "authorization", &mut spans, |found| is_random(&found[1]).then_some(1));
    let others = spans.len();
    collect(&NAMED, text, "credential", &mut spans, |found| is_named_secret(found).then_some(2));
    for span in &mut spans[others..] {
        span.range.end = value_end(text, span);
    }
    spans
}

/// Where a named value ends: at its closing quote, or before the brackets and the full stop of the sentence around it.
fn value_end(text: &str, span: &Span) -> usize {
    let quote =
        text[..span.range.start].chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
    if let Some(quote) = quote {
        let rest = &text[span.range.end..];
        let closing = rest.find(|c: char| c == quote || c.is_whitespace());
        return span.range.end
            + rest.floor_char_boundary(closing.unwrap_or(rest.len()).min(VALUE_BYTES_MAX));
    }
    let value = &text[span.range.clone()];
    span.range.start + value.trim_end_matches([')', '}', ']', '.']).len()
}

/// Adds the group that `judge` names, if it names one.
fn collect(
    pattern: &Regex,
    text: &str,
    kind: &'static str,
    spans: &mut Vec<Span>,
    judge: impl Fn(&Captures<'_>) -> Option<usize>,
) {
    for found in pattern.captures_iter(text) {
        if let Some(value) = judge(&found).and_then(|group| found.get(group)) {
            spans.push(Span { range: value.range(), kind });
        }
    }
}

/// A password may be short; a key or token has to look random. After a mere space both must.
fn is_named_secret(found: &Captures<'_>) -> bool {
    let (name, value) = (found[1].to_ascii_lowercase(), &found[2]);
    let whole = &found[0];
    let between = &whole[found[1].len()..whole.len() - value.len()];
    if value.contains(MASK_START) || is_placeholder(value) {
        return false;
    }
    let assigned = between.contains(['=', ':']);
    if assigned && (name.starts_with("pass") || name == "pwd") {
        is_password(value)
    } else {
        is_random(value)
    }
}
