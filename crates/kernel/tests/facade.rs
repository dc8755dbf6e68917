//! Goal: every change an actor's memory can undergo does what it says, once, and a refused one leaves no trace.
//! Method: each operation through `Cortex` on a simulated disk, with dumps of all rows before and after.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Barrier;

use std::time::Duration;

use kernel::ScrubState;
use kernel::command::{Command, Draft, PromptDraft, SessionClose, SessionDraft, Stamp, Touches};
use kernel::find::{Predicate, Query};
use kernel::journal::{Access, EntryKind, HeadPatch};
use kernel::memory::{MemoryType, Note, Provenance, Salt, SealedBody, Source};
use kernel::store::StoreFile;
use kernel::uri::Uri;
use kernel::{Cortex, Error, Options};
use support::{SECRET, pinned};
use testkit::build::{
    ada, assert_clean, assert_refused, at, body, dump, fact, filtered, head_revision, holds, id,
    open, payload, removal, revision, run, salt, size, stamp,
};
use testkit::{Disk, PowerCut};

fn uri(text: &str) -> Uri {
    text.parse().unwrap()
}

fn with_tag(cortex: &Cortex, tag: &str) -> Vec<u64> {
    let query = filtered(Predicate::HasTag(tag.into()), 10);
    let found = cortex.find(&query, at(100)).unwrap();
    found.items.iter().map(|item| item.head.id.get()).collect()
}

// kernel 2, 11, 12, 27, 39
#[test]
fn what_is_written_resolves_by_its_exact_uri() {
    let cortex = open(&Disk::new());
    for (n, memory_type) in (1..).zip(MemoryType::ALL) {
        let draft = Draft::new(body(memory_type, "a title", "some content"), salt(n));
        let receipt = cortex.write(stamp(1), draft.clone()).unwrap();
        assert_eq!((receipt.seq, receipt.id, receipt.version), (n, Some(id(n)), Some(1)));
        assert!(receipt.changed && !receipt.replayed);
        let resolved =
            cortex.resolve(&uri(&format!("cortex://ada/{}/{n}#1", memory_type.name()))).unwrap();
        assert_eq!(resolved.body, Some(draft.body));
        assert_eq!(resolved.head.importance, memory_type.base_importance());
        assert_eq!(cortex.read().unwrap().view().counters().unwrap().live_of(memory_type), 1);
    }
    for wrong in [
        "cortex://ada/Goal/6#1",
        "cortex://bob/Fact/6#1",
        "cortex://ada/Fact/6#2",
        "cortex://ada/Fact/10#1",
    ] {
        assert_eq!(cortex.resolve(&uri(wrong)).unwrap_err().code(), "not_found", "{wrong}");
    }
}

// kernel 13, 69, 70
#[test]
fn an_update_is_a_new_version_and_the_old_one_stays() {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1), fact(1, "first", "old content")).unwrap();
    let old = cortex.resolve(&uri("cortex://ada/Fact/1#1")).unwrap();
    let receipt = cortex.update(stamp(2), revision(1, Some(1), "second")).unwrap();
    assert_eq!((receipt.id, receipt.version), (Some(id(1)), Some(2)));

    assert_refused(&cortex, "version_conflict", |c| c.update(stamp(3), revision(1, Some(1), "x")));
    assert_refused(&cortex, "not_found", |c| c.update(stamp(3), revision(9, None, "x")));
    let mut goal = revision(1, Some(2), "x");
    goal.body = body(MemoryType::Goal, "x", "y");
    assert_refused(&cortex, "invalid", |c| c.update(stamp(3), goal));

    cortex.tombstone(stamp(4), removal(1)).unwrap();
    assert_refused(&cortex, "tombstoned", |c| c.update(stamp(5), revision(1, None, "x")));
    let after = cortex.resolve(&uri("cortex://ada/Fact/1#1")).unwrap();
    assert_eq!((after.body, after.version), (old.body, old.version));
    let second = cortex.resolve(&uri("cortex://ada/Fact/1#2")).unwrap();
    assert_eq!(second.body.unwrap().title, "second");
}

