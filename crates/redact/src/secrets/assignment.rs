//! Values that only their surroundings make a secret: the password of a connection string, what follows
//! `Authorization:`, what is assigned to a name like `api_key`.
//!
//! Must stay true: only the value is masked, so that the text still says which host, user or setting it speaks of.
//! Patterns find where a value starts; how far it reaches is read by hand, within a bound unless it is masked.

use std::sync::LazyLock;

use regex::Regex;

use crate::secrets::randomness::{is_password, is_placeholder, is_prose, is_random};
use crate::secrets::signs::{Pattern, Sign, Signs};
use crate::secrets::{MASK_START, Span, is_in_mask};

/// Bytes of a value that are read to judge it.
const JUDGED_BYTES_MAX: usize = 128;
/// Bytes of user, password and host in an address.
const AUTHORITY_BYTES_MAX: usize = 512;
/// A shorter value is not worth masking; too many ordinary words are as short.
const NAMED_CHARS_MIN: usize = 6;

/// `Authorization: Bearer …`, `-H "authorization: token …"`.
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i-u:\bauthorization)["']?\s{0,4}[:=]\s{0,4}["']?"#,
        r"(?i-u:bearer|basic|token|digest|apikey)\s{1,4}([A-Za-z0-9._~+/=-]{8,})",
    ))
});

/// `Bearer …` on its own, where the value has to speak for itself.
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i-u:\bbearer)\s{1,4}([A-Za-z0-9._~+/=-]{16,})"));

/// `password = …`, `"client_secret": "…"`, `--token …`, `API_KEY=…`, up to the first character of the value.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"((?i-u:passwords?|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key",
        r"|account[_-]?key|private[_-]?key",
        r"|signing[_-]?key|encryption[_-]?key|auth[_-]?key|credentials?))",
        r"(?i-u:[_-](?:key|value|prod|dev|test|[0-9]{1,2}))?",
        r#"["'`\]\\]{0,3}(?:\s{0,8}(?:=>|:=|={1,3}|:)\s{0,8}|\s)\\{0,2}["'`]?"#,
    ))
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this file are valid")
}

/// Beginnings of the names of [`NAMED`].
const NAMES: [&str; 28] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "accountkey",
    "account_key",
    "account-key",
    "privatekey",
    "private_key",
    "private-key",
    "signingkey",
    "signing_key",
    "signing-key",
    "encryptionkey",
    "encryption_key",
    "encryption-key",
    "authkey",
    "auth_key",
    "auth-key",
    "credential",
];

pub(super) fn signs() -> impl Iterator<Item = Sign> {
    let names = NAMES.iter().map(|name| Sign::of_any_case(name, Pattern::Name));
    names.chain([
        Sign::new("://", Pattern::Address),
        Sign::of_any_case("authorization", Pattern::Authorization),
        Sign::of_any_case("bearer", Pattern::Bearer),
    ])
}

pub(super) fn find(text: &str, signs: &Signs) -> Vec<Span> {
    let mut spans = Vec::new();
    if signs.has(Pattern::Address) {
        url_passwords(text, &mut spans);
    }
    let mut credentials = |pattern: &Regex, is_secret: fn(&str) -> bool| {
        let values = pattern.captures_iter(text).filter_map(|found| found.get(1));
        let secret = values.filter(|value| is_secret(value.as_str()));
        spans.extend(secret.map(|value| Span { range: value.range(), kind: "authorization" }));
    };
    if signs.has(Pattern::Authorization) {
        credentials(&AUTHORIZATION, |value| !is_placeholder(value) && !is_prose(value));
    }
    if signs.has(Pattern::Bearer) {
        credentials(&BEARER, is_random);
    }
    if let Some(first) = signs.first_name() {
        named(text, first, &mut spans);
    }
    spans
}

/// The passwords of `scheme://user:password@host`. The last `@` before a slash or space ends the password.
fn url_passwords(text: &str, spans: &mut Vec<Span>) {
    for (at, mark) in text.match_indices("://") {
        if !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        let rest = start_of(&text[at + mark.len()..], AUTHORITY_BYTES_MAX);
        let is_end = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '<' | '>' | '`');
        let authority = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let Some((login, host)) = authority.rsplit_once('@') else { continue };
        let Some((user, password)) = login.split_once(':') else { continue };
        let is_host = host.starts_with(|c: char| c.is_alphanumeric() || c == '[');
        if is_host && !user.contains('@') && is_url_password(password) {
            let start = at + mark.len() + user.len() + 1;
            spans.push(Span { range: start..start + password.len(), kind: "password" });
        }
    }
}

fn is_url_password(value: &str) -> bool {
    !value.is_empty() && !value.contains(MASK_START) && !is_placeholder(value)
}

/// Values that their name makes suspect. What is no secret may still hold one (`secret: pwd=…`), so reading goes on
/// behind the name. No name begins before `first`.
fn named(text: &str, first: usize, spans: &mut Vec<Span>) {
    let mut from = first;
    while let Some(found) = NAMED.captures_at(text, from) {
        let whole = found.get(0).expect("group 0 is the match");
        let name = found.get(1).expect("every match has a name");
        from = name.end();
        if text[from..].starts_with(']') && is_in_mask(text, name.start()) {
            continue;
        }
        let quote = whole.as_str().chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
        let rest = &text[whole.end()..];
        let between = &text[name.end()..whole.end()];
        if is_named_secret(
            name.as_str(),
            between,
            value_of(start_of(rest, JUDGED_BYTES_MAX), quote),
        ) {
            let range = whole.end()..whole.end() + value_of(rest, quote).len();
            from = range.end;
            spans.push(Span { range, kind: "credential" });
        }
    }
}

/// The value a text begins with: up to its closing quote, or without the brackets and the full stop of the sentence
/// around.
fn value_of(text: &str, quote: Option<char>) -> &str {
    let is_end = |c: char| match quote {
        _ if c.is_whitespace() => true,
        Some(quote) => c == quote,
        None => matches!(c, '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '|'),
    };
    let value = before_next_field(&text[..text.find(is_end).unwrap_or(text.len())]);
    match quote {
        // Inside a quoted text the closing quote has a backslash before it.
        Some(_) => value.trim_end_matches('\\'),
        None => value.trim_end_matches([')', '}', ']', '.', ':']),
    }
}

/// Of `value&name=…`, as in a query, the value.
fn before_next_field(text: &str) -> &str {
    let next = text.match_indices('&').find(|(at, _)| {
        let field =
            text[at + 1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        field.starts_with('=') && !text[at + 1..].starts_with('=')
    });
    next.map_or(text, |(at, _)| &text[..at])
}

/// A password may be short; a key or token has to look random. After a mere space both must.
fn is_named_secret(name: &str, between: &str, value: &str) -> bool {
    let short = value.chars().take(NAMED_CHARS_MIN).count() < NAMED_CHARS_MIN;
    if short || value.contains(MASK_START) || value.contains("://") {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let password = name.starts_with("pass") || name == "pwd";
    if password && between.contains(['=', ':']) { is_password(value) } else { is_random(value) }
}

fn start_of(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
