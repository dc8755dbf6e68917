//! A run that goes well, and what is skipped, reused, shaped and written.

use super::*;

#[tokio::test]
async fn a_chat_uses_tools_and_cites_what_it_read() {
    // execution R47, R48, R57, R58, R61-R64, R66, R69, R72, R73
    let two = [
        ("t1", "memory_recall", json!({"query": "tea"})),
        ("t2", "get_facet", json!({"name": "nobody"})),
    ];
    let stage = stage(vec![Ok(calling(&two)), Ok(reply("Tea."))], &[]);
    let events = stage.one(json!({"use_id": "17", "ts": 17, "prompt": "What do I like?"})).await;
    let told = names(&events);
    assert_eq!(told[..2], ["start", "warning"], "tools that are not here are named");
    let told: Vec<&str> = told.into_iter().filter(|name| *name != "warning").collect();
    assert_eq!(told[..4], ["start", "thinking", "text_delta", "usage"]);
    assert_eq!(told[4], "thinking");
    assert_eq!(told[5..9].iter().filter(|name| **name == "tool_start").count(), 2);
    assert_eq!(told[9..], ["thinking", "text_delta", "usage", "finish"]);
    for event in &events {
        assert_eq!(event["use_id"], "17");
        assert!(event["ts"].is_i64());
    }
    let ends: Vec<&Value> = events.iter().filter(|event| event["event"] == "tool_end").collect();
    for end in &ends {
        let start = events
            .iter()
            .find(|event| event["event"] == "tool_start" && event["call_id"] == end["call_id"]);
        assert_eq!(start.unwrap()["args"], end["args"]);
    }
    assert!(
        ends.iter().any(|end| end["result"]["error"]
            .as_str()
            .is_some_and(|text| text.contains("no facet")))
    );
    let finish = events.last().unwrap();
    assert_eq!(finish["result"], "Tea.");
    assert_eq!(finish["cited"], json!([7, 9]), "every memory that was read, once");
    assert_eq!(finish["usage"]["input_tokens"], 200);
    assert_eq!(finish["usage"]["requests"], 2);
    assert!(finish["cost"].as_f64().unwrap() > 0.0);
    assert_eq!(finish["provider"], "anthropic");
    let calls = stage.script.calls.lock().unwrap();
    let ChatMessage::User { text } = &calls[0].messages[0] else { panic!() };
    assert!(text.contains("Ada likes tea.") && text.ends_with("What do I like?"), "{text}");
    assert_eq!(calls[1].messages.len(), 3);
}

#[tokio::test]
async fn a_generator_writes_its_output_before_it_finishes() {
    // execution R33, R38, R39, R44, R75, R79, R80
    let stage = stage(vec![Ok(reply("# Release moved\n")), Ok(reply("# Again"))], &segment());
    let events = stage.one(activity()).await;
    assert_eq!(names(&events), ["start", "thinking", "text_delta", "usage", "finish"]);
    let path = stage.dir.path().join("chronicle/20250109/120000_300/activity.md");
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Release moved\n");
    assert_eq!(events[4]["output_path"], path.to_str().unwrap());
    {
        let calls = stage.script.calls.lock().unwrap();
        let ChatMessage::User { text } = &calls[0].messages[0] else { panic!() };
        assert!(text.contains(TALK) && calls[0].tools.is_empty());
        assert_eq!(calls[0].max_output_tokens, Some(4_000));
    }
    let again = stage.one(activity()).await;
    assert_eq!(names(&again), ["finish"], "what is there is reused");
    assert_eq!(again[0]["result"], "# Release moved\n");
    let mut refresh = activity();
    refresh["refresh"] = json!(true);
    stage.one(refresh).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Again\n");
}

#[tokio::test]
async fn nothing_to_read_and_switched_off_are_skips_and_ask_nobody() {
    // execution R50, R51
    let files = [
        ("chronicle/20250109/120000_300/note.txt", "Hm."),
        ("talent/off.md", "{\n\"disabled\": true,\n\"output\": \"md\"\n}\nX"),
        ("talent/thin.md", "{\n\"output\": \"md\"\n}\nX"),
    ];
    let stage = stage(Vec::new(), &files);
    let mut empty = activity();
    empty["segment"] = json!("120000_300");
    let skipped = |events: &[Value]| events.last().unwrap()["skipped"].as_str().unwrap().to_owned();
    assert_eq!(skipped(&stage.one(empty).await), "no_input");
    assert_eq!(
        skipped(&stage.one(json!({"use_id": "2", "name": "thin", "day": "20250108"})).await),
        "no_input"
    );
    assert_eq!(
        skipped(&stage.one(json!({"use_id": "3", "name": "off", "day": "20250109"})).await),
        "disabled"
    );
    assert!(stage.script.calls.lock().unwrap().is_empty());
}

