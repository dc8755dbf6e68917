//! Segments: the rows of memories that came one after the other, packed into one row.
//!
//! The first search of an open actor needs the sketches and the metadata of all memories. A hundred rows of many
//! memories are read ten times as fast as a hundred thousand rows of one, so both are packed: a *segment* covers a
//! fixed number of journal entries. Levels of vectors are needed for a few memories only, so they lie apart, in groups
//! that fill a page of the store.
//!
//! While a segment is open, all rows of its memories lie beside each other, the newest first and right behind the
//! newest row of the text index, so that a write changes one page and not one for each kind. The entry that ends a
//! segment closes it: metadata and sketches move into the segment's row, levels into groups, passages into rows of
//! their own. A memory that changes later gets rows of its own, which count instead of what the segment says. An erased
//! memory is taken out of its segment and its group at once.
//!
//! What must stay true: which rows there are depends on the entries alone, and never on how they were grouped into
//! commits.
//!
//! | key | value |
//! |---|---|
//! | `87`, u64::MAX - id as u64, kind as u8 | a row in the open segment: kind 1 codes, 2 metadata, 3 passages |
//! | `90`, id as u64 | codes of a memory that changed after its segment was closed |
//! | `93`, id as u64 | metadata of such a memory |
//! | `94`, id as u64 | passages of a memory in a closed segment |
//! | `96`, first entry as u64 | a segment, see below |
//! | `97`, number as u64 | a group of levels, see `vectors::LevelGroup` |
//!
//! Numbers in keys are big-endian. A segment, numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 2 |
//! | then for each memory, ascending: 8 | its id, u64 |
//! | 4 | length m of its metadata, u32; 0 for none |
//! | 4 | length h of the heads of its codes, u32; 0 for none |
//! | m + h | the metadata as `doc_meta` writes it, and the heads as `passages::split_codes` gives them |

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kernel::Error;
use kernel::hook::HookRows;
use kernel::keys;
use kernel::store::{KeyRange, View};

use crate::error::Result;
use crate::passages::{self, CodeBytes, Passages};
use crate::vectors::{Code, GroupSource, LevelGroup};

const VERSION: u8 = 2;

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

/// Called for each memory of a segment with its metadata and the heads of its codes.
type VisitSegment<'v> = dyn FnMut(u64, &[u8], &[u8]) -> Result<()> + 'v;

fn key(first: u64) -> Vec<u8> {
    [&[0x96][..], &first.to_be_bytes()].concat()
}

fn group_key(group: u64) -> Vec<u8> {
    [&[0x97][..], &group.to_be_bytes()].concat()
}

/// The entries that a segment covers, in whole groups. Of short memories, 510 fill a page of 64 kilobytes almost to the
/// end; the store rounds a row up to a power of two.
fn entries(flush_docs: u32) -> u64 {
    let groups = u64::from(flush_docs) / 2 / LevelGroup::DOCS;
    groups.max(1) * LevelGroup::DOCS
}

/// The levels of a group of memories; empty while their segment is open.
fn group(view: &View<'_>, number: u64) -> Result<LevelGroup> {
    let row = view.get(&group_key(number))?.unwrap_or_default();
    decode_group(number, &row)
}

fn decode_group(number: u64, row: &[u8]) -> Result<LevelGroup> {
    let damaged = || Error::corrupt(format!("levels of group {number}"), "do not decode");
    LevelGroup::decode(row).ok_or_else(damaged)
}

/// The groups in the state that a view shows.
pub(crate) struct StoredGroups<'v>(pub(crate) &'v View<'v>);

