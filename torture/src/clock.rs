//! A clock that jumps: each save is told another time, decades back and forth. Order is the journal's, not the clock's.

use crate::home::Home;
use crate::{Outcome, Row, Trial, Verdict};

/// What the clock may show.
const YEARS: &[&str] = &["1971", "1999", "2024", "2026", "2038", "2100"];

pub(crate) fn run(trial: &mut Trial) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = Home::new(folder.path(), &trial.program);
    let (mut saved, mut refused) = (Vec::new(), 0_u64);
    while trial.goes_on() || saved.is_empty() {
        let nth = usize::try_from(trial.chance.below(YEARS.len() as u64)).unwrap_or(0);
        let now = format!("{}-06-15T12:00:00Z", YEARS[nth]);
        let title = format!("clock {}", saved.len());
        let output = home.run(&["--now", &now, "save", &title, "words"], crate::home::COMMAND)?;
        if output.status.success() {
            saved.push(title);
        } else {
            refused += 1;
        }
        if refused > 50 {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(said.lines().next().unwrap_or_default().to_owned());
        }
    }
    // Under a right clock again, a save is dated by it.
    home.ok(&["--now", "2026-06-15T12:00:00Z", "save", "right again", "words"])?;
    let export = home.ok(&["export"])?;
    let dated = export.lines().find(|line| line.contains("right again"));
    if !dated
        .is_some_and(|line| line.contains("2026-06-15T12:00:00") || line.contains("1781524800000"))
    {
        return Err(format!("a save under a right clock is dated {dated:?}"));
    }
    home.ok(&["verify"])?;
    let there = home.titles()?;
    let lost = saved.iter().find(|title| !there.contains(*title));
    let held = match lost {
        Some(title) => Verdict::Broken(format!("{title:?} is gone")),
        None => Verdict::Held,
    };
    Ok(Row {
        what: "the clock jumps between 1971 and 2100 from save to save",
        done: format!("{} saves acknowledged, {refused} refused", saved.len()),
        seen: "all of them are there, and the store verifies".to_owned(),
        held,
    })
}
