//! The newest lines of the log of this process, for its owner to look at.
//!
//! A log belongs to the process and not to a home: a daemon in the foreground writes it to a terminal that nobody may
//! be looking at. What must stay true: lines are bounded in number and in length, and keeping one never fails.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines that are kept; the oldest go first.
pub const LOG_LINES_MAX: usize = 1_000;
/// Bytes of a line that are kept.
const LINE_BYTES_MAX: usize = 2_048;

#[derive(Debug)]
struct LogTail {
    /// The number of the newest line; the first is 1.
    newest: u64,
    lines: VecDeque<String>,
}

static TAIL: Mutex<LogTail> = Mutex::new(LogTail::new());

impl LogTail {
    const fn new() -> LogTail {
        LogTail { newest: 0, lines: VecDeque::new() }
    }

    fn keep(&mut self, line: &str) {
        let line = line.trim_end();
        self.newest += 1;
        self.lines.push_back(line[..line.floor_char_boundary(LINE_BYTES_MAX)].to_owned());
        if self.lines.len() > LOG_LINES_MAX {
            self.lines.pop_front();
        }
    }

    /// The newest lines, the oldest of them first, and the number of the last.
    fn newest(&self, limit: usize) -> (Vec<String>, u64) {
        let skipped = self.lines.len().saturating_sub(limit);
        (self.lines.iter().skip(skipped).cloned().collect(), self.newest)
    }
}

fn tail() -> MutexGuard<'static, LogTail> {
    TAIL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a line of the log.
pub fn keep(line: &str) {
    tail().keep(line);
}

/// The newest lines of the log, the oldest of them first, and how many there have been in all.
pub fn newest(limit: usize) -> (Vec<String>, u64) {
    tail().newest(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    // web W19: logs
    #[test]
    fn the_oldest_lines_go_first_and_long_ones_are_cut() {
        let mut tail = LogTail::new();
        for number in 0..LOG_LINES_MAX + 2 {
            tail.keep(&format!("line {number}\n"));
        }
        let (lines, newest) = tail.newest(2);
        assert_eq!(lines, ["line 1000", "line 1001"]);
        assert_eq!((newest, tail.newest(usize::MAX).0.len()), (1_002, LOG_LINES_MAX));
        tail.keep(&"é".repeat(LINE_BYTES_MAX));
        assert!(tail.newest(1).0[0].len() <= LINE_BYTES_MAX);
    }
}
