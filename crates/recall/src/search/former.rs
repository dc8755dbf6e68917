//! Memories as they were: a question about an earlier moment looks at the text of that moment.
//!
//! The indexes hold the present version of each memory. Those whose version at the moment asked about is another one
//! are few, and are analyzed for the question: their words join the memtable of the index under numbers of their own,
//! their vectors, tokens and entities are taken in place of the stored ones. What must stay true: nothing is found by
//! what was written later.

use std::collections::BTreeMap;

use kernel::memory::MemoryId;

use super::corpus::Corpus;
use super::filter::MemoryFilter;
use crate::document::document;
use crate::embedding::DIMS;
use crate::error::Result;
use crate::passages::{self, Passages};
use crate::vectors::{Coder, Codes};
use text::analyze::Memo;
use text::entities::Entity;
use text::index::TextField;

/// Marks the number of a document that is a memory as it was. A journal has no entry with such a number.
const THEN: u64 = 1 << 62;

/// One memory as it was.
pub(super) struct FormerVersion {
    pub(super) terms: Vec<(TextField, String)>,
    pub(super) codes: Codes,
    pub(super) passages: Passages,
    entities: Vec<String>,
}

impl FormerVersion {
    pub(super) fn names(&self, entity: &Entity) -> bool {
        self.entities.contains(&entity_key(entity))
    }
}

fn entity_key(entity: &Entity) -> String {
    format!("{} {}", entity.kind.name(), entity.key())
}

/// Memories that were other than they are, by id.
#[derive(Default)]
pub(super) struct FormerVersions(BTreeMap<u64, FormerVersion>);

impl FormerVersions {
    /// Those that the filter admits; none unless the question is about another moment.
    pub(super) fn read(corpus: &Corpus<'_>, filter: &MemoryFilter<'_>) -> Result<FormerVersions> {
        let mut versions = FormerVersions::default();
        if corpus.context.query.as_of.is_none() {
            return Ok(versions);
        }
        let analyzer = corpus.context.analyzer;
        let (coder, mut memo) = (Coder::new(DIMS), Memo::default());
        for id in corpus.docs.revised().filter(|id| corpus.admits(*id)) {
            let Some(row) = MemoryId::new(id).map(|id| filter.row(id.get())).transpose()?.flatten()
            else {
                continue;
            };
            if row.version.n == row.head.version {
                continue;
            }
            let Some(body) = &row.body else { continue };
            let document = document(analyzer, &mut memo, &row.head, body);
            let (vectors, passages) = passages::of(&coder, &document.dense, body);
            let mut codes = Codes::new(DIMS);
            codes.set(id, &vectors);
            let entities = document.entities.iter().map(entity_key).collect();
            let words = document.words(memo.lexicon());
            let terms = words.map(|(field, word)| (field, word.to_owned())).collect();
            versions.0.insert(id, FormerVersion { terms, codes, passages, entities });
        }
        Ok(versions)
    }

    pub(super) fn get(&self, id: u64) -> Option<&FormerVersion> {
        if self.0.is_empty() { None } else { self.0.get(&id) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &FormerVersion)> {
        self.0.iter().map(|(id, former)| (*id, former))
    }

    /// The words of all of them, for the index.
    pub(super) fn documents(&self) -> impl Iterator<Item = (u64, &[(TextField, String)])> {
        self.0.iter().map(|(id, former)| (id | THEN, former.terms.as_slice()))
    }

    /// The document of the index that stands for a memory.
    pub(super) fn document(&self, id: u64) -> u64 {
        if self.get(id).is_some() { id | THEN } else { id }
    }

    /// The memory that a document of the index stands for; `None` for the present of one that was another.
    pub(super) fn memory(&self, doc: u64) -> Option<u64> {
        let id = doc & !THEN;
        (doc != id || self.get(id).is_none()).then_some(id)
    }
}
