//! Evidence: what of a candidate an order can be learned from, besides the scores of the arms.
//!
//! All of it follows from the memory, its session and the question. What must stay true: whole numbers only.

use std::collections::BTreeSet;

use kernel::memory::Millis;

use crate::passages::Passages;
use text::index::WordMatch;

/// Names under which a person speaks with an assistant, folded.
const PERSONS: [&str; 5] = ["user", "human", "me", "customer", "caller"];
/// Names under which an assistant speaks.
const ASSISTANTS: [&str; 7] = ["assistant", "ai", "bot", "agent", "model", "chatgpt", "claude"];

/// Who speaks in a memory, as far as its speakers' names tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SpeakerRole {
    #[default]
    Other,
    Person,
    Assistant,
}

impl SpeakerRole {
    pub(super) fn of(speakers: &[String]) -> SpeakerRole {
        match speakers.first().map(String::as_str) {
            Some(name) if PERSONS.contains(&name) => SpeakerRole::Person,
            Some(name) if ASSISTANTS.contains(&name) => SpeakerRole::Assistant,
            _ => SpeakerRole::Other,
        }
    }
}

/// What is said in a memory, as far as it moves the memory among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Saying {
    #[default]
    Other,
    /// The question speaks of who asks it, and this is what an assistant said to them.
    SaidBack,
    /// Somebody who is no assistant says what is always or never to be done. What nobody says, like the message of a
    /// commit, is none.
    Rule,
    /// The same of what somebody prefers.
    Preference,
}

/// A score of a memory and of the turns before and after it, without a share of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NeighbourScores {
    pub(super) own: u64,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// How the tokens of the question are met, in thousandths of their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenMatch {
    /// By the same tokens, in one passage.
    pub(super) same: u64,
    /// By the same tokens, anywhere.
    pub(super) same_anywhere: u64,
    /// By tokens of like meaning, anywhere.
    pub(super) alike: u64,
    /// How well the rarest token is met.
    pub(super) rarest: u64,
    /// Of the neighbouring pairs of the question, those that stand side by side.
    pub(super) pairs: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) words: NeighbourScores,
    pub(super) matched: WordMatch,
    pub(super) meaning: NeighbourScores,
    /// How near the whole text is, and not its nearest passage.
    pub(super) whole: u64,
    /// How much of the question it has by words together with the turns around it.
    pub(super) covered: u64,
    pub(super) tokens: TokenMatch,
    /// How well it answers word for word together with the turns next to it.
    pub(super) tokens_around: u64,
    /// Tokens of the text.
    pub(super) length: u64,
    pub(super) role: SpeakerRole,
    /// It ends in a question mark.
    pub(super) asks: bool,
    pub(super) saying: Saying,
    /// The question names somebody else who speaks.
    pub(super) of_another: bool,
    pub(super) happened: Millis,
    /// A number for its session, how many turns came before it there, and how many there are.
    pub(super) session: Option<(usize, usize, usize)>,
}

/// The share of the pairs that stand side by side somewhere, in thousandths. One token may lie between them.
pub(super) fn pairs_met(passages: &Passages, pairs: &BTreeSet<(u16, u16)>) -> u64 {
    if pairs.is_empty() {
        return 0;
    }
    let mut met: BTreeSet<(u16, u16)> = BTreeSet::new();
    // Most tokens begin no pair; one bit of each tells most of those.
    let begins = pairs.iter().fold(0u64, |bits, (first, _)| bits | 1 << (first % 64));
    for tokens in passages.passages() {
        for (at, first) in tokens.iter().enumerate() {
            if begins >> (first % 64) & 1 == 1 {
                let next = tokens.iter().skip(at + 1).take(2).map(|second| (*first, *second));
                met.extend(next.filter(|pair| pairs.contains(pair)));
            }
        }
    }
    met.len() as u64 * 1_000 / pairs.len() as u64
}
