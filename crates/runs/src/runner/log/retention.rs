//! Old runs make room: by age, and by how many a talent has. A run that goes on is never touched.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;

use super::index::RunIndex;
use super::{read, write};
use talents::{Layout, UseId};

/// What is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RetentionLimits {
    pub days: u64,
    pub runs_per_talent: usize,
}

/// Removes ended runs that are too old or too many; gives their ids. The logs go first: a crash in the middle
/// leaves rows without logs, which the next sweep takes away.
pub fn sweep(
    layout: &Layout,
    index: &mut RunIndex,
    keep: RetentionLimits,
    now: Timestamp,
) -> io::Result<Vec<UseId>> {
    let oldest = u64::try_from(now.as_millisecond())
        .unwrap_or(0)
        .saturating_sub(keep.days.saturating_mul(24 * 60 * 60 * 1000));
    let mut removed = Vec::new();
    let mut there = BTreeSet::new();
    for name in read::talents(layout)? {
        let ended: Vec<_> =
            read::runs(layout, &name)?.into_iter().filter(|(_, found)| !found.active).collect();
        let surplus = ended.len().saturating_sub(keep.runs_per_talent);
        let mut newest = None;
        for (place, (run, found)) in ended.into_iter().enumerate() {
            let at: u64 = run.as_str().parse().unwrap_or(0);
            if place < surplus || at < oldest {
                fs::remove_file(&found.path)?;
                remove_if_there(&layout.run_stderr(&name, &run))?;
                removed.push(run);
            } else {
                there.insert(run.to_string());
                newest = Some(run);
            }
        }
        match newest {
            None => remove_if_there(&layout.newest_run(&name))?,
            Some(run) if !layout.newest_run(&name).exists() => write::point(
                &layout.newest_run(&name),
                &Path::new(name.as_str()).join(format!("{run}.jsonl")),
            )?,
            Some(_) => {}
        }
    }
    let gone: BTreeSet<String> =
        index.rows().map(|row| row.use_id.clone()).filter(|id| !there.contains(id)).collect();
    // A run may have ended between the look at its folder and now: what has a log stays.
    let gone = gone
        .into_iter()
        .filter(|id| UseId::parse(id).is_ok_and(|run| matches!(read::find(layout, &run), Ok(None))))
        .collect();
    index.remove(&gone)?;
    Ok(removed)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
