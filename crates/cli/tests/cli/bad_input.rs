//! What is wrong is refused with the right code and exit code, and nothing changes.

use crate::support::Home;

#[test]
fn bad_input_changes_nothing() {
    let home = Home::new();
    home.save(&["there", ""]);
    home.save(&["gone", ""]);
    home.run(&["forget", "2", "--reason", "x"]).ok();
    let root = home.root();
    let many_tags: String = (0..33).map(|n| format!("t{n},")).collect();
    for (arguments, code, exit) in [
        (&["save", "x", "", "--type", "decison"][..], "invalid", 2),
        (&["save", "x", "", "--type", "bugfix", "--kind", "config"], "invalid", 2),
        (&["search", "x", "--type", "fact,bugfix"], "invalid", 2),
        (&["save", "", ""], "invalid", 2),
        (&["save", "x", "", "--tag", &many_tags], "too_many", 2),
        (&["save", "x", "", "--kind", "No Slug"], "invalid", 2),
        (&["save", "x", "", "--importance", "1.5"], "invalid", 2),
        (&["save", "x", "", "--confidence", "high"], "invalid", 2),
        (&["save", "x", "", "--valid-from", "yesterday"], "invalid", 2),
        (
            &["save", "x", "", "--valid-from", "2026-01-02", "--valid-until", "2026-01-01"],
            "invalid",
            2,
        ),
        (&["save", "x", "", "--scope", "world"], "invalid", 2),
        (&["save", "x", "", "--visibility", "all"], "invalid", 2),
        (&["save", "x", "", "--source", "thin-air"], "invalid", 2),
        (&["save", "x", "", "--derived-from", "1"], "invalid", 2),
        (&["save", "x", "", "--derived-from", "99#1"], "not_found", 3),
        (&["save", "x", "", "--field", "colour=red"], "invalid", 2),
        (&["save", "x", "", "--field", "subject"], "invalid", 2),
        (&["save", "x", "", "--type", "goal", "--field", "status=maybe"], "invalid", 2),
        (&["save", "x", "", "--actor", "../evil"], "bad_actor", 2),
        (&["save", "x", "", "--actor", "Ada"], "bad_actor", 2),
        (&["save", "x", "", "--by", " "], "invalid", 2),
        (&["save", "x", "", "--colour", "red"], "usage", 2),
        (&["save"], "usage", 2),
        (&["frobnicate"], "usage", 2),
        (&["get", "0"], "usage", 2),
        (&["get", "one"], "usage", 2),
        (&["get", "99"], "not_found", 3),
        (&["get", "1", "--version", "9"], "not_found", 3),
        (&["get", "1", "--form", "epic"], "invalid", 2),
        (&["get", "cortex://default/Goal/1#1"], "not_found", 3),
        (&["get", "cortex://default/Fact/1#latest"], "usage", 2),
        (&["update", "1"], "no_op", 2),
        (&["update", "99", "--title", "x"], "not_found", 3),
        (&["update", "99", "--pinned", "true"], "not_found", 3),
        (&["update", "1", "--title", "x", "--expect", "7"], "version_conflict", 4),
        (&["update", "1#7", "--pinned", "true"], "version_conflict", 4),
        (&["update", "2", "--title", "x"], "tombstoned", 4),
        (&["update", "2", "--pinned", "true"], "tombstoned", 4),
        (&["history", "99"], "not_found", 3),
        (&["forget", "99", "--reason", "x"], "not_found", 3),
        (&["forget"], "usage", 2),
        (&["forget", "1", "--reason", ""], "invalid", 2),
        (&["restore", "99"], "not_found", 3),
        (&["erase", "1", "--reason", "x"], "usage", 2),
        (&["erase", "99", "--reason", "x", "--yes"], "not_found", 3),
        (&["relate", "1", "likes", "2"], "invalid", 2),
        (&["relate", "1", "references", "1"], "self_edge", 2),
        (&["relate", "1", "references", "99"], "not_found", 3),
        (&["relate", "1", "references", "2", "--weight", "11"], "invalid", 2),
        (&["graph", "99"], "not_found", 3),
        (&["graph", "1", "--depth", "99"], "invalid", 2),
        (&["graph", "1", "--direction", "up"], "invalid", 2),
        (&["find", "--cursor", "zz"], "bad_cursor", 2),
        (&["find", "--limit", "100000"], "invalid", 2),
        (&["find", "--form", "epic"], "invalid", 2),
        (&["find", "title~("], "invalid", 2),
        (&["prove", "1", "--at-snapshot", "9", "--out", "x"], "not_found", 3),
        (&["prove", "1", "--out", "no/such/folder/x"], "io", 3),
        (&["attest", "i", "--outcome", "great"], "invalid", 2),
        (&["session", "end", "nope"], "not_found", 3),
        (&["prompt", " "], "invalid", 2),
        (&["scope-revoke", "xyz", "--reason", "x"], "invalid", 2),
        (
            &[
                "scope-grant",
                "d",
                "--new-key",
                "--operation",
                "fly",
                "--type",
                "fact",
                "--out",
                "g",
            ],
            "invalid",
            2,
        ),
        (&["scope-grant", "d", "--new-key", "--operation", "read", "--out", "g"], "invalid", 2),
        (&["--grant", "missing.grant", "find"], "io", 3),
        (&["help", "frobnicate"], "usage", 2),
        (&["--now", "noon", "root"], "invalid", 2),
    ] {
        let ran = home.run(&[&["--json"], arguments].concat());
        assert_eq!(ran.out, "", "{arguments:?}");
        assert_eq!(
            (ran.error()["code"].as_str(), ran.code),
            (Some(code), exit),
            "{arguments:?} {ran:?}"
        );
        assert_eq!(home.root(), root, "{arguments:?} changed something");
    }
    assert_eq!(home.run(&["actors"]).ok().out, "default\n");
    home.run(&["verify"]).ok();
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let home = Home::new();
    let ran = home.piped(&["save", "x", "-", "--json"], b"\xff\xfe").ends(2);
    assert_eq!(ran.error()["code"], "invalid");
    // serving S35: what only has to be cleaned is cleaned and told.
    let cleaned = home.piped(&["save", "two\nlines", "-", "--json"], b"nul\0byte").ok().json();
    assert_eq!(cleaned["title"], "two lines");
    assert!(cleaned["cleaned"].as_str().unwrap().contains("NUL"), "{cleaned}");
    let big = vec![b'x'; 1_048_577];
    let ran = home.piped(&["save", "x", "-", "--json"], &big).ends(2);
    assert_eq!(ran.error()["code"], "too_large");
    let title = format!("{{\"title\":\"{}\"}}\n", "x".repeat(10 << 20));
    let ran = home.piped(&["save", "--lines"], title.as_bytes()).ends(2);
    assert_eq!(ran.json()["error"]["code"], "too_large");
    let stats = home.run(&["stats", "--json"]).ok().json();
    assert_eq!(stats["entries"], 1);
}

