//! `cortex eval`: how well search does on a labelled set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use super::calibration;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::evaluation::{
    self, Differences, EvalPlan, LabelledSearch, Means, Measurement, differences,
};

/// Measures search on a labelled set, through the ordinary save and search paths, in a temporary home.
///
/// DIR holds corpus.jsonl {_id, group, session, time, speaker, text, caption?, title?}, queries.jsonl {_id, group,
/// category, text} and qrels.tsv (query, document, 1). Each group is a project.
///
/// Weights say how much each arm of the search counts, in hundredths: words, meaning, interaction, session, speaker,
/// date, prior, entities. --compare asks every question with other weights too and prints each difference with the
/// p-value of a paired randomisation test; weights other than the usual ones switch the ranker off, so compare with
/// --no-ranker. --ablation adds one arm after the other, without the ranker.
///
/// --embedder judges meaning by another model, which must be installed (minilm) or chosen (http) in this home;
/// --compare then changes the weights that go with it.
///
/// --stated needs no set: it prints how well what a person states as a rule or a preference is told from other
/// sentences, on the labelled prompts that are part of the program, by language (JSON: {stated: [{language, kind,
/// prompts, right, wrong, missed}]}).
///
/// Relevance is judged by asking each question of another group's memories too, where nothing answers it.
///
/// --as past reads the set as sessions of an agent instead, a folder for each group and a turn for each text, and asks
/// it as `cortex search --in past` is asked. JSON: {turn, session, latency_ms, turns, segment_bytes}.
///
/// JSON: {turn: {recall@5, recall@10, recall@20, hit@10, ndcg@10, mrr, questions, categories: {CATEGORY: {…}}},
/// session: {…}, latency_ms: {p50, p95}, memories, store_bytes, weights, embedder, ranker, calibration: {auc,
/// coverage, false_alarms, likely, likely_others, near_misses, curve: [{questions, promised, answered}]} or null,
/// compare?: {weights, turn, session,
/// difference: {turn: {MEASURE: {mean, p}}, session: {…}}}, ablation?: [{arms, turn, session}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex eval path/to/set
  cortex eval path/to/set --json --categories temporal
  cortex eval path/to/set --compare words=40,meaning=20
  cortex eval path/to/set --ablation
  cortex eval path/to/set --no-ranker
  cortex eval path/to/set --as past
  cortex eval path/to/set --features set.tsv
  cortex eval path/to/set --embedder minilm
  cortex eval --stated")]
pub(crate) struct EvalArgs {
    /// Folder of the set
    #[arg(value_name = "DIR", required_unless_present = "stated")]
    folder: Option<PathBuf>,
    /// How well rules that a person states are recognised
    #[arg(long, conflicts_with = "folder")]
    stated: bool,
    /// What the set is read as: memories, or sessions of an agent
    #[arg(long = "as", value_name = "PLACE", value_enum, default_value = "memory",
          conflicts_with_all = ["stated", "weights", "compare", "ablation", "no_ranker", "features"])]
    place: EvalPlace,
    /// Only questions of these categories
    #[arg(long, value_delimiter = ',')]
    categories: Vec<String>,
    /// Weights of arms, like words=30,meaning=30; those not named keep their default
    #[arg(long, value_name = "ARM=N,…")]
    weights: Option<String>,
    /// Other weights to compare with
    #[arg(long, value_name = "ARM=N,…")]
    compare: Option<String>,
    /// What each arm adds to those before it
    #[arg(long)]
    ablation: bool,
    /// Which model judges meaning: static, minilm or http
    #[arg(long, default_value = "static", value_parser = ["static", "minilm", "http"])]
    embedder: String,
    /// Of how many memories in a hundred the model gets a vector, as while they are being made
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=100))]
    embedded: u64,
    /// Order hits by the arms added by weight, without the learned ranker
    #[arg(long)]
    no_ranker: bool,
    /// Write the ranker's features of all candidates there, for tools/ranker/train.py; no text of the set is in it
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
}

/// What a labelled set is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EvalPlace {
    Memory,
    Past,
}

pub(crate) fn run(args: &EvalArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let Some(folder) = &args.folder else { return stated(out) };
    if args.place == EvalPlace::Past {
        return as_past(args, folder, inv, out);
    }
    let plan = EvalPlan {
        folder,
        categories: &args.categories,
        weights: args.weights.as_deref(),
        compare: args.compare.as_deref(),
        embedder: &args.embedder,
        embedded: args.embedded,
        no_ranker: args.no_ranker,
    };
    evaluation::with_set(&plan, inv, out, |search, out| report(args, folder, search, out))
}

/// The set read as sessions of an agent, and asked as `cortex search --in past` is.
fn as_past(args: &EvalArgs, folder: &Path, inv: &Invocation, out: &mut Output) -> CommandResult {
    let asked = evaluation::ask_past((folder, &args.categories), inv, out)?;
    let (measured, turns, bytes) = (asked.measured, asked.turns, asked.bytes);
    if !out.is_json() {
        return print(out, &measured, turns, bytes);
    }
    out.object(&json!({
        "turn": objects(&measured.turns.means()),
        "session": objects(&measured.sessions.means()),
        "latency_ms": {"p50": measured.latency(50), "p95": measured.latency(95)},
        "turns": turns,
        "segment_bytes": bytes,
    }))
}

