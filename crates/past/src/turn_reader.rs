//! The turns that one question reads.
//!
//! What must stay true: a block is unpacked once, however many of its turns are asked for, and for one question no more
//! than a bound allows.

use std::collections::HashMap;

use crate::catalog::{SegmentRow, SessionKey};
use crate::error::{Error, Result};
use crate::limits::SEARCH_BLOCKS_MAX;
use crate::segment::{self, SegmentFooter};
use crate::store::Past;
use transcripts::digests::Digest32;
use transcripts::session::PastItem;

pub(crate) struct TurnReader<'p> {
    past: &'p Past,
    segments: HashMap<Digest32, (Vec<u8>, SegmentFooter)>,
    blocks: HashMap<(Digest32, usize), Vec<u8>>,
}

impl<'p> TurnReader<'p> {
    pub(crate) fn new(past: &'p Past) -> TurnReader<'p> {
        TurnReader { past, segments: HashMap::new(), blocks: HashMap::new() }
    }

    /// The items of a turn.
    pub(crate) fn turn(&mut self, key: &SessionKey, turn: u32) -> Result<Vec<PastItem>> {
        let mut items = Vec::new();
        for row in self.segments_of(key, turn) {
            for place in self.places(row, turn)? {
                items.extend(self.block_items(row, place, turn)?);
            }
        }
        Ok(items)
    }

    /// The items of a turn; none if more blocks would have to be unpacked for them than one question may.
    pub(crate) fn turn_within_bound(
        &mut self,
        key: &SessionKey,
        turn: u32,
    ) -> Result<Option<Vec<PastItem>>> {
        let is_full = self.blocks.len() >= SEARCH_BLOCKS_MAX;
        if is_full && !self.is_unpacked(key, turn) {
            return Ok(None);
        }
        self.turn(key, turn).map(Some)
    }

    fn segments_of(
        &self,
        key: &SessionKey,
        turn: u32,
    ) -> impl Iterator<Item = &'p SegmentRow> + use<'p> {
        let past = self.past;
        let segments = past.catalog.sessions.get(key).map_or(&[][..], |row| &row.segments[..]);
        segments.iter().filter(move |row| row.first_turn <= turn && turn <= row.last_turn)
    }

    /// Whether all blocks of a turn were unpacked before.
    fn is_unpacked(&self, key: &SessionKey, turn: u32) -> bool {
        self.segments_of(key, turn).all(|row| {
            self.segments.get(&row.digest).is_some_and(|(_, footer)| {
                footer
                    .blocks_of(Some(turn))
                    .all(|place| self.blocks.contains_key(&(row.digest, place)))
            })
        })
    }

    /// The places of the blocks of a segment in which a turn lies.
    fn places(&mut self, row: &SegmentRow, turn: u32) -> Result<Vec<usize>> {
        if !self.segments.contains_key(&row.digest) {
            let name = segment::name_of(&row.digest);
            let disk = &*self.past.disk;
            let bytes = disk.read(&name).map_err(|error| Error::file(&disk.path(&name), error))?;
            let footer =
                segment::footer(&bytes).map_err(|what| Error::damage(&disk.path(&name), what))?;
            self.segments.insert(row.digest, (bytes, footer));
        }
        let footer = &self.segments[&row.digest].1;
        Ok(footer.blocks_of(Some(turn)).collect())
    }

    fn block_items(&mut self, row: &SegmentRow, place: usize, turn: u32) -> Result<Vec<PastItem>> {
        let damage = |what| {
            let name = segment::name_of(&row.digest);
            Error::damage(&self.past.disk.path(&name), what)
        };
        let raw = match self.blocks.entry((row.digest, place)) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                let (bytes, footer) = &self.segments[&row.digest];
                free.insert(segment::block(bytes, footer, place).map_err(damage)?)
            }
        };
        segment::block_items(raw, Some(turn)).map_err(damage)
    }
}
