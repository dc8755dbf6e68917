//! Who is next: limits per host, provider and talent, and a queue that is fair.
//!
//! Runs wait in lanes, one per caller and talent, and lanes take turns: whoever asks for a hundred runs does not
//! hold up whoever asks for one. A run that a limit holds back does not hold back the others behind it. Pure: no
//! clock, no task.

use std::collections::{BTreeMap, VecDeque};

use super::RunnerSettings;
use talents::UseId;

/// A run that waits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Waiting {
    pub(super) run: UseId,
    pub(super) talent: String,
    pub(super) provider: String,
}

#[derive(Debug)]
struct Lane {
    key: (String, String),
    waiting: VecDeque<Waiting>,
}

/// The runs that wait, and counts of those that go on.
#[derive(Debug)]
pub(super) struct Queue {
    settings: RunnerSettings,
    /// The next turn is the front's.
    lanes: VecDeque<Lane>,
    going: usize,
    by_provider: BTreeMap<String, usize>,
    by_talent: BTreeMap<String, usize>,
}

impl Queue {
    pub(super) fn new(settings: RunnerSettings) -> Queue {
        Queue {
            settings,
            lanes: VecDeque::new(),
            going: 0,
            by_provider: BTreeMap::new(),
            by_talent: BTreeMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting.len()).sum()
    }

    pub(super) fn push(&mut self, caller: &str, waiting: Waiting) {
        let key = (caller.to_owned(), waiting.talent.clone());
        match self.lanes.iter_mut().find(|lane| lane.key == key) {
            Some(lane) => lane.waiting.push_back(waiting),
            None => self.lanes.push_back(Lane { key, waiting: [waiting].into() }),
        }
    }

