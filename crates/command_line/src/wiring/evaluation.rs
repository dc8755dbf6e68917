//! Search on a labelled set, in process on a store of its own that is thrown away: nothing of a home is asked, so
//! `cortex eval` is no operation.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use embed::settings::EmbedderChoice;
use kernel::memory::Millis;
use kernel::{Cortex, Reading};
use recall::evaluation::{
    self, AskedGroup, Difference, LabelledSet, MeansTable, features_head, features_of, paired,
};
use recall::models::each_text;
use recall::search::{Arm, HitOrder, ModelQuestion, SearchQuery};
use service::embedders::EmbedError;
use service::embedders::active::{OpenEmbedder, QuestionContext};
use service::embedders::fill::{FillPlan, fill};

pub use recall::evaluation::{Calibration, Means, Separation};
pub use recall::search::ArmWeights;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, ProgressLine};

use agent_sessions::LabelledPast;
pub use agent_sessions::stated_precision;

/// Hits asked for: for nearly all questions enough for ten sessions.
const LIMIT: usize = 100;
/// What the built-in model is called where models are chosen.
const STATIC: &str = "static";
/// Of the paired test, so that two runs print the same.
const SEED: u64 = 1;

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct EvalPlan<'a> {
    /// Folder of the set.
    pub folder: &'a Path,
    /// Only questions of these, if any is named.
    pub categories: &'a [String],
    pub weights: Option<&'a str>,
    /// Other weights to compare with.
    pub compare: Option<&'a str>,
    /// static, minilm or http.
    pub embedder: &'a str,
    /// Of how many memories in a hundred the model gets a vector.
    pub embedded: u64,
    /// Order hits by the arms added by weight, without the learned ranker.
    pub no_ranker: bool,
}

/// One configuration on all questions.
#[derive(Debug, Default)]
pub struct Measurement {
    pub turns: MeansTable,
    pub sessions: MeansTable,
    /// By question, in order.
    each: Vec<(Means, Option<Means>)>,
    times: Vec<Duration>,
}

/// A set in a store of its own, ready to be asked.
#[allow(missing_debug_implementations, reason = "it holds a model")]
pub struct LabelledSearch<'a> {
    /// The weights that are measured, and those they are compared with.
    pub base: ArmWeights,
    pub other: Option<ArmWeights>,
    set: &'a LabelledSet,
    ids: HashMap<u64, String>,
    reading: Reading,
    /// Held so that the store stays open while it is read.
    cortex: Arc<Cortex>,
    categories: &'a [String],
    now: Millis,
    model: Option<Model<'a>>,
    order: HitOrder,
}

/// Saves the set into a store of its own and lets `report` ask it.
pub fn with_set(
    plan: &EvalPlan<'_>,
    inv: &Invocation,
    out: &mut Output,
    report: impl FnOnce(&LabelledSearch<'_>, &mut Output) -> CommandResult,
) -> CommandResult {
    let embedder = embedder(plan, inv)?;
    let default = if embedder.is_some() { ArmWeights::with_model() } else { ArmWeights::default() };
    let weights = |text: Option<&str>| text.map(|text| default.changed(text)).transpose();
    let (base, other) = (weights(plan.weights)?.unwrap_or(default), weights(plan.compare)?);
    let set = read_set(plan.folder)?;
    check_categories(plan.categories, &set)?;
    let scratch = std::env::temp_dir().join(format!("cortex-eval-{}", std::process::id()));
    let outcome = opened(plan, &set, &scratch, (inv, embedder), out)
        .and_then(|search| report(&LabelledSearch { base, other, ..search }, out));
    let removed = std::fs::remove_dir_all(&scratch);
    outcome?;
    removed.map_err(|error| Failure::file(&scratch, error))
}

/// Reads the set into a past of its own and asks it every question.
pub fn ask_past(
    (folder, categories): (&Path, &[String]),
    inv: &Invocation,
    out: &Output,
) -> CommandResult<PastMeasurement> {
    let set = read_set(folder)?;
    check_categories(categories, &set)?;
    let scratch = std::env::temp_dir().join(format!("cortex-eval-{}", std::process::id()));
    let asked = LabelledPast::read(&set, &scratch, inv.now()?.0)
        .map_err(Failure::from)
        .and_then(|past| ask_each(&past, &set, categories, out));
    let removed = std::fs::remove_dir_all(&scratch);
    let measured = asked?;
    removed.map_err(|error| Failure::file(&scratch, error))?;
    Ok(measured)
}

/// How well the past answered.
#[derive(Debug, Default)]
pub struct PastMeasurement {
    pub measured: Measurement,
    pub turns: usize,
    /// Of its segments.
    pub bytes: u64,
}

fn ask_each(
    past: &LabelledPast,
    set: &LabelledSet,
    categories: &[String],
    out: &Output,
) -> CommandResult<PastMeasurement> {
    let mut measured = Measurement::default();
    let mut progress = ProgressLine::new(out);
    for (n, question) in set.questions.iter().enumerate() {
        progress.at("asked", n as u64 + 1, set.questions.len() as u64);
        let category = question.category();
        let is_asked = categories.is_empty() || categories.iter().any(|c| c == category);
        let Some(relevant) = set.relevant(question).filter(|_| is_asked) else { continue };
        let started = Instant::now();
        let found = past.ask(question, LIMIT)?;
        measured.times.push(started.elapsed());
        measured.add(category, set.judge(&found, relevant));
    }
    measured.times.sort_unstable();
    let (turns, bytes) = past.size();
    Ok(PastMeasurement { measured, turns, bytes })
}

fn read_set(folder: &Path) -> CommandResult<LabelledSet> {
    let text = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| Failure::file(&path, error))
    };
    Ok(LabelledSet::parse(
        &text(evaluation::CORPUS)?,
        &text(evaluation::QUESTIONS)?,
        &text(evaluation::ANSWERS)?,
    )?)
}