// kernel 14, 69
#[test]
fn a_head_changes_where_the_patch_says_so_and_its_indexes_follow() {
    let cortex = open(&Disk::new());
    let mut draft = fact(1, "tagged", "");
    draft.tags = vec!["b".into(), "a".into(), "b".into()];
    draft.project = Some("web".into());
    draft.topic_key = Some("t".into());
    cortex.write(stamp(1), draft).unwrap();
    assert_eq!(cortex.read().unwrap().view().head(id(1)).unwrap().unwrap().tags, ["a", "b"]);

    let empty = HeadPatch::default();
    assert_refused(&cortex, "no_op", |c| c.update_head(stamp(2), head_revision(1, empty)));
    let before = dump(&cortex);
    let same = HeadPatch { project: Some("web".into()), ..HeadPatch::default() };
    let receipt = cortex.update_head(stamp(2), head_revision(1, same)).unwrap();
    assert!(!receipt.changed);
    assert_eq!((receipt.seq, dump(&cortex)), (1, before));

    let patch = HeadPatch {
        tags: Some(vec!["c".into()]),
        project: Some(String::new()),
        topic_key: Some(String::new()),
        ..HeadPatch::default()
    };
    let mut stale = head_revision(1, patch.clone());
    stale.expected = Some(2);
    assert_refused(&cortex, "version_conflict", |c| c.update_head(stamp(3), stale));
    cortex.update_head(stamp(3), head_revision(1, patch.clone())).unwrap();
    let head = cortex.read().unwrap().view().head(id(1)).unwrap().unwrap();
    assert_eq!((head.project, head.topic_key, head.version), (None, None, 1));
    assert_eq!((with_tag(&cortex, "a"), with_tag(&cortex, "c")), (vec![], vec![1]));
    assert_clean(&cortex);

    cortex.tombstone(stamp(4), removal(1)).unwrap();
    assert_refused(&cortex, "tombstoned", |c| c.update_head(stamp(5), head_revision(1, patch)));
}

// kernel 15, 71
#[test]
fn forgetting_and_restoring_happen_once() {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1), fact(1, "a", "")).unwrap();
    let live = || cortex.find(&Query::of_types(&[MemoryType::Fact], 5), at(9)).unwrap().items.len();
    assert!(cortex.tombstone(stamp(2), removal(1)).unwrap().changed);
    let before = dump(&cortex);
    assert!(!cortex.tombstone(stamp(3), removal(1)).unwrap().changed);
    assert_eq!(dump(&cortex), before);
    assert_eq!(live(), 0);
    let all = Query { include_forgotten: true, ..Query::of_types(&[MemoryType::Fact], 5) };
    assert_eq!(cortex.find(&all, at(9)).unwrap().items.len(), 1);

    assert!(cortex.restore(stamp(4), removal(1)).unwrap().changed);
    assert_eq!(live(), 1);
    let before = dump(&cortex);
    assert!(!cortex.restore(stamp(5), removal(1)).unwrap().changed);
    assert_eq!(dump(&cortex), before);
    assert_refused(&cortex, "not_found", |c| c.tombstone(stamp(6), removal(7)));
    let mut late = removal(1);
    late.expected = Some(4);
    assert_refused(&cortex, "version_conflict", |c| c.tombstone(stamp(6), late));
}

/// A fact that held a secret in its first and third version.
fn with_secret(cortex: &Cortex) {
    cortex.write(stamp(1), fact(1, "first", SECRET)).unwrap();
    cortex.update(stamp(2), revision(1, None, "second")).unwrap();
    let mut third = revision(1, None, SECRET);
    third.salt = salt(99);
    cortex.update(stamp(3), third).unwrap();
    cortex.write(stamp(4), fact(4, "another", "kept")).unwrap();
}

#[test]
fn erased_content_is_gone_and_the_chain_still_holds() {
    let disk = Disk::new();
    let cortex = open(&disk);
    with_secret(&cortex);
    assert!(holds(&disk.bytes(), SECRET));
    assert!(cortex.erase(stamp(5), removal(1)).unwrap().changed);
    // L8: gone from the ledger at once, and from every file when the scrub is done.
    assert!(!holds(&disk.bytes_of(StoreFile::Segment(1)), SECRET));
    assert!(cortex.wait_for_scrub(PATIENCE));
    assert_eq!(cortex.scrub_state(), ScrubState::Done);
    assert!(!holds(&disk.bytes(), SECRET));
    assert_clean(&cortex);
    let resolved = cortex.resolve(&uri("cortex://ada/Fact/1#3")).unwrap();
    assert!(resolved.head.erased && resolved.body.is_none());
    assert_eq!(
        cortex.resolve(&uri("cortex://ada/Fact/4#1")).unwrap().body.unwrap().title,
        "another"
    );

    let before = dump(&cortex);
    assert!(!cortex.erase(stamp(6), removal(1)).unwrap().changed);
    assert_eq!(dump(&cortex), before);
    assert_refused(&cortex, "erased", |c| c.restore(stamp(6), removal(1)));
    assert_refused(&cortex, "erased", |c| c.update(stamp(6), revision(1, None, "x")));
    let patch = HeadPatch { pinned: Some(true), ..HeadPatch::default() };
    assert_refused(&cortex, "erased", |c| c.update_head(stamp(6), head_revision(1, patch)));

    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(dump(&cortex), before, "a rebuild marks the memory erased again");
    drop(cortex);
    assert!(!holds(&disk.bytes(), SECRET));
    assert_eq!(dump(&open(&disk)), before);
}

