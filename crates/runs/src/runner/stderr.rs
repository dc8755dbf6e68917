//! What a talent writes to standard error: the end of it for the log, more of it in a file beside the log, all of
//! it bounded.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::RunnerSettings;
use super::log::event::Secrets;
use llm::line_codec::BoundedLine;

/// Standard error of one run.
#[derive(Debug)]
pub(super) struct Stderr {
    path: PathBuf,
    /// Made with the first line: most runs have none.
    file: Option<File>,
    file_bytes_max: u64,
    kept: u64,
    tail_bytes_max: usize,
    tail: VecDeque<String>,
    tail_bytes: usize,
    bytes: u64,
    cut: bool,
}

impl Stderr {
    pub(super) fn new(path: PathBuf, settings: &RunnerSettings) -> Stderr {
        Stderr {
            path,
            file: None,
            file_bytes_max: settings.stderr_file_bytes,
            kept: 0,
            tail_bytes_max: settings.stderr_tail_bytes,
            tail: VecDeque::new(),
            tail_bytes: 0,
            bytes: 0,
            cut: false,
        }
    }

    pub(super) fn take(&mut self, frame: &BoundedLine, secrets: &Secrets) {
        let (text, whole_bytes) = match frame {
            BoundedLine::Whole(line) => (String::from_utf8_lossy(line), line.len() as u64),
            BoundedLine::TooLong { bytes, head } => (String::from_utf8_lossy(head), *bytes),
        };
        let mut line = secrets.hide(&text).into_owned();
        if whole_bytes > text.len() as u64 {
            line = format!("{line}…[line of {whole_bytes} bytes]");
        }
        self.bytes += whole_bytes + 1;
        if self.write(&line).is_err() {
            // The file is a convenience; the tail is in the log.
            self.cut = true;
        }
        self.tail_bytes += line.len() + 1;
        self.tail.push_back(line);
        while self.tail_bytes > self.tail_bytes_max && self.tail.len() > 1 {
            let gone = self.tail.pop_front().map_or(0, |line| line.len() + 1);
            self.tail_bytes -= gone;
        }
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.cut {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let made = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .mode(0o600)
                    .open(&self.path)?;
                self.file.insert(made)
            }
        };
        if self.kept + line.len() as u64 + 1 > self.file_bytes_max {
            self.cut = true;
            return file.write_all(b"[the rest was not kept]\n");
        }
        file.write_all(format!("{line}\n").as_bytes())?;
        self.kept += line.len() as u64 + 1;
        Ok(())
    }

    /// The last lines, at most as many bytes as the log may have of them.
    pub(super) fn tail(&self) -> String {
        let text = self.tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let mut from = text.len().saturating_sub(self.tail_bytes_max);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].to_owned()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn kept_bytes(&self) -> u64 {
        self.kept
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }
}
