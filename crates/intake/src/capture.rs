//! Passive capture: the learnings an agent wrote down at the end of its output.
//!
//! Must stay true: only a section with one of the known headings counts, the last one that holds something; an item is
//! kept whole with its continuation lines, or left out and counted. Nothing is guessed from other text.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kernel::{Error, Result};
use regex::Regex;

use crate::bounds;
use crate::dedup::content_hash;
use crate::title::{shorten, strip_marks};

/// Learnings taken from one text.
pub const LEARNINGS_MAX: usize = 64;
/// A shorter item says too little to be worth keeping. Characters of full width count double.
const WIDTH_MIN: usize = 20;
/// Characters of a learning's title.
const TITLE_CHARS: usize = 60;

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^#{2,3}[ \t]+(?:aprendizajes(?:[ \t]+clave)?|(?:key[ \t]+)?learnings?)[ \t]*:?[ \t]*$")
        .expect("the pattern of learning headings is valid")
});

/// One learning, ready to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learning {
    pub title: String,
    pub content: String,
}

/// What a text taught, and what was left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    pub learnings: Vec<Learning>,
    /// Items that said what an earlier item of the same text had said.
    pub repeated: usize,
    /// Items too short to say anything.
    pub too_short: usize,
    /// Items beyond `LEARNINGS_MAX`.
    pub beyond_limit: usize,
}

impl Capture {
    /// Items that qualified, kept or repeated.
    pub fn extracted(&self) -> usize {
        self.learnings.len() + self.repeated
    }
}

/// Reads the learnings of an agent's output. Private blocks and secrets have to be gone already.
pub fn learnings(output: &str) -> Result<Capture> {
    if output.trim().is_empty() {
        return Err(Error::invalid(
            "content",
            "is empty; give the output with its \"## Key Learnings:\" section",
        ));
    }
    bounds::check_content(output, usize::MAX)?;
    let lines: Vec<&str> = output.lines().collect();
    let headings = lines.iter().enumerate().filter(|(_, line)| HEADING.is_match(line));
    let starts: Vec<usize> = headings.map(|(at, _)| at + 1).collect();
    let mut best = Capture::default();
    for start in starts.into_iter().rev() {
        let section = &lines[start..];
        let end = section.iter().position(|line| is_heading(line)).unwrap_or(section.len());
        let found = read_section(&section[..end]);
        if found.extracted() > 0 {
            return Ok(found);
        }
        best.too_short += found.too_short;
    }
    Ok(best)
}

/// A line of one to three `#` and a space starts something else.
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=3).contains(&(line.len() - rest.len())) && rest.starts_with([' ', '\t'])
}

/// Numbered items if any qualifies, else bullets.
fn read_section(lines: &[&str]) -> Capture {
    let numbered = collect(items(lines, number));
    if numbered.extracted() > 0 {
        return numbered;
    }
    let bullets = collect(items(lines, bullet));
    if bullets.extracted() > 0 {
        bullets
    } else {
        Capture { too_short: numbered.too_short + bullets.too_short, ..bullets }
    }
}

/// The items of a list with the lines that continue them, on one line each, without marks.
pub(super) fn items(lines: &[&str], marker: fn(&str) -> Option<&str>) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines {
        let indented = line.starts_with([' ', '\t']);
        let trimmed = line.trim();
        if let Some(text) = marker(trimmed).filter(|_| !(open && indented && deeper(line))) {
            items.push(text.to_owned());
            open = true;
        } else if trimmed.is_empty() || !indented && (bullet(trimmed).or(number(trimmed)).is_some())
        {
            open = false;
        } else if let Some(item) = items.last_mut().filter(|_| open) {
            item.push(' ');
            item.push_str(bullet(trimmed).or(number(trimmed)).unwrap_or(trimmed));
        }
    }
    items
        .iter()
        .map(|item| strip_marks(item).split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// Far enough in to belong to the item above.
fn deeper(line: &str) -> bool {
    line.starts_with("  ") || line.starts_with('\t')
}

/// The text behind `1.` or `1)`.
pub(super) fn number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let text = rest.strip_prefix(['.', ')'])?;
    ((1..=4).contains(&digits) && text.starts_with([' ', '\t'])).then(|| text.trim())
}

/// The text behind `-`, `*`, `+` or `•`.
pub(super) fn bullet(line: &str) -> Option<&str> {
    let text = line.strip_prefix(['-', '*', '+', '•'])?;
    text.starts_with([' ', '\t']).then(|| text.trim())
}

fn collect(items: Vec<String>) -> Capture {
    let mut capture = Capture::default();
    let mut seen = BTreeSet::new();
    for content in items {
        if width(&content) < WIDTH_MIN {
            capture.too_short += 1;
        } else if !seen.insert(content_hash(&content)) {
            capture.repeated += 1;
        } else if capture.learnings.len() == LEARNINGS_MAX {
            capture.beyond_limit += 1;
        } else {
            let title = shorten(&content, TITLE_CHARS, "...");
            capture.learnings.push(Learning { title, content });
        }
    }
    capture
}

