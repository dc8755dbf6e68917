//! The index of ended runs: a file per day, and all of it in memory.
//!
//! Everything here is derived from the logs. One `Index` per home writes; it is held by the runner behind a lock. Listing never
//! opens a log. A run that was indexed twice (a crash between the index and the rename) counts once, the later row wins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use llm::files::write_atomic_private;
use serde::{Deserialize, Serialize};

use super::read;
use super::tally::{Row, RunStatus, Tally};

use crate::{Day, Layout, UseId};

/// Rows on one page at most.
pub const PAGE_MAX: usize = 100;

/// Which ended runs are wanted, newest first.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunQuery {
    pub name: Option<String>,
    pub facet: Option<String>,
    pub day: Option<String>,
    pub chat_id: Option<String>,
    pub parent: Option<String>,
    pub status: Option<RunStatus>,
    pub offset: usize,
    /// 1 to 100; 0 means 10.
    pub limit: usize,
}

impl RunQuery {
    fn takes(&self, row: &Row) -> bool {
        let is = |wanted: &Option<String>, given: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| given == Some(wanted))
        };
        is(&self.name, Some(&row.name))
            && is(&self.facet, row.facet.as_deref())
            && is(&self.day, Some(&row.day))
            && is(&self.chat_id, row.chat_id.as_deref())
            && is(&self.parent, row.parent.as_deref())
            && self.status.is_none_or(|status| status == row.status)
    }

    pub(in crate::runner) fn limit(&self) -> usize {
        if self.limit == 0 { 10 } else { self.limit.min(PAGE_MAX) }
    }
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
    rows: BTreeMap<u64, Row>,
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
                match serde_json::from_str::<Row>(line) {
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

    fn put(&mut self, row: Row) {
        if let Ok(number) = row.use_id.parse() {
            self.rows.insert(number, row);
        }
    }

    /// Adds a run that has ended.
    pub(in crate::runner) fn add(&mut self, row: Row) -> io::Result<()> {
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

    pub fn row(&self, run: &UseId) -> Option<&Row> {
        self.rows.get(&run.as_str().parse().ok()?)
    }

    /// A page of runs, newest first, and how many there are in all.
    pub fn page(&self, query: &RunQuery) -> (Vec<Row>, usize) {
        let mut total = 0;
        let mut page = Vec::new();
        for row in self.rows.values().rev().filter(|row| query.takes(row)) {
            if total >= query.offset && page.len() < query.limit() {
                page.push(row.clone());
            }
            total += 1;
        }
        (page, total)
    }

    /// The newest run that ended with this session of a provider's program (execution R55, 9.19).
    pub fn session(&self, session_id: &str) -> Option<&Row> {
        self.rows.values().rev().find(|row| row.cli_session_id.as_deref() == Some(session_id))
    }

    pub(in crate::runner) fn rows(&self) -> impl Iterator<Item = &Row> {
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
                    (tally.row(day_of(&self.zone, &run)), run.as_str().parse())
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
