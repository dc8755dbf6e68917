//! Pages of store files overwritten with other bytes, one at a time, in copies of a home.
//!
//! What must hold: every memory is there as it was, or the program says that something is wrong and serves all that it
//! lies beside. Silence about a memory that is gone or other is a failure, and so is a home that can no longer be read.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::home::{COMMAND, Home, Writer};
use crate::{Outcome, Row, Trial, Verdict};

const PAGE: u64 = 4_096;
const MEMORIES: usize = 200;
/// Memories that one page may cost.
const LOST_MAX: usize = 40;

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
    let (mut rounds, mut named, mut healed) = (0_u64, 0_u64, 0_u64);
    let (mut cost, mut lost_most) = (0_u64, 0);
    while trial.goes_on() || rounds == 0 {
        let copy = folder.path().join("copy");
        copy_folder(&whole, &copy)?;
        let place = damage(trial, &copy)?;
        let damaged = Home::new(&copy, &trial.program);
        rounds += 1;
        let verified = damaged.run(&["verify"], COMMAND)?.status.success();
        let after = damaged.run(&["export"], COMMAND)?;
        let served = memories(&String::from_utf8_lossy(&after.stdout));
        let lost = before.iter().filter(|line| !served.contains(line)).count();
        let others = served.iter().filter(|line| !before.contains(line)).count();
        let why = match (verified, lost) {
            (true, 0) => {
                healed += 1;
                None
            }
            (false, 0) => {
                named += 1;
                None
            }
            (true, _) => Some(format!("{place}: the store verifies and {lost} memories are gone")),
            // One page holds a few memories of this size; a home that serves none of them is not read at all.
            (false, _) if lost > LOST_MAX => {
                let said = String::from_utf8_lossy(&after.stderr);
                let said = said.lines().next().unwrap_or_default().to_owned();
                Some(format!("{place}: {lost} memories are not served: {said}"))
            }
            (false, _) if others > 0 => Some(format!("{place}: {others} memories are others")),
            (false, _) => {
                cost += 1;
                lost_most = lost_most.max(lost);
                None
            }
        };
        if let Some(why) = why {
            let seen = [healed, named, cost, lost_most as u64];
            return Ok(row(rounds, seen, Verdict::Broken(why)));
        }
        fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
    }
    Ok(row(rounds, [healed, named, cost, lost_most as u64], Verdict::Held))
}

/// The lines of an export that are memories: its first says when it was made, its last how many there are.
fn memories(export: &str) -> Vec<String> {
    export.lines().filter(|line| line.contains("\"versions\":")).map(str::to_owned).collect()
}

fn row(rounds: u64, [healed, named, cost, most]: [u64; 4], held: Verdict) -> Row {
    Row {
        what: "one page of a store file is overwritten with other bytes",
        done: format!("{rounds} pages, of a store with {MEMORIES} memories"),
        seen: format!(
            "no harm or mended by itself: {healed}; named by `verify` with every memory still readable: {named}; named, \
             and memories of the page lost, {most} at most, with all others served: {cost}"
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