const PATIENCE: Duration = Duration::from_mins(1);

// L4, L8
#[test]
fn an_erasure_cut_short_is_finished_at_the_next_open() {
    let prepared = Disk::new();
    with_secret(&open(&prepared));
    let mut finished_later = 0;
    for sync in 1.. {
        let disk = prepared.after_power_cut(PowerCut::KeepUnsynced);
        let cortex = open(&disk);
        disk.die_at_sync(disk.syncs() + sync);
        let told = cortex.erase(stamp(5), removal(1)).is_ok();
        drop(cortex);
        if !disk.is_dead() {
            break;
        }
        for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Some(sync)] {
            let found = disk.after_power_cut(cut);
            let was_there = holds(&found.bytes(), SECRET);
            let cortex = open(&found);
            let erased = cortex.read().unwrap().view().head(id(1)).unwrap().unwrap().erased;
            assert!(erased || !told, "sync {sync}, {cut:?}");
            assert!(cortex.wait_for_scrub(PATIENCE));
            assert_eq!(holds(&found.bytes(), SECRET), !erased, "sync {sync}, {cut:?}");
            assert_clean(&cortex);
            finished_later += u32::from(was_there && erased);
        }
    }
    assert!(finished_later > 0, "no cut fell between the commit and the rewriting");
}

// L8, L9
#[test]
fn without_room_for_a_copy_the_content_is_gone_and_the_scrub_waits() {
    let disk = Disk::new();
    let cortex = open(&disk);
    with_secret(&cortex);
    disk.leave_room(Some(64 << 10));
    cortex.erase(stamp(5), removal(1)).unwrap();
    assert!(!cortex.wait_for_scrub(PATIENCE));
    let ScrubState::Pending(Some(error)) = cortex.scrub_state() else { panic!("it is pending") };
    assert_eq!(error.code(), "disk_full", "{error}");
    assert!(!holds(&disk.bytes_of(StoreFile::Segment(1)), SECRET));
    let own = [StoreFile::Derived, StoreFile::Segment(1), StoreFile::Watermark];
    assert_eq!(disk.files(), own, "no stray file");
    // Others read and write, and the next open has another go.
    cortex.write(stamp(6), fact(9, "goes on", "")).unwrap();
    let before = dump(&cortex);
    drop(cortex);
    disk.leave_room(None);
    let cortex = open(&disk);
    assert!(cortex.wait_for_scrub(PATIENCE));
    assert!(!holds(&disk.bytes(), SECRET));
    assert_eq!(dump(&cortex), before);
}

// kernel 6, 4
#[test]
fn a_folder_is_all_an_actor_needs() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("ada");
    let cortex = Cortex::open(&folder, &ada(), Options::default()).unwrap();
    with_secret(&cortex);
    let reading = cortex.read().unwrap();
    cortex.erase(stamp(5), removal(1)).unwrap();
    let seen = reading.resolve_version(id(1), Some(1)).unwrap();
    assert!(!seen.head.erased, "a reading keeps its state");
    assert_eq!(seen.body, None, "what is erased is gone for everybody");
    drop(reading);
    let scratch = home.path().join("scratch");
    assert!(cortex.wait_for_scrub(PATIENCE));
    assert!(cortex.verify(&scratch, &mut |_, _| {}).unwrap().is_clean());
    assert!(!scratch.exists());
    let (before, root) = (dump(&cortex), cortex.root().unwrap());
    drop(cortex);

    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["derived.redb", "ledger", "lock"]);
    for file in ["derived.redb", "ledger/00000000000000000001.log"] {
        assert!(!holds(&std::fs::read(folder.join(file)).unwrap(), SECRET), "{file}");
    }
    let moved = home.path().join("elsewhere");
    std::fs::rename(&folder, &moved).unwrap();
    let cortex = Cortex::open(&moved, &ada(), Options::default()).unwrap();
    assert_eq!((dump(&cortex), cortex.root().unwrap()), (before, root));
}

#[test]
fn of_two_that_read_the_same_version_one_wins() {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1), fact(1, "first", "")).unwrap();
    for round in 1..=10 {
        let start = Barrier::new(2);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let race = |title: &'static str| {
                let (cortex, start) = (&cortex, &start);
                scope.spawn(move || {
                    start.wait();
                    cortex.update(stamp(2), revision(1, Some(round), title))
                })
            };
            [race("left"), race("right")].map(|thread| thread.join().unwrap()).into()
        });
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        let conflict = Error::VersionConflict { id: 1, expected: round, current: round + 1 };
        assert!(outcomes.contains(&Err(conflict)), "{outcomes:?}");
    }
    assert_eq!(size(&cortex), 11);
}

