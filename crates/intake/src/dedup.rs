//! When two saves are the same save.
//!
//! Must stay true: same project, scope, kind and title, and content that differs in case and white space at most,
//! within the window. The hash is SHA-256 over the text as it will be stored, so after redaction.

use kernel::Digest;
use kernel::memory::Scope;

/// What has to be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveKey<'s> {
    pub project: Option<&'s str>,
    pub scope: Scope,
    pub kind: &'s str,
    pub title: &'s str,
    pub content: &'s str,
}

/// Lower case, each run of white space one space, none at the ends.
pub fn normal_text(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.extend(word.chars().flat_map(char::to_lowercase));
    }
    normal
}

/// Plain SHA-256 of the normal text: equal for two contents that say the same.
pub fn content_hash(content: &str) -> Digest {
    Digest::of("", &[normal_text(content).as_bytes()])
}

/// One hash for all that has to be equal.
pub fn fingerprint(save: &SaveKey<'_>) -> Digest {
    let project = save.project.unwrap_or_default();
    let title = save.title.trim();
    let mut head = Vec::new();
    for part in [project, save.scope.name(), save.kind, title] {
        head.extend_from_slice(&(part.len() as u64).to_be_bytes());
        head.extend_from_slice(part.as_bytes());
    }
    Digest::of("cortex/same-save/1", &[&head, content_hash(save.content).as_bytes()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAVE: SaveKey<'static> = SaveKey {
        project: Some("demo"),
        scope: Scope::Project,
        kind: "decision",
        title: "Same title",
        content: "Same  Body",
    };

    // agent-memory 53, 2.4
    #[test]
    fn the_content_hash_is_sha_256_of_the_normal_text() {
        let same_body = "8f6372a8b1509601faa57ff3a292cfcccb95aa2325c18b8e50b0c035ea1648fe";
        assert_eq!(content_hash("  Same \n\t BODY ").to_string(), same_body);
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(content_hash(" \n").to_string(), empty);
    }

    // agent-memory 54, 12.3
    #[test]
    fn a_save_is_repeated_only_if_everything_is_the_same() {
        let same = fingerprint(&SAVE);
        assert_eq!(fingerprint(&SaveKey { content: "same body", ..SAVE }), same);
        for other in [
            SaveKey { project: None, ..SAVE },
            SaveKey { project: Some("demo2"), ..SAVE },
            SaveKey { scope: Scope::Personal, ..SAVE },
            SaveKey { kind: "bugfix", ..SAVE },
            SaveKey { title: "same title", ..SAVE },
            SaveKey { content: "same bodies", ..SAVE },
            // The same letters, cut differently.
            SaveKey { kind: "decisionSame", title: "title", ..SAVE },
        ] {
            assert_ne!(fingerprint(&other), same, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn white_space_and_case_do_not_count(words in prop::collection::vec("[a-zA-Z0-9äÖ]{1,8}", 1..8)) {
            let plain = words.join(" ").to_lowercase();
            let wide = format!(" \n{}\t", words.join(" \r\n  "));
            prop_assert_eq!(content_hash(&plain), content_hash(&wide));
            prop_assert_eq!(normal_text(&normal_text(&wide)), normal_text(&wide));
        }
    }
}
