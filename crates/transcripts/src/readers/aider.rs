//! aider: `.aider.chat.history.md`, many sessions in one Markdown file that only grows.
//!
//! Verified against the agent's source of 2026-05. `#### ` is a line of a prompt, `> ` what a tool said, the rest is
//! the answer; inside a fence all of it is text. Only a session's start has a time, in local time without a zone; it is
//! taken as UTC and every item is marked `about`. A session is known by the file and the line it starts with.

use std::path::{Path, PathBuf};

use super::{PastReader, SourceInput, has_ending, words};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::digests;
use crate::error::Result;
use crate::session::{PastAgent, SessionInfo};
use crate::surroundings::PastSurroundings;
use crate::times;

#[derive(Debug)]
pub(crate) struct Aider;

const FILE: &str = ".aider.chat.history.md";
const START: &str = "# aider chat started at ";

impl PastReader for Aider {
    fn agent(&self) -> PastAgent {
        PastAgent::Aider
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let mut roots = vec![surroundings.home.join(FILE)];
        roots.extend(surroundings.variable("AIDER_CHAT_HISTORY_FILE"));
        roots
    }

    fn file_in_folders(&self) -> Option<&'static str> {
        Some(FILE)
    }

    fn is_source(&self, path: &Path) -> bool {
        has_ending(path, ".md")
    }

    fn grows(&self, _path: &Path) -> bool {
        // A prompt and an answer end only where the next begins.
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let mut chat = ChatText { path: input.path.to_owned(), ..ChatText::default() };
        input.each_record(out, |text, out| chat.line(text.trim_end_matches('\r'), out))?;
        chat.flush(out);
        Ok(())
    }

    fn resume(
        &self,
        _session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["aider", "--restore-chat-history"]))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Speaker {
    #[default]
    Nobody,
    Person,
    Model,
    Tool,
}

/// The file as far as it was read.
#[derive(Debug, Default)]
struct ChatText {
    path: PathBuf,
    session: Option<String>,
    speaker: Speaker,
    lines: Vec<String>,
    is_fenced: bool,
    /// Prompts of the session so far.
    prompts: u32,
}

impl ChatText {
    fn line(&mut self, line: &str, out: &mut Cleaner<'_>) {
        if line.trim_start().starts_with("```") && self.speaker != Speaker::Person {
            self.is_fenced = !self.is_fenced;
        }
        if !self.is_fenced
            && let Some(start) = line.strip_prefix(START)
        {
            return self.begin(line, start, out);
        }
        let (speaker, text) = if self.is_fenced {
            (Speaker::Model, line)
        } else if let Some(prompt) = line.strip_prefix("####") {
            (Speaker::Person, prompt.trim().trim_start_matches("<blank>"))
        } else if let Some(said) = line.strip_prefix("> ") {
            (Speaker::Tool, said.trim_end())
        } else if line.is_empty() {
            (self.speaker, line)
        } else {
            (Speaker::Model, line)
        };
        // An empty line ends a prompt: the next one is another.
        let ends_prompt = self.speaker == Speaker::Person && line.is_empty();
        if speaker != self.speaker || ends_prompt {
            self.flush(out);
            self.speaker = if ends_prompt { Speaker::Nobody } else { speaker };
        }
        if !ends_prompt {
            self.lines.push(text.to_owned());
        }
    }

    fn begin(&mut self, line: &str, start: &str, out: &mut Cleaner<'_>) {
        self.flush(out);
        let path = self.path.to_string_lossy().into_owned();
        let digest = digests::of(&[b"aider", path.as_bytes(), line.as_bytes()]);
        let id = digests::hex(&digest[..8]);
        let mut info = SessionInfo::new(PastAgent::Aider, id.clone());
        info.folder = self.path.parent().map(|folder| folder.to_string_lossy().into_owned());
        info.meet(times::parse(start).unwrap_or(0));
        out.session(info);
        self.session = Some(id);
        self.speaker = Speaker::Nobody;
        self.prompts = 0;
        self.is_fenced = false;
    }

    /// Hands on what was said last.
    fn flush(&mut self, out: &mut Cleaner<'_>) {
        let text = std::mem::take(&mut self.lines).join("\n");
        let Some(session) = self.session.clone().filter(|_| !text.trim().is_empty()) else {
            return;
        };
        let place = RecordPlace::default();
        match self.speaker {
            Speaker::Person => {
                self.prompts += 1;
                let native = format!("{session}.{}", self.prompts);
                let place = RecordPlace { native: Some(&native), at: None };
                let run = text.strip_prefix("/run ").or_else(|| text.strip_prefix('!'));
                match run {
                    Some(line) => out.command(place, line.trim()),
                    None if text.starts_with('/') => out.note(place, &text),
                    None => out.prompt(place, &text),
                }
            }
            Speaker::Model => {
                let native = format!("{session}.{}.{:x}", self.prompts, text.len());
                out.answer(RecordPlace { native: Some(&native), at: None }, text.trim());
            }
            Speaker::Tool => {
                for edit in text.lines().filter_map(|line| line.strip_prefix("Applied edit to ")) {
                    out.edit(place, edit.trim(), "", "");
                }
                let rest = text.lines().filter(|line| !line.starts_with("Applied edit to "));
                let rest = rest.collect::<Vec<_>>().join("\n");
                if !rest.trim().is_empty() {
                    out.output(place, &rest, false, None);
                }
            }
            Speaker::Nobody => {}
        }
    }
}
