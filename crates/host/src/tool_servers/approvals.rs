//! Calls that wait for a person: one file each, written before anybody is told.
//!
//! What must stay true: an approval is for one call of one run with exactly its arguments, and is used up before the
//! call is made; those of runs that have ended mean nothing, and those of an earlier daemon are gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use api::server_tools::{ApprovalState, ApprovalView, ToolUseRequest};

/// Calls that may wait at once.
const WAITING_MAX: usize = 200;
const FILE_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Approvals {
    folder: PathBuf,
    number: AtomicU64,
}

impl Approvals {
    /// Begins with none: the runs of whoever was here before have ended.
    pub(super) fn open(folder: &Path) -> io::Result<Approvals> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(folder)?;
        Ok(Approvals { folder: folder.to_owned(), number: AtomicU64::new(0) })
    }

    /// An id is a number of a run and a count: it is checked, because it comes from outside.
    fn path(&self, id: &str) -> Option<PathBuf> {
        let plain =
            !id.is_empty() && id.len() < 64 && id.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        plain.then(|| self.folder.join(format!("{id}.json")))
    }

    fn write(&self, view: &ApprovalView) -> io::Result<()> {
        let path = self.path(&view.id).ok_or_else(|| io::Error::other("not an id"))?;
        llm::files::write_atomic_private(&path, &serde_json::to_vec(view)?)
    }

    pub(super) fn ask(
        &self,
        asked: &ToolUseRequest,
        talent: &str,
        now: i64,
    ) -> io::Result<ApprovalView> {
        if fs::read_dir(&self.folder)?.count() >= WAITING_MAX {
            return Err(io::Error::other(format!("{WAITING_MAX} calls wait already")));
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let view = ApprovalView {
            id: format!("{}-{number}", asked.run),
            run: asked.run.clone(),
            talent: talent.to_owned(),
            tool: asked.tool.clone(),
            args: asked.args.clone(),
            at: now,
            state: ApprovalState::Pending,
        };
        self.write(&view)?;
        Ok(view)
    }

    pub(super) fn get(&self, id: &str) -> Option<ApprovalView> {
        let path = self.path(id)?;
        if fs::metadata(&path).ok()?.len() > FILE_BYTES_MAX {
            return None;
        }
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    pub(super) fn all(&self, is_live: impl Fn(&str) -> bool) -> Vec<ApprovalView> {
        let read = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ids = read.filter_map(|entry| {
            entry.path().file_stem().map(|stem| stem.to_string_lossy().into_owned())
        });
        let mut all: Vec<ApprovalView> = ids.filter_map(|id| self.get(&id)).collect();
        all.retain(|view| {
            let live = is_live(&view.run);
            if !live {
                self.remove(&view.id);
            }
            live
        });
        all.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        all
    }

    pub(super) fn decide(&self, view: ApprovalView, approve: bool) -> io::Result<ApprovalView> {
        let state = if approve { ApprovalState::Approved } else { ApprovalState::Denied };
        let decided = ApprovalView { state, ..view };
        self.write(&decided)?;
        Ok(decided)
    }

    /// Takes an approval away before its call is made. One that is not there any more was used.
    pub(super) fn use_up(&self, id: &str) -> io::Result<()> {
        let path = self.path(id).ok_or_else(|| io::Error::other("not an id"))?;
        fs::remove_file(path)
    }

    pub(super) fn remove(&self, id: &str) {
        if let Some(path) = self.path(id) {
            // One that is gone already is what was wanted; one that stays is for a run that has ended.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // T20: at whatever step everything is killed, a call is made once or not at all
    #[test]
    fn an_approval_is_for_one_call_of_one_run_and_is_used_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("approvals");
        let approvals = Approvals::open(&folder).unwrap();
        let asked = ToolUseRequest {
            run: "17".to_owned(),
            tool: "web__get".to_owned(),
            args: json!({"a": 1}),
            ..ToolUseRequest::default()
        };
        let made = approvals.ask(&asked, "default", 5).unwrap();
        assert_eq!(approvals.get(&made.id).unwrap(), made, "on disk before anybody is told");
        let other = ToolUseRequest { args: json!({"a": 2}), ..asked.clone() };
        assert!(made.is_for(&asked) && !made.is_for(&other));
        let yes = approvals.decide(made.clone(), true).unwrap();
        assert_eq!(approvals.all(|_| true), [yes]);
        approvals.use_up(&made.id).unwrap();
        assert!(approvals.use_up(&made.id).is_err(), "once");
        // The run is gone, and what it asked with it.
        let again = approvals.ask(&asked, "default", 6).unwrap();
        assert!(approvals.all(|_| false).is_empty() && approvals.get(&again.id).is_none());
        // Killed while it waits, or after a yes: the next daemon knows of nothing.
        let last = approvals.ask(&asked, "default", 7).unwrap();
        approvals.decide(last.clone(), true).unwrap();
        let next = Approvals::open(&folder).unwrap();
        assert!(next.get(&last.id).is_none() && next.all(|_| true).is_empty());
        assert!(next.get("../../x").is_none());
    }
}
