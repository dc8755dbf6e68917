//! Too much, no text, no right to write, no room: a clear error, nothing lost, the daemon alive.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kernel::store::{DiskMedium, KeyRange, Space};
use testkit::build::tamper_on;

use crate::support::Home;

/// Rows of recall that hold something of many memories, by their first byte; see docs/format.md.
mod recall_rows {
    pub(super) const CLOSED_SEGMENTS: u8 = 0x96;
    pub(super) const GROUPS_OF_LEVELS: u8 = 0x97;
}

/// A daemon in the foreground, ended with the test.
struct Daemon(Child);

impl Daemon {
    fn start(home: &Home) -> Daemon {
        Daemon::of(home.command().args(["serve"]))
    }

    fn of(command: &mut Command) -> Daemon {
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut said = String::new();
        // It says so when it is ready.
        let out = child.stdout.as_mut().expect("standard output is a pipe");
        BufReader::new(out).read_line(&mut said).unwrap();
        assert!(said.contains("serves"), "{said}");
        Daemon(child)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.0.kill();
        let _waited = self.0.wait();
    }
}

#[test]
fn ten_megabytes_and_bytes_that_are_no_text_are_refused_by_a_daemon_that_lives_on() {
    let home = Home::new();
    let _daemon = Daemon::start(&home);
    home.save(&["there", "before"]);
    let big = vec![b'x'; 10 << 20];
    for arguments in [
        &["save", "big", "-"][..],
        &["save", "big"],
        &["update", "1", "--content", "-"],
        &["prompt", "-"],
    ] {
        let ran = home.piped(&[&["--json"], arguments].concat(), &big).ends(2);
        assert_eq!(ran.error()["code"], "too_large", "{arguments:?}");
        let ran = home.piped(&[&["--json"], arguments].concat(), b"half a \xc3").ends(2);
        assert_eq!(ran.error()["code"], "invalid", "{arguments:?}");
        assert!(ran.error()["message"].as_str().unwrap().contains("UTF-8"), "{arguments:?}");
    }
    home.run(&["status"]).ok();
    let read = home.run(&["get", "1", "--json"]).ok().json();
    assert_eq!((&read["content"], &read["version"]), (&"before".into(), &1.into()));
    assert_eq!(home.run(&["stats", "--json"]).ok().json()["entries"], 1);
}

/// The rights of a folder do not bind root, so root tries it as somebody else.
#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_written_to_is_said_to_be_one() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    let home = Home::new();
    home.save(&["there", "before"]);
    let rights = |folder: &Path, mode: u32| {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    let store = home.path().join("actors/default");
    let actors = home.path().join("actors");
    let folders = [home.path().join("run"), store.clone(), actors, home.path().to_owned()];
    for folder in &folders {
        rights(folder, 0o555);
    }
    rights(&store.join("derived.redb"), 0o444);
    let bound = fs::write(store.join("probe"), b"").is_err();
    let run = |arguments: &[&str]| {
        let mut command = home.command();
        if !bound {
            command.uid(NOBODY);
        }
        // A program that nobody else may start cannot be tried as somebody else.
        command.args(arguments).output().ok()
    };
    let saved = run(&["save", "more", "", "--json"]);
    let doctor = run(&["doctor", "--json"]);
    for folder in &folders {
        rights(folder, 0o700);
    }
    rights(&store.join("derived.redb"), 0o600);
    if let (Some(saved), Some(doctor)) = (saved, doctor) {
        let said = String::from_utf8(saved.stderr).unwrap();
        assert_eq!(saved.status.code(), Some(7), "{said}");
        // Played by another user, the home is not theirs in the first place.
        let why = if bound { "ermission denied" } else { "belongs to another user" };
        assert!(said.contains(why) && said.contains("--home DIR"), "{said}");
        assert_eq!(doctor.status.code(), Some(1));
        let checks = String::from_utf8(doctor.stdout).unwrap();
        assert!(checks.contains("give the folder back to yourself"), "{checks}");
    }
    home.run(&["verify"]).ok();
    assert_eq!(home.run(&["get", "1", "--json"]).ok().json()["content"], "before");
}

#[test]
fn a_home_that_is_a_file_is_said_to_be_one() {
    let home = Home::new();
    fs::write(home.path().join("note"), b"not a home").unwrap();
    for folder in ["note", "note/inside"] {
        let ran = home.run(&["--home", folder, "save", "a", "b"]);
        assert!(ran.code != 0 && ran.err.contains("is a file, not a folder"), "{ran:?}");
    }
    assert_eq!(fs::read(home.path().join("note")).unwrap(), b"not a home");
}

/// A bound on the size of files stands for a disk that is full: writes fail in the same place, with another word for
/// it.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_loses_nothing_and_the_daemon_lives_on() {
    let home = Home::new();
    let first = home.save(&["there", "before"]);
    let store = home.path().join("actors/default/derived.redb");
    let kib = fs::metadata(&store).unwrap().len() / 1_024 + 512;
    let mut shell = Command::new("sh");
    // The signal that comes with the refusal is ignored, as a full disk sends none.
    let line = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" serve", kib * 2);
    shell
        .args(["-c", &line, env!("CARGO_BIN_EXE_cortex")])
        .current_dir(home.path())
        .env("CORTEX_HOME", home.path())
        .stdout(Stdio::piped());
    let _daemon = Daemon::of(&mut shell);
    let words = "words that take room ".repeat(20_000);
    let mut kept = vec![first];
    let mut refused = None;
    for n in 0..200 {
        let ran = home.piped(&["save", &format!("memory {n}"), "-", "--json"], words.as_bytes());
        if ran.code == 0 {
            kept.push(ran.json()["id"].as_u64().unwrap());
        } else {
            refused = Some(ran);
            break;
        }
    }
    let refused = refused.expect("there is no room for 80 MB");
    assert_eq!(refused.code, 7, "{refused:?}");
    assert_eq!(home.run(&["status", "--json"]).ok().json()["running"], true);
    // What was acknowledged is there, in the same daemon.
    for id in &kept {
        home.run(&["get", &id.to_string()]).ok();
    }
    home.run(&["stop"]).ok();
    home.run(&["verify"]).ok();
    let stats = home.run(&["stats", "--json"]).ok().json();
    assert_eq!(stats["observations"].as_u64().unwrap(), kept.len() as u64, "{stats}");
    home.save(&["room again", ""]);
}

