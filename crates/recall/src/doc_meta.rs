//! The metadata of a memory that ranking needs: its session, when it came, how important it is, whether it is hidden.
//!
//! Ranking asks this of thousands of memories for one question. A head is a row of the store; this is a line of a
//! column in memory. What must stay true: the metadata says of its memory what its head says, entry by entry. A memory
//! without a session that tells who said it and when is in a session with what else was said that day.
//!
//! The row, numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | flags: 1 forgotten, 2 archived, 4 in a session |
//! | 8 | created, i64 milliseconds |
//! | 4 | importance, u32 |
//! | 4 | versions, u32 |
//! | rest | the session, UTF-8; empty without flag 4 |

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kernel::Error;
use kernel::memory::{Head, Millis};
use kernel::store::View;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::ids::Ids;
use crate::segments;

const FORGOTTEN: u8 = 1;
const ARCHIVED: u8 = 2;
const IN_SESSION: u8 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocMeta {
    pub(crate) created: Millis,
    pub(crate) importance: u32,
    /// How many versions it has.
    pub(crate) versions: u32,
    pub(crate) forgotten: bool,
    pub(crate) archived: bool,
    pub(crate) session: Option<Arc<str>>,
}

impl DocMeta {
    /// `None` for an erased memory, which has no metadata.
    pub(crate) fn of(head: &Head, talk: Option<&str>) -> Option<DocMeta> {
        (!head.erased).then(|| DocMeta {
            created: head.created,
            importance: head.importance,
            versions: head.version,
            forgotten: head.tombstone.is_some(),
            archived: head.archived,
            session: head.session.as_deref().or(talk).map(Arc::from),
        })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let session = self.session.as_deref();
        let mut out = Vec::with_capacity(17 + session.map_or(0, str::len));
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.push(
            flag(self.forgotten, FORGOTTEN)
                | flag(self.archived, ARCHIVED)
                | flag(session.is_some(), IN_SESSION),
        );
        out.extend(self.created.0.to_le_bytes());
        out.extend(self.importance.to_le_bytes());
        out.extend(self.versions.to_le_bytes());
        out.extend(session.unwrap_or_default().as_bytes());
        out
    }

    pub(crate) fn decode(doc: u64, bytes: &[u8]) -> Result<DocMeta> {
        DocMeta::decode_with(doc, bytes, |session: &str| Arc::from(session))
    }

    /// `name` gives the one copy of a session's name.
    fn decode_with(doc: u64, bytes: &[u8], name: impl FnOnce(&str) -> Arc<str>) -> Result<DocMeta> {
        let parsed = || {
            let (&flags, rest) = bytes.split_first()?;
            let (created, rest) = rest.split_first_chunk::<8>()?;
            let (importance, rest) = rest.split_first_chunk::<4>()?;
            let (versions, session) = rest.split_first_chunk::<4>()?;
            let session = std::str::from_utf8(session).ok()?;
            let known = flags & !(FORGOTTEN | ARCHIVED | IN_SESSION) == 0;
            let in_session = flags & IN_SESSION != 0;
            (known && (in_session || session.is_empty())).then(|| DocMeta {
                created: Millis(i64::from_le_bytes(*created)),
                importance: u32::from_le_bytes(*importance),
                versions: u32::from_le_bytes(*versions),
                forgotten: flags & FORGOTTEN != 0,
                archived: flags & ARCHIVED != 0,
                session: in_session.then(|| name(session)),
            })
        };
        let damaged = || Error::corrupt(format!("metadata of memory {doc}"), "does not decode");
        parsed().ok_or_else(damaged)
    }

    pub(crate) fn read(view: &View<'_>, doc: u64) -> Result<Option<DocMeta>> {
        let meta = segments::read_meta(view, doc)?;
        (!meta.is_empty()).then(|| DocMeta::decode(doc, &meta)).transpose()
    }
}

/// The metadata of all memories, as one column.
#[derive(Debug, Default)]
pub(crate) struct DocMetaColumn {
    /// By document, which is a number of the journal.
    by_doc: Vec<Option<DocMeta>>,
    /// Memories that are neither forgotten nor archived. A scan asks this of thousands of memories, and little else.
    in_sight: Ids,
    /// Documents of each session, ascending.
    sessions: FxHashMap<Arc<str>, Vec<u64>>,
}

