//! A home and the program that serves it: commands, a daemon, a writer that counts what was acknowledged.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a daemon may take to say that it serves.
const START: Duration = Duration::from_secs(60);
/// How long a command may take where nothing is said about it.
pub(crate) const COMMAND: Duration = Duration::from_secs(120);

pub(crate) struct Home {
    pub(crate) path: PathBuf,
    program: PathBuf,
}

/// A daemon in the foreground.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) said: Value,
    /// How long it took to serve.
    pub(crate) took: Duration,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Home {
    pub(crate) fn new(path: &Path, program: &Path) -> Home {
        Home { path: path.to_owned(), program: program.to_owned() }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.path)
            .env("CORTEX_HOME", &self.path)
            .env("CORTEX_PORT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end; one that takes longer than `patience` is killed and is an error.
    pub(crate) fn run(&self, words: &[&str], patience: Duration) -> Result<Output, String> {
        let child = self.command(words).spawn().map_err(|error| error.to_string())?;
        let pid = child.id();
        let waiting = thread::spawn(move || child.wait_with_output());
        let until = Instant::now() + patience;
        while !waiting.is_finished() {
            if Instant::now() >= until {
                signal(pid, rustix::process::Signal::KILL);
                let _ = waiting.join();
                return Err(format!(
                    "`cortex {}` did not end within {} s",
                    words.join(" "),
                    patience.as_secs()
                ));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let output = waiting.join().map_err(|_| "a thread broke".to_owned())?;
        output.map_err(|error| error.to_string())
    }

    /// The same for a command that must succeed; gives what it printed.
    pub(crate) fn ok(&self, words: &[&str]) -> Result<String, String> {
        let output = self.run(words, COMMAND)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let said = text(&output.stderr);
        Err(format!("`cortex {}`: {}", words.join(" "), said.lines().next().unwrap_or_default()))
    }

    /// Saves one memory, through the daemon if one serves; whether it was acknowledged.
    pub(crate) fn save(&self, title: &str, content: &str) -> bool {
        self.run(&["save", title, content], COMMAND).is_ok_and(|output| output.status.success())
    }

    pub(crate) fn serve(&self) -> Result<Daemon, String> {
        let begun = Instant::now();
        let mut command = self.command(&["serve", "--json"]);
        let mut child = command.stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let out = child.stdout.take().ok_or("no pipe")?;
        let mut daemon = Daemon { child, said: Value::Null, took: Duration::ZERO };
        let reading = thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line).map(|_| line)
        });
        while !reading.is_finished() {
            if begun.elapsed() > START {
                return Err("the daemon does not serve".to_owned());
            }
            thread::sleep(Duration::from_millis(1));
        }
        let line = reading
            .join()
            .map_err(|_| "a thread broke".to_owned())?
            .map_err(|error| error.to_string())?;
        daemon.said =
            serde_json::from_str(&line).map_err(|_| format!("the daemon said {line:?}"))?;
        daemon.took = begun.elapsed();
        Ok(daemon)
    }

    /// The titles of all memories.
    pub(crate) fn titles(&self) -> Result<BTreeSet<String>, String> {
        let text = self.ok(&["export"])?;
        let title = |line: &str| {
            let value: Value = serde_json::from_str(line).ok()?;
            find_title(&value)
        };
        Ok(text.lines().filter_map(title).collect())
    }
}

/// The first title in a line of an export, wherever its shape has it.
fn find_title(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => match fields.get("title").and_then(Value::as_str) {
            Some(title) => Some(title.to_owned()),
            None => fields.values().find_map(find_title),
        },
        Value::Array(items) => items.iter().find_map(find_title),
        _ => None,
    }
}

pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended already.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Saves one memory after the other in a process of its own, without a daemon; each is acknowledged before the next.
pub(crate) struct Writer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Writer {
    pub(crate) fn start(home: &Home) -> Result<Writer, String> {
        let mut command = home.command(&["save", "--lines"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or("no pipe")?);
        Ok(Writer { child, input, output: BufReader::new(output) })
    }

    /// Whether the memory was acknowledged.
    pub(crate) fn save(&mut self, title: &str, content: &str) -> bool {
        let line = serde_json::json!({"title": title, "content": content});
        let Some(input) = &mut self.input else { return false };
        if writeln!(input, "{line}").and_then(|()| input.flush()).is_err() {
            return false;
        }
        let mut answer = String::new();
        if !self.output.read_line(&mut answer).is_ok_and(|bytes| bytes > 0) {
            return false;
        }
        serde_json::from_str::<Value>(&answer).is_ok_and(|answer| answer["id"].is_u64())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.input = None;
        // It may have ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