/// Characters, those of Chinese, Japanese and Korean writing twice: they say about as much as two letters.
fn width(text: &str) -> usize {
    const WIDE: [std::ops::RangeInclusive<char>; 5] = [
        '\u{1100}'..='\u{11ff}',
        '\u{2e80}'..='\u{d7ff}',
        '\u{f900}'..='\u{faff}',
        '\u{ff00}'..='\u{ffef}',
        '\u{20000}'..='\u{3ffff}',
    ];
    let is_wide = |c: char| WIDE.iter().any(|range| range.contains(&c));
    text.chars().map(|c| 1 + usize::from(is_wide(c))).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contents(output: &str) -> Vec<String> {
        learnings(output).unwrap().learnings.into_iter().map(|learning| learning.content).collect()
    }

    // agent-memory 87, 12.2
    #[test]
    fn numbered_items_of_the_section_are_kept_without_marks() {
        let output = "Done.\n\n## Key Learnings:\n\n\
            1. **bcrypt** cost=12 is the right balance for our server\n2. too short\n\
            3) `JWT` refresh tokens need *atomic* rotation\n- a bullet that is ignored here, because of the numbers\n\n\
            ## Next\n1. an item of the next section that does not count\n";
        let capture = learnings(output).unwrap();
        let [bcrypt, jwt] = capture.learnings.as_slice() else { panic!("{capture:?}") };
        assert_eq!(bcrypt.content, "bcrypt cost=12 is the right balance for our server");
        assert_eq!(jwt.title, "JWT refresh tokens need atomic rotation");
        assert_eq!((capture.extracted(), capture.too_short, capture.repeated), (2, 1, 0));
    }

    // agent-memory 12.2
    #[test]
    fn headings() {
        let items = "- primera cosa que aprendimos hoy\n* segunda cosa que aprendimos hoy\n";
        for (heading, count) in [
            ("### Aprendizajes Clave", 2),
            ("## Aprendizajes:", 2),
            ("## LEARNINGS", 2),
            ("## Learning", 2),
            ("## key learning :", 2),
            ("## Key Learnings from today", 0),
            ("# Key Learnings", 0),
            ("#### Key Learnings", 0),
            ("##Key Learnings", 0),
            ("Key Learnings:", 0),
        ] {
            assert_eq!(contents(&format!("{heading}\n{items}")).len(), count, "{heading}");
        }
        assert_eq!(contents(&format!("## Learnings\r\n{}", items.replace('\n', "\r\n"))).len(), 2);
        let error = learnings(" \n").unwrap_err().to_string();
        assert!(error.contains("## Key Learnings:"), "{error}");
    }

    #[test]
    fn the_last_section_that_holds_something_wins() {
        let output = "## Learnings\n- the first section has this learning\n## Learnings\n\
            - the second section has this one\n\
            ## Learnings\n- nothing\n";
        assert_eq!(contents(output), ["the second section has this one"]);
    }

    #[test]
    fn an_item_keeps_its_continuation_lines() {
        let output = "## Learnings\n1. The pool must be closed\n   before the file is renamed\n\
            \x20  - or Windows refuses\n\n\
            2. A second learning of the list\nthat goes on without indentation\n";
        assert_eq!(
            contents(output),
            [
                "The pool must be closed before the file is renamed or Windows refuses",
                "A second learning of the list that goes on without indentation",
            ]
        );
    }

    #[test]
    fn repeated_short_and_too_many_items_are_counted() {
        let mut output = "## Learnings\n- The same learning, twice over\n\
            - the  same learning, TWICE over\n- no\n"
            .to_owned();
        let more = (0..LEARNINGS_MAX + 4).map(|i| format!("- learning with the number {i}\n"));
        output.extend(more);
        let capture = learnings(&output).unwrap();
        assert_eq!(capture.learnings.len(), LEARNINGS_MAX);
        assert_eq!((capture.repeated, capture.too_short, capture.beyond_limit), (1, 1, 5));
    }

    #[test]
    fn words_without_spaces_count() {
        assert_eq!(contents("## Learnings\n- 接続プールを先に閉じる必要がある\n").len(), 1);
        assert_eq!(contents("## Learnings\n- Пул нужно закрыть до переименования\n").len(), 1);
        let long = format!("## Learnings\n- {}\n", "é".repeat(70));
        assert_eq!(learnings(&long).unwrap().learnings[0].title, format!("{}...", "é".repeat(60)));
    }

    proptest! {
        #[test]
        fn any_output_is_read_without_panic(output in "(\\PC|\n|## Learnings\n|- |1\\. |  ){0,200}") {
            if let Ok(capture) = learnings(&output) {
                prop_assert!(capture.learnings.len() <= LEARNINGS_MAX);
                prop_assert!(capture.learnings.iter().all(|l| !l.title.is_empty() && !l.content.contains('\n')));
            }
        }
    }
}
