//! Which entries were there at a moment, though the clock may have been wrong now and then.
//!
//! Order is the seq, never the clock. Where times run back, some of them are wrong, and nothing says which.
//! The longest line of entries whose times never run back is taken for what the clock really did; entries beside it
//! (one written under a clock ten years ahead, some under one that began in 1970) count as written where they stand.
//! What must stay true: a moment is the end of a prefix of the journal, and a later moment never has fewer entries.

/// How many of the first entries there were at `moment`: all that stand before the first one of the line that is later.
pub(super) fn entries_at(times: &[i64], moment: i64) -> usize {
    let line = longest_line(times);
    line.into_iter().find(|nth| times[*nth] > moment).unwrap_or(times.len())
}

/// Places of the longest line of times that never run back; of several, one that ends lowest.
fn longest_line(times: &[i64]) -> Vec<usize> {
    if times.is_sorted() {
        return (0..times.len()).collect();
    }
    // For each length, the place where a line of it ends lowest; and for each place the one before it in its line.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; times.len()];
    for (nth, time) in times.iter().enumerate() {
        let length = ends.partition_point(|end| times[*end] <= *time);
        before[nth] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = nth,
            None => ends.push(nth),
        }
    }
    let mut line = Vec::with_capacity(ends.len());
    let mut place = ends.last().copied();
    while let Some(nth) = place {
        line.push(nth);
        place = before[nth];
    }
    line.reverse();
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const YEAR: i64 = 31_536_000_000;

    // L15
    #[test]
    fn a_wrong_clock_moves_nothing_but_its_own_entries() {
        let ahead = [100, 200, 10 * YEAR, 10 * YEAR + 1, 300, 400, 500];
        assert_eq!(entries_at(&ahead, 250), 4, "those of the wrong clock stand before 300");
        assert_eq!(entries_at(&ahead, 300), 5);
        assert_eq!(entries_at(&ahead, 10 * YEAR), 7);
        let behind = [1_000, 2_000, 2_200, 1, 2, 3_000, 4_000, 5_000];
        assert_eq!(entries_at(&behind, 500), 0, "1970 is before everything");
        assert_eq!(entries_at(&behind, 2_500), 5);
        let an_hour_ahead = [1_000, 2_000, 3_000, 2_100, 2_200, 3_100];
        assert_eq!(entries_at(&an_hour_ahead, 2_150), 4);
        assert_eq!(entries_at(&[], 5), 0);
    }

    proptest! {
        #[test]
        fn a_later_moment_never_has_fewer_entries(
            times in prop::collection::vec(0..50_i64, 0..40), early in 0..50_i64, more in 0..50_i64,
        ) {
            let (first, second) = (entries_at(&times, early), entries_at(&times, early + more));
            prop_assert!(first <= second);
            prop_assert_eq!(entries_at(&times, 50), times.len());
            if times.is_sorted() {
                prop_assert_eq!(first, times.partition_point(|time| *time <= early));
            }
        }

        #[test]
        fn the_line_is_the_longest(times in prop::collection::vec(0..8_i64, 0..9)) {
            let longest = (0_u32..1 << times.len())
                .filter_map(|chosen| {
                    let line: Vec<i64> = (0..times.len())
                        .filter(|nth| chosen & (1 << nth) != 0)
                        .map(|nth| times[nth])
                        .collect();
                    line.is_sorted().then_some(line.len())
                })
                .max();
            let line = longest_line(&times);
            prop_assert!(line.iter().map(|nth| times[*nth]).is_sorted());
            prop_assert_eq!(Some(line.len()), longest);
        }
    }
}
