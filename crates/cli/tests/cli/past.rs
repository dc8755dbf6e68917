//! The past at the command line: real files of agents in a person's home, read, found, shown, forgotten.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Home, Ran, until};

const CANARY: &str = "quetzalcanary";

/// A person with agents, and a home of Cortex.
struct Person {
    home: Home,
    folder: tempfile::TempDir,
}

impl Person {
    fn new() -> Person {
        Person { home: Home::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn run(&self, words: &[&str]) -> Ran {
        let output = self
            .home
            .command()
            .env("HOME", self.folder.path())
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .env_remove("XDG_DATA_HOME")
            .args(words)
            .output()
            .unwrap();
        Ran {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    fn json(&self, words: &[&str]) -> Value {
        self.run(&[words, &["--json"]].concat()).ok().json()
    }

    fn write(&self, name: &str, lines: &[Value]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        path
    }

    /// A session of Claude Code with one turn.
    fn claude(&self, session: &str, asked: &str, answered: &str) -> PathBuf {
        let at = "2026-10-01T08:00:00Z";
        self.write(
            &format!(".claude/projects/-src-shop/{session}.jsonl"),
            &[
                json!({"type": "user", "uuid": format!("{session}-u"), "sessionId": session, "timestamp": at,
                    "cwd": "/src/shop", "gitBranch": "main", "version": "2.1.9",
                    "message": {"role": "user", "content": asked}}),
                json!({"type": "assistant", "uuid": format!("{session}-a"), "timestamp": at, "cwd": "/src/shop",
                    "message": {"id": format!("{session}-m"), "role": "assistant",
                        "content": [{"type": "text", "text": answered}]}}),
            ],
        )
    }

    /// A rollout of Codex with one turn.
    fn codex(&self, thread: &str, asked: &str, answered: &str) -> PathBuf {
        let at = "2026-10-02T08:00:00Z";
        self.write(
            &format!(".codex/sessions/2026/10/02/rollout-2026-10-02T08-00-00-{thread}.jsonl"),
            &[
                json!({"timestamp": at, "type": "session_meta", "payload": {"id": thread, "cwd": "/src/shop",
                    "cli_version": "0.150.0", "source": "cli"}}),
                json!({"timestamp": at, "type": "event_msg",
                    "payload": {"type": "user_message", "message": asked}}),
                json!({"timestamp": at, "type": "event_msg",
                    "payload": {"type": "agent_message", "message": answered}}),
            ],
        )
    }

    fn past(&self) -> PathBuf {
        self.home.path().join("past")
    }
}

/// Whether any byte of any file below a folder spells a word, in its files or in their names.
fn holds(folder: &Path, word: &str) -> bool {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if fs::read(&path).is_ok_and(|bytes| spells(&bytes, word))
                || path.to_string_lossy().contains(word)
            {
                return true;
            }
        }
    }
    false
}

/// Whether bytes spell a word, as they are or in a compressed block of them.
fn spells(bytes: &[u8], word: &str) -> bool {
    const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let is_in = |bytes: &[u8]| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    let unpacked = |at: usize| {
        let mut block = Vec::new();
        let mut frame = zstd::Decoder::new(&bytes[at..]).ok()?.single_frame();
        std::io::Read::read_to_end(&mut frame, &mut block).ok()?;
        Some(block)
    };
    let mut frames = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&FRAME));
    is_in(bytes) || frames.any(|at| unpacked(at).is_some_and(|block| is_in(&block)))
}

fn refs(found: &Value) -> Vec<String> {
    // The key is missing where nothing of the past is found.
    let hits = found["past"].as_array().into_iter().flatten();
    hits.map(|hit| hit["ref"].as_str().unwrap().to_owned()).collect()
}