/// Precision and recall of statements, by language.
fn stated(out: &mut Output) -> CommandResult {
    let table = evaluation::stated_precision();
    if out.is_json() {
        return out.object(&json!({"stated": table}));
    }
    out.line(format_args!(
        "{:<10} {:<11} {:>7} {:>9} {:>7}",
        "language", "kind", "prompts", "precision", "recall"
    ))?;
    for counts in &table {
        let share = |of: usize| {
            let whole = u32::try_from(of).unwrap_or(u32::MAX).max(1);
            f64::from(u32::try_from(counts.right).unwrap_or(u32::MAX)) / f64::from(whole)
        };
        out.line(format_args!(
            "{:<10} {:<11} {:>7} {:>9.3} {:>7.3}",
            counts.language,
            counts.kind,
            counts.prompts,
            share(counts.right + counts.wrong),
            share(counts.right + counts.missed)
        ))?;
    }
    Ok(())
}

fn report(
    args: &EvalArgs,
    folder: &Path,
    search: &LabelledSearch<'_>,
    out: &mut Output,
) -> CommandResult {
    let base = search.base;
    let measured = search.ask(base, out)?;
    let calibration = search.calibrate(args.features.as_deref(), folder, out)?;
    let mut view = json!({
        "turn": objects(&measured.turns.means()),
        "session": objects(&measured.sessions.means()),
        "latency_ms": {"p50": measured.latency(50), "p95": measured.latency(95)},
        "memories": search.memories(),
        "store_bytes": search.store_bytes()?,
        "weights": base.to_string(),
        "ranker": !args.no_ranker,
        "calibration": calibration::view(&calibration),
        "embedder": search.embedder(),
    });
    if !out.is_json() {
        print(out, &measured, search.memories(), search.store_bytes()?)?;
        calibration::print(&calibration, out)?;
    }
    if let Some(other) = search.other {
        let compared = search.ask(other, out)?;
        let differences = differences(&measured, &compared);
        if !out.is_json() {
            out.line(format_args!("A {base}\nB {other}"))?;
            print_differences(out, &measured, &compared, &differences)?;
        }
        view["compare"] = json!({
            "weights": other.to_string(),
            "turn": objects(&compared.turns.means()),
            "session": objects(&compared.sessions.means()),
            "difference": differences.iter().map(|(level, measures)| {
                let each = measures.iter().map(|(name, d)| {
                    ((*name).to_owned(), json!({"mean": d.mean, "p": d.p}))
                });
                ((*level).to_owned(), Value::Object(each.collect()))
            }).collect::<Map<_, _>>(),
        });
    }
    if args.ablation {
        view["ablation"] = Value::Array(ablation(search, out)?);
    }
    if out.is_json() { out.object(&view) } else { Ok(()) }
}

fn print_differences(
    out: &mut Output,
    first: &Measurement,
    second: &Measurement,
    differences: &Differences,
) -> CommandResult {
    out.line(format_args!(
        "{:<8} {:<10} {:>7} {:>7} {:>8} {:>7}",
        "", "measure", "A", "B", "B - A", "p"
    ))?;
    let means = first.all().into_iter().zip(second.all());
    for ((level, measures), (a, b)) in differences.iter().zip(means) {
        for ((name, d), (a, b)) in measures.iter().zip(a.named().into_iter().zip(b.named())) {
            out.line(format_args!(
                "{level:<8} {name:<10} {:>7.3} {:>7.3} {:>+8.4} {:>7.4}",
                a.1, b.1, d.mean, d.p
            ))?;
        }
    }
    Ok(())
}

/// What each arm adds to those before it.
fn ablation(search: &LabelledSearch<'_>, out: &mut Output) -> CommandResult<Vec<Value>> {
    if !out.is_json() {
        out.line(format_args!(
            "{:<14} {:>9} {:>12} {:>12} {:>15}",
            "arms", "turn R@10", "turn nDCG@10", "session R@10", "session nDCG@10"
        ))?;
    }
    let mut rows = Vec::new();
    for (name, weights) in LabelledSearch::ablation() {
        let [turn, session] = search.ask_arms(weights, out)?.all();
        if !out.is_json() {
            out.line(format_args!(
                "{name:<14} {:>9.3} {:>12.3} {:>12.3} {:>15.3}",
                turn.recall_10, turn.ndcg_10, session.recall_10, session.ndcg_10
            ))?;
            out.flush()?;
        }
        let measures = |m: Means| json!({"recall@10": m.recall_10, "ndcg@10": m.ndcg_10});
        rows.push(json!({
            "arms": name, "turn": measures(turn), "session": measures(session),
        }));
    }
    Ok(rows)
}

fn print(out: &mut Output, measured: &Measurement, memories: usize, bytes: u64) -> CommandResult {
    for (level, table) in [("turn", &measured.turns), ("session", &measured.sessions)] {
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
        "{memories} texts, {bytes} bytes; a question takes {:.1} ms (p50), {:.1} ms (p95)",
        measured.latency(50),
        measured.latency(95)
    ))
}

fn objects(means: &BTreeMap<String, Means>) -> Value {
    let object = |m: &Means| {
        let named = m.named().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        let mut object: Map<String, Value> = named.collect();
        object.insert("questions".into(), json!(m.questions));
        Value::Object(object)
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