/// The set, saved and with its vectors.
fn opened<'a>(
    plan: &EvalPlan<'a>,
    set: &'a LabelledSet,
    scratch: &'a Path,
    (inv, embedder): (&Invocation, Option<OpenEmbedder>),
    out: &Output,
) -> CommandResult<LabelledSearch<'a>> {
    let cortex = Arc::new(Cortex::open(scratch, inv.actor(), inv.options().clone())?);
    let mut saving = ProgressLine::new(out);
    let ids = set.save(&cortex, &mut |done, all| saving.at("saved", done as u64, all as u64))?;
    if let Some(embedder) = &embedder {
        embed(embedder, plan, &cortex, scratch, out)?;
    }
    let model = embedder.map(|ready| Model { ready, folder: scratch, known: RefCell::default() });
    Ok(LabelledSearch {
        base: ArmWeights::default(),
        other: None,
        set,
        ids,
        reading: cortex.read()?,
        cortex,
        categories: plan.categories,
        now: inv.now()?,
        model,
        order: if plan.no_ranker { HitOrder::Weights } else { HitOrder::Ranker },
    })
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

/// The optional model, where its vectors are, and what it made of the questions so far.
struct Model<'a> {
    ready: OpenEmbedder,
    folder: &'a Path,
    known: RefCell<HashMap<String, ModelQuestion>>,
}

