//! Readers: one file per agent, each of which turns the files of that agent into the one shape of [`crate::session`].
//!
//! What must stay true: a reader has no clock and no environment, writes nothing, and reads no more than its agent's
//! sessions; credentials, caches and images are not even opened. What it does not know it counts and goes on.
//!
//! To add one: a file here with its `//!` (where the files are, what is verified and when), a line in [`all`], a
//! fixture in `tests/`.

mod aider;
mod blocks;
mod claude_code;
mod cline;
mod codex;
mod copilot_chat;
mod copilot_cli;
mod cursor;
mod gemini;
mod goose;
mod native_ids;
mod opencode;
mod own_lines;
mod pi;
mod qwen;
mod sqlite;
mod zed;

use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bounded_lines::{BoundedLines, SourceLine};
use crate::cleaner::Cleaner;
use crate::error::{Error, Result};
use crate::json::with_record;
use crate::session::PastAgent;
use crate::surroundings::PastSurroundings;

pub use own_lines::OwnLines;

/// A source that is open, at the place that was reached before.
#[allow(missing_debug_implementations)]
pub struct SourceInput<'p> {
    pub path: &'p Path,
    pub lines: BoundedLines<Box<dyn BufRead + 'p>>,
}

impl SourceInput<'_> {
    /// Counts every line and hands on those that are not too long to be read.
    fn each_line<'c>(
        &mut self,
        out: &mut Cleaner<'c>,
        mut read: impl FnMut(&[u8], &mut Cleaner<'c>),
    ) -> Result<()> {
        while let Some(line) =
            self.lines.next_line().map_err(|error| Error::file(self.path, error))?
        {
            out.counts.records += 1;
            match line {
                SourceLine::TooLong => out.counts.too_large += 1,
                SourceLine::Whole(line) => read(line, out),
            }
        }
        Ok(())
    }

    /// Reads the lines as texts, one record each.
    fn each_record<'c>(
        &mut self,
        out: &mut Cleaner<'c>,
        mut read: impl FnMut(&str, &mut Cleaner<'c>),
    ) -> Result<()> {
        self.each_line(out, |line, out| with_record(line, |text| read(text, out)))
    }

    /// Reads the lines as JSON of any shape; what is none, and is not empty, counts as malformed.
    fn each_value<'c>(
        &mut self,
        out: &mut Cleaner<'c>,
        mut read: impl FnMut(Value, &mut Cleaner<'c>),
    ) -> Result<()> {
        self.each_line(out, |line, out| match serde_json::from_slice(line) {
            Ok(value) => read(value, out),
            Err(_) => out.counts.malformed += u64::from(!line.trim_ascii().is_empty()),
        })
    }
}

/// How the histories of one agent are found and read.
pub trait PastReader: Sync + Send {
    fn agent(&self) -> PastAgent;

    /// Raised whenever the same source gives other items: everything is then read anew.
    fn version(&self) -> u32;

    /// The folders, or single files, in which the agent keeps sessions.
    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf>;

    /// Whether a regular file below a root is a session, or holds some.
    fn is_source(&self, path: &Path) -> bool;

    /// Whether a source only ever grows at its end, so that reading goes on where it stopped.
    fn grows(&self, path: &Path) -> bool;

    /// A file that the agent leaves in the folders it works in, if it keeps its sessions there.
    fn file_in_folders(&self) -> Option<&'static str> {
        None
    }

    /// Reads on from where `input` stands.
    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()>;

    /// The command that goes on with a session in its folder, as words; or why there is none.
    fn resume(
        &self,
        session: &str,
        source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str>;
}

/// Every agent whose history can be read.
pub fn all() -> [&'static dyn PastReader; 13] {
    [
        &claude_code::ClaudeCode,
        &codex::Codex,
        &gemini::GeminiCli,
        &opencode::OpenCode,
        &cursor::CursorAgent,
        &copilot_cli::CopilotCli,
        &copilot_chat::CopilotChat,
        &cline::Cline,
        &goose::Goose,
        &aider::Aider,
        &qwen::QwenCode,
        &zed::ZedThreads,
        &pi::Pi,
    ]
}

pub fn of(agent: PastAgent) -> Option<&'static dyn PastReader> {
    all().into_iter().find(|reader| reader.agent() == agent)
}

/// The words of a command that resumes a session.
pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Whether a file name has this ending, as agents write it.
pub fn has_ending(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending))
}

/// The name of a file without `ending`.
pub(crate) fn stem(path: &Path, ending: &str) -> String {
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.strip_suffix(ending).map_or(name.clone(), str::to_owned)
}
