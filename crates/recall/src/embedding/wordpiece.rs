//! WordPiece over the model's vocabulary: text to token ids, the way BERT (uncased) does it.
//!
//! Clean, split ideographs, decompose and drop accents, lower, split at white space and punctuation, then the longest
//! known prefix again and again. What must stay true: the same ids as the tokeniser the table was made with, and time
//! linear in the text whatever the text is.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// The id of a word the vocabulary cannot spell.
pub const UNKNOWN: u32 = 100;

/// A longer word is unknown without a look: it is data, not language.
const MAX_WORD_CHARS: usize = 100;

/// The hash table's size: twice the vocabulary, so probes stay short.
const SLOTS: usize = 1 << 16;
const EMPTY: u32 = u32::MAX;

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The vocabulary, ready to be matched.
///
/// FNV because the hash of every prefix of a word falls out of one pass over it.
#[derive(Debug)]
pub struct WordPiece {
    text: Cow<'static, str>,
    /// Where each piece stands in the text, by id.
    pieces: Vec<Range<u32>>,
    slots: Vec<Slot>,
    /// The longest piece in bytes, without the `##`.
    longest: usize,
    /// The hash state after `##`: where a continuation starts.
    inside: u64,
}

/// A place of the hash table. The upper half of the hash tells most other pieces apart without a look at them.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u32,
    id: u32,
}

impl WordPiece {
    /// One piece a line; the line number is the id.
    pub fn new(vocabulary: impl Into<Cow<'static, str>>) -> WordPiece {
        let text = vocabulary.into();
        let mut pieces: Vec<Range<u32>> = Vec::new();
        let (mut start, at) = (0, |at: usize| u32::try_from(at).unwrap_or(u32::MAX));
        for line in text.split_inclusive('\n') {
            pieces.push(at(start)..at(start + line.trim_end_matches(['\n', '\r']).len()));
            start += line.len();
        }
        let empty = Slot { tag: 0, id: EMPTY };
        let mut slots = vec![empty; SLOTS.max((pieces.len() * 2).next_power_of_two())];
        let mask = slots.len() - 1;
        let mut longest = 0;
        for (id, place) in (0u32..).zip(&pieces) {
            let piece = text.get(range(place)).unwrap_or_default();
            let hash = piece.bytes().fold(FNV_BASIS, step);
            let mut at = spread(hash) & mask;
            while slots[at].id != EMPTY {
                at = (at + 1) & mask;
            }
            slots[at] = Slot { tag: tag(hash), id };
            longest = longest.max(piece.strip_prefix("##").unwrap_or(piece).len());
        }
        let inside = b"##".iter().fold(FNV_BASIS, |hash, &byte| step(hash, byte));
        WordPiece { text, pieces, slots, longest, inside }
    }

    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn piece(&self, id: u32) -> Option<&str> {
        let place = self.pieces.get(usize::try_from(id).ok()?)?;
        self.text.get(range(place))
    }

    /// The ids of a text, without special tokens.
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let mut out = Vec::with_capacity(text.len() / 4 + 1);
        let mut word = Word::default();
        for c in text.chars() {
            if c.is_ascii() {
                self.take_ascii(c, &mut word, &mut out);
            } else {
                self.take_other(c, &mut word, &mut out);
            }
        }
        self.finish(&mut word, &mut out);
        out
    }

    fn take_ascii(&self, c: char, word: &mut Word, out: &mut Vec<u32>) {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            self.finish(word, out);
        } else if c.is_ascii_punctuation() {
            self.alone(c, word, out);
        }
        // What is left is a control character: dropped, and the word goes on.
    }

    fn take_other(&self, c: char, word: &mut Word, out: &mut Vec<u32>) {
        if c == '\u{fffd}' || c.general_category_group() == GeneralCategoryGroup::Other {
            return;
        }
        if c.is_whitespace() {
            self.finish(word, out);
            return;
        }
        let ideograph = is_ideograph(c);
        if ideograph {
            self.finish(word, out);
        }
        // Character by character is enough: reordering only moves marks that are dropped here.
        decompose_canonical(c, |part| {
            if part.general_category() == GeneralCategory::NonspacingMark {
                return;
            }
            for lower in part.to_lowercase() {
                if is_punctuation(lower) {
                    self.alone(lower, word, out);
                } else {
                    word.push(lower);
                }
            }
        });
        if ideograph {
            self.finish(word, out);
        }
    }

    /// A character that is a word of its own.
    fn alone(&self, c: char, word: &mut Word, out: &mut Vec<u32>) {
        self.finish(word, out);
        word.push(c);
        self.finish(word, out);
    }

    fn finish(&self, word: &mut Word, out: &mut Vec<u32>) {
        if word.chars == 0 {
            return;
        }
        let before = out.len();
        if word.chars > MAX_WORD_CHARS || !self.spell(word.text.as_bytes(), out) {
            out.truncate(before);
            out.push(UNKNOWN);
        }
        word.text.clear();
        word.chars = 0;
    }

    /// Longest prefix first. False when some rest has no piece; a word is known as a whole or not at all.
    fn spell(&self, mut rest: &[u8], out: &mut Vec<u32>) -> bool {
        let mut start = FNV_BASIS;
        while !rest.is_empty() {
            let Some((id, length)) = self.longest_prefix(rest, start) else {
                return false;
            };
            out.push(id);
            rest = &rest[length..];
            start = self.inside;
        }
        true
    }

    fn longest_prefix(&self, rest: &[u8], start: u64) -> Option<(u32, usize)> {
        // Pieces are whole characters and so is the word: a match in bytes ends between characters.
        let mut hashes = [0u64; 64];
        let reach = rest.len().min(self.longest).min(hashes.len());
        let mut hash = start;
        for (slot, &byte) in hashes.iter_mut().zip(&rest[..reach]) {
            hash = step(hash, byte);
            *slot = hash;
        }
        let inside = start == self.inside;
        (1..=reach).rev().find_map(|length| {
            let id = self.find(&rest[..length], hashes[length - 1], inside)?;
            Some((id, length))
        })
    }

    fn find(&self, piece: &[u8], hash: u64, inside: bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let (mut at, tag) = (spread(hash) & mask, tag(hash));
        loop {
            let slot = self.slots[at];
            if slot.id == EMPTY {
                return None;
            }
            if slot.tag == tag {
                let known = self.piece(slot.id)?.as_bytes();
                let same =
                    if inside { known.strip_prefix(b"##") == Some(piece) } else { known == piece };
                if same {
                    return Some(slot.id);
                }
            }
            at = (at + 1) & mask;
        }
    }
}

