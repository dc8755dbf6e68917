//! `cortex eval`: how well search does on a labelled set.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use embed::settings::EmbedderChoice;
use kernel::memory::Millis;
use kernel::{Cortex, Reading};
use recall::evaluation::{self, Difference, LabelledSet, Means, MeansTable, paired};
use recall::models::each_text;
use recall::search::{Arm, ArmWeights, HitOrder, ModelQuestion, SearchQuery};
use serde_json::{Map, Value, json};
use service::embedders::EmbedError;
use service::embedders::active::{OpenEmbedder, QuestionContext};
use service::embedders::fill::{FillPlan, fill};

use super::calibration;
use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, ProgressLine};

/// Hits asked for: for nearly all questions enough for ten sessions.
pub(super) const LIMIT: usize = 100;
/// What the built-in model is called where models are chosen.
const STATIC: &str = "static";
/// Of the paired test, so that two runs print the same.
const SEED: u64 = 1;

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
/// Relevance is judged by asking each question of another group's memories too, where nothing answers it.
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
  cortex eval path/to/set --features set.tsv
  cortex eval path/to/set --embedder minilm")]
pub(crate) struct EvalArgs {
    /// Folder of the set
    #[arg(value_name = "DIR")]
    folder: PathBuf,
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

/// One configuration on all questions.
#[derive(Debug, Default)]
struct Measurement {
    turns: MeansTable,
    sessions: MeansTable,
    /// By question, in order.
    each: Vec<(Means, Option<Means>)>,
    times: Vec<Duration>,
}

pub(crate) fn run(args: &EvalArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let embedder = embedder(args, inv)?;
    let default = if embedder.is_some() { ArmWeights::with_model() } else { ArmWeights::default() };
    let weights = |text: &Option<String>| text.as_deref().map(|t| default.changed(t)).transpose();
    let (base, other) = (weights(&args.weights)?.unwrap_or(default), weights(&args.compare)?);
    let text = |name: &str| {
        let path = args.folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| Failure::file(&path, error))
    };
    let set = LabelledSet::parse(
        &text(evaluation::CORPUS)?,
        &text(evaluation::QUESTIONS)?,
        &text(evaluation::ANSWERS)?,
    )?;
    check_categories(&args.categories, &set)?;
    let scratch = std::env::temp_dir().join(format!("cortex-eval-{}", std::process::id()));
    let evaluation = Evaluation { args, base, other, scratch: &scratch, set: &set };
    let outcome = evaluation.run(inv, embedder, out);
    let removed = std::fs::remove_dir_all(&scratch);
    outcome?;
    removed.map_err(|error| Failure::file(&scratch, error))
}

/// A category that no question has would be measured as nothing.
fn check_categories(asked: &[String], set: &LabelledSet) -> CommandResult {
    let known: BTreeSet<&str> =
        set.questions.iter().map(evaluation::LabelledQuestion::category).collect();
    match asked.iter().find(|name| !known.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> = known.into_iter().collect();
            let known = known.join(", ");
            Err(Failure::Input(format!("no question has the category {name:?}; there are {known}")))
        }
    }
}

/// What is asked of which set, and where the store of it lies meanwhile.
struct Evaluation<'a> {
    args: &'a EvalArgs,
    base: ArmWeights,
    /// What the base is compared with.
    other: Option<ArmWeights>,
    scratch: &'a Path,
    set: &'a LabelledSet,
}

