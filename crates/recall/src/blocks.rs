//! Blocks: what is known of memories that came one after the other, in one row.
//!
//! The first search of an open actor wants the sketches and places of all memories; a hundred rows of many memories are read
//! ten times as fast as a hundred thousand of one. It wants the levels of a few, so those lie apart, in groups that fill a
//! page of the store. All rows of a new memory lie beside each other, before those of the memory before it and
//! behind the newest row of the text index, so that a write changes one page and not one for each kind. When the journal has
//! grown by a block's entries, places and sketches of its memories are moved into one row, their levels to groups, and what they
//! say to rows of their own. What changes later gets a row of its own
//! for each kind, which stands before what the block says; an erased memory is taken out of its block and its group at once.
//!
//! What must stay true: which rows there are depends on the entries alone, and never on how they were grouped into commits.
//!
//! The rows of a new memory are `0x87 | ff.. - id | kind u8`: 1 its codes, 2 its place, 3 what it says, each as in the row of its own.
//!
//! The row `0x96 | first entry`: version, then for each memory ascending its number u64, the lengths u32 of its place and of
//! the heads of its codes (`passages::split_codes`), 0 for none. The row `0x97 | number of the group`: `vectors::Group`.
//! Numbers are little-endian.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kernel::Error;
use kernel::hook::HookRows;
use kernel::keys;
use kernel::store::{KeyRange, View};

use crate::error::Result;
use crate::passages;
use crate::vectors::{Group, Groups};

const VERSION: u8 = 2;

/// What there is of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Codes = 1,
    Place = 2,
    Said = 3,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Codes, Kind::Place, Kind::Said];

    /// The row of its own that a memory outside of an open block has.
    fn own_key(self, doc: u64) -> Vec<u8> {
        let prefix = match self {
            Kind::Codes => 0x90,
            Kind::Place => 0x93,
            Kind::Said => 0x94,
        };
        [&[prefix][..], &doc.to_be_bytes()].concat()
    }

    fn new_key(self, doc: u64) -> Vec<u8> {
        [new_rows(doc).as_slice(), &[self as u8]].concat()
    }
}

/// The newest come first.
fn new_rows(doc: u64) -> Vec<u8> {
    [&[0x87][..], &(u64::MAX - doc).to_be_bytes()].concat()
}

/// The row of a memory, where an entry has to write it.
pub(crate) fn row(kind: Kind, doc: u64, (seq, entries): (u64, u64)) -> Vec<u8> {
    let open = doc >= seq - seq % entries;
    if open { kind.new_key(doc) } else { kind.own_key(doc) }
}

/// What a memory's row says, wherever it is; nothing of what is in a block.
pub(crate) fn get(view: &View<'_>, kind: Kind, doc: u64) -> Result<Option<Vec<u8>>> {
    match view.get(&kind.own_key(doc))? {
        None => view.get(&kind.new_key(doc)),
        found => Ok(found),
    }
}

/// What is kept of a memory: its place and its codes, as rows have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) place: Vec<u8>,
    pub(crate) codes: Vec<u8>,
}

impl Kept {
    fn row(&self) -> Option<Found<'_>> {
        (!self.codes.is_empty()).then_some(Found::Row(&self.codes))
    }
}

/// The codes of a memory, as they are found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'f> {
    /// In a row of their own.
    Row(&'f [u8]),
    /// Heads in a block; the levels are in a group.
    Heads(&'f [u8]),
}

/// What is called for each memory, with its place and its codes, if it has any.
type VisitAll<'v> = dyn FnMut(u64, &[u8], Option<Found<'_>>) -> Result<()> + 'v;

/// What is called for each memory of a block, with its place and the heads of its codes.
type Visit<'v> = dyn FnMut(u64, &[u8], &[u8]) -> Result<()> + 'v;

fn key(first: u64) -> Vec<u8> {
    [&[0x96][..], &first.to_be_bytes()].concat()
}

fn group_key(group: u64) -> Vec<u8> {
    [&[0x97][..], &group.to_be_bytes()].concat()
}

/// Entries of a block, in whole groups. Of short memories, 510 fill a page of 64 kilobytes almost to the end; the store rounds
/// a row up to a power of two.
pub(crate) fn entries(flush_docs: u32) -> u64 {
    let groups = u64::from(flush_docs) / 2 / Group::DOCS;
    groups.max(1) * Group::DOCS
}

/// The levels of a group of memories, as far as their block is full.
fn group(view: &View<'_>, number: u64) -> Result<Group> {
    let row = view.get(&group_key(number))?.unwrap_or_default();
    decode_group(number, &row)
}

