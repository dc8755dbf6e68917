//! `cortex eval`: how well search does on a labelled set.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use kernel::command::{Command, Draft, Stamp};
use kernel::memory::{Body, Event, Fields, Millis, Salt};
use kernel::{Cortex, Request};
use recall::measure::{Means, Table, measure};
use recall::search::Query;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::failure::{Failure, Outcome};
use super::open::Invocation;
use super::output::{Output, Progress};

/// Measures search on a labelled set, through the ordinary save and search paths, in a temporary home.
///
/// DIR holds corpus.jsonl {_id, group, session, time, speaker, text, caption?, title?}, queries.jsonl {_id, group, category,
/// text} and qrels.tsv (query, document, 1). Each group is a project.
///
/// JSON: {turn: {all: {recall@5, recall@10, recall@20, hit@10, ndcg@10, mrr, questions}, CATEGORY: …}, session: {…},
/// latency_ms: {p50, p95}, memories, store_bytes}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex eval path/to/set
  cortex eval path/to/set --json")]
pub(crate) struct EvalArgs {
    /// Folder of the set
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only questions of these categories
    #[arg(long, value_delimiter = ',')]
    categories: Vec<String>,
    /// Weights of words, meaning, interaction, session, speaker, date and prior, in hundredths
    #[arg(long, value_delimiter = ',', num_args = 7, hide = true)]
    weights: Vec<u32>,
}

#[derive(Debug, Deserialize)]
struct CorpusLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    speaker: Option<String>,
    #[serde(default)]
    title: Option<String>,
    text: String,
    #[serde(default)]
    caption: Option<String>,
}

#[derive(Debug, Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    category: Option<String>,
    text: String,
}

pub(crate) fn run(args: &EvalArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let corpus: Vec<CorpusLine> = lines(&args.folder.join("corpus.jsonl"))?;
    let questions: Vec<QueryLine> = lines(&args.folder.join("queries.jsonl"))?;
    let answers = answers(&args.folder.join("qrels.tsv"))?;
    let scratch = std::env::temp_dir().join(format!("cortex-eval-{}", std::process::id()));
    let outcome = evaluate(args, inv, &scratch, &corpus, &questions, &answers, out);
    let removed = std::fs::remove_dir_all(&scratch);
    outcome?;
    removed.map_err(|error| Failure::file(&scratch, error))
}

fn evaluate(
    args: &EvalArgs,
    inv: &Invocation,
    scratch: &Path,
    corpus: &[CorpusLine],
    questions: &[QueryLine],
    answers: &HashMap<String, BTreeSet<String>>,
    out: &mut Output,
) -> Outcome {
    let cortex = Cortex::open(scratch, inv.actor(), inv.options().clone())?;
    let ids = save(&cortex, corpus, out)?;
    let sessions: HashMap<&str, &str> = corpus
        .iter()
        .filter_map(|line| Some((line.id.as_str(), line.session.as_deref()?)))
        .collect();
    let reading = cortex.read()?;
    let (mut turns, mut by_session) = (Table::default(), Table::default());
    let mut times: Vec<Duration> = Vec::new();
    let mut progress = Progress::new(out, "asked");
    for (n, question) in questions.iter().enumerate() {
        progress.at(n as u64, questions.len() as u64);
        let category = question.category.as_deref().unwrap_or("uncategorised");
        let Some(relevant) = answers.get(&question.id) else { continue };
        if !args.categories.is_empty() && !args.categories.iter().any(|c| c == category) {
            continue;
        }
        let mut query =
            Query { project: question.group.clone(), ..Query::new(&*question.text, 50) };
        if let Ok(weights) = <[u32; 7]>::try_from(args.weights.as_slice()) {
            query.weights = recall::search::Weights(weights);
        }
        let started = Instant::now();
        let answer = crate::ops::recall::search(&reading, None, &query, inv.now()?)?;
        times.push(started.elapsed());
        let returned: Vec<String> =
            answer.hits.iter().filter_map(|hit| ids.get(&hit.id.get()).cloned()).collect();
        turns.add(category, measure(&returned, relevant));
        let session = |id: &String| sessions.get(id.as_str()).map(|s| (*s).to_owned());
        let wanted: BTreeSet<String> = relevant.iter().filter_map(session).collect();
        if !wanted.is_empty() {
            let mut seen = BTreeSet::new();
            let found: Vec<String> =
                returned.iter().filter_map(session).filter(|s| seen.insert(s.clone())).collect();
            by_session.add(category, measure(&found, &wanted));
        }
    }
    times.sort_unstable();
    let bytes = cortex.size_bytes()?;
    print(out, &turns, &by_session, &times, corpus.len(), bytes)
}

