//! Scoring: what every arm says of every candidate. All scores are as the arm measures them; `fusion` puts them on one
//! scale.

use super::corpus::Corpus;
use super::dates::DateWords;
use super::fusion::Arm;
use super::meaning::Meaning;
use super::passage_reader::CandidateRow;
use super::ranking::Rankings;
use super::sessions::{Sessions, smooth};
use crate::embedding::MaxSim;
use crate::error::Result;
use crate::passages::Passages;

/// A memory that may answer, with what each arm says of it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: u64,
    pub(super) words: u64,
    pub(super) meaning: u64,
    /// Whether an optional model judged its meaning, and not the built-in one.
    pub(super) by_model: bool,
    pub(super) interaction: u64,
    pub(super) session: u64,
    /// Thousandths.
    pub(super) speaker: u64,
    pub(super) date: u64,
    /// Parts per million.
    pub(super) prior: u64,
    /// How many of the things that the question names it names too.
    pub(super) entities: u64,
}

/// The arms of one question, ready to score.
pub(super) struct Scorer<'a> {
    corpus: &'a Corpus<'a>,
    rankings: &'a Rankings,
    meaning: &'a Meaning<'a>,
    interaction: MaxSim<'static>,
    sessions: Sessions<'a>,
    dates: DateWords,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(
        corpus: &'a Corpus<'a>,
        rankings: &'a Rankings,
        meaning: &'a Meaning<'a>,
        interaction: MaxSim<'static>,
        sessions: Sessions<'a>,
    ) -> Scorer<'a> {
        let dates = DateWords::of(&corpus.context.query.text);
        Scorer { corpus, rankings, meaning, interaction, sessions, dates }
    }

    /// Scores all candidates. A session is weighed when all of its candidates are, so the session arm comes last.
    pub(super) fn score(mut self, rows: &[CandidateRow<'_>]) -> Result<Vec<Candidate>> {
        if self.corpus.context.counts(Arm::Interaction) {
            let tokens = rows.iter().flat_map(|row| row.passages.passages().flatten());
            self.interaction.learn(tokens.copied().map(u32::from));
        }
        let neighbours: Vec<[Option<u64>; 2]> =
            rows.iter().map(|row| self.sessions.neighbours(row.id)).collect();
        self.meaning.learn(rows.iter().map(|row| row.id))?;
        self.meaning.learn(neighbours.iter().flatten().flatten().copied())?;
        let mut candidates = Vec::with_capacity(rows.len());
        for (row, neighbours) in rows.iter().zip(neighbours) {
            candidates.push(self.score_row(row, neighbours)?);
        }
        self.sessions.weigh(&self.interaction);
        for candidate in &mut candidates {
            candidate.session = self.sessions.score(candidate.id);
        }
        Ok(candidates)
    }

    fn score_row(
        &mut self,
        row: &CandidateRow<'_>,
        neighbours: [Option<u64>; 2],
    ) -> Result<Candidate> {
        let (id, words, meaning) = (row.id, &self.rankings.words, self.meaning);
        let [before, after] = neighbours.map(|id| id.map(|id| meaning.score(id)).transpose());
        Ok(Candidate {
            id,
            words: smooth(words.of(id), neighbours.map(|id| id.map(|id| words.of(id)))),
            meaning: smooth(meaning.score(id)?, [before?, after?]),
            by_model: meaning.by_model(id).is_some(),
            interaction: self.interaction(row),
            session: 0,
            speaker: self.speaker(&row.passages),
            date: self.dates.matches(row.passages.happened.unwrap_or(row.meta.created)),
            prior: u64::from(row.meta.importance),
            entities: self.rankings.entities.of(id),
        })
    }

    /// How well the best passage answers word for word: a long text has a match for every word, but not in one place.
    /// What each word of the question found is added to what its session covers.
    fn interaction(&mut self, row: &CandidateRow<'_>) -> u64 {
        if !self.corpus.context.counts(Arm::Interaction) {
            return 0;
        }
        let mut covered = self.sessions.coverage(row.id);
        let mut closest = 0;
        for tokens in row.passages.passages() {
            let found = self.interaction.matches(tokens.iter().copied().map(u32::from));
            closest = closest.max(self.interaction.mean(&found));
            if let Some(covered) = covered.as_deref_mut() {
                covered.resize(found.len(), 0);
                for (covered, found) in covered.iter_mut().zip(found) {
                    *covered = found.max(*covered);
                }
            }
        }
        u64::try_from(closest).unwrap_or(0)
    }

    /// Whether the question names who speaks, or else how much the query favours them, in thousandths.
    fn speaker(&self, passages: &Passages) -> u64 {
        let context = self.corpus.context;
        let named = passages.speakers.iter().any(|name| context.question.surface.contains(name));
        let boost = context.query.boost.as_ref().map_or(0, |boost| boost.of(&passages.speakers));
        (u64::from(named) * 1_000).max(boost)
    }
}
