//! Where output goes: data on standard output, as text or as JSON; talk on standard error. Colours and the pager of a
//! terminal are in `terminal`; here is none of it.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use api::render::untrusted;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::{CommandResult, Failure};

/// Where talk goes; may be used from several threads.
#[derive(Clone)]
pub struct Talk {
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    is_terminal: bool,
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talk").field("is_terminal", &self.is_terminal).finish_non_exhaustive()
    }
}

impl Talk {
    /// Something for the person at the terminal that is no data.
    pub fn say(&self, line: impl fmt::Display) {
        self.write(format_args!("{line}\n"));
    }

    pub fn write(&self, text: impl fmt::Display) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody is left to be told when standard error is closed.
        let _ = writer.write_all(text.to_string().as_bytes()).and_then(|()| writer.flush());
    }
}

/// Standard output, buffered, with the choice between text and JSON, and the talk beside it.
pub struct Output {
    json: bool,
    out: BufWriter<Box<dyn Write + Send>>,
    talk: Talk,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("json", &self.json).finish_non_exhaustive()
    }
}

impl Output {
    pub fn new(
        json: bool,
        out: Box<dyn Write + Send>,
        talk: Box<dyn Write + Send>,
        talk_is_terminal: bool,
    ) -> Output {
        let talk = Talk { writer: Arc::new(Mutex::new(talk)), is_terminal: talk_is_terminal };
        Output { json, out: BufWriter::new(out), talk }
    }

    pub fn talk(&self) -> &Talk {
        &self.talk
    }

    /// Something for the person at the terminal that is no data.
    pub fn say(&self, line: impl fmt::Display) {
        self.talk.say(line);
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    /// One line of text.
    pub fn line(&mut self, line: impl fmt::Display) -> CommandResult {
        writeln!(self.out, "{line}").map_err(Failure::output)
    }

    /// Text as it comes, without a line of its own.
    pub fn text(&mut self, text: impl fmt::Display) -> CommandResult {
        write!(self.out, "{text}").map_err(Failure::output)
    }

    /// Standard output for whoever writes it in many pieces.
    pub fn writer(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// One JSON value on a line of its own.
    pub fn object(&mut self, value: &impl Serialize) -> CommandResult {
        serde_json::to_writer(&mut self.out, value)
            .map_err(|error| Failure::output(io::Error::from(error)))?;
        self.out.write_all(b"\n").map_err(Failure::output)
    }

    /// The JSON value with `--json`, else the line.
    pub fn either(&mut self, value: &impl Serialize, line: impl fmt::Display) -> CommandResult {
        if self.json { self.object(value) } else { self.line(line) }
    }

    /// The JSON value with `--json`, else the lines that a rendering made of it.
    pub fn answer<A: Serialize>(
        &mut self,
        answer: &A,
        render: impl FnOnce(&A) -> String,
    ) -> CommandResult {
        if self.json { self.object(answer) } else { self.text(render(answer)) }
    }

    /// Sends everything on its way: at the end, and after each acknowledgement of a stream.
    pub fn flush(&mut self) -> CommandResult {
        self.out.flush().map_err(Failure::output)
    }

    /// Says what went wrong, and what to do about it.
    pub fn failure(&self, failure: &Failure) {
        if self.is_json() {
            self.say(json!({ "error": failure.view() }));
            return;
        }
        self.say(format_args!("error: {}", plain(&failure.to_string())));
        if let Some(hint) = failure.hint() {
            self.say(format_args!("hint: {hint}"));
        }
    }

    /// The object with `--json`, else one line per value.
    pub fn table(&mut self, view: &Value) -> CommandResult {
        if self.is_json() {
            return self.object(view);
        }
        let Value::Object(object) = view else { return self.line(view) };
        for (name, value) in object {
            match value {
                Value::Object(inner) => {
                    for (name, value) in inner.iter().filter(|(_, value)| **value != json!(0)) {
                        self.line(format_args!("  {name:<14} {value}"))?;
                    }
                }
                Value::String(text) => self.line(format_args!("{name:<16} {text}"))?,
                Value::Null => self.line(format_args!("{name:<16} -"))?,
                other => self.line(format_args!("{name:<16} {other}"))?,
            }
        }
        Ok(())
    }
}

/// Progress of a long job: one line that rewrites itself, and only on a terminal.
#[derive(Debug)]
pub struct ProgressLine {
    talk: Talk,
    /// What was being done, and how much of a hundred.
    shown: Option<(&'static str, u64)>,
}

impl ProgressLine {
    pub fn new(out: &Output) -> ProgressLine {
        ProgressLine { talk: out.talk().clone(), shown: None }
    }

    /// `verb` says what is done to each of `total`.
    pub fn at(&mut self, verb: &'static str, done: u64, total: u64) {
        if !self.talk.is_terminal || total == 0 {
            return;
        }
        let percent = done * 100 / total;
        if self.shown != Some((verb, percent)) {
            self.shown = Some((verb, percent));
            let end = if done == total { "\n" } else { "" };
            self.talk.write(format_args!("\r{verb} {done} of {total} ({percent} %){end}"));
        }
    }
}

/// Text on one line, so that stored text cannot draw on the terminal or speak to an agent that reads it.
pub fn plain(text: &str) -> String {
    untrusted::line(text)
}

/// The same for text of many lines: line breaks and tabs stay.
pub fn plain_lines(text: &str) -> String {
    untrusted::lines(text)
}
