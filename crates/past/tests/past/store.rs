//! Segments are what is kept: everything else is made again from them, and no kill loses or doubles a turn.

use crate::histories::{Scene, append, contents, text_of, turns};

fn segments(scene: &Scene) -> Vec<String> {
    scene.disk.files().into_keys().filter(|name| name.starts_with("segments/")).collect()
}

// past 19
#[test]
fn verify_names_what_is_damaged_missing_or_nobodys() {
    let scene = Scene::new();
    scene.claude("s1", &turns("a", 3));
    scene.claude("s2", &turns("b", 3));
    scene.claude("s3", &turns("c", 3));
    scene.read();
    assert!(scene.past().verify().unwrap().is_sound());
    let names = segments(&scene);
    scene.disk.damage(&names[0]);
    scene.disk.delete(&names[1]);
    past::PastDisk::write_all(&scene.disk, &[("segments/00/stray.seg".to_owned(), vec![1])])
        .unwrap();
    let answer = scene.past().verify().unwrap();
    assert_eq!(answer.damaged, [names[0].clone()]);
    assert_eq!(answer.missing, [names[1].clone()]);
    assert_eq!(answer.unreferenced, ["segments/00/stray.seg"]);
}

// past 20
#[test]
fn everything_is_made_again_from_segments_alone() {
    let scene = Scene::new();
    for n in 0..12 {
        scene.claude(&format!("s{n}"), &turns(&format!("topic{n}"), 30));
        scene.read();
    }
    let before = contents(&scene.past());
    let answers = |past: &past::Past| -> Vec<String> {
        (0..200)
            .map(|n| {
                let question = format!("topic{} part{} slow index", n % 12, n % 30);
                let request = past::TurnQuestion { question, ..past::TurnQuestion::default() };
                // That the source is gone is told; nothing else may differ.
                format!("{:?}", past.search(&request).unwrap())
                    .replace("is_kept_only_here: true", "is_kept_only_here: false")
            })
            .collect()
    };
    let told = answers(&scene.past());
    std::fs::remove_dir_all(scene.path(".claude")).unwrap();
    for (name, _) in scene.disk.files() {
        if !name.starts_with("segments/") {
            scene.disk.delete(&name);
        }
    }
    let mut past = scene.past();
    past.recover(&scene.tombstones).unwrap();
    assert_eq!(contents(&past), before);
    assert_eq!(answers(&past), told);
    assert!(past.verify().unwrap().is_sound());
    // The lost index alone is made again, too.
    let index: Vec<String> =
        scene.disk.files().into_keys().filter(|name| name.starts_with("index/")).collect();
    for name in index {
        scene.disk.delete(&name);
    }
    let mut past = scene.past();
    past.recover(&scene.tombstones).unwrap();
    assert_eq!(answers(&past), told);
}

// past 23
#[test]
fn killed_at_every_write_of_reading_nothing_is_lost_or_doubled() {
    let expected = |scene: &Scene| {
        let other = Scene::new();
        std::fs::create_dir_all(other.path(".claude/projects/-src-a")).unwrap();
        for name in ["s1", "s2"] {
            let from = scene.path(&format!(".claude/projects/-src-a/{name}.jsonl"));
            std::fs::copy(from, other.path(&format!(".claude/projects/-src-a/{name}.jsonl")))
                .unwrap();
        }
        other.read();
        contents(&other.past())
    };
    let mut killed = 0;
    for at in 1.. {
        let scene = Scene::new();
        let first = scene.claude("s1", &turns("a", 4));
        scene.read();
        append(&first, &text_of(&turns("b", 3)));
        scene.claude("s2", &turns("c", 2));
        scene.disk.die_at(at);
        let outcome = scene.try_read(&mut scene.past());
        if outcome.is_ok() {
            break;
        }
        killed += 1;
        scene.disk.revive();
        // Whatever was committed can be shown before anything is read again.
        contents(&scene.past());
        scene.read();
        let past = scene.past();
        assert_eq!(contents(&past), expected(&scene), "killed at change {at}");
        assert!(past.verify().unwrap().is_sound(), "killed at change {at}: {:?}", past.verify());
    }
    assert!(killed >= 5, "only {killed} changes were met");
}

// past 28
#[test]
fn a_disk_that_is_full_ends_a_reading_and_what_was_read_before_is_still_there() {
    let mut ended = 0;
    for at in 0.. {
        let scene = Scene::new();
        // The first reading of all leaves nothing behind that would need room.
        scene.claude("s1", &turns("a", 4));
        scene.disk.fill_at(at);
        if scene.try_read(&mut scene.past()).is_err() {
            let mut past = scene.past();
            past.recover(&scene.tombstones).unwrap();
            assert!(past.verify().unwrap().is_sound(), "full at {at}: {:?}", past.verify());
        }
        scene.disk.make_room();
        scene.read();
        let before = contents(&scene.past());
        scene.claude("s2", &turns("b", 3));
        scene.disk.fill_at(at);
        let outcome = scene.try_read(&mut scene.past());
        let mut past = scene.past();
        past.recover(&scene.tombstones).unwrap();
        let kept = contents(&past);
        assert!(kept.starts_with(&before), "full at {at}");
        assert!(past.verify().unwrap().is_sound(), "full at {at}: {:?}", past.verify());
        scene.disk.make_room();
        assert_eq!(scene.read().sessions, 2);
        if outcome.is_ok() {
            break;
        }
        ended += 1;
    }
    assert!(ended >= 3, "only {ended} places without room were met");
}

// past 23
#[test]
fn killed_at_every_write_of_a_rebuild_it_is_done_at_the_next_start() {
    let scene = Scene::new();
    scene.claude("s1", &turns("a", 4));
    scene.claude("s2", &turns("b", 4));
    scene.read();
    let before = contents(&scene.past());
    for at in 1.. {
        scene.disk.die_at(at);
        let outcome = scene.past().rebuild(&scene.tombstones, false);
        scene.disk.revive();
        scene.past().recover(&scene.tombstones).unwrap();
        let past = scene.past();
        assert_eq!(contents(&past), before, "killed at change {at}");
        assert!(past.verify().unwrap().is_sound(), "killed at change {at}");
        if outcome.is_ok() {
            assert!(at > 4);
            break;
        }
    }
}
