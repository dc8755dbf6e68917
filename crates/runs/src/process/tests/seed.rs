//! Lines of the seed that a request and a talent must keep, one by one.

use super::*;

fn talent(name: &str, front: &str) -> (String, String) {
    (format!("talent/{name}.md"), format!("{{\n{front}\n}}\nDo it."))
}

fn staged(replies: Vec<Result<ModelReply, ProviderError>>, talents: &[(String, String)]) -> Stage {
    let files: Vec<(&str, &str)> = talents
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .chain(segment())
        .collect();
    stage(replies, &files)
}

fn first<'a>(events: &'a [Value], name: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("{events:#?}"))
}

#[tokio::test]
async fn what_a_request_asks_for_stands_over_the_talent_and_the_settings() {
    // execution R27, R28, R29, R36, R87: talent, request over it, then provider and model from context and tier
    let limits = talent("t", "\"tools\": [],\n\"max_tokens\": 900,\n\"thinking_budget\": 300");
    let mut stage = staged(vec![Ok(reply("A")), Ok(reply("B")), Ok(reply("C"))], &[limits]);
    let settings: ProviderSettings = serde_json::from_value(json!({
        "default": {"provider": "anthropic"},
        "contexts": {"talent.user.t": {"tier": 1}, "talent.*": {"tier": 3}},
    }))
    .unwrap();
    stage.process.resolver = Resolver::new(settings, Vec::new());
    let plain = stage.one(json!({"use_id": "1", "name": "t", "prompt": "x"})).await;
    let asked = json!({
        "use_id": "2", "name": "t", "prompt": "x", "provider": "google",
        "max_output_tokens": 77, "thinking_budget": 55,
    });
    let over = stage.one(asked).await;
    stage.one(json!({"use_id": "3", "name": "default", "prompt": "x"})).await;
    let calls = stage.script.calls.lock().unwrap();
    let of = |place: usize| {
        let call: &ModelRequest = &calls[place];
        (call.model.as_str(), call.max_output_tokens, call.thinking_budget)
    };
    let model = |provider: &str, tier: usize| llm::models::built_in(provider).unwrap().models[tier];
    assert_eq!(of(0), (model("anthropic", 0), Some(900), Some(300)), "the exact context's tier");
    assert_eq!(of(1), (model("google", 0), Some(77), Some(55)), "another provider, the same tier");
    assert_eq!(calls[2].model, model("anthropic", 2), "the glob's tier");
    // What is told is what was used.
    assert_eq!(first(&plain, "start")["model"], calls[0].model.as_str());
    let told = first(&over, "start");
    assert_eq!((&told["provider"], &told["model"]), (&json!("google"), &json!(calls[1].model)));
}

#[tokio::test]
async fn a_generator_is_asked_for_in_the_words_of_the_seed() {
    // execution R40, R41, R46, R47, R48: its own segment is read and no other, and its events are those of every talent
    let stage = stage(
        vec![Ok(reply("# Noon"))],
        &[
            ("chronicle/20250109/120000_300/note.txt", TALK),
            (
                "chronicle/20250109/150000_300/note.txt",
                "Something else altogether was said at three.",
            ),
        ],
    );
    let request = json!({
        "event": "request", "ts": 1_234_567_890_123_u64, "name": "activity", "day": "20250109",
        "output": "md", "segment": "120000_300", "refresh": false, "provider": "google",
        "model": "gemini-2.0-flash",
    });
    let events = stage.one(request).await;
    assert_eq!(names(&events), ["start", "thinking", "text_delta", "usage", "finish"]);
    assert!(events.iter().all(|event| event["use_id"] == "1234567890123" && event["ts"].is_i64()));
    assert_eq!(events[0]["model"], "gemini-2.0-flash");
    assert_eq!(events[4]["result"], "# Noon");
    let calls = stage.script.calls.lock().unwrap();
    let ChatMessage::User { text } = &calls[0].messages[0] else { panic!() };
    assert!(text.contains(TALK) && !text.contains("Something else"), "{text}");
}

