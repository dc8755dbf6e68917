//! Where the index is flushed and merged changes no answer, of no arm.

use kernel::Submission;
use kernel::command::{Command, Draft, HeadRevision, Revision};
use kernel::journal::HeadPatch;
use recall::search::SearchOutcome;
use testkit::Disk;
use testkit::build::{assert_clean, id, removal, salt, stamp};

use crate::support::{Twice, answers, assert_same, hooks_flushed_after, turn};

const TURNS: u64 = 260;

/// A history of turns in sessions, with updates, tags, forgetting, restoring and an erasure. Returns what it answers on
/// the way.
fn history(flush_docs: u32, group: usize) -> (Twice, Vec<Vec<SearchOutcome>>) {
    let disk = Disk::new();
    let twice = Twice::open_with(&disk, hooks_flushed_after(flush_docs));
    let mut commands = Vec::new();
    for n in 1..=TURNS {
        let mut draft = Draft::new(turn(n), salt(n));
        draft.session = Some(format!("session {}", n / 12));
        commands.push(Command::Write(Box::new(draft)));
    }
    for n in (1..=TURNS).step_by(3) {
        let revision = Revision::new(id(n), None, turn(n + 8), salt(TURNS + n));
        commands.push(Command::Update(Box::new(revision)));
    }
    for n in (2..=TURNS).step_by(17) {
        let patch = HeadPatch { tags: Some(vec!["zebra".into()]), ..HeadPatch::default() };
        let revision = HeadRevision { id: id(n), expected: None, patch, reason: None };
        commands.push(Command::UpdateHead(revision));
        commands.push(Command::Tombstone(removal(n + 1)));
    }
    commands.push(Command::Restore(removal(3)));
    commands.push(Command::Erase(removal(30)));
    let mut told = Vec::new();
    for batch in commands.chunks(group) {
        let requests = batch.iter().map(|command| Submission {
            stamp: stamp(1),
            command: command.clone(),
            authority: None,
        });
        for receipt in twice.warm.submit_bulk(requests.collect()).unwrap() {
            receipt.unwrap();
        }
        if told.is_empty() {
            told.push(answers(&twice.warm.read().unwrap()));
        }
    }
    told.push(twice.agree("at the end"));
    assert_clean(&twice.warm);
    (twice, told)
}

// recall: the same history with other flush and merge points gives identical rankings
#[test]
fn flushes_and_merges_change_no_answer() {
    let (_, wanted) = history(1_024, 65);
    assert!(wanted[1].iter().filter(|answer| !answer.hits.is_empty()).count() > 10);
    for flush_docs in [1, 6, 40] {
        let (_, told) = history(flush_docs, 65);
        for (told, wanted) in told.iter().zip(&wanted) {
            assert_same(told, wanted, &format!("flushed every {flush_docs}"));
        }
    }
    let (twice, told) = history(40, 7);
    assert_same(&told[1], &wanted[1], "in other commits");
    twice.warm.rebuild(Box::new(|_, _| {})).unwrap();
    assert_same(&answers(&twice.warm.read().unwrap()), &wanted[1], "made again");
}
