//! What a text costs a model, by a rule of thumb: no tokenizer is asked, so the same text costs the same everywhere.
//!
//! What must stay true: the estimate grows with the text, and for English prose and JSON it lies at or a little above
//! what the large models' tokenizers say, so that an answer within a budget is within it for them too.

/// Letters of one token.
const WORD_CHARS: usize = 6;
/// Letters of one token in alphabets other than the Latin one.
const OTHER_WORD_CHARS: usize = 3;
/// Digits of one token.
const DIGITS: usize = 3;
/// Signs of one token.
const SIGNS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// A single space belongs to the word behind it.
    Space,
    Break,
    Word,
    OtherWord,
    Digits,
    Signs,
    /// Each character for itself: ideographs, emoji.
    Single,
}

impl Run {
    fn of(c: char) -> Run {
        match c {
            '\n' | '\r' => Run::Break,
            c if c.is_whitespace() => Run::Space,
            c if c.is_ascii_alphabetic() => Run::Word,
            c if c.is_ascii_digit() => Run::Digits,
            c if c.is_ascii() => Run::Signs,
            // Hiragana and everything of one syllable or idea per character behind it.
            c if c >= '\u{3040}' => Run::Single,
            c if c.is_alphabetic() => Run::OtherWord,
            _ => Run::Single,
        }
    }

    fn cost(self, chars: usize) -> usize {
        match self {
            Run::Space => usize::from(chars > 1),
            Run::Break => 1,
            Run::Word => chars.div_ceil(WORD_CHARS),
            Run::OtherWord => chars.div_ceil(OTHER_WORD_CHARS),
            Run::Digits => chars.div_ceil(DIGITS),
            Run::Signs => chars.div_ceil(SIGNS),
            Run::Single => chars,
        }
    }
}

/// Tokens of a text, about.
pub fn estimate(text: &str) -> usize {
    let mut total = 0;
    let mut run: Option<(Run, usize)> = None;
    let mut before_lower = false;
    for c in text.chars() {
        let this = Run::of(c);
        // camelCase is two words.
        let hump = before_lower && c.is_ascii_uppercase();
        run = match run {
            Some((kind, chars)) if kind == this && !hump => Some((kind, chars + 1)),
            other => {
                total += other.map_or(0, |(kind, chars)| kind.cost(chars));
                Some((this, 1))
            }
        };
        before_lower = c.is_ascii_lowercase();
    }
    total + run.map_or(0, |(kind, chars)| kind.cost(chars))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_signs_cost_what_they_do() {
        for (text, tokens) in [
            ("", 0),
            ("word", 1),
            ("two words", 2),
            ("authentication", 3),
            ("openFile", 2),
            ("2026-11-18", 6),
            ("a\n\nb", 3),
            ("{\"id\":7}", 5),
            ("認証", 2),
            ("ошибка", 2),
            ("🚀", 1),
        ] {
            assert_eq!(estimate(text), tokens, "{text}");
        }
    }

    #[test]
    fn a_longer_text_never_costs_less() {
        let text =
            "We chose redb: one file, no server. See crates/kernel/src/store (2026). 認証 é\n\nEnd";
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let costs: Vec<usize> = ends.map(|end| estimate(&text[..end])).collect();
        assert!(costs.is_sorted(), "{costs:?}");
    }
}
