//! Recall end to end: what is saved is found, what is forgotten or erased is not, and a rebuild answers the same.
//!
//! Method: a real actor on a simulated disk with the recall hook, questions as people ask them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeSet;
use std::sync::Arc;

use kernel::command::{Draft, EdgeDraft, HeadRevision, Revision};
use kernel::journal::HeadPatch;
use kernel::memory::{Body, Event, Fields, MemoryType, Millis, Relation};
use kernel::store::{EngineOptions, RedbStorage};
use kernel::{Cortex, Options};
use recall::RecallHook;
use recall::ranker::{AnswerLevel, Feature};
use recall::search::{Arm, ArmWeights, Hit, SearchQuery, SpeakerBoost, search};
use testkit::Disk;
use testkit::build::{ada, at, body, fact, id, removal, salt, stamp};

fn open(disk: &Disk) -> Cortex {
    let hooks = Arc::new(|| -> Vec<Box<dyn kernel::hook::JournalHook>> {
        vec![Box::new(RecallHook::new())]
    });
    Cortex::open_on(disk.medium(), &ada(), Options { hooks, ..Options::default() }).unwrap()
}

fn ask(cortex: &Cortex, text: &str) -> Vec<u64> {
    asked(cortex, &SearchQuery::new(text, 10))
}

fn asked(cortex: &Cortex, query: &SearchQuery) -> Vec<u64> {
    let reading = cortex.read().unwrap();
    let answer = search(&reading, None, query, at(1_000)).unwrap();
    answer.hits.iter().map(|hit| hit.id.get()).collect()
}