// past 43, 55, 64, 70: what scripts rely on
#[test]
fn sessions_of_two_agents_are_read_found_shown_and_resumed() {
    let person = Person::new();
    assert!(person.run(&["past"]).ok().out.contains("nothing of the past was read yet"));
    person.claude(
        "5f2a9c11",
        "Why is the checkout slow?",
        "The locale was missing in the cache key.",
    );
    person.codex("0199c0de", "Which port does staging use?", "Staging listens on 8443.");
    let read = person.json(&["past", "read"]);
    assert_eq!((&read["sessions"], &read["turns"]), (&2.into(), &2.into()));
    assert!(person.run(&["past", "read"]).ok().out.contains("0 new or changed files"));

    let found = person.json(&["search", "--in", "past", "which port is staging on"]);
    let hit = &found["past"][0];
    assert_eq!(hit["ref"], "codex:0199c0de#1");
    let text = hit["text"].as_str().unwrap();
    assert!(text.contains("Which port does staging use?") && text.contains("listens on 8443"));
    assert_eq!(hit["resume"], "cd /src/shop && codex resume 0199c0de");
    assert_eq!(hit["project"], "shop");
    let of_agent = person.json(&["search", "--in", "past", "port cache", "--agent", "claude-code"]);
    assert_eq!(refs(&of_agent), ["claude-code:5f2a9c11#1"]);

    let sessions = person.json(&["past", "sessions"]);
    assert_eq!(sessions["sessions"][0]["ref"], "codex:0199c0de");
    let shown = person.run(&["past", "show", "claude-code:5f2a9c"]).ok();
    assert!(shown.out.contains("answer: The locale was missing"), "{shown:?}");
    let resumed = person.run(&["past", "resume", "claude-code:5f2a9c"]).ok();
    assert_eq!(resumed.out.trim(), "cd /src/shop && claude --resume 5f2a9c11");
    person.run(&["past", "show", "codex:nosuch"]).ends(3);
    person.run(&["past", "show", "codex"]).ends(2);
    assert!(person.run(&["past", "verify"]).ok().out.contains("all are what their names say"));
}

// past 42
#[test]
fn a_question_to_memories_is_answered_as_before_and_the_default_only_gains_a_key() {
    let person = Person::new();
    person.run(&["save", "Staging port", "Staging listens on 8443."]).ok();
    let words = ["search", "staging port"];
    let before = person.json(&words);
    assert!(!person.past().exists(), "a question makes no past");
    person.codex("0199c0de", "Which port does staging use?", "Port 8443 of staging.");
    person.run(&["past", "read"]).ok();
    assert_eq!(person.json(&["search", "--in", "memory", "staging port"]), before);
    let mut both = person.json(&words);
    assert_eq!(refs(&both), ["codex:0199c0de#1"]);
    let everywhere = ["search", "--project", "all", "staging port"];
    assert_eq!(refs(&person.json(&everywhere)), ["codex:0199c0de#1"]);
    both.as_object_mut().unwrap().remove("past");
    assert_eq!(both, before);
    assert!(person.run(&words).ok().out.contains("from the past:\ncodex:0199c0de#1"));
}

// past 43, 65
#[test]
fn a_session_is_called_by_what_was_asked_and_a_hit_and_a_kept_memory_say_what_came_of_it() {
    let person = Person::new();
    person.codex("0199c0de", "Which port does staging use?", "Port 8443, behind nginx.");
    person.run(&["past", "read"]).ok();
    let listed = person.run(&["past", "sessions"]).ok().out;
    assert!(listed.contains("2026-10-02 08:00"), "{listed}");
    assert!(listed.contains("Which port does staging use?"), "{listed}");
    let found = person.run(&["search", "--in", "past", "which port is it for staging"]).ok().out;
    assert!(found.contains("answered: Port 8443, behind nginx."), "{found}");
    let kept = person.json(&["keep", "codex:0199c0de#1"]);
    let id = kept["id"].as_u64().unwrap().to_string();
    let got = person.run(&["get", &id]).ok().out;
    assert!(got.contains("kept from codex:0199c0de#1; `cortex past show"), "{got}");
    let shown = person.run(&["past", "show", "codex:0199c0de#1"]).ok().out;
    assert!(shown.contains(&format!("kept as memory {id}")), "{shown}");
    person.run(&["past", "forget", "codex:0199c0de#1", "--reason", "test"]).ok();
    let got = person.run(&["get", &id]).ok().out;
    assert!(got.contains("which is not in the past any more"), "{got}");
}

// past 21, 54: what the agent deletes stays, and what it writes is found by the next question
#[test]
fn what_the_agent_deletes_stays_and_what_it_writes_is_found() {
    let person = Person::new();
    let file =
        person.claude("5f2a9c11", "Why is the checkout slow?", "The cache key lacks a locale.");
    person.run(&["past", "read"]).ok();
    fs::remove_file(file).unwrap();
    person.codex("0199c0de", "Which port does staging use?", "Staging listens on 8443.");
    let found = person.json(&["search", "--in", "past", "staging port"]);
    assert_eq!(refs(&found), ["codex:0199c0de#1"], "read on the way");
    let found = person.json(&["search", "--in", "past", "checkout slow"]);
    assert_eq!(found["past"][0]["kept_only_here"], true);
    assert_eq!(person.json(&["past"])["kept_only_here"], 1);
}

