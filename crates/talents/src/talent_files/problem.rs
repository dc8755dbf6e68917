//! What is wrong with a talent file, and where.

use std::fmt;
use std::path::PathBuf;

/// How bad it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProblemSeverity {
    /// The file is not used.
    Error,
    /// The file is used, but something in it has no effect.
    Warning,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TalentProblem {
    /// The file; a talent of the binary has its name here.
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    pub severity: ProblemSeverity,
    pub reason: String,
}

impl TalentProblem {
    pub(super) fn error(line: usize, reason: impl Into<String>) -> TalentProblem {
        TalentProblem {
            file: PathBuf::new(),
            line,
            severity: ProblemSeverity::Error,
            reason: reason.into(),
        }
    }

    pub(super) fn warning(line: usize, reason: impl Into<String>) -> TalentProblem {
        TalentProblem {
            file: PathBuf::new(),
            line,
            severity: ProblemSeverity::Warning,
            reason: reason.into(),
        }
    }

    pub fn is_error(&self) -> bool {
        self.severity == ProblemSeverity::Error
    }
}

impl fmt::Display for TalentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_error() { "" } else { "warning: " };
        write!(f, "{}:{}: {mark}{}", self.file.display(), self.line, self.reason)
    }
}

/// The known word that was probably meant.
pub(super) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for word in known {
        let likeness = strsim::damerau_levenshtein(given, word);
        #[allow(clippy::cast_precision_loss, reason = "words are short")]
        let share = likeness as f64 / given.chars().count().max(word.len()) as f64;
        if share <= 0.34 && best.is_none_or(|(least, _)| share < least) {
            best = Some((share, word));
        }
    }
    best.map(|(_, word)| word)
}

/// `; did you mean "priority"?`, or nothing.
pub(super) fn hint(given: &str, known: &[&str]) -> String {
    nearest(given, known).map(|word| format!("; did you mean {word:?}?")).unwrap_or_default()
}
