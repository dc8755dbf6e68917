//! Which forms of secrets a text may hold, found in one look at each three bytes before any pattern reads it.
//!
//! Must stay true: a pattern that could match is never left out, so a text is masked as if every pattern had read it;
//! the time is linear in the text, and most texts cost this one look alone.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::secrets::{assignment, blocks, rules, surroundings};

/// Characters of base64 that no other character interrupts, in a value without a name.
const BARE_BYTES: usize = 40;
/// Digits of the shortest card number.
const CARD_DIGITS: usize = 15;

/// Who wants to read a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// A rule, by its place in the table.
    Rule(usize),
    /// A place that makes a value a secret, by its place in the table.
    Place(usize),
    Block,
    Address,
    Authorization,
    Bearer,
    Name,
}

/// A text that is in everything that a pattern matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    /// Three bytes at least. One of two bytes is followed by a character of a token.
    pub(super) text: &'static str,
    pub(super) pattern: Pattern,
    pub(super) any_case: bool,
    /// Characters of a token that follow at least.
    pub(super) followed_by: usize,
}

/// What was found of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Signs {
    rules: u128,
    places: u64,
    others: u8,
    /// Where the first name of a value begins.
    first_name: usize,
    /// There is a run that can be a value of forty characters.
    pub(super) has_bare: bool,
    /// There are digits enough for a card, with nothing but spaces and hyphens between.
    pub(super) has_digits: bool,
}

impl Signs {
    pub(super) fn of(text: &str) -> Signs {
        let bytes = text.as_bytes();
        let mut signs = Signs {
            first_name: usize::MAX,
            has_bare: has_run(bytes, &BASE64, BARE_BYTES, |_| true),
            has_digits: has_run(bytes, &CARD, CARD_DIGITS, |run| {
                run.iter().filter(|byte| byte.is_ascii_digit()).count() >= CARD_DIGITS
            }),
            ..Signs::default()
        };
        let table = &*TABLE;
        let Some(([first, second], rest)) = bytes.split_first_chunk::<2>() else { return signs };
        let mut head = u32::from(*first) << 8 | u32::from(*second) << 16;
        for (at, byte) in rest.iter().enumerate() {
            head = head >> 8 | u32::from(*byte) << 16;
            if table.may_begin(head) {
                for sign in table.beginning(head) {
                    if sign.stands(&bytes[at..]) {
                        signs.note(sign.pattern, at);
                    }
                }
            }
        }
        signs
    }

    /// As if every pattern had a sign; but a place is one only where its sign stands.
    #[cfg(test)]
    pub(super) fn plainly(text: &str) -> Signs {
        let mut signs = Signs {
            rules: u128::MAX,
            places: 0,
            others: u8::MAX,
            first_name: 0,
            has_bare: true,
            has_digits: true,
        };
        for sign in surroundings::signs().filter(|sign| text.contains(sign.text)) {
            signs.note(sign.pattern, 0);
        }
        signs
    }

    fn note(&mut self, pattern: Pattern, at: usize) {
        match pattern {
            Pattern::Rule(place) => self.rules |= 1 << place,
            Pattern::Place(place) => self.places |= 1 << place,
            other => self.others |= other.bit(),
        }
        if pattern == Pattern::Name {
            self.first_name = self.first_name.min(at);
        }
    }

    pub(super) fn has(&self, pattern: Pattern) -> bool {
        match pattern {
            Pattern::Rule(place) => self.rules >> place & 1 == 1,
            Pattern::Place(place) => self.places >> place & 1 == 1,
            other => self.others & other.bit() != 0,
        }
    }

    pub(super) fn has_rules(&self) -> bool {
        self.rules != 0
    }

    /// Where the first name of a value begins; nothing before it can be one.
    pub(super) fn first_name(&self) -> Option<usize> {
        self.has(Pattern::Name).then_some(self.first_name)
    }

