//! What Cortex costs and how well it finds, each figure beside what a user would pick instead or the physical limit, in one
//! run.
//!
//! Absolute times depend on the disk and on what else the machine does; the ratios in the last column are what the project
//! promises.

mod ablation;
mod chance;
mod corpus;
mod cortex_recall;
mod daemon_bars;
mod engine;
mod fts5;
mod hnsw;
mod kernel_bars;
mod measure;
mod options;
mod oracle;
mod question_words;
mod recall_bars;
mod sqlite;
mod tantivy_index;
mod vector_bars;

use std::path::Path;

use cortex_recall::CortexRecall;
use engine::Engine;
use fts5::Fts5;
use options::{Options, Part, Wanted};
use tantivy_index::TantivyIndex;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    match options::parse(std::env::args().skip(1))? {
        Wanted::Help => {
            print!("{}", options::HELP);
            Ok(())
        }
        Wanted::Engine { name, step, folder, memories } => match name.as_str() {
            recall_bars::CORTEX => one::<CortexRecall>(&step, &folder, memories),
            recall_bars::FTS5 => one::<Fts5>(&step, &folder, memories),
            recall_bars::TANTIVY => one::<TantivyIndex>(&step, &folder, memories),
            _ => Err(format!("no engine {name}").into()),
        },
        Wanted::Run(options) => run(&options),
    }
}

fn run(options: &Options) -> Outcome<()> {
    let scratch = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let set = options.data.as_deref().map(ablation::load).transpose()?;
    if options.does(Part::Kernel) {
        kernel_bars::run(scratch.path(), options.memories)?;
        match &options.program {
            Some(program) => daemon_bars::run(scratch.path(), program, options.memories)?,
            None => measure::say("saves through a daemon are measured with --cortex PROGRAM"),
        }
        println!();
    }
    if options.does(Part::Recall) {
        recall_bars::run(scratch.path(), &options.sizes)?;
    }
    if options.does(Part::Vectors) {
        vector_bars::run(&options.sizes, set.as_ref());
        println!();
    }
    match &set {
        Some(set) if options.does(Part::Ablation) => ablation::run(scratch.path(), set),
        None if options.only == Some(Part::Ablation) => {
            Err("--only ablation needs --data DIR".into())
        }
        _ => Ok(()),
    }
}

/// A step of one engine, in the process that the bench started for it.
fn one<E: Engine>(step: &str, folder: &Path, memories: u64) -> Outcome<()> {
    match step {
        "build" => engine::build::<E>(folder, memories),
        "open" => engine::ask::<E>(folder, &[]),
        "ask" => engine::ask::<E>(folder, E::WAYS),
        _ => Err(format!("no step {step}").into()),
    }
}