// past 32, 33, 34, a canary is in no byte of the home after any sequence of reading, rebuilding, deleting
#[test]
fn what_was_forgotten_is_in_no_byte_of_the_home_and_comes_back_only_by_restore() {
    let person = Person::new();
    person.claude(
        "5f2a9c11",
        &format!("Where is {CANARY}?"),
        &format!("{CANARY} is in the vault."),
    );
    person.codex("0199c0de", "Which port does staging use?", "Staging listens on 8443.");
    person.run(&["past", "read"]).ok();
    assert_eq!(refs(&person.json(&["search", "--in", "past", CANARY])), ["claude-code:5f2a9c11#1"]);
    let forget = ["past", "forget", "claude-code:5f2a9c11", "--reason", "private"];
    let dry = person.json(&[&forget[..3], &["--dry-run"]].concat());
    assert_eq!(dry["sessions"][0], "claude-code:5f2a9c11");
    assert!(holds(&person.past(), CANARY), "whoever looks would see it");
    assert_eq!(person.json(&forget)["sessions"][0], "claude-code:5f2a9c11");
    let home = person.home.path();
    for step in ["at once", "read", "rebuild", "rebuild --mask", "delete", "delete index"] {
        match step {
            "read" => drop(person.run(&["past", "read"]).ok()),
            "rebuild" => drop(person.run(&["past", "rebuild"]).ok()),
            "rebuild --mask" => drop(person.run(&["past", "rebuild", "--mask"]).ok()),
            "delete" => {
                fs::remove_dir_all(person.past()).unwrap();
                person.run(&["past", "read"]).ok();
            }
            "delete index" => {
                fs::remove_dir_all(person.past().join("index")).unwrap();
                person.run(&["past", "read"]).ok();
            }
            _ => {}
        }
        assert!(!holds(home, CANARY), "{step}");
        assert_eq!(refs(&person.json(&["search", "--in", "past", CANARY])), [] as [String; 0]);
        assert_eq!(
            refs(&person.json(&["search", "--in", "past", "staging"])),
            ["codex:0199c0de#1"]
        );
    }
    person.run(&["rebuild"]).ok();
    person.run(&["verify"]).ok();
    let tombstones = person.json(&["past", "forgotten"]);
    assert_eq!(tombstones["tombstones"][0]["reason"], "private");
    let ran = person.run(&["past", "restore", "claude-code:5f2a9c"]).ends(3);
    assert!(ran.err.contains("name it in full"), "{ran:?}");
    assert_eq!(person.json(&["past", "restore", "claude-code:5f2a9c11"])["is_back"], true);
    assert_eq!(refs(&person.json(&["search", "--in", "past", CANARY])), ["claude-code:5f2a9c11#1"]);
    assert_eq!(person.json(&["past", "forgotten"])["tombstones"], json!([]));
}

// past 33: without the key of the tombstones nothing is read or shown
#[test]
fn a_lost_key_of_tombstones_stops_reading() {
    let person = Person::new();
    person.claude("5f2a9c11", CANARY, "Here.");
    person.run(&["past", "read"]).ok();
    person.run(&["past", "forget", "claude-code:5f2a9c11", "--reason", "x"]).ok();
    fs::remove_file(person.home.path().join("actors/default/past.key")).unwrap();
    fs::remove_dir_all(person.past()).unwrap();
    let ran = person.run(&["past", "read", "--json"]).ends(7);
    assert_eq!(ran.error()["code"], "past_key");
    assert!(!holds(person.home.path(), CANARY));
}

// past 35
#[test]
fn what_is_excluded_is_removed_and_is_back_when_it_is_not() {
    let person = Person::new();
    person.claude("5f2a9c11", "Why is the checkout slow?", "The cache.");
    person.run(&["past", "read"]).ok();
    let dry = person.json(&["past", "exclude", "/src/**", "--dry-run"]);
    assert_eq!(dry["sessions"][0], "claude-code:5f2a9c11");
    assert_eq!(person.json(&["past"])["sessions"], 1);
    person.run(&["past", "exclude", "/src/**"]).ok();
    person.run(&["past", "read"]).ok();
    assert_eq!(person.json(&["past"])["sessions"], 0);
    assert!(!holds(&person.past(), "checkout"));
    person.run(&["past", "exclude", "/src/**", "--remove"]).ok();
    person.run(&["past", "read"]).ok();
    assert_eq!(person.json(&["past"])["sessions"], 1);
    person.run(&["past", "exclude", "/nowhere", "--remove"]).ends(3);
}

