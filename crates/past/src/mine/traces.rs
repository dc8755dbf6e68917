//! Why this file is so: the turns that edited it, read it or spoke of it; and what edits took out of it.

use super::{Candidate, WorkScope, citation, short};
use crate::citation::TurnReference;
use crate::error::Result;
use crate::store::Past;
use transcripts::cleaner::cut;
use transcripts::limits::SPAN_BYTES_MAX;
use transcripts::session::{ItemBody, PastItem};

/// A shorter line is in every file.
const LINE_CHARS_MIN: usize = 4;
/// Bytes of the end of an answer that are told.
const OUTCOME_BYTES: usize = 400;

/// What a turn did with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceRole {
    Edit,
    Read,
    Mention,
}

impl TraceRole {
    pub fn name(self) -> &'static str {
        match self {
            TraceRole::Edit => "edit",
            TraceRole::Read => "read",
            TraceRole::Mention => "mention",
        }
    }
}

/// A file, and lines of it.
#[derive(Clone, Debug, Default)]
pub struct FileQuestion {
    pub path: String,
    /// Names that it had before.
    pub former: Vec<String>,
    /// Lines that are asked about, with their numbers.
    pub lines: Vec<(u32, String)>,
}

impl FileQuestion {
    /// A path of a session may be whole or below the folder of the session.
    fn is_same(&self, path: &str) -> bool {
        self.former.iter().chain([&self.path]).any(|wanted| {
            let (path, wanted) = (path.trim_start_matches("./"), wanted.trim_start_matches("./"));
            path == wanted || ends_with(path, wanted) || ends_with(wanted, path)
        })
    }
}

/// Whether a path is the end of another, in whole parts.
fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.ends_with('/'))
}

/// A turn that has to do with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTrace {
    pub role: TraceRole,
    pub path: String,
    pub reference: String,
    pub at: i64,
    pub prompt: Option<String>,
    /// The end of the answer.
    pub outcome: Option<String>,
    /// Lines of those asked about that an edit of the turn wrote.
    pub lines: Vec<u32>,
    pub is_undone: bool,
}

/// Text that an edit took out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanRemoval {
    pub path: String,
    pub text: String,
    pub reference: String,
    pub at: i64,
    pub is_cut: bool,
}

impl Past {
    /// Turns about a file: edits, then reads, then mentions, each newest first. A line belongs to its newest edit.
    pub fn traces(&self, asked: &FileQuestion, scope: &WorkScope) -> Result<Vec<FileTrace>> {
        let mut found = Vec::new();
        for candidate in self.of_file(asked, scope)? {
            for turn in &candidate.turns {
                let items = self.items_of(candidate.key, Some(*turn))?;
                found.extend(trace(&candidate, *turn, &items, asked));
            }
        }
        found.sort_by(|one, other| {
            (one.role, other.at, &one.reference).cmp(&(other.role, one.at, &other.reference))
        });
        let mut owned = std::collections::BTreeSet::new();
        for trace in found.iter_mut().filter(|trace| !trace.is_undone) {
            trace.lines.retain(|line| owned.insert(*line));
        }
        if !asked.lines.is_empty() {
            // Whoever asks about lines wants the turns that wrote them first.
            found.sort_by_key(|trace| trace.lines.is_empty());
        }
        found.truncate(scope.limit);
        Ok(found)
    }

    /// What edits took out of a file, newest first.
    pub fn removals(&self, asked: &FileQuestion, scope: &WorkScope) -> Result<Vec<SpanRemoval>> {
        let mut found = Vec::new();
        for candidate in self.of_file(asked, scope)? {
            for turn in &candidate.turns {
                for item in self.items_of(candidate.key, Some(*turn))? {
                    let ItemBody::Edit { path, removed, .. } = item.body else { continue };
                    if asked.is_same(&path) && !removed.is_empty() {
                        found.push(SpanRemoval {
                            reference: citation(candidate.key, *turn),
                            at: item.at,
                            is_cut: removed.len() + 4 > SPAN_BYTES_MAX,
                            path,
                            text: removed,
                        });
                    }
                }
            }
        }
        found.sort_by(|one, other| (other.at, &one.reference).cmp(&(one.at, &other.reference)));
        found.truncate(scope.limit);
        Ok(found)
    }