#[test]
fn a_request_made_again_gets_the_first_answer() {
    let disk = Disk::new();
    let mut cortex = open(&disk);
    let keyed = |n| Stamp { idempotency_key: Some("k".into()), ..stamp(n) };
    let first = cortex.write(keyed(1), fact(1, "once", "")).unwrap();
    let before = dump(&cortex);
    let again = |cortex: &Cortex| {
        // Another salt and a later clock: still the same request.
        let receipt = cortex.write(keyed(50), fact(2, "once", "")).unwrap();
        assert!(receipt.replayed);
        assert_eq!((receipt.seq, receipt.id, receipt.at), (first.seq, first.id, first.at));
        assert_eq!((receipt.version, receipt.kind), (first.version, EntryKind::Write));
        assert_refused(cortex, "idempotency_conflict", |c| {
            c.write(keyed(51), fact(2, "something else", ""))
        });
        assert_eq!(dump(cortex), before);
    };
    again(&cortex);
    drop(cortex);
    cortex = open(&disk);
    again(&cortex);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    again(&cortex);
}

#[test]
fn a_memory_is_derived_from_versions_that_exist() {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1), fact(1, "source", "")).unwrap();
    let derived = |n, version| {
        let mut draft = fact(2, "derived", "");
        draft.provenance = Provenance {
            source: Source::Derived,
            derived_from: vec![pinned(n, version)],
            ..Provenance::user()
        };
        draft
    };
    for (n, version) in [(1, 2), (1, 0), (2, 1), (9, 1)] {
        assert_refused(&cortex, "not_found", |c| c.write(stamp(2), derived(n, version)));
    }
    cortex.write(stamp(2), derived(1, 1)).unwrap();
    let version = cortex.read().unwrap().view().version(id(2), 1).unwrap().unwrap();
    assert_eq!(version.provenance.derived_from, [pinned(1, 1)]);
}

#[test]
fn sessions_begin_and_end_once_and_prompts_are_kept() {
    let cortex = open(&Disk::new());
    let start = Command::SessionStart(SessionDraft {
        session: "s".into(),
        project: None,
        directory: None,
        agent: None,
    });
    let end = Command::SessionEnd(SessionClose {
        session: "s".into(),
        summary: Some("done".into()),
        salt: Salt([1; 16]),
    });
    assert_refused(&cortex, "not_found", |c| run(c, 1, end.clone()));
    assert!(run(&cortex, 1, start.clone()).unwrap().changed);
    assert!(!run(&cortex, 2, start.clone()).unwrap().changed);
    let prompt = PromptDraft {
        session: Some("s".into()),
        project: None,
        text: "what now?".into(),
        salt: salt(2),
    };
    let said = run(&cortex, 3, Command::Prompt(prompt)).unwrap();
    run(&cortex, 4, end.clone()).unwrap();
    assert_refused(&cortex, "session_ended", |c| run(c, 5, end));
    assert_refused(&cortex, "session_ended", |c| run(c, 5, start));

    let reading = cortex.read().unwrap();
    let view = reading.view();
    let session = view.session("s").unwrap().unwrap();
    assert_eq!((session.started, session.ended), (at(1), Some(at(4))));
    let note = |seq| view.sealed(seq).unwrap().unwrap().open_note().unwrap().text;
    assert_eq!(note(session.summary_seq.unwrap()), "done");
    assert_eq!(note(view.prompt(said.seq).unwrap().unwrap().seq), "what now?");
    let sealed = SealedBody::new(salt(2), &Note { text: "what now?".into() });
    assert_eq!(view.prompt(said.seq).unwrap().unwrap().body_hash, sealed.hash());
}

#[test]
fn touches_are_counted_once_per_entry_and_leave_the_head_alone() {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1), fact(1, "a", "")).unwrap();
    let heads = cortex.read().unwrap().roots().unwrap().heads;
    let touch = |rows: &[(u64, u32, i64)]| {
        let accesses =
            rows.iter().map(|(n, count, t)| Access { id: id(*n), count: *count, at: at(*t) });
        Command::Touch(Touches { accesses: accesses.collect(), ..Touches::default() })
    };
    assert_refused(&cortex, "no_op", |c| run(c, 2, touch(&[])));
    assert_refused(&cortex, "not_found", |c| run(c, 2, touch(&[(1, 1, 2), (5, 1, 2)])));
    let receipt = run(&cortex, 4, touch(&[(1, 2, 4), (1, 1, 3)])).unwrap();
    let usage = cortex.read().unwrap().view().usage(id(1)).unwrap();
    assert_eq!((usage.accesses, usage.last_access), (3, Some(at(4))));
    let kernel::journal::Payload::Touch(entry) = payload(&cortex, receipt.seq) else { panic!() };
    assert_eq!(entry.accesses, [Access { id: id(1), count: 3, at: at(4) }]);
    assert_eq!(cortex.read().unwrap().roots().unwrap().heads, heads);
}
