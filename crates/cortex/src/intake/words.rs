//! The caller's own words for what a memory is and whom it belongs to.
//!
//! Must stay true: every text gives a valid kind and a scope, because a save must not fail over a label; a known kind is
//! never changed.

use kernel::limits::KIND_BYTES_MAX;
use kernel::memory::Scope;
use recall::analyze::fold;

/// The kind of a memory whose caller gave none.
pub(crate) const DEFAULT_KIND: &str = "manual";

/// A kind as it is stored: folded, one `_` for what is no letter, digit, `_` or `-`, at most `KIND_BYTES_MAX` bytes.
pub(crate) fn kind(given: &str) -> String {
    let mut slug = String::new();
    for c in fold(given.trim()).chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-') {
            slug.push(c);
        } else if !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug.truncate(KIND_BYTES_MAX);
    let slug = slug.trim_matches('_');
    if slug.is_empty() { DEFAULT_KIND.to_owned() } else { slug.to_owned() }
}

/// `personal` in any case is personal; everything else belongs to the project.
pub(crate) fn scope(given: &str) -> Scope {
    if given.trim().eq_ignore_ascii_case(Scope::Personal.name()) {
        Scope::Personal
    } else {
        Scope::Project
    }
}

#[cfg(test)]
mod tests {
    use kernel::memory::KINDS;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kinds_are_slugs() {
        for (given, expected) in [
            ("Bug Fix", "bug_fix"),
            (" decision ", "decision"),
            ("root-cause", "root-cause"),
            ("Décision", "decision"),
            ("a / b", "a_b"),
            ("", "manual"),
            ("!!", "manual"),
            ("設計", "manual"),
        ] {
            assert_eq!(kind(given), expected, "{given}");
        }
        assert_eq!(kind(&"x".repeat(99)).len(), KIND_BYTES_MAX);
        for (known, _) in KINDS {
            assert_eq!(kind(known), known);
        }
    }

    // agent-memory 60, 2.2
    #[test]
    fn only_personal_is_personal() {
        for (given, expected) in [
            ("personal", Scope::Personal),
            (" PERSONAL ", Scope::Personal),
            ("project", Scope::Project),
            ("", Scope::Project),
            ("global", Scope::Project),
        ] {
            assert_eq!(scope(given), expected, "{given}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_valid_kind(given in "\\PC{0,60}") {
            let kind = kind(&given);
            prop_assert!(!kind.is_empty() && kind.len() <= KIND_BYTES_MAX);
            prop_assert!(kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b)));
            prop_assert_eq!(super::kind(&kind), kind.clone());
        }
    }
}