// past 38: text of sessions cannot draw on a terminal
#[test]
fn text_of_sessions_is_inert() {
    let person = Person::new();
    person.claude("5f2a9c11", "clear \u{1b}[2J screen", "done \u{202e}txt");
    person.run(&["past", "read"]).ok();
    for words in
        [&["past", "show", "claude-code:5f2a9c11"][..], &["search", "--in", "past", "clear screen"]]
    {
        let ran = person.run(words).ok();
        assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\u{202e}'), "{ran:?}");
    }
}

// past 36: a delegate learns nothing of the past, not even counts
#[test]
fn a_delegate_gets_nothing() {
    let person = Person::new();
    person.claude("5f2a9c11", "Why?", "Because.");
    person.run(&["past", "read"]).ok();
    person
        .run(&[
            "scope-grant",
            "bot",
            "--new-key",
            "--type",
            "decision",
            "--operation",
            "read,find",
            "--out",
            "bot.grant",
        ])
        .ok();
    for words in [
        &["past"][..],
        &["past", "sessions"],
        &["past", "show", "claude-code:5f2a9c11"],
        &["past", "forgotten"],
        &["search", "--in", "past", "why"],
    ] {
        let ran = person.run(&[&["--grant", "bot.grant"], words].concat()).ends(5);
        assert!(!ran.err.contains("5f2a9c11") && ran.out.is_empty(), "{ran:?}");
    }
    let both = person.run(&["--grant", "bot.grant", "search", "because", "--json"]).ok();
    assert!(both.json().get("past").is_none());
}

/// A session of Claude Code in which a command fails, something is done, and it goes well.
fn repaired(person: &Person, session: &str, n: u32, step: &str) -> PathBuf {
    let at = format!("2026-10-0{n}T08:00:00Z");
    let user = |content: Value| {
        json!({"type": "user", "uuid": format!("{session}-{}", content.to_string().len()), "sessionId": session,
            "timestamp": at, "cwd": "/src/shop", "version": "2.1.9", "message": {"role": "user", "content": content}})
    };
    let call = |id: &str, name: &str, input: Value| {
        json!({"type": "assistant", "uuid": format!("{session}-{id}"), "timestamp": at, "cwd": "/src/shop",
            "message": {"id": format!("{session}-m{id}"), "role": "assistant",
                "content": [{"type": "tool_use", "id": format!("{session}-{id}"), "name": name, "input": input}]}})
    };
    let result = |id: &str, text: &str, error: bool| {
        user(
            json!([{"type": "tool_result", "tool_use_id": format!("{session}-{id}"), "content": text,
                "is_error": error}]),
        )
    };
    let failure = format!("error: linker `cc` not found in /src/a{n}/x.rs:{n}7");
    person.write(
        &format!(".claude/projects/-src-shop/{session}.jsonl"),
        &[
            user(json!(format!("Make the build {n} work"))),
            call("t1", "Bash", json!({"command": "cargo build --release"})),
            result("t1", &failure, true),
            call("t2", "Bash", json!({"command": step})),
            result("t2", "done", false),
            call(
                "t3",
                "Edit",
                json!({"file_path": "/src/shop/src/cache.rs", "old_string": format!("old line {n}"),
                "new_string": format!("let key = ({n}, locale);")}),
            ),
            result("t3", "ok", false),
            call("t4", "Bash", json!({"command": "cargo build --release"})),
            result("t4", "Finished", false),
            call("t5", "Read", json!({"file_path": "/src/shop/README.md"})),
            result("t5", "read", false),
        ],
    )
}