fn assert_clean(cortex: &Cortex) {
    let medium = Disk::new().medium();
    let scratch =
        RedbStorage::open(medium, EngineOptions::default(), || kernel::birth(&ada())).unwrap();
    let report = cortex.verify_with(&scratch, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:#?}", report.problems);
}

/// A small project's memory.
fn filled(disk: &Disk) -> Cortex {
    let cortex = open(disk);
    let notes = [
        ("Use redb for the store", "One file per actor, safe on kill -9."),
        ("Login failed on empty password", "The check came after the hash; see src/auth.rs."),
        ("Deploys go out on Fridays", "Nobody works on the weekend, so we stopped that."),
        ("The signing key rotates every 90 days", "Run scripts/rotate-key.sh and restart."),
        ("Cats sleep sixteen hours a day", "Found while reading about pets."),
        ("Die Anmeldung schlägt fehl", "Umlaute im Passwort wurden nicht normalisiert."),
        ("数据库迁移需要停机", "周五晚上执行。"),
    ];
    for (n, (title, content)) in (1..).zip(notes) {
        let mut draft = fact(n, title, content);
        draft.project = Some(if n % 2 == 0 { "web" } else { "infra" }.into());
        draft.tags = vec![format!("tag{}", n % 3)];
        cortex.write(stamp(n.try_into().unwrap()), draft).unwrap();
    }
    cortex
}

#[test]
fn questions_in_ordinary_words_find_the_right_memory_first() {
    let cortex = filled(&Disk::new());
    for (question, first) in [
        ("which database do we use for storage", 1),
        ("why did logins fail with empty passwords?", 2),
        ("what do we know about src/auth.rs", 2),
        ("auth.rs", 2),
        ("\"signing key\"", 4),
        ("rotat*", 4),
        ("how long do kittens nap", 5),
        ("Anmeldung", 6),
        ("迁移", 7),
    ] {
        assert_eq!(ask(&cortex, question).first(), Some(&first), "{question}");
    }
    assert!(!ask(&cortex, "key -rotates").contains(&4));
    assert!(ask(&cortex, "\"key signing\"").is_empty(), "a phrase stands as it is asked");
}

#[test]
fn a_name_in_quotes_leads_the_answer_and_does_not_empty_it() {
    let cortex = filled(&Disk::new());
    let plain = ask(&cortex, "when do we rotate the signing key?");
    // Nothing holds the name: the question is answered by its words.
    assert_eq!(ask(&cortex, "when do we rotate the \"key signing\"?"), plain);
    // One memory does: it stands first, and the others follow once, as many as were asked for.
    let quoted = ask(&cortex, "which database has the \"signing key\"?");
    assert_eq!(quoted.first(), Some(&4));
    assert!(quoted.contains(&1), "{quoted:?}");
    let distinct: BTreeSet<u64> = quoted.iter().copied().collect();
    assert_eq!(distinct.len(), quoted.len());
    let reading = cortex.read().unwrap();
    let two = SearchQuery::new("which database has the \"signing key\"?", 2);
    let hits = search(&reading, None, &two, at(1_000)).unwrap().hits;
    assert_eq!(hits.len(), 2);
    assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
    // What is excluded stays out either way.
    assert!(!ask(&cortex, "database \"key signing\" -rotates").contains(&4));
    assert!(!ask(&cortex, "database \"key signing\" -\"signing key\"").contains(&4));
}

/// Memories that a question finds by its words.
fn by_words(cortex: &Cortex, query: &SearchQuery) -> Vec<u64> {
    let reading = cortex.read().unwrap();
    let hits = search(&reading, None, query, at(1_000)).unwrap().hits;
    let spoken = |hit: &Hit| hit.arms.iter().any(|arm| arm.arm == Arm::Words && arm.score > 0);
    hits.iter().filter(|hit| spoken(hit)).map(|hit| hit.id.get()).collect()
}

#[test]
fn a_mistyped_word_finds_what_was_meant() {
    let cortex = filled(&Disk::new());
    cortex.write(stamp(8), fact(8, "The match was lost", "Played Xeonoblade instead.")).unwrap();
    for (question, meant) in [
        ("pasword", 2),
        ("passwordd", 2),
        ("passwrod", 2),
        ("wekend", 3),
        ("normalisirt", 6),
        ("who plays xenoblade?", 8),
    ] {
        assert_eq!(by_words(&cortex, &SearchQuery::new(question, 10)), [meant], "{question}");
    }
    // A word is no slip because nobody used it, and of a short one nobody can tell.
    for question in ["march", "lots", "zzyzxq"] {
        assert_eq!(by_words(&cortex, &SearchQuery::new(question, 10)), [0; 0], "{question}");
    }
    // What was spelt so at the time is found at the time.
    let update = body(MemoryType::Fact, "The match was lost", "Played Xenoblade instead.");
    cortex.update(stamp(20), Revision::new(id(8), None, update, salt(30))).unwrap();
    let then = SearchQuery { as_of: Some(at(19)), ..SearchQuery::new("xeonoblade", 10) };
    assert_eq!(by_words(&cortex, &then), [8]);
}

#[test]
fn a_save_is_found_by_the_very_next_search() {
    let cortex = open(&Disk::new());
    for n in 1..=1_100u64 {
        // Past the point where the tail becomes a run.
        let word = format!("word{n}x");
        cortex.write(stamp(1), fact(n, &format!("about {word}"), "common text")).unwrap();
        if n % 50 == 0 || (1_015..1_035).contains(&n) {
            assert_eq!(ask(&cortex, &word).first(), Some(&n));
        }
    }
    assert_eq!(ask(&cortex, "word3x").first(), Some(&3));
}

#[test]
fn answers_follow_every_change_and_survive_a_rebuild() {
    let disk = Disk::new();
    let cortex = filled(&disk);
    let update = body(MemoryType::Fact, "Deploys go out on Tuesdays", "After the review.");
    cortex.update(stamp(20), Revision::new(id(3), None, update, salt(30))).unwrap();
    assert_eq!(ask(&cortex, "tuesdays").first(), Some(&3));
    // At an earlier moment the version of that moment is shown.
    let earlier = SearchQuery { as_of: Some(at(19)), ..SearchQuery::new("tuesdays", 10) };
    let reading = cortex.read().unwrap();
    let answer = search(&reading, None, &earlier, at(1_000)).unwrap();
    let hit = answer.hits.iter().find(|hit| hit.id == id(3)).unwrap();
    assert_eq!(hit.body.as_ref().unwrap().title, "Deploys go out on Fridays");
    drop(reading);
    let patch = HeadPatch { tags: Some(vec!["zebra".into()]), ..HeadPatch::default() };
    let revision = HeadRevision { id: id(5), expected: None, patch, reason: None };
    cortex.update_head(stamp(21), revision).unwrap();
    assert_eq!(ask(&cortex, "zebra").first(), Some(&5), "tags are words");
    cortex.tombstone(stamp(22), removal(2)).unwrap();
    assert!(!ask(&cortex, "empty password login").contains(&2));
    let mut forgotten = SearchQuery::new("empty password login", 10);
    forgotten.include_forgotten = true;
    assert_eq!(asked(&cortex, &forgotten).first(), Some(&2));
    cortex.restore(stamp(23), removal(2)).unwrap();
    assert_eq!(ask(&cortex, "empty password login").first(), Some(&2));
    let edge = EdgeDraft { src: id(4), relation: Relation::Supersedes, dst: id(1), weight: 1 };
    cortex.add_edge(stamp(24), edge).unwrap();
    cortex.erase(stamp(25), removal(5)).unwrap();
    assert!(!ask(&cortex, "cats sleep zebra").contains(&5));
    assert!(!disk.bytes().windows(7).any(|w| w == b"sixteen"), "no word of it is left on disk");
    assert_clean(&cortex);

    let questions = ["which database", "login", "key", "deploy", "restart the file", "周五"];
    let answers = |cortex: &Cortex| questions.map(|q| ask(cortex, q));
    let before = answers(&cortex);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(answers(&cortex), before, "after a rebuild");
    drop(cortex);
    let cortex = open(&disk);
    assert_eq!(answers(&cortex), before, "after reopening");
    assert_clean(&cortex);
}

#[test]
fn filters_apply_before_the_best_are_taken() {
    let cortex = filled(&Disk::new());
    let mut query = SearchQuery::new("key store login deploy", 10);
    query.project = Some("web".into());
    let found = asked(&cortex, &query);
    assert!(!found.is_empty() && found.iter().all(|id| id % 2 == 0), "{found:?}");
    query.project = Some("nowhere".into());
    assert!(asked(&cortex, &query).is_empty());
    query.project = None;
    query.tags = vec!["tag1".into()];
    let found = asked(&cortex, &query);
    assert!(!found.is_empty() && found.iter().all(|id| id % 3 == 1), "{found:?}");
    query.tags.clear();
    query.created_from = Some(at(4));
    assert!(asked(&cortex, &query).iter().all(|id| *id >= 4));
    query.types = vec![MemoryType::Goal];
    assert!(asked(&cortex, &query).is_empty());
}

#[test]
fn who_spoke_and_when_helps() {
    let cortex = open(&Disk::new());
    let said = |n: u64, who: &str, day: i64, text: &str| {
        let fields = Fields::Event(Event {
            happened_at: Some(Millis(1_683_504_000_000 + day * 86_400_000)),
            outcome: None,
            participants: vec![who.into()],
        });
        let body = Body { title: who.into(), content: text.into(), fields };
        let mut draft = Draft::new(body, salt(n));
        draft.session = Some(format!("day {day}"));
        cortex.write(stamp(n.try_into().unwrap()), draft).unwrap();
    };
    said(1, "Ann", 0, "I went hiking in the mountains.");
    said(2, "Bob", 0, "I went hiking by the sea.");
    said(3, "Ann", 60, "I went hiking again, this time in the snow.");
    assert_eq!(ask(&cortex, "Where did Bob go hiking?").first(), Some(&2));
    assert_eq!(ask(&cortex, "Where did Ann go hiking in May 2023?").first(), Some(&1));
    assert_eq!(ask(&cortex, "Where did Ann go hiking in July 2023?").first(), Some(&3));
    // Whom the owner wants to hear first, unless the question names somebody.
    said(4, "User", 90, "The boiler was repaired on Tuesday.");
    said(5, "Assistant", 91, "The boiler was repaired on Tuesday.");
    for (speaker, first) in [("user", 4), ("ASSISTANT", 5)] {
        let mut query = SearchQuery::new("when was the boiler repaired", 5);
        query.boost = Some(SpeakerBoost::new(speaker, 50));
        assert_eq!(asked(&cortex, &query).first(), Some(&first), "{speaker}");
        query.text = "what did Bob say about hiking".into();
        assert_eq!(asked(&cortex, &query).first(), Some(&2), "{speaker}");
    }
}

#[test]
fn no_question_is_a_syntax_error() {
    let cortex = filled(&Disk::new());
    let mut odd: Vec<String> = [
        "",
        " ",
        "\"",
        "\"\"",
        "-",
        "--",
        "*",
        "a*b",
        "-\"",
        "(",
        ")",
        "AND",
        "OR NOT",
        "\0",
        "🦀",
        "שלום",
        "\u{202e}abc",
        "%_'; DROP TABLE",
        "\\",
        "?",
        "a\nb",
        "-login",
        "\"login",
        "login\"",
        "e\u{301}",
    ]
    .map(String::from)
    .to_vec();
    odd.extend(["x".repeat(100_000), "word ".repeat(5_000)]);
    for n in 0u32..500 {
        let mut state = n.wrapping_mul(2_654_435_761) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            char::from_u32(state % 0x3_0000).unwrap_or('"')
        };
        odd.push((0..n % 40).map(|_| next()).collect());
    }
    for text in &odd {
        let found = ask(&cortex, text);
        assert!(found.len() <= 7, "{text:?}");
    }
    let huge = SearchQuery::new("y".repeat(300_000), 10);
    let reading = cortex.read().unwrap();
    let refused = search(&reading, None, &huge, at(0)).unwrap_err();
    assert_eq!(refused.code(), "too_large");
}

