//! Files that can be read: not too wide, not too long, and with a header that says what they own.

use crate::ratchet::Finding;
use crate::source::Source;

const WIDTH_MAX: usize = 120;
/// More lines than this want a second module. Tables that are longer are listed in `ratchet.txt`.
const LINES_MAX: usize = 600;

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
