//! A run that goes on with another talent.

use super::*;

const FRONT_DESK: &str = "{\n\"tools\": [\"hand_over\", \"memory_recall\"],\n\"output\": \"md\"\n}\n\
                          Send each to the right one.";
const EXPERT: &str = "{\n\"tools\": [\"memory_recall\", \"memory_save\"],\n\"grant\": \"write\"\n}\n\
                      You know about tea.";

#[expect(clippy::unnecessary_wraps, reason = "a script is made of what a provider may answer")]
fn hand(id: &'static str, to: &str, prompt: &str) -> Result<ModelReply, ProviderError> {
    Ok(calling(&[(id, "hand_over", json!({"talent": to, "prompt": prompt}))]))
}

fn desk(replies: Vec<Result<ModelReply, ProviderError>>) -> Stage {
    let files = [("talent/desk.md", FRONT_DESK), ("talent/expert.md", EXPERT)];
    stage(replies, &files)
}

fn ask() -> Value {
    json!({"use_id": "1", "name": "desk", "prompt": "Which tea?", "day": "20250109"})
}

#[tokio::test]
async fn the_other_talent_answers_in_the_same_run() {
    // execution R65
    let read = Ok(calling(&[("b", "memory_recall", json!({"query": "tea"}))]));
    let stage =
        desk(vec![hand("a", "expert", "Say which tea Ada likes."), read, Ok(reply("Green."))]);
    let events = stage.one(ask()).await;
    let told = names(&events);
    let change = events.iter().find(|event| event["event"] == "talent_updated").unwrap();
    assert_eq!((&change["agent"], &change["from"]), (&json!("expert"), &json!("desk")));
    assert!(change["ts"].is_i64() && change["use_id"] == "1");
    let place = told.iter().position(|name| *name == "talent_updated").unwrap();
    assert_eq!(told[place - 1], "tool_end", "the call that asked for it has ended");
    assert_eq!(told.iter().filter(|name| **name == "start").count(), 1);
    let finish = events.last().unwrap();
    assert_eq!((&finish["result"], &finish["cited"]), (&json!("Green."), &json!([7, 9])));
    // What the run writes is still the talent's that began.
    let path = stage.dir.path().join("chronicle/20250109/talents/desk.md");
    assert_eq!(fs::read_to_string(path).unwrap(), "Green.\n");
    let calls = stage.script.calls.lock().unwrap();
    let ChatMessage::User { text } = &calls[1].messages[0] else { panic!() };
    assert_eq!(calls[1].messages.len(), 1, "it knows what it was told, and nothing else");
    assert!(text.contains("You know about tea.") && text.ends_with("Say which tea Ada likes."));
    assert!(!text.contains("Which tea?"), "{text}");
    assert_eq!(calls[1].model, calls[0].model);
    let tools: Vec<&str> = calls[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["memory_recall"], "who takes over may do no more than who hands over");
}

#[tokio::test]
async fn a_handover_that_cannot_be_is_an_answer_to_the_model() {
    let odd = [
        ("1", "hand_over", json!({"talent": "nobody", "prompt": "x"})),
        ("2", "hand_over", json!({"talent": "desk", "prompt": "x"})),
        ("3", "hand_over", json!({"talent": "activity", "prompt": "x"})),
        ("4", "hand_over", json!({"talent": "expert"})),
        ("5", "hand_over", json!({"talent": "../x", "prompt": "x"})),
    ];
    let stage = desk(vec![Ok(calling(&odd)), Ok(reply("Mine."))]);
    let events = stage.one(ask()).await;
    assert!(!names(&events).contains(&"talent_updated"));
    assert_eq!(events.last().unwrap()["result"], "Mine.");
    let calls = stage.script.calls.lock().unwrap();
    let Some(ChatMessage::Results { results }) = calls[1].messages.last() else { panic!() };
    assert_eq!(results.iter().filter(|result| result.failed).count(), odd.len(), "{results:?}");
}

#[tokio::test]
async fn talents_that_send_each_other_back_and_forth_come_to_an_end() {
    let both = "{\n\"tools\": [\"hand_over\"],\n\"max_turns\": 20\n}\nNot mine.";
    let files = [("talent/ping.md", both), ("talent/pong.md", both)];
    let mut replies: Vec<_> = (0..6)
        .map(|turn| hand("h", if turn % 2 == 0 { "pong" } else { "ping" }, "You do it."))
        .collect();
    replies.push(Ok(reply("Well, then.")));
    let stage = stage(replies, &files);
    let events = stage.one(json!({"use_id": "1", "name": "ping", "prompt": "Go"})).await;
    assert_eq!(names(&events).iter().filter(|name| **name == "talent_updated").count(), 4);
    assert_eq!(events.last().unwrap()["result"], "Well, then.");
}
