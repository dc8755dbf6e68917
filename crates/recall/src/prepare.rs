//! What a body alone decides of a memory's rows: its words, counted; what it names; its vectors and tokens.
//!
//! This is most of the work of a write, and none of it needs the store: callers do it on their own threads before the
//! writer's turn, and a rebuild does it in the hook. What must stay true: the same body in the same language gives the
//! same result, whoever prepares it and after whatever other bodies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::hook::{Prepare, PreparedBody};
use kernel::memory::{Body, Head};

use crate::document;
use crate::embedding::DIMS;
use text::entities::{self, Entity};

use crate::entity_rows::EntityRows;
use crate::passages;
use crate::vectors::{Code, Coder};
use text::analyze::{Analyzer, Language, Memo};
use text::index::{TermCounter, TermCounts};

/// A body as the indexes take it.
#[derive(Debug)]
pub(crate) struct IndexedBody {
    /// The analyzer that read its words.
    analyzer: Analyzer,
    /// TermCounts that stand before those of the head, and after them.
    pub(crate) words: [TermCounts; 2],
    pub(crate) names: EntityRows,
    pub(crate) codes: Vec<Code>,
    pub(crate) codes_row: Vec<u8>,
    pub(crate) passages_row: Vec<u8>,
    /// See `document::talk`.
    pub(crate) talk: Option<String>,
}

impl IndexedBody {
    /// What was prepared for an entry, if it was and in this language.
    pub(crate) fn find<'p>(
        prepared: &'p [PreparedBody],
        analyzer: &Analyzer,
    ) -> Option<&'p IndexedBody> {
        let made = prepared.iter().find_map(|prepared| prepared.downcast_ref::<IndexedBody>());
        made.filter(|made| made.analyzer == *analyzer)
    }
}

/// Analyzes bodies and heads for one thread. It remembers words as it goes, which saves time and changes no result.
#[derive(Debug)]
pub(crate) struct Indexer {
    analyzer: Analyzer,
    memo: Memo,
    counter: TermCounter,
    coder: Arc<Coder>,
}

impl Indexer {
    pub(crate) fn new(analyzer: Analyzer, coder: Arc<Coder>) -> Indexer {
        Indexer { analyzer, memo: Memo::default(), counter: TermCounter::default(), coder }
    }

    /// Reads in another language from now on.
    pub(crate) fn read_in(&mut self, analyzer: &Analyzer) {
        if self.analyzer != *analyzer {
            (self.analyzer, self.memo) = (analyzer.clone(), Memo::default());
        }
    }

    /// The words of a body before those of the head and after them; what it names.
    pub(crate) fn words(&mut self, body: &Body) -> ([TermCounts; 2], Vec<Entity>) {
        self.memo.make_room();
        let named = entities::extract(&body.title, &body.content);
        let mut terms = Vec::with_capacity(16 + body.content.len() / 6);
        document::said_words(&self.analyzer, &mut self.memo, body, &mut terms);
        let before = self.counter.count(self.memo.lexicon(), &terms);
        terms.clear();
        document::about_words(&self.analyzer, &mut self.memo, body, &named, &mut terms);
        let after = self.counter.count(self.memo.lexicon(), &terms);
        ([before, after], named)
    }

    pub(crate) fn make(&mut self, body: &Body) -> IndexedBody {
        let (words, named) = self.words(body);
        let (codes, passages) = passages::of(&self.coder, &document::dense(body), body);
        IndexedBody {
            analyzer: self.analyzer.clone(),
            words,
            names: EntityRows::of(&named),
            codes_row: passages::encode_codes(&codes),
            passages_row: passages.encode(),
            talk: document::talk(body),
            codes,
        }
    }

    /// The words of a head.
    pub(crate) fn head(&mut self, head: &Head) -> TermCounts {
        self.memo.make_room();
        let mut terms = Vec::new();
        document::head_words(&self.analyzer, &mut self.memo, head, &mut terms);
        self.counter.count(self.memo.lexicon(), &terms)
    }
}

/// Indexers that are kept for the next callers. If more callers come at once, they get fresh ones, which know no words
/// yet.
const INDEXERS_MAX: usize = 4;

/// Prepares bodies for whoever is about to write them.
#[derive(Debug)]
pub(crate) struct Preparer {
    analyzer: Mutex<Analyzer>,
    coder: Arc<Coder>,
    indexers: Mutex<Vec<Indexer>>,
}

impl Preparer {
    pub(crate) fn new() -> Preparer {
        let analyzer = Mutex::new(Analyzer::new(Language::None));
        Preparer { analyzer, coder: Arc::new(Coder::new(DIMS)), indexers: Mutex::default() }
    }

    pub(crate) fn indexer(&self) -> Indexer {
        Indexer::new(lock(&self.analyzer).clone(), Arc::clone(&self.coder))
    }

    /// In which language texts are read. What was prepared in another is prepared again by the hook.
    pub(crate) fn read_in(&self, analyzer: &Analyzer) {
        lock(&self.analyzer).clone_from(analyzer);
    }
}

impl Prepare for Preparer {
    fn prepare(&self, body: &Body) -> PreparedBody {
        let analyzer = lock(&self.analyzer).clone();
        let kept = lock(&self.indexers).pop();
        let mut indexer = kept.unwrap_or_else(|| self.indexer());
        indexer.read_in(&analyzer);
        let made = indexer.make(body);
        let mut indexers = lock(&self.indexers);
        if indexers.len() < INDEXERS_MAX {
            indexers.push(indexer);
        }
        Box::new(made)
    }
}

/// A thread that panicked while it held one of these locks had not begun to change what it guards.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