    /// No pattern has to read the text.
    pub(super) fn is_empty(&self) -> bool {
        self.rules == 0
            && self.places == 0
            && self.others == 0
            && !self.has_bare
            && !self.has_digits
    }
}

impl Pattern {
    /// The bit of a pattern that is in no table.
    fn bit(self) -> u8 {
        match self {
            Pattern::Rule(_) | Pattern::Place(_) => 0,
            Pattern::Block => 1,
            Pattern::Address => 2,
            Pattern::Authorization => 4,
            Pattern::Bearer => 8,
            Pattern::Name => 16,
        }
    }
}

impl Sign {
    pub(super) const fn new(text: &'static str, pattern: Pattern) -> Sign {
        Sign { text, pattern, any_case: false, followed_by: 0 }
    }

    pub(super) const fn of_any_case(text: &'static str, pattern: Pattern) -> Sign {
        Sign { any_case: true, ..Sign::new(text, pattern) }
    }

    fn stands(&self, bytes: &[u8]) -> bool {
        let Some((here, after)) = bytes.split_at_checked(self.text.len()) else { return false };
        let is_it = if self.any_case {
            here.eq_ignore_ascii_case(self.text.as_bytes())
        } else {
            here == self.text.as_bytes()
        };
        is_it
            && after.len() >= self.followed_by
            && after[..self.followed_by].iter().all(|byte| TOKEN[usize::from(*byte)])
    }

    /// The first three bytes of every text that has the sign.
    fn heads(&self) -> Vec<u32> {
        let cases = |byte: u8| {
            let small = byte.to_ascii_lowercase();
            if self.any_case { vec![small, byte.to_ascii_uppercase()] } else { vec![byte] }
        };
        let (first, second, third) = match self.text.as_bytes() {
            [a, b, c, ..] => (cases(*a), cases(*b), cases(*c)),
            [a, b] => {
                let tokens = (0..=u8::MAX).filter(|byte| TOKEN[usize::from(*byte)]);
                (cases(*a), cases(*b), tokens.collect())
            }
            _ => (Vec::new(), Vec::new(), Vec::new()),
        };
        let mut heads = Vec::new();
        for a in first {
            for b in &second {
                heads.extend(third.iter().map(|c| u32::from_le_bytes([a, *b, *c, 0])));
            }
        }
        heads.sort_unstable();
        heads.dedup();
        heads
    }
}

/// All signs, by their first three bytes.
struct SignTable {
    /// A bit for what those bytes are spread to.
    spread: Box<[u64; 1 << 10]>,
    by_head: BTreeMap<u32, Vec<Sign>>,
}

impl SignTable {
    fn new(signs: impl Iterator<Item = Sign>) -> SignTable {
        let mut table = SignTable { spread: Box::new([0; 1 << 10]), by_head: BTreeMap::new() };
        for sign in signs {
            for head in sign.heads() {
                let (word, bit) = place_of(head);
                table.spread[word] |= 1 << bit;
                table.by_head.entry(head).or_default().push(sign);
            }
        }
        table
    }

    fn may_begin(&self, head: u32) -> bool {
        let (word, bit) = place_of(head);
        self.spread[word] >> bit & 1 == 1
    }

    fn beginning(&self, head: u32) -> &[Sign] {
        self.by_head.get(&head).map_or(&[], Vec::as_slice)
    }
}

/// Where the bit of three bytes is.
fn place_of(head: u32) -> (usize, u32) {
    let spread = head.wrapping_mul(0x9e37_79b1) >> 16;
    ((spread >> 6) as usize, spread & 63)
}

static TABLE: LazyLock<SignTable> = LazyLock::new(|| {
    let signs = rules::signs().chain(assignment::signs()).chain(surroundings::signs());
    SignTable::new(signs.chain([blocks::SIGN]))
});

type ByteClass = [bool; 256];