#[tokio::test]
async fn an_agent_with_an_output_writes_its_report_of_the_day() {
    // execution R34, R75, R76, R77, R82: the frontmatter alone says that it is written; today is the day that
    // nobody names
    let report = talent(
        "report",
        "\"schedule\": \"daily\",\n\"priority\": 40,\n\"output\": \"md\",\n\"tools\": [\"memory_recall\"]",
    );
    let stage = staged(vec![Ok(reply("Quiet.")), Ok(reply("Busy."))], &[report]);
    let scheduled = json!({
        "use_id": "1", "name": "report", "day": "20250109", "schedule": "daily", "prompt": "Work.",
    });
    let events = stage.one(scheduled).await;
    let path = stage.dir.path().join("chronicle/20250109/talents/report.md");
    assert_eq!(events.last().unwrap()["output_path"], path.to_str().unwrap());
    assert_eq!(fs::read_to_string(path).unwrap(), "Quiet.\n");
    stage.one(json!({"use_id": "2", "name": "report", "prompt": "Today."})).await;
    let today = stage.dir.path().join("chronicle/20250110/talents/report.md");
    assert_eq!(fs::read_to_string(today).unwrap(), "Busy.\n");
}

#[tokio::test]
async fn an_output_goes_where_the_request_wants_it_inside_of_the_home() {
    // execution R43
    let stage = stage(vec![Ok(reply("# Here"))], &segment());
    let mut request = activity();
    request["output_path"] = json!("chronicle/20250109/elsewhere/noon.md");
    let events = stage.one(request).await;
    let path = stage.dir.path().join("chronicle/20250109/elsewhere/noon.md");
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Here\n");
    assert_eq!(events.last().unwrap()["output_path"], path.to_str().unwrap());
    assert!(!stage.dir.path().join("chronicle/20250109/120000_300/activity.md").exists());
}

#[tokio::test]
async fn a_facet_is_what_the_run_is_about() {
    // execution R32, R98, R121: told to the model, known to its tools, and a folder of its own
    let each =
        talent("each", "\"multi_facet\": true,\n\"output\": \"md\",\n\"tools\": [\"get_facet\"]");
    let mut files = vec![each];
    files.push((
        "facets/work/facet.json".into(),
        json!({"title": "Work", "description": "The shop"}).to_string(),
    ));
    let stage = staged(
        vec![Ok(calling(&[("a", "get_facet", json!({}))])), Ok(reply("Shop news."))],
        &files,
    );
    let ask = json!({"use_id": "1", "name": "each", "day": "20250109", "prompt": "Write.", "facet": "work"});
    let events = stage.one(ask.clone()).await;
    assert_eq!(first(&events, "tool_end")["result"]["description"], "The shop");
    let path = stage.dir.path().join("chronicle/20250109/talents/work/each.md");
    assert_eq!(fs::read_to_string(path).unwrap(), "Shop news.\n");
    {
        let calls = stage.script.calls.lock().unwrap();
        let ChatMessage::User { text } = &calls[0].messages[0] else { panic!() };
        assert!(text.contains("one facet only:\n- work (Work): The shop"), "{text}");
    }
    // execution R88: what does not hold is refused before anybody is asked
    let mut without = ask;
    without.as_object_mut().unwrap().remove("facet");
    let events = stage.one(without).await;
    assert_eq!(names(&events), ["error"]);
    assert!(events[0]["error"].as_str().unwrap().contains("one facet at a time"), "{events:?}");
    assert_eq!(stage.script.calls.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn whoever_watches_knows_which_tools_run_and_how_long_each_took() {
    // execution R69-R74: two at once, each told apart by its call, running until its own end
    let two = [
        ("t1", "memory_recall", json!({"query": "tea"})),
        ("t2", "memory_recall", json!({"query": "break"})),
    ];
    let stage = staged(
        vec![Ok(calling(&two)), Ok(reply("Tea."))],
        &[talent("t", "\"tools\": [\"memory_recall\"]")],
    );
    let events = stage.one(json!({"use_id": "1", "name": "t", "prompt": "a"})).await;
    let mut running = std::collections::BTreeMap::new();
    let (mut most, mut done) = (0, Vec::new());
    for event in &events {
        let call = event["call_id"].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().unwrap() {
            "tool_start" => {
                assert!(running.insert(call, event).is_none());
                most = most.max(running.len());
            }
            "tool_end" => {
                let start: &Value = running.remove(&call).expect("it runs");
                assert_eq!(start["args"], event["args"]);
                assert!(event["ts"].as_i64() >= start["ts"].as_i64());
                assert!(event["duration_ms"].is_u64() && !event["result"].is_null());
                done.push(call);
            }
            _ => {}
        }
    }
    assert_eq!((most, running.len(), done.len()), (2, 0, 2));
}
