//! The vector arm: how much of the true ten the sketch scan finds, and what it costs; and what a graph would cost instead.
//!
//! Exact is the dot product of the full i16 values with every vector. The scan is exact by construction up to `EXACT_UP_TO`
//! vectors; on smaller sets the sketches are therefore only proved where they are used.

use std::time::Duration;

use recall::embedding::{DIMS, Embedder, Embedding, StaticEmbedder};
use recall::evaluation::LabelledSet;
use recall::vectors::{Coder, Codes, EXACT_UP_TO, VectorHit};

use crate::corpus::Corpus;
use crate::hnsw::{Hnsw, Seen, Vectors};
use crate::measure::{Samples, compared, cpu, heading, load, row, say, thread_cpu};

const QUESTIONS: usize = 200;
const RECALL_MIN: f64 = 0.98;

pub fn run(sizes: &[u64], set: Option<&LabelledSet>) {
    println!("vectors (load of the machine: {})", load());
    heading();
    let corpus = Corpus::new();
    for memories in sizes {
        say(format_args!("comparing the vector scan with an exact one over {memories} vectors"));
        generated(&corpus, *memories);
    }
    if let Some(set) = set {
        say("comparing the vector scan with an exact one on the texts of the set");
        let texts: Vec<String> = set.corpus.iter().map(|line| line.text.clone()).collect();
        labelled(&texts, set.questions.iter().map(|question| question.text.clone()).collect());
    }
}

/// Vectors of the generated corpus and of its questions.
fn generated(corpus: &Corpus, memories: u64) {
    let texts = (0..memories).map(|n| {
        let memory = corpus.memory(n);
        format!("{}. {}", memory.title, memory.content)
    });
    let questions = (0..QUESTIONS as u64).map(|n| corpus.question(n, memories)).collect();
    compare(&format!("{memories} generated"), texts, questions);
}

/// Vectors of real texts. A set of no more than `EXACT_UP_TO` says nothing of the sketches, so a second row has pairs of its
/// texts joined, until there are enough for them.
fn labelled(texts: &[String], questions: Vec<String>) {
    let step = questions.len().div_ceil(QUESTIONS).max(1);
    let questions: Vec<String> = questions.into_iter().step_by(step).collect();
    compare("real texts", texts.iter().cloned(), questions.clone());
    if texts.len() <= EXACT_UP_TO {
        let joined = (1..texts.len()).flat_map(|step| {
            texts.iter().zip(texts.iter().cycle().skip(step)).map(|(a, b)| format!("{a} {b}"))
        });
        let all = texts.iter().cloned().chain(joined).take(5 * EXACT_UP_TO);
        compare("real texts and pairs", all, questions);
    }
}

fn compare(what: &str, texts: impl Iterator<Item = String>, questions: Vec<String>) {
    let embedder = StaticEmbedder::shared();
    let (coder, mut codes) = (Coder::new(DIMS), Codes::new(DIMS));
    let mut vectors: Vec<Embedding> = Vec::new();
    for text in texts {
        let vector = embedder.embed(&text);
        codes.set(vectors.len() as u64, &[coder.code(&vector)]);
        vectors.push(vector);
    }
    let questions: Vec<Embedding> = questions.iter().map(|text| embedder.embed(text)).collect();
    let (mut found, mut wanted) = (0, 0);
    let mut cpus = Vec::new();
    let walls = Samples::of(questions.len(), |n| {
        let before = cpu();
        codes.top_k(&questions[n], 10, &|_| true);
        cpus.push(cpu() - before);
    });
    for question in &questions {
        let mut exact: Vec<i64> = vectors.iter().map(|vector| question.dot(vector)).collect();
        let scores = exact.clone();
        exact.sort_unstable_by(|a, b| b.cmp(a));
        let tenth = exact.get(9).or(exact.last()).copied().unwrap_or(0);
        // By score and not by number: of two equally near, either is right.
        let right = |hits: Vec<VectorHit>| {
            hits.iter().filter(|hit| scores[hit.doc as usize] >= tenth).count()
        };
        found += right(codes.top_k(question, 10, &|_| true));
        wanted += vectors.len().min(10);
    }
    let recall = found as f64 / wanted.max(1) as f64;
    let megabytes = codes.bytes() as f64 / 1e6;
    let how = if vectors.len() > EXACT_UP_TO { "sketches first" } else { "every code compared" };
    row(
        &format!("vectors, {what}: recall@10"),
        format!("{recall:.4}"),
        format!("of {}, {how}", vectors.len()),
        format!(">= {RECALL_MIN}"),
        recall >= RECALL_MIN,
    );
    compared(
        "  a query, p50 / p95",
        format!("{:.2?} / {:.2?}", walls.p50(), walls.p95()),
        format!("CPU {:.2?}; {megabytes:.0} MB of codes", Samples::new(cpus).p50()),
    );
    graph(&codes, &vectors, &questions);
}

