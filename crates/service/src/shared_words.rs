//! Whether two texts have a word in common that says something.
//!
//! What must stay true: words that stand in any question, and the labels of a well-formed memory, count for nothing;
//! scripts without spaces are compared by pairs of characters.

use std::collections::BTreeSet;

/// Letters by which two forms of a word are taken for the same, and below which a word says little.
const STEM_CHARS: usize = 4;
/// From here on a character is about a word.
const IDEOGRAPHS: char = '\u{3040}';

/// Words that stand in any question, and above the parts of a memory.
const ORDINARY: [&str; 25] = [
    "which", "what", "when", "where", "does", "this", "that", "with", "from", "have", "please",
    "make", "about", "they", "them", "there", "would", "could", "should", "into", "your", "need",
    "want", "show", "learned",
];

/// Whether a word that says something stands in both.
pub fn shares_word(one: &str, other: &str) -> bool {
    !stems(one).is_disjoint(&stems(other))
}

/// Whether nearly all words of a question that say something stand in a text.
pub fn covers(text: &str, question: &str) -> bool {
    let (has, asked) = (stems(text), stems(question));
    let missing = asked.difference(&has).count();
    !asked.is_empty() && missing * 3 <= asked.len()
}

/// How many of the words of a question that say something stand in a text, and how many there are.
pub fn in_common(text: &str, question: &str) -> (usize, usize) {
    let (has, asked) = (stems(text), stems(question));
    (asked.intersection(&has).count(), asked.len())
}

fn stems(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let telling = words.filter(|word| !ORDINARY.contains(&word.as_str()));
    telling.flat_map(|word| stems_of(&word)).collect()
}

fn stems_of(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    if chars.iter().any(|c| *c >= IDEOGRAPHS) {
        return chars.windows(2).map(|pair| pair.iter().collect()).collect();
    }
    let says = chars.len() >= STEM_CHARS || !word.is_ascii() && !word.is_empty();
    says.then(|| chars.into_iter().take(STEM_CHARS).collect()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_question_words_are_not_in_common() {
        let one = "**What**: thumbnails are WebP. **Why**: smaller. **Learned**: ask first";
        let other = "**What**: we write SQL by hand. **Why**: the ORM hid queries. **Learned**: no";
        assert!(!shares_word(one, other));
        assert!(shares_word("Which port does staging use?", "Staging runs on 8443"));
        assert!(shares_word("deployments fail", "the deploy"));
        assert!(shares_word("我们用哪个数据库", "选择了数据库 redb"));
        assert!(!shares_word("我们用哪个数据库", "今天天气很好"));
        assert!(covers("Which port does staging use?", "what port is staging on"));
        assert!(!covers("Which port does staging use?", "which port does the database use"));
        assert!(!covers("anything", "why so"));
    }
}
