//! Posting blocks: up to 128 documents of one term with their impacts, and the largest impact in the head.
//!
//! `max impact u8 | count - 1 u8 | varint(last - first) | impact | (varint gap, impact)*`. The first document is in the
//! key. Of a single posting, as most rare terms have it, there is the impact alone: a block of one byte.

use kernel::Result;

use super::rows::damaged;
use crate::bytes::{RowCursor, push_varint};

pub(super) const BLOCK_POSTINGS: usize = 128;

/// A document and what the term is worth in it.
pub(super) type Posting = (u64, u8);

/// What can be known of a block without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) max: u8,
    pub(super) count: u8,
    pub(super) last: u64,
}

/// Encodes postings in ascending order as blocks, each with its first document.
pub(super) fn encode(postings: &[Posting]) -> impl Iterator<Item = (u64, Vec<u8>)> + '_ {
    postings.chunks(BLOCK_POSTINGS).map(|chunk| {
        let (first, last) = (chunk[0].0, chunk[chunk.len() - 1].0);
        if let [(_, impact)] = chunk {
            return (first, vec![*impact]);
        }
        let mut out = Vec::with_capacity(8 + 3 * chunk.len());
        out.push(chunk.iter().map(|(_, impact)| *impact).max().unwrap_or(0));
        out.push(u8::try_from(chunk.len() - 1).expect("a block has at most 128 postings"));
        push_varint(&mut out, last - first);
        out.push(chunk[0].1);
        for pair in chunk.windows(2) {
            push_varint(&mut out, pair[1].0 - pair[0].0);
            out.push(pair[1].1);
        }
        (first, out)
    })
}

pub(super) fn head(first: u64, value: &[u8]) -> Result<Head> {
    if let [impact] = value {
        return Ok(Head { max: *impact, count: 1, last: first });
    }
    let mut cursor = RowCursor::new(value);
    parse_head(first, &mut cursor).ok_or_else(|| damaged("posting block", "its head is cut"))
}

fn parse_head(first: u64, cursor: &mut RowCursor<'_>) -> Option<Head> {
    let (max, count) = (cursor.u8()?, cursor.u8()?.checked_add(1)?);
    Some(Head { max, count, last: first.checked_add(cursor.varint()?)? })
}

/// Appends the postings of a block.
pub(super) fn decode(first: u64, value: &[u8], out: &mut Vec<Posting>) -> Result<()> {
    each(first, value, |doc, impact| out.push((doc, impact)))
}

/// Visits the postings of a block.
#[inline]
pub(super) fn each(first: u64, value: &[u8], visit: impl FnMut(u64, u8)) -> Result<()> {
    parse(first, value, visit).ok_or_else(|| damaged("posting block", "does not decode"))
}

#[inline]
fn parse(first: u64, value: &[u8], mut visit: impl FnMut(u64, u8)) -> Option<()> {
    if let [impact] = value {
        visit(first, *impact);
        return Some(());
    }
    let mut cursor = RowCursor::new(value);
    let head = parse_head(first, &mut cursor)?;
    let mut doc = first;
    visit(doc, cursor.u8()?);
    let (gaps, mut rest) = (usize::from(head.count) - 1, cursor.rest());
    if rest.len() == 2 * gaps {
        // A frequent term has gaps of one byte all over: nothing to look at but their sum.
        let mut any = 0;
        for [gap, impact] in rest.as_chunks().0 {
            any |= gap;
            doc = doc.wrapping_add(u64::from(*gap));
            visit(doc, *impact);
        }
        return (any < 0x80 && doc == head.last).then_some(());
    }
    for _ in 0..gaps {
        let (gap, impact) = match rest {
            [gap @ ..0x80, impact, after @ ..] => {
                rest = after;
                (u64::from(*gap), *impact)
            }
            [low, high @ ..0x80, impact, after @ ..] => {
                rest = after;
                (u64::from(low & 0x7f) | u64::from(*high) << 7, *impact)
            }
            _ => {
                let mut cursor = RowCursor::new(rest);
                let long = (cursor.varint()?, cursor.u8()?);
                rest = cursor.rest();
                long
            }
        };
        doc = doc.checked_add(gap)?;
        visit(doc, impact);
    }
    (rest.is_empty() && doc == head.last).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_read_back(
            postings in prop::collection::btree_map(any::<u64>(), any::<u8>(), 1..300),
        ) {
            let postings: Vec<Posting> = postings.into_iter().collect();
            let mut read = Vec::new();
            for (first, value) in encode(&postings) {
                let start = read.len();
                decode(first, &value, &mut read).unwrap();
                let (block, head) = (&read[start..], head(first, &value).unwrap());
                prop_assert_eq!(usize::from(head.count), block.len());
                prop_assert_eq!(head.last, block.last().unwrap().0);
                prop_assert_eq!(Some(head.max), block.iter().map(|(_, impact)| *impact).max());
                prop_assert!(decode(first, &value[..value.len() - 1], &mut Vec::new()).is_err());
            }
            prop_assert_eq!(read, postings);
        }
    }
}
