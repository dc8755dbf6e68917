//! One vocabulary in every `--json`: a memory's words are the same whichever command shows it.

use serde_json::Value;

use crate::support::Home;

/// What the words were called once. A kind of journal entry stands beside its payload and is no word of a memory.
const OLD_WORDS: [&str; 4] = ["kind", "created", "updated", "session"];
/// What every object with a title says besides.
const WORDS: [&str; 3] = ["type", "memory_type", "created_at"];

/// Every object inside, itself included.
fn objects<'v>(value: &'v Value, found: &mut Vec<&'v serde_json::Map<String, Value>>) {
    match value {
        Value::Object(object) => {
            found.push(object);
            object.values().for_each(|value| objects(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        _ => {}
    }
}

/// A home with a memory of two versions, a superseded one, a session and a proof.
fn home() -> Home {
    let home = Home::new();
    let first = ["Use redb", "One file", "--type", "decision", "--session", "s-1"];
    home.save(&[&first[..], &["--project", "web"]].concat());
    home.save(&["Never push on Fridays", "At all", "--kind", "rule", "--project", "web"]);
    home.run(&["session", "start", "s-1", "--project", "web"]).ok();
    home.run(&["update", "1", "--content", "One file, no threads", "--session", "s-1"]).ok();
    home.run(&["prompt", "Please fix it", "--session", "s-1"]).ok();
    home.run(&["relate", "2", "references", "1"]).ok();
    home.run(&["prove", "1", "--out", "p"]).ok();
    home
}

fn answers(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let ran = home.run(&[arguments, &["--json"]].concat()).ok();
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn has_no_old_words(answer: &Value) {
    let mut found = Vec::new();
    objects(answer, &mut found);
    for object in found {
        for word in OLD_WORDS {
            // A session in full is an object; an entry of the journal has a kind of its own.
            let is_other = object.get(word).is_none_or(Value::is_object)
                || (word == "kind" && object.contains_key("payload"));
            assert!(is_other, "{word} in {object:?}");
        }
    }
}

#[test]
fn no_answer_has_an_old_word() {
    let home = home();
    let line = br#"{"title":"t","type":"adr","memory_type":"Decision","session_id":"s-1"}"#;
    let saved = home.piped(&["save", "--lines"], line).ok().json();
    assert_eq!((&saved["type"], &saved["memory_type"]), (&"adr".into(), &"Decision".into()));
    has_no_old_words(&saved);
    for arguments in [
        &["save", "another", ""][..],
        &["get", "1"],
        &["history", "1"],
        &["find", "--type", "decision", "--form", "full"],
        &["search", "redb"],
        &["similar", "1"],
        &["graph", "1"],
        &["timeline", "1"],
        &["context", "--project", "web"],
        &["context", "--project", "web", "--recent"],
        &["journal"],
        &["verify-proof", "p"],
        &["sessions"],
        &["prompts"],
        &["update", "2", "--session", "s-1", "--kind", "law"],
        &["journal", "--entry", "1"],
        &["archive", "2"],
        &["delete", "2"],
    ] {
        answers(&home, arguments).iter().for_each(has_no_old_words);
    }
}

#[test]
fn what_has_a_title_has_its_type_and_its_time() {
    let home = home();
    for arguments in [
        &["get", "1"][..],
        &["history", "1"],
        &["search", "redb"],
        &["similar", "1"],
        &["verify-proof", "p"],
        &["archive", "2"],
    ] {
        let answers = answers(&home, arguments);
        let mut found = Vec::new();
        answers.iter().for_each(|answer| objects(answer, &mut found));
        found.retain(|object| object.contains_key("title"));
        assert!(!found.is_empty(), "{arguments:?} shows no memory");
        for object in found {
            for word in WORDS {
                assert!(object[word].is_string(), "{arguments:?}: no {word} in {object:?}");
            }
        }
    }
}

#[test]
fn the_same_memory_has_the_same_words_everywhere() {
    let home = home();
    let got = &answers(&home, &["get", "1"])[0];
    let found = &answers(&home, &["find", "--type", "decision"])[0]["items"][0];
    let proved = &answers(&home, &["verify-proof", "p"])[0]["memory"];
    let version = &answers(&home, &["history", "1"])[0][1];
    let written = &answers(&home, &["journal", "--kind", "write"])[0]["payload"];
    for word in ["type", "memory_type", "project"] {
        for other in [found, proved, version, written] {
            assert_eq!(got[word], other[word], "{word}");
        }
    }
    for word in ["session_id", "created_at", "updated_at", "uri", "version", "id", "tags"] {
        assert_eq!((&got[word], &got[word]), (&found[word], &proved[word]), "{word}");
    }
    assert_eq!(got["session_id"], written["session_id"]);
    for word in proved.as_object().unwrap().keys() {
        assert_eq!(got[word], proved[word], "{word}");
    }
}

#[test]
fn a_line_with_an_old_word_is_told_the_new_one() {
    let home = Home::new();
    for (line, new) in [
        (&br#"{"title":"t","kind":"adr"}"#[..], "\"type\""),
        (br#"{"title":"t","session":"s"}"#, "\"session_id\""),
    ] {
        let answer = home.piped(&["save", "--lines"], line).ends(2).out;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["code"], "invalid");
        assert!(answer["error"]["message"].as_str().unwrap().contains(new), "{answer}");
    }
}
