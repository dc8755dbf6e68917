//! What may be said of a memory, and what may not.

use proptest::prelude::*;

use super::*;

fn check(line: &str, sources: &[&str]) -> Result<(), Mismatch> {
    let sources: Vec<Clauses> = sources.iter().map(|source| Clauses::of(source)).collect();
    Clauses::of(line).are_from(&sources)
}

#[test]
fn whole_clauses_may_be_chosen_ordered_and_joined() {
    let cases: [(&str, &[&str]); 15] = [
        ("Use redb for the store", &["Use redb for the store, because SQLite cannot be replayed"]),
        (
            "SQLite cannot be replayed",
            &["Use redb for the store, because SQLite cannot be replayed"],
        ),
        ("Uses redb for a store", &["Use redb for the store"]),
        ("In short, the user prefers tabs over spaces", &["Prefers tabs over spaces"]),
        ("The team decided to use redb", &["Use redb"]),
        ("Use redb", &["Decided to use redb"]),
        (
            "Orders are in one place and the API speaks JSON",
            &["The API speaks JSON.", "Orders in one place"],
        ),
        (
            "Use Kafka for login and the dashboard",
            &["Use Kafka for login", "Use Kafka for the dashboard"],
        ),
        (
            "Use Kafka for login, exports and the API",
            &["Use Kafka for login", "Use Kafka for exports", "Use Kafka for the API"],
        ),
        ("Meetings: avoid before eleven", &["Meetings: avoid before eleven"]),
        (
            "Use tabs, since 2026-11-03 instead of \u{201c}Use spaces\u{201d}",
            &["Use tabs, since 2026-11-03 instead of \u{201c}Use spaces\u{201d}"],
        ),
        ("Run `make test -j 2` in ~/src/a.b", &["Run make test -j 2 in ~/src/a.b."]),
        ("Deploys need a review", &["Deploys need review and approval"]),
        ("Notas: el caf\u{e9} est\u{e1} cerrado", &["NOTAS: el cafe esta cerrado"]),
        ("Never, under load, restart it", &["Never, under load, restart it. It takes an hour."]),
    ];
    for (line, sources) in cases {
        assert_eq!(check(line, sources), Ok(()), "{line} of {sources:?}");
    }
}

#[test]
fn what_changes_a_clause_is_no_clause() {
    let limit = |word: &str| Mismatch::Limit(word.to_owned());
    let foreign = |word: &str| Mismatch::Foreign(word.to_owned());
    let clause = |words: &str| Mismatch::Clause(words.to_owned());
    let cases: [(&str, &[&str], Mismatch); 29] = [
        ("Use tabs everywhere", &["Use tabs"], foreign("everywhere")),
        (
            "Move the tests from Bo to Ada",
            &["Move the tests from Ada to Bo"],
            clause("move tests from bo to ada"),
        ),
        (
            "Move the tests to Bo from Ada",
            &["Move the tests from Ada to Bo"],
            clause("move tests to bo from ada"),
        ),
        ("Ada replaced Bo", &["Ada was replaced by Bo"], clause("ada replaced bo")),
        ("Ada replaced", &["Ada was replaced by Bo"], clause("ada replaced")),
        ("Bo deploys", &["Ada says Bo deploys"], limit("says")),
        (
            "Orders are kept in SQLite",
            &["Orders are kept in PostgreSQL and invoices in SQLite"],
            clause("orders kept sqlite"),
        ),
        (
            "Deploys need two approvals",
            &["Deploys need two approvals on production"],
            clause("deploys need two approvals"),
        ),
        ("We move to MySQL", &["We might move to MySQL"], clause("move to mysql")),
        ("Drop messages", &["If the queue is full, drop messages"], limit("if")),
        ("Drop messages", &["Drop messages, unless they are paid"], limit("unless")),
        ("The backup works", &["Mallory claims: the backup works"], limit("claims")),
        (
            "Use spaces",
            &["Use tabs, since 2026-11-03 instead of \u{201c}Use spaces\u{201d}"],
            limit("instead"),
        ),
        (
            "Drop support for SQLite",
            &["Drop support for SQLite, which was rejected"],
            limit("rejected"),
        ),
        ("The API speaks XML and not JSON", &["The API speaks JSON and not XML"], limit("not")),
        (
            "Ada leads the team and retries refunds",
            &["Ada leads the team", "The service listens and retries refunds"],
            clause("retries refunds"),
        ),
        (
            "Ada reviews code and drinks tea",
            &["Ada reviews code, Bo writes docs and drinks tea"],
            clause("drinks tea"),
        ),
        ("Wait a week because Ada is ill", &["Wait a week. Ada is ill."], foreign("because")),
        ("Keep 90 days", &["Keep 30 of 90 days"], clause("keep 90 days")),
        ("Orders will be kept", &["Orders are kept"], foreign("will")),
        ("The long title is", &["The long title is cut \u{2026}"], clause("long title")),
        ("Use redb and obey", &["Use redb"], foreign("obey")),
        ("Use redb", &["Use redb", "Use Kafka"], Mismatch::Unused(1)),
        ("the, of", &["Use redb"], Mismatch::Empty),
        (
            "Everyone may read the logs",
            &["Everyone may read the logs, except contractors"],
            limit("except"),
        ),
        ("Use Kafka for billing", &["Use Kafka for billing, pending approval"], limit("pending")),
        ("Logins are open", &["Logins are open, provided the VPN is up"], limit("provided")),
        (
            "Delete the old database",
            &["Ask Ada before anybody types: delete the old database"],
            clause("delete old database"),
        ),
        ("Ship on Friday", &["Bo wrote \u{201c}ship on Friday\u{201d}"], clause("ship on friday")),
    ];
    for (line, sources, why) in cases {
        let found = check(line, sources).expect_err(line);
        let is_same = match (&found, &why) {
            // Where a clause ends is not the point.
            (Mismatch::Clause(_), Mismatch::Clause(_) | Mismatch::Limit(_)) => true,
            _ => found == why,
        };
        assert!(is_same, "{line} of {sources:?}: {found:?}, not {why:?}");
    }
    assert_eq!(check(&"word ".repeat(81), &["word"]), Err(Mismatch::Long));
}

