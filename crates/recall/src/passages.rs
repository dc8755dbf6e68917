//! The passages of a memory: their vectors and their tokens, as rows.
//!
//! A memory of a few sentences is one passage. A longer one is cut into several, because a vector of many sentences is
//! near everything and nothing, and because a long text has a match for every word. What ranking asks of every
//! candidate besides, who spoke and when, stands there too, so that bodies are read for answers only.
//!
//! There are two rows, because a scan needs all vectors and a question the tokens of a few memories. The codes, numbers
//! little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 2 |
//! | 2 | dimensions, u16 |
//! | 2 | count of codes, u16 |
//! | for each code: 2 | scale, i16 |
//! | dimensions | levels, i8 each |
//! | rest of the code | sketch, see `vectors` |
//!
//! The passages:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 3 |
//! | 1 | 1 if it says when it happened, else 0 |
//! | varint | when, in milliseconds: of t at least 0 twice t, of another -2t - 1; only if it says so |
//! | varint | count of speakers |
//! | for each speaker: 1 + n | length of the folded name, the name |
//! | for each passage: varint | count of tokens |
//! | 1 or 2 for each | the tokens, see `token_bytes` |

use kernel::Error;
use kernel::memory::{Body, Millis};

use crate::document::{happened, speakers};
use crate::embedding::{DIMS, StaticEmbedder};
use crate::error::Result;
use crate::token_bytes::{push_tokens, take_tokens};
use crate::vectors::{Code, Coder, Codes, Heads};
use text::analyze::fold;
use text::bytes::{RowCursor, push_varint};

/// Of codes, and of passages.
const CODES_VERSION: u8 = 2;
const PASSAGES_VERSION: u8 = 3;

/// Words of a passage, about.
const PASSAGE_WORDS: usize = 80;
/// A text up to here stays whole: a short rest would be a passage about nothing.
const WHOLE_WORDS: usize = 120;
/// Passages of one memory. Those of a text that would need more are longer instead.
const PASSAGES_MAX: usize = 64;

/// Tokens kept per passage for late interaction. A passage of ordinary words has a third of them; what a longer one
/// says later is found by its words and its vector.
const TOKENS_MAX: usize = 512;

/// The tokens of each passage, who speaks in the memory, and when it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passages {
    pub(crate) happened: Option<Millis>,
    /// Folded, as questions are. Those that are too long to be named in a question are left out.
    pub(crate) speakers: Vec<String>,
    /// Of all passages, one after the other.
    tokens: Vec<u16>,
    /// Where the tokens of each passage end.
    ends: Vec<usize>,
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

/// Vectors and tokens of a text; who speaks in it and when it happened.
pub(crate) fn of(coder: &Coder, text: &str, body: &Body) -> (Vec<Code>, Passages) {
    let embedder = StaticEmbedder::shared();
    let parts = cut(text).into_iter();
    let tokens: Vec<Vec<u32>> = parts.map(|part| embedder.table().token_ids(part)).collect();
    let (whole, each) = embedder.embed_parts(&tokens);
    let whole = (tokens.len() > 1).then_some(whole);
    let codes = whole.iter().chain(&each).map(|vector| coder.code(vector)).collect();
    let speakers = speakers(body).iter().map(|name| fold(name)).collect();
    (codes, Passages::new(happened(body), speakers, &tokens))
}

/// One code for the whole text; if that is cut, one more for each passage.
pub(crate) fn encode_codes(codes: &[Code]) -> Vec<u8> {
    let dims = codes.first().map_or(0, |code| code.levels.len());
    let mut out = Vec::with_capacity(5 + codes.len() * Code::size(dims));
    out.push(CODES_VERSION);
    out.extend(short(dims).to_le_bytes());
    out.extend(short(codes.len()).to_le_bytes());
    for code in codes {
        code.push_to(&mut out);
    }
    out
}

