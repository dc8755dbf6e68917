//! Rules and preferences: whether somebody says in a memory what is always or never to be done, or what they prefer.
//!
//! Who has said "Always show the port when I ask about servers" wants that found with every question about servers,
//! though it answers none of them; so does who has said "I prefer small servers". What must stay true: it is told by
//! the tokens of the text and by where in a sentence they stand; "I have always liked it" is no rule.

use std::sync::LazyLock;

use crate::embedding::{StaticEmbedder, TokenTable};

/// What a rule begins with.
const BEGINNINGS: [&str; 14] = [
    "always",
    "never",
    "please always",
    "please never",
    "from now on",
    "immer",
    "niemals",
    "bitte immer",
    "ab jetzt",
    "siempre",
    "nunca",
    "por favor siempre",
    "toujours",
    "sempre",
];
/// What makes a rule of what is told to be done in the word before: "Verwende immer", "Utilisez toujours".
const SECOND: [&str; 5] = ["immer", "niemals", "siempre", "toujours", "sempre"];
/// First words of a sentence that tells of somebody instead.
const TELLING: [&str; 14] =
    ["i", "he", "she", "we", "they", "it", "ich", "er", "sie", "es", "wir", "je", "il", "yo"];
/// Words behind "always" or "never" that describe something instead of demanding it: "Always here for you". So do words
/// that end in "ing".
const DESCRIBING: [&str; 36] = [
    "a", "an", "the", "here", "there", "had", "has", "been", "was", "were", "full", "up", "saw",
    "seen", "heard", "thought", "knew", "good", "nice", "great", "happy", "fun", "glad", "mind",
    "say", "really", "so", "in", "for", "with", "wanted", "loved", "felt", "got", "did", "more",
];
/// What says that somebody prefers something, wherever it stands.
const PREFERRING: [&str; 14] = [
    "i prefer",
    "i always prefer",
    "i really prefer",
    "i would rather",
    "i'd rather",
    "i prioritize",
    "i prioritise",
    "my preference",
    "ich bevorzuge",
    "mir lieber",
    "prefiero",
    "je préfère",
    "preferisco",
    "prefiro",
];
/// Behind these a sentence begins.
const ENDS: [&str; 5] = [".", "!", "?", ":", "-"];

/// The same as tokens of the built-in model.
struct RuleTokens {
    table: &'static TokenTable,
    beginnings: Vec<Vec<u16>>,
    second: Vec<Vec<u16>>,
    telling: Vec<u16>,
    describing: Vec<u16>,
    preferring: Vec<Vec<u16>>,
    ends: Vec<u16>,
}

static TOKENS: LazyLock<RuleTokens> = LazyLock::new(|| {
    let table = StaticEmbedder::shared().table();
    let of = |text: &&str| -> Vec<u16> {
        table.token_ids(text).into_iter().filter_map(|id| u16::try_from(id).ok()).collect()
    };
    RuleTokens {
        table,
        beginnings: BEGINNINGS.iter().map(of).collect(),
        second: SECOND.iter().map(of).collect(),
        telling: TELLING.iter().flat_map(of).collect(),
        describing: DESCRIBING.iter().flat_map(of).collect(),
        preferring: PREFERRING.iter().map(of).collect(),
        ends: ENDS.iter().flat_map(of).collect(),
    }
});

/// Whether a sentence of a passage is a rule.
pub(super) fn states(passage: &[u16]) -> bool {
    let known = &*TOKENS;
    let later = passage.iter().zip(1..).filter(|(token, _)| known.ends.contains(token));
    let starts = std::iter::once(0).chain(later.map(|(_, at)| at));
    starts.filter_map(|at| passage.get(at..)).any(|sentence| {
        let begins = |phrases: &[Vec<u16>], from: usize| {
            let rest = sentence.get(from..).unwrap_or_default();
            let phrase = phrases.iter().find(|phrase| rest.starts_with(phrase))?;
            rest.get(phrase.len())
        };
        let tells = sentence.first().is_some_and(|first| known.telling.contains(first));
        let second = || {
            let rest = sentence.iter().skip(1).take_while(|token| known.continues(**token));
            begins(&known.second, 1 + rest.count()).filter(|_| !tells)
        };
        begins(&known.beginnings, 0).or_else(second).is_some_and(|next| !known.describes(*next))
    })
}

/// Whether a passage says what somebody prefers.
pub(super) fn prefers(passage: &[u16]) -> bool {
    let phrases = &TOKENS.preferring;
    (0..passage.len()).any(|at| phrases.iter().any(|phrase| passage[at..].starts_with(phrase)))
}

impl RuleTokens {
    /// Whether a token goes on with the word of the one before.
    fn continues(&self, token: u16) -> bool {
        self.table.piece(token.into()).is_some_and(|piece| piece.starts_with("##"))
    }

    fn describes(&self, token: u16) -> bool {
        let piece = self.table.piece(token.into());
        self.describing.contains(&token) || piece.is_some_and(|piece| piece.ends_with("ing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<u16> {
        let ids = StaticEmbedder::shared().table().token_ids(text);
        ids.into_iter().map(|id| u16::try_from(id).unwrap()).collect()
    }

    fn is_rule(text: &str) -> bool {
        states(&tokens(text))
    }

    #[test]
    fn what_somebody_prefers_is_a_preference() {
        for text in [
            "I prefer Android phones, can you recommend some?",
            "Well, I'd rather walk.",
            "Ich bevorzuge den Zug.",
            "Prefiero el tren.",
            "Je préfère le train.",
        ] {
            assert!(prefers(&tokens(text)), "{text}");
        }
        for text in ["She prefers Android phones.", "Which do you prefer?", "I like it", ""] {
            assert!(!prefers(&tokens(text)), "{text}");
        }
    }

    #[test]
    fn what_is_always_or_never_to_be_done_is_a_rule() {
        for text in [
            "Always show the port when I ask about servers.",
            "One more thing: never push to main",
            "Thanks! Please always answer in metric units.",
            "Notes - always run the linter first",
            "Verwende immer metrische Einheiten.",
            "Immer erst fragen",
            "Responde siempre en español.",
            "Utilisez toujours le mètre.",
        ] {
            assert!(is_rule(text), "{text}");
        }
    }

    #[test]
    fn what_somebody_always_did_is_none() {
        for text in [
            "I have always liked it",
            "It always fails on Mondays.",
            "Ich habe immer gewartet.",
            "Ich immer",
            "She never came. They never asked.",
            "as always, thanks",
            "Always here for you!",
            "Bread, always baking it. Never mind.",
            "Always",
            "",
        ] {
            assert!(!is_rule(text), "{text}");
        }
    }
}
