//! Words, marks and literals of Rust text, with their lines.
//!
//! Comments are dropped and a literal is one token, so no rule ever matches inside a comment or a string. Any text is
//! answered: what is no Rust becomes marks of one character, and a literal that is never closed ends with the text.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or a keyword. A raw identifier keeps its `r#`, so that `r#type` is not taken for a keyword.
    Word,
    /// A string of any kind, with its quotes.
    Text,
    /// A character or a byte, with its quotes.
    Character,
    Number,
    Lifetime,
    Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) text: &'t str,
    /// Counted from 1.
    pub(crate) line: usize,
}

/// Marks of several characters that rules tell apart from their first one; longer ones come first.
const LONG_MARKS: [&str; 20] = [
    "..=", "...", "<<=", "::", "=>", "->", "==", "!=", "<=", ">=", "&&", "||", "..", "+=", "-=",
    "*=", "/=", "|=", "&=", "^=",
];

pub(crate) fn lex(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = if let Some(length) = comment(rest) {
            (None, length)
        } else if first.is_whitespace() {
            (None, first.len_utf8())
        } else if let Some(length) = string(rest) {
            (Some(Kind::Text), length)
        } else if let Some((kind, length)) = quote(rest) {
            (Some(kind), length)
        } else if first.is_ascii_digit() {
            (Some(Kind::Number), number(rest))
        } else if is_word(first) {
            let raw = if rest.starts_with("r#") { 2 } else { 0 };
            (Some(Kind::Word), raw + word(&rest[raw..]))
        } else {
            let long = LONG_MARKS.iter().find(|mark| rest.starts_with(**mark));
            (Some(Kind::Mark), long.map_or(first.len_utf8(), |mark| mark.len()))
        };
        let piece = &rest[..length];
        if let Some(kind) = kind {
            tokens.push(Token { kind, text: piece, line });
        }
        line += piece.bytes().filter(|byte| *byte == b'\n').count();
        at += length;
    }
    tokens
}

/// Whether the tokens from `at` on have these texts.
pub(crate) fn reads(tokens: &[Token<'_>], at: usize, texts: &[&str]) -> bool {
    tokens.get(at..).is_some_and(|rest| {
        rest.len() >= texts.len() && texts.iter().zip(rest).all(|(text, token)| token.text == *text)
    })
}

/// The place after the bracket that closes the one at `at`, or the end of the text if none does.
pub(crate) fn after_bracket(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return place + 1;
        }
    }
    tokens.len()
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn word(rest: &str) -> usize {
    rest.find(|character| !is_word(character)).unwrap_or(rest.len())
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    // Block comments nest.
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = rest.as_bytes();
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if bytes[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    Some(rest.len())
}

fn string(rest: &str) -> Option<usize> {
    // Most words are ruled out by their first letter.
    if !matches!(rest.as_bytes()[0], b'"' | b'b' | b'c' | b'r') {
        return None;
    }
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|after| {
            let hashes = if prefix.ends_with('r') { after.trim_start_matches('#') } else { after };
            hashes.starts_with('"')
        })
    })?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let open = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let close = format!("\"{}", "#".repeat(hashes));
        return Some(rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len()));
    }
    Some(closed(rest, open, b'"'))
}

/// The end of a literal that began before `at` and is closed by a quote that no backslash precedes.
fn closed(rest: &str, mut at: usize, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A character, a byte or a lifetime: all begin with an apostrophe.
fn quote(rest: &str) -> Option<(Kind, usize)> {
    let open = if rest.starts_with("b'") { 2 } else { 1 };
    let after = rest.strip_prefix("b'").or_else(|| rest.strip_prefix('\''))?;
    let first = after.chars().next()?;
    if first == '\\' || after[first.len_utf8()..].starts_with('\'') {
        return Some((Kind::Character, closed(rest, open, b'\'')));
    }
    Some((Kind::Lifetime, open + word(after)))
}

fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut end = word(rest);
    // A point belongs to the number if a digit follows; `1..2` is a range and `1.max(2)` a call.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end += 1 + word(&rest[end + 1..]);
    }
    let is_exponent = !rest.starts_with("0x") && matches!(bytes[end - 1], b'e' | b'E');
    if is_exponent && matches!(bytes.get(end), Some(b'+' | b'-')) {
        end += 1 + word(&rest[end + 1..]);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        lex(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_are_dropped_and_nest() {
        assert_eq!(texts("a // b\n/* c /* d */ e */ f //"), ["a", "f"]);
        assert_eq!(texts("/// todo!()\n//! x\nb /* open"), ["b"]);
    }

    #[test]
    fn a_literal_is_one_token_whatever_is_in_it() {
        assert_eq!(texts(r#"f("a // \" b", 'c')"#), ["f", "(", r#""a // \" b""#, ",", "'c'", ")"]);
        assert_eq!(texts("r##\"a\"# b\"## c"), ["r##\"a\"# b\"##", "c"]);
        assert_eq!(texts("b\"x\" br#\"y\"# c\"z\""), ["b\"x\"", "br#\"y\"#", "c\"z\""]);
        assert_eq!(texts(r"'\'' b'\\' b'j' '“'"), [r"'\''", r"b'\\'", "b'j'", "'“'"]);
        assert_eq!(texts("\"never closed"), ["\"never closed"]);
    }

    #[test]
    fn lifetimes_numbers_and_raw_words_are_told_apart() {
        let kinds: Vec<Kind> =
            lex("'a 'b' 0x8f_u8 1.5e-3 1..2 r#type").iter().map(|t| t.kind).collect();
        let expected = [Kind::Lifetime, Kind::Character, Kind::Number, Kind::Number, Kind::Number];
        assert_eq!(kinds[..5], expected);
        assert_eq!(texts("1.5e-3 1..2 0..=9 1.max(2)")[..4], ["1.5e-3", "1", "..", "2"]);
        assert_eq!(texts("r#type break"), ["r#type", "break"]);
        assert_eq!(texts("x >= 0x80 | y => z"), ["x", ">=", "0x80", "|", "y", "=>", "z"]);
    }

    #[test]
    fn lines_are_counted_through_literals_and_comments() {
        let tokens = lex("a\n\"b\n\"\n/* c\n */ d");
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 2, 5]);
    }

    #[test]
    fn brackets_are_followed_to_their_end() {
        let tokens = lex("( a { b } [ c ] ) d");
        assert_eq!(tokens[after_bracket(&tokens, 0)].text, "d");
        assert_eq!(after_bracket(&lex("( a"), 0), 2);
        assert!(reads(&tokens, 0, &["(", "a"]) && !reads(&tokens, 9, &["d", "e"]));
    }
}
