//! What was asked for on the command line.

use std::path::PathBuf;

use crate::Outcome;

pub const HELP: &str = "\
Measures Cortex beside what a user would pick instead, and prints each figure with its bar.

usage: cortex-bench [OPTIONS]      make bench BENCH_ARGS='OPTIONS'

  --only PART       kernel: writes, proofs, open, beside SQLite and the bare disk
                    recall: text and hybrid questions, beside SQLite FTS5 and tantivy; vectors beside an exact scan
                    vectors: what the scan finds of the true nearest, beside a graph (with --data also on its texts)
                    ablation: which arm of recall earns its place, on a labelled set (needs --data)
                    [default: all of them; ablation if --data is given]
  --memories N      memories of the kernel's bars [default: 100000]
  --cortex PROGRAM  the program whose daemon is measured, too; `make bench` builds and names it
  --recall N,N,...  sizes of the recall bars [default: 10000,100000]; 1000000 takes a quarter of an hour and 5 GB of disk
  --data DIR        a labelled set as `cortex eval` takes it: corpus.jsonl, queries.jsonl, qrels.tsv
  --dir FOLDER      where to put the stores while measuring [default: the folder for temporary files]
  --help            this text

The table goes to standard output, progress to standard error. Every run makes the same memories and questions.
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Kernel,
    Recall,
    Vectors,
    Ablation,
}

#[derive(Debug)]
pub struct Options {
    pub only: Option<Part>,
    pub memories: usize,
    pub program: Option<PathBuf>,
    pub sizes: Vec<u64>,
    pub data: Option<PathBuf>,
    pub folder: Option<PathBuf>,
}

impl Options {
    pub fn does(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

#[derive(Debug)]
pub enum Wanted {
    Help,
    Run(Options),
    /// One step of one engine: how the bench calls itself.
    Engine {
        name: String,
        step: String,
        folder: PathBuf,
        memories: u64,
    },
}

pub fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Wanted> {
    let (only, program, data, folder) = (None, None, None, None);
    let mut options =
        Options { only, memories: 100_000, program, sizes: vec![10_000, 100_000], data, folder };
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            return Ok(Wanted::Help);
        }
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--only" => {
                options.only = Some(match value()?.as_str() {
                    "kernel" => Part::Kernel,
                    "recall" => Part::Recall,
                    "vectors" => Part::Vectors,
                    "ablation" => Part::Ablation,
                    other => return Err(format!("no part {other}; see --help").into()),
                });
            }
            "--memories" => options.memories = value()?.parse()?,
            "--cortex" => options.program = Some(std::path::absolute(value()?)?),
            "--recall" => {
                let sizes: Result<_, _> = value()?.split(',').map(str::parse).collect();
                options.sizes = sizes?;
            }
            "--data" => options.data = Some(value()?.into()),
            "--dir" => options.folder = Some(value()?.into()),
            "--engine" => {
                let (name, step, folder) = (value()?, value()?, value()?.into());
                return Ok(Wanted::Engine { name, step, folder, memories: value()?.parse()? });
            }
            other => return Err(format!("no option {other}; see --help").into()),
        }
    }
    Ok(Wanted::Run(options))
}
