//! The index of entities: which memories name a file, a package, an error.
//!
//! Rows: `0x91 | kind u8 | length u16 | key | id u64`, big-endian, with the value as it is written there; `0x92 | id
//! u64` with what the memory names: for each a kind u8, a length u16 and the value. The second exists so that an update
//! can take out what is no longer named; a memory that names nothing has no row.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use kernel::find::MemoryReader;
use kernel::grants::Gate;
use kernel::hook::HookRows;
use kernel::keys;
use kernel::memory::{MemoryId, Millis};
use kernel::store::{KeyRange, View};
use kernel::{Error, Reading};

use text::entities::{Entity, EntityKind};

use crate::error::Result;

const NAMED: u8 = 0x91;
const NAMES: u8 = 0x92;

fn names_key(doc: u64) -> Vec<u8> {
    [&[NAMES][..], &doc.to_be_bytes()].concat()
}

/// All rows of one entity.
fn prefix(entity: &Entity) -> Vec<u8> {
    let key = entity.key();
    [&[NAMED, code(entity.kind)][..], &short(&key).to_be_bytes(), key.as_bytes()].concat()
}

fn code(kind: EntityKind) -> u8 {
    let place = EntityKind::ALL.iter().position(|other| *other == kind);
    place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0)
}

/// A value has at most `MAX_VALUE` bytes, and folding at most triples it.
fn short(text: &str) -> u16 {
    u16::try_from(text.len()).unwrap_or(u16::MAX)
}

/// What a body names, as rows are made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntityRows {
    /// By the beginning of their keys, as it is written. `src/a.rs` and `./src/a.rs` are one; the first is kept.
    named: BTreeMap<Vec<u8>, String>,
    /// The memory's own row; empty if it names nothing.
    row: Vec<u8>,
}

impl EntityRows {
    pub(crate) fn of(entities: &[Entity]) -> EntityRows {
        let mut named = BTreeMap::new();
        for entity in entities {
            named.entry(prefix(entity)).or_insert_with(|| entity.value.clone());
        }
        EntityRows { named, row: encode(entities) }
    }
}

/// Sets what a memory names, in place of what it named before. Nothing takes it out.
pub(crate) fn put(
    view: &View<'_>,
    doc: u64,
    names: &EntityRows,
    staged: &mut HookRows<'_>,
) -> Result<()> {
    let old = view.get(&names_key(doc))?;
    let old = old.map(|bytes| decode(doc, &bytes)).transpose()?.unwrap_or_default();
    replace(doc, &old, names, staged);
    Ok(())
}

/// Sets what a memory names that was never there.
pub(crate) fn add(doc: u64, names: &EntityRows, staged: &mut HookRows<'_>) {
    replace(doc, &[], names, staged);
}

fn replace(doc: u64, old: &[Entity], names: &EntityRows, staged: &mut HookRows<'_>) {
    let row = |prefix: &[u8]| [prefix, &doc.to_be_bytes()].concat();
    for gone in old.iter().map(prefix).filter(|prefix| !names.named.contains_key(prefix)) {
        staged.set(row(&gone), None);
    }
    for (prefix, value) in &names.named {
        staged.set(row(prefix), Some(value.as_bytes().to_vec()));
    }
    if !names.row.is_empty() {
        staged.set(names_key(doc), Some(names.row.clone()));
    } else if !old.is_empty() {
        staged.set(names_key(doc), None);
    }
}

fn encode(entities: &[Entity]) -> Vec<u8> {
    let mut out = Vec::new();
    for entity in entities {
        out.push(code(entity.kind));
        out.extend(short(&entity.value).to_be_bytes());
        out.extend(entity.value.as_bytes());
    }
    out
}

fn decode(doc: u64, bytes: &[u8]) -> Result<Vec<Entity>> {
    let mut entities = Vec::new();
    let mut rest = bytes;
    while let Some((&[kind, high, low], tail)) = rest.split_first_chunk::<3>() {
        let value = tail.split_at_checked(usize::from(u16::from_be_bytes([high, low])));
        let kind = EntityKind::ALL.into_iter().find(|other| code(*other) == kind);
        let read = value.and_then(|(value, tail)| Some((str::from_utf8(value).ok()?, tail)));
        let Some((kind, (value, tail))) = kind.zip(read) else { break };
        entities.push(Entity { kind, value: value.to_owned() });
        rest = tail;
    }
    if rest.is_empty() {
        Ok(entities)
    } else {
        Err(Error::corrupt(format!("entities of memory {doc}"), "do not decode"))
    }
}

/// Memories that name an entity, the newest first, until the visitor stops.
pub(crate) fn naming(
    view: &View<'_>,
    entity: &Entity,
    visit: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<()> {
    let range = KeyRange { reverse: true, ..KeyRange::prefix(&prefix(entity)) };
    view.scan(&range, &mut |key, _| {
        Ok(keys::trailing_u64(key).map_or(ControlFlow::Break(()), &mut *visit))
    })
}

/// An entity, and in how many memories it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityCount {
    /// As the oldest of them writes it.
    pub entity: Entity,
    pub memories: u32,
}

/// What memories that are shown now name, the most named first.
pub fn list(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    kind: Option<EntityKind>,
    project: Option<&str>,
    now: Millis,
) -> Result<Vec<EntityCount>> {
    let view = reading.view();
    let lens = MemoryReader::new(&view, gate, None, now)?;
    let mut shown: HashMap<u64, bool> = HashMap::new();
    let mut is_shown = |doc: u64| -> Result<bool> {
        if let Some(shown) = shown.get(&doc) {
            return Ok(*shown);
        }
        let row = MemoryId::new(doc).map(|id| lens.row(id)).transpose()?.flatten();
        let fits = row.is_some_and(|row| {
            row.standing.is_shown()
                && project.is_none_or(|p| row.head.project.as_deref() == Some(p))
        });
        shown.insert(doc, fits);
        Ok(fits)
    };
    let kinds = EntityKind::ALL.into_iter().filter(|other| kind.is_none_or(|kind| kind == *other));
    let mut listed: Vec<EntityCount> = Vec::new();
    for kind in kinds {
        let mut named: BTreeMap<Vec<u8>, (String, u32)> = BTreeMap::new();
        view.scan(&KeyRange::prefix(&[NAMED, code(kind)]), &mut |key, value| {
            let doc = keys::trailing_u64(key).unwrap_or(0);
            if is_shown(doc)? {
                let name = key[..key.len().saturating_sub(8)].to_vec();
                let written = || (String::from_utf8_lossy(value).into_owned(), 0);
                named.entry(name).or_insert_with(written).1 += 1;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        listed.extend(
            named
                .into_values()
                .map(|(value, memories)| EntityCount { entity: Entity { kind, value }, memories }),
        );
    }
    listed.sort_by(|a, b| (b.memories, &a.entity).cmp(&(a.memories, &b.entity)));
    Ok(listed)
}

/// What a question names, each once.
pub(crate) fn asked(text: &str) -> Vec<Entity> {
    let mut seen = BTreeSet::new();
    let mut entities = text::entities::extract("", text);
    entities.retain(|entity| seen.insert((entity.kind, entity.key())));
    entities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_memory_names_reads_back_and_cuts_are_noticed() {
        let entities = text::entities::extract("src/a.rs", "v1.2.3 TypeError GET /x https://a.b/c");
        let bytes = encode(&entities);
        assert_eq!(decode(1, &bytes).unwrap(), entities);
        assert!(decode(1, &bytes[..bytes.len() - 1]).is_err());
    }
}