// However often something is repeated, a line is looked at in a moment.
#[test]
fn a_line_of_many_readings_is_read_once() {
    let line = "a1, ".repeat(WORDS_MAX);
    let source = "a1, a1, a1 and a1. ".repeat(20);
    assert_eq!(check(&line, &[&source, &source, &source]), Ok(()));
    // One that never comes to its end is given up.
    let line = format!("{}zebra", "a1, ".repeat(WORDS_MAX - 1));
    assert_eq!(check(&line, &[&source, &source, &source]), Err(Mismatch::Long));
}

// What a model may write has any end.
#[test]
fn a_line_may_end_with_a_joining_word() {
    for end in ["but", "also", "and also", "while", "to", "short", "because", ","] {
        let _ = check(&format!("Use redb, {end}"), &["Use redb", "Use Kafka"]);
        let _ = check(&format!("Use redb {end}"), &["Use redb"]);
    }
}

proptest! {
    #[test]
    fn any_text_is_looked_at(
        line in "(.|but|also|use|redb|because|and|,| ){0,40}",
        source in "(.|but|also|use|redb|because|and|,| ){0,40}",
    ) {
        let _ = check(&line, &[&source, "Use redb, because it holds"]);
    }

    #[test]
    fn a_sentence_that_is_repeated_is_from_its_source(
        text in "[A-Za-z0-9]{1,8}([ ,:;.!\u{201c}\u{201d}()-]{1,2}([A-Za-z0-9]{1,8}|because|and|if|not|so)){0,20}"
    ) {
        let clauses = Clauses::of(&text);
        if !clauses.words.is_empty() {
            prop_assert_eq!(clauses.are_from(std::slice::from_ref(&clauses)), Ok(()));
        }
    }

    // Two words that are not the same, in one clause, cannot change places.
    #[test]
    fn words_do_not_change_places(words in prop::collection::vec("[b-z]{4,7}", 3..12), at in 0_usize..11) {
        let at = at % (words.len() - 1);
        let mut swapped = words.clone();
        swapped.swap(at, at + 1);
        let clauses = Clauses::of(&words.join(" "));
        let changed = Clauses::of(&swapped.join(" "));
        let is_plain = clauses.words.len() == words.len()
            && clauses.words.iter().skip(1).all(|word| !word.begins)
            && clauses.words.iter().all(|word| !listed(OPENERS, &word.text) && !listed(ADDED, &word.text));
        if is_plain && changed != clauses && !same(&words[at], &words[at + 1]) {
            prop_assert!(changed.are_from(&[clauses]).is_err());
        }
    }
}
