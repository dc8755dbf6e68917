//! Neighbours: the turns around a memory in its session, and what their scores are worth to it.
//!
//! "Mostly the boats." answers a question of which it repeats no word; the turn that it replies to has them. What must
//! stay true: whole numbers only; a turn counts less than the memory itself.

/// Something of the turns around a memory that may be in the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Neighbours<T> {
    /// The turn before the one before: in a talk of two, mostly of the same speaker.
    pub(super) earlier: Option<T>,
    pub(super) before: Option<T>,
    pub(super) after: Option<T>,
}

impl<T: Copy> Neighbours<T> {
    pub(super) fn iter(&self) -> impl Iterator<Item = T> + use<T> {
        [self.earlier, self.before, self.after].into_iter().flatten()
    }

    pub(super) fn map<U>(self, of: impl Fn(T) -> U) -> Neighbours<U> {
        Neighbours {
            earlier: self.earlier.map(&of),
            before: self.before.map(&of),
            after: self.after.map(&of),
        }
    }
}

impl<T, E> Neighbours<Result<T, E>> {
    pub(super) fn transpose(self) -> Result<Neighbours<T>, E> {
        Ok(Neighbours {
            earlier: self.earlier.transpose()?,
            before: self.before.transpose()?,
            after: self.after.transpose()?,
        })
    }
}

/// Shares of the scores around a memory that count as its own, in hundredths.
const EARLIER: u64 = 10;
const BEFORE: u64 = 25;
const AFTER: u64 = 20;
/// What the turn before counts more if it is a question to which the memory replies.
const REPLIED_TO: u64 = 25;

/// A score with a share of the scores around it. `replies`: the turn before is a question of somebody else.
pub(super) fn smooth(own: u64, around: Neighbours<u64>, replies: bool) -> u64 {
    let before = BEFORE + if replies { REPLIED_TO } else { 0 };
    let share = |score: Option<u64>, share: u64| score.unwrap_or(0).saturating_mul(share);
    as_smoothed(own)
        .saturating_add(share(around.earlier, EARLIER))
        .saturating_add(share(around.before, before))
        .saturating_add(share(around.after, AFTER))
}

/// A score as `smooth` has it for a memory with nothing around it.
pub(super) fn as_smoothed(own: u64) -> u64 {
    own.saturating_mul(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_counts_more_than_any_turn_around_it() {
        let around = |earlier, before, after| Neighbours {
            earlier: Some(earlier),
            before: Some(before),
            after: Some(after),
        };
        let alone = smooth(7, Neighbours::default(), true);
        assert_eq!(alone, smooth(7, around(0, 0, 0), false));
        for turns in [around(7, 0, 0), around(0, 7, 0), around(0, 0, 7)] {
            let with = smooth(0, turns, true);
            assert!(with > 0 && with < alone, "{turns:?}");
        }
        assert!(smooth(1, around(1, 9, 1), true) > smooth(1, around(1, 9, 1), false));
        assert_eq!(smooth(u64::MAX, around(u64::MAX, u64::MAX, u64::MAX), true), u64::MAX);
    }
}
