//! Goal: a save names what says nearly the same, and leaves other facts of the same topic alone. Method: facts of a
//! software project, each with a rewording and with another fact of its topic, saved through `Service`.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use api::save::{SaveAnswer, SaveRequest};
use kernel::actor::ActorName;
use service::{Caller, Service, Settings};
use tempfile::TempDir;

const FACTS: &str = include_str!("facts.tsv");

struct Home {
    _folder: TempDir,
    ops: Service,
    caller: Caller,
}

impl Home {
    fn new() -> Home {
        let folder = TempDir::new().unwrap();
        let ops = Service::new(folder.path(), Settings::default(), Duration::ZERO);
        let caller = Caller::new(ActorName::parse("default").unwrap(), "ada");
        Home { _folder: folder, ops, caller }
    }

    fn save(&self, text: &str) -> SaveAnswer {
        let title = text.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        let content = text.to_owned();
        let project = Some("web".to_owned());
        let request = SaveRequest { title, content, project, ..SaveRequest::default() };
        self.ops.save(&self.caller, request).unwrap()
    }
}

// users: unnoticed duplicates, and warnings that nobody reads
#[test]
fn a_rewording_is_named_and_another_fact_is_not() {
    let home = Home::new();
    let facts: Vec<Vec<&str>> = FACTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .collect();
    let known: Vec<u64> = facts.iter().map(|fact| home.save(fact[0]).id).collect();
    let mut false_alarms = 0;
    for fact in &facts {
        false_alarms += usize::from(!home.save(fact[2]).similar.is_empty());
    }
    let mut named = 0;
    for (fact, id) in facts.iter().zip(&known) {
        let similar = home.save(fact[1]).similar;
        named += usize::from(similar.iter().any(|near| near.id == *id));
        false_alarms += similar.iter().filter(|near| near.id != *id).count();
    }
    assert_eq!(facts.len(), 36);
    assert!(named * 10 >= facts.len() * 9, "{named} of {} rewordings", facts.len());
    assert_eq!(false_alarms, 0);
}

// 1.11: two memories in four labelled parts are near by their labels alone, and say nothing of the same.
#[test]
fn the_form_of_a_memory_is_no_likeness() {
    let home = Home::new();
    home.save("**What**: we write SQL by hand with sqlx.\n**Why**: the ORM hid N+1 queries.\n**Where**: crates/store");
    let other = home.save("**What**: thumbnails are WebP.\n**Why**: smaller.");
    assert!(other.similar.is_empty(), "{other:?}");
    let again = home.save("**What**: thumbnails became WebP.\n**Why**: they are smaller.");
    assert_eq!(again.similar.first().map(|near| near.id), Some(other.id), "{again:?}");
}

// users: what agents write has one form and often the same reasons; what a save replaces is named all the same, alone
#[test]
fn what_a_save_replaces_is_named_in_the_form_that_agents_write() {
    let home = Home::new();
    let save = |title: &str, what: &str| {
        let why = "**Why**: the old way was slow and ops wanted fewer parts.";
        let request = SaveRequest {
            title: title.into(),
            content: format!("**What**: {what}\n{why}\n**Where**: src/config.rs"),
            project: Some("web".into()),
            ..SaveRequest::default()
        };
        home.ops.save(&home.caller, request).unwrap()
    };
    let known = [
        ("Staging runs on port 8443", "the staging server listens on 8443 behind nginx."),
        ("Return window is thirty days", "legal settled on thirty days from delivery."),
        ("Secrets come from Vault", "the deploy job reads them under kv/shop."),
        ("Emails are sent with Postmark", "Postmark handles bounces well."),
        ("Invoices are numbered per year", "numbers start at 1 each January."),
        ("Prices are integers in cents", "money is never kept as floats."),
        ("Thumbnails are WebP", "they are made at upload."),
        ("The worker ends on SIGTERM", "it finishes its job within thirty seconds."),
        ("Flags live in flags.yaml", "a change needs a restart."),
        ("Customers log in with magic links", "a link by mail is valid for fifteen minutes."),
        ("Orders are an event stream", "snapshots are taken every fifty."),
        ("The vendor CSV is Windows-1252", "the price list is decoded so."),
    ];
    let known: Vec<u64> = known.iter().map(|(title, what)| save(title, what).id).collect();
    let changes = [
        ("Staging moved to port 9443", "the staging server listens on 9443 now."),
        ("Return window is sixty days", "legal extended it to sixty days from delivery."),
        ("Secrets move to another manager", "the deploy job no longer reads them from Vault."),
    ];
    for ((title, what), replaced) in changes.into_iter().zip(known) {
        let named: Vec<u64> = save(title, what).similar.iter().map(|near| near.id).collect();
        assert_eq!(named, [replaced], "{title}");
    }
    for (title, what) in [
        ("Refunds need two approvals", "above 500 euro two people approve."),
        ("Screenshots are kept a week", "CI uploads those of failures."),
        ("Discounts cannot be combined", "one code per order."),
    ] {
        let saved = save(title, what);
        assert!(saved.similar.is_empty(), "{title}: {:?}", saved.similar);
    }
}

// The tenth copy is as near as the first.
#[test]
fn copies_do_not_hide_each_other() {
    let home = Home::new();
    for n in 0..12 {
        let saved = home.save(&format!("The nightly backup runs at three and keeps {n} days."));
        assert_eq!(saved.similar.len(), n.min(3), "{saved:?}");
    }
}

// ledger: what a save is similar to is looked for at a fixed cost, inside the project
#[test]
fn a_rewording_is_named_among_hundreds_that_share_its_common_words() {
    let home = Home::new();
    // More memories than a word may have to be looked at: these words lead nowhere.
    for n in 0..300 {
        home.save(&format!("The deploy of the server needs its config, case {n} of many"));
    }
    let known = home.save("The zeppelin cluster keeps its quorum in the basement of Antwerp").id;
    let again = home.save("In the basement of Antwerp the zeppelin cluster keeps its quorum");
    assert_eq!(again.similar.first().map(|near| near.id), Some(known), "{again:?}");
    let elsewhere = SaveRequest {
        title: "The zeppelin cluster keeps its quorum".into(),
        content: "The zeppelin cluster keeps its quorum in the basement of Antwerp".into(),
        project: Some("other".into()),
        ..SaveRequest::default()
    };
    let other = home.ops.save(&home.caller, elsewhere).unwrap();
    assert!(other.similar.is_empty(), "other projects are not looked at: {other:?}");
}
