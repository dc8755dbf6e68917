//! Sessions: a memory is scored with its neighbours in the session, and a session by all of its turns.
//!
//! In a talk, the turn that answers a question often does not repeat its words; the turns around it do.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::corpus::Corpus;
use super::fusion::ONE;
use super::neighbours::Neighbours;
use crate::embedding::{MaxSim, SIM_ONE};

/// Turns of a session that count for what the session is about.
const BEST_TURNS: usize = 6;
/// How much it counts, in hundredths, that a session has a match for every word of the question, in whichever turns.
const COVERAGE: u64 = 25;

/// The sessions of the candidates. A name is compared once for each copy of it; after that a session is a number.
pub(super) struct Sessions<'a> {
    corpus: &'a Corpus<'a>,
    session_of: FxHashMap<u64, usize>,
    numbers: FxHashMap<&'a str, usize>,
    /// Copies of names by where they are: most memories of a session share one.
    copies: FxHashMap<*const u8, usize>,
    all: Vec<Session<'a>>,
}

struct Session<'a> {
    name: &'a str,
    /// All its ids, ascending, admitted or not; only of those whose neighbours were asked for.
    members: OnceCell<Cow<'a, [u64]>>,
    score: SessionScore,
}

/// How much a session is about the question.
#[derive(Default)]
pub(super) struct SessionScore {
    /// How much each of its turns is about the question.
    pub(super) turns: Vec<u64>,
    /// The best match of each word of the question in any turn.
    pub(super) covered: Vec<i32>,
    /// Of turns and coverage, once the session is weighed.
    pub(super) sum: u64,
}

/// Weighs all sessions of a question against each other.
pub(super) fn weigh(scores: &mut [&mut SessionScore], question: &MaxSim<'_>) {
    let best = scores.iter().map(|score| score.turns()).max().unwrap_or(0).max(1);
    for score in scores {
        let covered = u64::try_from(question.mean(&score.covered)).unwrap_or(0);
        let covered = covered * ONE / SIM_ONE.unsigned_abs() * COVERAGE / 100;
        score.sum = score.turns() * ONE / best + covered;
    }
}

impl<'a> Sessions<'a> {
    pub(super) fn new(corpus: &'a Corpus<'a>) -> Sessions<'a> {
        let (session_of, numbers, copies, all) = <_>::default();
        Sessions { corpus, session_of, numbers, copies, all }
    }

    /// Looks up the session of a memory.
    pub(super) fn add(&mut self, id: u64) {
        let corpus = self.corpus;
        let meta = corpus.docs.get(id);
        let Some(name) = meta.and_then(|meta| meta.session.as_deref()) else { return };
        let number = *self.copies.entry(name.as_ptr()).or_insert_with(|| {
            *self.numbers.entry(name).or_insert_with(|| {
                let (members, score) = <_>::default();
                self.all.push(Session { name, members, score });
                self.all.len() - 1
            })
        });
        self.session_of.insert(id, number);
    }

    /// Notes how much a turn is about the question.
    pub(super) fn turn(&mut self, id: u64, about: u64) {
        if let Some(score) = self.score_mut(id) {
            score.turns.push(about);
        }
    }

    /// Where to note which words of the question a turn has a match for.
    pub(super) fn coverage(&mut self, id: u64) -> Option<&mut Vec<i32>> {
        self.score_mut(id).map(|score| &mut score.covered)
    }

    fn score_mut(&mut self, id: u64) -> Option<&mut SessionScore> {
        let session = *self.session_of.get(&id)?;
        Some(&mut self.all[session].score)
    }

    /// A session about the question has several turns about it, and together they say something to each of its words.
    pub(super) fn weigh(&mut self, question: &MaxSim<'_>) {
        weigh(
            &mut self.all.iter_mut().map(|session| &mut session.score).collect::<Vec<_>>(),
            question,
        );
    }

    /// What the session of a memory is worth, once it is weighed.
    pub(super) fn score(&self, id: u64) -> u64 {
        self.session_of.get(&id).map_or(0, |session| self.all[*session].score.sum)
    }

    /// The memories of the session of a memory, ascending, and the place of this one among them.
    fn members(&self, id: u64) -> Option<(&[u64], usize)> {
        let session = &self.all[*self.session_of.get(&id)?];
        let members = session.members.get_or_init(|| self.corpus.docs.members(session.name));
        Some((members, members.partition_point(|other| *other < id)))
    }

    /// The turns around a memory, at most so many before and after it, whether or not they may be in the answer.
    pub(super) fn around(
        &self,
        id: u64,
        back: usize,
        ahead: usize,
    ) -> impl Iterator<Item = u64> + use<'_> {
        let (members, at) = self.members(id).unwrap_or_default();
        let until = members.len().min(at + 1 + ahead);
        let turns = members.get(at.saturating_sub(back)..until).unwrap_or_default();
        turns.iter().copied().filter(move |other| *other != id)
    }

    /// The turns around a memory, if they may be in the answer.
    pub(super) fn neighbours(&self, id: u64) -> Neighbours<u64> {
        let Some((members, at)) = self.members(id) else { return Neighbours::default() };
        let mut before = members[..at].iter().rev().copied().filter(|id| self.corpus.admits(*id));
        let rest = members.get(at + 1..).unwrap_or_default();
        Neighbours {
            before: before.next(),
            earlier: before.next(),
            after: rest.iter().copied().find(|id| self.corpus.admits(*id)),
        }
    }

    /// How many turns of its session came before a memory, and how many the session has.
    pub(super) fn place(&self, id: u64) -> Option<(usize, usize)> {
        self.members(id).map(|(members, at)| (at, members.len()))
    }

    /// A number for the session of a memory, the same for all of its turns.
    pub(super) fn number(&self, id: u64) -> Option<usize> {
        self.session_of.get(&id).copied()
    }

    /// Adds the neighbours of some memories to `ids`.
    pub(super) fn bring_neighbours(&mut self, leaders: &[u64], ids: &mut BTreeSet<u64>) {
        for id in leaders {
            let Neighbours { before, after, .. } = self.neighbours(*id);
            for neighbour in [before, after].into_iter().flatten() {
                if ids.insert(neighbour) {
                    self.add(neighbour);
                }
            }
        }
    }
}

impl SessionScore {
    fn turns(&self) -> u64 {
        let sum = |turns: &[u64]| turns.iter().fold(0u64, |sum, about| sum.saturating_add(*about));
        if self.turns.len() <= BEST_TURNS {
            return sum(&self.turns);
        }
        let mut turns = self.turns.clone();
        turns.sort_unstable_by(|a, b| b.cmp(a));
        sum(&turns[..BEST_TURNS])
    }
}