impl DocMetaColumn {
    /// Makes room for documents up to this one.
    pub(crate) fn reserve(&mut self, last: usize) {
        self.by_doc.reserve((last + 1).saturating_sub(self.by_doc.len()));
    }

    pub(crate) fn get(&self, doc: u64) -> Option<&DocMeta> {
        self.by_doc.get(index(doc))?.as_ref()
    }

    /// Sets the metadata of a document from its row.
    pub(crate) fn read(&mut self, doc: u64, row: &[u8]) -> Result<()> {
        let meta = DocMeta::decode_with(doc, row, |session| self.name(session))?;
        self.put(doc, Some(meta));
        Ok(())
    }

    pub(crate) fn set(&mut self, doc: u64, mut meta: Option<DocMeta>) {
        if let Some(session) = meta.as_mut().and_then(|meta| meta.session.as_mut()) {
            *session = self.name(session);
        }
        self.put(doc, meta);
    }

    /// The one copy of a session's name. Most memories are of the same session as the one before.
    fn name(&self, session: &str) -> Arc<str> {
        let last = self.by_doc.last().and_then(|meta| meta.as_ref()?.session.as_ref());
        let last = last.filter(|name| ***name == *session);
        let known = last.or_else(|| self.sessions.get_key_value(session).map(|(name, _)| name));
        known.map_or_else(|| Arc::from(session), Arc::clone)
    }

    fn put(&mut self, doc: u64, meta: Option<DocMeta>) {
        let at = index(doc);
        if at >= self.by_doc.len() {
            self.by_doc.resize(at + 1, None);
        }
        let before = self.by_doc[at].take().and_then(|meta| meta.session);
        let after = meta.as_ref().and_then(|meta| meta.session.as_ref());
        if before.as_ref() != after {
            if let Some(docs) = before.and_then(|before| self.sessions.get_mut(&before)) {
                docs.retain(|other| *other != doc);
            }
            if let Some(session) = after {
                match self.sessions.get_mut(session) {
                    Some(docs) => docs.insert(docs.partition_point(|other| *other < doc), doc),
                    None => {
                        self.sessions.insert(Arc::clone(session), vec![doc]);
                    }
                }
            }
        }
        self.in_sight.set(doc, meta.as_ref().is_some_and(|meta| !meta.forgotten && !meta.archived));
        self.by_doc[at] = meta;
    }
}

/// A store cannot hold more memories than a usize counts.
fn index(doc: u64) -> usize {
    usize::try_from(doc).unwrap_or(usize::MAX)
}

/// DocMetaColumn as of one state: those of stale documents are read from it.
pub(crate) struct DocMetaView<'a> {
    column: &'a DocMetaColumn,
    stale: BTreeMap<u64, Option<DocMeta>>,
}