const fn class(signs: &[u8], letters: bool) -> ByteClass {
    let mut class = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        class[byte as usize] = byte.is_ascii_digit() || letters && byte.is_ascii_alphabetic();
        byte += 1;
    }
    let mut at = 0;
    while at < signs.len() {
        class[signs[at] as usize] = true;
        at += 1;
    }
    class
}

const BASE64: ByteClass = class(b"/+", true);
const CARD: ByteClass = class(b" -", false);
const TOKEN: ByteClass = class(b"_-.%+/=", true);

/// Whether some bytes of a class stand together that are enough. Of other bytes only a few are looked at.
fn has_run(bytes: &[u8], class: &ByteClass, enough: usize, is_it: impl Fn(&[u8]) -> bool) -> bool {
    let is_in = |byte: &u8| class[usize::from(*byte)];
    let mut at = enough - 1;
    while let Some(byte) = bytes.get(at) {
        if !is_in(byte) {
            at += enough;
            continue;
        }
        let start = bytes[..at].iter().rposition(|byte| !is_in(byte)).map_or(0, |last| last + 1);
        let end = bytes[at..].iter().position(|byte| !is_in(byte));
        let end = end.map_or(bytes.len(), |length| at + length);
        if end - start >= enough && is_it(&bytes[start..end]) {
            return true;
        }
        at = end + enough;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tables_fit_and_signs_are_long_enough() {
        assert!(rules::signs().chain(surroundings::signs()).all(|sign| match sign.pattern {
            Pattern::Rule(place) => place < 128,
            Pattern::Place(place) => place < 64,
            _ => true,
        }));
        for sign in rules::signs().chain(assignment::signs()).chain(surroundings::signs()) {
            assert!(sign.text.len() >= 2, "{sign:?}");
            assert!(sign.text.is_ascii() || !sign.any_case, "{sign:?}");
            assert!(sign.text.len() > 2 || sign.followed_by > 0, "{sign:?}");
        }
    }

    #[test]
    fn a_run_is_found_wherever_it_stands() {
        let digits = |run: &[u8]| run.iter().filter(|byte| byte.is_ascii_digit()).count() >= 15;
        for pad in 0..40 {
            let text = format!("{}4111 1111 1111 1111{}", "x".repeat(pad), "y".repeat(pad));
            assert!(has_run(text.as_bytes(), &CARD, CARD_DIGITS, digits));
            let text = format!("{}{}{}", ".".repeat(pad), "a".repeat(40), ".".repeat(pad));
            assert!(has_run(text.as_bytes(), &BASE64, BARE_BYTES, |_| true));
            let text = format!("{}{}{}", ".".repeat(pad), "a".repeat(39), ".".repeat(pad));
            assert!(!has_run(text.as_bytes(), &BASE64, BARE_BYTES, |_| true));
        }
        assert!(!has_run(" ".repeat(100).as_bytes(), &CARD, CARD_DIGITS, digits));
    }

    #[test]
    fn ordinary_text_has_few_signs() {
        assert!(Signs::of("fn main() { println!(\"hello, world\"); }").is_empty());
        let signs = Signs::of("The TOKEN and the PassWord, a Bearer");
        assert_eq!(signs.first_name(), Some(4));
        assert!(signs.has(Pattern::Bearer) && !signs.has(Pattern::Authorization));
    }

    proptest! {
        /// Signs say what a plain search says.
        #[test]
        fn every_sign_is_found(before in "\\PC{0,20}", which in any::<prop::sample::Index>(), after in "\\PC{0,20}") {
            let all: Vec<Sign> =
                rules::signs().chain(assignment::signs()).chain(surroundings::signs()).collect();
            let sign = which.get(&all);
            let follow = "a0".repeat(sign.followed_by.div_ceil(2));
            let text = format!("{before}{}{follow}{after}", sign.text);
            prop_assert!(Signs::of(&text).has(sign.pattern));
            prop_assert!(sign.pattern != Pattern::Name || Signs::of(&text).first_name() <= Some(before.len()));
        }
    }
}
