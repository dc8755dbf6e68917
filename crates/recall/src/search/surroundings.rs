//! Surroundings: what the turns around a memory in its session say of the question together with it.
//!
//! "Who gave Ada the bowl?" is asked of a talk in which one turn has the name, another the bowl, and a third says "My
//! grandmother did". What must stay true: a memory covers no less with its surroundings than alone, and the turns
//! looked at are those that the words of the question found, so no other is read.

use rustc_hash::FxHashMap;

use super::corpus::Corpus;
use super::passage_reader::CandidateRow;
use super::ranking::Ranking;
use super::sessions::Sessions;
use crate::error::Result;
use text::index::{TextSearch, WordMatch, WordMatches};

/// Turns before a memory that are looked at, and turns after it. What was asked before is answered later more often
/// than the other way round.
pub(super) const BACK: usize = 4;
pub(super) const AHEAD: usize = 2;

/// What the words of the question find in the candidates and in the turns around them.
pub(super) struct WordSurroundings {
    matches: WordMatches,
    places: FxHashMap<u64, usize>,
    /// Turns around each candidate, in the order of the candidates.
    around: Vec<Vec<u64>>,
}

impl WordSurroundings {
    /// `words` are the memories that the words of the question found.
    pub(super) fn read(
        corpus: &Corpus<'_>,
        search: &TextSearch<'_>,
        rows: &[CandidateRow<'_>],
        sessions: &Sessions<'_>,
        words: &Ranking,
    ) -> Result<WordSurroundings> {
        let found = |id: &u64| words.scores.contains_key(id);
        let around: Vec<Vec<u64>> = rows
            .iter()
            .map(|row| sessions.around(row.id, BACK, AHEAD).filter(found).collect())
            .collect();
        let ids = rows.iter().map(|row| row.id).chain(around.iter().flatten().copied());
        // A former version is a document of its own.
        let mut docs: Vec<(u64, u64)> = ids.map(|id| (corpus.former.document(id), id)).collect();
        docs.sort_unstable();
        docs.dedup();
        let ascending: Vec<u64> = docs.iter().map(|(doc, _)| *doc).collect();
        let matches = search.matched(&ascending)?;
        let places = docs.into_iter().enumerate().map(|(place, (_, id))| (id, place)).collect();
        Ok(WordSurroundings { matches, places, around })
    }

    /// What the words find in a candidate.
    pub(super) fn own(&self, id: u64) -> WordMatch {
        self.places.get(&id).map(|place| self.matches.at(*place)).unwrap_or_default()
    }

    /// How much of the question the candidate at a place has together with the turns around it.
    pub(super) fn covered(&self, place: usize, id: u64) -> u64 {
        let around = self.around.get(place).into_iter().flatten();
        let ids = std::iter::once(&id).chain(around);
        self.matches.covered(ids.filter_map(|id| self.places.get(id).copied()))
    }
}
