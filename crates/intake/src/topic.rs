//! Topic keys: names under which a memory evolves instead of being saved again.
//!
//! Must stay true: a key is one line of at most `TOPIC_KEY_BYTES_MAX` bytes and never empty; normalising twice changes
//! nothing; two different texts never become one key by being cut; the same words always suggest the same key, in any
//! script.

use kernel::limits::TOPIC_KEY_BYTES_MAX;
use kernel::{Digest, Error, Result};
use text::analyze::fold;
use unicode_normalization::UnicodeNormalization as _;

use crate::bounds::cut_apart;

/// The part of a suggested key behind the slash, in bytes.
const SEGMENT_BYTES_MAX: usize = 96;
/// The part before it.
const FAMILY_BYTES_MAX: usize = 20;
/// Words of the content that stand in for a title.
const CONTENT_WORDS: usize = 8;
/// Bytes of content that are looked at for words of a family.
const CONTENT_BYTES_READ: usize = 65_536;
/// Hexadecimal digits that keep wordless texts apart.
const HASH_DIGITS: usize = 8;

const GENERAL: &str = "general";
const TOPIC: &str = "topic";

/// A key as it is stored: trimmed, lower case, each run of white space one hyphen. `None` for a blank key.
///
/// A key over the limit keeps its start and ends with a hash of the whole.
pub fn normalize(key: &str) -> Option<String> {
    let lower: String = key.nfc().flat_map(char::to_lowercase).nfc().collect();
    let joined = lower.split_whitespace().collect::<Vec<_>>().join("-");
    let normal: String = joined.chars().filter(|c| !c.is_control()).collect();
    if normal.is_empty() { None } else { Some(cut_apart(&normal, TOPIC_KEY_BYTES_MAX)) }
}

/// A stable key for a memory: family, slash, the words of its title.
pub fn suggest(kind: &str, title: &str, content: &str) -> Result<String> {
    if title.trim().is_empty() && content.trim().is_empty() {
        return Err(Error::invalid("title", "provide title or content to suggest a topic_key"));
    }
    let family = family_of(kind, title, content);
    let title_slug = slug(title, SEGMENT_BYTES_MAX);
    let segment = if title_slug.is_empty() {
        let start: Vec<&str> = content.split_whitespace().take(CONTENT_WORDS).collect();
        slug(&start.join(" "), SEGMENT_BYTES_MAX)
    } else {
        title_slug
    };
    if segment.is_empty() {
        // Signs and pictures only: without words, the text itself tells two topics apart.
        return Ok(format!("{family}/{GENERAL}-{}", short_hash(&format!("{title}\n{content}"))));
    }
    let rest = segment
        .strip_prefix(family.as_str())
        .and_then(|rest| if rest.is_empty() { Some(GENERAL) } else { rest.strip_prefix('-') });
    let key = format!("{family}/{}", rest.unwrap_or(&segment));
    // Words that a sign stood between may join when it is gone, and marks at their seams change places.
    Ok(normalize(&key).unwrap_or(key))
}