/// A memory that has nothing to do with any question here.
fn filler(n: u64) -> Draft {
    let things = ["Kettle", "Bicycle", "Curtains", "Piano", "Ladder", "Garden hose"];
    let places = ["in the attic", "by the door", "under the stairs", "at my aunt's", "in the car"];
    let n = usize::try_from(n).unwrap();
    let (thing, place) = (things[n % things.len()], places[n % places.len()]);
    fact(n as u64 + 10, &format!("{thing} {n}"), &format!("It was left {place}, number {n}."))
}

// Q6: a plain answer is found and called one in a store of any small size, and silence is kept about the rest.
#[test]
fn small_stores_know_what_they_can_answer() {
    for others in [1, 2, 5, 12, 29] {
        let cortex = open(&Disk::new());
        cortex.write(stamp(1), fact(1, "Staging database", "It listens on port 5544.")).unwrap();
        for n in 0..others {
            cortex.write(stamp(2), filler(n)).unwrap();
        }
        let reading = cortex.read().unwrap();
        let told = |question: &str| {
            search(&reading, None, &SearchQuery::new(question, 10), at(1_000)).unwrap()
        };
        for question in
            ["which port does the staging database listen on?", "port of the staging database"]
        {
            let answer = told(question);
            assert_eq!(answer.hits[0].id.get(), 1, "{question}, {others} others");
            let level = answer.answerable.level;
            assert!(level >= AnswerLevel::Likely, "{question}, {others} others: {level:?}");
        }
        for question in ["who won the chess tournament in Oslo?", "recipe for lentil soup"] {
            let level = told(question).answerable.level;
            assert!(level < AnswerLevel::Likely, "{question}, {others} others: {level:?}");
        }
    }
}

