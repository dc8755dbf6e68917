//! How long a text may be, and what happens when it is longer.
//!
//! Must stay true: nothing is cut in silence. What is saved is refused with its size and the bound; a name that is cut
//! ends with a hash of the whole.

use kernel::limits::{CONTENT_BYTES_MAX, TITLE_BYTES_MAX};
use kernel::{Digest, Error, Result};

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

#[cfg(test)]
mod tests {
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
}
