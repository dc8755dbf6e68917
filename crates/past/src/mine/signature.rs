//! The same error, known again: its line without what differs from one time to the next.
//!
//! What must stay true: numbers, paths, hashes, times and quoted names do not matter; the words do. A signature is made
//! of an output that tells of an error, never of one that went well.

use transcripts::digests;
use transcripts::session::{ItemBody, PastItem};

/// Lines of one output that are looked at as errors.
const LINES_MAX: usize = 8;
/// A longer line is data.
const LINE_BYTES_MAX: usize = 600;

const ERROR_WORDS: [&str; 20] = [
    "error",
    "failed",
    "failure",
    "panic",
    "exception",
    "cannot",
    "can't",
    "could not",
    "not found",
    "undefined",
    "unresolved",
    "fatal",
    "denied",
    "refused",
    "no such",
    "mismatch",
    "expected",
    "timed out",
    "abort",
    "missing",
];

/// An error line and its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ErrorLine {
    pub(super) signature: u64,
    pub(super) line: String,
}

/// The errors that a text tells of: its lines with words of errors, or else its last line.
pub(super) fn of_text(text: &str) -> Vec<ErrorLine> {
    let mut lines = text.lines().map(str::trim);
    let usable = |line: &&str| !line.is_empty() && line.len() <= LINE_BYTES_MAX;
    let mut found: Vec<ErrorLine> = Vec::new();
    for line in lines.clone().filter(usable).filter(|line| is_error(line)) {
        let made = made_of(line);
        if found.len() < LINES_MAX && !found.iter().any(|known| known.signature == made.signature) {
            found.push(made);
        }
    }
    if found.is_empty() {
        found.extend(lines.rfind(usable).map(made_of));
    }
    found
}

/// The errors of an output; none if it went well.
pub(super) fn of_item(item: &PastItem) -> Vec<ErrorLine> {
    match &item.body {
        ItemBody::Output { head, tail, error, exit, .. }
            if *error || exit.is_some_and(|exit| exit != 0) =>
        {
            if tail.is_empty() {
                of_text(head)
            } else {
                of_text(&format!("{head}\n{tail}"))
            }
        }
        _ => Vec::new(),
    }
}

fn is_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    ERROR_WORDS.iter().any(|word| lower.contains(word))
}

fn made_of(line: &str) -> ErrorLine {
    let normal = normalized(line);
    ErrorLine {
        signature: digests::short(&digests::of(&[b"error", normal.as_bytes()])),
        line: line.to_owned(),
    }
}

/// A line without what differs.
pub(super) fn normalized(line: &str) -> String {
    let mut normal = String::new();
    let mut quote: Option<char> = None;
    let mut text = String::new();
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => {
                quote = None;
                text.push('Q');
            }
            Some(_) => {}
            None if matches!(letter, '"' | '`') => quote = Some(letter),
            None => text.push(letter),
        }
    }
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_path = word.contains('/') || word.contains('\\');
        let is_hash = bare.len() >= 7 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        let replaced = if is_path {
            "P".to_owned()
        } else if is_hash {
            "H".to_owned()
        } else {
            without_numbers(&word.to_lowercase())
        };
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.push_str(&replaced);
    }
    normal
}

fn without_numbers(word: &str) -> String {
    let mut out = String::new();
    for letter in word.chars() {
        let digit = letter.is_ascii_digit();
        if !digit || !out.ends_with('0') {
            out.push(if digit { '0' } else { letter });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(line: &str) -> u64 {
        of_text(line)[0].signature
    }

    // past 57
    #[test]
    fn numbers_paths_hashes_and_quotes_do_not_matter_and_words_do() {
        let one = signature("error[E0425]: cannot find value `foo` in src/a.rs:12 at 3f9c2aa1b");
        assert_eq!(
            one,
            signature("error[E0426]: cannot find value `bar` in /x/b.rs:977 at deadbeef1")
        );
        assert_ne!(
            one,
            signature("error[E0425]: cannot find type `foo` in src/a.rs:12 at 3f9c2aa1b")
        );
    }

    #[test]
    fn of_a_log_only_the_lines_of_errors_count() {
        let log = "compiling a\ncompiling b\nerror: linking failed\n  note: x\nfatal: no such file";
        let lines: Vec<String> = of_text(log).into_iter().map(|error| error.line).collect();
        assert_eq!(lines, ["error: linking failed", "fatal: no such file"]);
        assert_eq!(of_text("nothing\nspecial")[0].line, "special");
        assert_eq!(of_text(""), []);
    }
}
