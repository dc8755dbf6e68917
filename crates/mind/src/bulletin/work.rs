//! Where work stopped: what the summary of a session says was done, and what it says comes next.

use kernel::memory::Body;
use kernel::render::one_line;

use super::phrase::within;

/// The kind of a session's summary.
pub(super) const KIND: &str = "session_summary";
/// How the title of a summary begins for which nobody chose one, in lower case.
const MADE_TITLE: &str = "session summary";
/// Next steps that are said.
const STEPS_MAX: usize = 3;
/// Words of one line.
const LINE_WORDS: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Done,
    Next,
    Other,
}

/// The lines: what was done last, then the next steps. A summary without headings is said by the title that
/// somebody chose for it, else by its beginning.
pub(super) fn lines(body: &Body) -> Vec<String> {
    let (mut done, mut next, mut other) = (None, Vec::new(), None);
    let mut part = Part::Other;
    for line in body.content.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(heading) = heading(line) {
            part = part_of(&heading);
            continue;
        }
        let line = one_line(line.trim_start_matches(['-', '*', '+', ' ', '[', 'x', ']', '>']));
        // A list may count its points.
        let line = line
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['.', ')', ' ']);
        let line = within(line.trim_end_matches('.'), LINE_WORDS);
        match part {
            _ if line.is_empty() => {}
            Part::Done => {
                done.get_or_insert(line);
            }
            Part::Next if next.len() < STEPS_MAX => next.push(line),
            Part::Next => {}
            Part::Other => {
                other.get_or_insert(line);
            }
        }
    }
    let title = within(one_line(&body.title).trim_end_matches('.'), LINE_WORDS);
    // A title that somebody chose says more than the first line of a text without headings.
    let other = other.filter(|_| title.to_lowercase().starts_with(MADE_TITLE));
    let stopped = done.or(other).unwrap_or(title);
    let mut lines = vec![format!("Last: {stopped}")];
    lines.extend(next.into_iter().map(|step| format!("Next: {step}")));
    lines
}

/// The text of a heading: `## Next steps`, `**Next steps**` or `Next steps:`.
fn heading(line: &str) -> Option<String> {
    let marked = line.starts_with('#') || (line.starts_with("**") && line.ends_with("**"));
    let short =
        line.ends_with(':') && line.split_whitespace().count() <= 4 && !line.starts_with('-');
    (marked || short).then(|| line.trim_matches(['#', '*', ':', ' ']).to_lowercase())
}

fn part_of(heading: &str) -> Part {
    let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
    if has(&["next", "todo", "to do", "remaining", "open", "left", "pending"]) {
        Part::Next
    } else if has(&["accomplished", "done", "completed", "result", "outcome", "what happened"]) {
        Part::Done
    } else {
        Part::Other
    }
}

#[cfg(test)]
mod tests {
    use kernel::memory::{Fields, MemoryType};

    use super::*;

    fn said(content: &str) -> Vec<String> {
        let (title, fields) =
            ("Session summary: shop".to_owned(), Fields::empty(MemoryType::Event));
        lines(&Body { title, content: content.into(), fields })
    }

    #[test]
    fn a_title_that_was_chosen_says_where_work_stopped() {
        let fields = Fields::empty(MemoryType::Event);
        let body = Body {
            title: "Checkout takes cards.".into(),
            content: "Merged after review.\n\nNext:\n- Receipts".into(),
            fields,
        };
        assert_eq!(lines(&body), ["Last: Checkout takes cards", "Next: Receipts"]);
    }

    #[test]
    fn next_steps_are_read_from_a_summary() {
        let summary = "## Goal\nShip checkout\n\n## Accomplished\n- Wrote the form.\n- Tested it\n\n\
                       ## Next Steps\n1. Wire the payment provider\n- [ ] Add a receipt\n* Deploy\n- Rest";
        assert_eq!(
            said(summary),
            [
                "Last: Wrote the form",
                "Next: Wire the payment provider",
                "Next: Add a receipt",
                "Next: Deploy"
            ]
        );
        assert_eq!(
            said("We fixed the login. More later."),
            ["Last: We fixed the login. More later"]
        );
        assert_eq!(said("Next steps:\n- Sleep"), ["Last: Session summary: shop", "Next: Sleep"]);
        assert_eq!(said(""), ["Last: Session summary: shop"]);
    }
}
