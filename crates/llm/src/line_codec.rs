//! Bytes into lines, with a bound.
//!
//! Bytes are gathered until a newline and only then decoded, so a character that is split over two reads is whole
//! again when it is read. A line over the bound is dropped while it comes in: the memory that it takes never grows,
//! its size and its first bytes are reported, and the next line is read as if nothing had been. Lines of white
//! space are no lines.
//!
//! `LineSplitter` is the state without input or output; `LineReader` reads from async sources, `BlockingLineReader`
//! from others. The bus, the runner, the talent process and the providers that are command line tools all read with
//! them.

use std::borrow::Cow;
use std::io::{self, Read};

use tokio::io::{AsyncRead, AsyncReadExt};

/// One line of a peer or a child.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BoundedLine {
    /// The line, without its newline.
    Whole(Vec<u8>),
    /// A line over the bound: how many bytes it had, and how it began.
    TooLong { bytes: u64, head: Vec<u8> },
}

impl BoundedLine {
    /// How many bytes the line had, its newline included.
    pub fn bytes(&self) -> usize {
        match self {
            BoundedLine::Whole(line) => line.len() + 1,
            BoundedLine::TooLong { bytes, .. } => usize::try_from(*bytes).unwrap_or(usize::MAX),
        }
    }

    /// The line as text without a carriage return at its end, or how many bytes it had if it is over the bound.
    pub fn text(&self) -> Result<Cow<'_, str>, u64> {
        match self {
            BoundedLine::Whole(line) => {
                let end = line.len() - line.iter().rev().take_while(|byte| **byte == b'\r').count();
                Ok(String::from_utf8_lossy(&line[..end]))
            }
            BoundedLine::TooLong { bytes, .. } => Err(*bytes),
        }
    }
}

/// How much of a line that is too long is kept to say what it was.
const HEAD_BYTES: usize = 1024;
const READ_BYTES: usize = 64 * 1024;

/// Gathers bytes into lines.
#[derive(Debug)]
pub struct LineSplitter {
    line_bytes_max: usize,
    /// The line that is coming in; of a line that is too long, its head.
    line: Vec<u8>,
    /// How many bytes of a line that is too long have come in so far.
    too_long: Option<u64>,
    /// Read but not yet looked at.
    pending: Vec<u8>,
    start: usize,
}

impl LineSplitter {
    pub fn new(line_bytes_max: usize) -> LineSplitter {
        LineSplitter {
            line_bytes_max,
            line: Vec::new(),
            too_long: None,
            pending: Vec::new(),
            start: 0,
        }
    }

    /// Takes bytes in. What was taken before must have been read with `next_line` to the end.
    pub fn take(&mut self, bytes: &[u8]) {
        self.pending.drain(..self.start);
        self.start = 0;
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole line of what was taken in. Empty lines are no lines.
    pub fn next_line(&mut self) -> Option<BoundedLine> {
        loop {
            let rest = &self.pending[self.start..];
            let (part, ended) = match rest.iter().position(|byte| *byte == b'\n') {
                Some(at) => (&rest[..at], true),
                None => (rest, false),
            };
            let taken = part.len() + usize::from(ended);
            let part_bytes = part.len() as u64;
            match &mut self.too_long {
                Some(bytes) => {
                    *bytes += part_bytes;
                    let room = HEAD_BYTES.saturating_sub(self.line.len());
                    self.line.extend_from_slice(&part[..part.len().min(room)]);
                }
                None if self.line.len() + part.len() > self.line_bytes_max => {
                    self.too_long = Some(self.line.len() as u64 + part_bytes);
                    self.line.extend_from_slice(&part[..part.len().min(HEAD_BYTES)]);
                    self.line.truncate(HEAD_BYTES);
                    self.line.shrink_to_fit();
                }
                None => self.line.extend_from_slice(part),
            }
            self.start += taken;
            if !ended {
                return None;
            }
            if let Some(line) = self.finish() {
                return Some(line);
            }
        }
    }

    /// What is left when nothing more comes: a last line that has no newline.
    pub fn finish(&mut self) -> Option<BoundedLine> {
        let line = std::mem::take(&mut self.line);
        match self.too_long.take() {
            Some(bytes) => Some(BoundedLine::TooLong { bytes, head: line }),
            None if line.iter().all(u8::is_ascii_whitespace) => None,
            None => Some(BoundedLine::Whole(line)),
        }
    }
}

/// Reads lines from an async source.
#[derive(Debug)]
pub struct LineReader<R> {
    from: R,
    splitter: LineSplitter,
    buffer: Vec<u8>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(from: R, line_bytes_max: usize) -> LineReader<R> {
        LineReader {
            from,
            splitter: LineSplitter::new(line_bytes_max),
            buffer: vec![0; READ_BYTES],
            ended: false,
        }
    }

