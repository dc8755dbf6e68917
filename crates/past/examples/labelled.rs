//! Reads a labelled set through the past and measures how often an answer is among the first ten, by words alone, by
//! meaning alone, and by sums of both.
//!
//! `cargo run -p cortex-past --example labelled -- FOLDER`, with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` in it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::path::Path;

use past::{Exclusion, MemoryTombstones, Past, ReadScope, ReadWorld, TurnHit, TurnQuestion};
use serde_json::{Value, json};
use transcripts::surroundings::PastSurroundings;

/// Parts of a thousand that words have in a sum.
const SHARES: [u64; 8] = [1_000, 800, 700, 600, 500, 400, 300, 0];
const FIRST: usize = 10;

fn lines(folder: &Path, name: &str) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(folder.join(name))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or("")
}

/// A group as a session may be called.
fn session_of(line: &Value) -> String {
    let name: String = text_of(line, "group").chars().filter(char::is_ascii_alphanumeric).collect();
    format!("group{name}")
}

fn arm(hit: &TurnHit, name: &str) -> u64 {
    hit.arms.iter().find(|arm| arm.arm == name).map_or(0, |arm| arm.score)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("FOLDER")?;
    let folder = Path::new(&folder);
    let home = tempfile::tempdir()?;
    let mut out = std::fs::File::create(home.path().join("set.jsonl"))?;
    let mut documents: HashMap<String, Vec<String>> = HashMap::new();
    let mut by_session: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in lines(folder, "corpus.jsonl")? {
        by_session.entry(session_of(&line)).or_default().push(line);
    }
    for (session, lines) in by_session {
        for line in lines {
            let parts = ["speaker", "title", "text", "caption"].map(|name| text_of(&line, name));
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let id = text_of(&line, "_id");
            documents.entry(session.clone()).or_default().push(id.to_owned());
            let record =
                json!({"session": session, "role": "prompt", "id": id, "text": parts.join("\n")});
            writeln!(out, "{record}")?;
        }
    }
    drop(out);
    let mut past = Past::open(&home.path().join("past"), text::analyze::Language::English)?;
    let surroundings = PastSurroundings::of_home(home.path());
    let scope = ReadScope { path: Some(home.path().join("set.jsonl")), ..ReadScope::default() };
    past.read(
        &scope,
        &mut ReadWorld {
            surroundings: &surroundings,
            exclusion: &Exclusion::default(),
            tombstones: &MemoryTombstones::default(),
            now: i64::MAX,
            progress: &mut |_, _| {},
        },
    )?;
    let mut wanted: HashMap<String, BTreeSet<String>> = HashMap::new();
    for line in std::fs::read_to_string(folder.join("qrels.tsv"))?.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        if let [question, document, ..] = columns[..] {
            wanted.entry(question.to_owned()).or_default().insert(document.to_owned());
        }
    }
    let (mut asked, mut shares) = (0_u32, [0_f64; SHARES.len()]);
    let mut as_ranked = 0_f64;
    for question in lines(folder, "queries.jsonl")? {
        let Some(gold) = wanted.get(text_of(&question, "_id")) else { continue };
        let session = session_of(&question);
        let request = TurnQuestion {
            question: text_of(&question, "text").to_owned(),
            session: Some(format!("lines:{session}")),
            limit: Some(64),
            ..TurnQuestion::default()
        };
        let Ok(found) = past.search(&request) else { continue };
        asked += 1;
        let names = &documents[&session];
        let recall = |hits: &[TurnHit]| {
            let first = hits.iter().take(FIRST).filter_map(|hit| names.get(hit.turn as usize - 1));
            let met = first.filter(|name| gold.contains(*name)).count();
            f64::from(u32::try_from(met).unwrap_or(0))
                / f64::from(u32::try_from(gold.len()).unwrap_or(1))
        };
        as_ranked += recall(&found.hits);
        let most = found.hits.iter().map(|hit| arm(hit, "words")).max().unwrap_or(1).max(1);
        for (share, sum) in SHARES.iter().zip(&mut shares) {
            let mut hits = found.hits.clone();
            hits.sort_by_key(|hit| {
                let words = arm(hit, "words") * 1_000 / most;
                std::cmp::Reverse(words * share + arm(hit, "meaning") * (1_000 - share))
            });
            *sum += recall(&hits);
        }
    }
    println!("{asked} questions; recall at {FIRST} as ranked: {:.4}", as_ranked / f64::from(asked));
    for (share, sum) in SHARES.iter().zip(shares) {
        println!("words {share}/1000: {:.4}", sum / f64::from(asked));
    }
    Ok(())
}