impl Evaluation<'_> {
    fn run(
        &self,
        inv: &Invocation,
        embedder: Option<OpenEmbedder>,
        out: &mut Output,
    ) -> CommandResult {
        let Evaluation { args, base, other, scratch, set } = *self;
        let cortex = Arc::new(Cortex::open(scratch, inv.actor(), inv.options().clone())?);
        let mut saving = ProgressLine::new(out, "saved");
        let ids = set.save(&cortex, &mut |done, all| saving.at(done as u64, all as u64))?;
        if let Some(embedder) = &embedder {
            embed(embedder, args, &cortex, scratch, out)?;
        }
        let reading = cortex.read()?;
        let (categories, now) = (&args.categories, inv.now()?);
        let model =
            embedder.map(|ready| Model { ready, folder: scratch, known: RefCell::default() });
        let order = if args.no_ranker { HitOrder::Weights } else { HitOrder::Ranker };
        let mut asker = Asker { set, ids, reading, categories, now, model, order };
        let measured = asker.ask(base, out)?;
        let calibration = asker.calibrate(base, args.features.as_deref(), &args.folder, out)?;
        let mut view = json!({
            "turn": objects(&measured.turns.means()),
            "session": objects(&measured.sessions.means()),
            "latency_ms": {"p50": measured.latency(50), "p95": measured.latency(95)},
            "memories": set.corpus.len(),
            "store_bytes": cortex.size_bytes()?,
            "weights": base.to_string(),
            "ranker": !args.no_ranker,
            "calibration": calibration::view(&calibration),
            "embedder": asker.model.as_ref().map_or(STATIC, |model| model.ready.chosen.model()),
        });
        if !out.is_json() {
            print(out, &measured, set.corpus.len(), cortex.size_bytes()?)?;
            calibration::print(&calibration, out)?;
        }
        if let Some(other) = other {
            let compared = asker.ask(other, out)?;
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
            // The arms alone are asked about, to the last row.
            asker.order = HitOrder::Weights;
            view["ablation"] = Value::Array(ablation(&asker, out)?);
        }
        if out.is_json() { out.object(&view) } else { Ok(()) }
    }
}

pub(super) struct Asker<'a> {
    pub(super) set: &'a LabelledSet,
    pub(super) ids: HashMap<u64, String>,
    pub(super) reading: Reading,
    pub(super) categories: &'a [String],
    pub(super) now: Millis,
    model: Option<Model<'a>>,
    order: HitOrder,
}

/// The optional model, where its vectors are, and what it made of the questions so far.
struct Model<'a> {
    ready: OpenEmbedder,
    folder: &'a Path,
    known: RefCell<HashMap<String, ModelQuestion>>,
}

impl Asker<'_> {
    /// Gives the query its question in the optional model. Each is asked once, whatever the weights.
    pub(super) fn meant(&self, query: &mut SearchQuery) -> CommandResult {
        let Some(Model { ready, folder, known }) = &self.model else { return Ok(()) };
        let key = format!("{:?} {}", query.project, query.text);
        if let Some(question) = known.borrow().get(&key) {
            query.model = Some(question.clone());
            return Ok(());
        }
        let weights = query.weights;
        let context = QuestionContext { reading: &self.reading, gate: None, now: self.now };
        ready.put_into(query, folder, context)?;
        query.weights = weights;
        if let Some(question) = &query.model {
            known.borrow_mut().insert(key, question.clone());
        }
        Ok(())
    }

    fn ask(&self, weights: ArmWeights, out: &Output) -> CommandResult<Measurement> {
        let mut measured = Measurement::default();
        let mut progress = ProgressLine::new(out, "asked");
        let questions = &self.set.questions;
        for (n, question) in questions.iter().enumerate() {
            progress.at(n as u64 + 1, questions.len() as u64);
            let category = question.category();
            let Some(relevant) = self.set.relevant(question) else { continue };
            if !self.categories.is_empty() && !self.categories.iter().any(|c| c == category) {
                continue;
            }
            let project = question.group.clone();
            let mut query =
                SearchQuery { project, weights, ..SearchQuery::new(&*question.text, LIMIT) };
            query.order = self.order;
            self.meant(&mut query)?;
            let started = Instant::now();
            let answer = recall::search::search(&self.reading, None, &query, self.now)?;
            measured.times.push(started.elapsed());
            let found = answer.hits.iter().filter_map(|hit| self.ids.get(&hit.id.get()).cloned());
            let (memories, sessions) = self.set.judge(&found.collect::<Vec<_>>(), relevant);
            measured.turns.add(category, memories);
            if let Some(sessions) = sessions {
                measured.sessions.add(category, sessions);
            }
            measured.each.push((memories, sessions));
        }
        measured.times.sort_unstable();
        Ok(measured)
    }
}

