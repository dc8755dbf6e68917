//! A small disk that fills up while it is written to, is read when it is full, and gets space again.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::home::Home;
use crate::{Outcome, Row, Trial, Verdict};

const DISK_BYTES: u64 = 24 << 20;
const FILLER_BYTES: usize = 8 << 20;
const INSIDE: &str = "CORTEX_TORTURE_INSIDE";
/// A memory's words: large ones fill the disk in seconds.
const CONTENT_BYTES: usize = 96 << 10;

/// Starts the program again where it may mount without leaving anything behind; `None` if it is there already, or if
/// this system has no such place: then only this trial is left out.
pub(crate) fn enter_namespace() -> Option<ExitCode> {
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let own = std::env::current_exe().ok()?;
    let as_root = rustix::process::geteuid().is_root();
    let words: &[&str] = if as_root { &["--mount"] } else { &["--mount", "--map-root-user"] };
    let possible = Command::new("unshare").args(words).arg("true").output().ok()?.status.success();
    if !possible {
        return None;
    }
    let mut again = Command::new("unshare");
    again.args(words).arg(own).args(std::env::args_os().skip(1)).env(INSIDE, "1");
    let code = again.status().ok()?.code().and_then(|code| u8::try_from(code).ok());
    Some(ExitCode::from(code.unwrap_or(1)))
}

pub(crate) fn run(trial: &mut Trial) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (mut rounds, mut saved) = (0_u64, 0_usize);
    let row = |rounds: u64, saved: usize, held: Verdict| {
        Row {
        what: "the disk is full while it is written to, and has space again",
        done: format!("{rounds} times, {saved} acknowledged memories"),
        seen: "each time: the save is refused, all that was acknowledged is read while the disk is full, the next \
               save with space succeeds, the store verifies"
            .to_owned(),
        held,
    }
    };
    if std::env::var_os(INSIDE).is_none() {
        return Ok(Row {
            seen: String::new(),
            ..row(0, 0, Verdict::NotRun("no tmpfs can be mounted here".to_owned()))
        });
    }
    while trial.goes_on() || rounds == 0 {
        let disk = folder.path().join(format!("disk-{rounds}"));
        fs::create_dir(&disk).map_err(|error| error.to_string())?;
        let size = format!("size={DISK_BYTES}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&disk).status();
        if !mounted.is_ok_and(|status| status.success()) {
            return Ok(Row {
                seen: String::new(),
                ..row(0, 0, Verdict::NotRun("no tmpfs can be mounted here".to_owned()))
            });
        }
        let outcome = once(trial, &disk, rounds);
        // What is in it goes with it.
        let unmounted = Command::new("umount").arg("-l").arg(&disk).status();
        match outcome {
            Ok(count) => saved += count,
            Err(why) => return Ok(row(rounds + 1, saved, Verdict::Broken(why))),
        }
        unmounted.map_err(|error| error.to_string())?;
        rounds += 1;
    }
    Ok(row(rounds, saved, Verdict::Held))
}

fn once(trial: &mut Trial, disk: &Path, round: u64) -> Result<usize, String> {
    let filler = disk.join("filler");
    fs::write(&filler, vec![1; FILLER_BYTES]).map_err(|error| error.to_string())?;
    let home = Home::new(&disk.join("home"), &trial.program);
    fs::create_dir(&home.path).map_err(|error| error.to_string())?;
    let daemon = home.serve()?;
    let mut acknowledged = Vec::new();
    // Random words, so that nothing gets smaller on its way to the disk.
    let mut content = || {
        let letter = |_| char::from(b'a' + u8::try_from(trial.chance.below(26)).unwrap_or(0));
        (0..CONTENT_BYTES).map(letter).collect::<String>()
    };
    loop {
        let title = format!("disk {round}.{}", acknowledged.len());
        if !home.save(&title, &content()) {
            break;
        }
        acknowledged.push(title);
        if acknowledged.len() as u64 * CONTENT_BYTES as u64 > DISK_BYTES {
            return Err("the disk does not fill up".to_owned());
        }
    }
    let complete = |when: &str| {
        let there = home.titles().map_err(|why| format!("{when}: {why}"))?;
        match acknowledged.iter().find(|title| !there.contains(*title)) {
            Some(lost) => Err(format!("{when}: {lost:?} is gone")),
            None => Ok(()),
        }
    };
    complete("while the disk is full")?;
    fs::remove_file(&filler).map_err(|error| error.to_string())?;
    home.ok(&["save", "with space", "again"])?;
    complete("with space again")?;
    drop(daemon);
    home.ok(&["verify"])?;
    Ok(acknowledged.len())
}
