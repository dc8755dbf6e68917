//! Private blocks: what stands between `<private>` and `</private>` never reaches a store.
//!
//! Must stay true: every doubt hides more, never less. Tags match in any case and with attributes, blocks nest, a block
//! that is never closed reaches to the end of its text. Redacting twice changes nothing. Time is linear in the text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// What stands where a private block stood.
pub const PLACEHOLDER: &str = "[REDACTED]";

/// An opening or closing tag. A slash before `>` closes nothing, as in HTML; a tag that never ends in `>` counts as
/// soon as its name is over.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)<\s{0,8}(/?)\s{0,8}private(?:\s*>|/\s*>|\s[^<>]*>|\s|$)")
        .expect("the pattern of the private tag is valid")
});

/// A text without its private blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactOutcome<'t> {
    pub text: Cow<'t, str>,
    /// Outermost blocks that were taken out.
    pub blocks: usize,
    /// The last block had no end, so everything after its start is gone.
    pub unclosed: bool,
}

/// Takes out every private block.
pub fn redact(text: &str) -> RedactOutcome<'_> {
    let mut kept = String::new();
    let (mut blocks, mut depth, mut from) = (0, 0_usize, 0);
    for tag in TAG.captures_iter(text) {
        let whole = tag.get(0).expect("group 0 is the match");
        let closes = tag.get(1).is_some_and(|slash| !slash.is_empty());
        if !closes {
            if depth == 0 {
                kept.push_str(&text[from..whole.start()]);
                kept.push_str(PLACEHOLDER);
                blocks += 1;
            }
            depth += 1;
        } else if depth > 0 {
            depth -= 1;
            if depth == 0 {
                from = whole.end();
            }
        }
        // A closing tag on its own hides nothing and stays as it is.
    }
    if blocks == 0 {
        return RedactOutcome { text: Cow::Borrowed(text), blocks, unclosed: false };
    }
    if depth == 0 {
        kept.push_str(&text[from..]);
    }
    RedactOutcome { text: Cow::Owned(kept), blocks, unclosed: depth > 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // agent-memory 2.7, 12.3 (golden lines on private blocks)
    #[test]
    fn blocks_are_taken_out_wherever_they_stand() {
        for (text, left, blocks, unclosed) in [
            ("nothing here", "nothing here", 0, false),
            ("a <private>x</private> b", "a [REDACTED] b", 1, false),
            ("<PRIVATE>line\nline</Private>", "[REDACTED]", 1, false),
            ("a<private>x</private>b<private>y</private>c", "a[REDACTED]b[REDACTED]c", 2, false),
            ("<private>a<private>b</private>c</private>d", "[REDACTED]d", 1, false),
            ("<private reason=\"a > b\">x</private> d", "[REDACTED] d", 1, false),
            ("<private\nclass=x>x</private\n> d", "[REDACTED] d", 1, false),
            ("< private >x</ private > d", "[REDACTED] d", 1, false),
            ("keep <private>gone to the end", "keep [REDACTED]", 1, true),
            ("<private>a<private>b</private> still inside", "[REDACTED]", 1, true),
            ("keep <private/> gone", "keep [REDACTED]", 1, true),
            ("keep <private and no bracket", "keep [REDACTED]", 1, true),
            ("keep <private", "keep [REDACTED]", 1, true),
            ("a </private> b", "a </private> b", 0, false),
            ("<privateer>x</privateer>", "<privateer>x</privateer>", 0, false),
            ("<private-key>x</private-key>", "<private-key>x</private-key>", 0, false),
            ("<pri<private>x</private>vate>y", "<pri[REDACTED]vate>y", 1, false),
            ("日<private>本</private>語", "日[REDACTED]語", 1, false),
        ] {
            let redacted = redact(text);
            assert_eq!(redacted.text, left, "{text}");
            assert_eq!((redacted.blocks, redacted.unclosed), (blocks, unclosed), "{text}");
        }
    }

    #[test]
    fn a_megabyte_of_tags_is_read_once() {
        let deep = "<private>".repeat(120_000);
        assert_eq!(redact(&deep).text, PLACEHOLDER);
        let open = "<private ".repeat(120_000);
        assert_eq!(redact(&open).text, PLACEHOLDER);
        let spaces = format!("<{}", " ".repeat(1_000_000));
        assert_eq!(redact(&spaces).text, spaces);
    }

    proptest! {
        #[test]
        fn redacting_twice_changes_nothing(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<private>".to_owned()), Just("</private>".to_owned()), Just("<PRIVATE a=b>".to_owned()),
                    Just("<private".to_owned()), Just(">".to_owned()), Just("</".to_owned()), "\\PC{0,6}",
                ],
                0..12,
            )
        ) {
            let text = parts.concat();
            let once = redact(&text).text.into_owned();
            let again = redact(&once);
            prop_assert_eq!(&again.text, &once);
            prop_assert_eq!(again.blocks, 0);
        }

        #[test]
        fn what_is_inside_never_shows(
            before in "[a-z ]{0,8}", secret in "[0-9]{6,12}", nested in 0_usize..3, closed in any::<bool>(),
        ) {
            let mut text = before.clone();
            (0..=nested).for_each(|_| text.push_str("<private>"));
            text.push_str(&secret);
            if closed {
                (0..=nested).for_each(|_| text.push_str("</private>"));
            }
            let redacted = redact(&text);
            prop_assert!(!redacted.text.contains(&secret));
            prop_assert!(redacted.text.starts_with(&before));
            prop_assert!(redacted.text.contains(PLACEHOLDER));
        }
    }
}
