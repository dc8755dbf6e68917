//! What a set-up did to a text, kept so that it can be undone to the last byte.
//!
//! A change is the text that was there, the text that is there now, and where. On the text as we left it, undoing is
//! exact. On a text that somebody edited since, each change is looked for by its words; if one cannot be found, the
//! caller removes our entries by their meaning instead.

use serde::{Deserialize, Serialize};
use similar::{DiffOp, TextDiff};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    /// Byte in the new text.
    pub at: usize,
    pub old: String,
    pub new: String,
}

/// The changes that lead from one text to another, as small as they get, in order.
pub(super) fn between(old: &str, new: &str) -> Vec<Change> {
    let diff = TextDiff::from_lines(old, new);
    let starts = |lines: Vec<&str>| {
        let mut starts = vec![0];
        for line in lines {
            starts.push(starts.last().expect("it has a first element") + line.len());
        }
        starts
    };
    let old_starts = starts(old.split_inclusive('\n').collect());
    let new_starts = starts(new.split_inclusive('\n').collect());
    let mut changes = Vec::new();
    for op in diff.ops() {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (from, to) = (op.old_range(), op.new_range());
        let was = &old[old_starts[from.start]..old_starts[from.end]];
        let is = &new[new_starts[to.start]..new_starts[to.end]];
        let before = shared(was.chars(), is.chars());
        let after = shared(was[before..].chars().rev(), is[before..].chars().rev());
        changes.push(Change {
            at: new_starts[to.start] + before,
            old: was[before..was.len() - after].to_owned(),
            new: is[before..is.len() - after].to_owned(),
        });
    }
    changes
}

/// Bytes that two texts have in common, from where the iterators start.
fn shared(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// Undoes changes in the very text that they made.
pub(super) fn undo(text: &str, changes: &[Change]) -> Option<String> {
    let mut text = text.to_owned();
    for change in changes.iter().rev() {
        let range = change.at..change.at.checked_add(change.new.len())?;
        if text.get(range.clone())? != change.new {
            return None;
        }
        text.replace_range(range, &change.old);
    }
    Some(text)
}

/// Undoes changes in a text that was edited since, if each of them can still be found.
pub(super) fn undo_by_words(text: &str, changes: &[Change]) -> Option<String> {
    let mut text = text.to_owned();
    for change in changes.iter().rev() {
        if change.new.is_empty() {
            return None;
        }
        let places = text.match_indices(&change.new).map(|(at, _)| at);
        let at = places.min_by_key(|at| at.abs_diff(change.at))?;
        text.replace_range(at..at + change.new.len(), &change.old);
    }
    Some(text)
}

/// The change of a file as people read it.
pub(super) fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let name = |text: Option<&str>| if text.is_some() { path } else { "/dev/null" };
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    diff.unified_diff().header(name(old), name(new)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_small_and_undone_exactly() {
        let old = "{\n  \"a\": 1 // note\n}\n";
        let new = "{\n  \"a\": 1, // note\n  \"b\": 2\n}\n";
        let changes = between(old, new);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].old, " // note");
        assert_eq!(changes[0].new, ", // note\n  \"b\": 2");
        assert_eq!(undo(new, &changes).as_deref(), Some(old));
        let edited =
            new.replace("\"b\": 2", "\"b\": 2,\n  \"c\": 3").replace("{\n", "{ // first\n");
        let undone = "{ // first\n  \"a\": 1 // note,\n  \"c\": 3\n}\n";
        assert_eq!(undo_by_words(&edited, &changes).as_deref(), Some(undone));
    }

    #[test]
    fn what_cannot_be_found_is_not_guessed() {
        let changes = between("a\n", "a\nb\n");
        assert_eq!(undo("a\nc\n", &changes), None);
        assert_eq!(undo_by_words("a\nc\n", &changes), None);
    }
}