// past 57, 58, 59, 60, 63, 65, 74, 69
#[test]
fn work_of_the_past_answers_what_fixed_how_and_why() {
    let person = Person::new();
    for (session, n) in [("aaaaaa1", 1), ("bbbbbb2", 2), ("cccccc3", 3)] {
        repaired(&person, session, n, "apt install build-essential");
    }
    person.run(&["past", "read"]).ok();
    let log = "compiling\nerror: linker `ld` not found in /other/y.rs:3\nend";
    let ran = {
        let mut child = person.home.command();
        child.env("HOME", person.folder.path()).args(["fix", "-", "--json"]);
        let file = person.folder.path().join("log");
        fs::write(&file, log).unwrap();
        child.stdin(fs::File::open(&file).unwrap()).output().unwrap()
    };
    let fixes: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let fix = &fixes["fixes"][0];
    assert_eq!(fix["steps"][0], "apt install build-essential");
    assert_eq!((&fix["sessions"], &fix["confirmed"]), (&3.into(), &true.into()));
    assert_eq!(fix["refs"].as_array().unwrap().len(), 3);
    person.run(&["fix", "error: quite another thing"]).ends(3);
    let piece = person.json(&["fix", "linker not found in"]);
    assert_eq!(piece["fixes"][0]["steps"][0], "apt install build-essential", "a piece is enough");

    let how = person.json(&["how", "cargo", "build"]);
    assert_eq!(how["habits"][0]["line"], "cargo build --release");
    assert_eq!(
        (&how["habits"][0]["succeeded"], &how["habits"][0]["failed"]),
        (&3.into(), &3.into())
    );

    let blame = person.json(&["blame", "src/cache.rs"]);
    assert_eq!(
        (&blame["traces"][0]["role"], &blame["traces"][0]["ref"]),
        (&"edit".into(), &"claude-code:cccccc3#1".into())
    );
    fs::create_dir_all(person.home.path().join("src")).unwrap();
    fs::write(person.home.path().join("src/cache.rs"), "fn x() {\n    let key = (2, locale);\n}\n")
        .unwrap();
    let lines = person.json(&["blame", "src/cache.rs:1-3"]);
    assert_eq!(
        (&lines["traces"][0]["ref"], &lines["traces"][0]["lines"]),
        (&"claude-code:bbbbbb2#1".into(), &json!([2]))
    );
    person.run(&["blame", "src/nothing.rs"]).ends(3);

    let friction = person.json(&["friction"]);
    assert_eq!(
        (&friction["friction"][0]["sessions"], &friction["friction"][0]["times"]),
        (&3.into(), &3.into())
    );
    let removed = person.json(&["past", "removed", "src/cache.rs"]);
    assert_eq!(removed["removed"][0]["text"], "old line 3");

    let brief = person.json(&["past", "hand-over", "claude-code:aaaaaa1", "--to", "codex"]);
    let text = brief["brief"].as_str().unwrap();
    assert!(
        text.contains("> Make the build 1 work") && text.contains("cargo build --release"),
        "{text}"
    );
    assert!(text.contains("[claude-code:aaaaaa1#1]") && brief["tokens"].as_u64().unwrap() <= 2_000);
    assert_eq!(brief["words"][0], "codex");
    let card = person.run(&["past", "card"]).ok().out;
    assert!(
        card.starts_with("<svg") && card.contains("3 sessions, 3 turns") && !card.contains("cargo")
    );
    let report = person.run(&["past", "report", "claude-code"]).ok().out;
    assert!(
        report.contains("uuid:text") && !report.contains("cargo") && !report.contains("/src"),
        "{report}"
    );

    let kept = person.json(&[
        "keep",
        "claude-code:aaaaaa1#1",
        "--status",
        "rejected",
        "--why",
        "too slow",
    ]);
    let again = person.json(&[
        "keep",
        "claude-code:aaaaaa1#1",
        "--status",
        "rejected",
        "--why",
        "far too slow",
    ]);
    assert_eq!((&again["id"], &again["updated"]), (&kept["id"], &true.into()));
    let found = person.json(&["search", "--in", "past", "make the build 1 work"]);
    let hit = found["past"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hit| hit["ref"] == "claude-code:aaaaaa1#1")
        .unwrap();
    assert_eq!((&hit["standing"], &hit["kept"]), (&"rejected".into(), &json!([kept["id"]])));
    assert!(hit["rejected"].as_str().unwrap().contains("far too slow"));
    let forgot = person.json(&["past", "forget", "claude-code:aaaaaa1", "--reason", "test"]);
    assert_eq!(forgot["memories"], json!([kept["id"]]));
    person.run(&["get", &kept["id"].to_string()]).ok();
}

