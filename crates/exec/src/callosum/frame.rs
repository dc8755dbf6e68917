//! Bytes into lines, with a bound.
//!
//! Bytes are gathered until a newline and only then looked at, so a character that is split over two reads is whole again
//! when it is read. A line over the bound is dropped while it comes in: what is kept of it never grows, and the next line is
//! read as if nothing had been.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// What came in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Frame {
    /// One line, without its newline.
    Line(Vec<u8>),
    /// A line that was too long: how many bytes it had, and how it began.
    TooLong { bytes: u64, head: Vec<u8> },
}

impl Frame {
    /// How many bytes the line had.
    pub fn bytes(&self) -> usize {
        match self {
            Frame::Line(line) => line.len() + 1,
            Frame::TooLong { bytes, .. } => usize::try_from(*bytes).unwrap_or(usize::MAX),
        }
    }
}

/// How much of a line that is too long is kept to say what it was.
const HEAD_BYTES: usize = 1024;
const READ_BYTES: usize = 64 * 1024;

/// Gathers bytes into lines.
#[derive(Debug)]
pub struct Framer {
    line_bytes_max: usize,
    /// The line that is coming in; of a line that is too long, its head.
    line: Vec<u8>,
    /// How many bytes of a line that is too long have come in so far.
    too_long: Option<u64>,
    /// Read but not yet looked at.
    pending: Vec<u8>,
    start: usize,
}

impl Framer {
    pub fn new(line_bytes_max: usize) -> Framer {
        Framer { line_bytes_max, line: Vec::new(), too_long: None, pending: Vec::new(), start: 0 }
    }

    /// Takes bytes in. What was taken before must have been read with `next_frame` to the end.
    pub fn take(&mut self, bytes: &[u8]) {
        self.pending.drain(..self.start);
        self.start = 0;
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole line of what was taken in. Empty lines are no lines.
    pub fn next_frame(&mut self) -> Option<Frame> {
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
            if let Some(frame) = self.finish() {
                return Some(frame);
            }
        }
    }

    /// What is left when nothing more comes: a last line that has no newline.
    pub fn finish(&mut self) -> Option<Frame> {
        let line = std::mem::take(&mut self.line);
        match self.too_long.take() {
            Some(bytes) => Some(Frame::TooLong { bytes, head: line }),
            None if line.iter().all(u8::is_ascii_whitespace) => None,
            None => Some(Frame::Line(line)),
        }
    }
}

/// Reads lines from a peer or a child.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    framer: Framer,
    buffer: Vec<u8>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(from: R, line_bytes_max: usize) -> Lines<R> {
        Lines {
            from,
            framer: Framer::new(line_bytes_max),
            buffer: vec![0; READ_BYTES],
            ended: false,
        }
    }

    /// The next line; `None` when the other side has closed. Nothing is lost if the caller stops waiting.
    pub async fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.framer.next_frame() {
                return Ok(Some(frame));
            }
            if self.ended {
                return Ok(self.framer.finish());
            }
            let count = self.from.read(&mut self.buffer).await?;
            if count == 0 {
                self.ended = true;
            } else {
                self.framer.take(&self.buffer[..count]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(chunks: &[&[u8]], max: usize) -> Vec<Frame> {
        let mut framer = Framer::new(max);
        let mut found = Vec::new();
        for chunk in chunks {
            framer.take(chunk);
            while let Some(frame) = framer.next_frame() {
                found.push(frame);
            }
        }
        found.extend(framer.finish());
        found
    }

    // execution 9.1
    #[test]
    fn a_line_that_is_too_long_costs_that_line() {
        let long = vec![b'x'; 5000];
        let found = frames(&[b"one\n", &long, &long, b"\ntwo\n\n \nthree"], 4096);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], Frame::Line(b"one".to_vec()));
        assert!(
            matches!(&found[1], Frame::TooLong { bytes: 10_000, head } if head.len() == HEAD_BYTES)
        );
        assert_eq!(found[2], Frame::Line(b"two".to_vec()));
        assert_eq!(found[3], Frame::Line(b"three".to_vec()));
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
            prop_assert_eq!(frames(&chunks, max), frames(&[&bytes], max));
        }
    }
}
