//! Throws bytes at everything that reads bytes of others: twelve readers, on the stable toolchain.
//!
//! `make fuzz FUZZ_SECONDS=60` gives each target a minute. Inputs are kept ones (`corpus/TARGET/`), valid ones that the
//! target makes itself, and mutations of both, from a seed that is printed; `--seed` makes a run repeatable. An input
//! that makes a target panic, or that breaks a law the target states, is written to `corpus/TARGET/` under the digest
//! of its bytes, named, and ends the run with code 1: mend the reader, keep the file, add a test beside the reader.
//!
//! What must stay true: no target needs the network, a clock or more than a temporary folder; a hang counts as a
//! failure like a panic does.

mod mutation;
mod targets;

use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mutation::Mutator;
use targets::{TARGETS, Target};

/// Longest input that mutations make. Larger ones only cost time: the bounds of readers have tests of their own.
const INPUT_BYTES_MAX: usize = 16 * 1024;
/// Inputs that are kept in memory because their shape of answer was new.
const KEPT_MAX: usize = 4_096;
/// How long one input may take.
const HANG: Duration = Duration::from_secs(20);

struct Options {
    seconds: f64,
    seed: u64,
    only: Option<String>,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(why) => {
            eprintln!("{why}\nusage: cortex-fuzz [--seconds N] [--seed N] [--only TARGET]");
            return ExitCode::from(2);
        }
    };
    // A panic is told once, with the input; the usual lines would bury it.
    std::panic::set_hook(Box::new(|_| {}));
    println!("seed {}; {} s for each target", options.seed, options.seconds);
    let mut failed = false;
    let chosen = TARGETS
        .iter()
        .filter(|target| options.only.as_deref().is_none_or(|only| only == target.name));
    for target in chosen {
        match run(target, &options) {
            Ok(report) => println!("{:<12} {report}", target.name),
            Err(why) => {
                failed = true;
                println!("{:<12} FAILED: {why}", target.name);
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 1.0, seed: 1, only: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seconds" => {
                options.seconds = value()?.parse().map_err(|_| "--seconds is no number")?
            }
            "--seed" => options.seed = value()?.parse().map_err(|_| "--seed is no number")?,
            "--only" => options.only = Some(value()?),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    let known = |name: &String| TARGETS.iter().any(|target| target.name == name);
    match options.only.as_ref().filter(|name| !known(name)) {
        Some(name) => Err(format!("there is no target {name}")),
        None => Ok(options),
    }
}

/// One target until its time is up. The inputs run in a thread, so that one that hangs is noticed.
fn run(target: &'static Target, options: &Options) -> Result<String, String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let kept = kept(&corpus)?;
    let until = Instant::now() + Duration::from_secs_f64(options.seconds);
    let seed = options.seed;
    let (told, news) = mpsc::channel();
    let worker = thread::Builder::new().stack_size(8 << 20);
    let worker = worker.spawn(move || work(target, kept, seed, until, &told));
    let worker = worker.map_err(|error| error.to_string())?;
    let mut last = Vec::new();
    loop {
        match news.recv_timeout(HANG) {
            Ok(News::Trying(input)) => last = input,
            Ok(News::Broke(input, why)) => {
                let file = keep(&corpus, &input)?;
                return Err(format!("{why}; the input is {}", file.display()));
            }
            Ok(News::Done(report)) => {
                worker.join().map_err(|_| "the worker broke".to_owned())?;
                return Ok(report);
            }
            Err(_) => {
                let file = keep(&corpus, &last)?;
                return Err(format!(
                    "no answer within {} s; the input is {}",
                    HANG.as_secs(),
                    file.display()
                ));
            }
        }
    }
}

enum News {
    Trying(Vec<u8>),
    Broke(Vec<u8>, String),
    Done(String),
}

fn work(target: &Target, kept: Vec<Vec<u8>>, seed: u64, until: Instant, told: &mpsc::Sender<News>) {
    let mut check = (target.open)();
    let mut mutator = Mutator::new(seed, INPUT_BYTES_MAX);
    let mut pool = kept;
    let from_files = pool.len();
    pool.extend((target.seeds)());
    if pool.is_empty() {
        pool.push(Vec::new());
    }
    let begun = pool.len();
    let mut shapes = HashSet::new();
    let mut tried = 0_u64;
    loop {
        // Every kept input first, as it is; then mutations for as long as there is time.
        let fresh = usize::try_from(tried).is_ok_and(|tried| tried < begun);
        let input = if fresh {
            pool[usize::try_from(tried).unwrap_or(0)].clone()
        } else if Instant::now() < until {
            mutator.mutate(&pool)
        } else {
            break;
        };
        // The main thread is there for as long as this one is.
        let _ = told.send(News::Trying(input.clone()));
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&input)));
        tried += 1;
        match outcome {
            Ok(Ok(shape)) => {
                if shapes.insert(shape) && !fresh && pool.len() < KEPT_MAX {
                    pool.push(input);
                }
            }
            Ok(Err(law)) => {
                // The same.
                let _ = told.send(News::Broke(input, law));
                return;
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text =
                    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                // The same.
                let _ =
                    told.send(News::Broke(input, format!("panic: {}", text.unwrap_or_default())));
                return;
            }
        }
    }
    let report = format!(
        "{tried} inputs, {from_files} of them kept files, {} kinds of answer",
        shapes.len()
    );
    // The same.
    let _ = told.send(News::Done(report));
}

/// The inputs that were kept, in the order of their names.
fn kept(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read(file).map_err(|error| format!("{}: {error}", file.display())))
        .collect()
}

fn keep(folder: &Path, input: &[u8]) -> Result<PathBuf, String> {
    let name = proof::Digest::of("cortex/fuzz/1", &[input]).to_string();
    let file = folder.join(&name[..16]);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&file, input))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}
