//! Segments: what was read, redacted and compressed, in files that are named by the digest of their bytes.
//!
//! What must stay true: a segment belongs to one session, so forgetting is unlinking; it is never changed, only
//! replaced; everything else in the past can be made again from segments alone. Items lie in blocks that are unpacked
//! one by one. A file is: a line that names the form, blocks, the footer as CBOR, four bytes of its length, the line
//! again.

use minicbor::{Decode, Encode};

use crate::limits::{BLOCK_BYTES_MAX, UNPACKED_BYTES_MAX};
use crate::packing::{self, PackLevel};
use transcripts::digests::{self, Digest32};
use transcripts::session::{PastItem, SessionInfo};

pub(crate) const FOLDER: &str = "segments";
const MAGIC: &[u8] = b"cortex past 1\n";

/// What a segment says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SegmentFooter {
    #[n(0)]
    pub(crate) info: SessionInfo,
    /// The place of its first item among all items of the session.
    #[n(1)]
    pub(crate) first_item: u64,
    #[n(2)]
    pub(crate) items: u64,
    /// Raised when the same items are written anew: without what was forgotten, or masked by newer rules.
    #[n(3)]
    pub(crate) revision: u32,
    /// Turns of the whole session that were taken back, as far as was known.
    #[n(4)]
    pub(crate) undone: Vec<u32>,
    /// Bytes of items before compression.
    #[n(5)]
    pub(crate) raw_bytes: u64,
    #[n(6)]
    blocks: Vec<BlockRow>,
    /// The prompts of turns that have numbers, by number: what makes a copy of one known.
    #[n(7)]
    pub(crate) prompts: Vec<PromptRow>,
    /// Numbers that were given up to here, whether or not their turns are still there.
    #[n(8)]
    pub(crate) turns: u32,
    #[n(9)]
    pub(crate) is_untitled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct BlockRow {
    #[n(0)]
    offset: u64,
    #[n(1)]
    length: u32,
    #[n(2)]
    first_turn: u32,
    #[n(3)]
    last_turn: u32,
}

/// A turn and the identity of its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct PromptRow {
    #[n(0)]
    pub(crate) turn: u32,
    #[n(1)]
    pub(crate) identity: u64,
}

/// All that a new segment is made of.
#[derive(Debug)]
pub(crate) struct SegmentDraft<'d> {
    pub(crate) info: &'d SessionInfo,
    pub(crate) first_item: u64,
    pub(crate) revision: u32,
    pub(crate) undone: &'d [u32],
    pub(crate) prompts: Vec<PromptRow>,
    pub(crate) turns: u32,
    pub(crate) is_untitled: bool,
    pub(crate) items: &'d [PastItem],
}

/// The name of the file with this digest.
pub(crate) fn name_of(digest: &Digest32) -> String {
    let hex = digests::hex(digest);
    format!("{FOLDER}/{}/{hex}.seg", &hex[..2])
}

/// Counts what is written to it.
struct ByteCount(usize);

impl minicbor::encode::Write for ByteCount {
    type Error = std::convert::Infallible;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0 += bytes.len();
        Ok(())
    }
}

/// Bytes that an item takes in a block.
pub(crate) fn encoded_bytes(item: &PastItem) -> usize {
    let mut count = ByteCount(0);
    minicbor::encode(item, &mut count).expect("counting takes every byte");
    count.0
}

/// Packs a segment.
pub(crate) fn pack(draft: &SegmentDraft<'_>) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let mut blocks = Vec::new();
    let (mut raw, mut raw_bytes) = (Vec::new(), 0);
    let mut turns: Option<(u32, u32)> = None;
    let mut items = draft.items.iter().peekable();
    while let Some(item) = items.next() {
        minicbor::encode(item, &mut raw).expect("a vector takes every byte");
        let (first, last) = turns.unwrap_or((item.turn, item.turn));
        turns = Some((first.min(item.turn), last.max(item.turn)));
        if raw.len() >= BLOCK_BYTES_MAX || items.peek().is_none() {
            let packed = packing::packed(PackLevel::Text, &raw);
            let (first_turn, last_turn) = turns.take().unwrap_or_default();
            let length = u32::try_from(packed.len()).expect("a block is bounded");
            blocks.push(BlockRow { offset: bytes.len() as u64, length, first_turn, last_turn });
            bytes.extend_from_slice(&packed);
            raw_bytes += raw.len() as u64;
            raw.clear();
        }
    }
    let footer = SegmentFooter {
        info: draft.info.clone(),
        first_item: draft.first_item,
        items: draft.items.len() as u64,
        revision: draft.revision,
        undone: draft.undone.to_vec(),
        raw_bytes,
        blocks,
        prompts: draft.prompts.clone(),
        turns: draft.turns,
        is_untitled: draft.is_untitled,
    };
    let footer = minicbor::to_vec(&footer).expect("a vector takes every byte");
    bytes.extend_from_slice(&footer);
    bytes.extend_from_slice(
        &u32::try_from(footer.len()).expect("a footer is bounded").to_be_bytes(),
    );
    bytes.extend_from_slice(MAGIC);
    bytes
}

