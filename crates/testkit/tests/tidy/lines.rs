//! Files that can be read: not too wide, not too long, and with a header that says what they own. Crates of a size that
//! one person can know.

use std::collections::BTreeMap;

use crate::ratchet::Finding;
use crate::source::Source;

const WIDTH_MAX: usize = 120;
/// More lines than this want a second module. Tables that are longer are listed in `ratchet.txt`.
const LINES_MAX: usize = 600;
/// A crate with fewer lines in `src` is a module of another; one with more has a second crate in it.
const CRATE_LINES: std::ops::RangeInclusive<usize> = 1_000..=12_000;
/// What a crate has too much is counted in steps, so that a line more or less is no finding.
const CRATE_STEP: usize = 1_000;

/// Lines that are too wide, in all Rust files. In a comment a table and an address may be as wide as they are.
pub(crate) fn wide(source: &Source<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let width = line.chars().count();
        let comment = line
            .trim_start()
            .strip_prefix("//")
            .map(|rest| rest.trim_start_matches(['/', '!', ' ']));
        let is_free = comment.is_some_and(|text| text.starts_with('|') || text.contains("://"));
        if width > WIDTH_MAX && !is_free {
            let place = format!("{}:{}: {width} characters", source.path, number + 1);
            found.push(Finding {
                rule: "wide-lines",
                subject: source.member.to_owned(),
                amount: 1,
                place,
            });
        }
    }
    found
}

/// A file of `src` that is too long, with its length.
pub(crate) fn long(source: &Source<'_>) -> Option<Finding> {
    let amount = source.text.lines().count();
    let is_long = source.inside_src().is_some() && amount > LINES_MAX;
    let path = source.path.to_owned();
    is_long.then(|| Finding { rule: "long-file", subject: path.clone(), amount, place: path })
}

/// Crates that are too large or too small, by all lines of their `src`, in steps from the bound.
pub(crate) fn crate_sizes(sources: &[Source<'_>]) -> Vec<Finding> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.inside_src().is_some()) {
        *sizes.entry(source.member).or_default() += source.text.lines().count();
    }
    let mut found = Vec::new();
    for (member, lines) in sizes {
        let (low, high) = (*CRATE_LINES.start(), *CRATE_LINES.end());
        let (rule, beyond) = match lines {
            _ if lines > high => ("large-crate", lines - high),
            _ if lines < low => ("small-crate", low - lines),
            _ => continue,
        };
        let amount = beyond.div_ceil(CRATE_STEP);
        let place = format!("crates/{member}/src: {lines} lines");
        found.push(Finding { rule, subject: member.to_owned(), amount, place });
    }
    found
}

/// Files that do not open with `//!`.
pub(crate) fn without_header(sources: &[Source<'_>]) -> Vec<String> {
    let is_bare = |source: &&Source<'_>| !source.text.starts_with("//! ");
    sources.iter().filter(is_bare).map(|source| source.path.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{made_up, sources};

    #[test]
    fn a_line_is_wide_by_its_characters() {
        let (fits, wide_one) = ("ü".repeat(120), "x".repeat(121));
        let text = format!(
            "{fits}\n{wide_one}\n    /// {wide_one}\n//! | {wide_one} |\n\
             // see https://example.org/{wide_one}\n\"https://{wide_one}\""
        );
        let files = made_up(&[("crates/a/tests/x.rs", &text)]);
        let found = wide(&sources(&files)[0]);
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        let expected = [
            "crates/a/tests/x.rs:2: 121 characters",
            "crates/a/tests/x.rs:3: 129 characters",
            "crates/a/tests/x.rs:6: 131 characters",
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn a_long_file_counts_with_its_lines() {
        let text = "x\n".repeat(601);
        let files = made_up(&[
            ("crates/a/src/x.rs", &text),
            ("crates/a/src/y.rs", &text[2..]),
            ("crates/a/tests/x.rs", &text),
        ]);
        let found: Vec<_> = sources(&files).iter().filter_map(long).collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].subject.as_str(), found[0].amount), ("crates/a/src/x.rs", 601));
    }

    #[test]
    fn a_crate_is_neither_large_nor_small() {
        let (half, little) = ("x\n".repeat(6_001), "x\n".repeat(999));
        let files = made_up(&[
            ("crates/large/src/lib.rs", &half),
            ("crates/large/src/tests/x.rs", &half),
            ("crates/right/src/lib.rs", &half),
            ("crates/right/tests/y.rs", &half),
            ("crates/small/src/lib.rs", &little),
        ]);
        let found = crate_sizes(&sources(&files));
        let found: Vec<_> = found.iter().map(|f| (f.rule, f.subject.as_str(), f.amount)).collect();
        assert_eq!(found, [("large-crate", "large", 1), ("small-crate", "small", 1)]);
    }

    #[test]
    fn a_file_without_a_header_is_named() {
        let files = made_up(&[
            ("crates/a/src/good.rs", "//! What it owns.\n"),
            ("crates/a/src/bad.rs", "// Not a header.\n"),
            ("crates/a/tests/late.rs", "use a;\n//! Late.\n"),
            ("crates/a/src/empty.rs", ""),
        ]);
        let expected = ["crates/a/src/bad.rs", "crates/a/tests/late.rs", "crates/a/src/empty.rs"];
        assert_eq!(without_header(&sources(&files)), expected);
    }
}
