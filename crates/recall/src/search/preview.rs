//! The passage of a text that answers best, cut to a few lines.

use crate::analyze::{Analyzer, Question};
use crate::known_words::{KnownWords, Shared};

/// Characters of a preview.
const PREVIEW_CHARS: usize = 300;

/// Around the densest run of the question's words; the beginning if there is none.
pub fn preview(analyzer: &Analyzer, question: &Question, text: &str) -> String {
    Previews::new(analyzer, question, &Shared::default()).of(text)
}

/// Previews of the texts that answer one question.
pub(super) struct Previews<'q> {
    analyzer: &'q Analyzer,
    question: &'q Question,
    shared: &'q Shared,
    words: KnownWords,
}

impl<'q> Previews<'q> {
    pub(super) fn new(
        analyzer: &'q Analyzer,
        question: &'q Question,
        shared: &'q Shared,
    ) -> Previews<'q> {
        Previews { analyzer, question, shared, words: shared.take() }
    }

    fn asks_for(&mut self, word: &str) -> bool {
        let terms = &self.question.terms;
        self.words.any(self.analyzer, word, |term| terms.iter().any(|other| other == term))
    }

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
