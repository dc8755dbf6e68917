//! What follows a search: what is near a memory, what was said around it, what it names, and whether it still holds.

use serde_json::Value;

use crate::support::Home;

fn ids(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap()).collect()
}

#[test]
fn similar_memories_are_near_and_filtered_before_they_are_counted() {
    let home = Home::new();
    let cats = home.save(&["Cats sleep sixteen hours a day", "--project", "pets"]);
    let naps = home.save(&["Kittens nap most of the day", "--project", "pets"]);
    let home_cat = home.save(&["A cat sleeps all day", "--project", "home"]);
    let store = home.save(&["The store is one file per actor", "--project", "pets"]);
    let id = cats.to_string();
    let view = home.run(&["similar", &id, "--json"]).ok().json();
    let near = ids(&view["hits"]);
    assert!(!near.contains(&cats), "itself is left out");
    let place = |id: u64| near.iter().position(|other| *other == id);
    assert!(place(naps) < place(store) || place(store).is_none(), "{near:?}");
    assert!(view["hits"][0]["tokens"].as_u64().unwrap() > 0);
    let one = home.run(&["similar", &id, "--project", "home", "--limit", "1", "--json"]).ok();
    assert_eq!(ids(&one.json()["hits"]), [home_cat]);
    let explained = home.run(&["similar", &id, "--explain"]).ok().out;
    assert!(explained.contains("meaning") && explained.contains("rank 1"), "{explained}");
    home.run(&["similar", "99"]).ends(3);
    home.run(&["similar", &id, "--limit", "0"]).ends(2);
}

#[test]
fn what_memories_name_is_listed_found_first_and_kept_current() {
    let home = Home::new();
    let named = home.save(&["Empty passwords", "The check in src/auth.rs came late."]);
    home.save(&["The auth module", "Auth of users: auth tokens, auth rs, src of auth, auth auth."]);
    let second = home.save(&["More", "See ./src/auth.rs and Cargo.toml.", "--project", "web"]);
    let list = |args: &[&str]| {
        let view = home.run(&[&["entities", "--json"], args].concat()).ok().json();
        let item = |e: &Value| format!("{} {}", e["memories"], e["value"].as_str().unwrap());
        view["entities"].as_array().unwrap().iter().map(item).collect::<Vec<_>>()
    };
    assert_eq!(list(&["--kind", "file"]), ["2 src/auth.rs", "1 Cargo.toml"]);
    assert_eq!(list(&["--project", "web"]), ["1 ./src/auth.rs", "1 Cargo.toml"]);
    for question in ["src/auth.rs", "what do we know about src/auth.rs?"] {
        let found = ids(&home.run(&["search", question, "--json"]).ok().json()["hits"]);
        let mut first = found[..2].to_vec();
        first.sort_unstable();
        assert_eq!(first, [named, second], "{question}");
    }
    home.run(&["update", &named.to_string(), "--content", "It moved to src/login.rs."]).ok();
    assert_eq!(list(&["--kind", "file", "--limit", "1"]), ["1 ./src/auth.rs"]);
    let found = ids(&home.run(&["search", "src/login.rs", "--json"]).ok().json()["hits"]);
    assert_eq!(found[0], named);
    home.run(&["erase", &named.to_string(), "--reason", "x"]);
    home.run(&["rebuild"]).ok();
    home.run(&["verify"]).ok();
    let error = home.run(&["entities", "--kind", "files"]).ends(2);
    assert!(error.err.contains("file, url"), "{error:?}");
}

