//! Segments: the rows of memories that came one after the other, packed into one row.
//!
//! The first search of an open actor needs the sketches and the metadata of all memories. A thousand rows of many
//! memories are read ten times as fast as a hundred thousand rows of one, so both are packed: a *segment* covers a
//! fixed number of journal entries, and its rows are cut so that they fill pages of the store. Levels of vectors are
//! needed for a few memories only, so they lie apart, in groups that fill a page.
//!
//! While a segment is open, all rows of its memories lie beside each other, the newest first and right behind the
//! newest row of the text index, so that a write changes one page and not one for each kind. The entry that ends a
//! segment closes it: metadata and sketches move into the segment's rows, levels into groups, passages into rows of
//! their own. A memory that changes later gets rows of its own, which count instead of what the segment says. An erased
//! memory is taken out of its segment and its groups at once.
//!
//! Vectors of closed segments are numbered, one after the other; each segment begins with a new group. What must stay
//! true: a number is never given again, and which rows there are depends on the entries alone, never on how they were
//! grouped into commits.
//!
//! | key | value |
//! |---|---|
//! | `87`, u64::MAX - id as u64, kind as u8 | a row in the open segment: kind 1 codes, 2 metadata, 3 passages |
//! | `90`, id as u64 | codes of a memory that changed after its segment was closed |
//! | `93`, id as u64 | metadata of such a memory |
//! | `94`, id as u64 | passages of a memory in a closed segment |
//! | `96`, first memory as u64 | memories of a closed segment, see `closed` |
//! | `97`, number as u64 | a group: the levels of `VECTORS_IN_GROUP` vectors, i8 each; fewer at the end of a segment |
//!
//! Numbers in keys are big-endian. Levels of an erased memory are zeros.

mod closed;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use kernel::Error;
use kernel::hook::HookRows;
use kernel::keys;
use kernel::store::{KeyRange, View, value_bytes};

use crate::embedding::DIMS;
use crate::error::Result;
use crate::passages::{self, CodeBytes, Passages};
use crate::vectors::{Code, GroupSource, Heads, VECTORS_IN_GROUP};

use closed::{SegmentDoc, SegmentRow};

/// A segment covers fewer entries only if the index is flushed more often than that.
const SEGMENT_ENTRIES_MIN: u32 = 15;
const IN_GROUP: u64 = VECTORS_IN_GROUP as u64;
/// Bytes of a whole group, which fit a page of the store with their key.
const GROUP_BYTES: usize = VECTORS_IN_GROUP * DIMS;
const _: () = assert!(GROUP_BYTES <= value_bytes(1, 9));

/// The kinds of rows that a memory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Codes = 1,
    Meta = 2,
    Passages = 3,
}

impl RowKind {
    const ALL: [RowKind; 3] = [RowKind::Codes, RowKind::Meta, RowKind::Passages];

    /// The key of a memory's own row, outside of the open segment.
    fn own_key(self, doc: u64) -> Vec<u8> {
        let prefix = match self {
            RowKind::Codes => 0x90,
            RowKind::Meta => 0x93,
            RowKind::Passages => 0x94,
        };
        [&[prefix][..], &doc.to_be_bytes()].concat()
    }

    fn new_key(self, doc: u64) -> Vec<u8> {
        [new_rows(doc).as_slice(), &[self as u8]].concat()
    }
}

/// The beginning of the keys of a memory's rows in the open segment. The newest memory comes first.
fn new_rows(doc: u64) -> Vec<u8> {
    [&[0x87][..], &(u64::MAX - doc).to_be_bytes()].concat()
}

/// An entry of the journal, and how many entries a segment covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentPosition {
    pub(crate) seq: u64,
    pub(crate) entries: u64,
}

impl SegmentPosition {
    pub(crate) fn new(seq: u64, flush_docs: u32) -> SegmentPosition {
        SegmentPosition { seq, entries: entries(flush_docs) }
    }

