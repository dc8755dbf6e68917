//! Made-up histories in the forms of agents. No line of anybody's session is in here.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use past::{
    Exclusion, MemoryTombstones, Past, ReadOutcome, ReadScope, ReadWorld, Tombstones, TurnScope,
};
use serde_json::{Value, json};
use transcripts::session::SessionInfo;
use transcripts::surroundings::PastSurroundings;

use crate::fault_disk::FaultDisk;

/// After every time in the histories.
pub(crate) const NOW: i64 = 1_800_000_000_000;

pub(crate) fn at(minute: u32) -> String {
    format!("2026-10-01T{:02}:{:02}:00.000Z", 8 + minute / 60, minute % 60)
}

/// A home with agents in it, and a past beside.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) home: tempfile::TempDir,
    pub(crate) disk: FaultDisk,
    pub(crate) tombstones: MemoryTombstones,
    pub(crate) exclusion: Exclusion,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        Scene {
            home: tempfile::tempdir().unwrap(),
            disk: FaultDisk::default(),
            tombstones: MemoryTombstones::default(),
            exclusion: Exclusion::default(),
        }
    }

    pub(crate) fn past(&self) -> Past {
        Past::with_disk(Box::new(self.disk.clone()), text::analyze::Language::English).unwrap()
    }

    pub(crate) fn read(&self) -> ReadOutcome {
        self.try_read(&mut self.past()).unwrap()
    }

    pub(crate) fn try_read(&self, past: &mut Past) -> past::Result<ReadOutcome> {
        self.read_with(past, &ReadScope::default(), &self.tombstones)
    }

    pub(crate) fn read_with(
        &self,
        past: &mut Past,
        request: &ReadScope,
        tombstones: &dyn Tombstones,
    ) -> past::Result<ReadOutcome> {
        let surroundings = PastSurroundings::of_home(self.home.path());
        let mut world = ReadWorld {
            surroundings: &surroundings,
            exclusion: &self.exclusion,
            tombstones,
            now: NOW,
            progress: &mut |_, _| {},
        };
        past.read(request, &mut world)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A session of Claude Code.
    pub(crate) fn claude(&self, session: &str, lines: &[Value]) -> PathBuf {
        self.write(&format!(".claude/projects/-src-a/{session}.jsonl"), &text_of(lines))
    }

    /// A rollout of Codex.
    pub(crate) fn codex(&self, thread: &str, lines: &[Value]) -> PathBuf {
        let name = format!(".codex/sessions/2026/10/01/rollout-2026-10-01T08-00-00-{thread}.jsonl");
        self.write(&name, &text_of(lines))
    }
}

pub(crate) fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

pub(crate) fn text_of(lines: &[Value]) -> String {
    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

/// A prompt in Claude Code's form.
pub(crate) fn asked(uuid: &str, minute: u32, text: &str) -> Value {
    json!({"type": "user", "uuid": uuid, "parentUuid": null, "sessionId": "s1", "timestamp": at(minute),
        "cwd": "/src/a", "gitBranch": "main", "version": "2.1.9", "isSidechain": false,
        "message": {"role": "user", "content": text}})
}

/// A block of an answer.
#[allow(clippy::needless_pass_by_value, reason = "blocks are made where they are passed")]
pub(crate) fn answered(uuid: &str, minute: u32, message: &str, block: Value) -> Value {
    json!({"type": "assistant", "uuid": uuid, "timestamp": at(minute), "cwd": "/src/a",
        "message": {"id": message, "role": "assistant", "content": [block]}})
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn tool(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// What a tool answered.
pub(crate) fn result(
    uuid: &str,
    minute: u32,
    call: &str,
    content: &Value,
    is_error: bool,
) -> Value {
    json!({"type": "user", "uuid": uuid, "timestamp": at(minute), "cwd": "/src/a", "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}]},
        "toolUseResult": {"stdout": content, "stderr": ""}})
}

/// Turns of a session in Claude Code's form: a prompt, an answer in two blocks, a command and its output.
pub(crate) fn turns(name: &str, count: u32) -> Vec<Value> {
    let mut lines = Vec::new();
    for n in 1..=count {
        let id = |part: &str| format!("{name}-{n}-{part}");
        lines.push(asked(&id("u"), n, &format!("Question {n} of {name}: why is part{n} slow?")));
        lines.push(answered(
            &id("a"),
            n,
            &id("m"),
            text(&format!("Part {n} of {name} lacks an index.")),
        ));
        lines.push(answered(
            &id("b"),
            n,
            &id("m"),
            tool(&id("t"), "Bash", &json!({"command": format!("make part{n}")})),
        ));
        lines.push(result(&id("r"), n, &id("t"), &json!(format!("built part{n}")), false));
        lines.push(answered(&id("c"), n, &id("m2"), text(&format!("Part {n} is fast now."))));
    }
    lines
}

pub(crate) fn meta(thread: &str) -> Value {
    line(
        0,
        "session_meta",
        &json!({"id": thread, "cwd": "/src/b", "cli_version": "0.150.0", "source": "cli",
        "git": {"branch": "dev"}}),
    )
}

/// A line of a rollout.
pub(crate) fn line(minute: u32, kind: &str, payload: &Value) -> Value {
    json!({"timestamp": at(minute), "type": kind, "payload": payload})
}

/// The newest version of an agent whose form was looked at, as the manual says; a fixture may claim no newer one.
fn assert_documented(info: &SessionInfo) {
    let number = |text: &str| -> Vec<u64> {
        let parts = text.trim().split('.').map_while(|part| part.parse().ok());
        parts.collect()
    };
    let Some(claimed) = info.version.as_deref().map(number).filter(|parts| !parts.is_empty())
    else {
        return;
    };
    let manual = include_str!("../../../../docs/past.md");
    let row = format!("| `{}` |", info.agent.name());
    let row = manual.lines().find(|line| line.starts_with(&row)).unwrap_or_default();
    let checked =
        row.rsplit_once("up to version ").map(|(_, rest)| number(rest.trim_end_matches(" |")));
    assert!(
        checked.as_ref().is_some_and(|checked| *checked >= claimed),
        "docs/past.md says that {} was last checked up to {checked:?}, and a fixture claims {claimed:?}",
        info.agent.name()
    );
}

/// Everything that a past holds: sessions and their items, as people see them.
pub(crate) fn contents(past: &Past) -> Vec<String> {
    let request = past::SessionScope { children: true, ..past::SessionScope::default() };
    let mut found = Vec::new();
    let mut sessions = past.sessions(&request).sessions;
    sessions.sort_by(|one, other| one.reference.cmp(&other.reference));
    for session in sessions {
        let info = &session.info;
        assert_documented(info);
        found.push(format!(
            "{} {:?} parent {:?} in {:?} on {:?} called {:?} by {:?}, {} turns",
            session.reference,
            info.kind,
            info.parent,
            info.folder,
            info.branch,
            info.title,
            info.version,
            session.turns
        ));
        let request = TurnScope { reference: session.reference, around: 0, work: true };
        for turn in past.show(&request).unwrap().turns {
            let undone = if turn.is_undone { " (undone)" } else { "" };
            for item in turn.items {
                found.push(format!("  {}{undone} {} {:?}", turn.turn, item.at, item.body));
            }
        }
    }
    found
}