impl LabelledSearch<'_> {
    /// Gives the query its question in the optional model. Each is asked once, whatever the weights.
    fn meant(&self, query: &mut SearchQuery) -> CommandResult {
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

    /// Asks every question with these weights.
    pub fn ask(&self, weights: ArmWeights, out: &Output) -> CommandResult<Measurement> {
        self.ask_in(self.order, weights, out)
    }

    /// Asks every question with these weights alone: the ranker would hide what an arm adds.
    pub fn ask_arms(&self, weights: ArmWeights, out: &Output) -> CommandResult<Measurement> {
        self.ask_in(HitOrder::Weights, weights, out)
    }

    fn ask_in(
        &self,
        order: HitOrder,
        weights: ArmWeights,
        out: &Output,
    ) -> CommandResult<Measurement> {
        let mut measured = Measurement::default();
        let mut progress = ProgressLine::new(out);
        let questions = &self.set.questions;
        for (n, question) in questions.iter().enumerate() {
            progress.at("asked", n as u64 + 1, questions.len() as u64);
            let category = question.category();
            let Some(relevant) = self.set.relevant(question) else { continue };
            if !self.categories.is_empty() && !self.categories.iter().any(|c| c == category) {
                continue;
            }
            let project = question.group.clone();
            let mut query =
                SearchQuery { project, weights, ..SearchQuery::new(&*question.text, LIMIT) };
            query.order = order;
            self.meant(&mut query)?;
            let started = Instant::now();
            let answer = recall::search::search(&self.reading, None, &query, self.now)?;
            measured.times.push(started.elapsed());
            let found = answer.hits.iter().filter_map(|hit| self.ids.get(&hit.id.get()).cloned());
            measured.add(category, self.set.judge(&found.collect::<Vec<_>>(), relevant));
        }
        measured.times.sort_unstable();
        Ok(measured)
    }

    /// Asks every question of its own group and of another one, and writes the features of what was found.
    pub fn calibrate(
        &self,
        features: Option<&Path>,
        folder: &Path,
        out: &Output,
    ) -> CommandResult<Calibration> {
        let kind = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let kind = kind.unwrap_or_default();
        let mut calibration = Calibration::default();
        let mut lines = features_head();
        let mut progress = ProgressLine::new(out);
        let questions = &self.set.questions;
        for (n, question) in questions.iter().enumerate() {
            progress.at("judged", n as u64 + 1, questions.len() as u64);
            let known = self.categories.iter().any(|name| name == question.category());
            if !self.categories.is_empty() && !known {
                continue;
            }
            let marked = self.set.relevant(question).is_some();
            let own = if marked { AskedGroup::Own } else { AskedGroup::Unanswered };
            let other = self.set.another_group(question).filter(|_| marked);
            let asked = [(own, question.group.as_deref()), (AskedGroup::Other, other)];
            let asked = asked.into_iter().filter(|(of, group)| *of == own || group.is_some());
            for (of, group) in asked {
                let project = group.map(str::to_owned);
                let (weights, order) = (self.base, HitOrder::Weights);
                let asking = SearchQuery::new(&*question.text, LIMIT);
                let mut query = SearchQuery { project, weights, order, ..asking };
                self.meant(&mut query)?;
                let answer = recall::search::search(&self.reading, None, &query, self.now)?;
                match of {
                    AskedGroup::Own => calibration.answered(answer.answerable),
                    AskedGroup::Other => calibration.other(answer.answerable),
                    AskedGroup::Unanswered => calibration.unanswered(answer.answerable),
                }
                if features.is_some() {
                    let name = |id: u64| self.ids.get(&id);
                    lines += &features_of(self.set, &kind, question, of, &answer.hits, name);
                }
            }
        }
        if let Some(path) = features {
            std::fs::write(path, lines).map_err(|error| Failure::file(path, error))?;
        }
        Ok(calibration)
    }

    /// The weights with the first arm alone, then with one more each time, by what is added.
    pub fn ablation() -> impl Iterator<Item = (String, ArmWeights)> {
        Arm::ALL.iter().enumerate().map(|(place, arm)| {
            let name = format!("{}{}", if place == 0 { "" } else { "+ " }, arm.name());
            (name, ArmWeights::first(place + 1))
        })
    }

    pub fn memories(&self) -> usize {
        self.set.corpus.len()
    }

    pub fn store_bytes(&self) -> CommandResult<u64> {
        Ok(self.cortex.size_bytes()?)
    }

    /// The model that judges meaning.
    pub fn embedder(&self) -> &str {
        self.model.as_ref().map_or(STATIC, |model| model.ready.chosen.model())
    }
}

impl Measurement {
    fn add(&mut self, category: &str, (turn, session): (Means, Option<Means>)) {
        self.turns.add(category, turn);
        if let Some(session) = session {
            self.sessions.add(category, session);
        }
        self.each.push((turn, session));
    }

    pub fn latency(&self, percent: usize) -> f64 {
        let time = self.times.get(self.times.len() * percent / 100);
        time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    }

    pub fn all(&self) -> [Means; 2] {
        [&self.turns, &self.sessions].map(|t| t.means().get("all").copied().unwrap_or_default())
    }
}

/// The model that the arguments name; `None` for the built-in one.
fn embedder(plan: &EvalPlan<'_>, inv: &Invocation) -> CommandResult<Option<OpenEmbedder>> {
    let choice = match plan.embedder {
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
    plan: &EvalPlan<'_>,
    cortex: &Arc<Cortex>,
    folder: &Path,
    out: &Output,
) -> CommandResult {
    let mut progress = ProgressLine::new(out);
    let mut cache = embedder.chosen.cache(folder)?;
    let open = || -> CommandResult<Arc<Cortex>> { Ok(Arc::clone(cortex)) };
    let filling = FillPlan::all_at_once();
    fill(&open, &embedder.chosen, &mut cache, &filling, &mut |done, all| {
        progress.at("embedded", done, all);
    })?;
    let mut kept = HashSet::new();
    each_text(&cortex.read()?, 0, &mut |id, _, body| {
        if id.get() * 61 % 100 < plan.embedded {
            kept.insert(body);
        }
        true
    })?;
    cache.retain(&|body| kept.contains(body)).map_err(EmbedError::from)?;
    Ok(())
}

/// One level of what a question was measured as.
type Level = dyn Fn(&(Means, Option<Means>)) -> Option<Means>;

pub type Differences = [(&'static str, Vec<(&'static str, Difference)>); 2];

/// Second minus first, question by question.
pub fn differences(first: &Measurement, second: &Measurement) -> Differences {
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
