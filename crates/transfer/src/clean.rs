//! Foreign words made legal for the kernel: one line where it wants one line, slugs where it wants slugs.
//!
//! Pure and the same in every run, because a second import compares what it would write with what is there. Nothing is
//! lost silently: a title that must be shortened is repeated in full at the top of the content.

use kernel::limits::{
    FIELD_BYTES_MAX, KIND_BYTES_MAX, NAME_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX, TITLE_BYTES_MAX,
    TOPIC_KEY_BYTES_MAX,
};

use crate::origin::short;

/// Characters of a title that is made from the first line of a content.
const DERIVED_TITLE_CHARS: usize = 80;

/// One line without control characters; `None` if nothing is left.
pub(super) fn one_line(text: &str) -> Option<String> {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// At most `max` bytes, cut between characters.
pub(super) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// A name that fits; a longer one keeps its start and gets a digest, so that two long names stay two.
pub(super) fn name(text: &str) -> Option<String> {
    named(text, NAME_BYTES_MAX)
}

pub(super) fn topic_key(text: &str) -> Option<String> {
    named(text, TOPIC_KEY_BYTES_MAX)
}

fn named(text: &str, max: usize) -> Option<String> {
    // What is legal stays as it is.
    if text.len() <= max
        && text.trim() == text
        && !text.is_empty()
        && !text.chars().any(char::is_control)
    {
        return Some(text.to_owned());
    }
    let line = one_line(text)?;
    if line.len() <= max {
        return Some(line);
    }
    let digest = short(line.as_bytes(), 8);
    Some(format!("{}~{digest}", cut(&line, max - digest.len() - 1)))
}

/// A slug of the origin's word for what a memory is.
pub(super) fn kind(text: &str) -> Option<String> {
    let mut slug = String::new();
    for c in text.trim().to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' | '_' => slug.push(c),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    let slug = cut(&slug, KIND_BYTES_MAX).trim_matches('-').to_owned();
    (!slug.is_empty()).then_some(slug)
}

/// Tags in one spelling, without those that say nothing; the number that did not fit comes with them.
pub(super) fn tags(tags: impl IntoIterator<Item = String>) -> (Vec<String>, usize) {
    let mut kept: Vec<String> = tags
        .into_iter()
        .filter_map(|tag| named(tag.trim().trim_start_matches('#'), TAG_BYTES_MAX))
        .collect();
    kept.sort();
    kept.dedup();
    let left_out = kept.len().saturating_sub(TAGS_MAX);
    kept.truncate(TAGS_MAX);
    (kept, left_out)
}

/// A short text field, if it fits.
pub(super) fn field(text: &str) -> Option<String> {
    named(text, FIELD_BYTES_MAX).filter(|line| line.len() <= text.len())
}

/// Title and content that the kernel takes. No title: the first words of the content.
pub(super) fn title_and_content(title: Option<&str>, content: &str) -> Option<(String, String)> {
    let content = content.replace('\0', "");
    let Some(title) = title.and_then(one_line) else {
        let first = content
            .lines()
            .find_map(|line| one_line(line.trim_start_matches(['#', '-', '*', ' '])))?;
        return Some((first_chars(&first, DERIVED_TITLE_CHARS), content));
    };
    if title.len() <= TITLE_BYTES_MAX {
        return Some((title, content));
    }
    let short = format!("{}…", cut(&title, TITLE_BYTES_MAX - '…'.len_utf8()));
    Some((short, format!("{title}\n\n{content}")))
}

fn first_chars(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_comes_is_legal(text in "\\PC{0,1500}|.{0,1500}", content in ".{0,200}") {
            if let Some(name) = name(&text) {
                prop_assert!(name.len() <= NAME_BYTES_MAX && !name.trim().is_empty());
                prop_assert!(!name.chars().any(char::is_control));
            }
            if let Some(kind) = kind(&text) {
                prop_assert!(kind.len() <= KIND_BYTES_MAX);
                prop_assert!(kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b)));
            }
            if let Some((title, _)) = title_and_content(Some(&text), &content) {
                prop_assert!(title.len() <= TITLE_BYTES_MAX && !title.trim().is_empty());
                prop_assert!(!title.chars().any(char::is_control));
            }
        }
    }

    #[test]
    fn words_of_other_tools_become_kinds() {
        assert_eq!(kind("Bug Fix").as_deref(), Some("bug-fix"));
        assert_eq!(kind("session_summary").as_deref(), Some("session_summary"));
        assert_eq!(kind("Décision!").as_deref(), Some("d-cision"));
        assert_eq!(kind(" !! "), None);
        assert_eq!(kind(&"x".repeat(99)).unwrap().len(), KIND_BYTES_MAX);
    }

    #[test]
    fn no_title_is_lost() {
        let long = "word ".repeat(500);
        let (title, content) = title_and_content(Some(&long), "text").unwrap();
        assert!(title.len() <= TITLE_BYTES_MAX && title.ends_with('…'));
        assert!(content.starts_with(long.trim()) && content.ends_with("\n\ntext"));
        assert_eq!(title_and_content(None, "# Heading\nrest").unwrap().0, "Heading");
        assert_eq!(title_and_content(Some(" "), " \n "), None);
    }

    #[test]
    fn two_long_names_stay_two() {
        let (one, two) = ("a".repeat(200), format!("{}b", "a".repeat(199)));
        assert_ne!(name(&one), name(&two));
        assert_eq!(tags(["#x".into(), "x".into(), " ".into()]), (vec!["x".to_owned()], 0));
    }
}
