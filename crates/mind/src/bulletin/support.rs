//! Does what a model wrote follow from what it cites? Words, numbers, names and negations are compared.
//!
//! This is no judgement of meaning. It is a fence: a line whose words, numbers or names are in none of the memories it
//! cites is not said, and neither is one that turns a statement around. What must stay true: a line that repeats a
//! memory word for word passes; a line that shares nothing with what it cites never does.

use std::collections::BTreeSet;

use thiserror::Error;

use super::gather::{BulletinInput, InputItem, InputSection};
use super::relations::words_of;
use super::render::{BulletinLine, BulletinSection};

/// Of a hundred words that say something, so many must be in the memories that are cited.
const SHARED_PERCENT: usize = 60;
/// Letters that two forms of a word have in common at least.
const STEM: usize = 5;
/// The lines of each section that a text must not leave out in great number.
const COVERED: usize = 2;

/// Words that say nothing by themselves.
const PLAIN: [&str; 74] = [
    "a",
    "an",
    "the",
    "and",
    "or",
    "but",
    "of",
    "to",
    "in",
    "on",
    "at",
    "by",
    "for",
    "from",
    "with",
    "as",
    "is",
    "are",
    "was",
    "were",
    "be",
    "been",
    "being",
    "has",
    "have",
    "had",
    "it",
    "its",
    "this",
    "that",
    "these",
    "those",
    "there",
    "which",
    "who",
    "whose",
    "while",
    "when",
    "where",
    "since",
    "until",
    "also",
    "both",
    "all",
    "any",
    "each",
    "into",
    "over",
    "under",
    "about",
    "after",
    "before",
    "between",
    "their",
    "they",
    "them",
    "he",
    "she",
    "his",
    "her",
    "we",
    "our",
    "you",
    "your",
    "than",
    "then",
    "so",
    "such",
    "still",
    "now",
    "will",
    "would",
    "because",
    "currently",
];

/// Words that turn a statement around.
const NEGATIONS: [&str; 13] = [
    "not", "no", "never", "none", "nothing", "without", "avoid", "avoids", "dont", "doesnt",
    "cannot", "cant", "stop",
];

pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

/// What is wrong with a line or a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum SupportGap {
    #[error("{0:?} is in none of the memories that the line cites")]
    Name(String),
    #[error("the number {0} is in none of the memories that the line cites")]
    Number(String),
    #[error("only {found} of its {words} words are in the memories that it cites")]
    Words { found: usize, words: usize },
    #[error("it says the opposite of a memory that it cites")]
    Negation,
    #[error("memory {0} has nothing to do with it")]
    Stranger(u64),
    #[error("it leaves out {missing} of the {asked} lines that matter most")]
    Coverage { missing: usize, asked: usize },
    #[error("it says nothing under {0:?}")]
    Section(String),
}

/// What a memory says, as far as a model was shown it.
fn source(item: &InputItem) -> String {
    let note = item.note.as_deref().unwrap_or_default();
    format!("{} {} {} {} {note} {}", item.text, item.detail, item.project, item.date, item.kind)
}

/// Folded, with apostrophes closed up, so that "don't" is one word.
fn folded(text: &str) -> String {
    text.replace(['\'', '\u{2019}'], "")
}

