//! Folding: what makes two spellings the same term.
//!
//! Owns the text normal form (compatibility composition, invisible characters removed), lower case
//! and the removal of marks. Must stay true: folding is total, deterministic, and never makes a term
//! longer than [`MAX_TERM`] bytes once [`cut`].

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// The longest term in bytes. Index keys hold terms, so their size must be bounded.
pub const MAX_TERM: usize = 64;

/// What a cut term keeps of its text; the rest of the room is `~` and sixteen hex digits.
const KEPT: usize = MAX_TERM - 17;

/// The normal form every scan starts from. Case is kept: identifiers are split by it.
pub(crate) fn normalize(text: &str) -> std::borrow::Cow<'_, str> {
    if text.is_ascii() {
        return std::borrow::Cow::Borrowed(text);
    }
    // Stream-safe bounds the buffer a run of a million combining marks would otherwise need.
    text.chars().filter(|c| !is_invisible(*c)).stream_safe().nfkc().map(plain).collect()
}

/// Typographic variants that carry no meaning of their own.
fn plain(c: char) -> char {
    match c {
        '\u{2019}' | '\u{2018}' | '\u{02bc}' => '\'',
        '\u{2010}' => '-',
        _ => c,
    }
}

/// Direction marks, joiners and soft hyphens: people cannot see them, so they cannot mean to search them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}

/// Letters, digits, and the marks that belong to them (an Indic vowel killer is no letter, yet part of its word).
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() || is_combining_mark(c)
    }
}

/// Lower case with the marks kept, as stemmers expect it. A possessive `'s` and inner apostrophes go.
pub(crate) fn lower(word: &str, turkish: bool) -> String {
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("'S")).unwrap_or(word);
    if !turkish && word.is_ascii() && !word.contains('\'') {
        return word.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            '\'' => {}
            // Turkish has two letters i; everywhere else a capital I is an i.
            'I' if turkish => out.push('ı'),
            'İ' => out.push('i'),
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// Removes marks from lower-case text: `café` becomes `cafe`, `straße` becomes `strasse`.
pub(crate) fn strip(lowered: &str) -> String {
    if lowered.is_ascii() {
        return lowered.to_owned();
    }
    let mut out = String::with_capacity(lowered.len());
    for c in lowered.chars() {
        strip_char(c, &mut out);
    }
    out
}

fn strip_char(c: char, out: &mut String) {
    match c {
        '\0'..='\x7f' => out.push(c),
        'ß' => out.push_str("ss"),
        'æ' => out.push_str("ae"),
        'œ' => out.push_str("oe"),
        'þ' => out.push_str("th"),
        'ø' => out.push('o'),
        'đ' | 'ð' => out.push('d'),
        'ł' => out.push('l'),
        'ħ' => out.push('h'),
        'ı' => out.push('i'),
        'ς' => out.push('σ'),
        // A Cyrillic й is a letter, not an и with a mark; ё is routinely written е.
        'ё' => out.push('е'),
        // Latin and Greek marks decorate; the marks of Indic scripts are vowels and stay.
        '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}' => {
            decompose_canonical(c, |d| {
                if !is_decoration(d) {
                    out.push(d);
                }
            });
        }
        c if is_decoration(c) => {}
        c => out.push(c),
    }
}

/// Marks that may be left out in writing: Latin and Greek accents, Arabic and Hebrew vowel points.
fn is_decoration(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{640}'
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}')
}

/// The whole folding of a piece of text: what lookups by name compare.
pub fn fold(text: &str) -> String {
    strip(&lower(&normalize(text), false))
}

/// Bounds a term. The hash of the whole keeps two long terms with one beginning apart.
pub(crate) fn cut(term: String) -> String {
    if term.len() <= MAX_TERM {
        return term;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in term.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let kept = term.floor_char_boundary(KEPT);
    format!("{}~{hash:016x}", &term[..kept])
}
