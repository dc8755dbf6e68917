//! The parts of a session summary: goal, instructions, discoveries, what was done, what is next, which files.
//!
//! Must stay true: the stored summary is the text as given; this is only a view of it. A part that is not there is
//! empty, unknown headings are passed over, and no heading has to be there at all.

use crate::intake::capture::{bullet, items, number};
use crate::intake::title::strip_marks;

/// A summary by its parts, each as the lines or list items under its heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub goal: Vec<String>,
    pub instructions: Vec<String>,
    pub discoveries: Vec<String>,
    pub accomplished: Vec<String>,
    pub next_steps: Vec<String>,
    pub relevant_files: Vec<RelevantFile>,
}

/// A file and what the summary says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelevantFile {
    pub path: String,
    pub note: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Goal,
    Instructions,
    Discoveries,
    Accomplished,
    NextSteps,
    RelevantFiles,
    Other,
}

/// Headings in the words of the template, and what people write instead of them.
const HEADINGS: [(Part, &[&str]); 6] = [
    (Part::Goal, &["goal", "goals", "objetivo", "objetivos"]),
    (Part::Instructions, &["instructions", "user instructions", "instrucciones"]),
    (
        Part::Discoveries,
        &["discoveries", "key discoveries", "findings", "descubrimientos", "hallazgos"],
    ),
    (
        Part::Accomplished,
        &["accomplished", "accomplishments", "completed", "done", "logrado", "completado"],
    ),
    (Part::NextSteps, &["next steps", "next step", "next", "proximos pasos", "siguientes pasos"]),
    (Part::RelevantFiles, &["relevant files", "files", "key files", "archivos relevantes"]),
];

impl Summary {
    /// Reads a summary. Total: any text has one.
    pub fn parse(text: &str) -> Summary {
        let mut summary = Summary::default();
        let (mut part, mut lines) = (Part::Other, Vec::new());
        for line in text.lines() {
            if let Some((next, rest)) = heading(line) {
                summary.add(part, &lines);
                (part, lines) = (next, Vec::new());
                lines.extend((!rest.is_empty()).then_some(rest));
            } else {
                lines.push(line);
            }
        }
        summary.add(part, &lines);
        summary
    }

    /// Parts of the template that are not there.
    pub fn missing(&self) -> Vec<&'static str> {
        let parts = [
            ("Goal", self.goal.is_empty()),
            ("Discoveries", self.discoveries.is_empty()),
            ("Accomplished", self.accomplished.is_empty()),
            ("Next Steps", self.next_steps.is_empty()),
            ("Relevant Files", self.relevant_files.is_empty()),
        ];
        parts.into_iter().filter_map(|(name, is_missing)| is_missing.then_some(name)).collect()
    }

    fn add(&mut self, part: Part, lines: &[&str]) {
        let points = points(lines);
        match part {
            Part::Goal => self.goal.extend(points),
            Part::Instructions => self.instructions.extend(points),
            Part::Discoveries => self.discoveries.extend(points),
            Part::Accomplished => self.accomplished.extend(points),
            Part::NextSteps => self.next_steps.extend(points),
            Part::RelevantFiles => self.relevant_files.extend(points.iter().map(|p| file(p))),
            Part::Other => {}
        }
    }
}

/// A heading and what follows it on its line: `## Goal`, `**Goal**: …`, `Goal: …`.
fn heading(line: &str) -> Option<(Part, &str)> {
    let trimmed = line.trim();
    let marked = trimmed.starts_with('#');
    let bold = trimmed.starts_with("**");
    let text = trimmed.trim_start_matches('#').trim();
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, rest.trim().trim_start_matches("**").trim()),
        None if marked || bold => (text, ""),
        None => return None,
    };
    let name = recall::analyze::fold(name.trim_matches(['*', ' ']));
    let known = HEADINGS.iter().find(|(_, names)| names.contains(&name.as_str()));
    match known {
        Some((part, _)) => Some((*part, rest)),
        None => marked.then_some((Part::Other, "")),
    }
}

/// List items, or lines where there is no list.
fn points(lines: &[&str]) -> Vec<String> {
    let listed = lines.iter().any(|line| point(line.trim()).is_some());
    let found = if listed {
        items(lines, point)
    } else {
        lines.iter().map(|line| strip_marks(line.trim())).collect()
    };
    found.into_iter().filter(|point| !point.is_empty()).collect()
}

/// The text of a list item, without the `[x]` of a task.
fn point(line: &str) -> Option<&str> {
    let text = bullet(line).or(number(line))?;
    let task = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| text.strip_prefix(mark));
    Some(task.unwrap_or(text))
}

/// `path — note`, `path: note`, `path (note)` or the path alone.
fn file(point: &str) -> RelevantFile {
    let ends = [" — ", " – ", " - ", ": ", " ("];
    let cut = ends.iter().filter_map(|end| point.find(end).map(|at| (at, end.len()))).min();
    let (path, note) = match cut {
        Some((at, length)) => (&point[..at], point[at + length..].trim_end_matches(')')),
        None => (point, ""),
    };
    RelevantFile { path: path.trim().to_owned(), note: note.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // agent-memory 15, 80
    #[test]
    fn the_template_is_read_by_its_parts() {
        let text = "## Goal\nMake recall fast\n\n## Instructions\n- keep it **simple**\n\n## Discoveries\n\
            - redb syncs once per commit,\n  which is what we want\n- FTS5 is slow\n\n## Accomplished\n- [x] index\n- [ ] bench\n\n\
            ## Next Steps\n1. measure\n2) tune\n\n## Weather\n- sunny\n\n## Relevant Files\n\
            - `src/text/index.rs` — the index\n- src/main.rs: entry\n- Cargo.toml\n";
        let summary = Summary::parse(text);
        assert_eq!(summary.goal, ["Make recall fast"]);
        assert_eq!(summary.instructions, ["keep it simple"]);
        assert_eq!(
            summary.discoveries,
            ["redb syncs once per commit, which is what we want", "FTS5 is slow"]
        );
        assert_eq!(summary.accomplished, ["index", "bench"]);
        assert_eq!(summary.next_steps, ["measure", "tune"]);
        let files: Vec<_> =
            summary.relevant_files.iter().map(|f| (f.path.as_str(), f.note.as_str())).collect();
        assert_eq!(
            files,
            [("src/text/index.rs", "the index"), ("src/main.rs", "entry"), ("Cargo.toml", "")]
        );
        assert!(summary.missing().is_empty());
    }

    #[test]
    fn other_ways_to_write_a_heading() {
        let text = "**Goal**: ship it\nAccomplished: wrote the parser\n### Próximos pasos:\n- probar\n**Files**\n- a/b.rs (new)";
        let summary = Summary::parse(text);
        assert_eq!(summary.goal, ["ship it"]);
        assert_eq!(summary.accomplished, ["wrote the parser"]);
        assert_eq!(summary.next_steps, ["probar"]);
        assert_eq!(
            summary.relevant_files,
            [RelevantFile { path: "a/b.rs".into(), note: "new".into() }]
        );
        assert_eq!(summary.missing(), ["Discoveries"]);
        assert_eq!(Summary::parse("just words: nothing else"), Summary::default());
    }

    proptest! {
        #[test]
        fn any_text_has_a_summary(text in "(\\PC|\n|## Goal\n|- |Files: ){0,120}") {
            Summary::parse(&text);
        }
    }
}
