//! The caller's own word for what a memory is.
//!
//! Must stay true: every text gives a slug, because a save must not fail over how a label is spelled; a known kind is
//! never changed, and a slug is its own. One that is too long is left for the kernel to refuse.

use text::analyze::fold;

/// The kind of a memory whose caller gave none.
const DEFAULT_KIND: &str = "manual";

/// A kind as it is stored: folded, one `-` for what is no letter, digit, `_` or `-`.
pub fn kind(given: &str) -> String {
    let folded = fold(given);
    let is_slug = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    let parts: Vec<&str> =
        folded.split(|c: char| !is_slug(c)).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { DEFAULT_KIND.to_owned() } else { parts.join("-") }
}

#[cfg(test)]
mod tests {
    use kernel::memory::KINDS;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kinds_are_slugs() {
        for (given, expected) in [
            ("Bug Fix", "bug-fix"),
            (" decision ", "decision"),
            ("root-cause", "root-cause"),
            ("Décision", "decision"),
            ("UI / UX", "ui-ux"),
            ("", "manual"),
            ("!!", "manual"),
            ("設計", "manual"),
        ] {
            assert_eq!(kind(given), expected, "{given}");
        }
        for (known, _) in KINDS {
            assert_eq!(kind(known), known);
        }
    }

    proptest! {
        #[test]
        fn a_slug_is_its_own(given in "\\PC{0,60}") {
            let slug = kind(&given);
            prop_assert!(!slug.is_empty());
            prop_assert_eq!(kind(&slug), slug);
        }
    }
}
