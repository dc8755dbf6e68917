//! A store in memory with the index over it, and a scorer that knows nothing of blocks, runs or memtables.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;

use kernel::Result;
use kernel::codec;
use kernel::keys;
use kernel::state::Counters;
use kernel::store::{KeyRange, Side, Space, StoreReader, View, Visit, WriteSet};
use proptest::prelude::*;

use crate::analyze::Lexicon;
use crate::index::{
    DocScores, FIELDS, IndexSettings, MemtableHandle, TermCounter, TermCounts, TextField,
    TextIndex, TextSearch, idf, impact,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows(pub(super) BTreeMap<Vec<u8>, Vec<u8>>);

impl StoreReader for Rows {
    fn get(&self, _: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key).cloned())
    }

    fn scan(&self, _: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        let to = range.to.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut rows = self.0.range::<Vec<u8>, _>((Bound::Included(&range.from), to));
        let mut next = || if range.reverse { rows.next_back() } else { rows.next() };
        while let Some((key, value)) = next() {
            if visit(key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Put(u64, Vec<(TextField, String)>),
    Erase(u64),
}

/// The index on its store, used as a hook would: changes in batches.
pub(super) struct Bench {
    pub(super) rows: Rows,
    pub(super) index: TextIndex,
    settings: IndexSettings,
    batch: WriteSet,
    seq: u64,
}

/// Terms as the index takes them.
pub(super) fn words(terms: &[(TextField, String)]) -> TermCounts {
    let mut lexicon = Lexicon::default();
    let numbers: Vec<_> =
        terms.iter().map(|(field, term)| (*field, lexicon.number(term))).collect();
    TermCounter::default().count(&lexicon, &numbers)
}

impl Bench {
    pub(super) fn new(flush_docs: u32) -> Bench {
        let settings = IndexSettings { flush_docs, ..IndexSettings::default() };
        let rows = Rows::default();
        let view = View::new(&rows, Side::A);
        let index = TextIndex::open_with(&view, settings, MemtableHandle::default()).unwrap();
        Bench { rows, index, settings, batch: WriteSet::new(), seq: 0 }
    }

    /// All steps, with a commit after every `group` of them.
    pub(super) fn after(flush_docs: u32, group: usize, steps: &[Step]) -> Bench {
        let mut bench = Bench::new(flush_docs);
        for chunk in steps.chunks(group) {
            bench.steps(chunk);
            bench.commit();
        }
        bench
    }

    pub(super) fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    pub(super) fn step(&mut self, step: &Step) {
        self.entry(std::slice::from_ref(step));
    }

    /// Several changes that one journal entry causes: the view shows none of them until all are made.
    pub(super) fn entry(&mut self, steps: &[Step]) {
        self.seq += 1;
        let space = Space::Derived(Side::A);
        let counters = Counters { size: self.seq, ..Counters::default() };
        self.batch.put(space, keys::counters(), codec::encode(&counters));
        let view = View::staged(&self.rows, Side::A, &self.batch);
        let index = &mut self.index;
        let mut own = WriteSet::new();
        for step in steps {
            match step {
                Step::Put(doc, terms) => {
                    // In two parts, wherever the document is cut.
                    let (first, rest) = terms.split_at(terms.len() / 2);
                    index.put_pending(&view, *doc, &[&words(first), &words(rest)])
                }
                Step::Erase(doc) => index.erase_pending(&view, *doc),
            }
            .unwrap();
            index.hand_over(|key, value| own.set(space, key, value));
        }
        self.batch.merge(own);
    }

    pub(super) fn commit(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        for (_, rows) in batch.iter() {
            for (key, value) in rows {
                match value {
                    Some(value) => self.rows.0.insert(key.clone(), value.clone()),
                    None => self.rows.0.remove(key),
                };
            }
        }
        self.index.committed();
    }

    pub(super) fn abort(&mut self, steps: u64) {
        self.batch = WriteSet::new();
        self.seq -= steps;
        self.index.aborted();
    }

    pub(super) fn reopen(&mut self) {
        let view = View::new(&self.rows, Side::A);
        self.index = TextIndex::open_with(&view, self.settings, MemtableHandle::default()).unwrap();
    }

    pub(super) fn search<T>(&self, ask: impl FnOnce(&TextSearch<'_>) -> T) -> T {
        let view = View::new(&self.rows, Side::A);
        ask(&TextSearch::new(&view, &self.index.handle()).unwrap())
    }

    /// The same with a memtable read from the store.
    pub(super) fn search_cold<T>(&self, ask: impl FnOnce(&TextSearch<'_>) -> T) -> T {
        let view = View::new(&self.rows, Side::A);
        ask(&TextSearch::new(&view, &MemtableHandle::default()).unwrap())
    }

    /// The rows without the counters, which are the kernel's.
    pub(super) fn text_rows(&self) -> Rows {
        let ours = |key: &Vec<u8>| key.first().is_some_and(|first| *first >= 0x80);
        Rows(self.rows.0.clone().into_iter().filter(|(key, _)| ours(key)).collect())
    }
}

/// The documents as they are after some steps.
#[derive(Default)]
pub(super) struct Naive(BTreeMap<u64, Vec<(TextField, String)>>);

impl Naive {
    pub(super) fn after(steps: &[Step]) -> Naive {
        let mut docs: BTreeMap<u64, Vec<(TextField, String)>> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put(doc, terms) => {
                    docs.insert(*doc, terms.clone());
                }
                Step::Erase(doc) => {
                    docs.remove(doc);
                }
            }
        }
        Naive(docs)
    }

    pub(super) fn documents(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap()
    }

    pub(super) fn has(&self, doc: u64, term: &str) -> bool {
        self.0.get(&doc).is_some_and(|terms| terms.iter().any(|(_, other)| other == term))
    }

    pub(super) fn df(&self, term: &str) -> u64 {
        u64::try_from(self.0.keys().filter(|doc| self.has(**doc, term)).count()).unwrap()
    }

    pub(super) fn scores(&self, query: &[(String, u32)]) -> DocScores {
        let weights = crate::index::FieldWeights::default();
        let mut scores = DocScores::new();
        let worth_of = |(word, weight): &(String, u32)| {
            (word.clone(), u64::from(*weight) * idf(self.documents(), self.df(word)))
        };
        let query: Vec<(String, u64)> = query.iter().map(worth_of).collect();
        for (doc, terms) in &self.0 {
            let mut lengths = [0; FIELDS];
            for (field, _) in terms {
                lengths[field.index()] += 1;
            }
            let mut score = 0;
            for (word, factor) in &query {
                if self.has(*doc, word) {
                    let mut tfs = [0; FIELDS];
                    let own = terms.iter().filter(|(_, term)| term == word);
                    own.for_each(|(field, _)| tfs[field.index()] += 1);
                    let worth = u64::from(impact(&weights, &lengths, &tfs));
                    score += factor * worth;
                }
            }
            if score > 0 {
                scores.push((*doc, score));
            }
        }
        scores.sort_by_key(|(doc, score)| (Reverse(*score), *doc));
        scores
    }
}

pub(super) const WORDS: [&str; 12] =
    ["ada", "bee", "cat", "cow", "dog", "eel", "elk", "fox", "gnu", "hen", "ibis", "jay"];

/// Frequent words are much more frequent than rare ones.
pub(super) fn word() -> impl Strategy<Value = String> {
    (0..WORDS.len(), 0..WORDS.len()).prop_map(|(a, b)| WORDS[a.min(b)].to_owned())
}

/// Few documents, so that most are changed often; some far apart, so that windows and blocks are crossed.
fn doc() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1..30u64, 3 => (1..20u64).prop_map(|n| n * 3000), 1 => (1..4u64).prop_map(|n| n << 61)]
}

fn step(erase: bool) -> impl Strategy<Value = Step> {
    let field = (0..FIELDS).prop_map(|n| TextField::ALL[n]);
    let terms = prop::collection::vec((field, word()), 0..8);
    prop_oneof![
        12 => (doc(), terms).prop_map(|(doc, terms)| Step::Put(doc, terms)),
        u32::from(erase) => doc().prop_map(Step::Erase),
    ]
}

pub(super) fn steps(erase: bool, max: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(erase), 1..max)
}

pub(super) fn query() -> impl Strategy<Value = Vec<(String, u32)>> {
    prop::collection::btree_map(word(), 1..40u32, 0..6)
        .prop_map(|query| query.into_iter().collect())
}