    /// Takes the run whose turn it is, if a limit does not forbid every one. It counts as going until `done`.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        if self.going >= self.settings.runs_max {
            return None;
        }
        let (lane, place) = self.lanes.iter().enumerate().find_map(|(index, lane)| {
            let place = lane.waiting.iter().position(|waiting| self.may_go(waiting))?;
            Some((index, place))
        })?;
        let mut taken = self.lanes.remove(lane)?;
        let next = taken.waiting.remove(place)?;
        if !taken.waiting.is_empty() {
            self.lanes.push_back(taken);
        }
        self.going += 1;
        *self.by_provider.entry(next.provider.clone()).or_default() += 1;
        *self.by_talent.entry(next.talent.clone()).or_default() += 1;
        Some(next)
    }

    fn may_go(&self, waiting: &Waiting) -> bool {
        let below = |going: &BTreeMap<String, usize>,
                     limits: &BTreeMap<String, usize>,
                     other: usize,
                     key: &String| {
            going.get(key).copied().unwrap_or(0) < limits.get(key).copied().unwrap_or(other)
        };
        let settings = &self.settings;
        below(
            &self.by_provider,
            &settings.provider_limits,
            settings.runs_per_provider_max,
            &waiting.provider,
        ) && below(
            &self.by_talent,
            &settings.talent_limits,
            settings.runs_per_talent_max,
            &waiting.talent,
        )
    }

    /// A run that was going has ended.
    pub(super) fn done(&mut self, talent: &str, provider: &str) {
        self.going = self.going.saturating_sub(1);
        for (counts, key) in [(&mut self.by_provider, provider), (&mut self.by_talent, talent)] {
            if let Some(count) = counts.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(key);
                }
            }
        }
    }

    /// Takes out a run that waits; `false` if it does not wait.
    pub(super) fn remove(&mut self, run: &UseId) -> bool {
        for index in 0..self.lanes.len() {
            let waiting = &mut self.lanes[index].waiting;
            if let Some(place) = waiting.iter().position(|waiting| waiting.run == *run) {
                waiting.remove(place);
                if waiting.is_empty() {
                    self.lanes.remove(index);
                }
                return true;
            }
        }
        false
    }

    /// How many turns until this run's, as far as limits allow; 1 is next.
    pub(super) fn position(&self, run: &UseId) -> Option<usize> {
        let (mine, depth) = self.lanes.iter().enumerate().find_map(|(index, lane)| {
            Some((index, lane.waiting.iter().position(|waiting| waiting.run == *run)?))
        })?;
        let before = self.lanes.iter().enumerate().map(|(index, lane)| {
            let turns = if index < mine { depth + 1 } else { depth };
            lane.waiting.len().min(turns)
        });
        Some(before.sum::<usize>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn waiting(run: u64, talent: &str, provider: &str) -> Waiting {
        Waiting {
            run: UseId::from_millis(run),
            talent: talent.to_owned(),
            provider: provider.to_owned(),
        }
    }

    // execution 9.10
    #[test]
    fn lanes_take_turns_and_positions_say_when() {
        let settings = RunnerSettings { runs_max: 100, ..RunnerSettings::default() };
        let mut queue = Queue::new(RunnerSettings {
            runs_per_talent_max: 100,
            runs_per_provider_max: 100,
            ..settings
        });
        for run in 0..4 {
            queue.push("many", waiting(run, "a", "p"));
        }
        queue.push("one", waiting(10, "a", "p"));
        queue.push("many", waiting(20, "b", "p"));
        let at = |queue: &Queue, run| queue.position(&UseId::from_millis(run));
        assert_eq!((at(&queue, 0), at(&queue, 10), at(&queue, 20)), (Some(1), Some(2), Some(3)));
        assert_eq!((at(&queue, 1), at(&queue, 3), at(&queue, 99)), (Some(4), Some(6), None));
        let order: Vec<String> =
            std::iter::from_fn(|| queue.next().map(|next| next.run.to_string())).collect();
        assert_eq!(order, ["0", "10", "20", "1", "2", "3"]);
    }

    #[test]
    fn a_limit_holds_back_only_what_it_limits() {
        let mut queue = Queue::new(RunnerSettings {
            provider_limits: [("slow".to_owned(), 1)].into(),
            talent_limits: [("b".to_owned(), 0)].into(),
            ..RunnerSettings::default()
        });
        queue.push("x", waiting(1, "a", "slow"));
        queue.push("x", waiting(2, "a", "slow"));
        queue.push("x", waiting(3, "a", "quick"));
        queue.push("x", waiting(4, "b", "quick"));
        let mut next = || queue.next().map(|next| next.run.to_string());
        assert_eq!(next().as_deref(), Some("1"));
        assert_eq!(next().as_deref(), Some("3"));
        assert_eq!(next(), None);
        queue.done("a", "slow");
        assert_eq!(queue.next().map(|next| next.run.to_string()).as_deref(), Some("2"));
        assert!(queue.remove(&UseId::from_millis(4)) && !queue.remove(&UseId::from_millis(4)));
        assert_eq!((queue.len(), queue.going), (0, 2));
    }

    proptest! {
        // execution 9.10: never more than the limits, nobody is forgotten, and position counts the turns
        #[test]
        fn every_run_gets_its_turn(
            asked in prop::collection::vec((0usize..3, 0usize..3, 0usize..2), 1..60),
            ends in prop::collection::vec(any::<prop::sample::Index>(), 200),
        ) {
            let mut queue = Queue::new(RunnerSettings {
                runs_max: 4, runs_per_talent_max: 3, runs_per_provider_max: 3, ..RunnerSettings::default()
            });
            for (run, (caller, talent, provider)) in asked.iter().enumerate() {
                queue.push(&caller.to_string(), waiting(run as u64, &talent.to_string(), &provider.to_string()));
            }
            let mut going: Vec<Waiting> = Vec::new();
            let mut seen = 0;
            let mut ends = ends.into_iter();
            while seen < asked.len() {
                while let Some(next) = queue.next() {
                    seen += 1;
                    going.push(next);
                }
                prop_assert!(going.len() <= 4 && !going.is_empty());
                for talent in ["0", "1", "2"] {
                    prop_assert!(going.iter().filter(|run| run.talent == talent).count() <= 3);
                }
                let index = ends.next().map_or(0, |index| index.index(going.len()));
                let ended = going.swap_remove(index);
                queue.done(&ended.talent, &ended.provider);
            }
            prop_assert_eq!(queue.len(), 0);
        }
    }
}
