//! How much a model reads at once, and how much a text is. State of 2026-11; settings stand before the table.
//!
//! What must stay true: an estimate is never far below what a service counts, because whoever relies on it must not
//! send more than fits; a model that nobody knows is taken for a small one.

use std::collections::BTreeMap;

/// What a model takes that is neither in the settings nor in the table: as much as small local ones do.
pub const WINDOW_UNKNOWN: u64 = 8_192;

/// The beginning of a model's name; the longest that fits counts. Tokens in and out together.
const WINDOWS: &[(&str, u64)] = &[
    ("claude-", 200_000),
    ("opus", 200_000),
    ("sonnet", 200_000),
    ("haiku", 200_000),
    ("gpt-5", 272_000),
    ("gpt-4o", 128_000),
    ("gemini-", 1_000_000),
];

/// Tokens that a model takes in and gives out together.
pub fn window(model: &str, own: &BTreeMap<String, u64>) -> u64 {
    if let Some(set) = own.get(model) {
        return *set;
    }
    let known = WINDOWS.iter().filter(|(name, _)| model.starts_with(name));
    known.max_by_key(|(name, _)| name.len()).map_or(WINDOW_UNKNOWN, |(_, tokens)| *tokens)
}

/// How many tokens a text is at most, by its letters: services count differently, and none is asked. A letter beyond
/// ASCII may be a token of its own and a little more.
pub fn estimate(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().filter(|letter| !letter.is_ascii()).count() as u64;
    (plain * 2).div_ceil(7) + (other * 5).div_ceil(4)
}

/// The longest beginning of a text that is not estimated to be more than so many tokens.
pub fn beginning(text: &str, tokens: u64) -> &str {
    let (mut plain, mut other) = (0_u64, 0_u64);
    for (place, letter) in text.char_indices() {
        if letter.is_ascii() {
            plain += 1;
        } else {
            other += 1;
        }
        if (plain * 2).div_ceil(7) + (other * 5).div_ceil(4) > tokens {
            return &text[..place];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn settings_stand_before_the_table_and_nobody_knows_a_small_one() {
        // T18
        let own = BTreeMap::from([("gpt-4o".to_owned(), 1_000)]);
        assert_eq!(window("gpt-4o", &own), 1_000);
        assert_eq!(window("gpt-4o-mini", &own), 128_000);
        assert_eq!(window("claude-sonnet-5", &own), 200_000);
        assert_eq!(window("smollm2", &own), WINDOW_UNKNOWN);
    }

    proptest! {
        #[test]
        fn a_beginning_fits_and_the_next_letter_would_not(text in "\\PC{0,200}", tokens in 0_u64..60) {
            let part = beginning(&text, tokens);
            prop_assert!(estimate(part) <= tokens);
            if let Some(next) = text[part.len()..].chars().next() {
                let longer = &text[..part.len() + next.len_utf8()];
                prop_assert!(estimate(longer) > tokens);
            }
        }
    }
}
