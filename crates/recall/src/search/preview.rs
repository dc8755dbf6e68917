//! The passage of a text that answers best, cut to a few lines.

use crate::word_terms::{SharedWordTerms, WordTerms};
use text::analyze::{Analyzer, Language, ParsedQuestion};

/// Characters of a preview.
const PREVIEW_CHARS: usize = 300;

/// Previews of the texts that answer one question.
pub(super) struct Previews<'q> {
    analyzer: &'q Analyzer,
    question: &'q ParsedQuestion,
    shared: &'q SharedWordTerms,
    words: WordTerms,
    initials: Initials,
}

/// How the question's terms begin. Most words of a text begin otherwise, and need not be stemmed to see that they are
/// not asked for.
struct Initials(Option<[bool; 256]>);

impl Initials {
    /// Only in English, which is all suffixes: there a word of plain letters and its terms begin alike.
    fn of(analyzer: &Analyzer, question: &ParsedQuestion) -> Initials {
        let begins = || {
            let mut begins = [false; 256];
            for byte in question.terms.iter().filter_map(|term| term.bytes().next()) {
                begins[usize::from(byte)] = true;
            }
            begins
        };
        Initials((analyzer.language() == Language::English).then(begins))
    }

    /// False for a word that has none of the terms, for sure.
    fn allow(&self, word: &str) -> bool {
        let (Some(begins), Some(letter)) = (&self.0, plain_initial(word)) else { return true };
        begins[usize::from(letter)]
    }
}

/// The first letter of a word that is one letter after the other, marks around it aside.
fn plain_initial(word: &str) -> Option<u8> {
    let (first, rest) = word
        .trim_matches(['"', '(', ')', ',', ';', '!', '?', '.', ':'])
        .as_bytes()
        .split_first()?;
    let plain = first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase);
    plain.then(|| first.to_ascii_lowercase())
}

impl<'q> Previews<'q> {
    pub(super) fn new(
        analyzer: &'q Analyzer,
        question: &'q ParsedQuestion,
        shared: &'q SharedWordTerms,
    ) -> Previews<'q> {
        let initials = Initials::of(analyzer, question);
        Previews { analyzer, question, shared, words: shared.take(), initials }
    }

    fn asks_for(&mut self, word: &str) -> bool {
        let terms = &self.question.terms;
        self.initials.allow(word)
            && self.words.any(self.analyzer, word, |term| terms.iter().any(|other| other == term))
    }

    /// The passage around the densest run of the question's words; the beginning of the text if it has none.
    pub(super) fn of(&mut self, text: &str) -> String {
        let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let chars: Vec<char> = flat.chars().collect();
        if chars.len() <= PREVIEW_CHARS {
            return flat;
        }
        let mut places = Vec::new();
        let mut start = 0;
        for word in flat.split(' ') {
            if self.asks_for(word) {
                places.push(start);
            }
            start += word.chars().count() + 1;
        }
        // The window with the most hits; the first of equals.
        let (mut best, mut most, mut end) = (0, 0, 0);
        for (at, from) in places.iter().enumerate() {
            while places.get(end).is_some_and(|place| *place < from + PREVIEW_CHARS) {
                end += 1;
            }
            if end - at > most {
                (best, most) = (*from, end - at);
            }
        }
        let from = best.saturating_sub(40).min(chars.len() - PREVIEW_CHARS);
        let mut passage: String = chars[from..from + PREVIEW_CHARS].iter().collect();
        if from > 0 {
            passage.insert(0, '…');
        }
        if from + PREVIEW_CHARS < chars.len() {
            passage.push('…');
        }
        passage
    }
}

impl Drop for Previews<'_> {
    fn drop(&mut self) {
        self.shared.give(std::mem::take(&mut self.words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::StaticEmbedder;

    #[test]
    fn every_term_of_a_plain_english_word_begins_as_it_does() {
        let analyzer = Analyzer::new(Language::English);
        let table = StaticEmbedder::shared().table();
        let mut plain = 0;
        for word in (0..).map_while(|id| table.piece(id)) {
            let mut capital = word.to_owned();
            capital.get_mut(..1).map(str::make_ascii_uppercase);
            for written in [word.to_owned(), format!("\"{capital},\"")] {
                let Some(initial) = plain_initial(&written) else { continue };
                plain += 1;
                analyzer.terms(&written, &mut |term, _| {
                    assert_eq!(term.as_bytes().first(), Some(&initial), "{written}: {term}");
                });
            }
        }
        assert!(plain > 30_000, "{plain}");
    }

    #[test]
    fn only_plain_words_are_judged_by_how_they_begin() {
        for (word, initial) in [("Deploys,", b'd'), ("(run)", b'r'), ("a", b'a')] {
            assert_eq!(plain_initial(word), Some(initial), "{word}");
        }
        for word in
            ["", "...", "openFile", "open_file", "don't", "état", "über", "x86", "API", "a.b"]
        {
            assert_eq!(plain_initial(word), None, "{word}");
        }
    }
}
