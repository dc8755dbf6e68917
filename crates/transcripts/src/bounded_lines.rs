//! Lines of a file of any size, one at a time.
//!
//! What must stay true: no more than [`LINE_BYTES_MAX`] bytes of a line are held; the rest of a longer one is
//! skipped. A last line without a newline is not consumed: whoever writes it is not done. `offset` is behind the last
//! whole line.

use std::io::{BufRead, Result};

use crate::limits::LINE_BYTES_MAX;

/// Reads lines and remembers how far it came.
#[derive(Debug)]
pub struct BoundedLines<R> {
    input: R,
    offset: u64,
    line: Vec<u8>,
    /// Lines of which a part was skipped.
    too_long: u64,
    max: usize,
}

/// A line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum SourceLine<'l> {
    Whole(&'l [u8]),
    /// It was longer than the bound; its beginning is of no use, because JSON that is cut is none.
    TooLong,
}

impl<R: BufRead> BoundedLines<R> {
    /// Goes on at `offset`, where `input` already stands.
    pub fn new(input: R, offset: u64) -> BoundedLines<R> {
        BoundedLines { input, offset, line: Vec::new(), too_long: 0, max: LINE_BYTES_MAX }
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn too_long(&self) -> u64 {
        self.too_long
    }

    /// The next whole line; none at the end and before a line that is still being written.
    pub fn next_line(&mut self) -> Result<Option<SourceLine<'_>>> {
        self.line.clear();
        let (mut length, mut is_cut) = (0_u64, false);
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', buffer);
            let taken = end.unwrap_or(buffer.len());
            let room = self.max - self.line.len();
            is_cut |= taken > room;
            self.line.extend_from_slice(&buffer[..taken.min(room)]);
            let consumed = taken + usize::from(end.is_some());
            length += consumed as u64;
            self.input.consume(consumed);
            if end.is_some() {
                break;
            }
        }
        self.offset += length;
        if is_cut {
            self.too_long += 1;
            // A long line is rare; its buffer must not stay for the ordinary ones.
            self.line = Vec::new();
            return Ok(Some(SourceLine::TooLong));
        }
        Ok(Some(SourceLine::Whole(&self.line)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn lines(text: &str, max: usize) -> (Vec<Option<String>>, u64) {
        let mut lines = BoundedLines::new(BufReader::with_capacity(3, text.as_bytes()), 0);
        lines.max = max;
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push(match line {
                SourceLine::Whole(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
                SourceLine::TooLong => None,
            });
        }
        (found, lines.offset())
    }

    // past 15
    #[test]
    fn a_line_that_is_too_long_costs_itself() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(lines("ab\ncdefgh\nij\n", 4), (vec![some("ab"), None, some("ij")], 13));
        assert_eq!(lines("\nabcd\n", 4), (vec![some(""), some("abcd")], 6));
    }

    #[test]
    fn a_torn_last_line_is_not_consumed() {
        assert_eq!(lines("ab\ncd", 9), (vec![Some("ab".to_owned())], 3));
        assert_eq!(lines("", 9), (vec![], 0));
    }
}
