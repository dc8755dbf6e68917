//! Scoring: what every arm says of every candidate. All scores are as the arm measures them; `fusion` puts them on one
//! scale.

use std::collections::BTreeSet;

use super::asking::is_of_asker;
use super::corpus::Corpus;
use super::dates::DateWords;
use super::dense_question::DenseQuestion;
use super::evidence::{Evidence, NeighbourScores, Saying, SpeakerRole, TokenMatch, pairs_met};
use super::fusion::{Arm, LONG_TOKENS};
use super::meaning::Meaning;
use super::neighbours::{Neighbours, as_smoothed, smooth};
use super::passage_reader::CandidateRow;
use super::ranking::Rankings;
use super::rules;
use super::sessions::Sessions;
use super::surroundings::WordSurroundings;
use crate::embedding::{MaxSim, SIM_ONE};
use crate::error::Result;
use crate::passages::Passages;

/// Similarity of a token with itself; the table's rounding may take a little.
const SAME: i64 = SIM_ONE - SIM_ONE / 64;
/// Similarity of tokens of like meaning.
const ALIKE: i64 = SIM_ONE * 6 / 10;
/// Of what the turns next to a memory have of the question word for word, the shares that count, in hundredths.
const MET_BEFORE: i32 = 80;
const MET_AFTER: i32 = 70;
/// `?` in the vocabulary of the built-in model.
const QUESTION_MARK: u16 = 1_029;

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
    /// How rare the things are that both the question and it name.
    pub(super) entities: u64,
    pub(super) evidence: Evidence,
}

