//! `cortex tour`: the whole story, told by really doing it.
//!
//! Each step runs this very program as a user would and shows what it printed. Nothing is staged: a step that does not
//! end as told ends the tour with an error.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output as Finished, Stdio};

use clap::Args;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{GlobalArgs, fill_random};
use crate::output::Output;

/// Shows what cortex does, by doing it in a folder of its own.
///
/// Saves a few memories, changes and relates them, finds them again, proves one, shows that a forged proof is refused,
/// and makes the whole store again from its journal. Uses a new folder that it names, or the empty folder given with
/// --home.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex tour
  cortex tour --step
  cortex tour --home /tmp/my-tour")]
pub(crate) struct TourArgs {
    /// Wait for Enter after each step
    #[arg(long)]
    step: bool,
}

pub(crate) fn run(args: &TourArgs, globals: &GlobalArgs, out: &mut Output) -> CommandResult {
    let folder = folder(globals)?;
    let mut tour = Tour { folder, step: args.step, number: 0, out };
    tour.tell(&format!(
        "This is a tour of cortex, in {}\nEvery command below really runs; its output follows it.",
        tour.folder.display()
    ))?;
    memories(&mut tour)?;
    proofs(&mut tour)?;
    whole(&mut tour)?;
    let folder = tour.folder.display().to_string();
    tour.tell(&format!(
        "\nThat was it. The demo home stays in {folder}; delete it when you like.\n\
         Try next, with `export CORTEX_HOME={folder}`:\n\
         \x20 cortex journal                 everything that happened, one line each\n\
         \x20 cortex get 1                   one memory in full\n\
         \x20 cortex graph 4                 what it is connected to\n\
         \x20 cortex scope-grant reviewer --new-key --operation read,find --type Decision --out reviewer.grant\n\
         \x20 cortex --grant reviewer.grant find     what that delegate may see\n\
         \x20 cortex help                    all commands; cortex help COMMAND for one"
    ))
}

/// What is remembered: saving, changing, relating, finding.
fn memories(tour: &mut Tour<'_>) -> CommandResult {
    tour.chapter("Save memories. Each is on disk when the command returns.")?;
    tour.cortex(&[
        "save",
        "Use redb for the store",
        "One file per actor, no threads, safe on kill -9.",
        "--type",
        "decision",
        "--project",
        "demo",
        "--tag",
        "storage",
        "--field",
        "rationale=measured against three others",
    ])?;
    tour.cortex(&[
        "save",
        "Never acknowledge before fsync",
        "An answer is a promise.",
        "--kind",
        "rule",
        "--project",
        "demo",
        "--field",
        "strength=hard",
    ])?;
    tour.cortex(&[
        "save",
        "Short answers, no emoji",
        "--type",
        "preference",
        "--scope",
        "personal",
        "--field",
        "topic=style",
    ])?;
    tour.cortex(&[
        "save",
        "Login failed on empty password",
        "The check came after the hash.",
        "--kind",
        "bugfix",
        "--project",
        "demo",
        "--tag",
        "auth",
    ])?;
    tour.cortex(&[
        "save",
        "Ship version 1",
        "--type",
        "goal",
        "--project",
        "demo",
        "--field",
        "due=2030-12-31",
    ])?;

    tour.chapter(
        "Change one. The old version stays, and a lost race is refused, never a lost write.",
    )?;
    tour.cortex(&[
        "update",
        "1",
        "--content",
        "One file per actor, no threads, 2 us reads.",
        "--expect",
        "1",
    ])?;
    tour.fails(&["update", "1", "--content", "too late", "--expect", "1"], 4)?;
    tour.cortex(&["history", "1"])?;

    tour.chapter("Say how memories belong together.")?;
    tour.cortex(&["relate", "4", "part_of", "5"])?;
    tour.cortex(&["graph", "5"])?;

    tour.chapter(
        "Ask in your own words; find by type, tag and condition; see what an agent should know before it starts.",
    )?;
    tour.cortex(&["search", "why", "could", "people", "not", "log", "in"])?;
    tour.cortex(&["find", "--type", "decision,constraint"])?;
    tour.cortex(&["find", "tag:auth", "created>2020-01-01"])?;
    tour.cortex(&["context", "--project", "demo", "--budget", "600"])?;
    Ok(())
}