    /// The key under which this entry has to write a row of a memory.
    pub(crate) fn key(self, kind: RowKind, doc: u64) -> Vec<u8> {
        let open = doc >= self.seq - self.seq % self.entries;
        if open { kind.new_key(doc) } else { kind.own_key(doc) }
    }
}

/// A row of a memory, in the open segment or on its own; `None` if only a closed segment has it.
fn get(view: &View<'_>, kind: RowKind, doc: u64) -> Result<Option<Vec<u8>>> {
    match view.get(&kind.own_key(doc))? {
        None => view.get(&kind.new_key(doc)),
        found => Ok(found),
    }
}

/// Metadata and codes of a memory as their rows have them; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DocRows {
    meta: Vec<u8>,
    codes: Vec<u8>,
}

impl DocRows {
    fn row(&self) -> Option<CodeBytes<'_>> {
        (!self.codes.is_empty()).then_some(CodeBytes::Row(&self.codes))
    }
}

/// Called for each memory with its metadata and, if it has any, its codes.
type VisitDoc<'v> = dyn FnMut(u64, &[u8], Option<CodeBytes<'_>>) -> Result<()> + 'v;

fn key(first: u64) -> Vec<u8> {
    [&[0x96][..], &first.to_be_bytes()].concat()
}

fn group_key(group: u64) -> Vec<u8> {
    [&[0x97][..], &group.to_be_bytes()].concat()
}

/// The entries that a segment covers: a little less than half of those between two flushes of the text index, so that
/// one entry seldom does both.
fn entries(flush_docs: u32) -> u64 {
    (flush_docs / 2).saturating_sub(2).max(SEGMENT_ENTRIES_MIN).into()
}

/// The levels of a group of vectors. Only groups of closed segments are asked for, so a missing one is damage.
fn group(view: &View<'_>, number: u64) -> Result<Vec<u8>> {
    let missing = || Error::corrupt(format!("levels of group {number}"), "are not there");
    let row = view.get(&group_key(number))?.ok_or_else(missing)?;
    check_group(number, &row)?;
    Ok(row)
}

/// Some whole vectors are in a group, and no more than fit. Any other length is damage, and must not count as vectors
/// that are like nothing.
fn check_group(number: u64, row: &[u8]) -> Result<()> {
    let whole = !row.is_empty() && row.len().is_multiple_of(DIMS);
    if whole && row.len() <= levels_at(0..IN_GROUP).end {
        return Ok(());
    }
    Err(Error::corrupt(format!("levels of group {number}"), "are no whole vectors"))
}

fn too_few(number: u64) -> Error {
    Error::corrupt(format!("levels of group {number}"), "are too few")
}

/// The groups that some vectors lie in, each with the places of theirs in it.
fn groups_of(vectors: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> {
    let numbers = vectors.start / IN_GROUP..vectors.end.div_ceil(IN_GROUP);
    numbers.map(move |number| {
        let start = number * IN_GROUP;
        let first = vectors.start.max(start) - start;
        (number, first..vectors.end.min(start + IN_GROUP) - start)
    })
}

/// The bytes of the levels at some places of a group.
fn levels_at(places: Range<u64>) -> Range<usize> {
    let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).saturating_mul(DIMS);
    at(places.start)..at(places.end)
}

/// The levels of some vectors.
fn levels(view: &View<'_>, vectors: Range<u64>) -> Result<Vec<u8>> {
    let mut levels = Vec::new();
    for (number, places) in groups_of(vectors) {
        let group = group(view, number)?;
        levels.extend(group.get(levels_at(places)).ok_or_else(|| too_few(number))?);
    }
    Ok(levels)
}

/// The groups in the state that a view shows.
pub(crate) struct StoredGroups<'v>(pub(crate) &'v View<'v>);

