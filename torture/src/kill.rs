//! kill -9 of the daemon while three write, one searches and asks for the context, one erases, and one makes everything
//! again, verifies and backs up.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::home::{COMMAND, Home, signal};
use crate::tending::{self, Tended};
use crate::{Outcome, Row, Trial, Verdict, times};

const WRITERS: usize = 3;
/// Rounds after which everything is compared and verified; a last time at the end.
const LOOK_EVERY: u64 = 10;

pub(crate) fn run(trial: &mut Trial) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = Arc::new(Home::new(folder.path(), &trial.program));
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    let tended = Arc::new(Tended::default());
    let backup = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (mut rounds, mut looks, mut starts) = (0_u64, 0_u64, Vec::new());
    while trial.goes_on() || rounds == 0 {
        let daemon = home.serve()?;
        starts.push(daemon.took);
        let stop = Arc::new(AtomicBool::new(false));
        let work: Vec<_> = (0..WRITERS)
            .map(|n| {
                let (home, stop, all) =
                    (Arc::clone(&home), Arc::clone(&stop), Arc::clone(&acknowledged));
                thread::spawn(move || write(&home, &format!("kill {rounds}.{n}"), &stop, &all))
            })
            .collect();
        let asking = {
            let (home, stop) = (Arc::clone(&home), Arc::clone(&stop));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    for words in [&["search", "round words"][..], &["context", "--budget", "500"]] {
                        // Whether it is answered while the daemon dies is not what is asked here.
                        let _ = home.run(words, COMMAND);
                    }
                }
            })
        };
        let tending = {
            let parts = || (Arc::clone(&home), Arc::clone(&stop), Arc::clone(&tended));
            let ((home, stop, work), folder) = (parts(), backup.path().join("copies"));
            let first = thread::spawn(move || tending::tend(&home, &folder, &stop, &work));
            let (home, stop, work) = parts();
            let name = format!("erased {rounds}");
            [first, thread::spawn(move || tending::erase(&home, &name, &stop, &work))]
        };
        thread::sleep(Duration::from_millis(200 + trial.chance.below(1_500)));
        signal(daemon.child.id(), Signal::KILL);
        stop.store(true, Ordering::Relaxed);
        for thread in work {
            thread.join().map_err(|_| "a writer broke".to_owned())??;
        }
        asking.join().map_err(|_| "a reader broke".to_owned())?;
        for thread in tending {
            thread.join().map_err(|_| "whoever tends it broke".to_owned())?;
        }
        drop(daemon);
        rounds += 1;
        if rounds % LOOK_EVERY == 0 || !trial.goes_on() {
            looks += 1;
            if let Some(lost) = compare(&home, &acknowledged, &tended)? {
                let verdict = Verdict::Broken(lost);
                return Ok(row(rounds, looks, &acknowledged, &tended, &mut starts, verdict));
            }
        }
    }
    Ok(row(rounds, looks, &acknowledged, &tended, &mut starts, Verdict::Held))
}

fn write(
    home: &Home,
    name: &str,
    stop: &AtomicBool,
    all: &Mutex<BTreeSet<String>>,
) -> Result<(), String> {
    for n in 0.. {
        let title = format!("{name}.{n}");
        if stop.load(Ordering::Relaxed) || !home.save(&title, &format!("round words of {title}")) {
            break;
        }
        all.lock().map_err(|_| "a writer broke".to_owned())?.insert(title);
    }
    Ok(())
}

/// What is wrong after the kills, if anything.
fn compare(
    home: &Home,
    acknowledged: &Mutex<BTreeSet<String>>,
    tended: &Tended,
) -> Result<Option<String>, String> {
    if let Some(broken) = tended.broken.lock().map_err(|_| "a thread broke".to_owned())?.take() {
        return Ok(Some(broken));
    }
    // The command opens the store, finishes what an erasure left, and closes it.
    home.ok(&["verify"])?;
    if let Some(left) = tending::left_over(&home.path.join("actors"), tended)? {
        return Ok(Some(left));
    }
    let there = home.titles()?;
    let acknowledged = acknowledged.lock().map_err(|_| "a writer broke".to_owned())?;
    let lost: Vec<&String> = acknowledged.difference(&there).collect();
    Ok(lost
        .first()
        .map(|first| format!("{} acknowledged memories are gone, such as {first:?}", lost.len())))
}

fn row(
    rounds: u64,
    looks: u64,
    acknowledged: &Mutex<BTreeSet<String>>,
    tended: &Tended,
    starts: &mut [Duration],
    held: Verdict,
) -> Row {
    let count = acknowledged.lock().map_or(0, |all| all.len());
    Row {
        what: "the daemon is killed with -9 while three write, one reads, one erases, one rebuilds, verifies and backs up",
        done: format!("{rounds} kills, {count} acknowledged memories"),
        seen: format!(
            "all of them compared and the store verified {looks} times, and nothing erased was left; {}; it served \
             again after {}",
            tended.said(),
            times(starts)
        ),
        held,
    }
}
