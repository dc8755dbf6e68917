//! Reads a home with histories of agents and asks it questions; prints each figure beside the bar that the project set
//! itself. `tools/past/histories.py` makes such a home.
//!
//! `cargo run --release -p cortex-past --example past_bars -- HOME [QUESTIONS]`
//!
//! The past goes to `HOME/past-bars`; one that is there is read on. Times depend on the machine and on what else it
//! does: CPU seconds of the whole process stand beside them.

use std::path::Path;
use std::time::{Duration, Instant};

use past::{
    Exclusion, MemoryTombstones, Past, ReadScope, ReadWorld, SessionScope, TurnQuestion, TurnScope,
    WorkScope,
};
use transcripts::surroundings::PastSurroundings;

const STEP_BYTES: u64 = 64 << 20;
/// Sessions whose texts are masked to measure that alone.
const MASKED_SESSIONS: usize = 80;
const MONTH_MS: i64 = 30 * 86_400_000;

/// What the kernel knows of this process: CPU seconds, and the most memory it had, in MB.
fn process() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    let peak = peak.and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    ((ticks(11) + ticks(12)) / 100.0, peak / 1024.0)
}

fn row(what: &str, measured: &str, bar: &str) {
    println!("{what:<46} {measured:>34}  {bar}");
}

#[allow(clippy::cast_precision_loss)]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => bytes_below(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// The value below which so many of a hundred lie.
fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times
        .get((times.len() * percent / 100).min(times.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> past::Result<T>) -> past::Result<T> {
    let start = Instant::now();
    let answer = work()?;
    times.push(start.elapsed());
    Ok(answer)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let home = Path::new(arguments.get(1).ok_or("HOME [QUESTIONS]")?);
    let questions = arguments.get(2).map_or(Ok(100), |text| text.parse::<usize>())?;
    let folder = home.join("past-bars");
    let start = Instant::now();
    let mut past = Past::open(&folder, text::analyze::Language::English)?;
    row("open", &format!("{:.1?}", start.elapsed()), "");
    mask(home)?;
    read(&mut past, home, &folder)?;
    ask(&past, questions)?;
    let (seconds, peak) = process();
    row("the whole: CPU seconds, most memory", &format!("{seconds:.1} s, {peak:.0} MB"), "");
    Ok(())
}

/// Masks texts of some sessions of Claude Code, one by one, as a reader does.
fn mask(home: &Path) -> Result<(), Box<dyn std::error::Error>> {
    fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) if text.len() > 20 => found.push(text.clone()),
            serde_json::Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
            serde_json::Value::Object(fields) => {
                fields.values().for_each(|value| texts(value, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    let projects = std::fs::read_dir(home.join(".claude/projects"))?.flatten();
    let sessions = projects.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
    for session in sessions.flatten().flatten().take(MASKED_SESSIONS) {
        for line in std::fs::read_to_string(session.path())?.lines() {
            texts(&serde_json::from_str(line)?, &mut found);
        }
    }
    let bytes: u64 = found.iter().map(|text| text.len() as u64).sum();
    let before = process().0;
    let masked: usize = found.iter().map(|text| redact::secrets::mask(text).counts.len()).sum();
    let cpu = (process().0 - before).max(0.01);
    let measured =
        format!("{:.0} MB a CPU s ({:.0} MB, {masked})", megabytes(bytes) / cpu, megabytes(bytes));
    row("masking alone, texts of some sessions", &measured, ">= 100 MB/s a core");
    Ok(())
}

fn read(past: &mut Past, home: &Path, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (surroundings, exclusion) = (PastSurroundings::of_home(home), Exclusion::default());
    let tombstones = MemoryTombstones::default();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let now = i64::try_from(now.as_millis())?;
    let mut silent = |_, _| {};
    let mut world = ReadWorld {
        surroundings: &surroundings,
        exclusion: &exclusion,
        tombstones: &tombstones,
        now,
        progress: &mut silent,
    };
    let (start, (before, _)) = (Instant::now(), process());
    let recent = ReadScope { since: Some(now - MONTH_MS), ..ReadScope::default() };
    let mut plan = past.plan(&recent, &world)?;
    let (_, bytes) = plan.progress();
    while !plan.is_done() {
        past.read_step(&mut plan, &mut world, STEP_BYTES)?;
    }
    let (after, _) = process();
    let measured =
        format!("{:.1?}, CPU {:.1} s, {:.0} MB", start.elapsed(), after - before, megabytes(bytes));
    row("the last 30 days can be asked after", &measured, "<= 5 s of 5 GB");
    let mut plan = past.plan(&ReadScope::default(), &world)?;
    let all = bytes + plan.progress().1;
    while !plan.is_done() {
        past.read_step(&mut plan, &mut world, STEP_BYTES)?;
    }
    let (after, peak) = process();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), after - before);
    let outcome = past.outcome(plan);
    row("sessions, turns", &format!("{}, {}", outcome.sessions, outcome.turns), "");
    if all > 0 {
        let measured = format!("{seconds:.1} s, CPU {cpu:.1} s, {:.0} MB", megabytes(all));
        row("first reading", &measured, "5 GB: <= 60 s, 120 CPU s");
        let rates = format!(
            "{:.0} MB/s, {:.0} MB a CPU s",
            megabytes(all) / seconds,
            megabytes(all) / cpu.max(0.01)
        );
        row("  masking, segments and words", &rates, ">= 83 MB/s, >= 42 a CPU s");
        row("  most memory", &format!("{peak:.0} MB"), "<= 250 MB");
        for (name, bar) in [("segments", "<= 10 %"), ("index", "<= 3 %")] {
            let size = bytes_below(&folder.join(name));
            let share = 100.0 * megabytes(size) / megabytes(all);
            row(&format!("  {name}"), &format!("{:.0} MB = {share:.1} %", megabytes(size)), bar);
        }
    }
    let (start, (before, _)) = (Instant::now(), process());
    let plan = past.plan(&ReadScope::default(), &world)?;
    let cpu = process().0 - before;
    let measured = format!(
        "{:.1?}, CPU {cpu:.2} s, {} changed",
        start.elapsed(),
        past.outcome(plan).changed_files
    );
    row("a round over all sources, nothing new", &measured, "20,000 files: 100 ms CPU");
    Ok(())
}

fn ask(past: &Past, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    // Questions are made of prompts that are there, so each has an answer and words of all frequencies.
    let list = past.sessions(&SessionScope { limit: Some(200), ..SessionScope::default() });
    let references: Vec<String> =
        list.sessions.iter().map(|state| state.reference.clone()).collect();
    let mut asked = Vec::new();
    for reference in &references {
        let scope = TurnScope { reference: reference.clone(), around: 0, work: false };
        for turn in past.show(&scope)?.turns.iter().take(count.div_ceil(references.len()).max(1)) {
            let text = turn.items.iter().flat_map(|item| item.body.texts()[0].split_whitespace());
            let words: Vec<&str> = text.filter(|word| word.len() > 3).take(7).collect();
            if words.len() > 2 && asked.len() < count {
                asked.push(words.join(" ").replace(['"', '-', '*'], " "));
            }
        }
    }
    let first = TurnQuestion { question: "slow cache".to_owned(), ..TurnQuestion::default() };
    let start = Instant::now();
    past.search(&first)?;
    row(
        "the first question after opening",
        &format!("{:.1?}", start.elapsed()),
        "1 M turns: <= 300 ms",
    );
    let (mut times, mut habits, mut lists, mut shown) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let before = process().0;
    for question in &asked {
        let question = TurnQuestion { question: question.clone(), ..TurnQuestion::default() };
        timed(&mut times, || past.search(&question))?;
    }
    let cpu = process().0 - before;
    #[allow(clippy::cast_precision_loss)]
    let each = 1_000.0 * cpu / asked.len().max(1) as f64;
    let (half, most) = (percentile(&mut times, 50), percentile(&mut times, 95));
    row(
        "a question, p50 / p95",
        &format!("{half:.1?} / {most:.1?}, CPU {each:.1} ms"),
        "1 M turns: p95 <= 50 ms",
    );
    for (at, reference) in references.iter().enumerate().take(40) {
        let scope = SessionScope { limit: Some(5), ..SessionScope::default() };
        timed(&mut lists, || Ok(past.sessions(&scope)))?;
        let reference = format!("{reference}#{}", at % 10 + 1);
        timed(&mut shown, || past.show(&TurnScope { reference, around: 0, work: true }))?;
        let scope = WorkScope { limit: 1, turns: Some(24), ..WorkScope::default() };
        timed(&mut habits, || past.failure("cargo test --workspace", &scope))?;
    }
    row("five sessions, p95", &format!("{:.1?}", percentile(&mut lists, 95)), "<= 20 ms");
    row("one turn, p95", &format!("{:.1?}", percentile(&mut shown, 95)), "<= 20 ms");
    row(
        "a command before it is run, p95",
        &format!("{:.1?}", percentile(&mut habits, 95)),
        "the whole hook <= 30 ms",
    );
    Ok(())
}
