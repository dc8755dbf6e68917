//! Documents say what is there: files that exist, and invariants that are counted right.

use std::collections::BTreeSet;

use crate::ratchet::Finding;
use crate::source::{Document, has_extension};

/// The document with the table of invariants.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The documents that are held to this.
pub(crate) fn is_checked(path: &str) -> bool {
    let is_page = path
        .strip_prefix("docs/")
        .is_some_and(|name| !name.contains('/') && has_extension(name, "md"));
    is_page || matches!(path, ARCHITECTURE | "CONTRIBUTING.md")
}

/// What is wrong with the numbers in the table of invariants: each is there once, from 1 on, without a gap.
pub(crate) fn miscounted_invariants(document: &Document) -> Vec<Finding> {
    if document.path != ARCHITECTURE {
        return Vec::new();
    }
    let section = document.text.split("\n## ").find(|section| section.starts_with("Invariants\n"));
    let rows =
        section.unwrap_or("").lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let numbers: Vec<usize> = rows.filter_map(|cell| cell.trim().parse().ok()).collect();
    let mut wrong = Vec::new();
    if numbers.is_empty() {
        wrong.push("there is no table of invariants".to_owned());
    }
    for (number, expected) in numbers.iter().zip(1..) {
        if *number != expected {
            wrong.push(format!("invariant {number} stands where {expected} belongs"));
        }
    }
    let finding = |place| Finding {
        rule: "miscounted-invariant",
        subject: ARCHITECTURE.to_owned(),
        amount: 1,
        place,
    };
    wrong.into_iter().map(finding).collect()
}

/// Rust files, and paths into `src` and `tests` folders, that a document names and that do not exist.
///
/// A path may begin at the root, at `crates`, or anywhere below, as long as it ends like one that is there.
pub(crate) fn missing_paths(document: &Document, existing: &BTreeSet<&str>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in document.text.lines().enumerate() {
        for path in named_paths(line).iter().flat_map(|path| alternatives(path)) {
            if !existing.contains(path.trim_end_matches('/')) {
                let place = format!("{}:{}: {path}", document.path, number + 1);
                found.push(Finding {
                    rule: "missing-path",
                    subject: document.path.clone(),
                    amount: 1,
                    place,
                });
            }
        }
    }
    found
}

/// Every ending of the path of every file and folder: `crates/a/src/b.rs` gives `crates`, `src/b.rs` and so on.
pub(crate) fn endings(paths: &[String]) -> BTreeSet<&str> {
    let mut endings = BTreeSet::new();
    for path in paths {
        let starts = path.match_indices('/').map(|(at, _)| at + 1);
        for start in std::iter::once(0).chain(starts) {
            let ending = &path[start..];
            let ends = ending.match_indices('/').map(|(at, _)| at);
            endings.extend(ends.map(|end| &ending[..end]));
            endings.insert(ending);
        }
    }
    endings
}

/// The Rust files, and the paths with a folder `src` or `tests`, in a line of text.
fn named_paths(line: &str) -> Vec<&str> {
    let is_part =
        |character: char| character.is_ascii_alphanumeric() || "_/.{},-…*<>".contains(character);
    let words = line.split(|character| !is_part(character));
    let trimmed = words.map(|word| word.trim_matches(|end| ".,-".contains(end)));
    let is_path = |word: &&str| {
        let is_pattern = word.contains(|odd| "…*<>".contains(odd));
        let has_folder = word.starts_with("src/")
            || word.starts_with("tests/")
            || word.contains("/src/")
            || word.contains("/tests/");
        (has_folder || has_extension(word, "rs")) && !is_pattern && !word.starts_with('/')
    };
    trimmed.filter(is_path).collect()
}

/// `a/{b,c}.rs` names two files.
fn alternatives(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let Some((inside, after)) = rest.split_once('}') else {
        return vec![path.to_owned()];
    };
    inside.split(',').flat_map(|one| alternatives(&format!("{before}{one}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::made_up;

    fn miscounted(text: &str) -> Vec<String> {
        let documents = made_up(&[(ARCHITECTURE, text)]);
        miscounted_invariants(&documents[0]).into_iter().map(|finding| finding.place).collect()
    }

    fn table(numbers: &[&str]) -> String {
        let rows: String =
            numbers.iter().map(|number| ["| ", number, " | a law | a test |\n"].concat()).collect();
        let head = "| | what | held by |\n|---|---|---|\n";
        format!("# A\n\n| 9 | no invariant |\n\n## Invariants\n\n{head}{rows}\n## B\n\n| 7 | x |\n")
    }

    #[test]
    fn invariants_are_counted_once_and_without_a_gap() {
        assert_eq!(miscounted(&table(&["1", "2", "3"])), Vec::<String>::new());
        let doubled = ["invariant 2 stands where 3 belongs", "invariant 3 stands where 4 belongs"];
        assert_eq!(miscounted(&table(&["1", "2", "2", "3"])), doubled);
        for wrong in [&["1", "3"][..], &["2", "3"], &["2", "1"], &[]] {
            assert!(!miscounted(&table(wrong)).is_empty(), "{wrong:?}");
        }
        assert_eq!(miscounted("no section"), ["there is no table of invariants"]);
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let paths: Vec<String> =
            ["crates/a/src/b/c.rs", "crates/a/src/d.rs", "crates/a/tests/e.rs"]
                .map(str::to_owned)
                .into();
        let there = "`crates/a/src/b/` and `a/src/{d,b/c}.rs`, tests/e.rs. See b/src/…, /usr/src/x, src/*.rs, `src/b`.";
        let missing = "[x](crates/a/src/no.rs) `a/src/{d,gone}.rs` (tests/old.rs), b/src/d.rs\n\
                       `c/tests/` `b/c.rs` `c.rs` `f.rs` a/d.rs";
        let document = &made_up(&[("docs/x.md", &format!("{there}\n{missing}\n"))])[0];
        let found = missing_paths(document, &endings(&paths));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        let expected = [
            "docs/x.md:2: crates/a/src/no.rs",
            "docs/x.md:2: a/src/gone.rs",
            "docs/x.md:2: tests/old.rs",
            "docs/x.md:2: b/src/d.rs",
            "docs/x.md:3: c/tests/",
            "docs/x.md:3: f.rs",
            "docs/x.md:3: a/d.rs",
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn documents_at_the_root_and_in_docs_are_checked() {
        assert!(is_checked("docs/format.md") && is_checked("ARCHITECTURE.md"));
        assert!(
            !is_checked("docs/old/x.md")
                && !is_checked("crates/a/README.md")
                && !is_checked("CHANGELOG.md")
        );
    }
}