// T17, execution R127
#[tokio::test]
async fn json_is_repaired_once_and_else_not_written() {
    let odd =
        "Here:\n```json\n[{\"facet\": \"work\", \"activity\": \"a\", \"level\": \"odd\"}]\n```";
    let good = odd.replace("odd", "high");
    let talk = || Ok(reply("no JSON at all"));
    let stage = stage(vec![Ok(reply(odd)), Ok(reply(&good)), talk(), talk()], &segment());
    let mut request = activity();
    request["name"] = json!("facets");
    request["output"] = json!("json");
    let events = stage.one(request.clone()).await;
    let finish = events.last().unwrap();
    assert_eq!(finish["schema_validation"]["valid"], true);
    assert_eq!(finish["usage"]["requests"], 2);
    let path = stage.dir.path().join("chronicle/20250109/120000_300/facets.json");
    let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written[0]["level"], "high");
    {
        let calls = stage.script.calls.lock().unwrap();
        assert!(calls[0].schema.is_some());
        let Some(ChatMessage::User { text }) = calls[1].messages.last() else { panic!() };
        assert!(text.contains("$[0].level"), "{text}");
    }
    request["refresh"] = json!(true);
    let events = stage.one(request).await;
    let error = events.last().unwrap();
    assert_eq!(error["event"], "error");
    assert_eq!(error["reason_code"], "provider_response_invalid");
    assert!(error["error"].as_str().unwrap().contains("no JSON"));
    assert_eq!(fs::read_to_string(&path).unwrap().trim(), format!("{written:#}"), "as it was");
}

#[tokio::test]
async fn an_output_that_cannot_be_written_is_a_warning() {
    // execution R81
    let stage = stage(vec![Ok(reply("Text"))], &segment());
    fs::create_dir_all(stage.dir.path().join("chronicle/20250109/120000_300/activity.md/x"))
        .unwrap();
    let events = stage.one(activity()).await;
    let finish = events.last().unwrap();
    assert_eq!(
        (finish["event"].as_str(), finish["result"].as_str()),
        (Some("finish"), Some("Text"))
    );
    assert!(finish["warnings"][0].as_str().unwrap().contains("not written"));
    assert!(finish["output_path"].is_null());
}

#[tokio::test]
async fn without_a_provider_what_is_there_can_still_be_read() {
    let mut stage = stage(Vec::new(), &segment());
    stage.process.resolver = Resolver::new(ProviderSettings::default(), Vec::new());
    let events = stage.one(activity()).await;
    assert_eq!(events.last().unwrap()["reason_code"], "no_model");
    fs::write(stage.dir.path().join("chronicle/20250109/120000_300/activity.md"), "There").unwrap();
    let events = stage.one(activity()).await;
    assert_eq!(events.last().unwrap()["result"], "There");
}

#[tokio::test]
async fn a_dry_run_tells_all_and_asks_nobody() {
    let mut stage = stage(Vec::new(), &segment());
    stage.process.dry_run = true;
    let events = stage.one(activity()).await;
    assert_eq!(names(&events), ["dry_run", "finish"]);
    assert_eq!(events[0]["type"], "generate");
    assert!(events[0]["transcript_files"][0].as_str().unwrap().ends_with("note.txt"));
    assert!(stage.script.calls.lock().unwrap().is_empty());
}

// kernel 46
#[tokio::test]
async fn a_talent_that_asks_for_the_bundle_gets_it_and_does_not_start_without() {
    let talent = "{\n\"tools\": []\n}\nKnow this:\n{cortex.bundle}\nGo.";
    let stage = stage(vec![Ok(reply("Done."))], &[("talent/brew.md", talent)]);
    let ask = |prompt: &str| json!({"use_id": "1", "name": "brew", "prompt": prompt});
    let events = stage.one(ask("tea")).await;
    assert_eq!(events.last().unwrap()["event"], "finish", "{events:#?}");
    {
        let calls = stage.script.calls.lock().unwrap();
        let ChatMessage::User { text } = &calls[0].messages[0] else { panic!() };
        // What a memory says is text: nothing in it is run as a template.
        assert!(text.contains("Know this:\nAbout tea: {{ 7 * 6 }} cups.\nGo."), "{text}");
    }
    let events = stage.one(ask("silence")).await;
    let last = events.last().unwrap();
    assert_eq!(last["event"], "error", "{events:#?}");
    assert!(last["error"].as_str().unwrap().contains("{cortex.bundle}"), "{last}");
    assert_eq!(stage.script.calls.lock().unwrap().len(), 1, "no model was asked");
}