impl<'a> DocMetaView<'a> {
    pub(crate) fn new(
        view: &View<'_>,
        column: &'a DocMetaColumn,
        stale: &BTreeSet<u64>,
    ) -> Result<DocMetaView<'a>> {
        let mut read = BTreeMap::new();
        for doc in stale {
            read.insert(*doc, DocMeta::read(view, *doc)?);
        }
        Ok(DocMetaView { column, stale: read })
    }

    pub(crate) fn get(&self, doc: u64) -> Option<&DocMeta> {
        if self.stale.is_empty() {
            return self.column.get(doc);
        }
        match self.stale.get(&doc) {
            Some(meta) => meta.as_ref(),
            None => self.column.get(doc),
        }
    }

    /// Whether a memory is neither forgotten nor archived.
    pub(crate) fn in_sight(&self, doc: u64) -> bool {
        if self.stale.is_empty() {
            return self.column.in_sight.contains(doc);
        }
        self.get(doc).is_some_and(|meta| !meta.forgotten && !meta.archived)
    }

    /// Memories that are neither forgotten nor archived.
    pub(crate) fn all_in_sight(&self) -> impl Iterator<Item = u64> {
        let docs = (0u64..).zip(&self.column.by_doc).map(|(doc, _)| doc);
        let stale = self.stale.keys().copied().filter(|doc| self.column.get(*doc).is_none());
        docs.chain(stale).filter(|doc| self.in_sight(*doc))
    }

    /// Memories with more than one version.
    pub(crate) fn revised(&self) -> impl Iterator<Item = u64> {
        let docs = (0u64..).zip(&self.column.by_doc);
        let known = docs.filter(|(doc, _)| !self.stale.contains_key(doc));
        let stale = self.stale.iter().map(|(doc, meta)| (*doc, meta));
        let revised = |meta: &Option<DocMeta>| meta.as_ref().is_some_and(|p| p.versions > 1);
        known.chain(stale).filter(move |(_, meta)| revised(meta)).map(|(doc, _)| doc)
    }

    /// All memories of a session, ascending.
    pub(crate) fn members(&self, session: &str) -> Cow<'a, [u64]> {
        let known = self.column.sessions.get(session).map_or(&[][..], Vec::as_slice);
        if self.stale.is_empty() {
            return Cow::Borrowed(known);
        }
        let mut members: Vec<u64> =
            known.iter().copied().filter(|doc| !self.stale.contains_key(doc)).collect();
        let is_in = |meta: &DocMeta| meta.session.as_deref() == Some(session);
        let fresh = self.stale.iter().filter(|(_, meta)| meta.as_ref().is_some_and(is_in));
        members.extend(fresh.map(|(doc, _)| *doc));
        members.sort_unstable();
        Cow::Owned(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_meta() -> impl Strategy<Value = DocMeta> {
        let session = prop::option::of("[ab]{0,2}").prop_map(|s| s.map(Arc::from));
        (any::<i64>(), any::<u32>(), 1u32..3, any::<bool>(), any::<bool>(), session).prop_map(
            |(created, importance, versions, forgotten, archived, session)| DocMeta {
                created: Millis(created),
                importance,
                versions,
                forgotten,
                archived,
                session,
            },
        )
    }

    proptest! {
        #[test]
        fn rows_come_back_and_damage_is_noticed(meta in some_meta(), cut in 0usize..17) {
            let bytes = meta.encode();
            prop_assert_eq!(DocMeta::decode(7, &bytes).unwrap(), meta);
            prop_assert!(DocMeta::decode(7, &bytes[..cut]).is_err());
        }

        #[test]
        fn columns_are_what_was_set_last(
            changes in prop::collection::vec((1u64..9, prop::option::of(some_meta())), 0..40),
            stale in prop::collection::btree_map(1u64..9, prop::option::of(some_meta()), 0..4),
        ) {
            let (mut column, mut model) = (DocMetaColumn::default(), BTreeMap::new());
            for (doc, meta) in changes {
                column.set(doc, meta.clone());
                model.insert(doc, meta);
            }
            model.extend(stale.clone());
            let metas = DocMetaView { column: &column, stale };
            for doc in 0..10 {
                let meta = model.get(&doc).and_then(Option::as_ref);
                prop_assert_eq!(metas.get(doc), meta);
                let in_sight = meta.is_some_and(|meta| !meta.forgotten && !meta.archived);
                prop_assert_eq!(metas.in_sight(doc), in_sight);
            }
            let mut revised: Vec<u64> = metas.revised().collect();
            revised.sort_unstable();
            let more = |meta: &&Option<DocMeta>| meta.as_ref().is_some_and(|p| p.versions > 1);
            let expected: Vec<u64> =
                model.iter().filter(|(_, meta)| more(meta)).map(|(doc, _)| *doc).collect();
            prop_assert_eq!(revised, expected);
            for session in ["", "a", "ab", "c"] {
                let is_in = |meta: &DocMeta| meta.session.as_deref() == Some(session);
                let members: Vec<u64> = model
                    .iter()
                    .filter(|(_, meta)| meta.as_ref().is_some_and(is_in))
                    .map(|(doc, _)| *doc)
                    .collect();
                prop_assert_eq!(metas.members(session).into_owned(), members);
            }
        }
    }
}
