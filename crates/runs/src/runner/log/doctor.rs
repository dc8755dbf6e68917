//! What is wrong with the run logs of a home, without changing anything.

use std::collections::BTreeSet;
use std::io;

use api::run::RunEventKind;
use serde::Serialize;

use super::index::RunIndex;
use super::read::{self, RunLog};
use talents::{Layout, TalentName, UseId};

/// One thing that is not as it should be.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LogFinding {
    pub code: &'static str,
    pub run: Option<String>,
    pub name: Option<String>,
    pub text: String,
}

/// Looks at every log. `live` are the runs that go on: only they may have an active log.
pub fn examine(
    layout: &Layout,
    index: &RunIndex,
    live: &BTreeSet<UseId>,
) -> io::Result<Vec<LogFinding>> {
    let mut findings = Vec::new();
    let mut ended = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for name in read::talents(layout)? {
        for (run, found) in read::runs(layout, &name)? {
            let mut find = |code, text: String| {
                findings.push(LogFinding {
                    code,
                    run: Some(run.to_string()),
                    name: Some(name.to_string()),
                    text,
                });
            };
            let is_new = seen.insert(run.clone());
            if !is_new && found.active && ended.contains(run.as_str()) {
                // It would be given the final name, which is taken.
                find("ghost_active", "an active log of a run that has ended".to_owned());
                continue;
            }
            if !is_new {
                find("double_log", "another log has the same id".to_owned());
            }
            if found.active {
                if !live.contains(&run) {
                    find("orphan_active", "an active log of a run that does not go on".to_owned());
                }
                continue;
            }
            match read::read(&found.path) {
                Err(error) => find("unreadable", error.to_string()),
                Ok(log) => examine_log(&log, &name, &mut find),
            }
            if index.row(&run).is_none() {
                find("not_in_index", "the index does not have this run".to_owned());
            }
            ended.insert(run.to_string());
        }
    }
    for row in index.rows().filter(|row| !ended.contains(&row.use_id)) {
        findings.push(LogFinding {
            code: "index_without_log",
            run: Some(row.use_id.clone()),
            name: Some(row.name.clone()),
            text: "the index has a run whose log is gone".to_owned(),
        });
    }
    if index.bad_lines > 0 {
        findings.push(LogFinding {
            code: "index_bad_lines",
            run: None,
            name: None,
            text: format!("{} lines of the index cannot be read", index.bad_lines),
        });
    }
    Ok(findings)
}

fn examine_log(log: &RunLog, name: &TalentName, find: &mut impl FnMut(&'static str, String)) {
    match log.request() {
        None => find("no_request", "the first line is no request".to_owned()),
        Some(request) if request.text("name") != Some(name.as_str()) => {
            find("wrong_folder", "the request names another talent".to_owned());
        }
        Some(_) => {}
    }
    if log.torn_bytes > 0 {
        find("torn", format!("the last line is torn ({} bytes)", log.torn_bytes));
    }
    if log.bad_lines > 0 {
        find("bad_lines", format!("{} lines are no JSON objects", log.bad_lines));
    }
    match log.events.iter().filter(|event| event.is_terminal()).count() {
        0 => find("no_terminal", "no event ends the run".to_owned()),
        1 if log.events.last().is_some_and(|event| !event.is_terminal()) => {
            find("terminal_not_last", "events follow the one that ends the run".to_owned());
        }
        1 => {}
        more => find("many_terminals", format!("{more} events end the run")),
    }
    let calls = |kind: RunEventKind| -> BTreeSet<String> {
        let of_kind = log.events.iter().filter(|event| event.kind() == kind);
        of_kind.filter_map(|event| event.text("call_id").map(str::to_owned)).collect()
    };
    let (begun, done) = (calls(RunEventKind::ToolStart), calls(RunEventKind::ToolEnd));
    // A run that was stopped in the middle of a call has an open one; that is no damage.
    let finished = log.terminal().is_some_and(|event| event.kind() == RunEventKind::Finish);
    for call in begun.difference(&done).filter(|_| finished) {
        find("unpaired_tool", format!("tool call {call} never ended"));
    }
    for call in done.difference(&begun) {
        find("unpaired_tool", format!("tool call {call} ended but never began"));
    }
}
