//! Whether two memories that look alike also say the same.
//!
//! Vectors find candidates and know nothing of order, numbers or "not": "tabs over spaces" and "spaces over tabs" are
//! the same to them. Before two memories become one, the words themselves must agree. In doubt they stay two.

use std::collections::BTreeSet;

use kernel::memory::{Body, Fields};
use text::analyze::{Analyzer, fold};

use crate::turning_words::{is_negation, sides};

/// `None`: they say the same. Otherwise what differs, for people.
pub fn difference(analyzer: &Analyzer, a: &Body, b: &Body) -> Option<String> {
    if let Some(field) = conflicting_field(&a.fields, &b.fields) {
        return Some(format!("they differ in {field}"));
    }
    let (one, two) = (text(a), text(b));
    let (left, right) = (words(&one), words(&two));
    if left == right {
        return None;
    }
    let some = |words: &[String], of: &dyn Fn(&str) -> bool| -> Vec<String> {
        let mut found: Vec<String> = words.iter().filter(|word| of(word)).cloned().collect();
        found.sort();
        found
    };
    let numbers = |word: &str| word.chars().any(|c| c.is_ascii_digit());
    if some(&left, &numbers) != some(&right, &numbers) {
        return Some("they name different numbers".to_owned());
    }
    if some(&left, &is_negation).len() != some(&right, &is_negation).len() {
        return Some("one of them denies what the other says".to_owned());
    }
    if sides(&left) != sides(&right) {
        return Some("they name things in another order".to_owned());
    }
    let (left, right) = (stems(analyzer, &left), stems(analyzer, &right));
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
        a.difference(b).take(3).cloned().collect()
    };
    let (only_left, only_right) = (only(&left, &right), only(&right, &left));
    // One may say more than the other; if each says something that the other does not, they are two.
    if only_left.is_empty() || only_right.is_empty() {
        return None;
    }
    Some(format!("one speaks of {}, the other of {}", only_left.join(", "), only_right.join(", ")))
}

fn text(body: &Body) -> String {
    // An apostrophe is dropped, so that "don't" counts as one word.
    fold(&format!("{} {}", body.title, body.content)).replace(['\'', '’'], "")
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn stems(analyzer: &Analyzer, words: &[String]) -> BTreeSet<String> {
    analyzer.question(&words.join(" ")).terms.into_iter().collect()
}

/// The field in which two memories of one type say different things; one that only one of them has is no conflict.
fn conflicting_field(a: &Fields, b: &Fields) -> Option<&'static str> {
    fn differ<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
        matches!((a, b), (Some(a), Some(b)) if a != b)
    }
    let found = match (a, b) {
        (Fields::Identity(a), Fields::Identity(b)) => [
            (differ(a.name.as_ref(), b.name.as_ref()), "name"),
            (differ(a.role.as_ref(), b.role.as_ref()), "role"),
        ]
        .to_vec(),
        (Fields::Goal(a), Fields::Goal(b)) => {
            vec![
                (a.status != b.status, "status"),
                (differ(a.due.as_ref(), b.due.as_ref()), "due date"),
            ]
        }
        (Fields::Preference(a), Fields::Preference(b)) => {
            vec![
                (a.polarity != b.polarity, "polarity"),
                (differ(a.topic.as_ref(), b.topic.as_ref()), "topic"),
            ]
        }
        (Fields::Constraint(a), Fields::Constraint(b)) => {
            vec![
                (a.strength != b.strength, "strength"),
                (differ(a.trigger.as_ref(), b.trigger.as_ref()), "trigger"),
            ]
        }
        (Fields::Decision(a), Fields::Decision(b)) => vec![(a.status != b.status, "status")],
        (Fields::Fact(a), Fields::Fact(b)) => vec![
            (differ(a.subject.as_ref(), b.subject.as_ref()), "subject"),
            (differ(a.predicate.as_ref(), b.predicate.as_ref()), "predicate"),
            (differ(a.object.as_ref(), b.object.as_ref()), "object"),
        ],
        (Fields::Pattern(_), Fields::Pattern(_)) => Vec::new(),
        (Fields::Event(a), Fields::Event(b)) => vec![
            (differ(a.happened_at.as_ref(), b.happened_at.as_ref()), "time"),
            (differ(a.outcome.as_ref(), b.outcome.as_ref()), "outcome"),
        ],
        (Fields::ArtifactRef(a), Fields::ArtifactRef(b)) => vec![
            (differ(a.uri.as_ref(), b.uri.as_ref()), "uri"),
            (differ(a.digest.as_ref(), b.digest.as_ref()), "digest"),
        ],
        _ => vec![(true, "type")],
    };
    found.into_iter().find(|(differs, _)| *differs).map(|(_, field)| field)
}

#[cfg(test)]
mod tests {
    use kernel::memory::MemoryType;
    use text::analyze::Language;

    use super::*;

    fn body(title: &str) -> Body {
        let fields = Fields::empty(MemoryType::Preference);
        Body { title: title.into(), content: String::new(), fields }
    }

    // Section 11, point 14
    #[test]
    fn only_what_says_the_same_is_the_same() {
        let analyzer = Analyzer::new(Language::English);
        let same = |a: &str, b: &str| difference(&analyzer, &body(a), &body(b)).is_none();
        assert!(same("Prefers tabs over spaces", "The user prefers tabs over spaces."));
        assert!(same("Uses Neovim", "Uses Neovim as the primary editor"));
        for (a, b) in [
            ("Prefers tabs over spaces", "Prefers spaces over tabs"),
            ("Deploy on Fridays", "Never deploy on Fridays"),
            ("The server listens on port 8080", "The server listens on port 8081"),
            ("Ada leads the parser team", "Grace leads the parser team"),
            ("Do deploy on Friday", "Don't deploy on Friday"),
            ("Migrate from Postgres to SQLite", "Migrate from SQLite to Postgres"),
        ] {
            assert!(!same(a, b), "{a} / {b}");
        }
    }
}