fn said(n: u64, speaker: &str, content: &str) -> Draft {
    let event = Event { participants: vec![speaker.into()], ..Event::default() };
    let body =
        Body { title: speaker.into(), content: content.into(), fields: Fields::Event(event) };
    Draft { session: Some("talk".into()), ..Draft::new(body, salt(n)) }
}

// Q3
#[test]
fn who_asks_about_themselves_is_answered_with_what_they_said() {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1), said(1, "assistant", "Noted: the deploy runs at noon then.")).unwrap();
    cortex.write(stamp(2), said(2, "user", "Remember that the deploy runs at noon.")).unwrap();
    cortex.write(stamp(3), said(3, "user", "What else is on today?")).unwrap();
    assert_eq!(ask(&cortex, "when did I say the deploy runs?").first(), Some(&2));
}

#[test]
fn a_reply_is_found_by_the_question_that_it_replies_to() {
    let cortex = open(&Disk::new());
    let talk = [
        ("ben", "You paint at the lake."),
        ("ada", "The boats mostly."),
        ("ben", "The train was late again."),
        ("ada", "It always is."),
        ("ben", "You paint at the lake?"),
        ("ada", "The birds mostly."),
        ("ben", "The train was late again."),
    ];
    for (n, (speaker, text)) in (1..).zip(talk) {
        cortex.write(stamp(n.try_into().unwrap()), said(n, speaker, text)).unwrap();
    }
    let found = ask(&cortex, "what does Ada paint at the lake?");
    let place = |id: u64| found.iter().position(|found| *found == id);
    assert!(place(6).unwrap() < place(2).unwrap(), "{found:?}");
}

