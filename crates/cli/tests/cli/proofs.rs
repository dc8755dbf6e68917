//! Proof files: what holds is accepted without a store, whatever was touched is refused.

use crate::support::Home;

/// A home with one of each kind of proof.
fn proved() -> (Home, String, Vec<&'static str>) {
    let home = Home::new();
    home.save(&["Use redb", "because of measurements", "--type", "decision"]);
    home.save(&["Use SQLite", "no", "--type", "decision"]);
    home.run(&["relate", "1", "supersedes", "2"]).ok();
    home.run(&["snapshot"]).ok();
    home.save(&["Later", ""]);
    home.run(&["prove", "1", "--out", "memory"]).ok();
    home.run(&["prove", "99", "--out", "none"]).ok();
    home.run(&["prove", "1", "--edge", "supersedes", "2", "--out", "edge"]).ok();
    home.run(&["prove", "2", "--edge", "supersedes", "1", "--out", "no-edge"]).ok();
    home.run(&["prove", "--since", "1", "--out", "since"]).ok();
    home.run(&["prove", "--slice", "decision", "--out", "slice"]).ok();
    let root = home.root();
    (home, root, vec!["memory", "none", "edge", "no-edge", "since", "slice"])
}

#[test]
fn proofs_hold_without_the_store() {
    let (home, root, files) = proved();
    std::fs::remove_dir_all(home.path().join("actors")).unwrap();
    for file in files {
        let view = home.run(&["verify-proof", file, "--root", &root, "--json"]).ok().json();
        assert_eq!((&view["valid"], view["root"].as_str()), (&true.into(), Some(root.as_str())));
        home.run(&["--home", "/nonexistent", "verify-proof", file]).ok();
    }
    assert!(!home.path().join("actors").exists());
}

#[test]
fn forged_proofs_are_refused() {
    let (home, root, files) = proved();
    for file in files {
        let good = std::fs::read(home.path().join(file)).unwrap();
        // A step that is no power of two, so that all fields are met; every bit of a byte now and then.
        for place in (0..good.len()).step_by(37) {
            let mut bad = good.clone();
            bad[place] ^= 1 << (place % 8);
            std::fs::write(home.path().join("bad"), &bad).unwrap();
            let ran = home.run(&["verify-proof", "bad", "--root", &root]);
            assert_eq!(ran.code, 1, "{file} at {place}: {ran:?}");
        }
        for cut in [0, 1, good.len() / 2, good.len() - 1] {
            std::fs::write(home.path().join("bad"), &good[..cut]).unwrap();
            home.run(&["verify-proof", "bad"]).ends(1);
        }
        std::fs::write(home.path().join("bad"), [good.as_slice(), b"\0"].concat()).unwrap();
        home.run(&["verify-proof", "bad"]).ends(1);
    }
}

#[test]
fn another_root_is_refused() {
    let (home, root, _) = proved();
    home.save(&["one more", ""]);
    let other = home.root();
    let ran = home.run(&["verify-proof", "memory", "--root", &other, "--json"]).ends(1);
    assert_eq!(ran.error()["code"], "root_mismatch");
    home.run(&["verify-proof", "memory", "--root", &root]).ok();
    home.run(&["verify-proof", "memory", "--root", "xyz"]).ends(2);
    home.run(&["verify-proof", "missing"]).ends(3);
    std::fs::write(home.path().join("text"), "not a proof at all").unwrap();
    assert_eq!(
        home.run(&["verify-proof", "text", "--json"]).ends(1).error()["code"],
        "proof_refused"
    );
}

#[test]
fn a_rebuild_comes_to_the_same_root() {
    let (home, root, _) = proved();
    let view = home.run(&["rebuild", "--json"]).ok().json();
    assert_eq!((&view["unchanged"], view["root"].as_str()), (&true.into(), Some(root.as_str())));
    assert_eq!(home.root(), root);
    let report = home.run(&["verify", "--json"]).ok().json();
    assert_eq!((&report["clean"], report["root"].as_str()), (&true.into(), Some(root.as_str())));
}