    /// The next line; `None` when the other side has closed. Nothing is lost if the caller stops waiting.
    pub async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            if let Some(line) = self.splitter.next_line() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(self.splitter.finish());
            }
            let count = self.from.read(&mut self.buffer).await?;
            self.ended = count == 0;
            self.splitter.take(&self.buffer[..count]);
        }
    }
}

/// Reads lines from a blocking source.
#[derive(Debug)]
pub struct BlockingLineReader<R> {
    from: R,
    splitter: LineSplitter,
    buffer: Vec<u8>,
    ended: bool,
}

impl<R: Read> BlockingLineReader<R> {
    pub fn new(from: R, line_bytes_max: usize) -> BlockingLineReader<R> {
        BlockingLineReader {
            from,
            splitter: LineSplitter::new(line_bytes_max),
            buffer: vec![0; READ_BYTES],
            ended: false,
        }
    }

    /// The source that the lines come from, for settings such as a time-out.
    pub fn source(&self) -> &R {
        &self.from
    }

    /// The next line; `None` when the other side has closed. After an error of kind `WouldBlock`, `TimedOut` or
    /// `Interrupted` reading goes on where it stood.
    pub fn next_line(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            if let Some(line) = self.splitter.next_line() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(self.splitter.finish());
            }
            let count = self.from.read(&mut self.buffer)?;
            self.ended = count == 0;
            self.splitter.take(&self.buffer[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(chunks: &[&[u8]], max: usize) -> Vec<BoundedLine> {
        let mut splitter = LineSplitter::new(max);
        let mut found = Vec::new();
        for chunk in chunks {
            splitter.take(chunk);
            while let Some(line) = splitter.next_line() {
                found.push(line);
            }
        }
        found.extend(splitter.finish());
        found
    }

    // execution 9.1
    #[test]
    fn a_line_that_is_too_long_costs_that_line() {
        let long = vec![b'x'; 5000];
        let found = lines(&[b"one\n", &long, &long, b"\ntwo\n\n \nthree"], 4096);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], BoundedLine::Whole(b"one".to_vec()));
        assert!(
            matches!(&found[1], BoundedLine::TooLong { bytes: 10_000, head } if head.len() == HEAD_BYTES)
        );
        assert_eq!(found[2], BoundedLine::Whole(b"two".to_vec()));
        assert_eq!(found[3], BoundedLine::Whole(b"three".to_vec()));
    }

    #[tokio::test]
    async fn both_readers_find_the_same_lines() {
        let mut bytes = b"a\r\n\nb\n".to_vec();
        bytes.extend(vec![b'x'; 100_000]);
        bytes.extend(b"\nlast");
        let (mut found, mut found_blocking) = (Vec::new(), Vec::new());
        let mut reader = LineReader::new(&bytes[..], 50_000);
        while let Some(line) = reader.next().await.unwrap() {
            found.push(line);
        }
        let mut reader = BlockingLineReader::new(&bytes[..], 50_000);
        while let Some(line) = reader.next_line().unwrap() {
            found_blocking.push(line);
        }
        assert_eq!(found, found_blocking);
        let texts: Vec<_> = found.iter().map(BoundedLine::text).collect();
        assert_eq!(
            texts,
            [Ok("a".into()), Ok("b".into()), Err(100_000), Ok(Cow::Borrowed("last"))]
        );
    }

    proptest! {
        // execution 9.1: where reads cut the bytes changes nothing, also inside a character
        #[test]
        fn chunks_change_nothing(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>(), Just(0xc3), Just(b'a')], 0..400),
            cuts in prop::collection::vec(0usize..400, 0..20),
            max in 1usize..64,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(lines(&chunks, max), lines(&[&bytes], max));
        }
    }
}
