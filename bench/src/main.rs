//! What the kernel costs, each figure beside what a user would pick instead or the physical limit, in one run.
//!
//! `cortex-bench [--memories N] [--dir FOLDER]`. Absolute times depend on the disk and on what else the machine does; the
//! ratios in the last column are what the project promises.

mod kernel_bars;
mod measure;
mod sqlite;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut memories = 100_000;
    let mut folder: Option<PathBuf> = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--memories", Some(n)) => memories = n.parse()?,
            ("--dir", Some(path)) => folder = Some(path.into()),
            _ => return Err("usage: cortex-bench [--memories N] [--dir FOLDER]".into()),
        }
    }
    let scratch = match folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    kernel_bars::run(scratch.path(), memories)
}
