//! The passages of a memory as a row: their vectors and their tokens.
//!
//! A memory of a few sentences is one passage. A longer one is cut into several, because a vector of many sentences is near
//! everything and nothing, and because a long text has a match for every word. What ranking asks of every candidate besides,
//! who spoke and when, stands in the row too, so that bodies are read for answers only.
//!
//! The row: version, dimensions u16, count of codes u16, the codes; when it happened i64 (the least for never); count of
//! speakers u8, each a length u8 and its folded name; then for each passage a count of tokens u16 and the tokens u16. Numbers
//! are little-endian.

use kernel::error::Error;
use kernel::memory::Millis;

use crate::error::Result;
use crate::vectors::Code;

const VERSION: u8 = 1;

/// Words of a passage, about.
const PASSAGE_WORDS: usize = 80;
/// A text up to here stays whole: a short rest would be a passage about nothing.
const WHOLE_WORDS: usize = 120;
/// Passages of one memory. Those of a text that would need more are longer instead.
const PASSAGES_MAX: usize = 64;

/// What a memory is judged by besides its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passages {
    /// One for the whole text; if that is cut, one more for each passage.
    pub(crate) codes: Vec<Code>,
    pub(crate) said: Said,
}

/// What was said, by whom, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) happened: Option<Millis>,
    /// Folded, as questions are. Those that are too long to be named in a question are left out.
    pub(crate) speakers: Vec<String>,
    /// By passage.
    pub(crate) tokens: Vec<Vec<u32>>,
}

pub(crate) fn key(doc: u64) -> Vec<u8> {
    [&[0x90][..], &doc.to_be_bytes()].concat()
}

/// Cuts a text where sentences end, or at the word if they do not.
pub(crate) fn cut(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().count();
    if words <= WHOLE_WORDS {
        return vec![text];
    }
    let pieces = words.div_ceil(PASSAGE_WORDS).min(PASSAGES_MAX);
    let mut passages = Vec::with_capacity(pieces);
    let (mut start, mut length, mut left) = (0, 0, words);
    let mut rest = text.split_whitespace().peekable();
    while let Some(word) = rest.next() {
        length += 1;
        // All about as long as each other, so that the last is no scrap.
        let aim = left.div_ceil(pieces - passages.len());
        let ends = word.ends_with(['.', '!', '?', ':', ';']) && length * 4 >= aim * 3;
        if (ends || length >= aim)
            && passages.len() + 1 < pieces
            && let Some(next) = rest.peek()
        {
            let end = place_in(text, next);
            passages.push(text[start..end].trim_end());
            (start, length, left) = (end, 0, left - length);
        }
    }
    passages.push(text[start..].trim());
    passages
}

/// Where a part of a text begins in it.
fn place_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

impl Passages {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let dims = self.codes.first().map_or(0, |code| code.levels.len());
        let tokens: usize = self.said.tokens.iter().map(|tokens| 2 + 2 * tokens.len()).sum();
        let mut out = Vec::with_capacity(32 + self.codes.len() * Code::size(dims) + tokens);
        out.push(VERSION);
        out.extend(short(dims).to_le_bytes());
        out.extend(short(self.codes.len()).to_le_bytes());
        for code in &self.codes {
            code.push_to(&mut out);
        }
        out.extend(self.said.happened.map_or(NEVER, |at| at.0).to_le_bytes());
        let speakers = self.said.speakers.iter().filter(|name| name.len() <= NAME_BYTES_MAX);
        let speakers: Vec<&String> = speakers.take(SPEAKERS_MAX).collect();
        out.push(u8::try_from(speakers.len()).unwrap_or(u8::MAX));
        for name in speakers {
            out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            out.extend(name.as_bytes());
        }
        for tokens in &self.said.tokens {
            out.extend(short(tokens.len()).to_le_bytes());
            out.extend(tokens.iter().flat_map(|token| short(*token).to_le_bytes()));
        }
        out
    }

    #[cfg(test)]
    pub(crate) fn decode(doc: u64, bytes: &[u8]) -> Result<Passages> {
        Ok(Passages { codes: Passages::codes(doc, bytes)?, said: Passages::said(doc, bytes)? })
    }

    /// Only the vectors, which are all that a scan wants.
    pub(crate) fn codes(doc: u64, bytes: &[u8]) -> Result<Vec<Code>> {
        let (dims, codes, _) = split(bytes).ok_or_else(|| damaged(doc))?;
        let mut codes = codes.chunks_exact(Code::size(dims));
        codes.by_ref().map(|code| Code::read(dims, code).ok_or_else(|| damaged(doc))).collect()
    }

    /// Everything but the vectors.
    pub(crate) fn said(doc: u64, bytes: &[u8]) -> Result<Said> {
        let (_, _, said) = split(bytes).ok_or_else(|| damaged(doc))?;
        read_said(said).ok_or_else(|| damaged(doc))
    }
}

