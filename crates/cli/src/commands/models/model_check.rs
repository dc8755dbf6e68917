//! `cortex model check`: is this folder a model that works, how fast is it, and does it agree with another
//! implementation?

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use embed::MiniLm;
use embed::install::WEIGHTS;
use recall::embedding::{Embedder as _, Embedding, ONE};
use serde::Deserialize;
use serde_json::{Value, json};
use service::embedders::EmbedError;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::Output;

/// What two implementations of the same model must reach.
const COSINE_MIN: f64 = 0.999;

/// Each text must be nearer to the second than to the third.
const TRIPLES: [(&str, &str, &str); 4] = [
    ("a dog barks", "the puppy is barking", "quarterly tax report"),
    ("She moved to Paris", "living in France", "replace the bicycle chain"),
    ("database backup failed", "could not restore the server", "grandmother's apple pie"),
    ("How old is the user?", "She turned forty last week", "the build is green again"),
];

/// Loads a MiniLM folder and says whether its vectors make sense.
///
/// With --against, compares with vectors that another implementation made: one {text, ids, vector} per line, as
/// tools/model/minilm_reference.py writes them. JSON: {model, dims, sha256, known, load_ms, near, far,
/// single_per_second, batch_per_second, reference?: {texts, same_ids, unknown, cosine_min, cosine_mean}}
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Folder with config.json, vocab.txt and model.safetensors
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// File of reference vectors
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct ReferenceLine {
    text: String,
    ids: Vec<u32>,
    vector: Vec<f64>,
}

pub(crate) fn run(args: &CheckArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let started = Instant::now();
    // Whatever weights the folder holds: saying what they are is the point.
    let model = MiniLm::open(&inv.path(&args.folder), None).map_err(EmbedError::from)?;
    let load = started.elapsed();
    let reference = args.against.as_deref().map(|file| read(&inv.path(file))).transpose()?;
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (text, alike, other) in TRIPLES {
        let vectors = model.embed_many(&[text, alike, other]);
        near.push(cosine(&vectors[0], &vectors[1]));
        far.push(cosine(&vectors[0], &vectors[2]));
    }
    let texts: Vec<&str> = match &reference {
        Some(lines) => lines.iter().map(|line| line.text.as_str()).collect(),
        None => TRIPLES.iter().flat_map(|(a, b, c)| [*a, *b, *c]).cycle().take(96).collect(),
    };
    let single = speed(texts.len(), || texts.iter().for_each(|text| _ = model.embed(text)));
    let batch = speed(texts.len(), || _ = model.embed_many(&texts));
    let compared = reference.as_deref().map(|lines| compare(&model, lines)).transpose()?;
    let mut view = json!({
        "model": model.model(), "dims": model.dims(), "sha256": model.digest(),
        "known": model.digest() == WEIGHTS,
        "load_ms": rounded(load.as_secs_f64() * 1_000.0),
        "near": mean(&near), "far": mean(&far),
        "single_per_second": single, "batch_per_second": batch,
    });
    if let Some(compared) = &compared {
        view["reference"] = compared.clone();
    }
    out.table(&view)?;
    if near.iter().zip(&far).any(|(near, far)| near <= far) {
        let message = "texts that mean the same are not nearer than others".to_owned();
        return Err(Failure::Check { code: "model_meaning", message });
    }
    let worst = compared.as_ref().and_then(|compared| compared["cosine_min"].as_f64());
    if worst.is_some_and(|worst| worst < COSINE_MIN) {
        let message = format!("the vectors differ from the reference (below {COSINE_MIN})");
        return Err(Failure::Check { code: "model_differs", message });
    }
    Ok(())
}

fn compare(model: &MiniLm, lines: &[ReferenceLine]) -> CommandResult<Value> {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let (mut cosines, mut same, mut unknown) = (Vec::new(), 0usize, 0usize);
    for (line, vector) in lines.iter().zip(model.embed_many(&texts)) {
        if line.vector.len() != model.dims() {
            let (found, wanted) = (line.vector.len(), model.dims());
            return Err(Failure::Input(format!(
                "the reference has {found} dimensions, not {wanted}"
            )));
        }
        same += usize::from(model.token_ids(&line.text) == line.ids);
        // A text without a word the model knows has no direction here; the reference gives it that of its marks.
        if vector.is_zero() {
            unknown += 1;
            continue;
        }
        let ours: Vec<f64> = vector.values().iter().map(|v| f64::from(*v)).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let lengths = (dot(&ours, &ours) * dot(&line.vector, &line.vector)).sqrt();
        cosines.push(if lengths > 0.0 { dot(&ours, &line.vector) / lengths } else { 0.0 });
    }
    let worst = cosines.iter().copied().fold(1.0, f64::min);
    let round = |value: f64| (value * 1e7).round() / 1e7;
    Ok(json!({
        "texts": lines.len(), "same_ids": same, "unknown": unknown,
        "cosine_min": round(worst), "cosine_mean": round(mean_of(&cosines)),
    }))
}

fn cosine(a: &Embedding, b: &Embedding) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "both are below 2^31")]
    let ratio = a.dot(b) as f64 / ONE as f64;
    ratio
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts are small")]
fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn mean(values: &[f64]) -> f64 {
    (mean_of(values) * 1_000.0).round() / 1_000.0
}

/// Texts a second.
fn speed(texts: usize, work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    #[expect(clippy::cast_precision_loss, reason = "counts of texts are small")]
    let speed = texts as f64 / started.elapsed().as_secs_f64().max(1e-9);
    rounded(speed)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn read(path: &Path) -> CommandResult<Vec<ReferenceLine>> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    let lines: Result<Vec<ReferenceLine>, _> =
        text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
    lines.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}