/// The arms of one question, ready to score.
pub(super) struct Scorer<'a> {
    corpus: &'a Corpus<'a>,
    rankings: &'a Rankings,
    meaning: &'a Meaning<'a>,
    interaction: MaxSim<'static>,
    pairs: &'a BTreeSet<(u16, u16)>,
    sessions: Sessions<'a>,
    dates: DateWords,
    /// The question speaks of who asks it.
    of_asker: bool,
    /// Who speaks in a candidate and is named in the question.
    named: BTreeSet<String>,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(
        corpus: &'a Corpus<'a>,
        rankings: &'a Rankings,
        meaning: &'a Meaning<'a>,
        dense: &'a DenseQuestion,
        sessions: Sessions<'a>,
    ) -> Scorer<'a> {
        let (text, now) = (&corpus.context.query.text, corpus.context.now);
        let (dates, of_asker) = (DateWords::of(text, now), is_of_asker(text));
        let (interaction, pairs, named) = (dense.interaction(), &dense.pairs, BTreeSet::new());
        Scorer { corpus, rankings, meaning, interaction, pairs, sessions, dates, of_asker, named }
    }

    /// Scores all candidates. A session is weighed when all of its candidates are, so the session arm comes last.
    pub(super) fn score(
        mut self,
        rows: &[CandidateRow<'_>],
        found: &WordSurroundings,
    ) -> Result<Vec<Candidate>> {
        if self.corpus.context.counts(Arm::Interaction) {
            let tokens = rows.iter().flat_map(|row| row.passages.passages().flatten());
            self.interaction.learn(tokens.copied().map(u32::from));
        }
        let neighbours: Vec<Neighbours<u64>> =
            rows.iter().map(|row| self.sessions.neighbours(row.id)).collect();
        self.meaning.learn(rows.iter().map(|row| row.id))?;
        self.meaning.learn(neighbours.iter().flat_map(Neighbours::iter))?;
        let asked = &self.corpus.context.question.surface;
        let speakers = rows.iter().flat_map(|row| &row.passages.speakers);
        self.named = speakers.filter(|name| asked.contains(name)).cloned().collect();
        let ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
        let whole = self.meaning.whole(&ids)?;
        let met: Vec<TokensMet> = rows.iter().map(|row| self.tokens_met(row)).collect();
        let mut candidates = Vec::with_capacity(rows.len());
        for (place, (row, neighbours)) in rows.iter().zip(neighbours).enumerate() {
            let replies = neighbours.before.is_some_and(|before| replies(rows, row, before));
            let mut candidate = self.score_row(row, neighbours, replies)?;
            let covered = found.covered(place, row.id);
            candidate.words = candidate.words.saturating_add(as_smoothed(covered));
            let together = self.met_together(rows, &met, place, neighbours);
            candidate.interaction = u64::midpoint(met[place].closest, together);
            let evidence = &mut candidate.evidence;
            (evidence.tokens, evidence.tokens_around) = (met[place].tokens, together);
            (evidence.matched, evidence.covered) = (found.own(row.id), covered);
            evidence.whole = whole[place];
            candidates.push(candidate);
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
        neighbours: Neighbours<u64>,
        replies: bool,
    ) -> Result<Candidate> {
        let (id, words, meaning) = (row.id, &self.rankings.words, self.meaning);
        let nearby = neighbours.map(|id| meaning.score(id)).transpose()?;
        let (near, said) = (meaning.score(id)?, words.of(id));
        let saidby = neighbours.map(|id| words.of(id));
        let around = |own: u64, scores: Neighbours<u64>| NeighbourScores {
            own,
            before: scores.before.unwrap_or(0),
            after: scores.after.unwrap_or(0),
        };
        let happened = row.passages.happened.unwrap_or(row.meta.created);
        let speaker = self.speaker(&row.passages);
        let is_named = row.passages.speakers.iter().any(|name| self.named.contains(name));
        let number = self.sessions.number(id);
        let place = self.sessions.place(id);
        let role = SpeakerRole::of(&row.passages.speakers);
        let evidence = Evidence {
            words: around(said, saidby),
            meaning: around(near, nearby),
            length: length(&row.passages),
            role,
            saying: saying(&row.passages, role, self.of_asker),
            asks: asks(&row.passages),
            of_another: !self.named.is_empty() && !is_named,
            happened,
            session: number.zip(place).map(|(number, (at, all))| (number, at, all)),
            ..Evidence::default()
        };
        Ok(Candidate {
            id,
            words: smooth(said, saidby, replies),
            meaning: smooth(near, nearby, replies),
            by_model: meaning.by_model(id).is_some(),
            interaction: 0,
            session: 0,
            speaker,
            date: self.dates.matches(happened),
            prior: u64::from(row.meta.importance),
            entities: self.rankings.entities.of(id),
            evidence,
        })
    }

    /// How well the tokens of the question are met. What each of them found is added to what the session covers.
    fn tokens_met(&mut self, row: &CandidateRow<'_>) -> TokensMet {
        if !self.corpus.context.counts(Arm::Interaction) {
            return TokensMet::default();
        }
        let met = TokensMet::of(&self.interaction, &row.passages, self.pairs);
        if let Some(covered) = self.sessions.coverage(row.id) {
            join(covered, &met.anywhere);
        }
        met
    }

    /// How well a memory answers word for word together with the turns next to it, if those are candidates and not
    /// long.
    fn met_together(
        &self,
        rows: &[CandidateRow<'_>],
        met: &[TokensMet],
        place: usize,
        neighbours: Neighbours<u64>,
    ) -> u64 {
        let beside = |id: Option<u64>| {
            let other = rows.binary_search_by_key(&id?, |row| row.id).ok()?;
            (length(&rows[other].passages) <= LONG_TOKENS).then_some(&met[other])
        };
        met[place].together(&self.interaction, beside(neighbours.before), beside(neighbours.after))
    }

    /// Whether the question names who speaks, or else how much the query favours them, in thousandths.
    fn speaker(&self, passages: &Passages) -> u64 {
        let context = self.corpus.context;
        let named = passages.speakers.iter().any(|name| context.question.surface.contains(name));
        let boost = context.query.boost.as_ref().map_or(0, |boost| boost.of(&passages.speakers));
        (u64::from(named) * 1_000).max(boost)
    }
}

/// What a memory has of the tokens of the question.
#[derive(Clone, Debug, Default)]
pub(super) struct TokensMet {
    /// How well its best passage answers.
    pub(super) closest: u64,
    pub(super) tokens: TokenMatch,
    /// The best match of each token anywhere in it.
    pub(super) anywhere: Vec<i32>,
}

impl TokensMet {
    /// By the best passage, because a long text has a match for every word, but not in one place. The tokens were
    /// learned before.
    pub(super) fn of(
        question: &MaxSim<'_>,
        passages: &Passages,
        pairs: &BTreeSet<(u16, u16)>,
    ) -> TokensMet {
        let mut met = TokensMet::default();
        let (tokens, mut closest) = (&mut met.tokens, 0);
        for passage in passages.passages() {
            let found = question.matches(passage.iter().copied().map(u32::from));
            closest = closest.max(question.mean(&found));
            tokens.same = tokens.same.max(question.share(&found, SAME));
            join(&mut met.anywhere, &found);
        }
        tokens.same_anywhere = question.share(&met.anywhere, SAME);
        tokens.alike = question.share(&met.anywhere, ALIKE);
        let rarest = i64::from(question.heaviest(&met.anywhere)) * 1_000 / SIM_ONE;
        tokens.rarest = u64::try_from(rarest).unwrap_or(0);
        tokens.pairs = pairs_met(passages, pairs);
        met.closest = u64::try_from(closest).unwrap_or(0);
        met
    }

    /// How well the tokens are met together with the turns next to it.
    pub(super) fn together(
        &self,
        question: &MaxSim<'_>,
        before: Option<&TokensMet>,
        after: Option<&TokensMet>,
    ) -> u64 {
        let mut together = self.anywhere.clone();
        for (other, share) in [(before, MET_BEFORE), (after, MET_AFTER)] {
            let best = other.into_iter().flat_map(|other| &other.anywhere);
            let shares: Vec<i32> = best.map(|best| best / 100 * share).collect();
            join(&mut together, &shares);
        }
        u64::try_from(question.mean(&together)).unwrap_or(0)
    }
}

/// Tokens of a memory.
pub(super) fn length(passages: &Passages) -> u64 {
    passages.passages().map(|tokens| tokens.len() as u64).sum()
}

pub(super) fn saying(passages: &Passages, role: SpeakerRole, of_asker: bool) -> Saying {
    match role {
        SpeakerRole::Assistant if of_asker => Saying::SaidBack,
        SpeakerRole::Assistant => Saying::Other,
        _ if passages.speakers.is_empty() => Saying::Other,
        _ if passages.passages().any(rules::states) => Saying::Rule,
        _ if passages.passages().any(rules::prefers) => Saying::Preference,
        _ => Saying::Other,
    }
}

/// Whether a memory ends in a question mark.
pub(super) fn asks(passages: &Passages) -> bool {
    passages.passages().last().and_then(<[u16]>::last) == Some(&QUESTION_MARK)
}

/// Whether the turn before is a candidate, asks, and somebody else's.
fn replies(rows: &[CandidateRow<'_>], row: &CandidateRow<'_>, before: u64) -> bool {
    let found = rows.binary_search_by_key(&before, |other| other.id).ok();
    found.is_some_and(|place| {
        let before = &rows[place].passages;
        asks(before) && before.speakers != row.passages.speakers
    })
}

/// Keeps the better of each.
pub(super) fn join(best: &mut Vec<i32>, found: &[i32]) {
    best.resize(found.len().max(best.len()), 0);
    for (best, found) in best.iter_mut().zip(found) {
        *best = (*best).max(*found);
    }
}
