//! The memories that a question is asked of, as of the state that its view shows.
//!
//! What must stay true: every retriever asks `admits` before it counts a memory, so that nothing the filters refuse
//! takes the place of something they accept.

use std::collections::BTreeSet;

use kernel::memory::MemoryId;

use super::context::SearchContext;
use super::filter::MemoryFilter;
use super::former::FormerVersions;
use crate::columns::Columns;
use crate::doc_meta::DocMetaView;
use crate::error::Result;
use crate::ids::Ids;
use crate::model_codes::ModelCodes;
use crate::vectors::Codes;
use text::index::TextSearch;

/// Filters, columns and former versions: what every retriever works on.
pub(super) struct Corpus<'a> {
    pub(super) context: &'a SearchContext<'a>,
    filter: &'a MemoryFilter<'a>,
    pub(super) docs: DocMetaView<'a>,
    pub(super) codes: &'a Codes,
    /// Documents whose columns belong to another state; what they say is read from the view.
    pub(super) stale: &'a BTreeSet<u64>,
    /// The codes of the query's model, if they are in memory.
    pub(super) model: Option<&'a ModelCodes>,
    /// Memories that had another text at the moment asked about.
    pub(super) former: FormerVersions,
    /// The filters are decided by the columns alone.
    by_doc_meta: bool,
}

/// Hands over the corpus of a question. The columns are locked meanwhile.
pub(super) fn with_corpus<T>(
    context: &SearchContext<'_>,
    filter: &MemoryFilter<'_>,
    look: impl FnOnce(&Corpus<'_>) -> Result<T>,
) -> Result<T> {
    let with_model = |model: Option<&ModelCodes>| {
        context.cache.with_columns(context.view, |columns, stale| {
            look(&Corpus::new(context, filter, columns, stale, model)?)
        })
    };
    match &context.query.model {
        Some(question) => context.cache.models.read(&question.model, with_model),
        None => with_model(None),
    }
}

impl<'a> Corpus<'a> {
    fn new(
        context: &'a SearchContext<'a>,
        filter: &'a MemoryFilter<'a>,
        columns: &'a Columns,
        stale: &'a BTreeSet<u64>,
        model: Option<&'a ModelCodes>,
    ) -> Result<Corpus<'a>> {
        let mut corpus = Corpus {
            context,
            filter,
            docs: DocMetaView::new(context.view, &columns.doc_meta, stale)?,
            codes: &columns.codes,
            stale,
            model,
            former: FormerVersions::default(),
            by_doc_meta: filter.is_decided_by_doc_meta(),
        };
        corpus.former = FormerVersions::read(&corpus, filter)?;
        Ok(corpus)
    }

    /// Whether a memory may be in the answer. A store that cannot be read lets nothing through; reading the memory for
    /// the answer then says why.
    pub(super) fn admits(&self, id: u64) -> bool {
        if self.by_doc_meta {
            return self.filter.is_indexed(id) && self.is_visible(id);
        }
        self.filter.head(id).is_ok_and(|head| head.is_some())
    }

    /// Answers by the columns what `MemoryFilter::admits_head` answers by the head, where no other filter is set.
    fn is_visible(&self, id: u64) -> bool {
        let query = self.context.query;
        if !query.include_forgotten && !query.include_archived {
            return self.docs.in_sight(id);
        }
        self.docs.get(id).is_some_and(|meta| {
            (query.include_forgotten || !meta.forgotten)
                && (query.include_archived || !meta.archived)
        })
    }

    /// The text index, with the former versions as documents of their own.
    pub(super) fn text_search(&self) -> Result<TextSearch<'a>> {
        let mut search = TextSearch::new(self.context.view, &self.context.cache.memtable)?;
        search.add(self.former.documents())?;
        if self.context.gate.is_some() {
            let seen = self.seen_by_delegate()?;
            search.count_only(seen.len(), Box::new(move |id| seen.contains(id)));
        }
        Ok(search)
    }

    /// What a delegate may see: the frequency of a word over anything more would tell it which words other memories
    /// have. Every memory's head is read for it.
    fn seen_by_delegate(&self) -> Result<Ids> {
        let SearchContext { view, gate, .. } = *self.context;
        let mut seen = Ids::default();
        for doc in self.docs.all_in_sight() {
            let head = MemoryId::new(doc).map(|id| view.head(id)).transpose()?.flatten();
            if head.is_some_and(|head| gate.is_none_or(|gate| gate.sees(&head))) {
                seen.set(doc, true);
            }
        }
        Ok(seen)
    }
}
