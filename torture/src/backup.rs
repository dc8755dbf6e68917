//! Backups of a home that is written to, each restored into a home of its own and compared with the root it names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use crate::home::Home;
use crate::{Outcome, Row, Trial, Verdict};

const WRITERS: usize = 2;

pub(crate) fn run(trial: &mut Trial) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = Arc::new(Home::new(&folder.path().join("home"), &trial.program));
    let daemon = home.serve()?;
    let (stop, saved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|w| {
            let (home, stop, saved) = (Arc::clone(&home), Arc::clone(&stop), Arc::clone(&saved));
            thread::spawn(move || {
                for n in 0.. {
                    if stop.load(Ordering::Relaxed) || !home.save(&format!("b {w}.{n}"), "words") {
                        break;
                    }
                    saved.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut rounds = 0_u64;
    let mut verdict = Verdict::Held;
    let backup = folder.path().join("backup");
    while (trial.goes_on() || rounds == 0) && matches!(verdict, Verdict::Held) {
        if saved.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
            continue;
        }
        let named = home.ok(&["backup", &backup.display().to_string(), "--json"])?;
        let target = folder.path().join("restored");
        let restored = Home::new(&target, &trial.program);
        let made = restored.ok(&["restore", &backup.display().to_string(), "--json"])?;
        if roots(&named)? != roots(&made)? {
            verdict = Verdict::Broken(format!("round {rounds}: {named} became {made}"));
        }
        rounds += 1;
        std::fs::remove_dir_all(&target).map_err(|error| error.to_string())?;
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().map_err(|_| "a writer broke".to_owned())?;
    }
    drop(daemon);
    Ok(Row {
        what: "a home that is written to is backed up, and each backup restored",
        done: format!("{rounds} backups, {} saves beside them", saved.load(Ordering::Relaxed)),
        seen: "each restores to the root it names".to_owned(),
        held: verdict,
    })
}

/// The roots of all actors in an answer, by name.
fn roots(answer: &str) -> Result<Vec<(String, String)>, String> {
    let value: Value = serde_json::from_str(answer).map_err(|error| error.to_string())?;
    let actors = value["actors"].as_array().ok_or("no actors")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(actors.iter().map(|actor| (text(&actor["actor"]), text(&actor["root"]))).collect())
}
