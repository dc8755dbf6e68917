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