impl GroupSource for StoredGroups<'_> {
    type Error = Error;

    /// Only groups of closed segments are asked for, so a missing one is damage.
    fn group(&self, number: u64) -> Result<LevelGroup> {
        let row = self.0.get(&group_key(number))?;
        let missing = || Error::corrupt(format!("levels of group {number}"), "are not there");
        decode_group(number, &row.ok_or_else(missing)?)
    }

    fn each(&self, visit: &mut dyn FnMut(u64, &LevelGroup)) -> Result<()> {
        self.0.scan(&KeyRange::prefix(&group_key(0)[..1]), &mut |key, row| {
            if let Some(number) = keys::trailing_u64(key) {
                visit(number, &decode_group(number, row)?);
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
    let mut groups: BTreeMap<u64, LevelGroup> = BTreeMap::new();
    for (doc, rows) in moved.iter_mut().filter(|(_, rows)| !rows.codes.is_empty()) {
        let (heads, levels) = passages::split_codes(*doc, &rows.codes)?;
        rows.codes = heads;
        groups.entry(LevelGroup::of(*doc)).or_default().set(*doc, levels);
    }
    for (number, group) in groups {
        staged.set(group_key(number), group.encode());
    }
    if !moved.is_empty() {
        staged.set(key(first), Some(encode(&moved)));
    }
    Ok(())
}

/// Visits the rows that memories of an open segment have, in a range of memories.
fn each_new(
    view: &View<'_>,
    docs: std::ops::Range<u64>,
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

/// Takes a memory out of its segment and its group, if it is in one.
pub(crate) fn erase(view: &View<'_>, doc: u64, staged: &mut HookRows<'_>) -> Result<()> {
    let Some((key, row)) = holding(view, doc)? else { return Ok(()) };
    let mut rows = BTreeMap::new();
    each(&row, &mut |doc, meta, heads| {
        rows.insert(doc, DocRows { meta: meta.to_vec(), codes: heads.to_vec() });
        Ok(())
    })?;
    if rows.remove(&doc).is_some() {
        staged.set(key, (!rows.is_empty()).then(|| encode(&rows)));
        let mut group = group(view, LevelGroup::of(doc))?;
        group.set(doc, Vec::new());
        staged.set(group_key(LevelGroup::of(doc)), group.encode());
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
    let mut rows = DocRows::default();
    if let Some((_, row)) = holding(view, doc)? {
        each(&row, &mut |other, meta, heads| {
            if other == doc {
                rows = DocRows { meta: meta.to_vec(), codes: heads.to_vec() };
            }
            Ok(())
        })?;
    }
    rows.meta = meta.unwrap_or(rows.meta);
    if let Some(codes) = codes {
        rows.codes = codes;
    } else if !rows.codes.is_empty() {
        rows.codes =
            passages::join_codes(doc, &rows.codes, group(view, LevelGroup::of(doc))?.get(doc))?;
    }
    Ok(rows)
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
        each(segment, &mut |doc, meta, heads| {
            while let Some(entry) = own.first_entry().filter(|entry| *entry.key() < doc) {
                let (doc, rows) = entry.remove_entry();
                visit(doc, &rows.meta, rows.row())?;
            }
            let heads = (!heads.is_empty()).then_some(CodeBytes::Heads(heads));
            let Some(later) = own.remove(&doc) else { return visit(doc, meta, heads) };
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

fn encode(rows: &BTreeMap<u64, DocRows>) -> Vec<u8> {
    let size = rows.values().map(|rows| 16 + rows.meta.len() + rows.codes.len()).sum::<usize>();
    let mut out = Vec::with_capacity(size + 1);
    out.push(VERSION);
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
    for (doc, DocRows { meta, codes }) in rows {
        out.extend(doc.to_le_bytes());
        out.extend(length(meta));
        out.extend(length(codes));
        out.extend(meta);
        out.extend(codes);
    }
    out
}

/// Calls `visit` for each memory of a segment, with its metadata and the heads of its codes.
fn each(row: &[u8], visit: &mut VisitSegment<'_>) -> Result<()> {
    let damaged =
        || Error::corrupt("a segment of codes and metadata".to_owned(), "does not decode");
    let Some((&VERSION, mut rest)) = row.split_first() else { return Err(damaged()) };
    while !rest.is_empty() {
        let parsed = || {
            let (doc, rest) = rest.split_first_chunk::<8>()?;
            let (meta, rest) = rest.split_first_chunk::<4>()?;
            let (codes, rest) = rest.split_first_chunk::<4>()?;
            let length = |bytes: &[u8; 4]| usize::try_from(u32::from_le_bytes(*bytes)).ok();
            let (meta, rest) = rest.split_at_checked(length(meta)?)?;
            let (codes, rest) = rest.split_at_checked(length(codes)?)?;
            Some((u64::from_le_bytes(*doc), meta, codes, rest))
        };
        let (doc, meta, codes, after) = parsed().ok_or_else(damaged)?;
        visit(doc, meta, codes)?;
        rest = after;
    }
    Ok(())
}