#[test]
fn a_damaged_store_is_said_to_be_damaged() {
    let home = Home::new();
    home.save(&["a title", "some content to be damaged"]);
    let store = home.path().join("actors/default/ledger/00000000000000000001.log");
    let good = std::fs::read(&store).unwrap();
    let word = b"content to be damaged";
    let place = good.windows(word.len()).position(|window| window == word).unwrap();
    let mut bad = good.clone();
    bad[place] ^= 0x20;
    std::fs::write(&store, &bad).unwrap();
    let ran = home.run(&["verify"]);
    assert!([1, 7].contains(&ran.code), "{ran:?}");
    let ran = home.run(&["get", "1", "--json"]).ends(7);
    assert_eq!(ran.error()["code"], "corrupt");

    std::fs::write(&store, b"this is no store").unwrap();
    home.run(&["root"]).ends(7);
    std::fs::write(&store, &good).unwrap();
    home.run(&["verify"]).ok();
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let home = Home::new();
    let lines: String = (0..3_000).map(|n| format!("{{\"title\":\"memory {n}\"}}\n")).collect();
    home.piped(&["save", "--lines"], lines.as_bytes()).ok();
    let mut child = home.command().arg("journal").spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

// agent-memory 26
#[test]
fn a_number_that_is_none_is_answered_in_words() {
    let home = Home::new();
    home.save(&["there", ""]);
    for depth in ["1.5", "all", "-1"] {
        let said = home.run(&["graph", "1", "--depth", depth]).ends(2).err;
        assert!(said.contains("whole number") || depth == "-1", "{said}");
    }
    let said = home.run(&["search", "x", "--limit", "1.5", "--json"]).ends(2).error();
    assert!(said["message"].as_str().unwrap().ends_with("give a whole number from 0"), "{said}");
    let said = home.run(&["graph", "1", "--depth", "99999999999"]).ends(2).err;
    assert!(said.contains("is not in 0"), "{said}");
    for depth in ["0", "11"] {
        let said = home.run(&["graph", "1", "--depth", depth]).ends(2).err;
        assert!(said.contains("between 1 and 10"), "{said}");
    }
}

// F9: a pipe that nobody writes to is no reason to wait, and a device has no end
#[test]
fn what_is_no_file_is_not_imported() {
    let home = Home::new();
    let pipe = home.path().join("pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        for arguments in
            [&["import", path][..], &["import", path, "--from", "mem0"], &["audit", path]]
        {
            let said = home.run(arguments).ends(2).err;
            assert!(said.contains("neither a file nor a folder"), "{arguments:?}: {said}");
        }
    }
}
