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
    pattern(
        r#"(?i-u:\b[a-z][a-z0-9+.-]{1,24})://[^\s/:@"'<>]{0,128}:([^\s/"'<>]{1,256})@[A-Za-z0-9\[]"#,
    )
});

/// `Authorization: Bearer …`, `-H "authorization: token …"`.
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i-u:\bauthorization)["']?\s{0,4}[:=]\s{0,4}["']?(?i-u:bearer|basic|token|digest|apikey)\s{1,4}([A-Za-z0-9._~+/=-]{8,})"#,
    )
});

/// `Bearer …` on its own, where the value has to speak for itself.
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i-u:\bbearer)\s{1,4}([A-Za-z0-9._~+/=-]{16,})"));

/// `password = …`, `"client_secret": "…"`, `--token …`, `API_KEY=…`. Of a long value the first part is enough to judge it.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"((?i-u:passwords?|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key",
        r"|signing[_-]?key|encryption[_-]?key|auth[_-]?key|credentials?))(?i-u:[_-](?:key|value|prod|dev|test|[0-9]{1,2}))?",
        r#"["'`\]\\]{0,3}(?:\s{0,8}(?:=>|:=|={1,3}|:)\s{0,8}|\s)\\{0,2}"#,
        r#"(?:"([^\s"]{6,512})|'([^\s']{6,512})|`([^\s`]{6,512})|([^\s"'`,;<>|]{6,512}))"#,
    ))
});

/// What ends a value that no quotes surround.
const ENDS: [char; 8] = ['"', '\'', '`', ',', ';', '<', '>', '|'];

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
    named(text, &mut spans);
    spans
}

/// Values that their name makes suspect. What is no secret may still hold one (`secret: password=…`), so reading goes on
/// behind the name.
fn named(text: &str, spans: &mut Vec<Span>) {
    let mut from = 0;
    while let Some(found) = NAMED.captures_at(text, from) {
        let name = found.get(1).expect("every match has a name");
        let value = (2..=5).find_map(|group| found.get(group)).expect("every match has a value");
        from = name.end();
        let between = &text[name.end()..value.start()];
        if is_named_secret(name.as_str(), between, value.as_str()) {
            let range = value.start()..value_end(text, value.start());
            from = range.end;
            spans.push(Span { range, kind: "credential" });
        }
    }
}

/// Where a value ends: at its closing quote, or before the brackets and the full stop of the sentence around it.
fn value_end(text: &str, start: usize) -> usize {
    let before = text[..start].chars().next_back();
    let quote = before.filter(|c| matches!(c, '"' | '\'' | '`'));
    let rest = &text[start..];
    let is_end = |c: char| c.is_whitespace() || quote.map_or(ENDS.contains(&c), |quote| c == quote);
    let value = &rest[..rest.find(is_end).unwrap_or(rest.len())];
    let value = match quote {
        // Inside a quoted text the closing quote has a backslash before it.
        Some(_) => value.trim_end_matches('\\'),
        None => value.trim_end_matches([')', '}', ']', '.']),
    };
    start + value.len()
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
fn is_named_secret(name: &str, between: &str, value: &str) -> bool {
    let value = value.trim_end_matches('\\');
    if value.contains(MASK_START) || is_placeholder(value) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let password = name.starts_with("pass") || name == "pwd";
    if password && between.contains(['=', ':']) { is_password(value) } else { is_random(value) }
}
