//! Words that turn a statement around: by being there, or by the order of what stands beside them. "Tabs over spaces"
//! is not "spaces over tabs".

use std::collections::BTreeSet;

const ORDERING: &str = "over than before after to from into instead versus vs against until by";

const NEGATIONS: &str = "no not never none nothing without cannot cant dont doesnt didnt isnt arent wasnt wont \
shouldnt mustnt neither nor stop avoid avoids unless except nicht kein keine nie ohne";

/// A word, the ordering word after it, and the word after that.
pub(crate) type OrderedPair = (String, String, String);

/// The words on both sides of each ordering word.
pub(crate) fn sides(words: &[String]) -> BTreeSet<OrderedPair> {
    let mut found = BTreeSet::new();
    for at in 1..words.len().saturating_sub(1) {
        if ORDERING.split(' ').any(|known| known == words[at]) {
            found.insert((words[at - 1].clone(), words[at].clone(), words[at + 1].clone()));
        }
    }
    found
}

pub(crate) fn is_negation(word: &str) -> bool {
    NEGATIONS.split(' ').any(|known| known == word)
}