    /// Whether a turn edited or read a file. One that is gone did not.
    pub fn has_file(&self, reference: &str, path: &str) -> Result<bool> {
        let named = TurnReference::parse(reference)?;
        let Ok((key, _)) = self.find_session(&named.agent, &named.session, reference) else {
            return Ok(false);
        };
        let asked = FileQuestion { path: path.to_owned(), ..FileQuestion::default() };
        let items = self.items_of(key, named.turn)?;
        Ok(items.iter().any(|item| match &item.body {
            ItemBody::Edit { path, .. } | ItemBody::Read { path } => asked.is_same(path),
            _ => false,
        }))
    }

    fn of_file(&self, asked: &FileQuestion, scope: &WorkScope) -> Result<Vec<Candidate<'_>>> {
        let names = asked.former.iter().chain([&asked.path]);
        let words: Vec<&str> = names.map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
        self.candidates(&words.join(" "), scope)
    }
}

fn trace(
    candidate: &Candidate<'_>,
    turn: u32,
    items: &[PastItem],
    asked: &FileQuestion,
) -> Option<FileTrace> {
    let name = asked.path.rsplit('/').next().unwrap_or(&asked.path);
    let mut best: Option<(TraceRole, &str)> = None;
    let mut lines = Vec::new();
    for item in items {
        let here = match &item.body {
            ItemBody::Edit { path, added, .. } if asked.is_same(path) => {
                lines.extend(written(added, &asked.lines));
                Some((TraceRole::Edit, path.as_str()))
            }
            ItemBody::Read { path } if asked.is_same(path) => {
                Some((TraceRole::Read, path.as_str()))
            }
            ItemBody::Prompt { text, .. } | ItemBody::Answer { text, .. }
                if text.contains(name) =>
            {
                Some((TraceRole::Mention, asked.path.as_str()))
            }
            _ => None,
        };
        if here.is_some_and(|(role, _)| best.is_none_or(|(known, _)| role < known)) {
            best = here;
        }
    }
    let (role, path) = best?;
    let prompt = items.iter().find_map(|item| match &item.body {
        ItemBody::Prompt { text, .. } => Some(short(text)),
        _ => None,
    });
    let outcome = items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Answer { text, .. } => Some(end_of(text)),
        _ => None,
    });
    lines.sort_unstable();
    lines.dedup();
    Some(FileTrace {
        role,
        path: path.to_owned(),
        reference: citation(candidate.key, turn),
        at: items.iter().map(|item| item.at).max().unwrap_or(0),
        prompt,
        outcome,
        lines,
        is_undone: candidate.row.undone.contains(&turn),
    })
}

/// The numbers of the lines that a text has.
fn written(added: &str, lines: &[(u32, String)]) -> Vec<u32> {
    let has = |wanted: &str| {
        wanted.chars().count() >= LINE_CHARS_MIN && added.lines().any(|line| line.trim() == wanted)
    };
    lines.iter().filter(|(_, text)| has(text.trim())).map(|(number, _)| *number).collect()
}

fn end_of(text: &str) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(OUTCOME_BYTES));
    cut(&short(&text[from..]), OUTCOME_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 59
    #[test]
    fn a_path_is_the_same_whole_or_below_its_folder() {
        let asked = FileQuestion {
            path: "src/cache.rs".to_owned(),
            former: vec!["src/store.rs".to_owned()],
            lines: Vec::new(),
        };
        for path in [
            "src/cache.rs",
            "/code/shop/src/cache.rs",
            "./src/cache.rs",
            "cache.rs",
            "a/src/store.rs",
        ] {
            assert!(asked.is_same(path), "{path}");
        }
        for path in ["src/cache.rs.bak", "lib/cache.rs", "xcache.rs", "/code/other.rs"] {
            assert!(!asked.is_same(path), "{path}");
        }
    }

    #[test]
    fn lines_are_matched_without_their_margins() {
        let lines = vec![(7, "    let key = (id, locale);".to_owned()), (8, "}".to_owned())];
        assert_eq!(written("fn x() {\nlet key = (id, locale);\n}\n", &lines), [7]);
    }
}