#[test]
fn the_tour_is_true() {
    let home = Home::new();
    let ran = home.run(&["tour", "--home", "demo"]).ok();
    for piece in [
        "saved cortex://default/Decision/1#1",
        "exit code 4",
        "proof refused",
        "clean:",
        "the root is unchanged",
    ] {
        assert!(ran.out.contains(piece), "{piece}: {}", ran.out);
    }
    assert_eq!(ran.err, "");
    // A home with memories in it is nobody's demo.
    home.run(&["tour", "--home", "demo"]).ends(2);
    let files = std::fs::read_dir(home.path()).unwrap().count();
    assert_eq!(files, 1, "the tour leaves nothing outside its folder");
}

/// Runs the independent verifier; `None` where there is no Python.
fn verifier(home: &Home, arguments: &[&str], input: &[u8]) -> Option<(i32, serde_json::Value)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/verifier/cortex_verify.py");
    let mut command = std::process::Command::new("python3");
    command.arg("-B").arg(script).args(arguments).current_dir(home.path());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = match command.stderr(std::process::Stdio::null()).spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("python3: {error}"),
    };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
    let ran = child.wait_with_output().unwrap();
    let said = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    Some((ran.status.code().unwrap(), said))
}

// L16
#[test]
fn a_verifier_written_from_the_format_alone_agrees() {
    let (home, root, files) = proved();
    for file in files {
        let Some((code, said)) = verifier(&home, &["proof", file, "--root", &root], b"") else {
            return;
        };
        assert_eq!((code, said["valid"].as_bool()), (0, Some(true)), "{file}: {said}");
        let good = std::fs::read(home.path().join(file)).unwrap();
        for place in (0..good.len()).step_by(131) {
            let mut bad = good.clone();
            bad[place] ^= 1 << (place % 8);
            std::fs::write(home.path().join("bad"), &bad).unwrap();
            let judged = verifier(&home, &["proof", "bad", "--root", &root], b"").unwrap();
            assert_eq!(judged.0, 1, "{file} at {place}");
        }
    }
    let roots = home.run(&["root", "--json"]).ok().json();
    let raw = home.run(&["journal", "--raw"]).ok().out;
    let journal = roots["journal_root"].as_str().unwrap();
    let asked = ["journal", "-", "--root", journal];
    let (code, said) = verifier(&home, &asked, raw.as_bytes()).unwrap();
    assert_eq!((code, &said["entries"]), (0, &roots["size"]), "{said}");
    // Without its last entry it is another journal.
    let cut = raw.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
    assert_eq!(verifier(&home, &asked, cut.as_bytes()).unwrap().0, 1);
    let signed = home.run(&["checkpoint", "--json"]).ok().json();
    let asked = ["checkpoint", "-", "--key", signed["key"].as_str().unwrap()];
    let note = signed["note"].as_str().unwrap();
    let (code, said) = verifier(&home, &asked, note.as_bytes()).unwrap();
    assert_eq!((code, said["root"].as_str()), (0, Some(root.as_str())), "{said}");
    let forged = note.replace("root ", "root 0");
    assert_eq!(verifier(&home, &asked, forged.as_bytes()).unwrap().0, 1);
}

// L16
#[test]
fn the_vectors_of_the_independent_verifier_hold() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/verifier/test_vectors.py");
    // No byte code is left in the repository.
    match std::process::Command::new("python3").arg("-B").arg(script).output() {
        Ok(ran) => assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout)),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
}