/// The word being read. Characters past the limit are counted and not kept.
#[derive(Debug, Default)]
struct Word {
    text: String,
    chars: usize,
}

impl Word {
    fn push(&mut self, c: char) {
        self.chars += 1;
        if self.chars <= MAX_WORD_CHARS {
            self.text.push(c);
        }
    }
}

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
}

/// FNV is weak in its low bits; the top ones of a product are not.
fn spread(hash: u64) -> usize {
    usize::try_from(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).unwrap_or(0)
}

/// What of a hash a slot keeps: bits that do not choose the slot.
fn tag(hash: u64) -> u32 {
    let [a, b, c, d, ..] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// A vocabulary is smaller than what a u32 counts.
fn range(place: &Range<u32>) -> Range<usize> {
    let at = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    at(place.start)..at(place.end)
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// The blocks BERT writes apart: Chinese characters, not kana and not hangul, which are spelled like other words.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x2_0000..=0x2_a6df | 0x2_a700..=0x2_b73f
        | 0x2_b740..=0x2_b81f | 0x2_b820..=0x2_ceaf | 0xf900..=0xfaff | 0x2_f800..=0x2_fa1f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::static_model::VOCABULARY;

    fn pieces(text: &str) -> Vec<String> {
        let vocabulary = WordPiece::new(VOCABULARY);
        vocabulary.ids(text).iter().map(|&id| vocabulary.piece(id).unwrap().to_owned()).collect()
    }

    #[test]
    fn golden() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \t\r\n\u{a0}\u{2003}", &[]),
            ("unaffable", &["una", "##ffa", "##ble"]),
            ("Embeddings", &["em", "##bed", "##ding", "##s"]),
            ("HELLO, World!", &["hello", ",", "world", "!"]),
            ("don't stop--now", &["don", "'", "t", "stop", "-", "-", "now"]),
            ("Caf\u{e9} na\u{ef}ve r\u{e9}sum\u{e9}", &["cafe", "naive", "resume"]),
            ("cafe\u{301} \u{c5}ngstr\u{f6}m", &["cafe", "ang", "##strom"]),
            ("\u{130}stanbul", &["istanbul"]),
            ("\u{4e2d}\u{6587}ab", &["\u{4e2d}", "\u{6587}", "ab"]),
            ("\u{ff1f}\u{2014}\u{2026}", &["\u{ff1f}", "\u{2014}", "\u{2026}"]),
            ("h\u{0}o\u{fffd}u\u{200d}se", &["house"]),
            ("[CLS]", &["[", "cl", "##s", "]"]),
            ("snake_case/path.rs", &["snake", "_", "case", "/", "path", ".", "rs"]),
            ("\u{1f600}", &["[UNK]"]),
            ("$5 <b>", &["$", "5", "<", "b", ">"]),
        ];
        for (text, want) in cases {
            assert_eq!(&pieces(text), want, "{text:?}");
        }
    }

    #[test]
    fn hangul_is_spelled_in_jamo() {
        let got = pieces("\u{d55c}\u{ad6d}");
        assert_eq!(got.first().map(String::as_str), Some("\u{1112}"));
        assert!(got.len() > 3 && got.iter().all(|p| p != "[UNK]"));
    }

    #[test]
    fn a_word_is_known_up_to_a_hundred_characters() {
        assert_ne!(pieces(&"a".repeat(100)), ["[UNK]"]);
        assert_eq!(pieces(&"a".repeat(101)), ["[UNK]"]);
        assert_eq!(pieces(&format!("{} end", "\u{e9}".repeat(5000))), ["[UNK]", "end"]);
    }

    #[test]
    fn every_piece_spells_itself() {
        let vocabulary = WordPiece::new(VOCABULARY);
        for id in (0u32..).take(vocabulary.len()) {
            let piece = vocabulary.piece(id).unwrap();
            let (text, start) = match piece.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => (rest, vocabulary.inside),
                _ => (piece, FNV_BASIS),
            };
            assert_eq!(vocabulary.longest_prefix(text.as_bytes(), start), Some((id, text.len())));
        }
    }

    #[test]
    fn time_is_linear_in_the_text() {
        let vocabulary = WordPiece::new(VOCABULARY);
        // Each is the worst of its kind: one endless word, words that fail at the last piece, marks without end.
        for unit in
            ["a", "aaaaaaaaaaaaaaaaaaaa\u{1f600} ", "e\u{301}", "\u{301}", "word, ", "\u{4e2d}"]
        {
            let count = |bytes: usize| {
                let text = unit.repeat(bytes / unit.len());
                let start = std::time::Instant::now();
                let ids = vocabulary.ids(&text);
                (ids.len(), start.elapsed())
            };
            let (_, took) = count(1 << 20);
            assert!(took < std::time::Duration::from_secs(5), "{unit:?}: {took:?}");
        }
    }
}
