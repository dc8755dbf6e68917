//! What a sentence is about: topics, what a person says of themselves, corrections, kinds of errors.
//!
//! Only what is found is kept, never the sentence. Everything here is a function of the text.

use text::analyze::{Analyzer, fold};

/// Topics taken from one sentence.
const TOPICS_MAX: usize = 12;
/// Too common to be a topic by themselves.
const COMMON: &str = "able add ask code day error file find fix fine function give go good great help hey \
idea issue know let line look make mean need new number ok okay old one part problem question right run say \
see set show start stop thank thanks thing think time today tomorrow try two use user want way week work \
write wrong year yes yesterday";

/// A topic: the stem it is counted by, and the word as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Topic {
    pub(super) stem: String,
    pub(super) shown: String,
}

pub(super) fn topics(analyzer: &Analyzer, text: &str) -> Vec<Topic> {
    let mut found: Vec<Topic> = Vec::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || "+#-_.".contains(c))) {
        let word = word.trim_matches(|c: char| "-_.".contains(c));
        let plain = fold(word);
        let letters = plain.chars().filter(|c| c.is_alphabetic()).count();
        if letters < 3 || COMMON.split(' ').any(|common| common == plain) {
            continue;
        }
        let Some(stem) = analyzer.question(&plain).terms.into_iter().next() else { continue };
        // The analyzer keeps stop words if a question has nothing else. A stop word is no topic, so a second word is
        // added.
        if analyzer.question(&format!("{plain} xylophon")).terms.len() < 2 {
            continue;
        }
        if found.len() < TOPICS_MAX && !found.iter().any(|topic| topic.stem == stem) {
            found.push(Topic { stem, shown: word.to_owned() });
        }
    }
    found
}

pub(super) fn is_question(text: &str) -> bool {
    let plain = fold(text);
    let first = plain.split_whitespace().next().unwrap_or_default();
    let asks = "how what why when where which who can could should would is are do does explain tell wie was warum";
    text.contains('?') || asks.split(' ').any(|word| word == first)
}

/// Something a person says about themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SelfFact {
    /// `timezone`, `name`, `location`, `employer`.
    pub(super) key: &'static str,
    pub(super) value: String,
}

const AREAS: &str =
    "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific Etc";

pub(super) fn self_facts(text: &str) -> Vec<SelfFact> {
    let plain = fold(text).replace(['\'', '’'], "");
    let words: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).collect();
    let has = |word: &str| words.contains(&word);
    let own = ["i", "im", "my", "me", "mine"].into_iter().any(has);
    let mut found = Vec::new();
    if own || plain.contains("timezone") || plain.contains("time zone") {
        found.extend(zone(text).map(|value| SelfFact { key: "timezone", value }));
    }
    for (key, phrases) in [
        ("name", &["my name is "][..]),
        ("location", &["i live in ", "im based in ", "i am based in "][..]),
        ("employer", &["i work at ", "i work for "][..]),
    ] {
        found.extend(after(text, phrases).map(|value| SelfFact { key, value }));
    }
    found
}

/// An IANA name such as `America/New_York`.
fn zone(text: &str) -> Option<String> {
    text.split(|c: char| !(c.is_alphanumeric() || "/_+-".contains(c))).find_map(|word| {
        let (area, place) = word.split_once('/')?;
        let area = AREAS.split(' ').find(|known| known.eq_ignore_ascii_case(area))?;
        let place: Vec<String> = place.split('_').map(capital).collect();
        let fine = place.iter().all(|part| part.chars().next().is_some_and(char::is_alphanumeric));
        fine.then(|| format!("{area}/{}", place.join("_")))
    })
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Up to three capitalised words that follow one of the phrases.
fn after(text: &str, phrases: &[&str]) -> Option<String> {
    let text = text.replace(['\'', '’'], "");
    let lower = text.to_lowercase();
    // Lower case may change the length of a text; then nothing is taken rather than the wrong thing.
    if lower.len() != text.len() {
        return None;
    }
    let at = phrases.iter().find_map(|phrase| Some(lower.find(phrase)? + phrase.len()))?;
    let words = text.get(at..)?.split_whitespace().take(3);
    let mut taken = Vec::new();
    for word in words {
        if !word.chars().next().is_some_and(char::is_uppercase) {
            break;
        }
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        taken.push(bare);
        if bare.len() < word.len() {
            break;
        }
    }
    (!taken.is_empty()).then(|| taken.join(" "))
}

pub(super) fn is_correction(text: &str) -> bool {
    let plain = fold(text).replace(['\'', '’'], "");
    let begins =
        ["no, ", "no. ", "no not", "wrong", "actually", "stop ", "dont ", "do not ", "again, "];
    let holds = ["i told you", "i said", "not like that", "instead of", "thats wrong", "as i said"];
    begins.iter().any(|start| plain.starts_with(start))
        || holds.iter().any(|phrase| plain.contains(phrase))
}

/// The kind of an error: its first line without what differs from case to case.
pub(super) fn signature(error: &str) -> String {
    let line = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("failed");
    let mut kind = String::new();
    for word in line.split_whitespace() {
        let varies = word.contains('/') || word.len() > 24;
        let word: String = if varies {
            "…".to_owned()
        } else {
            word.chars().filter(|c| !c.is_ascii_digit()).collect()
        };
        if word.is_empty() {
            continue;
        }
        if kind.chars().count() + word.chars().count() > 80 {
            break;
        }
        if !kind.is_empty() {
            kind.push(' ');
        }
        kind.push_str(&word);
    }
    kind
}

/// Letters, digits and dashes, for a topic key.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in fold(text).chars() {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.truncate(slug.floor_char_boundary(40));
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

#[cfg(test)]
mod tests {
    use text::analyze::Language;

    use super::*;

    #[test]
    fn topics_are_content_words_by_their_stem() {
        let analyzer = Analyzer::new(Language::English);
        let of = |text: &str| -> Vec<String> {
            topics(&analyzer, text).into_iter().map(|topic| topic.shown).collect()
        };
        assert_eq!(of("How do I borrow a value in Rust?"), ["borrow", "value", "Rust"]);
        assert_eq!(of("What is the time?"), Vec::<String>::new());
        assert_eq!(topics(&analyzer, "lifetimes")[0].stem, topics(&analyzer, "lifetime")[0].stem);
    }

    #[test]
    fn people_say_things_about_themselves() {
        let of = |text: &str| -> Vec<(String, String)> {
            let facts = self_facts(text).into_iter();
            facts.map(|fact| (fact.key.to_owned(), fact.value)).collect()
        };
        let zone = |value: &str| vec![("timezone".to_owned(), value.to_owned())];
        assert_eq!(of("I'm on America/New_York time"), zone("America/New_York"));
        assert_eq!(of("my timezone is europe/berlin"), zone("Europe/Berlin"));
        assert_eq!(of("The tests use Europe/Berlin"), []);
        assert_eq!(of("My name is Ada Lovelace, hello"), [("name".into(), "Ada Lovelace".into())]);
        assert_eq!(of("I live in a small house"), []);
    }

    #[test]
    fn errors_of_one_kind_have_one_signature() {
        assert_eq!(signature("timeout after 31 s\nat x"), signature("timeout after 45 s"));
        assert_ne!(signature("timeout after 3 s"), signature("permission denied"));
        assert_eq!(slug("C++ & Rust!"), "c-rust");
    }
}