fn decode_group(number: u64, row: &[u8]) -> Result<Group> {
    let damaged = || Error::corrupt(format!("levels of group {number}"), "do not decode");
    Group::decode(row).ok_or_else(damaged)
}

/// The groups in the state that a view shows.
pub(crate) struct InStore<'v>(pub(crate) &'v View<'v>);

impl Groups for InStore<'_> {
    type Error = Error;

    /// Of memories in a full block, so it is there.
    fn group(&self, number: u64) -> Result<Group> {
        let row = self.0.get(&group_key(number))?;
        let missing = || Error::corrupt(format!("levels of group {number}"), "are not there");
        decode_group(number, &row.ok_or_else(missing)?)
    }

    fn each(&self, visit: &mut dyn FnMut(u64, &Group)) -> Result<()> {
        self.0.scan(&KeyRange::prefix(&group_key(0)[..1]), &mut |key, row| {
            if let Some(number) = keys::trailing_u64(key) {
                visit(number, &decode_group(number, row)?);
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Called for each entry before anything of it is staged: moves the rows of the block that it ends, if it ends one.
pub(crate) fn close(
    view: &View<'_>,
    seq: u64,
    entries: u64,
    staged: &mut HookRows<'_>,
) -> Result<()> {
    if !seq.is_multiple_of(entries) || seq == 0 {
        return Ok(());
    }
    let first = seq - entries;
    let mut moved = BTreeMap::new();
    each_new(view, first..seq, &mut |doc, kind, value| {
        staged.set(kind.new_key(doc), None);
        match kind {
            Kind::Said => staged.set(kind.own_key(doc), Some(value.to_vec())),
            Kind::Codes | Kind::Place => keep(&mut moved, doc, kind, value),
        }
    })?;
    let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
    for (doc, kept) in moved.iter_mut().filter(|(_, kept)| !kept.codes.is_empty()) {
        let (heads, levels) = passages::split_codes(*doc, &kept.codes)?;
        kept.codes = heads;
        groups.entry(Group::of(*doc)).or_default().set(*doc, levels);
    }
    for (number, group) in groups {
        staged.set(group_key(number), group.encode());
    }
    if !moved.is_empty() {
        staged.set(key(first), Some(encode(&moved)));
    }
    Ok(())
}

/// Visits the rows of new memories in a range.
fn each_new(
    view: &View<'_>,
    docs: std::ops::Range<u64>,
    visit: &mut dyn FnMut(u64, Kind, &[u8]),
) -> Result<()> {
    let last = docs.end.saturating_sub(1);
    let (from, to) = (new_rows(last), keys::after_prefix(&new_rows(docs.start)));
    view.scan(&KeyRange { from, to, reverse: false }, &mut |key, value| {
        let parsed = key.get(1..9).and_then(|doc| doc.try_into().ok()).zip(key.get(9));
        let kind = |code: u8| Kind::ALL.into_iter().find(|kind| *kind as u8 == code);
        let parsed =
            parsed.and_then(|(doc, code)| Some((u64::MAX - u64::from_be_bytes(doc), kind(*code)?)));
        let damaged = || Error::corrupt("a row of a new memory".to_owned(), "has another key");
        let (doc, kind) = parsed.ok_or_else(damaged)?;
        visit(doc, kind, value);
        Ok(ControlFlow::Continue(()))
    })
}

fn keep(rows: &mut BTreeMap<u64, Kept>, doc: u64, kind: Kind, value: &[u8]) {
    match kind {
        Kind::Codes => rows.entry(doc).or_default().codes = value.to_vec(),
        Kind::Place => rows.entry(doc).or_default().place = value.to_vec(),
        Kind::Said => {}
    }
}

/// Takes a memory out of its block and its group, if it is in one.
pub(crate) fn erase(view: &View<'_>, doc: u64, staged: &mut HookRows<'_>) -> Result<()> {
    let Some((key, row)) = holding(view, doc)? else { return Ok(()) };
    let mut kept = BTreeMap::new();
    each(&row, &mut |doc, place, heads| {
        kept.insert(doc, Kept { place: place.to_vec(), codes: heads.to_vec() });
        Ok(())
    })?;
    if kept.remove(&doc).is_some() {
        staged.set(key, (!kept.is_empty()).then(|| encode(&kept)));
        let mut group = group(view, Group::of(doc))?;
        group.set(doc, Vec::new());
        staged.set(group_key(Group::of(doc)), group.encode());
    }
    Ok(())
}

/// All that is in no block.
fn own_rows(view: &View<'_>) -> Result<BTreeMap<u64, Kept>> {
    let mut rows: BTreeMap<u64, Kept> = BTreeMap::new();
    for kind in [Kind::Place, Kind::Codes] {
        view.scan(&KeyRange::prefix(&kind.own_key(0)[..1]), &mut |key, value| {
            if let Some(doc) = keys::trailing_u64(key) {
                keep(&mut rows, doc, kind, value);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    each_new(view, 1..u64::MAX, &mut |doc, kind, value| keep(&mut rows, doc, kind, value))?;
    Ok(rows)
}

/// What is kept of one memory; nothing if it is not there.
pub(crate) fn of(view: &View<'_>, doc: u64) -> Result<Kept> {
    let place = get(view, Kind::Place, doc)?;
    let codes = get(view, Kind::Codes, doc)?;
    if let (Some(place), Some(codes)) = (&place, &codes) {
        return Ok(Kept { place: place.clone(), codes: codes.clone() });
    }
    let mut kept = Kept::default();
    if let Some((_, row)) = holding(view, doc)? {
        each(&row, &mut |other, place, heads| {
            if other == doc {
                kept = Kept { place: place.to_vec(), codes: heads.to_vec() };
            }
            Ok(())
        })?;
    }
    kept.place = place.unwrap_or(kept.place);
    if let Some(codes) = codes {
        kept.codes = codes;
    } else if !kept.codes.is_empty() {
        kept.codes = passages::join_codes(doc, &kept.codes, group(view, Group::of(doc))?.get(doc))?;
    }
    Ok(kept)
}

/// Calls `visit` for every memory, ascending.
pub(crate) fn all(view: &View<'_>, visit: &mut VisitAll<'_>) -> Result<()> {
    let mut own = own_rows(view)?;
    view.scan(&KeyRange::prefix(&key(0)[..1]), &mut |_, block| {
        each(block, &mut |doc, place, heads| {
            while let Some(entry) = own.first_entry().filter(|entry| *entry.key() < doc) {
                let (doc, kept) = entry.remove_entry();
                visit(doc, &kept.place, kept.row())?;
            }
            let heads = (!heads.is_empty()).then_some(Found::Heads(heads));
            let Some(later) = own.remove(&doc) else { return visit(doc, place, heads) };
            let place = if later.place.is_empty() { place } else { &later.place };
            visit(doc, place, later.row().or(heads))
        })?;
        Ok(ControlFlow::Continue(()))
    })?;
    own.iter().try_for_each(|(doc, kept)| visit(*doc, &kept.place, kept.row()))
}

/// The block that holds a memory, if it is in one.
fn holding(view: &View<'_>, doc: u64) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let range = KeyRange { from: key(0), to: Some(key(doc.saturating_add(1))), reverse: true };
    view.first(&range)
}

fn encode(kept: &BTreeMap<u64, Kept>) -> Vec<u8> {
    let size = kept.values().map(|kept| 16 + kept.place.len() + kept.codes.len()).sum::<usize>();
    let mut out = Vec::with_capacity(size + 1);
    out.push(VERSION);
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
    for (doc, Kept { place, codes }) in kept {
        out.extend(doc.to_le_bytes());
        out.extend(length(place));
        out.extend(length(codes));
        out.extend(place);
        out.extend(codes);
    }
    out
}

/// Calls `visit` for each memory of a block, with its place and the heads of its codes.
fn each(row: &[u8], visit: &mut Visit<'_>) -> Result<()> {
    let damaged = || Error::corrupt("a block of codes and places".to_owned(), "does not decode");
    let Some((&VERSION, mut rest)) = row.split_first() else { return Err(damaged()) };
    while !rest.is_empty() {
        let parsed = || {
            let (doc, rest) = rest.split_first_chunk::<8>()?;
            let (place, rest) = rest.split_first_chunk::<4>()?;
            let (codes, rest) = rest.split_first_chunk::<4>()?;
            let length = |bytes: &[u8; 4]| usize::try_from(u32::from_le_bytes(*bytes)).ok();
            let (place, rest) = rest.split_at_checked(length(place)?)?;
            let (codes, rest) = rest.split_at_checked(length(codes)?)?;
            Some((u64::from_le_bytes(*doc), place, codes, rest))
        };
        let (doc, place, codes, after) = parsed().ok_or_else(damaged)?;
        visit(doc, place, codes)?;
        rest = after;
    }
    Ok(())
}
