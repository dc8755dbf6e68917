//! A labelled set read through the past, to measure how well turns are found (`cortex eval --as past`).
//!
//! A group of the set is a folder, a session of it a session, each text the prompt of a turn. What must stay true: the
//! set is read and asked through the ordinary functions, so that what is measured is what users get; nothing of a home
//! is touched.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use past::{Exclusion, MemoryTombstones, Past, ReadScope, ReadWorld, TurnQuestion, TurnScope};
use recall::evaluation::{CorpusLine, LabelledQuestion, LabelledSet};
use serde_json::json;
use service::error::Result;
use text::analyze::Language;
use transcripts::surroundings::PastSurroundings;

use crate::agent_past::refused;

/// The set as a file of our own lines.
const LINES: &str = "set.jsonl";

/// A set in a past of its own, ready to be asked.
#[allow(missing_debug_implementations)]
pub struct LabelledPast {
    past: Past,
    /// The set's name of each turn.
    names: HashMap<String, String>,
    now: i64,
}

impl LabelledPast {
    /// Reads a set into a folder, which the caller takes away again. `now` is when its questions are asked.
    pub fn read(set: &LabelledSet, folder: &Path, now: i64) -> Result<LabelledPast> {
        let failed = |error| refused(past::Error::File { path: folder.to_owned(), error });
        std::fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join(LINES);
        let mut lines = String::new();
        let mut sessions: BTreeMap<(Option<&str>, Option<&str>), String> = BTreeMap::new();
        for line in &set.corpus {
            let known = sessions.len();
            let key = (line.group.as_deref(), line.session.as_deref());
            let session = sessions.entry(key).or_insert_with(|| format!("set-{known}"));
            lines += &record(line, session).to_string();
            lines.push('\n');
        }
        std::fs::write(&path, lines).map_err(failed)?;
        let past = Past::open(&folder.join("past"), Language::English).map_err(refused)?;
        let mut labelled = LabelledPast { past, names: HashMap::new(), now };
        labelled.read_lines(&path, folder)?;
        for session in sessions.values() {
            labelled.name_turns(session);
        }
        Ok(labelled)
    }

    fn read_lines(&mut self, path: &Path, folder: &Path) -> Result<()> {
        let surroundings = PastSurroundings::of_home(folder);
        let scope = ReadScope { path: Some(path.to_owned()), ..ReadScope::default() };
        let mut world = ReadWorld {
            surroundings: &surroundings,
            exclusion: &Exclusion::default(),
            tombstones: &MemoryTombstones::default(),
            now: self.now,
            progress: &mut |_, _| {},
        };
        self.past.read(&scope, &mut world).map_err(refused)?;
        Ok(())
    }

    /// Notes which text of the set each turn of a session is.
    fn name_turns(&mut self, session: &str) {
        let reference = format!("lines:{session}");
        // A session of which nothing was worth keeping is not there.
        let Ok(shown) = self.past.show(&TurnScope { reference, around: 0, work: false }) else {
            return;
        };
        for turn in shown.turns {
            let name = turn.items.into_iter().find_map(|item| item.native);
            self.names.extend(name.map(|name| (turn.reference, name)));
        }
    }

    /// The set's names of what answers a question, best first.
    pub fn ask(&self, question: &LabelledQuestion, limit: usize) -> Result<Vec<String>> {
        let request = TurnQuestion {
            question: question.text.clone(),
            folder: Some(folder_of(question.group.as_deref())),
            limit: Some(limit),
            now: self.now,
            ..TurnQuestion::default()
        };
        let found = self.past.search(&request).map_err(refused)?;
        Ok(found.hits.iter().filter_map(|hit| self.names.get(&hit.reference).cloned()).collect())
    }

    /// Turns that were read, and the bytes of their segments.
    pub fn size(&self) -> (usize, u64) {
        (self.names.len(), self.past.state().bytes)
    }
}

fn record(line: &CorpusLine, session: &str) -> serde_json::Value {
    let parts = [line.title.as_ref(), Some(&line.text), line.caption.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    json!({
        "session": session,
        "role": "prompt",
        "id": line.id,
        "speaker": line.speaker,
        "text": parts.join("\n"),
        "folder": folder_of(line.group.as_deref()),
        "at": line.happened().map(|at| at.0),
    })
}

fn folder_of(group: Option<&str>) -> String {
    format!("/labelled/{}", group.unwrap_or("all"))
}
