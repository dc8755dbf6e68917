//! Pages of store files overwritten with other bytes, one at a time, in copies of a home.
//!
//! What must hold: the program says that something is wrong, or every memory is there as it was. Silence with a memory
//! that is gone or other is the only failure.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::home::{COMMAND, Home, Writer};
use crate::{Outcome, Row, Trial, Verdict};

const PAGE: u64 = 4_096;
const MEMORIES: usize = 200;

pub(crate) fn run(trial: &mut Trial) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let whole = folder.path().join("whole");
    fs::create_dir(&whole).map_err(|error| error.to_string())?;
    let home = Home::new(&whole, &trial.program);
    let mut writer = Writer::start(&home)?;
    for n in 0..MEMORIES {
        if !writer.save(&format!("memory {n}"), &"its words ".repeat(n % 40 + 1)) {
            return Err("a memory could not be saved".to_owned());
        }
    }
    drop(writer);
    let before = memories(&home.ok(&["export"])?);
    let (mut rounds, mut named, mut healed, mut refused) = (0_u64, 0_u64, 0_u64, 0_u64);
    while trial.goes_on() || rounds == 0 {
        let copy = folder.path().join("copy");
        copy_folder(&whole, &copy)?;
        let place = damage(trial, &copy)?;
        let damaged = Home::new(&copy, &trial.program);
        rounds += 1;
        let verified = damaged.run(&["verify"], COMMAND)?.status.success();
        let after = damaged.run(&["export"], COMMAND)?;
        let same =
            after.status.success() && memories(&String::from_utf8_lossy(&after.stdout)) == before;
        match (verified, same) {
            (true, true) => healed += 1,
            (false, true) => named += 1,
            (false, false) => refused += 1,
            (true, false) => {
                let why = format!("{place}: the store verifies and its memories are others");
                return Ok(row(rounds, [named, healed, refused], Verdict::Broken(why)));
            }
        }
        fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
    }
    Ok(row(rounds, [named, healed, refused], Verdict::Held))
}

/// The lines of an export but its first, which says when it was made.
fn memories(export: &str) -> Vec<String> {
    export.lines().skip(1).map(str::to_owned).collect()
}

fn row(rounds: u64, [named, healed, refused]: [u64; 3], held: Verdict) -> Row {
    Row {
        what: "one page of a store file is overwritten with other bytes",
        done: format!("{rounds} pages, of a store with {MEMORIES} memories"),
        seen: format!(
            "no harm or mended by itself: {healed}; named by `verify` with every memory still readable: {named}; \
             named, and reading refused: {refused}"
        ),
        held,
    }
}

/// Overwrites one page of one file of the stores; gives where.
fn damage(trial: &mut Trial, home: &Path) -> Result<String, String> {
    let mut files = Vec::new();
    collect(&home.join("actors"), &mut files)?;
    let pages = |file: &PathBuf| fs::metadata(file).map_or(0, |meta| meta.len().div_ceil(PAGE));
    let all: u64 = files.iter().map(pages).sum();
    let mut nth = trial.chance.below(all);
    for file in &files {
        let here = pages(file);
        if nth >= here {
            nth -= here;
            continue;
        }
        let bytes: Vec<u8> =
            (0..PAGE).map(|_| u8::try_from(trial.chance.below(256)).unwrap_or(0)).collect();
        let mut open =
            fs::OpenOptions::new().write(true).open(file).map_err(|error| error.to_string())?;
        let length = open.metadata().map_err(|error| error.to_string())?.len();
        let end = usize::try_from(length.saturating_sub(nth * PAGE).min(PAGE)).unwrap_or(0);
        open.seek(SeekFrom::Start(nth * PAGE))
            .and_then(|_| open.write_all(&bytes[..end]))
            .map_err(|error| error.to_string())?;
        let name = file.strip_prefix(home).unwrap_or(file).display().to_string();
        return Ok(format!("page {nth} of {name}"));
    }
    Err("there is no store file".to_owned())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.metadata().is_ok_and(|meta| meta.len() > 0) {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| error.to_string())?;
    for entry in fs::read_dir(from).map_err(|error| error.to_string())?.flatten() {
        let (path, at) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &at)?;
        } else if path.is_file() {
            fs::copy(&path, &at).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}
