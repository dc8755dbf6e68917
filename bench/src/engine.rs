//! What every engine under comparison does: take memories, open again, answer questions.
//!
//! Each engine runs in a process of its own, so that its memory is its own, and hands its figures to the parent as one line
//! of JSON. Docs are numbered from 0 in all of them, so that answers can be compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Outcome;
use crate::corpus::{Corpus, Memory};
use crate::measure::{Samples, cpu, memory, thread_cpu};

/// Memories per commit.
const BULK: u64 = 1_000;
/// Questions asked each way; fewer when an engine needs longer than `PATIENCE`, but never fewer than `QUESTIONS_MIN`.
const QUESTIONS: u64 = 200;
const QUESTIONS_MIN: usize = 20;
const PATIENCE: Duration = Duration::from_secs(30);
/// Asked before the clock starts: caches are warm in daily use.
const WARM_UP: u64 = 5;
/// The questions, one a line, those of the warm-up first. From a file, because what makes them takes memory that is not the
/// engine's.
const ASKED: &str = "questions.txt";

pub trait Engine: Sized {
    /// The ways it can be asked.
    const WAYS: &'static [&'static str];

    fn create(folder: &Path) -> Outcome<Self>;

    fn open(folder: &Path) -> Outcome<Self>;

    /// One commit.
    fn add(&mut self, memories: Vec<Memory>) -> Outcome<()>;

    /// Makes everything durable and searchable.
    fn finish(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// What the engine can do to answer faster, at leisure; not part of the build's time.
    fn settle(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// The numbers of the ten best, best first.
    fn ask(&mut self, way: &str, question: &str) -> Outcome<Vec<u64>>;

    /// Figures only this engine has.
    fn extra(&mut self) -> Outcome<Value> {
        Ok(Value::Null)
    }

    /// How the building process leaves. An engine may die here, to show what opens after a kill.
    fn leave(self) {}
}

/// Builds in this process and prints what it cost.
pub fn build<E: Engine>(folder: &Path, memories: u64) -> Outcome<()> {
    let corpus = Corpus::new();
    let mut engine = E::create(folder)?;
    let (started, cpu_before) = (Instant::now(), cpu());
    // Making the memories is not the engine's work. Where an engine works in another thread meanwhile, that is its gain.
    let (mut making, mut making_cpu) = (Duration::ZERO, Duration::ZERO);
    for first in (0..memories).step_by(BULK as usize) {
        let (start, start_cpu) = (Instant::now(), thread_cpu());
        let batch = (first..memories.min(first + BULK)).map(|n| corpus.memory(n)).collect();
        making += start.elapsed();
        making_cpu += thread_cpu() - start_cpu;
        engine.add(batch)?;
    }
    engine.finish()?;
    let wall = started.elapsed() - making;
    let spent = cpu().saturating_sub(cpu_before + making_cpu);
    let peak = memory("VmHWM");
    engine.settle()?;
    let extra = engine.extra()?;
    let asked: Vec<String> =
        (0..WARM_UP + QUESTIONS).map(|n| corpus.question(n, memories)).collect();
    std::fs::write(folder.join(ASKED), asked.join("\n"))?;
    println!(
        "{}",
        json!({"wall": wall.as_secs_f64(), "cpu": spent.as_secs_f64(), "peak": peak, "extra": extra})
    );
    engine.leave();
    Ok(())
}

/// Opens in this process, asks every way, and prints what it cost.
pub fn ask<E: Engine>(folder: &Path, ways: &[&str]) -> Outcome<()> {
    let asked = std::fs::read_to_string(folder.join(ASKED))?;
    let mut questions = asked.lines();
    let warm_up: Vec<&str> = questions.by_ref().take(WARM_UP as usize).collect();
    let before = memory("RssAnon");

    let (started, cpu_before) = (Instant::now(), cpu());
    let mut engine = E::open(folder)?;
    let open = started.elapsed();
    if let Some(way) = ways.last() {
        engine.ask(way, warm_up[0])?;
    }
    let (first, first_cpu) = (started.elapsed(), cpu().saturating_sub(cpu_before));
    let mut answers = serde_json::Map::new();
    for way in ways {
        for question in &warm_up {
            engine.ask(way, question)?;
        }
        let (mut walls, mut cpus, mut tops) = (Vec::new(), Vec::new(), Vec::new());
        let begun = Instant::now();
        for question in questions.clone() {
            if begun.elapsed() > PATIENCE && walls.len() >= QUESTIONS_MIN {
                break;
            }
            let (start, start_cpu) = (Instant::now(), cpu());
            let top = engine.ask(way, question)?;
            cpus.push((cpu() - start_cpu).as_nanos() as u64);
            walls.push(start.elapsed().as_nanos() as u64);
            tops.push(top);
        }
        // Every question is made from a memory: an engine that finds nothing was not measured.
        let empty = tops.iter().filter(|top| top.is_empty()).count();
        if empty * 10 > tops.len() {
            return Err(format!("{way}: {empty} of {} questions had no answer", tops.len()).into());
        }
        answers.insert((*way).to_owned(), json!({"wall": walls, "cpu": cpus, "tops": tops}));
    }
    let now = memory("RssAnon");
    let anonymous = now.zip(before).map(|(now, before)| now.saturating_sub(before));
    println!(
        "{}",
        json!({
            "open": open.as_secs_f64(), "first": first.as_secs_f64(),
            "first_cpu": first_cpu.as_secs_f64(), "resident": memory("VmRSS"),
            "anonymous": anonymous, "answers": answers,
        })
    );
    Ok(())
}

/// What a building process told.
#[derive(Clone, Debug)]
pub struct Built {
    pub wall: Duration,
    pub cpu: Duration,
    pub peak: Option<u64>,
    pub bytes: u64,
    pub extra: Value,
}

/// What an asking process told.
#[derive(Clone, Debug)]
pub struct Opened {
    pub open: Duration,
    /// From before the open until the first answer.
    pub first: Duration,
    pub first_cpu: Duration,
    pub resident: Option<u64>,
    /// Memory of its own that opening and asking took; mapped files are not in it.
    pub anonymous: Option<u64>,
    answers: Value,
}

#[derive(Clone, Debug, Default)]
pub struct Answered {
    pub wall: Samples,
    pub cpu: Samples,
    pub tops: Vec<Vec<u64>>,
}

impl Opened {
    pub fn answered(&self, way: &str) -> Answered {
        let numbers = |value: &Value| -> Vec<u64> {
            value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
        };
        let way = &self.answers[way];
        let times = |name: &str| {
            Samples::new(numbers(&way[name]).into_iter().map(Duration::from_nanos).collect())
        };
        let tops = way["tops"].as_array().into_iter().flatten().map(numbers).collect();
        Answered { wall: times("wall"), cpu: times("cpu"), tops }
    }
}

/// Where an engine of a run keeps its files.
pub fn folder(scratch: &Path, engine: &str, memories: u64) -> PathBuf {
    scratch.join(format!("{engine}-{memories}"))
}

pub fn built(scratch: &Path, engine: &str, memories: u64) -> Outcome<Built> {
    let folder = folder(scratch, engine, memories);
    std::fs::create_dir_all(&folder)?;
    let told = child(engine, "build", &folder, memories)?;
    let bytes = bytes_in(&folder)?;
    Ok(Built {
        wall: seconds(&told["wall"]),
        cpu: seconds(&told["cpu"]),
        peak: told["peak"].as_u64(),
        bytes,
        extra: told["extra"].clone(),
    })
}

/// `step` is `ask`, or `open` for opening alone.
pub fn opened(scratch: &Path, engine: &str, step: &str, memories: u64) -> Outcome<Opened> {
    let mut told = child(engine, step, &folder(scratch, engine, memories), memories)?;
    Ok(Opened {
        open: seconds(&told["open"]),
        first: seconds(&told["first"]),
        first_cpu: seconds(&told["first_cpu"]),
        resident: told["resident"].as_u64(),
        anonymous: told["anonymous"].as_u64(),
        answers: told["answers"].take(),
    })
}

fn child(engine: &str, step: &str, folder: &Path, memories: u64) -> Outcome<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--engine", engine, step])
        .arg(folder)
        .arg(memories.to_string())
        .stderr(Stdio::inherit())
        .output()?;
    // An engine may leave by dying, so what it told counts and not how it ended.
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{engine} {step} ended with {}: {error}", output.status).into())
}

fn seconds(value: &Value) -> Duration {
    Duration::from_secs_f64(value.as_f64().unwrap_or(0.0))
}

fn bytes_in(folder: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        bytes += if meta.is_dir() { bytes_in(&entry.path())? } else { meta.len() };
    }
    Ok(bytes)
}
