//! The meaning of turns in few bytes: for each passage of what was said, the signs of its vector.
//!
//! What must stay true: a sketch follows from the text and the built-in model alone, so an index that was made anew has
//! the same ones; nearness is a count of bits and no float; a scan holds one slice in memory.

use std::collections::{BTreeSet, HashSet};

use recall::embedding::{Embedder as _, Embedding, StaticEmbedder};

use super::part::Part;
use super::query::WordsQuestion;
use crate::disk::PastDisk;
use crate::error::Result;

/// Bytes of a sketch: a bit for each of 256 components.
pub(crate) const SKETCH_BYTES: usize = 32;
pub(crate) type Sketch = [u8; SKETCH_BYTES];

/// Words of a passage.
const PASSAGE_WORDS: usize = 120;
/// Passages of one turn that are sketched: the prompt, and the first and last of the answers.
const PASSAGES_MAX: usize = 4;
/// Bytes of sketches that are read at once.
const SLICE_BYTES: usize = 1 << 20;

/// The passages of a text.
fn cut(text: &str) -> Vec<&str> {
    let mut passages = Vec::new();
    let (mut start, mut count) = (0, 0);
    for word in text.split_whitespace() {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        if count == PASSAGE_WORDS {
            passages.push(&text[start..at]);
            (start, count) = (at, 0);
        }
        count += 1;
    }
    passages.push(&text[start..]);
    passages
}

/// The passages of a turn that speak for it.
pub(crate) fn passages<'t>(prompt: Option<&'t str>, answers: &[&'t str]) -> Vec<&'t str> {
    let mut found: Vec<&str> = prompt.map(cut).unwrap_or_default();
    found.truncate(1);
    let mut answered: Vec<&str> = answers.iter().flat_map(|answer| cut(answer)).collect();
    let room = PASSAGES_MAX - found.len();
    if answered.len() > room {
        // What was found out stands at the end more often than in the middle.
        let last = answered.pop();
        answered.truncate(room - 1);
        answered.extend(last);
    }
    found.extend(answered);
    found.retain(|passage| !passage.trim().is_empty());
    found
}

/// The sketch of a vector; none if the model knows no word of the text.
pub(crate) fn sketch(embedding: &Embedding) -> Option<Sketch> {
    if embedding.is_zero() {
        return None;
    }
    let mut bits = [0; SKETCH_BYTES];
    for (at, value) in embedding.values().iter().enumerate().take(SKETCH_BYTES * 8) {
        bits[at / 8] |= u8::from(*value > 0) << (at % 8);
    }
    Some(bits)
}

pub(crate) fn sketches(passages: &[&str]) -> Vec<Sketch> {
    let model = StaticEmbedder::shared();
    passages.iter().filter_map(|passage| sketch(&model.embed(passage))).collect()
}

/// The sketches of one document as bytes: their count, and each.
pub(crate) fn push(sketches: &[Sketch], bytes: &mut Vec<u8>) {
    bytes.push(u8::try_from(sketches.len()).unwrap_or(u8::MAX));
    sketches.iter().for_each(|sketch| bytes.extend_from_slice(sketch));
}

/// Visits the sketches of all documents of a part, in order.
pub(crate) fn each(
    disk: &dyn PastDisk,
    part: &Part,
    visit: &mut dyn FnMut(usize, &[u8]),
) -> Result<()> {
    let (mut rest, mut document, mut at) = (Vec::new(), 0, 0);
    while at < part.sketch_bytes() {
        let slice = part.sketch_slice(disk, at, SLICE_BYTES)?;
        if slice.is_empty() {
            break;
        }
        at += slice.len() as u64;
        rest.extend_from_slice(&slice);
        let mut from = 0;
        while let Some(count) = rest.get(from) {
            let end = from + 1 + usize::from(*count) * SKETCH_BYTES;
            let Some(sketches) = rest.get(from + 1..end) else { break };
            visit(document, sketches);
            document += 1;
            from = end;
        }
        rest.drain(..from);
    }
    Ok(())
}

/// A turn that is near a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NearTurn {
    /// Bits in which the nearest passage differs.
    pub(crate) distance: u32,
    pub(crate) session: u32,
    pub(crate) turn: u32,
    pub(crate) at: i64,
}

/// The turns nearest to a question among those that may be shown, nearest first.
pub(crate) fn near(
    disk: &dyn PastDisk,
    parts: &[Part],
    question: &Embedding,
    asked: &WordsQuestion<'_>,
    count: usize,
) -> Result<Vec<NearTurn>> {
    let Some(wanted) = sketch(question) else { return Ok(Vec::new()) };
    let mut best: BTreeSet<NearTurn> = BTreeSet::new();
    for part in parts {
        let sessions: Vec<Option<u32>> =
            part.header.segments.iter().map(asked.session_of).collect();
        each(disk, part, &mut |document, sketches| {
            let nearest = sketches.chunks_exact(SKETCH_BYTES).map(|one| distance(one, &wanted));
            let (Some(distance), Some(row)) = (nearest.min(), part.header.documents.get(document))
            else {
                return;
            };
            let session = sessions.get(row.segment as usize).copied().flatten();
            let Some(session) = session else { return };
            let turn = NearTurn { distance, session, turn: row.turn, at: row.at };
            // The whole of it is compared, so the order of the parts changes nothing.
            let is_near = best.len() < count || best.last().is_some_and(|last| turn < *last);
            if is_near && (asked.is_shown)(session, row.turn, row.at) {
                best.insert(turn);
                if best.len() > count {
                    best.pop_last();
                }
            }
        })?;
    }
    // What stands in two segments is one turn.
    let mut met: HashSet<(u32, u32)> = HashSet::new();
    Ok(best.into_iter().filter(|hit| met.insert((hit.session, hit.turn))).collect())
}

fn distance(one: &[u8], other: &Sketch) -> u32 {
    let (one, _) = one.as_chunks::<8>();
    let (other, _) = other.as_chunks::<8>();
    let differ = |(a, b): (&[u8; 8], &[u8; 8])| u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
    one.iter().zip(other).map(differ).map(u64::count_ones).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_few_passages_and_they_cover_its_ends() {
        let long = (0..1_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        let found = passages(Some("asked"), &[&long]);
        assert_eq!(found.len(), PASSAGES_MAX);
        assert!(found[1].starts_with("w0 ") && found[3].ends_with("w999"));
        assert_eq!(passages(None, &["short"]), ["short"]);
        assert!(passages(None, &[]).is_empty() && passages(Some(" "), &[]).is_empty());
    }

    #[test]
    fn alike_is_nearer() {
        let of = |text: &str| sketches(&[text])[0];
        let (dog, puppy, tax) =
            (of("a dog barks"), of("the puppy is barking"), of("quarterly tax report"));
        assert!(distance(&dog, &puppy) < distance(&dog, &tax));
        assert_eq!(distance(&dog, &dog), 0);
    }
}
