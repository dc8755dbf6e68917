//! The scanner: text into words, runs of scripts without spaces, and emoji.
//!
//! Owns where a token begins and ends. Must stay true: one pass, every character looked at a bounded
//! number of times, so a megabyte of anything is linear; no input is an error.

use super::fold::is_word;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Letters and digits, with joiners inside: `don't`, `snake_case`, `src/auth/middleware.rs`.
    Word(&'a str),
    /// Consecutive characters of a script written without spaces.
    Run(&'a str),
    Emoji(&'a str),
}

/// Scripts whose words are not separated. Hangul is: it has spaces, but glues particles to its words,
/// no stemmer knows it, and bigrams find the noun inside.
pub(crate) fn is_spaceless(c: char) -> bool {
    c >= '\u{e00}'
        && matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{323af}')
}

fn is_run_char(c: char) -> bool {
    is_spaceless(c) && is_word(c)
}

fn is_letter(c: char) -> bool {
    is_word(c) && !is_spaceless(c)
}

fn is_emoji(c: char) -> bool {
    let symbol = matches!(c, '\u{2600}'..='\u{27bf}' | '\u{2b50}' | '\u{2b55}');
    symbol || matches!(c, '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}

/// Joins the parts of an identifier when a word character stands on both sides.
pub(crate) fn is_joiner(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | '\\' | '@' | ':')
}

/// Tokens of normalised text. With `elide`, an apostrophe parts words (`l'amour`), else it is inside one.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    elide: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, elide: bool) -> Self {
        Scanner { text, at: 0, elide }
    }

    /// Where the next token is looked for: the end of the last one.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    fn char_at(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.text[at..].chars().next(),
            None => None,
        }
    }

    fn skip_while_char(&self, mut at: usize, keep: impl Fn(char) -> bool) -> usize {
        while let Some(c) = self.char_at(at).filter(|c| keep(*c)) {
            at += c.len_utf8();
        }
        at
    }

    /// The end of a joiner at `at`, if what follows continues the token.
    fn joined(&self, at: usize) -> Option<usize> {
        let c = self.char_at(at)?;
        let end = match c {
            '_' => self.skip_while_char(at, |c| c == '_'),
            // One colon is punctuation; two are a path.
            ':' => (self.char_at(at + 1) == Some(':')).then_some(at + 2)?,
            '\'' if !self.elide => at + 1,
            c if is_joiner(c) => at + 1,
            _ => return None,
        };
        self.char_at(end).filter(|c| is_letter(*c)).map(|_| end)
    }

    fn word_end(&self, start: usize) -> usize {
        let mut end = self.skip_while_char(start, is_letter);
        while let Some(next) = self.joined(end) {
            end = self.skip_while_char(next, is_letter);
        }
        // `c++`, `c#`: names only by their signs.
        if end - start <= 2 && self.text.as_bytes()[start].is_ascii_alphabetic() {
            let rest = &self.text[end..];
            let signs = if rest.starts_with("++") { 2 } else { usize::from(rest.starts_with('#')) };
            if signs > 0 && !self.char_at(end + signs).is_some_and(is_word) {
                end += signs;
            }
        }
        end
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.at = self.skip_while_char(self.at, |c| !is_word(c) && !is_emoji(c));
        let start = self.at;
        let first = self.char_at(start)?;
        let text = self.text;
        Some(if is_run_char(first) {
            self.at = self.skip_while_char(start, is_run_char);
            Token::Run(&text[start..self.at])
        } else if is_word(first) {
            self.at = self.word_end(start).max(start + first.len_utf8());
            Token::Word(&text[start..self.at])
        } else {
            self.at = start + first.len_utf8();
            Token::Emoji(&text[start..self.at])
        })
    }
}

/// The segments of a path, then the parts of each: `src/auth/getUser.rs` has three segments, five parts.
pub(crate) fn segments(word: &str) -> impl Iterator<Item = &str> {
    word.split(['/', '\\', '@', ':']).filter(|segment| !segment.is_empty())
}

/// Calls `part` for every part of a segment: between joiners, and at the humps of camel case.
pub(crate) fn parts<'a>(segment: &'a str, mut part: impl FnMut(&'a str)) {
    for piece in segment.split(['_', '-', '.', '+', '#']).filter(|piece| !piece.is_empty()) {
        let mut start = 0;
        let mut before = ' ';
        let mut chars = piece.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let after = chars.peek().map(|(_, c)| *c);
            if at > start && is_hump(before, c, after, piece.len() - at - c.len_utf8()) {
                part(&piece[start..at]);
                start = at;
            }
            before = c;
        }
        part(&piece[start..]);
    }
}

/// `getUser`, `HTTPServer`, `Base64Encoder` have one; `APIs`, `E2E` and `3D` have none.
fn is_hump(before: char, c: char, after: Option<char>, left: usize) -> bool {
    if !c.is_uppercase() {
        return false;
    }
    let small_follows = after.is_some_and(char::is_lowercase);
    let plural = left == 1 && after == Some('s');
    before.is_lowercase()
        || (small_follows && !plural && (before.is_uppercase() || before.is_numeric()))
}