/// Whether a line follows from the memories it cites.
pub(super) fn check_line(line: &BulletinLine, gathered: &BulletinInput) -> Result<(), SupportGap> {
    let cited: Vec<&InputItem> = gathered
        .items()
        .filter(|item| {
            line.cites.contains(&item.id) || item.also.iter().any(|id| line.cites.contains(id))
        })
        .collect();
    let sources: Vec<BTreeSet<String>> =
        cited.iter().map(|item| words_of(&folded(&source(item)))).collect();
    let text = folded(&line.text);
    if let Some(name) = names(&text).find(|name| {
        // A name counts as known if a memory has it as it is written.
        !cited.iter().any(|item| folded(&source(item)).to_lowercase().contains(name.as_str()))
    }) {
        return Err(SupportGap::Name(name));
    }
    let words = words_of(&text);
    let digits = |word: &&String| word.chars().any(|c| c.is_ascii_digit());
    if let Some(number) = words.iter().filter(digits).find(|word| !any_has(&sources, word)) {
        return Err(SupportGap::Number(number.clone()));
    }
    let telling: Vec<&String> =
        words.iter().filter(|word| !PLAIN.contains(&word.as_str()) && !is_negation(word)).collect();
    let found = telling.iter().filter(|word| any_has(&sources, word)).count();
    if telling.is_empty() || 100 * found < SHARED_PERCENT * telling.len() {
        return Err(SupportGap::Words { found, words: telling.len() });
    }
    let negated = |words: &BTreeSet<String>| words.iter().any(|word| is_negation(word));
    // The content may deny what the title does not speak of; what is said is the sentence.
    let said: Vec<bool> =
        cited.iter().map(|item| negated(&words_of(&folded(&item.text)))).collect();
    let denies = negated(&words);
    if (denies && !sources.iter().any(negated)) || (!denies && said.iter().all(|denies| *denies)) {
        return Err(SupportGap::Negation);
    }
    for (item, source) in cited.iter().zip(&sources) {
        if !telling.iter().any(|word| has(source, word)) {
            return Err(SupportGap::Stranger(item.id));
        }
    }
    Ok(())
}

/// Whether a text says enough of what it was given.
pub(super) fn check_coverage(
    parts: &[BulletinSection],
    gathered: &BulletinInput,
) -> Result<(), SupportGap> {
    let cited: BTreeSet<u64> =
        parts.iter().flat_map(|part| &part.lines).flat_map(|line| line.cites.clone()).collect();
    let (mut asked, mut missing) = (0, 0);
    for InputSection { dimension, items, .. } in &gathered.sections {
        if !dimension.is_for_model() {
            continue;
        }
        let first: Vec<&InputItem> = items.iter().take(COVERED).collect();
        if !items.iter().any(|item| cited.contains(&item.id)) {
            return Err(SupportGap::Section(dimension.heading().to_owned()));
        }
        asked += first.len();
        missing += first.iter().filter(|item| !cited.contains(&item.id)).count();
    }
    if 2 * missing > asked { Err(SupportGap::Coverage { missing, asked }) } else { Ok(()) }
}

fn any_has(sources: &[BTreeSet<String>], word: &str) -> bool {
    sources.iter().any(|source| has(source, word))
}

/// True if a memory has the word, or another form of it.
fn has(source: &BTreeSet<String>, word: &str) -> bool {
    let is_number = word.chars().any(|c| c.is_ascii_digit());
    source.contains(word)
        || (!is_number
            && word.chars().count() >= STEM
            && source.iter().any(|theirs| common_start(theirs, word) >= STEM))
}

fn common_start(one: &str, two: &str) -> usize {
    one.chars().zip(two.chars()).take_while(|(a, b)| a == b).count()
}

/// Names in a text that must be right to the letter: files, addresses, commands, code, and what is written in capitals
/// in the middle of a sentence. In lower case.
fn names(text: &str) -> impl Iterator<Item = String> {
    let mut begins = true;
    let mut names = Vec::new();
    for word in text.split_whitespace() {
        let bare =
            word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '~' | '$'));
        let inner = bare.trim_end_matches(|c: char| !c.is_alphanumeric());
        let coded = word.contains('`')
            || inner.contains(['/', '_', '@', '\\', '$', '='])
            || inner.contains("::")
            || inner.char_indices().any(|(at, c)| {
                let next = inner[at..].chars().nth(1);
                matches!(c, '.' | ':' | '-') && at > 0 && next.is_some_and(char::is_alphanumeric)
            });
        let capital = !begins && inner.chars().next().is_some_and(char::is_uppercase);
        if !inner.is_empty() && (coded || capital) {
            names.push(inner.to_lowercase());
        }
        begins = word.ends_with(['.', ':', ';', '!', '?']);
    }
    names.into_iter()
}
