//! What a client did and saw, and whether one memory, used by one at a time, could have answered so.
//!
//! A memory is a list that only grows. Entry numbers order writes; the highest number that a read saw orders reads. The
//! history is linearizable if that order contradicts no pair of requests of which one ended before the other began, and
//! every read saw all there is up to its highest number.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// What one request did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// A write that was acknowledged with this number.
    Wrote { name: String, id: u64 },
    /// A write of which nobody told what became.
    MayHaveWritten { name: String },
    /// A read of the newest memories: their numbers and names.
    Read { seen: BTreeMap<u64, String> },
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) actor: String,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) done: Done,
}

/// A read or write with its place in the order: the number, and reads after writes of the same.
struct Placed<'e> {
    event: &'e Event,
    place: (u64, bool),
}

/// What is wrong with the history of one actor, given what is there in the end.
pub(crate) fn problems(actor: &str, events: &[Event], last: &BTreeMap<u64, String>) -> Vec<String> {
    let mut found = Vec::new();
    let events: Vec<&Event> = events.iter().filter(|event| event.actor == actor).collect();
    let mut names = BTreeMap::<&str, Vec<u64>>::new();
    for (id, name) in last {
        names.entry(name).or_default().push(*id);
    }
    for (name, ids) in names.iter().filter(|(_, ids)| ids.len() > 1) {
        found.push(format!("{actor}: {name} is there more than once: {ids:?}"));
    }
    let asked: BTreeSet<&str> = events
        .iter()
        .filter_map(|event| match &event.done {
            Done::Wrote { name, .. } | Done::MayHaveWritten { name } => Some(&**name),
            Done::Read { .. } => None,
        })
        .collect();
    for name in names.keys().filter(|name| !asked.contains(*name)) {
        found.push(format!("{actor}: nobody wrote {name}"));
    }
    let mut placed = Vec::new();
    for event in &events {
        let place = match &event.done {
            Done::Wrote { name, id } => {
                if last.get(id) != Some(name) {
                    found
                        .push(format!("{actor}: {name} was acknowledged as {id} and is not there"));
                }
                (*id, false)
            }
            Done::MayHaveWritten { .. } => continue,
            Done::Read { seen } => {
                let (low, high) = (seen.keys().next().copied(), seen.keys().next_back().copied());
                let high = high.unwrap_or(0);
                let between = last.range(low.unwrap_or(0)..=high);
                if !between.eq(seen.iter()) {
                    found.push(format!("{actor}: a read up to {high} did not see what was there"));
                }
                (high, true)
            }
        };
        placed.push(Placed { event, place });
    }
    // Of all that ended before this one began, none may come behind it in the order.
    placed.sort_by_key(|one| one.event.began);
    let mut by_end: Vec<&Placed<'_>> = placed.iter().collect();
    by_end.sort_by_key(|one| one.event.ended);
    let (mut ended, mut highest) = (0, (0, false));
    for one in &placed {
        while by_end.get(ended).is_some_and(|other| other.event.ended < one.event.began) {
            highest = highest.max(by_end[ended].place);
            ended += 1;
        }
        let is_behind = if one.place.1 { one.place.0 < highest.0 } else { one.place <= highest };
        if is_behind && highest.0 > 0 {
            found.push(format!(
                "{actor}: {:?} comes after {highest:?}, which ended before",
                one.place
            ));
        }
    }
    found
}

/// When writes were acknowledged.
pub(crate) fn acknowledgements(events: &[Event]) -> Vec<Instant> {
    let wrote = events.iter().filter(|event| matches!(event.done, Done::Wrote { .. }));
    wrote.map(|event| event.ended).collect()
}

/// The longest time between two acknowledgements: when it began, and how long it was.
pub(crate) fn longest_silence(mut ends: Vec<Instant>) -> Option<(Instant, Duration)> {
    ends.sort();
    let silences = ends.windows(2).map(|pair| (pair[0], pair[1] - pair[0]));
    silences.max_by_key(|(_, time)| *time)
}

mod tests {
    use super::*;

    fn event(span: (u64, u64), done: Done) -> Event {
        let start = Instant::now().checked_add(Duration::from_secs(1_000)).unwrap();
        // All of one test are made within a second.
        let part = Duration::from_millis(u64::from(start.elapsed().subsec_millis()));
        let base = start.checked_sub(part).unwrap();
        let at = |seconds| base + Duration::from_secs(seconds * 10);
        Event { actor: "ada".into(), began: at(span.0), ended: at(span.1), done }
    }

    fn wrote(span: (u64, u64), id: u64) -> Event {
        event(span, Done::Wrote { name: format!("m{id}"), id })
    }

    fn read(span: (u64, u64), ids: &[u64]) -> Event {
        let seen = ids.iter().map(|id| (*id, format!("m{id}"))).collect();
        event(span, Done::Read { seen })
    }

    fn there(ids: &[u64]) -> BTreeMap<u64, String> {
        ids.iter().map(|id| (*id, format!("m{id}"))).collect()
    }

    #[test]
    fn what_one_memory_could_have_answered_is_fine() {
        let events = [
            wrote((0, 3), 2),
            wrote((1, 2), 1),
            read((1, 4), &[1]),
            read((5, 6), &[1, 2]),
            event((7, 8), Done::MayHaveWritten { name: "m3".into() }),
        ];
        assert_eq!(problems("ada", &events, &there(&[1, 2, 3])), Vec::<String>::new());
        assert_eq!(problems("ada", &events, &there(&[1, 2])), Vec::<String>::new());
    }

    #[test]
    fn lost_doubled_reordered_and_outdated_are_found() {
        let lost = [wrote((0, 1), 1)];
        assert_eq!(problems("ada", &lost, &there(&[])).len(), 1);
        let mut doubled = there(&[1]);
        doubled.insert(2, "m1".into());
        assert_eq!(problems("ada", &lost, &doubled).len(), 1);
        let reordered = [wrote((0, 1), 2), wrote((2, 3), 1)];
        assert_eq!(problems("ada", &reordered, &there(&[1, 2])).len(), 1);
        let outdated = [wrote((0, 1), 1), wrote((0, 1), 2), read((2, 3), &[1])];
        assert_eq!(problems("ada", &outdated, &there(&[1, 2])).len(), 1);
        let back = [read((0, 1), &[1, 2]), read((2, 3), &[1]), wrote((0, 9), 1), wrote((0, 9), 2)];
        assert_eq!(problems("ada", &back, &there(&[1, 2])).len(), 1);
        let future = [read((0, 1), &[1]), wrote((2, 3), 1)];
        assert_eq!(problems("ada", &future, &there(&[1])).len(), 1);
        let hole = [wrote((0, 9), 1), wrote((0, 9), 2), wrote((0, 9), 3), read((0, 9), &[1, 3])];
        assert_eq!(problems("ada", &hole, &there(&[1, 2, 3])).len(), 1);
    }
}
