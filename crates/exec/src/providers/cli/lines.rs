//! Lines out of bytes, with a largest size. A longer line is read to its end and only its length is told.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

const PIECE: usize = 16 * 1024;

#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Line {
    Text(String),
    TooLong(usize),
}

impl Line {
    /// The text, or how many bytes it would have had.
    pub(crate) fn text(&self) -> Result<&str, usize> {
        match self {
            Line::Text(text) => Ok(text),
            Line::TooLong(bytes) => Err(*bytes),
        }
    }
}

pub(crate) struct Lines<R> {
    from: R,
    most: usize,
    held: Vec<u8>,
    /// Where in `held` the next line begins, and up to where no line end was found.
    start: usize,
    seen: usize,
    dropped: usize,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(from: R, most: usize) -> Lines<R> {
        Lines { from, most, held: Vec::new(), start: 0, seen: 0, dropped: 0, ended: false }
    }

    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(at) = self.held[self.seen..].iter().position(|byte| *byte == b'\n') {
                let end = self.seen + at;
                let line = self.line(end);
                self.start = end + 1;
                self.seen = self.start;
                return Ok(Some(line));
            }
            self.held.drain(..self.start);
            self.start = 0;
            if self.held.len() > self.most {
                self.dropped += self.held.len();
                self.held.clear();
            }
            self.seen = self.held.len();
            if self.ended {
                let rest = self.held.len() + self.dropped;
                let line = (rest > 0).then(|| self.line(self.held.len()));
                self.held.clear();
                self.seen = 0;
                return Ok(line);
            }
            let from = self.held.len();
            self.held.resize(from + PIECE, 0);
            let read = self.from.read(&mut self.held[from..]).await;
            self.held.truncate(from + read.as_ref().copied().unwrap_or_default());
            self.ended = read? == 0;
        }
    }

    fn line(&mut self, end: usize) -> Line {
        let bytes = &self.held[self.start..end];
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 || bytes.len() > self.most {
            return Line::TooLong(dropped + bytes.len());
        }
        Line::Text(String::from_utf8_lossy(bytes).trim_end_matches('\r').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], most: usize) -> Vec<Line> {
        let mut lines = Lines::new(bytes, most);
        let mut out = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            out.push(line);
        }
        out
    }

    #[tokio::test]
    async fn a_long_line_costs_only_itself() {
        let text = |text: &str| Line::Text(text.to_owned());
        assert_eq!(
            all(b"a\r\nb\n\nlast", 10).await,
            [text("a"), text("b"), text(""), text("last")]
        );
        let mut long = b"one\n".to_vec();
        long.extend(vec![b'x'; 100_000]);
        long.extend(b"\ntwo");
        assert_eq!(all(&long, 50_000).await, [text("one"), Line::TooLong(100_000), text("two")]);
        assert_eq!(all(&vec![b'x'; 70_000], 100).await, [Line::TooLong(70_000)]);
        assert_eq!(all(b"", 10).await, []);
    }
}
