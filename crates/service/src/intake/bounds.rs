//! How long a text may be, and what happens when it is longer.
//!
//! Must stay true: nothing is cut. What a person or an agent saves on purpose is refused with its size and the bound
//! (`check`); what is recorded on the side, like a prompt or a sub-agent's report, is kept whole in parts that say so
//! (`split`).

use kernel::limits::{CONTENT_BYTES_MAX, TITLE_BYTES_MAX};
use kernel::{Digest, Error, Result};

/// Room for the line that says which part this is.
const PART_LINE_BYTES: usize = 48;
/// Parts a text may come in; longer texts are refused.
pub const PARTS_MAX: usize = 64;

/// Hexadecimal digits behind a name that was cut.
const HASH_DIGITS: usize = 8;

/// A title of one line: not blank, not too long.
pub fn check_title(title: &str) -> Result<()> {
    not_blank("title", title)?;
    within("title", title, TITLE_BYTES_MAX)
}

/// Content: not blank, at most `max` bytes and never more than a store takes.
pub fn check_content(content: &str, max: usize) -> Result<()> {
    not_blank("content", content)?;
    within("content", content, max.min(CONTENT_BYTES_MAX))
}

fn not_blank(field: &'static str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(field, "is empty; give it some text"));
    }
    Ok(())
}

fn within(field: &'static str, text: &str, max: usize) -> Result<()> {
    if text.len() > max { Err(Error::TooLarge { field, size: text.len(), max }) } else { Ok(()) }
}

/// The text itself, or parts of at most `max` bytes that begin with `[part 2 of 3]`.
///
/// Parts end where a paragraph, a line, a sentence or a word ends, if that leaves them at least half full.
pub fn split(field: &'static str, text: &str, max: usize) -> Result<Vec<String>> {
    let max = max.min(CONTENT_BYTES_MAX);
    if text.len() <= max {
        return Ok(vec![text.to_owned()]);
    }
    let room = max.saturating_sub(PART_LINE_BYTES);
    if room < PART_LINE_BYTES || text.len().div_ceil(room / 2) > PARTS_MAX * 2 {
        return Err(Error::TooLarge { field, size: text.len(), max });
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(part_end(rest, room));
        parts.push(part);
        rest = after;
    }
    if parts.len() > PARTS_MAX {
        return Err(Error::TooLarge { field, size: text.len(), max });
    }
    let all = parts.len();
    let numbered = parts.iter().enumerate();
    Ok(numbered.map(|(i, part)| format!("[part {} of {all}]\n{part}", i + 1)).collect())
}

/// A name within `max` bytes. A longer one keeps its start and ends with a hash of the whole, so that two long names
/// stay two.
pub fn cut_apart(name: &str, max: usize) -> String {
    if name.len() <= max {
        return name.to_owned();
    }
    let hash = &Digest::of("cortex/cut-name/1", &[name.as_bytes()]).to_string()[..HASH_DIGITS];
    let start = &name[..name.floor_char_boundary(max - HASH_DIGITS - 1)];
    format!("{start}~{hash}")
}

/// Where the first part of a text ends, in bytes.
fn part_end(text: &str, room: usize) -> usize {
    if text.len() <= room {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(room)];
    let ends = ["\n\n", "\n", ". ", " "];
    let found = ends
        .into_iter()
        .find_map(|end| window.rfind(end).map(|at| at + end.len()).filter(|at| *at >= room / 2));
    found.unwrap_or(window.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // agent-memory 2.8, 51
    #[test]
    fn what_is_too_long_is_refused_with_its_size() {
        let text = "é".repeat(1_500);
        assert!(check_content(&text, 50_000).is_ok());
        let error = check_content(&text, 2_000).unwrap_err();
        assert_eq!(error.to_string(), "content has 3000 bytes; at most 2000 are allowed");
        assert_eq!(check_title(&"x".repeat(1_025)).unwrap_err().code(), "too_large");
        for blank in ["", "  \n\t"] {
            assert_eq!(check_title(blank).unwrap_err().code(), "invalid");
            assert_eq!(check_content(blank, 9).unwrap_err().code(), "invalid");
        }
        assert!(check_content(&"x".repeat(CONTENT_BYTES_MAX + 1), usize::MAX).is_err());
    }

    #[test]
    fn parts_end_at_paragraphs_and_say_which_they_are() {
        let paragraph = format!("{}.\n\n", "word ".repeat(30).trim_end());
        let text = paragraph.repeat(4);
        let parts = split("prompt", &text, 400).unwrap();
        assert!(parts.len() > 1);
        assert!(parts[0].starts_with(&format!("[part 1 of {}]\nword", parts.len())));
        assert!(parts.iter().all(|part| part.ends_with(".\n\n")), "{parts:?}");
        assert_eq!(split("prompt", "short", 400).unwrap(), ["short"]);
        assert_eq!(split("prompt", &"x".repeat(100_000), 400).unwrap_err().code(), "too_large");
        assert_eq!(split("prompt", "longer than that", 10).unwrap_err().code(), "too_large");
    }

    proptest! {
        #[test]
        fn parts_hold_the_whole_text(text in "(\\PC|[ \n.]){0,900}", max in 200_usize..600) {
            if let Ok(parts) = split("prompt", &text, max) {
                prop_assert!(parts.iter().all(|part| part.len() <= max));
                let bodies = parts.iter().map(|part| {
                    if parts.len() == 1 { part.as_str() } else { part.split_once('\n').unwrap().1 }
                });
                prop_assert_eq!(bodies.collect::<String>(), text);
            }
        }
    }
}