// L16
#[test]
fn every_root_that_was_printed_is_known_again() {
    let home = Home::new();
    let mut roots = vec![home.root()];
    home.save(&["Use redb", "because of measurements", "--type", "decision"]);
    roots.push(home.root());
    home.save(&["Use SQLite", "no", "--type", "decision"]);
    home.run(&["relate", "1", "supersedes", "2"]).ok();
    roots.push(home.root());
    home.run(&["forget", "2", "--reason", "old"]).ok();
    home.run(&["unrelate", "1", "supersedes", "2"]).ok();
    roots.push(home.root());
    let size = home.run(&["root", "--json"]).ok().json()["size"].clone();
    let mut sizes = Vec::new();
    for root in &roots {
        let view = home.run(&["verify", "--since-root", root, "--json"]).ok().json();
        assert_eq!((view["root"].as_str(), &view["current_size"]), (Some(root.as_str()), &size));
        sizes.push(view["size"].as_u64().unwrap());
    }
    assert_eq!(sizes, [0, 1, 3, 5]);
    let never = "0".repeat(64);
    let error = home.run(&["verify", "--since-root", &never, "--json"]).ends(1).error();
    assert_eq!(error["code"], "root_mismatch");
    home.run(&["verify", "--since-root", "abc"]).ends(2);

    let diff = |one: usize, other: usize| {
        home.run(&["diff", &roots[one], &roots[other], "--json"]).ok().json()
    };
    let view = diff(1, 2);
    assert_eq!(view["memories"], serde_json::json!([{"id": 2, "difference": "added"}]));
    assert_eq!(view["edges"][0]["difference"], "added");
    let view = diff(3, 2);
    assert_eq!(view["memories"], serde_json::json!([{"id": 2, "difference": "changed"}]));
    assert_eq!(
        view["edges"],
        serde_json::json!(
            [{"src": 1, "relation": "supersedes", "dst": 2, "difference": "removed"}]
        )
    );
    // An edge that came and went between the two is no difference.
    assert_eq!(diff(1, 3)["edges"], serde_json::json!([]));
    home.run(&["diff", &roots[1], &never]).ends(1);
    home.run(&["diff", &roots[1], &roots[1]]).ends(2);
    assert!(!home.path().join("actors/default/cache/audit").exists());
}

// L16
#[test]
fn a_checkpoint_is_signed_with_the_key_of_the_home() {
    let home = Home::new();
    home.save(&["Use redb", ""]);
    let note = home.run(&["checkpoint"]).ok().out;
    let key = home.run(&["checkpoint", "--key"]).ok().out;
    std::fs::write(home.path().join("note"), &note).unwrap();
    let check = |key: &str| home.run(&["verify-checkpoint", "note", "--key", key, "--json"]);
    let view = check(key.trim()).ok().json();
    assert_eq!((&view["size"], view["root"].as_str()), (&1.into(), Some(home.root().as_str())));
    let file = std::fs::metadata(home.path().join("checkpoint.key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777, 0o600);
    let other = Home::new();
    other.save(&["Use redb", ""]);
    let foreign = other.run(&["checkpoint", "--key"]).ok().out;
    assert_eq!(check(foreign.trim()).ends(1).error()["code"], "proof_refused");
    assert_eq!(check("nonsense").ends(2).error()["code"], "invalid");
}

// L12
#[test]
fn a_backup_is_restored_to_its_root_and_to_an_earlier_moment() {
    let home = Home::new();
    home.save(&["First", "one"]);
    let early = home.root();
    home.run(&["--actor", "ada", "save", "Hers", "two"]).ok();
    let view = home.run(&["backup", "kept", "--json"]).ok().json();
    let names: Vec<&str> =
        view["actors"].as_array().unwrap().iter().map(|a| a["actor"].as_str().unwrap()).collect();
    assert_eq!(names, ["ada", "default"]);
    home.save(&["Second", "three"]);
    let again = home.run(&["backup", "kept", "--json"]).ok().json();
    assert_eq!(again["actors"][0]["copied_bytes"], 0, "nothing of ada is new: {again}");
    assert_eq!(again["actors"][1]["root"].as_str(), Some(home.root().as_str()));

    let restore = |to: &str, more: &[&str]| {
        home.run(&[&["--home", to, "restore", "kept", "--json"], more].concat())
    };
    let made = restore("all", &[]).ok().json();
    assert_eq!(made["actors"][1]["root"], again["actors"][1]["root"]);
    assert_eq!(home.run(&["--home", "all", "root"]).ok().out.trim(), home.root());
    home.run(&["--home", "all", "verify"]).ok();
    restore("early", &["--at", "1"]).ok();
    assert_eq!(home.run(&["--home", "early", "root"]).ok().out.trim(), early);
    let taken = restore("all", &[]).ends(4).error();
    assert_eq!(taken["code"], "exists");
    assert_eq!(
        home.run(&["--home", "x", "restore", "nowhere", "--json"]).ends(3).error()["code"],
        "not_found"
    );
    home.run(&["restore", "1", "--at", "1"]).ends(2);
    home.run(&["salvage", "saved"]).ok();
    assert_eq!(home.run(&["--home", "saved", "root"]).ok().out.trim(), home.root());
}
