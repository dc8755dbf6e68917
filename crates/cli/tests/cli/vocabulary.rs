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

/// A home with a memory of two versions, a rule that refers to it, a session and a proof.
struct Store {
    home: Home,
    /// Their ids: a decision, and a rule.
    decision: String,
    rule: String,
}

fn store() -> Store {
    let home = Home::new();
    home.run(&["session", "start", "s-1", "--project", "web"]).ok();
    let first = ["Use redb", "One file", "--type", "decision", "--session", "s-1"];
    let decision = home.save(&[&first[..], &["--project", "web"]].concat()).to_string();
    let rule = ["Never push on Fridays", "At all", "--kind", "rule", "--project", "web"];
    let rule = home.save(&rule).to_string();
    home.run(&["update", &decision, "--content", "One file, no threads"]).ok();
    home.run(&["prompt", "Please fix it", "--session", "s-1"]).ok();
    home.run(&["relate", &rule, "references", &decision]).ok();
    home.run(&["prove", &decision, "--out", "p"]).ok();
    Store { home, decision, rule }
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
    let Store { home, decision, rule } = &store();
    let line = br#"{"title":"t","type":"adr","memory_type":"Decision","session_id":"s-1"}"#;
    let saved = home.piped(&["save", "--lines"], line).ok().json();
    assert_eq!((&saved["type"], &saved["memory_type"]), (&"adr".into(), &"Decision".into()));
    has_no_old_words(&saved);
    for arguments in [
        &["save", "another", ""][..],
        &["get", decision],
        &["history", decision],
        &["find", "--type", "decision", "--form", "full"],
        &["search", "redb"],
        &["similar", decision],
        &["graph", decision],
        &["timeline", decision],
        &["context", "--project", "web"],
        &["context", "--project", "web", "--recent"],
        &["journal"],
        &["verify-proof", "p"],
        &["sessions"],
        &["prompts"],
        &["update", rule, "--session", "s-1", "--kind", "law"],
        &["journal", "--entry", "1"],
        &["archive", rule],
        &["delete", rule],
    ] {
        answers(home, arguments).iter().for_each(has_no_old_words);
    }
}

#[test]
fn what_has_a_title_has_its_type_and_its_time() {
    let Store { home, decision, rule } = &store();
    for arguments in [
        &["get", decision][..],
        &["history", decision],
        &["search", "redb"],
        &["similar", decision],
        &["verify-proof", "p"],
        &["archive", rule],
    ] {
        let answers = answers(home, arguments);
        let mut found = Vec::new();
        for answer in &answers {
            objects(answer, &mut found);
        }
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
    let Store { home, decision, .. } = &store();
    let got = &answers(home, &["get", decision])[0];
    let found = &answers(home, &["find", "--type", "decision"])[0]["items"][0];
    let proved = &answers(home, &["verify-proof", "p"])[0]["memory"];
    let version = &answers(home, &["history", decision])[0][1];
    let written = &answers(home, &["journal", "--kind", "write"])[0]["payload"];
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
