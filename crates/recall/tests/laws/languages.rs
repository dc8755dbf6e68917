//! An actor is read in one language, and a change of it is an entry of the journal like any other.

use kernel::Submission;
use kernel::command::Command;
use recall::language::{change, language};
use recall::search::{ArmWeights, SearchQuery};
use testkit::Disk;
use testkit::build::{assert_clean, fact, removal, stamp};
use text::analyze::Language;

use crate::support::{Twice, ask, ids};

const WORDS: ArmWeights = ArmWeights([1, 0, 0, 0, 0, 0, 0, 0]);

fn by_words(text: &str) -> SearchQuery {
    SearchQuery { weights: WORDS, ..SearchQuery::new(text, 50) }
}

fn speak(twice: &Twice, when: i64, to: Language) {
    let from = language(&twice.warm.read().unwrap()).unwrap();
    let command = Command::Migration(change(from, to));
    twice.warm.submit(Submission { stamp: stamp(when), command, authority: None }).unwrap();
}

#[test]
fn a_change_of_language_reads_every_text_anew() {
    let disk = Disk::new();
    let twice = Twice::open(&disk);
    for (n, text) in ["Die alten Häuser am Fluss", "Two houses by the river", "Лодки на реке"]
        .into_iter()
        .enumerate()
    {
        twice.warm.write(stamp(1), fact(n as u64, "note", text)).unwrap();
    }
    let gone = twice.warm.write(stamp(1), fact(9, "secret", "geheime Häuser")).unwrap();
    let found = |text: &str| {
        let found = ids(&ask(&twice.warm.read().unwrap(), &by_words(text)));
        assert_eq!(found, ids(&ask(&twice.cold.read().unwrap(), &by_words(text))), "{text}");
        found
    };
    assert_eq!(language(&twice.warm.read().unwrap()).unwrap(), Language::English);
    assert_eq!((found("Haus"), found("house")), (vec![], vec![2]));
    let before = twice.warm.read().unwrap();
    speak(&twice, 2, Language::German);
    assert_eq!(language(&twice.warm.read().unwrap()).unwrap(), Language::German);
    assert_eq!((found("Haus"), found("лодка")), (vec![4, 1], vec![3]));
    // A reading from before answers in its own language.
    assert_eq!(ids(&ask(&before, &by_words("house"))), [2]);
    drop(before);
    twice.warm.write(stamp(3), fact(10, "note", "Ein neues Haus")).unwrap();
    twice.warm.erase(stamp(4), removal(gone.id.unwrap().get())).unwrap();
    let now = found("Häuser");
    assert_eq!(now.len(), 2);
    twice.agree("after the change");
    assert_clean(&twice.warm);
    twice.warm.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(found("Häuser"), now);
    speak(&twice, 5, Language::None);
    assert_eq!((found("houses"), found("house")), (vec![2], vec![]));
    assert_clean(&twice.warm);
}