#[test]
fn hits_say_what_replaces_and_what_contradicts_them() {
    let home = Home::new();
    let old = home.save(&["Deploys go out on Fridays"]);
    let new = home.save(&["Deploys go out on Tuesdays"]);
    let other = home.save(&["Deploys never go out"]);
    let [o, n, c] = [old, new, other].map(|id| id.to_string());
    home.run(&["relate", &n, "supersedes", &o]).ok();
    home.run(&["relate", &c, "contradicts", &n]).ok();
    let view = home.run(&["search", "deploys", "--json"]).ok().json();
    let hit = |id: u64| view["hits"].as_array().unwrap().iter().find(|h| h["id"] == id).unwrap();
    assert_eq!(hit(old)["standing"], "superseded");
    assert_eq!(hit(old)["superseded_by"][0]["title"], "Deploys go out on Tuesdays");
    assert_eq!(ids(&hit(old)["superseded_by"]), [new]);
    assert_eq!(ids(&hit(new)["contradicts"]), [other]);
    assert_eq!(ids(&hit(other)["contradicts"]), [new], "from both ends");
    let text = home.run(&["search", "deploys"]).ok().out;
    assert!(text.contains(&format!("superseded by {new}: Deploys go out on Tuesdays")), "{text}");
    home.run(&["forget", &n, "--reason", "x"]).ok();
    let view = home.run(&["search", "deploys", "--json"]).ok().json();
    let hit = |id: u64| view["hits"].as_array().unwrap().iter().find(|h| h["id"] == id).unwrap();
    assert_eq!(hit(old)["superseded_by"], serde_json::json!([]), "what is forgotten says nothing");
    assert_eq!(hit(other)["contradicts"], serde_json::json!([]));
}

#[test]
fn two_configurations_are_compared_on_the_same_questions() {
    let home = Home::new();
    let set = home.path().join("set");
    std::fs::create_dir(&set).unwrap();
    let lines = |n: std::ops::Range<u32>, line: &dyn Fn(u32) -> String| {
        n.map(line).collect::<Vec<_>>().join("\n")
    };
    let corpus = lines(0..12, &|n| {
        format!(r#"{{"_id":"d{n}","group":"g","session":"s{}","text":"about word{n}x"}}"#, n / 3)
    });
    let asked = lines(0..12, &|n| {
        format!(r#"{{"_id":"q{n}","group":"g","category":"easy","text":"word{n}x"}}"#)
    });
    let answers = lines(0..12, &|n| format!("q{n}\td{n}\t1"));
    std::fs::write(set.join("corpus.jsonl"), corpus).unwrap();
    std::fs::write(set.join("queries.jsonl"), asked).unwrap();
    std::fs::write(set.join("qrels.tsv"), format!("q\td\ts\n{answers}\n")).unwrap();
    let set = set.to_str().unwrap();
    let nothing = "words=0,meaning=0,interaction=0,session=0";
    let run = || home.run(&["eval", set, "--compare", nothing, "--ablation", "--json"]).ok().json();
    let view = run();
    for level in ["turn", "session"] {
        for measure in ["recall@5", "recall@10", "ndcg@10", "mrr"] {
            assert!(view[level][measure].is_f64(), "{level} {measure}");
            assert!(view[level]["categories"]["easy"][measure].is_f64(), "{level} {measure}");
            assert!(view["compare"][level][measure].is_f64(), "{level} {measure}");
        }
    }
    let difference = &view["compare"]["difference"]["turn"]["mrr"];
    assert!(difference["mean"].as_f64().unwrap() < -0.3, "{difference}");
    assert!(difference["p"].as_f64().unwrap() < 0.05, "{difference}");
    assert_eq!(run()["compare"]["difference"], view["compare"]["difference"], "the same again");
    let arms = view["ablation"].as_array().unwrap();
    assert_eq!((arms[0]["arms"].as_str(), arms.len()), (Some("words"), 8));
    let text = home.run(&["eval", set, "--compare", "words=30", "--ablation"]).ok().out;
    assert!(text.contains("B - A") && text.contains("+ meaning"), "{text}");
    let error = home.run(&["eval", set, "--categories", "nobody"]).ends(2);
    assert!(error.err.contains("no question has the category \"nobody\"; there are "), "{error:?}");
    let error = home.run(&["eval", set, "--weights", "wrods=1"]).ends(2);
    assert!(error.err.contains("wrods") && error.err.contains("interaction"), "{error:?}");
    // past 44: the same set, read as sessions.
    let view = home.run(&["eval", set, "--as", "past", "--json"]).ok().json();
    assert_eq!(view["turns"], 12);
    assert!((view["turn"]["mrr"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{view}");
    assert!(view["session"]["categories"]["easy"]["recall@10"].is_f64(), "{view}");
    let text = home.run(&["eval", set, "--as", "past", "--categories", "easy"]).ok().out;
    assert!(text.contains("12 texts") && text.contains("easy"), "{text}");
    home.run(&["eval", set, "--as", "past", "--categories", "nobody"]).ends(2);
    home.run(&["eval", set, "--as", "past", "--ablation"]).ends(2);
}
