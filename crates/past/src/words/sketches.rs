//! The meaning of turns in few bytes: for each passage of what was said, the signs of its vector.
//!
//! What must stay true: a sketch follows from the text and the built-in model alone, so an index that was made anew has
//! the same ones; nearness is a count of bits and no float; a scan holds one slice in memory.

use std::collections::{BTreeSet, HashSet};

use recall::embedding::{Embedder as _, Embedding, StaticEmbedder};
use recall::search::near_by_bits;

use super::part::Part;
use super::table::{TurnFilter, TurnTable};
use crate::disk::PastDisk;
use crate::error::Result;

/// Bytes of a sketch: a bit for each of 256 components.
pub(crate) const SKETCH_BYTES: usize = 32;
const SKETCH_BITS: u32 = 256;
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

/// The sketches of documents in order. As bytes: how many each has, then all of them.
#[derive(Debug, Default)]
pub(crate) struct SketchRows {
    counts: Vec<u8>,
    sketches: Vec<Sketch>,
}

impl SketchRows {
    pub(crate) fn push(&mut self, sketches: &[Sketch]) {
        debug_assert!(sketches.len() <= PASSAGES_MAX);
        self.counts.push(u8::try_from(sketches.len()).unwrap_or(u8::MAX));
        self.sketches.extend_from_slice(sketches);
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.counts.len() + self.sketches.len() * SKETCH_BYTES) as u64
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.counts);
        out.extend_from_slice(self.sketches.as_flattened());
    }
}

/// The sketches of some documents that follow each other.
pub(crate) struct SketchGroup<'g> {
    counts: &'g [u8],
    sketches: &'g [Sketch],
}

impl<'g> SketchGroup<'g> {
    /// The place of each document in the group, and its sketches.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (usize, &'g [Sketch])> {
        let mut rest = self.sketches;
        self.counts.iter().enumerate().map(move |(place, count)| {
            let (own, after) = rest.split_at(usize::from(*count).min(rest.len()));
            rest = after;
            (place, own)
        })
    }
}

/// Visits the sketches of all documents of a part, in order: the number of the first document of a group, and those.
pub(crate) fn each(
    disk: &dyn PastDisk,
    part: &Part,
    visit: &mut dyn FnMut(usize, &SketchGroup<'_>),
) -> Result<()> {
    let counts = part.sketch_slice(disk, 0, part.header.documents.len())?;
    let (mut first, mut at) = (0, counts.len() as u64);
    while first < counts.len() {
        let (mut end, mut bytes) = (first, 0);
        while end < counts.len() && bytes < SLICE_BYTES {
            bytes += usize::from(counts[end]) * SKETCH_BYTES;
            end += 1;
        }
        if at + bytes as u64 > part.sketch_bytes() {
            return Err(part.damage(disk));
        }
        let slice = part.sketch_slice(disk, at, bytes)?;
        let (sketches, _) = slice.as_chunks::<SKETCH_BYTES>();
        visit(first, &SketchGroup { counts: &counts[first..end], sketches });
        at += bytes as u64;
        first = end;
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
    /// The document that stands for the turn.
    pub(crate) document: u32,
}

/// What the sketches say of a question.
#[derive(Debug, Default)]
pub(crate) struct Nearness {
    /// The turns nearest to it among those that may be shown, nearest first.
    pub(crate) best: Vec<NearTurn>,
    /// For each document the bits in which its nearest passage differs; [`NO_SKETCH`] where it has none.
    distances: Vec<u8>,
}

/// More bits than any that is near can differ in.
const NO_SKETCH: u8 = u8::MAX;

impl Nearness {
    /// About how near a document is, as a product of vectors.
    pub(crate) fn of(&self, document: u32) -> u64 {
        let distance = self.distances.get(document as usize).copied().unwrap_or(NO_SKETCH);
        near_by_bits(u32::from(distance), SKETCH_BITS)
    }
}

/// Compares a question with the sketches of all turns.
pub(crate) fn near(
    disk: &dyn PastDisk,
    parts: &[Part],
    table: &TurnTable,
    question: &Embedding,
    filter: &TurnFilter<'_>,
    count: usize,
) -> Result<Nearness> {
    let Some(wanted) = sketch(question) else { return Ok(Nearness::default()) };
    let wanted = words_of(&wanted);
    let mut distances = vec![NO_SKETCH; table.documents()];
    let mut best: BTreeSet<NearTurn> = BTreeSet::new();
    for (place, part) in parts.iter().enumerate() {
        let base = table.base(place);
        each(disk, part, &mut |first, group| {
            let farthest = |best: &BTreeSet<NearTurn>| {
                if best.len() < count {
                    u32::MAX
                } else {
                    best.last().map_or(0, |last| last.distance)
                }
            };
            let mut bound = farthest(&best);
            let mut close: Vec<(usize, u32)> = Vec::new();
            let start = base as usize + first;
            let measured = &mut distances[start..start + group.counts.len()];
            // Counting bits in hardware is several times as fast, and this loop is most of a question.
            pulp::Arch::new().dispatch(|| nearest(group, &wanted, bound, measured, &mut close));
            for (at, distance) in close {
                if distance > bound {
                    continue;
                }
                let number = base + u32::try_from(first + at).unwrap_or(u32::MAX);
                let Some(known) = table.shown(parts, number, filter) else { continue };
                let (session, turn) = (known.session, known.turn);
                best.insert(NearTurn {
                    distance,
                    session,
                    turn,
                    at: known.at,
                    document: known.document,
                });
                if best.len() > count {
                    best.pop_last();
                }
                bound = farthest(&best);
            }
        })?;
    }
    // What stands in two segments is one turn.
    let mut met: HashSet<u32> = HashSet::new();
    let best = best.into_iter().filter(|hit| met.insert(hit.document)).collect();
    Ok(Nearness { best, distances })
}

/// Measures the documents of a group, and notes those whose nearest sketch differs in no more than `bound` bits.
#[expect(clippy::inline_always, reason = "a call would leave the wide instructions")]
#[inline(always)]
fn nearest(
    group: &SketchGroup<'_>,
    wanted: &[u64; 4],
    bound: u32,
    measured: &mut [u8],
    close: &mut Vec<(usize, u32)>,
) {
    for ((place, sketches), measured) in group.documents().zip(measured) {
        let mut least = u32::MAX;
        for sketch in sketches {
            least = least.min(distance(&words_of(sketch), wanted));
        }
        *measured = u8::try_from(least).unwrap_or(NO_SKETCH);
        if least <= bound && !sketches.is_empty() {
            close.push((place, least));
        }
    }
}

#[expect(clippy::inline_always, reason = "a call would leave the wide instructions")]
#[inline(always)]
fn words_of(sketch: &Sketch) -> [u64; 4] {
    let (words, _) = sketch.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_le_bytes(words[at]))
}

#[expect(clippy::inline_always, reason = "a call would leave the wide instructions")]
#[inline(always)]
fn distance(one: &[u64; 4], other: &[u64; 4]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
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
        let of = |text: &str| words_of(&sketches(&[text])[0]);
        let (dog, puppy, tax) =
            (of("a dog barks"), of("the puppy is barking"), of("quarterly tax report"));
        assert!(distance(&dog, &puppy) < distance(&dog, &tax));
        assert_eq!(distance(&dog, &dog), 0);
    }
}
