//! The passage of a text that answers best, cut to a few lines.

use crate::analyze::{Analyzer, Question};

/// Characters of a preview.
const PREVIEW_CHARS: usize = 300;

/// Around the densest run of the question's words; the beginning if there is none.
pub fn preview(analyzer: &Analyzer, question: &Question, text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let chars: Vec<char> = flat.chars().collect();
    if chars.len() <= PREVIEW_CHARS {
        return flat;
    }
    let mut places = Vec::new();
    let mut start = 0;
    for word in flat.split(' ') {
        let mut hit = false;
        analyzer.terms(word, &mut |term, _| hit |= question.terms.iter().any(|t| t == term));
        if hit {
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
