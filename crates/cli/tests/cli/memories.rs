//! Saving, reading and changing, as scripts do it.

use crate::support::Home;

#[test]
fn a_saved_memory_has_an_id_and_a_uri_and_is_there_in_the_next_process() {
    let home = Home::new();
    let saved = home.run(&["save", "Title", "Content", "--json", "--tag", "b,a"]).ok().json();
    assert_eq!(saved["id"], 1);
    assert_eq!(saved["uri"], "cortex://default/Fact/1#1");
    assert_eq!((&saved["version"], &saved["seq"]), (&1.into(), &1.into()));
    assert_eq!(saved["root"], home.root());
    let read = home.run(&["get", saved["uri"].as_str().unwrap(), "--json"]).ok().json();
    assert_eq!(read["title"], "Title");
    assert_eq!(read["content"], "Content");
    assert_eq!(read["tags"], serde_json::json!(["a", "b"]));
}

#[test]
fn content_comes_from_a_pipe_or_a_dash() {
    let home = Home::new();
    let pipe = home.piped(&["save", "piped", "--json"], b"from a pipe\n").ok().json();
    let dash =
        home.piped(&["save", "dash", "-", "--json"], "zwei\nZeilen ä".as_bytes()).ok().json();
    let content = |id: &serde_json::Value| {
        home.run(&["get", &id.to_string(), "--json"]).ok().json()["content"].clone()
    };
    assert_eq!(content(&pipe["id"]), "from a pipe");
    assert_eq!(content(&dash["id"]), "zwei\nZeilen ä");
}

#[test]
fn a_retry_with_the_same_key_saves_once() {
    let home = Home::new();
    let arguments = ["save", "once", "", "--idempotency-key", "k1", "--json"];
    let first = home.run(&arguments).ok().json();
    let again = home.run(&arguments).ok().json();
    assert_eq!(first["id"], again["id"]);
    assert_eq!((&first["status"], &again["status"]), (&"created".into(), &"replayed".into()));
    let other = home.run(&["save", "other", "", "--idempotency-key", "k1", "--json"]).ends(4);
    assert_eq!(other.error()["code"], "idempotency_conflict");
}

#[test]
fn every_type_takes_its_fields() {
    let home = Home::new();
    for (name, fields) in [
        ("identity", &["name=Ada", "aliases=A", "aliases=Countess", "role=engineer"][..]),
        ("goal", &["status=paused", "due=2026-01-31", "criteria=works"]),
        ("preference", &["topic=tea", "polarity=avoid", "strength=0.5"]),
        ("constraint", &["strength=hard", "trigger=deploy"]),
        ("decision", &["rationale=why", "alternatives=a", "status=rejected"]),
        ("fact", &["subject=s", "predicate=p", "object=o", "as_of=2026-01-31T10:00:00Z"]),
        ("pattern", &["strength=0.25", "coverage=3", "evidence=1"]),
        ("event", &["happened_at=2026-01-31", "outcome=failure", "participants=Bob"]),
        ("artifactref", &["uri=file:///x", "digest=d", "media_type=text/plain", "size=12"]),
    ] {
        let mut arguments = vec!["save", "t", "", "--type", name, "--json"];
        arguments.extend(fields.iter().flat_map(|field| ["--field", field]));
        let id = home.run(&arguments).ok().json()["id"].to_string();
        let read = home.run(&["get", &id, "--json"]).ok().json();
        for field in fields {
            let key = field.split('=').next().unwrap();
            assert!(!read["fields"][key].is_null(), "{name} {key}: {read}");
        }
    }
}

#[test]
fn actors_do_not_see_each_other_and_reading_makes_none() {
    let home = Home::new();
    home.run(&["--actor", "ada", "save", "hers", ""]).ok();
    home.run(&["--actor", "bob", "get", "1"]).ends(3);
    assert_eq!(home.run(&["actors"]).ok().out, "ada\n");
    // A URI names its actor.
    let read = home.run(&["get", "cortex://ada/Fact/1#1", "--json"]).ok().json();
    assert_eq!(read["title"], "hers");
    home.run(&["--actor", "bob", "save", "his", ""]).ok();
    home.run(&["--actor", "bob", "get", "cortex://ada/Fact/1#1"]).ends(2);
}