fn print(
    out: &mut Output,
    turns: &Table,
    sessions: &Table,
    times: &[Duration],
    memories: usize,
    bytes: u64,
) -> Outcome {
    let at = |percent: usize| {
        times.get(times.len() * percent / 100).map_or(0.0, |t| t.as_secs_f64() * 1_000.0)
    };
    let view = json!({
        "turn": objects(&turns.means()),
        "session": objects(&sessions.means()),
        "latency_ms": {"p50": at(50), "p95": at(95)},
        "memories": memories,
        "store_bytes": bytes,
    });
    if out.is_json() {
        return out.object(&view);
    }
    for (level, table) in [("turn", turns), ("session", sessions)] {
        out.line(format_args!(
            "{level:<8} {:<14} {:>5} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
            "category", "n", "R@5", "R@10", "R@20", "hit@10", "nDCG@10", "MRR"
        ))?;
        for (category, m) in table.means() {
            out.line(format_args!(
                "{:<8} {category:<14} {:>5} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7.3}",
                "", m.questions, m.recall_5, m.recall_10, m.recall_20, m.hit_10, m.ndcg_10, m.mrr
            ))?;
        }
    }
    out.line(format_args!(
        "{memories} memories, {bytes} bytes; a question takes {:.1} ms (p50), {:.1} ms (p95)",
        at(50),
        at(95)
    ))
}

fn objects(means: &BTreeMap<String, Means>) -> Value {
    let object = |m: &Means| {
        json!({
            "recall@5": m.recall_5, "recall@10": m.recall_10, "recall@20": m.recall_20,
            "hit@10": m.hit_10, "ndcg@10": m.ndcg_10, "mrr": m.mrr, "questions": m.questions,
        })
    };
    let mut whole = match means.get("all").map(object) {
        Some(Value::Object(all)) => all,
        _ => Map::new(),
    };
    let categories: Map<String, Value> = means
        .iter()
        .filter(|(name, _)| *name != "all")
        .map(|(name, m)| (name.clone(), object(m)))
        .collect();
    whole.insert("categories".into(), Value::Object(categories));
    Value::Object(whole)
}

/// Saves the corpus as a user would import it; returns the set's name of each memory.
fn save(cortex: &Cortex, corpus: &[CorpusLine], out: &Output) -> Outcome<HashMap<u64, String>> {
    let mut ids = HashMap::new();
    let mut progress = Progress::new(out, "saved");
    for (n, chunk) in corpus.chunks(1_000).enumerate() {
        progress.at((n * 1_000) as u64, corpus.len() as u64);
        let requests = chunk.iter().enumerate().map(|(i, line)| request(n * 1_000 + i, line));
        let receipts = cortex.submit_bulk(requests.collect())?;
        for (line, receipt) in chunk.iter().zip(receipts) {
            if let Some(id) = receipt?.id {
                ids.insert(id.get(), line.id.clone());
            }
        }
    }
    Ok(ids)
}

fn request(n: usize, line: &CorpusLine) -> Request {
    let caption = line.caption.as_deref().map(|c| format!(" [{c}]")).unwrap_or_default();
    let content = format!("{}{caption}", line.text);
    let happened_at = line.time.as_deref().and_then(spoken_date);
    let title = line.title.clone().or_else(|| line.speaker.clone());
    let title = title.filter(|t| !t.trim().is_empty()).unwrap_or_else(|| "untitled".into());
    let participants = line.speaker.iter().cloned().collect();
    let event = Event { happened_at, outcome: None, participants };
    let title = title.lines().next().unwrap_or("untitled").chars().take(200).collect();
    let body = Body { title, content, fields: Fields::Event(event) };
    let mut salt = [7; 16];
    salt[..8].copy_from_slice(&(n as u64).to_be_bytes());
    let mut draft = Draft::new(body, Salt(salt));
    draft.project.clone_from(&line.group);
    draft.session.clone_from(&line.session);
    let at = Millis(1_700_000_000_000 + i64::try_from(n).unwrap_or(0));
    let stamp = Stamp::new(at, "eval");
    Request { stamp, command: Command::Write(Box::new(draft)), authority: None }
}

/// `1:56 pm on 8 May, 2023`, or a date as programs write it.
fn spoken_date(text: &str) -> Option<Millis> {
    if let Ok(time) = super::parse::time(text) {
        return Some(time);
    }
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let year = words.iter().find(|w| w.len() == 4 && w.bytes().all(|b| b.is_ascii_digit()))?;
    let (place, month) = words.iter().enumerate().find_map(|(place, word)| {
        let names =
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let lower = word.to_lowercase();
        names.iter().position(|name| lower.starts_with(name)).map(|month| (place, month + 1))
    })?;
    let day: u32 = words.get(place.checked_sub(1)?)?.parse().ok()?;
    super::parse::time(&format!("{year}-{month:02}-{day:02}")).ok()
}

fn lines<T: for<'d> Deserialize<'d>>(path: &Path) -> Outcome<Vec<T>> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(n, line)| {
            serde_json::from_str(line).map_err(|error| {
                Failure::Input(format!("{} line {}: {error}", path.display(), n + 1))
            })
        })
        .collect()
}

fn answers(path: &Path) -> Outcome<HashMap<String, BTreeSet<String>>> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    let mut answers: HashMap<String, BTreeSet<String>> = HashMap::new();
    for line in text.lines().skip(1) {
        let mut columns = line.split('\t');
        if let (Some(question), Some(document)) = (columns.next(), columns.next()) {
            answers.entry(question.to_owned()).or_default().insert(document.to_owned());
        }
    }
    Ok(answers)
}