/// What can be shown to others.
fn proofs(tour: &mut Tour<'_>) -> CommandResult {
    tour.chapter(
        "Fix the state in a snapshot, and prove a memory to somebody who has only the root.",
    )?;
    tour.cortex(&["snapshot", "--reason", "end of the tour's first half"])?;
    let root = tour.cortex(&["root"])?;
    let root = String::from_utf8_lossy(&root.stdout).trim().to_owned();
    let (proof, forged) = ("memory.proof", "forged.proof");
    tour.cortex(&["prove", "1", "--out", proof])?;
    tour.tell("\nThe file is checked without the store: only the file and the root count.")?;
    tour.cortex(&["verify-proof", proof, "--root", &root])?;

    tour.tell("\nNow somebody changes one letter in a copy of the file (threads -> Threads).")?;
    forge(&tour.folder.join(proof), &tour.folder.join(forged))?;
    tour.fails(&["verify-proof", forged, "--root", &root], 1)?;
    Ok(())
}

/// What the journal is good for.
fn whole(tour: &mut Tour<'_>) -> CommandResult {
    tour.chapter("Check every byte against the journal, then throw away all but the journal and make it again.")?;
    tour.cortex(&["verify"])?;
    tour.cortex(&["rebuild"])?;
    tour.cortex(&["root"])?;
    tour.cortex(&["stats"])?;
    Ok(())
}

struct Tour<'a> {
    folder: PathBuf,
    step: bool,
    number: u32,
    out: &'a mut Output,
}

impl Tour<'_> {
    fn tell(&mut self, text: &str) -> CommandResult {
        self.out.line(text)
    }

    fn chapter(&mut self, title: &str) -> CommandResult {
        if self.step && self.number > 0 {
            self.wait()?;
        }
        self.number += 1;
        let number = self.number;
        self.tell(&format!("\n== {number}. {title}"))
    }

    fn wait(&mut self) -> CommandResult {
        self.out.flush()?;
        // Who closed standard error sees no prompt; Enter still counts.
        let _ = write!(std::io::stderr(), "\n[Enter] ");
        let mut line = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .map(drop)
            .map_err(|error| Failure::Io { what: "standard input".into(), error })
    }

    /// Runs a command that must succeed.
    fn cortex(&mut self, arguments: &[&str]) -> CommandResult<Finished> {
        self.ends(arguments, 0)
    }

    /// Runs a command that must end with this exit code.
    fn fails(&mut self, arguments: &[&str], code: i32) -> CommandResult<Finished> {
        self.ends(arguments, code)
    }

    fn ends(&mut self, arguments: &[&str], code: i32) -> CommandResult<Finished> {
        let shown: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
        self.tell(&format!("\n$ cortex {}", shown.join(" ")))?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::Io { what: "this program".into(), error })?;
        let finished = Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .env("CORTEX_HOME", &self.folder)
            .env_remove("CORTEX_ACTOR")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::Io { what: "cortex".into(), error })?;
        for text in [&finished.stdout, &finished.stderr] {
            let text = String::from_utf8_lossy(text);
            if !text.trim().is_empty() {
                self.tell(text.trim_end())?;
            }
        }
        self.out.flush()?;
        if code != 0 {
            self.tell(&format!("(exit code {code})"))?;
        }
        if finished.status.code() == Some(code) {
            return Ok(finished);
        }
        let message = format!("cortex {} ended with {}, not {code}", arguments[0], finished.status);
        Err(Failure::Check { code: "tour", message })
    }
}

/// As a shell wants it.
fn quoted(argument: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_./,:=#".contains(c);
    if !argument.is_empty() && argument.chars().all(bare) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

/// The folder asked for, which must have no memory in it yet, or a new one. The environment is not asked: a tour must
/// not write into somebody's real home.
fn folder(globals: &GlobalArgs) -> CommandResult<PathBuf> {
    let folder = if let Some(folder) = &globals.home {
        folder.clone()
    } else {
        let mut bytes = [0; 4];
        fill_random(&mut bytes)?;
        let name = format!("cortex-tour-{}", proof::digest::encode_hex(&bytes));
        std::env::temp_dir().join(name)
    };
    if folder.join("actors").exists() {
        let message = format!("{} already holds memories; give an empty folder", folder.display());
        return Err(Failure::input(message));
    }
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    folder.canonicalize().map_err(|error| Failure::file(&folder, error))
}

/// Copies a proof with one letter of its content changed.
fn forge(proof: &Path, forged: &Path) -> CommandResult {
    let mut bytes = std::fs::read(proof).map_err(|error| Failure::file(proof, error))?;
    let word = b"threads";
    let Some(place) = bytes.windows(word.len()).position(|window| window == word) else {
        let message = "the proof does not hold the text it proves".to_owned();
        return Err(Failure::Check { code: "tour", message });
    };
    bytes[place] = b'T';
    std::fs::write(forged, bytes).map_err(|error| Failure::file(forged, error))
}