impl Measurement {
    fn latency(&self, percent: usize) -> f64 {
        let time = self.times.get(self.times.len() * percent / 100);
        time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    }

    fn all(&self) -> [Means; 2] {
        [&self.turns, &self.sessions].map(|t| t.means().get("all").copied().unwrap_or_default())
    }
}

/// The model that the arguments name; `None` for the built-in one.
fn embedder(args: &EvalArgs, inv: &Invocation) -> CommandResult<Option<OpenEmbedder>> {
    let choice = match args.embedder.as_str() {
        "minilm" => EmbedderChoice::MiniLm,
        "http" => match service::embedders::choice(&inv.config()?).map_err(EmbedError::from)? {
            EmbedderChoice::Http(http) => EmbedderChoice::Http(http),
            _ => return Err(Failure::input("`cortex model use http` must name a service first")),
        },
        _ => return Ok(None),
    };
    Ok(OpenEmbedder::new(choice, inv.folder(), &|name| inv.variable(name))?)
}

/// Gives the memories of the set their vectors, through the cache as always.
fn embed(
    embedder: &OpenEmbedder,
    args: &EvalArgs,
    cortex: &Arc<Cortex>,
    folder: &Path,
    out: &Output,
) -> CommandResult {
    let mut progress = ProgressLine::new(out, "embedded");
    let mut cache = embedder.chosen.cache(folder)?;
    let open = || -> CommandResult<Arc<Cortex>> { Ok(Arc::clone(cortex)) };
    let plan = FillPlan::all_at_once();
    fill(&open, &embedder.chosen, &mut cache, &plan, &mut |done, all| progress.at(done, all))?;
    let mut kept = HashSet::new();
    each_text(&cortex.read()?, 0, &mut |id, _, body| {
        if id.get() * 61 % 100 < args.embedded {
            kept.insert(body);
        }
        true
    })?;
    cache.retain(&|body| kept.contains(body)).map_err(EmbedError::from)?;
    Ok(())
}

/// One level of what a question was measured as.
type Level = dyn Fn(&(Means, Option<Means>)) -> Option<Means>;

type Differences = [(&'static str, Vec<(&'static str, Difference)>); 2];

/// Second minus first, question by question.
fn differences(first: &Measurement, second: &Measurement) -> Differences {
    let level = |of: &Level| {
        let pairs: Vec<_> =
            first.each.iter().zip(&second.each).filter_map(|(a, b)| of(a).zip(of(b))).collect();
        let names = Means::default().named().map(|(name, _)| name);
        let measure = |(place, name): (usize, &'static str)| {
            let each: Vec<f64> =
                pairs.iter().map(|(a, b)| b.named()[place].1 - a.named()[place].1).collect();
            (name, paired(&each, SEED))
        };
        names.into_iter().enumerate().map(measure).collect()
    };
    [("turn", level(&|(turn, _)| Some(*turn))), ("session", level(&|(_, session)| *session))]
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
fn ablation(asker: &Asker<'_>, out: &mut Output) -> CommandResult<Vec<Value>> {
    if !out.is_json() {
        out.line(format_args!(
            "{:<14} {:>9} {:>12} {:>12} {:>15}",
            "arms", "turn R@10", "turn nDCG@10", "session R@10", "session nDCG@10"
        ))?;
    }
    let mut rows = Vec::new();
    for (place, arm) in Arm::ALL.iter().enumerate() {
        let [turn, session] = asker.ask(ArmWeights::first(place + 1), out)?.all();
        let name = format!("{}{}", if place == 0 { "" } else { "+ " }, arm.name());
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
        "{memories} memories, {bytes} bytes; a question takes {:.1} ms (p50), {:.1} ms (p95)",
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