/// Folded words joined by hyphens, at most `max` bytes.
fn slug(text: &str, max: usize) -> String {
    let mut slug = String::new();
    let folded = fold(&text[..text.floor_char_boundary(CONTENT_BYTES_READ)]);
    for word in folded.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()) {
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
        if slug.len() > max {
            slug.truncate(slug.floor_char_boundary(max));
            break;
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// Letters and digits, and the vowel signs that are part of a word in Indic scripts.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)
}

fn short_hash(text: &str) -> String {
    Digest::of("cortex/topic/1", &[text.as_bytes()]).to_string()[..HASH_DIGITS].to_owned()
}

/// By the caller's word if it has a family, else by the words of the text, else the caller's word itself.
fn family_of(kind: &str, title: &str, content: &str) -> String {
    let kind = kind.trim().to_lowercase();
    let by_kind = KIND_FAMILIES.iter().find(|(_, kinds)| kinds.contains(&kind.as_str()));
    if let Some((family, _)) = by_kind {
        return (*family).to_owned();
    }
    let content = &content[..content.floor_char_boundary(CONTENT_BYTES_READ)];
    let folded = fold(&format!("{title}\n{content}"));
    let words: Vec<&str> = folded.split(|c: char| !is_word(c)).filter(|w| !w.is_empty()).collect();
    let by_word = WORD_FAMILIES.iter().find(|(_, stems)| {
        stems.iter().any(|stem| match stem.split_once(' ') {
            Some((first, second)) => {
                words.windows(2).any(|pair| pair[0] == first && is_form_of(pair[1], second))
            }
            None => words.iter().any(|word| is_form_of(word, stem)),
        })
    });
    if let Some((family, _)) = by_word {
        return (*family).to_owned();
    }
    let own = slug(&kind, FAMILY_BYTES_MAX);
    if own.is_empty() || own == "manual" { TOPIC.to_owned() } else { own }
}

/// The word itself or one of its regular endings, never a longer word that only begins like it.
fn is_form_of(word: &str, stem: &str) -> bool {
    word.strip_prefix(stem).is_some_and(|ending| ENDINGS.contains(&ending))
        || stem.strip_suffix('e').and_then(|short| word.strip_prefix(short)) == Some("ing")
}

const ENDINGS: [&str; 6] = ["", "s", "es", "d", "ed", "ing"];

/// The caller's words that name a family.
const KIND_FAMILIES: [(&str, &[&str]); 8] = [
    ("architecture", &["architecture", "design", "adr", "refactor"]),
    ("bug", &["bug", "bugfix", "fix", "incident", "hotfix"]),
    ("decision", &["decision"]),
    ("pattern", &["pattern", "convention", "guideline"]),
    ("config", &["config", "setup", "infra", "infrastructure", "ci"]),
    ("discovery", &["discovery", "investigation", "root_cause", "root-cause"]),
    ("learning", &["learning", "learn"]),
    ("session", &["session_summary"]),
];

/// Words of a text that suggest a family; the first family with a word in the text wins.
const WORD_FAMILIES: [(&str, &[&str]); 7] = [
    (
        "bug",
        &["bug", "bugfix", "fix", "panic", "error", "crash", "regression", "incident", "hotfix"],
    ),
    (
        "architecture",
        &["architecture", "design", "adr", "boundary", "boundaries", "hexagonal", "refactor"],
    ),
    ("decision", &["decision", "tradeoff", "trade off", "chose", "choose", "chosen", "decide"]),
    ("pattern", &["pattern", "convention", "naming", "guideline"]),
    ("config", &["config", "configuration", "setup", "environment", "env", "docker", "pipeline"]),
    (
        "discovery",
        &["discovery", "discovered", "investigate", "investigation", "found", "root cause"],
    ),
    ("learning", &["learned", "learnt", "learning"]),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // agent-memory 84, 106, 107, 108, 109, 110, 12.1
    #[test]
    fn families_and_words() {
        for (kind, title, content, key) in [
            ("architecture", "Auth model", "", "architecture/auth-model"),
            ("architecture", "Architecture: Auth  Model!!", "", "architecture/auth-model"),
            ("bugfix", "Fixed N+1 in UserList", "", "bug/fixed-n-1-in-userlist"),
            ("", "Fixed N+1 in UserList", "", "bug/fixed-n-1-in-userlist"),
            ("", "Use prefix tree for routes", "", "topic/use-prefix-tree-for-routes"),
            ("", "The foundation of caching", "", "topic/the-foundation-of-caching"),
            ("", "JWT vs sessions tradeoff", "", "decision/jwt-vs-sessions-tradeoff"),
            ("", "JWT vs sessions", "a trade-off of size", "decision/jwt-vs-sessions"),
            (
                "",
                "",
                "We chose Zustand over Redux because it is smaller and",
                "decision/we-chose-zustand-over-redux-because-it-is",
            ),
            ("manual", "Weekly notes", "", "topic/weekly-notes"),
            ("preference", "Likes tabs", "", "preference/likes-tabs"),
            ("config", "config", "", "config/general"),
            ("Pattern", "Naming of tests", "", "pattern/naming-of-tests"),
            ("infra", "Two nodes", "", "config/two-nodes"),
            ("", "Root cause of the leak", "", "discovery/root-cause-of-the-leak"),
            (
                "",
                "Services with clear boundaries",
                "",
                "architecture/services-with-clear-boundaries",
            ),
            ("session_summary", "Session summary: demo", "", "session/summary-demo"),
            ("manual", "認証モデル", "", "topic/認証モデル"),
            ("decision", "Decisión sobre autenticación", "", "decision/sobre-autenticacion"),
            ("decision", "Выбор базы данных", "", "decision/выбор-базы-данных"),
            ("manual", "Größe & Straße", "", "topic/grosse-strasse"),
            ("manual", "हिन्दी में", "", "topic/हिन्दी-में"),
        ] {
            assert_eq!(suggest(kind, title, content).unwrap(), key, "{kind} | {title} | {content}");
        }
    }

    #[test]
    fn texts_without_words_stay_apart() {
        let (one, two) =
            (suggest("manual", "🚀", "").unwrap(), suggest("manual", "🔥", "").unwrap());
        assert_ne!(one, two);
        assert!(one.starts_with("topic/general-"), "{one}");
        let blank = suggest("manual", " ", "\n").unwrap_err();
        assert!(blank.to_string().contains("provide title or content to suggest a topic_key"));
    }

    // agent-memory 12.3, 104
    #[test]
    fn keys_are_normalised() {
        for (key, normal) in [
            (" Architecture/Auth Model ", Some("architecture/auth-model")),
            ("a\t\n b", Some("a-b")),
            ("Straße/Ünï", Some("straße/ünï")),
            ("cafe\u{301}", Some("café")),
            ("a\u{7}b", Some("ab")),
            ("", None),
            (" \n ", None),
            ("\u{1}", None),
        ] {
            assert_eq!(normalize(key).as_deref(), normal, "{key:?}");
        }
    }

    #[test]
    fn long_keys_are_cut_but_never_become_one() {
        let start = "x".repeat(200);
        let (one, two) = (normalize(&format!("{start}1")), normalize(&format!("{start}2")));
        assert_ne!(one, two);
        assert_eq!(one.unwrap().len(), TOPIC_KEY_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn suggestions_are_valid_normal_keys(kind in "\\PC{0,40}", title in "\\PC{0,200}", content in "\\PC{0,80}") {
            if let Ok(key) = suggest(&kind, &title, &content) {
                prop_assert!(key.len() <= TOPIC_KEY_BYTES_MAX, "{} bytes", key.len());
                let (family, segment) = key.split_once('/').unwrap();
                prop_assert!(!family.is_empty() && !segment.is_empty());
                prop_assert_eq!(suggest(&kind, &title, &content).unwrap(), key.clone());
                prop_assert_eq!(normalize(&key), Some(key));
            }
        }

        #[test]
        fn normalising_twice_changes_nothing(key in "(\\PC|[ \t\n]){0,200}") {
            if let Some(normal) = normalize(&key) {
                prop_assert!(normal.len() <= TOPIC_KEY_BYTES_MAX && !normal.is_empty());
                prop_assert_eq!(normalize(&normal), Some(normal.clone()));
            }
        }
    }
}
