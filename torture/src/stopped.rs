//! A daemon that is stopped (SIGSTOP) in the middle of its work: commands must end, and all is well when it goes on.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::home::{Home, signal};
use crate::{Outcome, Row, Trial, Verdict, times};

/// How long a command may wait for a daemon that does not answer.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) fn run(trial: &mut Trial) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = Home::new(folder.path(), &trial.program);
    let mut daemon = home.serve()?;
    home.ok(&["save", "before", "the stop"])?;
    let (mut rounds, mut took, mut hung) = (0_u64, Vec::new(), Vec::new());
    while trial.goes_on() || rounds == 0 {
        signal(daemon.child.id(), Signal::STOP);
        for words in
            [&["status"][..], &["save", "during", "the stop"], &["search", "stop"], &["doctor"]]
        {
            let begun = Instant::now();
            match home.run(words, DEADLINE) {
                Ok(_) => took.push(begun.elapsed()),
                Err(_) => hung.push(words[0]),
            }
            if !trial.goes_on() && rounds > 0 {
                break;
            }
        }
        signal(daemon.child.id(), Signal::CONT);
        rounds += 1;
        home.ok(&["save", "after", "the stop"])?;
        if daemon.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            daemon = home.serve()?;
        }
    }
    drop(daemon);
    home.ok(&["verify"])?;
    hung.sort_unstable();
    hung.dedup();
    let held = if hung.is_empty() {
        Verdict::Held
    } else {
        Verdict::Broken(format!("no answer within {} s: {}", DEADLINE.as_secs(), hung.join(", ")))
    };
    Ok(Row {
        what: "the daemon is stopped (SIGSTOP) while commands ask it, and goes on",
        done: format!("{rounds} stops, {} commands that ended meanwhile", took.len()),
        seen: format!(
            "they ended after {}; every save after it went on succeeded",
            times(&mut took)
        ),
        held,
    })
}
