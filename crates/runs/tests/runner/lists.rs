//! Listing, the index, retention and the doctor.

use api::run::{RunQuery, RunScope, RunStatus};
use jiff::tz::TimeZone;
use runs::runner::RunnerSettings;
use runs::runner::log::index::RunIndex;
use serde_json::json;
use talents::{TalentName, UseId};

use crate::support::{Home, quick};

// execution 2.11, 9.14, 9.21
#[tokio::test]
async fn runs_are_listed_from_an_index_that_can_be_made_again() {
    let home = Home::new(quick()).await;
    for index in 0..5 {
        let request = json!({"name": "chat", "facet": "work", "chat_id": format!("c{index}")});
        home.run_with(request, if index == 3 { "exit 1" } else { "finish" }).await;
    }
    home.run("finish").await;
    let query =
        RunQuery { name: Some("chat".to_owned()), limit: 2, offset: 1, ..RunQuery::default() };
    let list = home.runner.list(RunScope::All, &query);
    assert_eq!((list.total, list.has_more, list.runs.len()), (5, true, 2));
    assert_eq!(list.runs[0].chat_id.as_deref(), Some("c3"));
    assert_eq!(list.runs[0].status, RunStatus::Error);
    // execution R31, R56: from a chat to its runs
    let of_chat = RunQuery { chat_id: Some("c2".to_owned()), ..RunQuery::default() };
    assert_eq!(home.runner.list(RunScope::Historical, &of_chat).total, 1);

    let all = RunQuery { limit: 100, ..RunQuery::default() };
    let before = home.runner.list(RunScope::Historical, &all);
    let day = &before.runs[0].day;
    let file = home.folder.path().join(format!("talents/{day}.jsonl"));
    std::fs::write(&file, "spoiled\n").expect("written");
    let mut index = RunIndex::open(&home.layout, TimeZone::system()).expect("readable");
    assert_eq!(index.rebuild().expect("rebuilt"), 6);
    assert_eq!(index.page(&all).0, before.runs);
    assert_eq!(std::fs::read_to_string(&file).expect("an index").lines().count(), 6);
    assert!(home.runner.doctor().await.expect("readable").is_empty());
}

#[tokio::test]
async fn the_doctor_names_what_is_wrong() {
    let home = Home::new(quick()).await;
    let log = home.run("say tool_start ',\"call_id\":\"c1\"'; finish").await;
    let run = UseId::parse(log.events[0]["use_id"].as_str().expect("an id")).expect("an id");
    let name = TalentName::parse("default").expect("a name");
    let folder = home.layout.runs_of(&name);
    std::fs::write(folder.join("5_active.jsonl"), "{\"event\":\"request\"}\n").expect("written");
    std::fs::write(folder.join("6.jsonl"), "{\"event\":\"info\"}\nnothing\n{\"ev")
        .expect("written");
    let gone = home.run("finish").await;
    let gone = UseId::parse(gone.events[0]["use_id"].as_str().expect("an id")).expect("an id");
    std::fs::remove_file(home.layout.ended_run(&name, &gone)).expect("removed");
    let mut codes: Vec<(String, &str)> = home
        .runner
        .doctor()
        .await
        .expect("readable")
        .iter()
        .map(|finding| (finding.run.clone().unwrap_or_default(), finding.code))
        .collect();
    codes.sort();
    let mut expected = vec![
        ("5".to_owned(), "orphan_active"),
        ("6".to_owned(), "bad_lines"),
        ("6".to_owned(), "no_request"),
        ("6".to_owned(), "no_terminal"),
        ("6".to_owned(), "not_in_index"),
        ("6".to_owned(), "torn"),
        (run.to_string(), "unpaired_tool"),
        (gone.to_string(), "index_without_log"),
    ];
    expected.sort();
    assert_eq!(codes, expected);
}

#[tokio::test]
async fn old_and_surplus_runs_go_and_live_ones_stay() {
    let settings = RunnerSettings { keep_runs_per_talent: 2, keep_days: 30, ..quick() };
    let home = Home::new(settings).await;
    let old = home
        .run_with(json!({"use_id": "1000000000000", "name": "old"}), "echo x >&2; finish")
        .await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        let log = home.run("finish").await;
        runs.push(log.events[0]["use_id"].as_str().expect("an id").to_owned());
    }
    let live = home.begin(json!({}), "while :; do sleep 0.05; done").await;
    let removed: Vec<String> =
        home.runner.sweep().await.expect("swept").iter().map(ToString::to_string).collect();
    assert_eq!(removed, [runs[0].as_str(), old.events[0]["use_id"].as_str().expect("an id")]);
    assert!(!home.folder.path().join("talents/old/1000000000000.stderr").exists());
    assert!(std::fs::symlink_metadata(home.folder.path().join("talents/old.log")).is_err());
    let list = home.runner.list(RunScope::All, &RunQuery::default());
    assert_eq!((list.total, list.live.len()), (2, 1));
    assert!(home.runner.sweep().await.expect("swept").is_empty());
    home.runner.cancel(&runs::runner::RunSelector::Run(live.clone()));
    home.end_of(&live).await;
    assert!(home.runner.doctor().await.expect("readable").is_empty());
}
