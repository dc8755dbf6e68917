//! Project names: one spelling each, and which of them are nearly the same.
//!
//! Must stay true: a name is lower case, of one line, at most `NAME_BYTES_MAX` bytes, has a letter or digit, and
//! normalising it again changes nothing.

use std::path::Path;

use kernel::limits::NAME_BYTES_MAX;
use unicode_normalization::UnicodeNormalization as _;

use crate::bounds::cut_apart;
use crate::project::remote::Remote;

/// Letters a name may differ by and still be called similar.
const DISTANCE_MAX: usize = 3;
/// Shorter names are inside too many others.
const WITHIN_CHARS_MIN: usize = 3;
/// Characters of a name that are compared letter by letter.
const COMPARED_CHARS_MAX: usize = 128;

/// Trimmed, lower case, runs of white space, `-` and `_` each one. `None` if no letter or digit is in it.
pub fn normalize(name: &str) -> Option<String> {
    let lower: String = name.nfc().flat_map(char::to_lowercase).nfc().collect();
    let mut normal = String::with_capacity(lower.len());
    for c in lower.trim().chars() {
        let c = if c.is_whitespace() { ' ' } else { c };
        let repeated = matches!(c, ' ' | '-' | '_') && normal.ends_with(c);
        if !repeated && !c.is_control() {
            normal.push(c);
        }
    }
    let normal = cut_apart(normal.trim(), NAME_BYTES_MAX);
    normal.chars().any(char::is_alphanumeric).then_some(normal)
}

/// What a caller meant: a name, the address of a repository, or a path, of which the last part counts.
pub fn from_given(given: &str) -> Option<String> {
    let given = given.trim();
    let scp = given.split_once(':').is_some_and(|(head, _)| head.contains('@'));
    if given.contains("://") || scp {
        return Remote::parse(given).and_then(|remote| remote.name());
    }
    let drive = given.as_bytes().get(1) == Some(&b':') && given.as_bytes()[0].is_ascii_alphabetic();
    let is_path = given.starts_with(['/', '\\', '~', '.']) && given.contains(['/', '\\'])
        || drive
        || given.contains('\\');
    let last = given.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(given);
    if !is_path {
        return normalize(given.trim_end_matches('/'));
    }
    if matches!(last, "~" | "." | "..") || last.ends_with(':') { None } else { normalize(last) }
}

/// The name of a folder; a bare repository's without `.git`.
pub(super) fn of_folder(folder: &Path) -> Option<String> {
    let name = folder.file_name()?.to_string_lossy();
    normalize(name.strip_suffix(".git").filter(|rest| !rest.is_empty()).unwrap_or(&name))
}

/// Names that may mean the same project, best first: another spelling, then one inside the other, then few letters
/// apart.
pub fn similar<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let plain = squeeze(name);
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for other in known.into_iter().filter(|other| *other != name) {
        let squeezed = squeeze(other);
        let shorter = plain.chars().count().min(squeezed.chars().count());
        if squeezed == plain {
            found.push((0, 0, other));
        } else if shorter >= WITHIN_CHARS_MIN
            && (squeezed.contains(&plain) || plain.contains(&squeezed))
        {
            found.push((1, squeezed.len().abs_diff(plain.len()), other));
        } else {
            let distance = distance(&plain, &squeezed);
            if distance <= DISTANCE_MAX.min(shorter / 2) {
                found.push((2, distance, other));
            }
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, _, other)| other).collect()
}

/// Folded letters and digits only.
fn squeeze(name: &str) -> String {
    text::analyze::fold(name).chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Levenshtein's distance.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().take(COMPARED_CHARS_MAX).collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().take(COMPARED_CHARS_MAX).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in two.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[two.len()]
}