// Q2
#[test]
fn turns_around_a_memory_count_for_what_they_say_together() {
    let cortex = open(&Disk::new());
    let mut n = 0;
    let mut talk = |session: &str, thing: &str, giver: &str| {
        let turns = [
            ("ada", format!("Look at the {thing}.")),
            ("ben", "Nice.".to_owned()),
            ("ada", "Thanks.".to_owned()),
            ("ben", "Who gave it to you?".to_owned()),
            ("ada", format!("My {giver} did.")),
            ("ben", "Good to have.".to_owned()),
        ];
        for (speaker, text) in turns {
            n += 1;
            let draft = Draft { session: Some(session.into()), ..said(n, speaker, &text) };
            cortex.write(stamp(i64::try_from(n).unwrap()), draft).unwrap();
        }
    };
    talk("a", "keys", "landlord");
    talk("b", "bowl", "grandmother");
    talk("c", "lamp", "neighbour");
    // No turn has both words, and the answer has neither.
    let weights = ArmWeights::first(1);
    let query = SearchQuery { weights, ..SearchQuery::new("who gave Ada the bowl?", 18) };
    let found = asked(&cortex, &query);
    let place = |id: u64| found.iter().position(|found| *found == id);
    assert!(place(11).is_some() && place(5).is_some() && place(17).is_some(), "{found:?}");
    assert!(place(11) < place(5) && place(11) < place(17), "{found:?}");
}

#[test]
fn a_stated_rule_stands_before_what_says_the_same_of_once() {
    let cortex = open(&Disk::new());
    let talk = [
        ("user", "Show me a code example of errors, it always helps."),
        ("user", "The soup is ready."),
        ("user", "Always show me a code example of errors, it helps a lot."),
        ("user", "The train was late."),
    ];
    for (n, (speaker, text)) in (1..).zip(talk) {
        cortex.write(stamp(n.try_into().unwrap()), said(n, speaker, text)).unwrap();
    }
    assert_eq!(ask(&cortex, "How can errors be handled?").first(), Some(&3));
}

#[test]
fn a_preference_stands_before_what_says_the_same_of_once() {
    let cortex = open(&Disk::new());
    let talk = [
        ("user", "I looked at small phones with long battery life."),
        ("user", "The soup is ready."),
        ("user", "I prefer small phones with long battery life."),
        ("user", "The train was late."),
    ];
    for (n, (speaker, text)) in (1..).zip(talk) {
        cortex.write(stamp(n.try_into().unwrap()), said(n, speaker, text)).unwrap();
    }
    assert_eq!(ask(&cortex, "Which phones have a long battery life?").first(), Some(&3));
}

// Q7
#[test]
fn a_question_for_a_history_looks_for_its_topic_and_says_what_it_is() {
    let cortex = filled(&Disk::new());
    let mut draft = fact(8, "A list of items in order", "Mention them in order, with a summary.");
    draft.tags = vec!["lists".into()];
    cortex.write(stamp(8), draft).unwrap();
    let reading = cortex.read().unwrap();
    let told = |text: &str| search(&reading, None, &SearchQuery::new(text, 3), at(1_000)).unwrap();
    let asked = told(
        "Can you list the order in which the signing key came up, in order (mention 7 items)?",
    );
    assert!(asked.asks_history);
    assert_eq!(asked.hits[0].id.get(), 4);
    assert!(!told("a list of items in order").asks_history);
}

// Q5
#[test]
fn what_people_said_on_one_day_is_one_talk_without_a_session() {
    let disk = Disk::new();
    let cortex = open(&disk);
    let lines = [
        "Ben, 8 May 2023: Does your parrot have a name?",
        "Ada, 8 May 2023: Kiki, after my aunt.",
        "Ada, 3 June 2023: The parrot flew away.",
        "The parrot was seen on the roof.",
    ];
    for (n, line) in (1..).zip(lines) {
        cortex.write(stamp(n.try_into().unwrap()), fact(n, line, line)).unwrap();
    }
    cortex.tombstone(stamp(10), removal(2)).unwrap();
    cortex.restore(stamp(11), removal(2)).unwrap();
    let beside = |cortex: &Cortex| -> Vec<(u64, i32)> {
        let reading = cortex.read().unwrap();
        let query = SearchQuery::new("what is the name of the parrot", 10);
        let hits = search(&reading, None, &query, at(1_000)).unwrap().hits;
        let crowd = |hit: &Hit| hit.signals.map_or(-1, |s| s.get(Feature::SessionCrowd));
        let mut found: Vec<_> = hits.iter().map(|hit| (hit.id.get(), crowd(hit))).collect();
        found.sort_unstable();
        found
    };
    let found = beside(&cortex);
    assert_eq!(found, [(1, 2), (2, 2), (3, 1), (4, 0)]);
    assert_clean(&cortex);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(beside(&cortex), found, "after a rebuild");
}