// past 46, 65: what was kept stands for its turn, and keeping it again takes nothing back
#[test]
fn a_kept_turn_is_told_once_and_keeps_what_was_said_of_it() {
    let person = Person::new();
    person.claude("5f2a9c11", "Which store do we take?", "We take redb, because it is one file.");
    person.claude("6a3b0d22", "Does redb lock its file?", "Yes, redb locks the file it opens.");
    person.run(&["past", "read"]).ok();
    let both = |person: &Person| refs(&person.json(&["search", "which store do we take"]));
    assert!(both(&person).contains(&"claude-code:5f2a9c11#1".to_owned()));
    let turn = "claude-code:5f2a9c11#1";
    let said = ["--title", "Store", "--status", "rejected", "--why", "one writer"];
    let kept = person.json(&[&["keep", turn], &said[..]].concat());
    let found = person.json(&["search", "which store do we take"]);
    assert_eq!(found["hits"][0]["id"], kept["id"]);
    assert!(!refs(&found).contains(&turn.to_owned()), "{found}");
    for (more, is_updated) in [(&["--why", "one writer only"][..], true), (&[], false)] {
        let again = person.json(&[&["keep", turn], more].concat());
        assert_eq!(
            (&again["id"], &again["updated"], &again["title"]),
            (&kept["id"], &is_updated.into(), &"Store".into()),
            "{more:?}"
        );
    }
    let alone = person.json(&["search", "--in", "past", "which store do we take"]);
    let hits = alone["past"].as_array().unwrap();
    let hit = hits.iter().find(|hit| hit["ref"] == turn).unwrap();
    assert_eq!(hit["standing"], "rejected");
    assert!(hit["rejected"].as_str().unwrap().contains("one writer only"), "{hit}");
}

// past 28, 67: the daemon answers the same operations and follows what agents write
#[test]
fn a_daemon_answers_and_reads_on_by_itself() {
    let person = Person::new();
    person.claude("5f2a9c11", "Why is the checkout slow?", "The cache.");
    let mut daemon = person
        .home
        .command()
        .env("HOME", person.folder.path())
        .env("CORTEX_PORT", "0")
        .args(["serve"])
        .spawn()
        .unwrap();
    until("a daemon serves", || person.home.path().join("run/cortex.sock").exists());
    person.run(&["past", "read"]).ok();
    person.codex("0199c0de", "Which port does staging use?", "Staging listens on 8443.");
    // What fails here is found by no question on the way: a daemon is asked, and it alone reads.
    until("what is new is found", || {
        !refs(&person.json(&["search", "--in", "past", "staging port"])).is_empty()
    });
    person.run(&["stop"]).ok();
    daemon.wait().unwrap();
}

// T14: what a connected agent did yesterday is a segment with its output and a brief, without any command
#[test]
fn a_day_of_an_agent_becomes_segments_outputs_and_a_brief_by_itself() {
    let person = Person::new();
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |back: i64| today.checked_sub(jiff::Span::new().days(back)).unwrap();
    let yesterday = day(1);
    let turn = |time: &str, role: &str, text: &str| {
        let content =
            if role == "user" { json!(text) } else { json!([{"type": "text", "text": text}]) };
        json!({"type": role, "uuid": format!("{time}-{role}"), "sessionId": "day-1",
            "timestamp": format!("{yesterday}T{time}Z"), "cwd": "/src/shop", "gitBranch": "main", "version": "2.1.9",
            "message": {"id": format!("m{time}"), "role": role, "content": content}})
    };
    person.write(
        ".claude/projects/-src-shop/day-1.jsonl",
        &[
            turn("09:00:00", "user", "Which store do we take?"),
            turn("09:01:00", "assistant", "We take redb, because it is one file."),
            turn("14:00:00", "user", "Is the importer done?"),
            turn("14:02:00", "assistant", "It reads ten formats now."),
        ],
    );
    fs::write(person.home.path().join("cortex.toml"), "[runner]\nzone = \"UTC\"\n").unwrap();
    // Once, as `cortex init` does it; from then on the daemon follows.
    person.run(&["past", "read"]).ok();
    person.run(&["talent", "run", "nobody", "x"]);
    let name = yesterday.strftime("%Y%m%d").to_string();
    until("the day is worked through", || {
        person.json(&["supervisor", "status"])["schedule"]["done"] == name.as_str()
    });
    let folder = person.home.path().join("chronicle").join(&name);
    let segments: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("09") || name.starts_with("14"))
        .collect();
    assert_eq!(segments.len(), 2, "{segments:?}");
    let brief = fs::read_to_string(folder.join("talents/daily_brief.md")).unwrap();
    assert!(brief.contains("Written by rules"), "{brief}");
    assert!(brief.contains("Which store do we take?") || brief.contains("redb"), "{brief}");
    let found = person.json(&["search", "--outputs", "redb"]);
    assert!(found["outputs"].to_string().contains("daily_brief"), "{found}");
    person.run(&["stop"]).ok();
}
