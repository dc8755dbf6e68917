//! A home in a temp folder and the real binary to use it with.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Pins clock, chance and author, so that every byte of output is the same on every run.
const PINNED: [&str; 6] = ["--now", "2026-01-02T03:04:05Z", "--salt-seed", "7", "--by", "ada"];

pub(crate) struct Home {
    folder: TempDir,
}

impl Drop for Home {
    /// A hook starts a daemon, which outlives it.
    fn drop(&mut self) {
        if self.folder.path().join("run/cortex.sock").exists() {
            self.run(&["stop"]);
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error object that `--json` prints on standard error.
    pub(crate) fn error(&self) -> Value {
        let last = self.err.lines().last().unwrap_or_default();
        let value: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        value["error"].clone()
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Ran {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The binary with this home, run inside it, with nothing of the machine's own settings.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cortex"));
        command
            .current_dir(self.path())
            .env("CORTEX_HOME", self.path())
            .env_remove("CORTEX_ACTOR")
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .env_remove("GEMINI_API_KEY")
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.piped(arguments, b"")
    }

    pub(crate) fn piped(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command().args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The child may answer before it has read everything, or end without reading anything.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        Ran {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Saves a memory and returns its id.
    pub(crate) fn save(&self, arguments: &[&str]) -> u64 {
        let ran = self.run(&[&["save", "--json"], arguments].concat()).ok();
        ran.json()["id"].as_u64().unwrap()
    }

    pub(crate) fn root(&self) -> String {
        self.run(&["root"]).ok().out.trim().to_owned()
    }

    /// What a user sees: each command with its output, its talk and its exit code.
    pub(crate) fn transcript(&self, commands: &[&[&str]]) -> String {
        let mut text = String::new();
        for arguments in commands {
            let ran = self.run(&[&PINNED, *arguments].concat());
            let shown: Vec<String> = arguments
                .iter()
                .map(|a| if a.contains([' ', '>']) { format!("{a:?}") } else { (*a).to_owned() })
                .collect();
            writeln!(text, "$ cortex {}", shown.join(" ")).unwrap();
            for line in ran.out.lines() {
                writeln!(text, "{}", stable(line)).unwrap();
            }
            for line in ran.err.lines() {
                writeln!(text, "! {line}").unwrap();
            }
            if ran.code != 0 {
                writeln!(text, "exit code {}", ran.code).unwrap();
            }
            text.push('\n');
        }
        text
    }
}

/// Hides what depends on how rows are laid out and not on what was saved.
fn stable(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let hidden = |place: usize| {
        line.starts_with("file_bytes") && place + 1 == words.len()
            || words.get(place + 1).is_some_and(|next| *next == "rows")
    };
    let shown = words.iter().enumerate().map(|(n, word)| if hidden(n) { "[n]" } else { word });
    shown.collect::<Vec<_>>().join(" ")
}

/// Waits for something that another process does.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
