//! What a slice of reading made: segments that wait for the disk, and changes of the catalogue.
//!
//! What must stay true: a segment can be read as soon as it is made, wherever it is.

use std::collections::BTreeMap;

use crate::catalog::{CatalogChange, SegmentRow, SessionRow};
use crate::disk::PastDisk;
use crate::error::{Error, Result};
use crate::segment::{self, PromptRow, SegmentDraft, SegmentFooter};
use transcripts::digests;
use transcripts::session::PastItem;

/// What a slice of reading will make durable together.
#[derive(Debug, Default)]
pub(crate) struct SliceOutcome {
    pub(crate) segments: BTreeMap<String, Vec<u8>>,
    pub(crate) changes: Vec<CatalogChange>,
    /// Segments that others take the place of.
    pub(crate) replaced: Vec<digests::Digest32>,
}

impl SliceOutcome {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// Reads a segment, also one that is not on disk yet: its footer, and all items or those of a turn.
pub(crate) fn load(
    disk: &dyn PastDisk,
    slice: &SliceOutcome,
    row: &SegmentRow,
    turn: Option<u32>,
) -> Result<(SegmentFooter, Vec<PastItem>)> {
    let name = segment::name_of(&row.digest);
    let read;
    let bytes = match slice.segments.get(&name) {
        Some(bytes) => bytes,
        None => {
            read = disk.read(&name).map_err(|error| Error::file(&disk.path(&name), error))?;
            &read
        }
    };
    let damage = |what| Error::damage(&disk.path(&name), what);
    let footer = segment::footer(bytes).map_err(damage)?;
    let items = segment::items(bytes, &footer, turn).map_err(damage)?;
    Ok((footer, items))
}

/// A segment of these items, and its row. `rows` and `prompts` are all that the session has.
pub(crate) fn packed(
    row: &SessionRow,
    prompts: &[PromptRow],
    first_item: u64,
    revision: u32,
    items: &[PastItem],
) -> (SegmentRow, Vec<u8>) {
    let turns = items.iter().map(|item| item.turn);
    let (first_turn, last_turn) = (turns.clone().min().unwrap_or(0), turns.max().unwrap_or(0));
    let in_segment = |prompt: &&PromptRow| first_turn <= prompt.turn && prompt.turn <= last_turn;
    let bytes = segment::pack(&SegmentDraft {
        info: &row.info,
        first_item,
        revision,
        undone: &row.undone,
        prompts: prompts.iter().filter(in_segment).copied().collect(),
        turns: row.turns,
        is_untitled: row.is_untitled,
        items,
    });
    let segment = SegmentRow {
        digest: digests::of_bytes(&bytes),
        first_item,
        items: items.len() as u64,
        raw_bytes: items.iter().map(|item| segment::encoded_bytes(item) as u64).sum(),
        bytes: bytes.len() as u64,
        first_turn,
        last_turn,
        revision,
    };
    (segment, bytes)
}
