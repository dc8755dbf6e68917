//! Sessions: what was said before and after belongs to what was said.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::filter::Judge;
use super::fuse::ONE;
use crate::embed::{MaxSim, SIM_ONE};

/// Turns of a session that count for what the session is about.
const BEST_TURNS: usize = 6;
/// How much it counts, in hundredths, that a session has a match for every word of the question, in whichever turns.
const COVERAGE: u64 = 25;

/// The sessions of the candidates.
pub(super) struct Sessions<'a> {
    judge: &'a Judge<'a>,
    session_of: FxHashMap<u64, Arc<str>>,
    /// All ids of a session, ascending, admitted or not.
    members: FxHashMap<Arc<str>, Cow<'a, [u64]>>,
    told: FxHashMap<Arc<str>, Told>,
}

/// What a session has to say to a question.
#[derive(Default)]
struct Told {
    /// How much its turns are about it, each.
    turns: Vec<u64>,
    /// The best match of each word of the question in any turn.
    covered: Vec<i32>,
    score: u64,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(judge: &'a Judge<'a>) -> Sessions<'a> {
        let (session_of, members, told) = <_>::default();
        Sessions { judge, session_of, members, told }
    }

    /// Looks up the session of a memory.
    pub(super) fn add(&mut self, id: u64) {
        let place = self.judge.placed.get(id);
        let Some(session) = place.and_then(|place| place.session.as_ref()) else { return };
        if !self.members.contains_key(session) {
            self.members.insert(Arc::clone(session), self.judge.placed.members(session));
        }
        self.session_of.insert(id, Arc::clone(session));
    }

    /// Notes how much a turn is about the question.
    pub(super) fn turn(&mut self, id: u64, about: u64) {
        if let Some(told) = self.told(id) {
            told.turns.push(about);
        }
    }

    /// Where to note which words of the question a turn has a match for.
    pub(super) fn coverage(&mut self, id: u64) -> Option<&mut Vec<i32>> {
        self.told(id).map(|told| &mut told.covered)
    }

    fn told(&mut self, id: u64) -> Option<&mut Told> {
        let session = self.session_of.get(&id)?;
        Some(self.told.entry(Arc::clone(session)).or_default())
    }

    /// A session about the question has several turns about it, and together they say something to each of its words.
    pub(super) fn weigh(&mut self, question: &MaxSim<'_>) {
        let best = self.told.values().map(Told::turns).max().unwrap_or(0).max(1);
        for told in self.told.values_mut() {
            let covered = u64::try_from(question.mean(&told.covered)).unwrap_or(0);
            let covered = covered * ONE / SIM_ONE.unsigned_abs() * COVERAGE / 100;
            told.score = told.turns() * ONE / best + covered;
        }
    }

    /// What the session of a memory is worth, once it is weighed.
    pub(super) fn score(&self, id: u64) -> u64 {
        let told = self.session_of.get(&id).and_then(|session| self.told.get(session));
        told.map_or(0, |told| told.score)
    }

    /// The turns before and after, if they may be in the answer.
    pub(super) fn neighbours(&self, id: u64) -> [Option<u64>; 2] {
        let members = self.session_of.get(&id).and_then(|session| self.members.get(session));
        let Some(members) = members else { return [None, None] };
        let at = members.partition_point(|other| *other < id);
        let before = members[..at].iter().rev().copied().find(|id| self.judge.admits(*id));
        let rest = members.get(at + 1..).unwrap_or_default();
        [before, rest.iter().copied().find(|id| self.judge.admits(*id))]
    }

    /// Adds the neighbours of some memories to `ids`.
    pub(super) fn bring_neighbours(&mut self, leaders: &[u64], ids: &mut BTreeSet<u64>) {
        for id in leaders {
            for neighbour in self.neighbours(*id).into_iter().flatten() {
                if ids.insert(neighbour) {
                    self.add(neighbour);
                }
            }
        }
    }
}

impl Told {
    fn turns(&self) -> u64 {
        let mut turns = self.turns.clone();
        turns.sort_unstable_by(|a, b| b.cmp(a));
        turns.iter().take(BEST_TURNS).fold(0, |sum, about| sum.saturating_add(*about))
    }
}

/// A score with a share of its neighbours'.
pub(super) fn smooth(own: u64, [before, after]: [Option<u64>; 2]) -> u64 {
    own.saturating_mul(100)
        .saturating_add(before.unwrap_or(0).saturating_mul(45))
        .saturating_add(after.unwrap_or(0).saturating_mul(30))
}