/// The codes of a memory, in either of the two forms in which the store has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CodeBytes<'f> {
    /// A whole row of codes.
    Row(&'f [u8]),
    /// Their heads, from a segment; the levels are in groups.
    Heads(Heads<'f>),
}

/// Reads what `encode_codes` wrote.
pub(crate) fn decode_codes(doc: u64, bytes: &[u8]) -> Result<Vec<Code>> {
    let (dims, codes) = split(bytes).ok_or_else(|| damaged(doc))?;
    let codes = codes.chunks_exact(Code::size(dims));
    codes.map(|code| Code::read(dims, code).ok_or_else(|| damaged(doc))).collect()
}

/// Adds the codes of a memory. Memories come in ascending order.
pub(crate) fn append_codes(all: &mut Codes, doc: u64, found: CodeBytes<'_>) -> Result<()> {
    let appended = match found {
        CodeBytes::Row(row) => split(row).and_then(|(dims, codes)| {
            codes.chunks_exact(Code::size(dims)).try_for_each(|code| all.append(doc, code))
        }),
        CodeBytes::Heads(heads) => all.append_heads(doc, heads),
    };
    appended.ok_or_else(|| damaged(doc))
}

/// The heads of a row of codes, each a scale and a sketch, and their levels. A vector of nothing is near nothing and is
/// left out.
pub(crate) fn split_codes(doc: u64, row: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let (dims, codes) = split(row).ok_or_else(|| damaged(doc))?;
    let (mut heads, mut all_levels) = (Vec::new(), Vec::new());
    for code in codes.chunks_exact(Code::size(dims)) {
        let (scale, levels, sketch) = Code::parts(dims, code).ok_or_else(|| damaged(doc))?;
        if scale > 0 {
            heads.extend(scale.to_le_bytes());
            heads.extend(sketch);
            all_levels.extend(levels);
        }
    }
    Ok((heads, all_levels))
}

/// The row of codes that was split.
pub(crate) fn join_codes(doc: u64, heads: &[u8], levels: &[u8]) -> Result<Vec<u8>> {
    let (heads, levels) = (heads.chunks(Code::head_size(DIMS)), levels.chunks(DIMS));
    if heads.len() != levels.len() {
        return Err(damaged(doc));
    }
    let codes = heads.zip(levels).map(|(head, levels)| {
        let (scale, sketch) = head.split_first_chunk::<2>()?;
        Code::read(DIMS, &[scale, levels, sketch].concat())
    });
    let codes: Vec<Code> = codes.collect::<Option<_>>().ok_or_else(|| damaged(doc))?;
    Ok(encode_codes(&codes))
}

impl Passages {
    pub(crate) fn new(
        happened: Option<Millis>,
        speakers: Vec<String>,
        texts: &[Vec<u32>],
    ) -> Passages {
        let mut passages = Passages { happened, speakers, ..Passages::default() };
        for tokens in texts {
            passages.tokens.extend(tokens.iter().take(TOKENS_MAX).map(|token| short(*token)));
            passages.ends.push(passages.tokens.len());
        }
        passages
    }

    /// The tokens of each passage.
    pub(crate) fn passages(&self) -> impl Iterator<Item = &[u16]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(from, to)| &self.tokens[from..*to])
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32 + 2 * self.tokens.len() + 2 * self.ends.len());
        out.push(PASSAGES_VERSION);
        out.push(self.happened.is_some().into());
        if let Some(Millis(at)) = self.happened {
            push_varint(&mut out, ((at << 1) ^ (at >> 63)).cast_unsigned());
        }
        let speakers = self.speakers.iter().filter(|name| name.len() <= NAME_BYTES_MAX);
        let speakers: Vec<&String> = speakers.take(SPEAKERS_MAX).collect();
        push_varint(&mut out, count(speakers.len()));
        for name in speakers {
            out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            out.extend(name.as_bytes());
        }
        for tokens in self.passages() {
            push_varint(&mut out, count(tokens.len()));
            push_tokens(&mut out, tokens);
        }
        out
    }

    /// Reads what `encode` wrote; `doc` names the memory if that fails.
    pub(crate) fn decode(doc: u64, bytes: &[u8]) -> Result<Passages> {
        decode_passages(bytes).ok_or_else(|| damaged(doc))
    }
}

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

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Dimensions and the codes.
fn split(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (&[version, d0, d1, n0, n1], codes) = bytes.split_first_chunk::<5>()?;
    let dims = usize::from(u16::from_le_bytes([d0, d1]));
    let count = usize::from(u16::from_le_bytes([n0, n1]));
    let whole = codes.len() == count.checked_mul(Code::size(dims))?;
    (version == CODES_VERSION && whole).then_some((dims, codes))
}

fn decode_passages(bytes: &[u8]) -> Option<Passages> {
    let mut cursor = RowCursor::new(bytes);
    let version = cursor.u8()?;
    let mut passages = Passages::default();
    if cursor.u8()? == 1 {
        let at = cursor.varint()?;
        passages.happened = Some(Millis((at >> 1).cast_signed() ^ -(at & 1).cast_signed()));
    }
    for _ in 0..cursor.varint()? {
        let length = cursor.u8()?;
        let name = cursor.take(length.into())?.to_vec();
        passages.speakers.push(String::from_utf8(name).ok()?);
    }
    passages.tokens.reserve(cursor.rest().len());
    while !cursor.is_empty() {
        let count = usize::try_from(cursor.varint()?).ok()?;
        take_tokens(&mut cursor, count, &mut passages.tokens)?;
        passages.ends.push(passages.tokens.len());
    }
    (version == PASSAGES_VERSION).then_some(passages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::Embedder;
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
            let codes: Vec<Code> =
                texts.iter().map(|t| coder.code(&StaticEmbedder::shared().embed(t))).collect();
            let tokens: Vec<Vec<u32>> =
                texts.iter().map(|t| t.bytes().map(u32::from).collect()).collect();
            let passages = Passages::new(happened, speakers, &tokens);
            prop_assert_eq!(passages.passages().count(), texts.len());
            let bytes = passages.encode();
            prop_assert_eq!(decode_passages(&bytes), Some(passages.clone()));
            let shorter = &bytes[..cut_at.index(bytes.len())];
            prop_assert_ne!(decode_passages(shorter), Some(passages));
            let bytes = encode_codes(&codes);
            prop_assert_eq!(&decode_codes(7, &bytes).unwrap(), &codes);
            let (heads, levels) = split_codes(7, &bytes).unwrap();
            let kept: Vec<Code> = codes.into_iter().filter(|code| code.scale > 0).collect();
            prop_assert_eq!(join_codes(7, &heads, &levels).unwrap(), encode_codes(&kept));
            if !levels.is_empty() {
                prop_assert!(join_codes(7, &heads, &levels[DIMS..]).is_err());
            }
            prop_assert!(decode_codes(7, &bytes[..cut_at.index(bytes.len())]).is_err());
        }
    }
}