/// The footer of a segment, or what is wrong with it.
pub(crate) fn footer(bytes: &[u8]) -> Result<SegmentFooter, String> {
    let inside = bytes
        .strip_prefix(MAGIC)
        .and_then(|bytes| bytes.strip_suffix(MAGIC))
        .ok_or("it is no segment of a form that this build knows")?;
    let (inside, length) = inside.split_last_chunk::<4>().ok_or("it is cut off")?;
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    let start = inside.len().checked_sub(length).ok_or("its footer is longer than itself")?;
    minicbor::decode(&inside[start..]).map_err(|error| format!("its footer: {error}"))
}

/// The items of a segment, or of the blocks in which a turn lies.
pub(crate) fn items(
    bytes: &[u8],
    footer: &SegmentFooter,
    turn: Option<u32>,
) -> Result<Vec<PastItem>, String> {
    let mut found = Vec::new();
    for place in footer.blocks_of(turn) {
        found.extend(block_items(&block(bytes, footer, place)?, turn)?);
    }
    Ok(found)
}

impl SegmentFooter {
    /// The places of the blocks in which a turn lies, or of all.
    pub(crate) fn blocks_of(&self, turn: Option<u32>) -> impl Iterator<Item = usize> {
        let holds = move |row: &BlockRow| {
            turn.is_none_or(|turn| row.first_turn <= turn && turn <= row.last_turn)
        };
        let blocks = self.blocks.iter().enumerate();
        blocks.filter(move |(_, row)| holds(row)).map(|(place, _)| place)
    }
}

/// The bytes of a block when it is unpacked.
pub(crate) fn block(bytes: &[u8], footer: &SegmentFooter, place: usize) -> Result<Vec<u8>, String> {
    let row = footer.blocks.get(place).ok_or("it has fewer blocks")?;
    let from = usize::try_from(row.offset).map_err(|error| error.to_string())?;
    let packed = bytes.get(from..from + row.length as usize).ok_or("a block is cut off")?;
    packing::unpacked(packed, UNPACKED_BYTES_MAX).map_err(|error| format!("a block: {error}"))
}

/// The items of a block, or those of a turn.
pub(crate) fn block_items(raw: &[u8], turn: Option<u32>) -> Result<Vec<PastItem>, String> {
    let mut found = Vec::new();
    let damaged = |error| format!("an item: {error}");
    let mut decoder = minicbor::Decoder::new(raw);
    while decoder.position() < raw.len() {
        if let Some(turn) = turn
            && turn != turn_at(&decoder).map_err(damaged)?
        {
            // Making an item of it would cost more than to unpack it.
            decoder.skip().map_err(damaged)?;
            continue;
        }
        found.push(decoder.decode().map_err(damaged)?);
    }
    Ok(found)
}

/// The turn of the item at which a decoder stands: the first of its fields.
fn turn_at(decoder: &minicbor::Decoder<'_>) -> Result<u32, minicbor::decode::Error> {
    let mut ahead = decoder.clone();
    ahead.array()?;
    ahead.u32()
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcripts::session::{ItemBody, PastAgent};

    fn item(turn: u32, length: usize) -> PastItem {
        let text = format!("{turn} ").repeat(length);
        PastItem {
            turn,
            at: 7,
            about: false,
            native: None,
            body: ItemBody::Answer { bytes: 3, text },
        }
    }

    fn packed(items: &[PastItem]) -> Vec<u8> {
        let info = SessionInfo::new(PastAgent::Codex, "s");
        pack(&SegmentDraft {
            info: &info,
            first_item: 5,
            revision: 0,
            undone: &[2],
            prompts: vec![PromptRow { turn: 1, identity: 9 }],
            turns: 3,
            is_untitled: false,
            items,
        })
    }

    #[test]
    fn items_come_back_whole_or_by_turn() {
        let all: Vec<_> = (1..40).map(|turn| item(turn, 2_000)).collect();
        let bytes = packed(&all);
        let footer = footer(&bytes).unwrap();
        assert!(footer.blocks.len() > 1);
        assert_eq!((footer.first_item, footer.items, footer.undone.as_slice()), (5, 39, &[2][..]));
        assert_eq!(items(&bytes, &footer, None).unwrap(), all);
        assert_eq!(items(&bytes, &footer, Some(17)).unwrap(), [item(17, 2_000)]);
        assert_eq!(items(&bytes, &footer, Some(99)).unwrap(), []);
    }

    // past 14
    #[test]
    fn no_damage_makes_it_panic() {
        let bytes = packed(&[item(1, 50), item(2, 50)]);
        for end in 0..bytes.len() {
            assert!(footer(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xa5;
            if let Ok(footer) = footer(&damaged) {
                // Whatever it reads as, its digest tells that it is another one.
                let _ = items(&damaged, &footer, None);
            }
            assert_ne!(digests::of_bytes(&damaged), digests::of_bytes(&bytes));
        }
    }
}
