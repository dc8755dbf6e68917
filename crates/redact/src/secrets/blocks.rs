//! Private key blocks, from their first line to their last.
//!
//! Must stay true: a block that is cut off is masked as far as it can be part of a key, and no further.

use std::sync::LazyLock;

use regex::Regex;

use crate::secrets::Span;
use crate::secrets::signs::{Pattern, Sign, Signs};

static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
        .expect("the pattern of key blocks is valid")
});

pub(super) const SIGN: Sign = Sign::new("-----BEGIN ", Pattern::Block);

/// How far the last line of a block may be from its first.
const BLOCK_BYTES_MAX: usize = 65_536;
/// A block that holds less is the mention of one.
const ENCODED_MIN: usize = 16;

/// Every key block. `\n` written as two characters, as in JSON and environment files, is a line break too.
pub(super) fn find(text: &str, signs: &Signs) -> Vec<Span> {
    let mut spans = Vec::new();
    if !signs.has(Pattern::Block) {
        return spans;
    }
    let mut from = 0;
    while let Some(begin) = BEGIN.captures_at(text, from) {
        let head = begin.get(0).expect("group 0 is the match");
        let end_line = format!("-----END {}-----", &begin[1]);
        let body = &text[head.end()..];
        let window = &body[..body.floor_char_boundary(BLOCK_BYTES_MAX)];
        let dashes = window.find("-----").filter(|at| body[*at..].starts_with(&end_line));
        let end = match dashes {
            Some(at) => head.end() + at + end_line.len(),
            None => head.end() + body[..body_length(window)].trim_end().len(),
        };
        if encoded_count(&text[head.end()..end]) >= ENCODED_MIN {
            spans.push(Span { range: head.start()..end, kind: "private-key" });
        }
        from = end;
    }
    spans
}

/// How far a text can be the inside of a key block whose end is missing: encoded characters, header lines (`Proc-Type:
/// 4,ENCRYPTED`), line breaks, quotes and the `+` that joins lines of source code. Ends at the first dash line.
fn body_length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let dashes = line.find("-----");
        let part = &line[..dashes.unwrap_or(line.len())];
        let inside = part.trim().trim_matches(|c| matches!(c, '"' | '\'' | ',' | '+' | '\\' | '`'));
        let encoded =
            inside.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=\\-:,. ".contains(&b));
        let header = inside.contains(": ");
        let prose = inside.trim().contains(' ') && !header;
        if !encoded || prose {
            return length;
        }
        length += part.len();
        if dashes.is_some() {
            return length;
        }
    }
    length
}

/// Characters that can be part of an encoded key.
fn encoded_count(text: &str) -> usize {
    text.bytes().filter(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')).count()
}
