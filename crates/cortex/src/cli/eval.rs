//! `cortex eval`: how well search does on a labelled set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use kernel::Cortex;
use recall::labelled::{self, LabelledSet};
use recall::measure::{Means, Table};
use recall::search::{Query, search};
use serde_json::{Map, Value, json};

use super::failure::{Failure, Outcome};
use super::open::{Invocation, analyzer};
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

pub(crate) fn run(args: &EvalArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let text = |name: &str| {
        let path = args.folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| Failure::file(&path, error))
    };
    let set = LabelledSet::parse(
        &text(labelled::CORPUS)?,
        &text(labelled::QUESTIONS)?,
        &text(labelled::ANSWERS)?,
    )?;
    let scratch = std::env::temp_dir().join(format!("cortex-eval-{}", std::process::id()));
    let outcome = evaluate(args, inv, &scratch, &set, out);
    let removed = std::fs::remove_dir_all(&scratch);
    outcome?;
    removed.map_err(|error| Failure::file(&scratch, error))
}

fn evaluate(
    args: &EvalArgs,
    inv: &Invocation,
    scratch: &Path,
    set: &LabelledSet,
    out: &mut Output,
) -> Outcome {
    let cortex = Cortex::open(scratch, inv.actor(), inv.options().clone())?;
    let mut saving = Progress::new("saved");
    let ids = set.save(&cortex, &mut |done, all| saving.at(done as u64, all as u64))?;
    let reading = cortex.read()?;
    let (mut turns, mut by_session) = (Table::default(), Table::default());
    let mut times: Vec<Duration> = Vec::new();
    let mut progress = Progress::new("asked");
    let analyzer = analyzer();
    for (n, question) in set.questions.iter().enumerate() {
        progress.at(n as u64, set.questions.len() as u64);
        let category = question.category();
        let Some(relevant) = set.relevant(question) else { continue };
        if !args.categories.is_empty() && !args.categories.iter().any(|c| c == category) {
            continue;
        }
        let mut query =
            Query { project: question.group.clone(), ..Query::new(&*question.text, 50) };
        if let Ok(weights) = <[u32; 7]>::try_from(args.weights.as_slice()) {
            query.weights = recall::search::Weights(weights);
        }
        let started = Instant::now();
        let answer = search(&reading, None, &analyzer, &query, inv.now()?)?;
        times.push(started.elapsed());
        let returned: Vec<String> =
            answer.hits.iter().filter_map(|hit| ids.get(&hit.id.get()).cloned()).collect();
        let (memories, sessions) = set.judge(&returned, relevant);
        turns.add(category, memories);
        if let Some(sessions) = sessions {
            by_session.add(category, sessions);
        }
    }
    times.sort_unstable();
    let bytes = cortex.size_bytes()?;
    print(out, &turns, &by_session, &times, set.corpus.len(), bytes)
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
