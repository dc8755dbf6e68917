//! Mistreats the finished program for minutes and prints what came of it, as a Markdown table.
//!
//! `make torture TORTURE_MINUTES=10`. Each trial has a share of the time, works in homes of its own and knows the
//! program only by its commands, its socket and its files. One law stands over all of them: what was acknowledged is
//! there afterwards, and the store verifies. A trial that cannot run here says so; a figure that was not measured is
//! not printed.

mod backup;
mod clock;
mod damage;
mod full_disk;
mod home;
mod kill;
mod slow;
mod stopped;
mod tending;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// What a trial came to.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    /// How much of it was done.
    pub(crate) done: String,
    pub(crate) seen: String,
    pub(crate) held: Verdict,
}

pub(crate) enum Verdict {
    Held,
    Broken(String),
    NotRun(String),
}

/// What a trial gets.
pub(crate) struct Trial {
    pub(crate) program: PathBuf,
    pub(crate) until: Instant,
    pub(crate) chance: Chance,
}

impl Trial {
    pub(crate) fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }
}

/// The same numbers for the same seed (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}

pub(crate) type Outcome = Result<Row, String>;

/// A trial, and how many of twenty parts of the time it has.
type Share = (&'static str, u32, fn(&mut Trial) -> Outcome);

const TRIALS: &[Share] = &[
    ("kill", 8, kill::run),
    ("backup", 1, backup::run),
    ("damage", 4, damage::run),
    ("full-disk", 2, full_disk::run),
    ("slow", 2, slow::run),
    ("stopped", 2, stopped::run),
    ("clock", 1, clock::run),
];
const PARTS: u32 = 20;

struct Options {
    program: PathBuf,
    minutes: f64,
    seed: u64,
    only: Option<String>,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(why) => {
            let names: Vec<&str> = TRIALS.iter().map(|(name, ..)| *name).collect();
            eprintln!(
                "{why}\nusage: cortex-torture PROGRAM [--minutes N] [--seed N] [--only {}]",
                names.join("|")
            );
            return ExitCode::from(2);
        }
    };
    if let Some(code) = full_disk::enter_namespace() {
        return code;
    }
    let mut rows = Vec::new();
    for (n, (name, share, run)) in TRIALS.iter().enumerate() {
        if options.only.as_deref().is_some_and(|only| only != *name) {
            continue;
        }
        let parts = if options.only.is_some() { 1.0 } else { f64::from(*share) / f64::from(PARTS) };
        let time = Duration::from_secs_f64(options.minutes * 60.0 * parts);
        eprintln!("{name}: {} s", time.as_secs());
        let seed = options.seed.wrapping_add(n as u64);
        let mut trial = Trial {
            program: options.program.clone(),
            until: Instant::now() + time,
            chance: Chance(seed),
        };
        rows.push(run(&mut trial).unwrap_or_else(|why| Row {
            what: name,
            done: String::new(),
            seen: String::new(),
            held: Verdict::Broken(why),
        }));
    }
    print(&rows, &options);
    let broken = rows.iter().any(|row| matches!(row.held, Verdict::Broken(_)));
    if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn options() -> Result<Options, String> {
    let mut words = std::env::args().skip(1);
    let program = words.next().filter(|word| !word.starts_with('-')).ok_or("which program?")?;
    let program = std::fs::canonicalize(&program).map_err(|error| format!("{program}: {error}"))?;
    let mut options = Options { program, minutes: 1.0, seed: 1, only: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--minutes" => {
                options.minutes = value()?.parse().map_err(|_| "--minutes is no number")?
            }
            "--seed" => options.seed = value()?.parse().map_err(|_| "--seed is no number")?,
            "--only" => options.only = Some(value()?),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    match options.only.as_ref().filter(|only| TRIALS.iter().all(|(name, ..)| name != only)) {
        Some(name) => Err(format!("there is no trial {name}")),
        None => Ok(options),
    }
}

/// The first line of what a command prints, or nothing.
fn told_by(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or_default().to_owned()
}

fn print(rows: &[Row], options: &Options) {
    let day = told_by(Command::new("date").args(["-u", "+%Y-%m-%d"]));
    let commit = told_by(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]));
    let system = told_by(Command::new("uname").args(["-sr"]));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let minutes = options.minutes;
    println!(
        "{day}, commit {commit}, {system}, {cores} cores; `TORTURE_MINUTES={minutes}`, seed {}.\n",
        options.seed
    );
    println!("| what was done | how much | what was seen | did it hold |\n|---|---|---|---|");
    for Row { what, done, seen, held } in rows {
        let held = match held {
            Verdict::Held => "yes".to_owned(),
            Verdict::Broken(why) => format!("**no**: {why}"),
            Verdict::NotRun(why) => format!("not tried: {why}"),
        };
        println!("| {what} | {done} | {seen} | {held} |");
    }
}

/// The middle and the largest of some times, in words.
pub(crate) fn times(all: &mut [Duration]) -> String {
    all.sort();
    let milliseconds = |time: &Duration| time.as_millis();
    match (all.get(all.len() / 2), all.last()) {
        (Some(middle), Some(most)) => {
            format!("{} ms in the middle, {} ms at most", milliseconds(middle), milliseconds(most))
        }
        _ => "nothing was measured".to_owned(),
    }
}
