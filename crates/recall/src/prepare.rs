//! What a body alone decides of a memory's rows: its words, counted; what it names; its vectors and tokens.
//!
//! It is most of the work of a write, and none of it needs the store: callers do it on their own threads before the pen's
//! turn, and a rebuild does it in the hook. What must stay true: the same body in the same language gives the same, whoever
//! prepares it and after whatever other bodies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::hook::{Prepare, Prepared};
use kernel::memory::{Body, Head};

use crate::analyze::{Analyzer, Language, Memo};
use crate::document;
use crate::embedding::DIMS;
use crate::entities::rows::Names;
use crate::entities::{self, Entity};
use crate::passages;
use crate::text::{TermCounter, TermCounts};
use crate::vectors::{Code, Coder};

/// A body as the indexes take it.
#[derive(Debug)]
pub(crate) struct Made {
    /// In which its words were read.
    analyzer: Analyzer,
    /// TermCounts that stand before those of the head, and after them.
    pub(crate) words: [TermCounts; 2],
    pub(crate) names: Names,
    pub(crate) codes: Vec<Code>,
    pub(crate) codes_row: Vec<u8>,
    pub(crate) passages_row: Vec<u8>,
}

impl Made {
    /// What was prepared for an entry, if it was and in this language.
    pub(crate) fn find<'p>(prepared: &'p [Prepared], analyzer: &Analyzer) -> Option<&'p Made> {
        let made = prepared.iter().find_map(|prepared| prepared.downcast_ref::<Made>());
        made.filter(|made| made.analyzer == *analyzer)
    }
}

/// What one thread works with. It learns words as it goes, which saves time and changes nothing.
#[derive(Debug)]
pub(crate) struct Desk {
    analyzer: Analyzer,
    memo: Memo,
    counter: TermCounter,
    coder: Arc<Coder>,
}

impl Desk {
    pub(crate) fn new(analyzer: Analyzer, coder: Arc<Coder>) -> Desk {
        Desk { analyzer, memo: Memo::default(), counter: TermCounter::default(), coder }
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

    pub(crate) fn make(&mut self, body: &Body) -> Made {
        let (words, named) = self.words(body);
        let (codes, passages) = passages::of(&self.coder, &document::dense(body), body);
        Made {
            analyzer: self.analyzer.clone(),
            words,
            names: Names::of(&named),
            codes_row: passages::encode_codes(&codes),
            passages_row: passages.encode(),
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

/// Desks that are kept for the next caller. More callers at once get fresh ones, which know no words yet.
const DESKS_MAX: usize = 4;

/// Prepares bodies for whoever is about to write them.
#[derive(Debug)]
pub(crate) struct Preparer {
    analyzer: Mutex<Analyzer>,
    coder: Arc<Coder>,
    desks: Mutex<Vec<Desk>>,
}

impl Preparer {
    pub(crate) fn new() -> Preparer {
        let analyzer = Mutex::new(Analyzer::new(Language::None));
        Preparer { analyzer, coder: Arc::new(Coder::new(DIMS)), desks: Mutex::default() }
    }

    pub(crate) fn desk(&self) -> Desk {
        Desk::new(held(&self.analyzer).clone(), Arc::clone(&self.coder))
    }

    /// In which language texts are read. What was prepared in another is prepared again by the hook.
    pub(crate) fn read_in(&self, analyzer: &Analyzer) {
        held(&self.analyzer).clone_from(analyzer);
    }
}

impl Prepare for Preparer {
    fn prepare(&self, body: &Body) -> Prepared {
        let analyzer = held(&self.analyzer).clone();
        let kept = held(&self.desks).pop();
        let mut desk = kept.unwrap_or_else(|| self.desk());
        desk.read_in(&analyzer);
        let made = desk.make(body);
        let mut desks = held(&self.desks);
        if desks.len() < DESKS_MAX {
            desks.push(desk);
        }
        Box::new(made)
    }
}

/// Whoever panicked while holding one of these had not begun to change it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