/// What has no time.
const NEVER: i64 = i64::MIN;
/// Speakers of one memory, and bytes of a name, that a row can hold.
const SPEAKERS_MAX: usize = 255;
const NAME_BYTES_MAX: usize = 255;

/// All numbers in a row are small by construction: dimensions, tokens of the model, tokens of a passage.
fn short(n: impl TryInto<u16>) -> u16 {
    n.try_into().unwrap_or(u16::MAX)
}

fn damaged(doc: u64) -> Error {
    Error::corrupt(format!("passages of memory {doc}"), "do not decode")
}

/// Dimensions, the codes and the rest.
fn split(bytes: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let (&[version, d0, d1, n0, n1], rest) = bytes.split_first_chunk::<5>()?;
    let dims = usize::from(u16::from_le_bytes([d0, d1]));
    let count = usize::from(u16::from_le_bytes([n0, n1]));
    let (codes, said) = rest.split_at_checked(count.checked_mul(Code::size(dims))?)?;
    (version == VERSION).then_some((dims, codes, said))
}

fn read_said(bytes: &[u8]) -> Option<Said> {
    let (happened, rest) = bytes.split_first_chunk::<8>()?;
    let happened = i64::from_le_bytes(*happened);
    let (&speakers, mut rest) = rest.split_first()?;
    let mut said =
        Said { happened: (happened != NEVER).then_some(Millis(happened)), ..Said::default() };
    for _ in 0..speakers {
        let (&length, after) = rest.split_first()?;
        let (name, after) = after.split_at_checked(length.into())?;
        said.speakers.push(String::from_utf8(name.to_vec()).ok()?);
        rest = after;
    }
    while let Some((count, after)) = rest.split_first_chunk::<2>() {
        let (tokens, after) =
            after.split_at_checked(2 * usize::from(u16::from_le_bytes(*count)))?;
        let tokens = tokens.as_chunks().0.iter();
        said.tokens.push(tokens.map(|pair| u16::from_le_bytes(*pair).into()).collect());
        rest = after;
    }
    rest.is_empty().then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::{Embedder, StaticEmbedder};
    use crate::vectors::Coder;
    use proptest::prelude::*;

    #[test]
    fn short_texts_stay_whole_and_long_ones_are_cut_at_sentences() {
        assert_eq!(cut(""), [""]);
        let sentence = "one two three four five six seven eight nine ten.";
        let text = [sentence; 40].join(" ");
        let passages = cut(&text);
        assert_eq!(passages.len(), 5);
        assert!(passages.iter().all(|passage| passage.ends_with("ten.")));
        assert_eq!(cut(&[sentence; 12].join(" ")).len(), 1);
        let endless = "word ".repeat(1_000_000);
        assert_eq!(cut(&endless).len(), PASSAGES_MAX);
    }

    proptest! {
        #[test]
        fn every_word_is_in_one_passage(words in prop::collection::vec("[a-zé]{1,8}[.!]{0,1}", 0..900)) {
            let text = words.join(" ");
            let again: Vec<&str> = cut(&text).into_iter().flat_map(str::split_whitespace).collect();
            prop_assert_eq!(again, words);
        }

        #[test]
        fn rows_come_back_and_damage_is_noticed(
            texts in prop::collection::vec("[a-z ]{0,40}", 1..4),
            happened in prop::option::of(0i64..1 << 50).prop_map(|at| at.map(Millis)),
            speakers in prop::collection::vec("[a-zé]{0,9}", 0..3),
            cut_at in any::<prop::sample::Index>(),
        ) {
            let coder = Coder::new(256);
            let codes = texts.iter().map(|t| coder.code(&StaticEmbedder::shared().embed(t)));
            let tokens = texts.iter().map(|t| t.bytes().map(u32::from).collect());
            let said = Said { happened, speakers, tokens: tokens.collect() };
            let passages = Passages { codes: codes.collect(), said };
            let bytes = passages.encode();
            prop_assert_eq!(&Passages::decode(7, &bytes).unwrap(), &passages);
            prop_assert_eq!(&Passages::codes(7, &bytes).unwrap(), &passages.codes);
            let shorter = cut_at.index(bytes.len());
            prop_assert_ne!(Passages::decode(7, &bytes[..shorter]).ok(), Some(passages));
        }
    }
}
