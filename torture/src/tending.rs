//! What goes on beside the writers: memories are erased, everything derived is made again, the store is verified and
//! backed up, all at the same time and over and over.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;

use crate::home::{COMMAND, Home};

/// What was done, and what was wrong with it.
#[derive(Default)]
pub(crate) struct Tended {
    /// Words of memories whose erasure was acknowledged.
    pub(crate) erased: Mutex<BTreeSet<String>>,
    pub(crate) rebuilds: AtomicU64,
    pub(crate) checks: AtomicU64,
    pub(crate) backups: AtomicU64,
    /// A check that named damage while the program was alive.
    pub(crate) broken: Mutex<Option<String>>,
}

impl Tended {
    pub(crate) fn said(&self) -> String {
        format!(
            "{} erasures, {} rebuilds, {} checks and {} backups went on beside them",
            self.erased.lock().map_or(0, |erased| erased.len()),
            self.rebuilds.load(Ordering::Relaxed),
            self.checks.load(Ordering::Relaxed),
            self.backups.load(Ordering::Relaxed),
        )
    }
}

/// Saves memories and erases them for good.
pub(crate) fn erase(home: &Home, name: &str, stop: &AtomicBool, tended: &Tended) {
    for n in 0.. {
        let canary = format!("canary{}sings", format!("{name}{n}").replace(['.', ' '], "x"));
        let words = ["save", &format!("{name}.{n}"), &canary, "--json"];
        let Some(id) = asked(home, &words).and_then(|answer| answer["id"].as_u64()) else { return };
        let id = id.to_string();
        if asked(home, &["erase", &id, "--reason", "torture", "--yes", "--json"]).is_none() {
            return;
        }
        if let Ok(mut erased) = tended.erased.lock() {
            erased.insert(canary);
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Makes everything again, checks it and backs it up, in turn.
pub(crate) fn tend(home: &Home, backup: &Path, stop: &AtomicBool, tended: &Tended) {
    let backup = backup.display().to_string();
    while !stop.load(Ordering::Relaxed) {
        let Some(_) = asked(home, &["rebuild", "--json"]) else { return };
        tended.rebuilds.fetch_add(1, Ordering::Relaxed);
        let output = home.run(&["verify", "--json"], COMMAND);
        let Ok(output) = output else { return };
        let answer: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        match answer.and_then(|answer| answer["clean"].as_bool().map(|clean| (clean, answer))) {
            Some((true, _)) => tended.checks.fetch_add(1, Ordering::Relaxed),
            Some((false, answer)) => {
                if let Ok(mut broken) = tended.broken.lock() {
                    broken.get_or_insert(format!("a check beside writers named {answer}"));
                }
                return;
            }
            // The daemon was killed meanwhile.
            None => return,
        };
        let Some(_) = asked(home, &["backup", &backup, "--json"]) else { return };
        tended.backups.fetch_add(1, Ordering::Relaxed);
    }
}

fn asked(home: &Home, words: &[&str]) -> Option<Value> {
    let output = home.run(words, COMMAND).ok().filter(|output| output.status.success())?;
    serde_json::from_slice(&output.stdout).ok()
}

/// An erased text that is still in a file, if one is.
pub(crate) fn left_over(folder: &Path, tended: &Tended) -> Result<Option<String>, String> {
    let erased = tended.erased.lock().map_err(|_| "a thread broke".to_owned())?;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| error.to_string())?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(bytes) = fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            if let Some(canary) = erased.iter().find(|canary| text.contains(canary.as_str())) {
                return Ok(Some(format!("{canary} is still in {}", path.display())));
            }
        }
    }
    Ok(None)
}
