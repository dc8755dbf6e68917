//! Writes a made-up history in Claude Code's form, and measures how fast it is read: with masking, segments and words.
//!
//! `cargo run --release -p cortex-past --example generate -- FOLDER MEGABYTES [read]`

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use past::{
    Exclusion, MemoryTombstones, Past, PastSurroundings, ReadScope, ReadWorld, TurnQuestion,
};
use serde_json::json;

/// A generator of numbers that is the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    /// Words of which few are frequent and many are rare.
    fn words(&mut self, count: u64) -> String {
        let mut text = String::new();
        for n in 0..count {
            let spread = self.next(14) + 1;
            let word = self.next(1 << spread);
            let end = if n % 12 == 11 { "\n" } else { " " };
            write!(text, "{}{end}", name_of(word)).expect("a text takes every word");
        }
        text
    }
}

fn name_of(mut word: u64) -> String {
    const PARTS: [&str; 16] = [
        "ka", "lo", "mi", "ten", "ra", "su", "vel", "or", "pi", "dan", "que", "ro", "sta", "ne",
        "bu", "fi",
    ];
    let mut name = String::new();
    loop {
        name.push_str(PARTS[usize::try_from(word % 16).unwrap_or(0)]);
        word /= 16;
        if word == 0 {
            return name;
        }
    }
}

/// A session of some 600 KB: a tool's output stands twice in it, as the agent writes it.
fn session(numbers: &mut Numbers, id: u64) -> String {
    let mut text = String::new();
    for turn in 0..14 {
        let at = format!(
            "2026-{:02}-{:02}T{:02}:{:02}:00Z",
            id % 9 + 1,
            id % 28 + 1,
            turn % 24,
            id % 60
        );
        let base = |kind: &str, part: String| {
            json!({"type": kind, "uuid": format!("{id}-{turn}-{part}"), "parentUuid": "x", "sessionId": id.to_string(),
                "timestamp": at, "cwd": "/src/project", "gitBranch": "main", "version": "2.1.9", "isSidechain": false})
        };
        let mut line = |mut record: serde_json::Value, message: serde_json::Value| {
            record["message"] = message;
            text.push_str(&record.to_string());
            text.push('\n');
        };
        line(base("user", "u".to_owned()), json!({"role": "user", "content": numbers.words(60)}));
        for call in 0..10 {
            let tool = format!("t{id}-{turn}-{call}");
            let signature: String = numbers.words(60).split_whitespace().collect();
            line(
                base("assistant", format!("h{call}")),
                json!({"id": format!("m{turn}-{call}"), 
                    "content": [{"type": "thinking", "thinking": "", "signature": signature}]}),
            );
            let input = json!({"command": format!("make {}", numbers.words(8)), "description": numbers.words(60)});
            line(
                base("assistant", format!("a{call}")),
                json!({"id": format!("m{turn}-{call}"), 
                    "content": [{"type": "tool_use", "id": tool, "name": "Bash", "input": input}]}),
            );
            let output = numbers.words(220);
            let mut record = base("user", format!("r{call}"));
            record["toolUseResult"] = json!({"stdout": output, "stderr": "", "interrupted": false});
            line(
                record,
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool, "content": output}]}),
            );
        }
        line(
            base("assistant", "e".to_owned()),
            json!({"id": format!("e{turn}"), "content": [{"type": "text", "text": numbers.words(400)}]}),
        );
    }
    text
}

fn generate(home: &Path, bytes: u64) -> std::io::Result<u64> {
    let folder = home.join(".claude/projects/-src-project");
    std::fs::create_dir_all(&folder)?;
    let (mut numbers, mut written, mut id) = (Numbers(88_172_645_463_325_252), 0, 0);
    while written < bytes {
        let text = session(&mut numbers, id);
        std::fs::File::create(folder.join(format!("session-{id}.jsonl")))?
            .write_all(text.as_bytes())?;
        written += text.len() as u64;
        id += 1;
    }
    Ok(written)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, megabytes, ..] = &arguments[..] else {
        return Err("FOLDER MEGABYTES [read]".into());
    };
    let home = Path::new(folder);
    if !home.join(".claude").exists() {
        generate(home, megabytes.parse::<u64>()? << 20)?;
    }
    let start = Instant::now();
    let mut past = Past::open(&home.join("past"), recall::analyze::Language::English)?;
    let (surroundings, exclusion) = (PastSurroundings::of_home(home), Exclusion::default());
    let tombstones = MemoryTombstones::default();
    let answer = past.read(
        &ReadScope::default(),
        &mut ReadWorld {
            surroundings: &surroundings,
            exclusion: &exclusion,
            tombstones: &tombstones,
            now: i64::MAX,
            progress: &mut |_, _| {},
        },
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let counts = &answer.agents["claude-code"];
    #[allow(clippy::cast_precision_loss)]
    let read = counts.bytes as f64 / 1e6;
    println!(
        "read {read:.0} MB in {seconds:.2} s ({:.0} MB/s): {} sessions, {} turns, {} items, segments {} MB",
        read / seconds,
        answer.sessions,
        answer.turns,
        counts.items,
        past.state().bytes / 1_000_000
    );
    for question in ["kalo ten", "velsu mi raor", "quero stane bufi"] {
        let start = Instant::now();
        let found = past
            .search(&TurnQuestion { question: question.to_owned(), ..TurnQuestion::default() })?;
        println!(
            "{question:?}: {} of {} turns, {:?}",
            found.hits.len(),
            found.matches,
            start.elapsed()
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    Ok(())
}