impl GroupSource for StoredGroups<'_> {
    type Error = Error;

    fn group(&self, number: u64) -> Result<Vec<u8>> {
        group(self.0, number)
    }

    fn each(&self, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        self.0.scan(&KeyRange::prefix(&group_key(0)[..1]), &mut |key, row| {
            if let Some(number) = keys::trailing_u64(key) {
                check_group(number, row)?;
                visit(number, row);
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Called for each entry before anything of it is staged: if the entry ends a segment, the segment is closed, without
/// the memory that the entry erases.
pub(crate) fn close(
    view: &View<'_>,
    SegmentPosition { seq, entries }: SegmentPosition,
    erased: Option<u64>,
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
            _ if erased == Some(doc) => {}
            RowKind::Passages => staged.set(kind.own_key(doc), Some(value.to_vec())),
            RowKind::Codes | RowKind::Meta => keep(&mut moved, doc, kind, value),
        }
    })?;
    if moved.is_empty() {
        return Ok(());
    }
    let begin = next_group(view)?;
    let (mut docs, mut levels) = (Vec::with_capacity(moved.len()), Vec::new());
    let mut first_vector = begin * IN_GROUP;
    for (doc, DocRows { meta, codes }) in moved {
        let (heads, own) = match &codes[..] {
            [] => (Vec::new(), Vec::new()),
            codes => passages::split_codes(doc, codes)?,
        };
        docs.push(SegmentDoc { doc, meta, first_vector, heads });
        first_vector += u64::try_from(own.len() / DIMS).unwrap_or(0);
        levels.extend(own);
    }
    for (number, levels) in (begin..).zip(levels.chunks(GROUP_BYTES)) {
        staged.set(group_key(number), Some(levels.to_vec()));
    }
    for row in SegmentRow::cut(&docs) {
        let first = row.docs.first().map_or(first, |doc| doc.doc);
        staged.set(key(first), Some(row.encode()));
    }
    Ok(())
}

/// The group behind those of all closed segments.
fn next_group(view: &View<'_>) -> Result<u64> {
    let last = view.first(&KeyRange::prefix(&key(0)[..1]).reversed())?;
    let Some((_, row)) = last else { return Ok(0) };
    let damaged = || Error::corrupt("the last segment".to_owned(), "does not decode");
    Ok(closed::vectors(&row).ok_or_else(damaged)?.end.div_ceil(IN_GROUP))
}

/// Visits the rows that memories of an open segment have, in a range of memories.
fn each_new(
    view: &View<'_>,
    docs: Range<u64>,
    visit: &mut dyn FnMut(u64, RowKind, &[u8]),
) -> Result<()> {
    let last = docs.end.saturating_sub(1);
    let (from, to) = (new_rows(last), keys::after_prefix(&new_rows(docs.start)));
    view.scan(&KeyRange { from, to, reverse: false }, &mut |key, value| {
        let parsed = key.get(1..9).and_then(|doc| doc.try_into().ok()).zip(key.get(9));
        let kind = |code: u8| RowKind::ALL.into_iter().find(|kind| *kind as u8 == code);
        let parsed =
            parsed.and_then(|(doc, code)| Some((u64::MAX - u64::from_be_bytes(doc), kind(*code)?)));
        let damaged = || Error::corrupt("a row of a new memory".to_owned(), "has another key");
        let (doc, kind) = parsed.ok_or_else(damaged)?;
        visit(doc, kind, value);
        Ok(ControlFlow::Continue(()))
    })
}

fn keep(rows: &mut BTreeMap<u64, DocRows>, doc: u64, kind: RowKind, value: &[u8]) {
    match kind {
        RowKind::Codes => rows.entry(doc).or_default().codes = value.to_vec(),
        RowKind::Meta => rows.entry(doc).or_default().meta = value.to_vec(),
        RowKind::Passages => {}
    }
}

/// Takes a memory out of its segment and its groups, if it is in one.
pub(crate) fn erase(view: &View<'_>, doc: u64, staged: &mut HookRows<'_>) -> Result<()> {
    let Some((key, row)) = holding(view, doc)? else { return Ok(()) };
    let mut row = SegmentRow::decode(&row)?;
    let Some(vectors) = row.take(doc) else { return Ok(()) };
    staged.set(key, Some(row.encode()));
    for (number, places) in groups_of(vectors) {
        let mut group = group(view, number)?;
        group.get_mut(levels_at(places)).ok_or_else(|| too_few(number))?.fill(0);
        staged.set(group_key(number), Some(group));
    }
    Ok(())
}

/// Metadata and codes that are in no closed segment.
fn own_rows(view: &View<'_>) -> Result<BTreeMap<u64, DocRows>> {
    let mut rows: BTreeMap<u64, DocRows> = BTreeMap::new();
    for kind in [RowKind::Meta, RowKind::Codes] {
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

/// Metadata and codes of one memory; empty if it is not there.
fn rows_of(view: &View<'_>, doc: u64) -> Result<DocRows> {
    let meta = get(view, RowKind::Meta, doc)?;
    let codes = get(view, RowKind::Codes, doc)?;
    if let (Some(meta), Some(codes)) = (&meta, &codes) {
        return Ok(DocRows { meta: meta.clone(), codes: codes.clone() });
    }
    let mut found = None;
    if let Some((_, row)) = holding(view, doc)? {
        found = SegmentRow::decode(&row)?.docs.into_iter().find(|other| other.doc == doc);
    }
    let SegmentDoc { meta: of_segment, first_vector, heads, .. } = found.unwrap_or_default();
    let codes = match codes {
        Some(codes) => codes,
        None if heads.is_empty() => Vec::new(),
        None => {
            let vectors = Heads { first: first_vector, bytes: &heads }.numbers(DIMS);
            passages::join_codes(doc, &heads, &levels(view, vectors)?)?
        }
    };
    Ok(DocRows { meta: meta.unwrap_or(of_segment), codes })
}

/// The codes of a memory in the state that a view shows.
pub(crate) fn read_codes(view: &View<'_>, doc: u64) -> Result<Vec<Code>> {
    let codes = rows_of(view, doc)?.codes;
    if codes.is_empty() { Ok(Vec::new()) } else { passages::decode_codes(doc, &codes) }
}

/// The passages of a memory in the state that a view shows; empty if it is not there.
pub(crate) fn read_passages(view: &View<'_>, doc: u64) -> Result<Passages> {
    let row = get(view, RowKind::Passages, doc)?;
    row.map_or_else(|| Ok(Passages::default()), |row| Passages::decode(doc, &row))
}

/// The row of a memory's metadata in the state that a view shows; empty if it is not there.
pub(crate) fn read_meta(view: &View<'_>, doc: u64) -> Result<Vec<u8>> {
    Ok(rows_of(view, doc)?.meta)
}

/// Calls `visit` for every memory, ascending. Rows outside of segments count instead of what a segment says.
pub(crate) fn all(view: &View<'_>, visit: &mut VisitDoc<'_>) -> Result<()> {
    let mut own = own_rows(view)?;
    view.scan(&KeyRange::prefix(&key(0)[..1]), &mut |_, segment| {
        closed::each(segment, &mut |doc, meta, heads| {
            while let Some(entry) = own.first_entry().filter(|entry| *entry.key() < doc) {
                let (doc, rows) = entry.remove_entry();
                visit(doc, &rows.meta, rows.row())?;
            }
            let heads = (!heads.bytes.is_empty()).then_some(CodeBytes::Heads(heads));
            let Some(later) = own.remove(&doc) else {
                return visit(doc, meta, heads);
            };
            let meta = if later.meta.is_empty() { meta } else { &later.meta };
            visit(doc, meta, later.row().or(heads))
        })?;
        Ok(ControlFlow::Continue(()))
    })?;
    own.iter().try_for_each(|(doc, rows)| visit(*doc, &rows.meta, rows.row()))
}

/// Key and row of the segment that may hold a memory.
fn holding(view: &View<'_>, doc: u64) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let range = KeyRange { from: key(0), to: Some(key(doc.saturating_add(1))), reverse: true };
    view.first(&range)
}
