//! Questions for engines that know no questions: their words, with or without the stop words.
//!
//! Cortex leaves stop words out by itself. The others are asked both ways: as users do it, with every word, and with the
//! content words alone, so that nobody wins by a list of stop words.

use text::analyze::{Analyzer, Language};

pub const AS_ASKED: &str = "as asked";
pub const CONTENT_WORDS: &str = "content words";
pub const WAYS: [&str; 2] = [AS_ASKED, CONTENT_WORDS];

/// Lower-case words without repetition, cut where the others' tokenizers cut.
pub fn words(all: bool, question: &str) -> Vec<String> {
    let text = if all {
        question.to_lowercase()
    } else {
        Analyzer::new(Language::English).question(question).surface.join(" ")
    };
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_kept_or_left_out() {
        let question = "Where is the parse_token of the parser?";
        assert_eq!(words(true, question), ["where", "is", "the", "parse", "token", "of", "parser"]);
        assert_eq!(words(false, question), ["parse", "token", "parser"]);
    }
}