// L2: whatever page of the derived store is bad, the command that meets it answers
#[test]
fn a_damaged_index_is_made_again_by_the_command_that_meets_it() {
    let home = Home::new();
    for n in 0..30 {
        home.save(&[&format!("note {n} about cache keys")]);
    }
    let root = home.run(&["root"]).ok().out;
    let store = home.path().join("actors/default/derived.redb");
    let sound = fs::read(&store).unwrap();
    for page in (0..sound.len()).step_by(4_096) {
        let mut damaged = sound.clone();
        let end = (page + 4_096).min(damaged.len());
        damaged[page..end].fill(0xa5);
        fs::write(&store, damaged).unwrap();
        let found = home.run(&["search", "cache keys", "--json"]).ok().json();
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(10), "page at {page}: {found}");
        assert_eq!(home.run(&["root"]).ok().out, root, "page at {page}");
    }
    home.run(&["verify"]).ok();
}

// L2: found by hand: one command in twenty met such a row, and said that the store is damaged
#[test]
fn rows_of_many_memories_that_do_not_decode_are_made_again_by_the_command_that_meets_them() {
    let home = Home::new();
    let line = |n| format!("{{\"title\":\"note {n} about cache keys\"}}\n");
    let lines: String = (0..1_100).map(line).collect();
    let saved = home.piped(&["save", "--lines"], lines.as_bytes());
    assert_eq!(saved.code, 0, "{saved:?}");
    let root = home.run(&["root"]).ok().out;
    let folder = home.path().join("actors/default");
    for prefix in [recall_rows::CLOSED_SEGMENTS, recall_rows::GROUPS_OF_LEVELS] {
        let mut damaged = 0;
        tamper_on(Box::new(DiskMedium::new(&folder)), |rows, side, writes| {
            let space = Space::Derived(side);
            let mut each = |key: &[u8], _: &[u8]| {
                writes.put(space, key.to_vec(), vec![0xa5; 7]);
                damaged += 1;
                Ok(ControlFlow::Continue(()))
            };
            rows.scan(space, &KeyRange::prefix(&[prefix]), &mut each).unwrap();
        });
        assert!(damaged > 0, "rows {prefix:02x}");
        let found = home.run(&["search", "cache keys", "--json"]).ok().json();
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(10), "rows {prefix:02x}: {found}");
        assert_eq!(home.run(&["root"]).ok().out, root, "rows {prefix:02x}");
    }
    home.run(&["verify"]).ok();
}

// L3: one entry that does not read costs itself: whoever saves, asks, lists or backs up goes on, and it is told
#[test]
fn a_damaged_entry_keeps_nobody_from_saving() {
    let home = Home::new();
    for n in 0..5 {
        home.save(&[&format!("note {n} about cache keys")]);
    }
    let backup = home.path().join("backup");
    let backup = backup.to_str().unwrap();
    home.run(&["backup", backup]).ok();
    let segment = home.path().join("actors/default/ledger/00000000000000000001.log");
    let mut bytes = fs::read(&segment).unwrap();
    let record = testkit::ledger::records(&bytes).into_iter().find(|record| record.seq == 4);
    bytes[record.unwrap().entry.start] ^= 1;
    fs::write(&segment, bytes).unwrap();

    home.save(&["saved behind the damage"]);
    let found = home.run(&["search", "cache keys", "--json"]).ok().json();
    assert!(found["hits"].as_array().unwrap().len() >= 4, "{found}");
    let journal = home.run(&["journal"]).ok().out;
    assert!(journal.contains("damaged") && journal.contains("saved behind"), "{journal}");
    let doctor = home.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("entry 4"), "{doctor:?}");
    let verified = home.run(&["verify"]);
    assert!(verified.code == 1 && verified.out.contains("entry 4"), "{verified:?}");
    let doctor = home.run(&["doctor", "--json"]);
    assert!(
        doctor.out.contains("\"ledger\""),
        "what a check found is told until the next: {doctor:?}"
    );
    // The backup has what the ledger lost, and still does after the next one.
    home.run(&["backup", backup]).ok();
    let other = Home::new();
    other.run(&["restore", backup]).ok();
    assert_eq!(other.run(&["stats", "--json"]).ok().json()["observations"], 6);
    // And it can be looked at where it is, without a write to it.
    let read = home
        .run(&["--home", backup, "search", "--project", "all", "behind the damage", "--json"])
        .ok()
        .json();
    assert_eq!(read["hits"][0]["title"], "saved behind the damage", "{read}");
    home.run(&["--home", backup, "verify"]).ok();
    assert!(!Path::new(backup).join("default/cache").exists(), "L13: not by a verification either");
    let refused = home.run(&["--home", backup, "save", "no"]);
    assert!(refused.code != 0 && refused.err.contains("reading only"), "{refused:?}");
}