#[test]
fn erased_content_is_gone_from_every_file() {
    let home = Home::new();
    home.save(&["secretsauce", "the recipe is xyzzyplugh"]);
    home.run(&["update", "1", "--content", "still xyzzyplugh here"]).ok();
    let holds = |text: &str| {
        ["derived.redb", "ledger/00000000000000000001.log"].iter().any(|file| {
            let bytes = std::fs::read(home.path().join("actors/default").join(file)).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    };
    assert!(holds("xyzzyplugh"));
    home.run(&["erase", "1", "--reason", "asked to", "--yes"]).ok();
    assert!(!holds("xyzzyplugh") && !holds("secretsauce"));
    home.run(&["verify"]).ok();
}

#[test]
fn an_update_keeps_what_it_does_not_change() {
    let home = Home::new();
    home.save(&["t", "c", "--type", "goal", "--field", "due=2026-01-31", "--confidence", "0.5"]);
    home.run(&["update", "1", "--title", "t2"]).ok();
    home.run(&["update", "1", "--field", "status=done", "--tag", "x"]).ok();
    let read = home.run(&["get", "1", "--json"]).ok().json();
    assert_eq!(read["version"], 3);
    assert_eq!((&read["title"], &read["content"]), (&"t2".into(), &"c".into()));
    assert_eq!(read["fields"]["due"], "2026-01-31T00:00:00.000Z");
    assert_eq!(read["fields"]["status"], "done");
    assert_eq!(read["confidence"], 0.5);
    // A version in the id is an expectation.
    assert_eq!(
        home.run(&["forget", "1#2", "--reason", "x", "--json"]).ends(4).error()["code"],
        "version_conflict"
    );
    home.run(&["forget", "1#3", "--reason", "x"]).ok();
}

#[test]
fn pages_of_a_find_join_without_gap_or_overlap() {
    let home = Home::new();
    let lines: String = (0..25).map(|n| format!("{{\"title\":\"m{n}\"}}\n")).collect();
    home.piped(&["save", "--lines"], lines.as_bytes()).ok();
    let mut seen = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let mut arguments = vec!["find", "--type", "fact", "--limit", "10", "--json"];
        if let Some(cursor) = &cursor {
            arguments.extend(["--cursor", cursor.as_str()]);
        }
        let page = home.run(&arguments).ok().json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|i| i["id"].as_u64().unwrap()));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=25).collect::<Vec<u64>>());
}

#[test]
fn a_question_in_ordinary_words_finds_the_memory() {
    let home = Home::new();
    home.save(&[
        "Login failed on empty password",
        "The check came after the hash.",
        "--kind",
        "bugfix",
    ]);
    home.save(&["Use redb for the store", "One file per actor.", "--type", "decision"]);
    let view =
        home.run(&["search", "which", "storage", "did", "we", "choose", "--json"]).ok().json();
    assert_eq!(view["hits"][0]["id"], 2);
    assert_eq!(view["hits"][0]["title"], "Use redb for the store");
    let explained = home.run(&["search", "empty passwords", "--explain"]).ok().out;
    assert!(explained.contains("Login failed") && explained.contains("words"), "{explained}");
    let none = home.run(&["search", "storage", "--type", "goal", "--json"]).ok().json();
    assert_eq!(none["hits"], serde_json::json!([]));
    home.run(&["search", "x", "--limit", "0"]).ends(2);
    home.run(&["forget", "2", "--reason", "x"]).ok();
    let hidden = home.run(&["search", "redb", "--json"]).ok().json();
    assert!(hidden["hits"].as_array().unwrap().iter().all(|hit| hit["id"] != 2));
    home.run(&["rebuild"]).ok();
    home.run(&["verify"]).ok();
}

#[test]
fn a_labelled_set_is_measured() {
    let home = Home::new();
    let set = home.path().join("set");
    std::fs::create_dir(&set).unwrap();
    let corpus = [
        concat!(
            r#"{"_id":"a","group":"g","session":"s1","time":"1:56 pm on 8 May, 2023","#,
            r#""speaker":"Ann","text":"I adopted a puppy."}"#,
        ),
        r#"{"_id":"b","group":"g","session":"s2","time":"2023-06-01","speaker":"Bob","text":"The roof leaks again."}"#,
    ];
    std::fs::write(set.join("corpus.jsonl"), corpus.join("\n")).unwrap();
    let question = r#"{"_id":"q","group":"g","category":"pets","text":"Which dog does Ann have?"}"#;
    std::fs::write(set.join("queries.jsonl"), question).unwrap();
    std::fs::write(set.join("qrels.tsv"), "query\tdocument\tscore\nq\ta\t1\n").unwrap();
    let view = home.run(&["eval", "set", "--json"]).ok().json();
    assert_eq!((&view["turn"]["recall@5"], &view["session"]["mrr"]), (&1.0.into(), &1.0.into()));
    assert_eq!(view["turn"]["categories"]["pets"]["questions"], 1);
    std::fs::write(set.join("queries.jsonl"), "not json").unwrap();
    home.run(&["eval", "set"]).ends(2);
    home.run(&["eval", "nowhere"]).ends(3);
}
