//! The index of ended runs: a file per day, and all of it in memory.
//!
//! Everything here is derived from the logs. One `Index` per home writes; it is held by the runner behind a lock.
//! Listing never opens a log. A run that was indexed twice (a crash between the index and the rename) counts once,
//! the later row wins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use api::run::{RunQuery, RunRecord};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use llm::files::write_atomic_private;

use super::read;
use super::tally::Tally;

use talents::{Day, Layout, UseId};

/// Rows on one page at most.
pub const PAGE_MAX: usize = 100;
/// Rows on a page of a query that names no limit.
const PAGE_DEFAULT: usize = 10;

/// Whether a query wants a run.
fn takes(query: &RunQuery, record: &RunRecord) -> bool {
    let is = |wanted: &Option<String>, given: Option<&str>| {
        wanted.as_deref().is_none_or(|wanted| given == Some(wanted))
    };
    is(&query.name, Some(&record.name))
        && is(&query.facet, record.facet.as_deref())
        && is(&query.day, Some(&record.day))
        && is(&query.chat_id, record.chat_id.as_deref())
        && is(&query.parent, record.parent.as_deref())
        && query.status.is_none_or(|status| status == record.status)
}

fn page_limit(query: &RunQuery) -> usize {
    if query.limit == 0 { PAGE_DEFAULT } else { query.limit.min(PAGE_MAX) }
}

/// The day of a run whose request names none: the user's day at the time in its id.
pub(in crate::runner) fn day_of(zone: &TimeZone, run: &UseId) -> Day {
    let millis = run.as_str().parse().unwrap_or(0);
    let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(zone.clone()).date().into()
}

/// The index of one home.
#[derive(Debug)]
pub struct RunIndex {
    layout: Layout,
    zone: TimeZone,
    /// By number, so the newest is last.
    rows: BTreeMap<u64, RunRecord>,
    /// LineReader of index files that could not be read.
    pub bad_lines: u64,
}

impl RunIndex {
    /// Reads the index files.
    pub fn open(layout: &Layout, zone: TimeZone) -> io::Result<RunIndex> {
        let mut index =
            RunIndex { layout: layout.clone(), zone, rows: BTreeMap::new(), bad_lines: 0 };
        for day in index.days_on_disk()? {
            for line in fs::read_to_string(layout.run_index(day))?.lines() {
                match serde_json::from_str::<RunRecord>(line) {
                    Ok(row) if row.day == day.to_string() => index.put(row),
                    Ok(_) | Err(_) => index.bad_lines += 1,
                }
            }
        }
        Ok(index)
    }

    fn days_on_disk(&self) -> io::Result<BTreeSet<Day>> {
        let entries = match fs::read_dir(self.layout.runs()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries?,
        };
        let mut days = BTreeSet::new();
        for entry in entries {
            let name = entry?.file_name();
            let day = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            days.extend(day.and_then(|day| Day::parse(day).ok()));
        }
        Ok(days)
    }

    fn put(&mut self, row: RunRecord) {
        if let Ok(number) = row.use_id.parse() {
            self.rows.insert(number, row);
        }
    }

    /// Adds a run that has ended.
    pub(in crate::runner) fn add(&mut self, row: RunRecord) -> io::Result<()> {
        let day = Day::parse(&row.day).map_err(io::Error::other)?;
        let line = serde_json::to_string(&row)?;
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.layout.run_index(day))?;
        file.write_all(format!("{line}\n").as_bytes())?;
        self.put(row);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn row(&self, run: &UseId) -> Option<&RunRecord> {
        self.rows.get(&run.as_str().parse().ok()?)
    }

    /// A page of runs, newest first, and how many there are in all.
    pub fn page(&self, query: &RunQuery) -> (Vec<RunRecord>, usize) {
        let mut total = 0;
        let mut page = Vec::new();
        for row in self.rows.values().rev().filter(|row| takes(query, row)) {
            if total >= query.offset && page.len() < page_limit(query) {
                page.push(row.clone());
            }
            total += 1;
        }
        (page, total)
    }

    /// The newest run that ended with this session of a provider's program (execution R55, 9.19).
    pub fn session(&self, session_id: &str) -> Option<&RunRecord> {
        self.rows.values().rev().find(|row| row.cli_session_id.as_deref() == Some(session_id))
    }

    pub(in crate::runner) fn rows(&self) -> impl Iterator<Item = &RunRecord> {
        self.rows.values()
    }

    /// Forgets runs and writes the days they stood in anew.
    pub(in crate::runner) fn remove(&mut self, runs: &BTreeSet<String>) -> io::Result<()> {
        let mut days = BTreeSet::new();
        self.rows.retain(|_, row| {
            let keep = !runs.contains(&row.use_id);
            if !keep {
                days.insert(row.day.clone());
            }
            keep
        });
        for day in days {
            self.write_day(Day::parse(&day).map_err(io::Error::other)?)?;
        }
        Ok(())
    }

    fn write_day(&self, day: Day) -> io::Result<()> {
        let name = day.to_string();
        let mut text = String::new();
        for row in self.rows.values().filter(|row| row.day == name) {
            text.push_str(&serde_json::to_string(row)?);
            text.push('\n');
        }
        let path = self.layout.run_index(day);
        if !text.is_empty() {
            return write_atomic_private(&path, text.as_bytes());
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes the index anew from the logs of ended runs; says how many it has.
    pub fn rebuild(&mut self) -> io::Result<usize> {
        let mut days = self.days_on_disk()?;
        let mut rows = BTreeMap::new();
        for name in read::talents(&self.layout)? {
            for (run, found) in read::runs(&self.layout, &name)? {
                if found.active {
                    continue;
                }
                let mut tally = Tally::new(&name, &run);
                read::read(&found.path)?.events.iter().for_each(|event| tally.see(event));
                if let (Some(row), Ok(number)) =
                    (tally.record(day_of(&self.zone, &run)), run.as_str().parse())
                {
                    days.extend(Day::parse(&row.day).ok());
                    rows.insert(number, row);
                }
            }
        }
        self.rows = rows;
        self.bad_lines = 0;
        for day in days {
            self.write_day(day)?;
        }
        Ok(self.rows.len())
    }
}