/// An HNSW graph over the same codes, beside the scan: at the ten that a person reads, and at what a search takes from the
/// arm before it fuses.
fn graph(codes: &Codes, vectors: &[Embedding], questions: &[Embedding]) {
    let mut columns = Vectors::new(DIMS);
    vectors.iter().for_each(|vector| columns.push(vector.values()));
    let before = cpu();
    let graph = Hnsw::build(&columns);
    compared(
        "  a graph (HNSW): build",
        format!("{:.2?} CPU", cpu() - before),
        format!("{:.0} MB of links; the scan needs neither", graph.bytes() as f64 / 1e6),
    );
    let mut seen = Seen::default();
    for k in [10, TAKEN] {
        let exact: Vec<Exact> =
            questions.iter().map(|question| Exact::new(question, vectors, k)).collect();
        let scan = measured(&exact, |n| {
            codes.top_k(&questions[n], k, &|_| true).iter().map(|hit| hit.doc).collect()
        });
        // The narrowest walk that finds as much.
        let mut walk =
            (k, measured(&exact, |n| ask(&graph, &columns, &questions[n], (k, k), &mut seen)));
        while walk.1.0 < scan.0.min(RECALL_MIN) && walk.0 < vectors.len() {
            let ef = walk.0 * 2;
            walk = (
                ef,
                measured(&exact, |n| ask(&graph, &columns, &questions[n], (k, ef), &mut seen)),
            );
        }
        let (ef, (found, time)) = walk;
        compared(
            &format!("    the nearest {k}: graph, CPU"),
            format!("{time:.2?} at recall {found:.4}"),
            format!("scan {:.2?} at recall {:.4}; ef {ef}", scan.1, scan.0),
        );
    }
}

/// What a search takes from the meaning arm before it fuses.
const TAKEN: usize = 800;

fn ask(
    graph: &Hnsw,
    columns: &Vectors,
    question: &Embedding,
    k_ef: (usize, usize),
    seen: &mut Seen,
) -> Vec<u64> {
    let found = graph.search(columns, question.values(), k_ef, &|_| true, seen);
    found.into_iter().map(u64::from).collect()
}

/// The true answer to a question: which score the last of the nearest `k` has.
struct Exact {
    scores: Vec<i32>,
    last: i32,
    wanted: usize,
}

impl Exact {
    fn new(question: &Embedding, vectors: &[Embedding], k: usize) -> Exact {
        let scores: Vec<i32> = vectors.iter().map(|v| question.dot(v) as i32).collect();
        let mut sorted = scores.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let wanted = k.min(sorted.len());
        Exact { last: sorted.get(wanted.saturating_sub(1)).copied().unwrap_or(0), scores, wanted }
    }
}

/// Recall over the questions, and the median of the processor time one takes.
fn measured(exact: &[Exact], mut ask: impl FnMut(usize) -> Vec<u64>) -> (f64, Duration) {
    let (mut found, mut wanted, mut times) = (0, 0, Vec::new());
    for (n, exact) in exact.iter().enumerate() {
        let before = thread_cpu();
        let answer = ask(n);
        times.push(thread_cpu() - before);
        found += answer.iter().filter(|doc| exact.scores[**doc as usize] >= exact.last).count();
        wanted += exact.wanted;
    }
    (found as f64 / wanted.max(1) as f64, Samples::new(times).p50())
}
